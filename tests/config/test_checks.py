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
from wordtie.word2vec.settings import Word2VecSettings


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
        (
            TrainingSettings,
            {"optimiser": "Adam"},
            "training.optimiser must be one of sgd, adam, rmsprop, adadelta, got 'Adam'",
        ),
        (TrainingSettings, {"precision": "fp16"}, "training.precision must be one of auto, fp32, bf16"),
        (TrainingSettings, {"max_time": True}, "training.max_time must be a text or a number or none, got True"),
        (
            TrainingSettings,
            {"max_time": "1h30"},
            "training.max_time must be a time such as 90s, 9m or 1h30m, got '1h30'",
        ),
        (TrainingSettings, {"max_time": 0.0}, "training.max_time must be a time such as 90s, 9m or 1h30m, got '0.0'"),
        (TrainingSettings, {"seed": 2**64}, "training.seed must be from 0 to"),
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


@pytest.mark.parametrize(
    ("kind", "name", "within", "beyond"),
    [
        (DataSettings, "vocabulary_size", (3,), (2,)),
        (DataSettings, "min_count", (1,), (0,)),
        (DataSettings, "split", ((0.5, 0.25, 0.25),), ((0.9, 0.05, 0.06), (0.9, 0.1, 0.0), (1.1, -0.05, -0.05))),
        (ModelSettings, "hidden", (1,), (0,)),
        (ModelSettings, "layers", (1,), (0,)),
        (ModelSettings, "hidden_dropout", (0.0, 0.99), (-0.1, 1.0)),
        (ModelSettings, "weight_drop", (0.0, 0.99), (-0.1, 1.0)),
        (ModelSettings, "init", (1e-9,), (0.0, -0.1)),
        (ModelSettings, "core_init", (1e-9,), (0.0, -0.1)),
        (LossSettings, "temperature", (1e-9,), (0.0, -1.0)),
        (LossSettings, "gamma", (0.0,), (-0.1,)),
        (LossSettings, "beta", (0.0, 1.0), (-0.1, 1.1)),
        (NoiseSettings, "gamma", (0.0, 1.0), (-0.1, 1.1)),
        (NoiseSettings, "l2", (0.0,), (-0.1,)),
        (NoiseSettings, "samples", (1,), (0,)),
        (NoiseSettings, "output_vector_dropout", (0.0, 0.99), (-0.1, 1.0)),
        (TrainingSettings, "lr", (1e-9,), (0.0, -1.0)),
        (TrainingSettings, "decay", (1e-9, 1.0), (0.0, 1.1)),
        (TrainingSettings, "decay_after", (0,), (-1,)),
        (TrainingSettings, "patience", (0,), (-1,)),
        (TrainingSettings, "average_patience", (0,), (-1,)),
        (TrainingSettings, "clip", (0.0,), (-0.1,)),
        (TrainingSettings, "weight_decay", (0.0,), (-0.1,)),
        (TrainingSettings, "beta1", (0.0, 0.99), (-0.1, 1.0)),
        (TrainingSettings, "beta2", (0.0, 0.99), (-0.1, 1.0)),
        (TrainingSettings, "streams", (1,), (0,)),
        (TrainingSettings, "steps", (1,), (0,)),
        (TrainingSettings, "checkpoint_every", (1,), (0,)),
        (TrainingSettings, "threads", (1, 1024), (0, 1025)),
        (TrainingSettings, "seed", (0, 2**63 - 1), (-1, 2**63)),
    ],
)
def test_numbers_are_taken_up_to_where_they_mean_something(
    kind: Any, name: str, within: tuple[Any, ...], beyond: tuple[Any, ...]
) -> None:
    for value in within:
        assert getattr(kind(**{name: value}), name) == value
    for value in beyond:
        with pytest.raises(SettingsError, match=rf"\.{name} "):
            kind(**{name: value})


@pytest.mark.parametrize("optimiser", ["adam", "rmsprop"])
def test_a_rate_for_sgd_is_refused_for_others(optimiser: Any) -> None:
    assert TrainingSettings(optimiser, lr=0.1).lr == 0.1
    with pytest.raises(SettingsError, match=f"0.2 is a rate for sgd; {optimiser} moves"):
        TrainingSettings(optimiser, lr=0.2)


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


@pytest.mark.parametrize("value", [True, "1"])
def test_what_is_no_number_is_refused(value: Any) -> None:
    with pytest.raises(SettingsError, match=r"training\.lr must be a number, got"):
        TrainingSettings(lr=value)


@pytest.mark.parametrize("name", ["patience", "epochs", "tokens"])
def test_a_whole_number_is_one_that_files_take(name: str) -> None:
    with pytest.raises(SettingsError, match=f"training.{name} must be a whole number"):
        TrainingSettings(**{name: 10**21})  # type: ignore[arg-type]
    TrainingSettings(**{name: 10**20 - 1})  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [10**400, 1e39, float("nan"), float("inf")])
def test_a_number_is_one_that_torch_can_compute_with(value: float) -> None:
    with pytest.raises(SettingsError, match=r"training\.lr must be a number \(3\.4e\+38 at most\), got"):
        TrainingSettings(lr=value)


@pytest.mark.parametrize("name", ["the cat sat " * 40, "a\0b", 3, None])
def test_what_can_be_no_name(name: Any) -> None:
    with pytest.raises(SettingsError):
        path_of(name)
