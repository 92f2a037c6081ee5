"""KenLM opens an ARPA file and gives the same log-probabilities; pyctcdecode decodes with it."""

from __future__ import annotations

import math
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.test_examples import EXAMPLES, SENTENCES
from wordtie import cli
from wordtie.config import DataSettings
from wordtie.data.prepare import prepare
from wordtie.inference.loading import load
from wordtie.ngrams import NgramModel

kenlm = pytest.importorskip("kenlm")


def log10_of_tokens(model: NgramModel, words: list[str]) -> list[float]:
    ids = model.vocabulary.encode([*words, "<eos>"])
    log_p_T1, _, _ = model.score(ids[:, None], model.initial_state(1))
    found: list[float] = (log_p_T1[:, 0] / math.log(10)).tolist()
    return found


@pytest.mark.parametrize(("order", "more"), [("2", []), ("5", []), ("3", ["--ngrams", "60000"])])
def test_kenlm_says_the_same(order: str, more: list[str], tmp_path: Path) -> None:
    """Of each word of 500 sentences, in and out of the vocabulary: within 1e-4, the precision of KenLM's floats."""
    run, arpa = tmp_path / "run", tmp_path / "model.arpa"
    command = [
        "ngram",
        "sotu",
        "--order",
        order,
        "--vocabulary_size",
        "20000",
        "--out",
        str(run),
        "--minimum-counts",
        *["1", "1", "2"][: int(order)],
    ]
    assert cli.main(command) == 0
    assert cli.main(["export", "arpa", str(run), str(arpa), *more]) == 0
    own = load(arpa if more else run).model
    assert isinstance(own, NgramModel)
    theirs = kenlm.Model(str(arpa))
    assert theirs.order == int(order)
    data = prepare(DataSettings("sotu", vocabulary_size=20000))
    lines = " ".join(data.vocabulary.words[each] for each in data.test[:20_000]).split(" <eos> ")[:500]
    compared = 0
    for line in lines:
        words = [word for word in line.split() if word != "<eos>"]
        expected = log10_of_tokens(own, words)
        found = [each[0] for each in theirs.full_scores(" ".join(words), bos=True, eos=True)]
        assert found == pytest.approx(expected, abs=1e-4)
        compared += len(found)
    assert compared > 5_000


def test_pyctcdecode_hears_better(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyctcdecode")
    monkeypatch.syspath_prepend(str(EXAMPLES))
    text = tmp_path / "text"
    text.mkdir()
    for split, times in (("train", 20), ("valid", 1), ("test", 1)):
        (text / f"{split}.txt").write_text("".join(f"{each}\n" for each in SENTENCES * times))
    assert cli.main(["ngram", str(text), "--order", "3", "--out", str(tmp_path / "run")]) == 0
    assert cli.main(["export", "arpa", str(tmp_path / "run"), str(tmp_path / "model.arpa")]) == 0
    example = runpy.run_path(str(EXAMPLES / "ctc_with_arpa.py"))
    emissions = sys.modules["emissions"]
    heard: list[np.ndarray] = [emissions.made_up_emissions(sentence) for sentence in SENTENCES]
    assert sum(map(str.__eq__, map(emissions.greedy, heard), SENTENCES)) <= 2
    assert [example["decode"](str(tmp_path / "model.arpa"), log_p_TC) for log_p_TC in heard] == SENTENCES
