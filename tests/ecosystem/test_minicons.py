"""minicons reports the surprisals of `wordtie surprisal`."""

from __future__ import annotations

import pytest

from tests.ecosystem.conftest import Exported
from wordtie.data.vocabulary import EOS

pytestmark = pytest.mark.filterwarnings("default")  # what other libraries warn of


@pytest.mark.parametrize("as_path", [True, False], ids=["by-path", "as-objects"])
def test_word_surprisals_are_those_of_wordtie(exported: Exported, sentences: list[str], as_path: bool) -> None:
    scorer_module = pytest.importorskip("minicons.scorer", reason="minicons is not installed: scripts/check-ecosystem")
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = str(exported.folder)
    if as_path:
        scorer = scorer_module.IncrementalLMScorer(folder, "cpu")
    else:
        model, tokenizer = AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
        scorer = scorer_module.IncrementalLMScorer(model, "cpu", tokenizer=tokenizer)
    assert len(sentences) == 500
    seen = unknown = 0
    worst = 0.0
    for start in range(0, len(sentences), 50):
        batch = sentences[start : start + 50]
        found = scorer.word_score_tokenized(
            batch, exported.own.tokenizer.words, bos_token=True, surprisal=True, base_two=True
        )
        for line, words in zip(batch, found, strict=True):
            expected = [word for word in exported.own.surprisal(line) if word.word != EOS]
            assert [word for word, _ in words] == [word.word for word in expected]
            for (_, bits), word in zip(words, expected, strict=True):
                worst = max(worst, abs(bits - word.surprisal_bits))
                seen, unknown = seen + 1, unknown + word.oov
    assert worst < 1e-4
    assert seen > 5000
    assert unknown > 100, "some words are outside the vocabulary"
