"""The trainer against a loop written out with PyTorch's own LSTM, and what may not change its numbers."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import Tensor, nn

from tests.reference.batches import windows_by_hand
from wordtie.config import DataSettings, LossSettings, ModelSettings, Settings, TrainingSettings
from wordtie.data.batches import window_count
from wordtie.data.prepare import prepare
from wordtie.errors import RunFolderError, SettingsError
from wordtie.models.language_model import LanguageModel
from wordtie.runs import checkpoint, live_progress
from wordtie.runs.provenance import machine
from wordtie.training import trainer
from wordtie.training.language_modelling import LanguageModelling
from wordtie.training.precision import resolve_device, resolve_precision
from wordtie.training.process import exclusive_training
from wordtie.training.train import train
from wordtie.training.trainer import Trainer

TRAINING = TrainingSettings(
    epochs=3, streams=4, steps=7, lr=2.0, decay=0.5, decay_after=1, clip=0.5, precision="fp32", threads=1, patience=0
)
LEARNS_BY_HEART: dict[str, Any] = {"epochs": 5, "optimiser": "adam", "lr": 0.02, "decay": 1.0}
"""Words that were drawn from nothing but their frequencies: the validation text gets worse from the fourth epoch on."""


@pytest.fixture
def settings(text: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("XDG_CACHE_HOME", str(text.parent / "cache"))
    model = ModelSettings(hidden=8, input_dropout=0.0, hidden_dropout=0.0)
    return Settings(DataSettings(corpus=str(text)), model, LossSettings(kind="cross_entropy"), training=TRAINING)


def changed(settings: Settings, **training: Any) -> Settings:
    return dataclasses.replace(settings, training=dataclasses.replace(settings.training, **training))


def by_hand(settings: Settings, start: dict[str, Tensor]) -> tuple[dict[str, Tensor], list[float]]:
    """Weights at the end and each epoch's mean nats: sums over time, means over streams, one norm for all."""
    data, training = prepare(settings.data), settings.training
    words = start["embedding.weight"].clone().requires_grad_()
    core = nn.LSTM(words.shape[1], words.shape[1], num_layers=2)
    for layer in range(2):
        names = (("weight_ih", "input_weight"), ("weight_hh", "recurrent_weight"), ("bias_ih", "bias"))
        for theirs, ours in names:
            getattr(core, f"{theirs}_l{layer}").data.copy_(start[f"core.layers.{layer}.{ours}"])
        getattr(core, f"bias_hh_l{layer}").data.zero_().requires_grad_(False)
        getattr(core, f"bias_hh_l{layer}").requires_grad_(False)
    weights = [words, *(parameter for parameter in core.parameters() if parameter.requires_grad)]
    means = []
    for epoch in range(1, training.epochs + 1):
        rate = training.lr * training.decay ** max(0, epoch - training.decay_after)
        state, nats, tokens = None, 0.0, 0
        eos = data.vocabulary.eos_id
        for inputs, targets in windows_by_hand(data.train.tolist(), training.streams, training.steps, eos, True):
            outputs, (hidden, cell) = core(words[torch.tensor(inputs)], state)
            state = (hidden.detach(), cell.detach())
            loss = F.cross_entropy((outputs @ words.T).flatten(0, 1), torch.tensor(targets).flatten(), reduction="sum")
            gradients = torch.autograd.grad(loss / training.streams, weights)
            norm = float(sum((gradient**2).sum() for gradient in gradients)) ** 0.5
            for weight, gradient in zip(weights, gradients, strict=True):
                weight.data -= rate * min(1.0, training.clip / norm) * gradient
            nats, tokens = nats + loss.item(), tokens + len(inputs) * training.streams
        means.append(nats / tokens)
    ends = {"embedding.weight": words.detach()}
    for layer in range(2):
        ends[f"core.layers.{layer}.recurrent_weight"] = getattr(core, f"weight_hh_l{layer}").detach()
        ends[f"core.layers.{layer}.bias"] = getattr(core, f"bias_ih_l{layer}").detach()
    return ends, means


def last(run: Path, part: str) -> dict[str, Tensor]:
    tensors, _ = checkpoint.load(run / "checkpoints" / "last.safetensors")
    return {name.removeprefix(part): tensor for name, tensor in tensors.items() if name.startswith(part)}


def metrics(run: Path, name: str) -> list[float]:
    """Of the lines that have it: those between validations have no validation perplexity."""
    lines = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
    return [line[name] for line in lines if name in line]


@pytest.mark.parametrize("fused", [True, False])
def test_equals_the_loop_by_hand(settings: Settings, fused: bool, tmp_path: Path) -> None:
    settings = changed(settings, fused=fused)
    torch.manual_seed(settings.training.seed)
    start = LanguageModel(settings.model, len(prepare(settings.data).vocabulary)).state_dict()
    ends, means = by_hand(settings, start)
    train(settings, tmp_path / "run")
    ours = last(tmp_path / "run", "model.")
    for name, expected in ends.items():
        torch.testing.assert_close(ours[name], expected, rtol=1e-3, atol=1e-4)
    expected_perplexities = [torch.tensor(mean).exp().item() for mean in means]
    assert metrics(tmp_path / "run", "train_perplexity") == pytest.approx(expected_perplexities, rel=1e-4)
    assert metrics(tmp_path / "run", "lr") == [2.0, 1.0, 0.5]


def test_the_same_seed_gives_the_same_bits(settings: Settings, tmp_path: Path) -> None:
    settings = dataclasses.replace(settings, model=ModelSettings(hidden=8))  # with dropout
    first, again = (train(settings, tmp_path / name) for name in ("first", "again"))
    other = train(changed(settings, seed=2), tmp_path / "other")
    assert first.weights_sha256 == again.weights_sha256 != other.weights_sha256


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_only_dropout_draws_random_numbers(settings: Settings, dropout: float, tmp_path: Path) -> None:
    model = ModelSettings(hidden=8, input_dropout=dropout, hidden_dropout=dropout)
    settings = dataclasses.replace(settings, model=model)
    states = []
    for epochs in (1, 2):
        train(changed(settings, epochs=epochs), tmp_path / str(epochs))
        states.append(last(tmp_path / str(epochs), "rng.")["cpu"])
    assert torch.equal(*states) == (dropout == 0)


def test_the_best_epoch_of_a_training_that_time_ended_is_the_one_that_was_measured(
    settings: Settings, tmp_path: Path
) -> None:
    """Before the first validation, it is the one that would have been the first."""
    result = train(changed(settings, tokens=10**9, validations=1, patience=0, max_time="0.3s"), tmp_path / "run")
    assert result.stopped == "max_time"
    assert metrics(tmp_path / "run", "valid_perplexity") == []
    assert result.best_epoch == 1


def test_the_best_epoch_is_not_the_last_one_that_is_kept(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which time ended, and which is worse."""
    rising = changed(settings, **LEARNS_BY_HEART, keep="last")
    whole = train(changed(rising, epochs=8), tmp_path / "whole")
    perplexities = metrics(tmp_path / "whole", "valid_perplexity")
    assert whole.best_epoch < 7
    assert perplexities[6] > min(perplexities)
    monkeypatch.setattr(Trainer, "out_of_time", lambda self: self.state.position.epoch == 7)
    cut = train(changed(rising, epochs=8, max_time="1h"), tmp_path / "cut")
    assert cut.stopped == "max_time"
    assert cut.best_epoch == whole.best_epoch
    assert cut.weights_sha256 != whole.weights_sha256


def test_a_stop_leaves_no_line_out(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trainer, "WINDOWS_BETWEEN_LINES", 3)
    train(settings, tmp_path / "whole")
    with monkeypatch.context() as stopped:
        stopped.setattr(Trainer, "out_of_time", lambda self: self.state.position.window == 6)
        assert train(changed(settings, max_time="1h"), tmp_path / "cut").stopped == "max_time"
    train(settings, tmp_path / "cut", "resume")
    windows, cut = (metrics(tmp_path / run, "window") for run in ("whole", "cut"))
    assert 6 in windows
    assert cut == windows


def test_what_is_exported_is_the_best_epoch(settings: Settings, tmp_path: Path) -> None:
    rising = changed(settings, **LEARNS_BY_HEART)
    result = train(rising, tmp_path / "run")
    perplexities = metrics(tmp_path / "run", "valid_perplexity")
    assert result.best_epoch == perplexities.index(min(perplexities)) + 1 < result.epochs, "else it is the last as well"
    so_far = train(changed(rising, epochs=result.best_epoch, keep="last"), tmp_path / "so-far")
    assert so_far.weights_sha256 == result.weights_sha256
    model = load_file(tmp_path / "run" / "model.safetensors")
    assert checkpoint.tensors_sha256(model) == result.weights_sha256
    assert all(torch.equal(model[name], tensor) for name, tensor in last(tmp_path / "run", "best.").items())


def test_the_last_epoch_is_exported_where_asked_for(settings: Settings, tmp_path: Path) -> None:
    rising = changed(settings, keep="last", **LEARNS_BY_HEART)
    result = train(rising, tmp_path / "run")
    assert result.best_epoch < result.epochs, "else it is the best as well"
    model = load_file(tmp_path / "run" / "model.safetensors")
    assert all(torch.equal(model[name], tensor) for name, tensor in last(tmp_path / "run", "model.").items())


def test_readable_forms_compute_in_fp32_and_say_so(settings: Settings, tmp_path: Path) -> None:
    readable = train(changed(settings, epochs=1, fused=False, precision="auto"), tmp_path / "readable")
    assert readable.precision == "float32"
    with pytest.raises(SettingsError, match="bf16, but nothing fused"):
        train(changed(settings, fused=False, precision="bf16"), tmp_path / "refused")
    loss = LossSettings(kind="interpolated", temperature=10.0)
    model = dataclasses.replace(settings.model, core="gru")
    gru = dataclasses.replace(changed(settings, epochs=1, precision="auto"), model=model, loss=loss)
    assert train(gru, tmp_path / "gru").precision == "float32"


def test_what_is_reported_is_the_cross_entropy_alone(settings: Settings, tmp_path: Path) -> None:
    """A rate that moves nothing: the training perplexity is that of the model at the start, whatever the loss."""
    for kind in ("cross_entropy", "augmented", "augmented_2016"):
        still = dataclasses.replace(changed(settings, epochs=1, lr=1e-30), loss=LossSettings(kind=kind))
        train(still, tmp_path / kind)
    found = [
        metrics(tmp_path / kind, "train_perplexity")[0] for kind in ("cross_entropy", "augmented", "augmented_2016")
    ]
    assert found == pytest.approx([found[0]] * 3, rel=1e-5)


def test_leaves_torch_as_it_was_and_starts_from_its_own_seed(
    settings: Settings, tmp_path: Path, set_threads: Callable[[int], None]
) -> None:
    first = train(settings, tmp_path / "first")
    torch.manual_seed(12345)
    wanted, threads = torch.rand(3), torch.get_num_threads()
    torch.manual_seed(12345)
    torch.set_default_dtype(torch.float64)
    set_threads(threads + 1)
    try:
        second = train(settings, tmp_path / "second")
        assert torch.get_default_dtype() == torch.float64
        assert torch.get_num_threads() == threads + 1
        assert torch.equal(torch.rand(3, dtype=torch.float32), wanted)
    finally:
        torch.set_default_dtype(torch.float32)
    assert second.weights_sha256 == first.weights_sha256


def test_what_an_epoch_trained_is_saved_before_it_is_measured(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*arguments: object) -> NoReturn:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(LanguageModelling, "validate", killed)
        with pytest.raises(MemoryError):
            train(settings, tmp_path / "killed")
    _, record = checkpoint.load(tmp_path / "killed" / "checkpoints" / "last.safetensors")
    data = prepare(settings.data)
    windows = window_count(len(data.train), TRAINING.streams, TRAINING.steps)
    assert record["position"]["window"] == windows
    epochs, seconds = live_progress.read(tmp_path / "killed") or (0.0, 0.0)
    assert round(epochs * windows, 1) in range(1, windows + 1)
    assert seconds > 0
    resumed = train(settings, tmp_path / "killed", mode="resume")
    assert resumed.weights_sha256 == train(settings, tmp_path / "whole").weights_sha256
    assert metrics(tmp_path / "killed", "train_perplexity") == metrics(tmp_path / "whole", "train_perplexity")
    assert live_progress.read(tmp_path / "killed") is None


def cards(monkeypatch: pytest.MonkeyPatch, capability: tuple[int, int]) -> None:
    """As if here were one card."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "a card")


def test_a_card_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    cards(monkeypatch, (9, 0))
    assert resolve_device("cuda:0") == torch.device("cuda:0")
    with pytest.raises(SettingsError, match="cuda:3, but the last CUDA card here is cuda:0"):
        resolve_device("cuda:3")


@pytest.mark.parametrize(("capability", "precision"), [((7, 5), torch.float32), ((8, 0), torch.bfloat16)])
def test_bf16_is_taken_where_the_card_has_it(
    capability: tuple[int, int], precision: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    cards(monkeypatch, capability)
    assert resolve_precision("auto", torch.device("cuda")) == precision


def test_a_card_that_does_not_compute_is_not_named(monkeypatch: pytest.MonkeyPatch) -> None:
    cards(monkeypatch, (9, 0))
    assert [machine(torch.device(name))["gpu"] for name in ("cpu", "cuda:0")] == [None, "a card"]


def test_one_training_at_a_time_in_a_process(settings: Settings, tmp_path: Path) -> None:
    with (
        exclusive_training(None, torch.device("cpu")),
        pytest.raises(RunFolderError, match="another training is under way"),
    ):
        train(settings, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    train(settings, tmp_path / "run")


def test_going_on_and_replacing_are_not_asked_for_together(settings: Settings, tmp_path: Path) -> None:
    train(settings, tmp_path / "run")
    before = (tmp_path / "run" / "result.json").read_bytes()
    with pytest.raises(RunFolderError, match="mode is one of new, resume, overwrite, got 'both'"):
        train(settings, tmp_path / "run", mode="both")  # type: ignore[arg-type]
    assert (tmp_path / "run" / "result.json").read_bytes() == before
