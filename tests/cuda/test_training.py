"""Training and measuring on a GPU give what they give on a CPU, where these are tested against the definitions."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.cuda.test_graphs import recorded
from wordtie.config import DataSettings, LossSettings, ModelSettings, NoiseSettings, Settings, TrainingSettings
from wordtie.data.prepare import prepare
from wordtie.inference.loading import load
from wordtie.kernels.cuda_graphs import OFTEN
from wordtie.kernels.lstm import steps_cuda, steps_torch
from wordtie.kernels.lstm.steps_cuda import FEWEST_STEPS
from wordtie.training.language_modelling import LanguageModelling
from wordtie.training.optim import build_optimiser
from wordtie.training.run_state import RunState
from wordtie.training.step import train_step
from wordtie.training.train import train

CPU, GPU = torch.device("cpu"), torch.device("cuda")
STEPS = OFTEN + 4
"""Enough for loops over time to be recorded."""
WHOLE: dict[str, Any] = {"hidden": 16, "input_dropout": 0.0, "hidden_dropout": 0.0}
CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "tied": ({}, {"kind": "cross_entropy"}),
    "untied": ({"head": "untied"}, {"kind": "cross_entropy"}),
    "tied by a map": ({"head": "tied_linear", "embedding": 12}, {"kind": "cross_entropy"}),
    "augmented": ({}, {"kind": "augmented"}),
    "augmented, target fixed": ({}, {"kind": "augmented", "gradient_through_target": False}),
    "augmented, entropy alone": ({}, {"kind": "augmented", "gradient_through_target": "entropy"}),
    "augmented, untied": ({"head": "untied"}, {"kind": "augmented"}),
    "of 2016": ({"output_bias": True}, {"kind": "augmented_2016"}),
    "smoothed labels": ({}, {"kind": "cross_entropy", "label_smoothing": 0.1}),
    "gru": ({"core": "gru"}, {"kind": "cross_entropy"}),
    "rnn": ({"core": "rnn"}, {"kind": "cross_entropy"}),
    "rhn": ({"core": "rhn", "depth": 2, "layers": 1}, {"kind": "cross_entropy"}),
}
OPTIMISERS: dict[str, dict[str, Any]] = {
    "sgd": {},
    "adam": {"optimiser": "adam", "lr": 0.01},
    "rmsprop": {"optimiser": "rmsprop", "lr": 0.01},
    "adadelta": {"optimiser": "adadelta", "lr": 1.0},
}


@pytest.fixture
def settings(text: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("XDG_CACHE_HOME", str(text.parent / "cache"))
    training = TrainingSettings(
        epochs=6, streams=4, steps=FEWEST_STEPS + 1, lr=0.2, decay=1.0, precision="fp32", patience=0
    )
    return Settings(
        DataSettings(corpus=str(text)), ModelSettings(**WHOLE), LossSettings(kind="cross_entropy"), training=training
    )


def trained(settings: Settings, device: torch.device, precision: torch.dtype = torch.float32) -> RunState:
    """The state after some steps from the same parameters."""
    torch.manual_seed(3)
    cpu = LanguageModelling(settings, prepare(settings.data), CPU, precision)
    task = LanguageModelling(settings, prepare(settings.data), device, precision)
    task.model.load_state_dict(cpu.model.state_dict())
    optimiser = build_optimiser(settings.training, task.model.parameters())
    state = RunState(task.model, optimiser, task.initial_state())
    task.prepare_for_training()
    done = 0
    while done < STEPS:
        for batch in task.batches(0):
            task.begin_step(done / STEPS)
            assert train_step(task.objective, state, batch, settings.training.clip)
            done += 1
            if done == STEPS:
                break
    return state


def assert_equal_training(settings: Settings, tolerance: float = 1e-3) -> None:
    ours, expected = trained(settings, GPU), trained(settings, CPU)
    assert ours.position.nats == pytest.approx(expected.position.nats, rel=1e-4)
    for (name, found), on_cpu in zip(ours.model.named_parameters(), expected.model.parameters(), strict=True):
        torch.testing.assert_close(found.cpu(), on_cpu, rtol=tolerance, atol=tolerance, msg=name)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_training_is_that_of_the_cpu(settings: Settings, case: tuple[dict[str, Any], dict[str, Any]]) -> None:
    model, loss = case
    assert_equal_training(
        dataclasses.replace(settings, model=ModelSettings(**{**WHOLE, **model}), loss=LossSettings(**loss))
    )
    assert recorded() > 0 or model.get("core", "lstm") != "lstm"


@pytest.mark.parametrize("optimiser", OPTIMISERS.values(), ids=OPTIMISERS)
def test_each_optimiser_is_that_of_the_cpu(settings: Settings, optimiser: dict[str, Any]) -> None:
    training = dataclasses.replace(settings.training, **optimiser)
    assert_equal_training(dataclasses.replace(settings, training=training), tolerance=1e-2)


def test_the_loops_are_those_of_triton() -> None:
    assert steps_cuda.loops(GPU, torch.float32).__name__.endswith("steps_triton")


def test_torchs_loops_serve_where_triton_does_not(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps_cuda, "loops", lambda *_: steps_torch)
    assert_equal_training(settings)


def test_dropped_candidates_and_masks_learn(settings: Settings) -> None:
    model = ModelSettings(**{**WHOLE, "hidden_dropout": 0.3, "candidate_dropout": 0.2, "dropout": "gal"})
    before = settings.training.streams * settings.training.steps * torch.log(torch.tensor(300.0))
    state = trained(dataclasses.replace(settings, model=model), GPU)
    assert state.position.nats < STEPS * float(before)


@pytest.mark.parametrize("softmax", ["full", "sampled"])
def test_the_sampled_softmax_and_sparse_updates_learn(settings: Settings, softmax: str) -> None:
    sampled = {"samples": 20, "full_at_end": 0.2} if softmax == "sampled" else {}
    loss = LossSettings(kind="augmented", softmax=softmax, **sampled)  # type: ignore[arg-type]
    training = dataclasses.replace(settings.training, optimiser="adam", lr=0.01)
    ours, expected = (trained(dataclasses.replace(settings, loss=loss, training=training), each) for each in (GPU, CPU))
    assert ours.position.nats == pytest.approx(expected.position.nats, rel=0.05)


NOISES: dict[str, dict[str, Any]] = {
    "data noising": {"scheme": "data_noising"},
    "data noising, interpolated": {"scheme": "data_noising", "kind": "linear_interpolation"},
    "smoothing": {},
    "smoothing of pairs": {"output_draw": "with_input"},
    "of elements": {"elementwise": True},
    "of pairs of elements": {"elementwise": True, "output_draw": "with_input"},
    "of all": {"output_draw": "all"},
    "shared": {"output_draw": "shared"},
    "of tokens": {"drawn_for": "token"},
    "with dropped vectors": {"input_vector_dropout": 0.3, "output_vector_dropout": 0.3, "l2": 1e-4},
}


@pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES)
def test_noise_is_about_that_of_the_cpu(settings: Settings, noise: dict[str, Any]) -> None:
    noisy = dataclasses.replace(settings, noise=NoiseSettings(**{"kind": "kneser_ney", "gamma": 0.3, **noise}))
    ours, expected = trained(noisy, GPU), trained(noisy, CPU)
    assert ours.position.nats == pytest.approx(expected.position.nats, rel=0.05)


def test_bf16_is_near(settings: Settings) -> None:
    ours, expected = trained(settings, GPU, torch.bfloat16), trained(settings, CPU)
    assert ours.position.nats == pytest.approx(expected.position.nats, rel=0.01)


def test_a_run_is_trained_resumed_and_read_on_either_device(settings: Settings, tmp_path: Path) -> None:
    on_gpu, on_cpu = (
        dataclasses.replace(settings, training=dataclasses.replace(settings.training, device=device))
        for device in ("cuda", "cpu")
    )
    whole = train(on_gpu, tmp_path / "whole")
    stopped = dataclasses.replace(on_gpu.training, max_time="0.01s")
    train(dataclasses.replace(on_gpu, training=stopped), tmp_path / "resumed")
    resumed = train(on_gpu, tmp_path / "resumed", mode="resume")
    assert resumed.valid_perplexity == pytest.approx(whole.valid_perplexity, rel=1e-3)
    other = train(on_cpu, tmp_path / "cpu")
    assert other.valid_perplexity == pytest.approx(whole.valid_perplexity, rel=1e-2)
    ours, others = (load(tmp_path / name, part="network").score(["w1 w2 w3"]) for name in ("whole", "cpu"))
    assert ours == pytest.approx(others, rel=0.1)
