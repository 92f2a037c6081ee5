"""The examples of decoding: what a model makes of made-up emissions."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.commands import Capture, output
from wordtie.inference.loading import load

EXAMPLES = Path(__file__).parent.parent / "examples"
SENTENCES = ["the dog bit the cat", "a cat sat on a mat", "the kid keeps a pet dog", "the cat bit a kid", "a dog sat"]


@pytest.fixture(autouse=True)
def beside_the_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run of n-grams, its ARPA file, and a run of a mixture, all of one small text."""
    from wordtie import cli

    folder = tmp_path_factory.mktemp("examples")
    (folder / "text").mkdir()
    for split, times in (("train", 20), ("valid", 1), ("test", 1)):
        (folder / "text" / f"{split}.txt").write_text("".join(f"{each}\n" for each in SENTENCES * times))
    text = str(folder / "text")
    train = ["train", text, "--out", str(folder / "mixture"), "--ngram", "3", "--hidden", "16", "--epochs", "4"]
    assert cli.main([*train, "--streams", "4", "--steps", "10", "--threads", "1"]) == 0
    assert cli.main(["ngram", text, "--order", "3", "--out", str(folder / "ngram")]) == 0
    assert cli.main(["export", "arpa", str(folder / "ngram"), str(folder / "model.arpa")]) == 0
    return folder


def heard(text: str) -> tuple[np.ndarray, str]:
    from emissions import greedy, made_up_emissions  # type: ignore[import-not-found]

    log_p_TC = made_up_emissions(text)
    np.testing.assert_allclose(np.exp(log_p_TC).sum(1), 1)
    return log_p_TC, greedy(log_p_TC)


@pytest.mark.parametrize("name", ["ngram", "model.arpa", "mixture"])
def test_shallow_fusion_hears_better(models: Path, name: str) -> None:
    from shallow_fusion import WordScores, beam_search  # type: ignore[import-not-found]

    scores = WordScores(load(models / name))
    emissions = {text: heard(text) for text in SENTENCES}
    assert sum(alone == text for text, (_, alone) in emissions.items()) <= 2
    assert [beam_search(log_p_TC, scores) for log_p_TC, _ in emissions.values()] == SENTENCES
    assert [beam_search(log_p_TC, scores, lm_weight=0.0) for log_p_TC, _ in emissions.values()] != SENTENCES


def test_words_of_a_hypothesis_have_the_scores_of_the_sentence(models: Path) -> None:
    from shallow_fusion import WordScores

    loaded = load(models / "mixture")
    scores: Any = WordScores(loaded)
    words = (*SENTENCES[0].split(), "<eos>")
    for size in range(1, len(words) + 1):
        scores.read([words[:size], (*words[: size - 1], "mat")])
    assert -scores.log_p[words] / np.log(2) == pytest.approx(loaded.score([SENTENCES[0]])[0], rel=1e-5)


def test_the_program(models: Path, capsys: Capture) -> None:
    command = [sys.executable, str(EXAMPLES / "shallow_fusion.py"), str(models / "model.arpa"), SENTENCES[0]]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert found.stdout.splitlines()[1].endswith(SENTENCES[0])
    assert output(["evaluate", str(models / "model.arpa"), str(models / "text" / "test.txt")], capsys)
