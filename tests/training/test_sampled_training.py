"""Training with a sampled softmax: which rows of word matrices move, with every head and noise; what is measured."""

from __future__ import annotations

import copy
import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import wordtie
from wordtie.config import DataSettings, LossSettings, ModelSettings, NoiseSettings, Settings, TrainingSettings
from wordtie.config.unused_settings import unused_settings
from wordtie.errors import SettingsError
from wordtie.losses.build import build_loss
from wordtie.models.language_model import LanguageModel
from wordtie.noise.noisy_forward import Noise
from wordtie.noise.proposals import Proposal
from wordtie.runs.compatibility import changed_settings
from wordtie.training.language_modelling import NextWordLoss, window
from wordtie.training.optim import build_optimiser, parameter_groups
from wordtie.training.run_state import RunState
from wordtie.training.step import train_step
from wordtie.training.train import train

WORDS, STREAMS, STEPS = 60, 3, 4
COUNTS = torch.arange(WORDS, 0, -1)
PROPOSAL = Proposal.from_weights(np.linspace(0.2, 0.9, WORDS), np.arange(1.0, WORDS + 1))
HEADS: dict[str, dict[str, Any]] = {
    "tied": {"head": "tied"},
    "tied with a bias": {"head": "tied", "output_bias": True},
    "tied_linear": {"head": "tied_linear", "embedding": 4},
    "untied": {"head": "untied"},
    "projected": {"head": "untied", "projection": True, "projection_penalty": 0.1},
}
NOISES: dict[str, dict[str, Any]] = {
    "none": {},
    "smoothing": {"kind": "kneser_ney"},
    "element-wise pairs": {"kind": "kneser_ney", "output_draw": "with_input", "elementwise": True,
                           "input_vector_dropout": 0.4},
    "data noising": {"kind": "kneser_ney", "scheme": "data_noising", "input_vector_dropout": 0.2},
}  # fmt: skip
WORD_MATRICES = ("embedding.weight", "head.weight")


def stepped(settings: Settings, sparse: bool, fused: bool = True) -> tuple[LanguageModel, LanguageModel]:
    """The model before a window and after it."""
    torch.manual_seed(1)
    model = LanguageModel(settings.model, WORDS).use(fused, sparse=sparse).train()
    before, ids = copy.deepcopy(model), torch.randint(20, (STEPS + 1, STREAMS))
    now = RunState(model, build_optimiser(settings.training, model.parameters()), model.initial_state(STREAMS))
    loss = build_loss(settings.loss, fused, torch.float32, COUNTS, sparse)
    noise = Noise(settings.noise, PROPOSAL if settings.noise.kind != "none" else None)
    torch.manual_seed(7)
    assert train_step(NextWordLoss(model, noise, loss), now, window(ids[:-1], ids[1:]), clip=0.5)
    return before, model


@pytest.mark.parametrize("fused", [True, False], ids=["fused", "readable"])
@pytest.mark.parametrize("kind", ["cross_entropy", "augmented"])
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("head", HEADS)
def test_sparse_gradients_make_the_same_step_as_dense_ones(head: str, noise: str, kind: Any, fused: bool) -> None:
    if HEADS[head]["head"] == "untied" and noise in ("smoothing", "element-wise pairs"):
        pytest.skip("variational smoothing draws from one matrix")
    settings = Settings(
        model=ModelSettings(hidden=5, layers=1, init=0.6, **HEADS[head]),
        loss=LossSettings(kind, softmax="sampled", samples=9),
        noise=NoiseSettings(**NOISES[noise]),
        training=TrainingSettings(optimiser="sgd", lr=0.5),
    )  # fmt: skip
    (_, dense), (before, sparse) = (stepped(settings, is_sparse, fused) for is_sparse in (False, True))
    for (name, one), other in zip(dense.named_parameters(), sparse.parameters(), strict=True):
        assert torch.allclose(one, other, rtol=1e-5, atol=1e-6), name
    moved = (sparse.embedding.weight != before.embedding.weight).any(1)
    assert moved.any()
    assert not moved.all(), "rows that the window does not use stay"


@pytest.mark.parametrize("head", HEADS)
def test_adam_updates_the_rows_that_the_window_used(head: str) -> None:
    settings = Settings(
        model=ModelSettings(hidden=5, layers=1, init=0.6, **HEADS[head]),
        loss=LossSettings("cross_entropy", softmax="sampled", samples=9),
        training=TrainingSettings(optimiser="adam", lr=0.01),
    )
    assert settings.has_sparse_updates
    before, after = stepped(settings, sparse=True)
    for (name, one), other in zip(before.named_parameters(), after.parameters(), strict=True):
        changed = (one != other).reshape(len(one), -1).any(1)
        if name in WORD_MATRICES:
            assert changed.any()
            assert not changed.all()
        elif name != "head.bias":
            assert changed.all(), name


def test_what_needs_every_row_has_dense_updates() -> None:
    loss = LossSettings("cross_entropy", softmax="sampled")
    assert Settings(loss=loss).has_sparse_updates
    for settings in (
        Settings(),
        Settings(loss=loss, training=TrainingSettings(weight_decay=1e-6)),
        Settings(loss=loss, training=TrainingSettings("rmsprop", 0.001)),
        Settings(loss=loss, training=TrainingSettings(sparse_updates=False)),
        Settings(loss=loss, noise=NoiseSettings(l2=1e-4)),
        Settings(loss=loss, noise=NoiseSettings(output_vector_dropout=0.1)),
        Settings(loss=loss, model=ModelSettings(head="tied"), noise=NoiseSettings("kneser_ney", output_draw="all")),
    ):
        assert not settings.has_sparse_updates


@pytest.mark.parametrize(
    ("more", "named"),
    [
        ({"loss": LossSettings()}, "loss.softmax full"),
        ({"training": TrainingSettings(weight_decay=1e-6, sparse_updates=True)}, "weight_decay"),
        ({"noise": NoiseSettings(l2=1e-4)}, "noise.l2"),
    ],
)
def test_sparse_updates_are_refused_where_every_row_is_needed(more: dict[str, Any], named: str) -> None:
    loss = LossSettings("cross_entropy", softmax="sampled")
    with pytest.raises(SettingsError, match=named):
        Settings(**{"loss": loss, "training": TrainingSettings(sparse_updates=True), **more})


def test_settings_that_mean_nothing_are_refused_or_named() -> None:
    for wrong in (
        {"samples": 0},
        {"full_at_end": 0.2},
        {"full_at_end": 1.2, "softmax": "sampled"},
        {"power": -0.1},
        {"power": 1.5},
        {"kind": "augmented_2016", "softmax": "sampled"},
        {"kind": "interpolated", "softmax": "sampled"},
    ):
        with pytest.raises(SettingsError, match=r"loss\."):
            LossSettings(**wrong)
    assert unused_settings(Settings(loss=LossSettings(samples=7, power=0.5))) == [
        "loss.samples 7 has no effect with loss.softmax full",
        "loss.power 0.5 has no effect with loss.softmax full",
    ]


def settings_for(text: Path, **loss: Any) -> Settings:
    return Settings(
        data=DataSettings(corpus=str(text)),
        model=ModelSettings(hidden=8, layers=1, head="tied_linear"),
        loss=LossSettings("cross_entropy", softmax="sampled", samples=20, **loss),
        training=TrainingSettings("adam", 0.01, epochs=2, streams=4, steps=7, threads=1, clip=5.0),
    )


def test_the_same_seed_trains_the_same_bits_and_measures_the_full_softmax(text: Path, tmp_path: Path) -> None:
    first, second = (train(settings_for(text), tmp_path / name) for name in ("first", "second"))
    assert first.weights_sha256 == second.weights_sha256
    measured = wordtie.load(tmp_path / "first").evaluate(text / "test.txt")
    assert measured.perplexity == pytest.approx(first.test_perplexity, rel=1e-5)
    assert first.test_perplexity < 100


def test_the_softmax_is_full_at_the_end_however_often_the_run_is_stopped(text: Path, tmp_path: Path) -> None:
    settings = settings_for(text, full_at_end=0.5)
    whole = train(settings, tmp_path / "whole")
    assert whole.weights_sha256 != train(settings_for(text), tmp_path / "sampled").weights_sha256
    stops, result = 0, train(settings, tmp_path / "parts", max_time=0.001)
    while result.stopped == "max_time":
        stops += 1
        result = train(settings, tmp_path / "parts", mode="resume", max_time=0.05)
    assert stops > 2
    assert result.weights_sha256 == whole.weights_sha256


def test_full_from_the_beginning_is_the_full_softmax(text: Path, tmp_path: Path) -> None:
    """But for rounding: the gradient of what is read is sparse in one of them until it is added up."""
    always = train(settings_for(text, full_at_end=1.0), tmp_path / "always")
    loss = LossSettings("cross_entropy")
    full = train(dataclasses.replace(settings_for(text), loss=loss), tmp_path / "full")
    assert always.test_perplexity == pytest.approx(full.test_perplexity, rel=1e-4)


def test_a_restored_state_continues_bit_identically() -> None:
    """A checkpoint has the random numbers, the squares of rows that were used, and both groups of parameters."""
    settings = TrainingSettings("adam", 0.01, word_rate=3.0)
    loss = build_loss(LossSettings("cross_entropy", softmax="sampled", samples=9), True, torch.float32, COUNTS, True)

    def stepped(state: RunState, ids: torch.Tensor) -> bool:
        objective = NextWordLoss(state.model, Noise(NoiseSettings()), loss)  # type: ignore[arg-type]
        return train_step(objective, state, window(ids[:-1], ids[1:]), clip=0.5)

    def fresh(seed: int) -> RunState:
        torch.manual_seed(seed)
        model = LanguageModel(ModelSettings(hidden=5, layers=1), WORDS).use(True, sparse=True).train()
        optimiser = build_optimiser(settings, parameter_groups(model, settings.word_rate))
        return RunState(model, optimiser, model.initial_state(STREAMS))

    windows = [torch.randint(20, (STEPS + 1, STREAMS)) for _ in range(6)]
    whole = fresh(seed=1)
    for number, ids in enumerate(windows):
        if number == 3:
            saved = {name: tensor.clone() for name, tensor in whole.tensors().items()}
        assert stepped(whole, ids)
    resumed = fresh(seed=2)
    resumed.restore(saved, whole.position)
    for ids in windows[3:]:
        assert stepped(resumed, ids)
    for (name, one), other in zip(whole.model.named_parameters(), resumed.model.parameters(), strict=True):
        assert torch.equal(one, other), name


@pytest.mark.parametrize(("share", "differences"), [(0.2, ["training.epochs (50, now 60)"]), (0.0, [])])
def test_a_run_whose_end_depends_on_its_epochs_keeps_them(share: float, differences: list[str]) -> None:
    before = Settings(loss=LossSettings("cross_entropy", softmax="sampled", full_at_end=share))
    longer = dataclasses.replace(before, training=dataclasses.replace(before.training, epochs=60))
    assert changed_settings(before, longer) == differences
