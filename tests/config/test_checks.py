"""A setting made in Python is held to its type: what is misspelt must not train something else."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wordtie.config import (
    DataSettings,
    LossSettings,
    ModelSettings,
    NoiseSettings,
    Settings,
    TrainingSettings,
    parse_time,
)
from wordtie.config.paths import path_of
from wordtie.errors import SettingsError
from wordtie.models.word2vec_settings import Word2VecSettings


@pytest.mark.parametrize(
    ("kind", "values", "message"),
    [
        (LossSettings, {"kind": "ce"}, "loss.kind must be one of cross_entropy, augmented, augmented_2016"),
        (LossSettings, {"gamma": "0.5"}, "loss.gamma must be a number or none, got '0.5'"),
        (ModelSettings, {"head": "tie"}, "model.head must be one of untied, tied, tied_linear, got 'tie'"),
        (ModelSettings, {"hidden": 16.0}, "model.hidden must be a whole number, got 16.0"),
        (ModelSettings, {"layers": True}, "model.layers must be a whole number, got True"),
        (ModelSettings, {"unit_rows": 1}, "model.unit_rows must be true or false, got 1"),
        (ModelSettings, {"embedding": "100"}, "model.embedding must be a whole number or none"),
        (NoiseSettings, {"prediction": "median"}, "noise.prediction must be one of mean, mode, sampling or none"),
        (TrainingSettings, {"optimiser": "Adam"}, "training.optimiser must be one of sgd, adam, rmsprop, got 'Adam'"),
        (TrainingSettings, {"precision": "fp16"}, "training.precision must be one of auto, fp32, bf16"),
        (TrainingSettings, {"max_time": True}, "training.max_time must be a text or a number or none, got True"),
        (
            TrainingSettings,
            {"max_time": "1h30"},
            "training.max_time must be a time such as 90s, 9m or 1h30m, got '1h30'",
        ),
        (TrainingSettings, {"max_time": 0.0}, "training.max_time must be a time such as 90s, 9m or 1h30m, got '0.0'"),
        (TrainingSettings, {"seed": 10**20}, "training.seed must be from 0 to"),
        (TrainingSettings, {"device": "mps"}, "training.device must be auto, cpu, cuda or cuda:1, got 'mps'"),
        (DataSettings, {"corpus": Path("novel.txt")}, "data.corpus must be a text"),
        (DataSettings, {"vocabulary_from": "al"}, "data.vocabulary_from must be one of train, all, got 'al'"),
        (DataSettings, {"split": (0.9, 0.1)}, "data.split must be 3 numbers"),
        (Word2VecSettings, {"algorithm": "glove"}, "word2vec.algorithm must be one of skipgram, cbow"),
    ],
)
def test_refuses(kind: Any, values: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError) as refused:
        kind(**values)
    assert message in str(refused.value)


def test_the_weight_of_the_augmented_loss_is_that_of_its_paper() -> None:
    assert (LossSettings("augmented").weight, LossSettings("augmented_2016").weight) == (0.65, 0.3)
    assert replace(LossSettings("augmented"), kind="augmented_2016").weight == 0.3
    assert LossSettings("augmented_2016", gamma=0.15).weight == 0.15


def test_a_whole_number_is_a_number() -> None:
    assert TrainingSettings(lr=1, clip=0).lr == 1
    assert TrainingSettings(device="cuda:1").device == "cuda:1"


@pytest.mark.parametrize("wrong", [ModelSettings(hidden=8), {"corpus": "novel.txt"}])
def test_a_section_is_made_with_its_own_class(wrong: Any) -> None:
    with pytest.raises(SettingsError, match="data must be made with DataSettings"):
        Settings(wrong)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("9m", 540),
        ("2h", 7200),
        ("1h30m", 5400),
        ("1h1m1s", 3661),
        ("90", 90),
        ("0.5m", 30),
        (" 2.5 ", 2.5),
    ],
)
def test_times(text: str, seconds: float) -> None:
    assert parse_time(text) == seconds


@pytest.mark.parametrize("text", ["", "0s", "1m30", "1h30", "30m1h", "-5s", "9 m", "abc"])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(SettingsError, match="--max_time must be a time such as 90s"):
        parse_time(text, "--max_time")


def test_what_numpy_makes_becomes_pythons_own() -> None:
    """numpy's float64 is a float, but nothing that a recipe can be written with."""

    class Kind(StrEnum):
        SGD = "sgd"

    of_an_enum: Any = Kind.SGD
    made = TrainingSettings(lr=np.linspace(0.5, 1, 2)[0], optimiser=of_an_enum)
    assert (type(made.lr), type(made.optimiser), made.optimiser) == (float, str, "sgd")
    split = DataSettings(split=tuple(np.array([0.8, 0.1, 0.1]))).split
    assert [*map(type, split)] == [float] * 3


@pytest.mark.parametrize("value", [10**400, float("nan"), float("inf"), True, "1"])
def test_what_is_no_number_is_refused(value: Any) -> None:
    with pytest.raises(SettingsError, match=r"training\.lr must be a number, got"):
        TrainingSettings(lr=value)


@pytest.mark.parametrize("name", ["the cat sat " * 40, "a\0b", 3, None])
def test_what_can_be_no_name(name: Any) -> None:
    with pytest.raises(SettingsError):
        path_of(name)
