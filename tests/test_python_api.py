"""What commands do, from Python: each subject is a module with few public names."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wordtie
from tests.commands import Capture, output, small_text
from wordtie import vectors, word2vec
from wordtie.config import DataSettings
from wordtie.errors import DataError, SettingsError
from wordtie.inference.evaluate import evaluate_split
from wordtie.ngrams.baselines import measure_baselines

SUBJECTS = ["wordtie", "wordtie.ngrams", "wordtie.vectors", "wordtie.word2vec"]
SMALL: dict[str, Any] = {"vector_size": 6, "epochs": 2, "min_count": 1, "workers": 1, "sample": 0, "seed": 3}


@pytest.fixture
def text(own_folder: Path) -> Path:
    return small_text(own_folder / "text")


@pytest.mark.parametrize("name", SUBJECTS)
def test_a_subject_has_few_names_and_all_of_them_are_there(name: str) -> None:
    subject = importlib.import_module(name)
    assert len(subject.__all__) <= 15
    assert subject.__all__ == sorted(subject.__all__)
    assert all(getattr(subject, each) is not None for each in subject.__all__)
    with pytest.raises(AttributeError, match=f"module '{name}' has no attribute 'nothing'"):
        _ = subject.nothing


@pytest.mark.parametrize("name", ["wordtie", "wordtie.vectors", "wordtie.word2vec"])
def test_a_subject_loads_nothing_before_it_is_used(name: str) -> None:
    code = f"import {name}, sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"torch", "numpy"} & set(loaded)


def test_word_vectors_from_training_to_neighbours(text: Path) -> None:
    result = word2vec.train(text, "runs/small", head="tied", **SMALL)
    found = vectors.open_vectors("runs/small")
    assert isinstance(result, word2vec.Word2VecResult)
    assert found.matrix_VE.shape == (result.vocabulary, 6)
    again = word2vec.train(DataSettings(str(text)), "runs/small", mode="overwrite", head="tied", **SMALL)
    assert again.weights_sha256 == result.weights_sha256
    with pytest.raises(SettingsError, match="head"):
        word2vec.train(text, "runs/other", head="none")
    with pytest.raises(SettingsError, match=r"or DataSettings\(\.\.\.\), got a"):
        word2vec.train(7, "runs/other")  # type: ignore[arg-type]


def test_what_cannot_be_ranked_is_a_row_without_rho() -> None:
    pairs = vectors.Benchmark("pairs", [("a", "b"), ("a", "c"), ("b", "c")], np.array([3.0, 2.0, 1.0]))
    matrix = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    known, other = vectors.WordVectors(["a", "b", "c"], matrix), vectors.WordVectors(["x", "y", "z"], matrix)
    found = vectors.judge([known, other], [pairs])
    assert found.similarity[0]["rho"] == vectors.similarity_of(known, pairs).rho
    assert (found.similarity[1]["rho"], found.similarity[1]["covered"]) == (None, 0)
    assert (found.difference, len(found.not_ranked)) == ([], 1)


def test_spaces_are_compared_over_the_words_that_both_have() -> None:
    matrix = np.random.default_rng(0).normal(size=(5, 2)).astype(np.float32)
    first = vectors.WordVectors(["a", "b", "c", "d", "e"], matrix)
    words, found = vectors.compare_spaces(first, vectors.WordVectors(["c", "b", "a"], 2 * matrix[2::-1]))
    assert (words, round(found.distance, 6)) == (3, 0.0)
    with pytest.raises(DataError, match="have no word in common"):
        vectors.compare_spaces(first, vectors.WordVectors(["x"], matrix[:1]))


def test_baselines_are_those_of_the_command(text: Path, capsys: Capture) -> None:
    found = measure_baselines(DataSettings(str(text)), order=3, split="valid")
    printed = json.loads(output(["baseline", str(text), "--order", "3", "--split", "valid", "--json"], capsys))
    assert printed["perplexity"] == found.perplexity
    with pytest.raises(SettingsError, match="order must be from 1 to 100"):
        measure_baselines(DataSettings(str(text)), order=0)


def test_a_split_of_the_models_own_text(text: Path) -> None:
    result = wordtie.train(text, "runs/small", hidden=6, layers=1, epochs=1, streams=2, steps=5)
    found = evaluate_split(wordtie.load("runs/small"), "runs/small", "valid")
    assert found.tokens == result.valid_tokens
    assert found.perplexity == pytest.approx(result.valid_perplexity, rel=1e-5)
