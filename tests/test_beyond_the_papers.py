"""The cells of benchmarks/beyond_the_papers.py against their papers' equations, and its rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from benchmarks import beyond_the_papers
from benchmarks.beyond_the_papers import LSTM_TRIAL, TRIALS, Builder, Trial
from benchmarks.cells_tried.one_product import OneProduct, scan
from tests.tiny_run import write_text
from wordtie.config import ModelSettings
from wordtie.errors import SettingsError
from wordtie.kernels.lstm.layer import FastLayer
from wordtie.nn.build import CORES, build_core
from wordtie.nn.core import Core, State
from wordtie.nn.dropout import mask
from wordtie.nn.lstm import LSTM
from wordtie.nn.masks import NONE, Dropouts, LayerMasks, Masks
from wordtie.reproduction.papers.registry import ROWS

T, B, E, H = 4, 2, 3, 5
SETTINGS = ModelSettings(hidden=H, embedding=E, layers=2, head="tied_linear", forget_bias=1.0)
KINDS: dict[str, Builder] = {each.cell: each.build for each in TRIALS}
SUMMED = ", layers summed"
WITH_TWINS = ("LSTM", "LSTM, layers summed", "LSTM, outputs normalised")
Parameters = dict[str, Tensor]
Step = Callable[[Parameters, Tensor, list[Tensor]], tuple[Tensor, list[Tensor]]]
"""(Parameters of a layer, x of one step and stream, state) to (h, state)."""


def sigmoid(a: Tensor) -> Tensor:
    return 1 / (1 + torch.exp(-a))


def normalised(a: Tensor) -> Tensor:
    deviation = a - a.sum() / len(a)
    return deviation / torch.sqrt((deviation**2).sum() / len(a) + 1e-5)


def lstm(p: Parameters, x: Tensor, state: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
    h, c = state
    i, f, g, o = (p["input_weight"] @ x + p["recurrent_weight"] @ h + p["bias"]).split(H)
    c = sigmoid(f) * c + sigmoid(i) * torch.tanh(g)
    h = sigmoid(o) * torch.tanh(c)
    return h, [h, c]


def lstm_with_normalised_outputs(p: Parameters, x: Tensor, state: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
    h, state = lstm(p, x, state)
    return p["gain"] * normalised(h) + p["output_bias"], state


def lstm_normalised_within(p: Parameters, x: Tensor, state: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
    h, c = state
    from_x = p["input_gain"] * normalised(p["input_weight"] @ x)
    from_h = p["recurrent_gain"] * normalised(p["recurrent_weight"] @ h)
    i, f, g, o = (from_x + from_h + p["bias"]).split(H)
    c = sigmoid(f) * c + sigmoid(i) * torch.tanh(g)
    h = sigmoid(o) * torch.tanh(p["cell_gain"] * normalised(c) + p["cell_bias"])
    return h, [h, c]


def qrnn(p: Parameters, x: Tensor, state: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
    c, before = state
    w_before, w_now = p["weight"][:, : len(x)], p["weight"][:, len(x) :]
    f, z, o = (w_before @ before + w_now @ x + p["bias"]).split(H)
    c = sigmoid(f) * c + (1 - sigmoid(f)) * torch.tanh(z)
    return sigmoid(o) * c, [c, x]


def min_gru(p: Parameters, x: Tensor, state: list[Tensor], positive: bool = False) -> tuple[Tensor, list[Tensor]]:
    (h,) = state
    minus_z, n = (p["weight"] @ x + p["bias"]).split(H)
    z = sigmoid(-minus_z)
    if positive:
        n = torch.stack([each + 0.5 if each >= 0 else sigmoid(each) for each in n])
    h = (1 - z) * h + z * n
    return h, [h]


def sru(p: Parameters, x: Tensor, state: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
    (c,) = state
    w_f, w_r, w_n, *w_x = p["weight"].split(H)
    b_f, b_r = p["bias"].split(H)
    f, r = sigmoid(w_f @ x + b_f), sigmoid(w_r @ x + b_r)
    c = f * c + (1 - f) * (w_n @ x)
    return r * c + (1 - r) * (w_x[0] @ x if w_x else x), [c]


STEPS: dict[str, Step] = {
    "LSTM": lstm,
    "LSTM, outputs normalised": lstm_with_normalised_outputs,
    "LSTM, normalised within": lstm_normalised_within,
    "QRNN": qrnn,
    "minGRU": min_gru,
    "minGRU, positive": partial(min_gru, positive=True),
    "SRU": sru,
}


def by_hand(name: str, core: Core, x: Tensor, state: State, masks: Masks) -> tuple[Tensor, State]:
    """One stream and one step at a time."""
    assert masks.input is not None
    streams, ends = [], []
    for b in range(B):
        parts = [[part[b] for part in layer] for layer in state]
        outputs = []
        for t in range(T):
            up, heights = x[t, b] * masks.input[t, b], []
            for number, layer in enumerate(core.stack):
                up, parts[number] = STEPS[name.removesuffix(SUMMED)](dict(layer.named_parameters()), up, parts[number])
                dropped = masks.layers[number].output
                assert dropped is not None
                up = up * dropped[t, b]
                heights.append(up)
            outputs.append(sum(heights[1:], heights[0]) if name.endswith(SUMMED) else up)
        streams.append(torch.stack(outputs))
        ends.append(parts)
    last = [tuple(torch.stack([end[n][k] for end in ends]) for k in range(len(layer))) for n, layer in enumerate(state)]
    return torch.stack(streams, dim=1), last


def built(name: str, dropouts: Dropouts = NONE) -> Core:
    """Two layers, E to H to H, with no parameter where it would start."""
    torch.manual_seed(3)
    core = KINDS[name](SETTINGS, dropouts).double()
    for parameter in core.parameters():
        torch.nn.init.uniform_(parameter, -0.8, 0.8)
    return core


def some(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64)


def with_gradients(outputs: Tensor, state: State, leaves: Sequence[Tensor]) -> list[Tensor]:
    parts = [outputs, *(part for layer in state for part in layer)]
    total = sum((part * torch.linspace(-1, 2, part.numel()).view(part.shape)).sum() for part in parts)
    assert isinstance(total, Tensor)
    return [*(part.detach() for part in parts), *torch.autograd.grad(total, leaves)]


@pytest.mark.parametrize(
    ("name", "fused"), [*((name, False) for name in KINDS), *((name, True) for name in WITH_TWINS)]
)
def test_every_cell_equals_its_equations(name: str, fused: bool) -> None:
    """In value and gradient, from a state that is not zero, with what the recipe drops; LSTMs by their twin, too."""
    core = built(name)
    if fused:
        assert isinstance(core, LSTM)
        core.run_layer = FastLayer(torch.float64)
    x = some(T, B, E).requires_grad_()
    zeros = core.initial_state(B)
    state = [tuple(some(*part.shape).requires_grad_() for part in layer) for layer in zeros]
    dropped = mask((T, B, E), 0.4, x), [LayerMasks(output=mask((T, B, H), 0.4, x)) for _ in range(2)]
    leaves = [x, *(part for layer in state for part in layer), *core.parameters()]
    outputs, end = core(x, state, Masks(*dropped))
    found = with_gradients(outputs, end, leaves)
    expected = with_gradients(*by_hand(name, core, x, state, Masks(*dropped)), leaves)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("name", KINDS)
def test_a_window_in_two_halves_is_the_same(name: str) -> None:
    core = built(name)
    x = some(6, B, E)
    whole, end = core(x, core.initial_state(B))
    first, state = core(x[:1], core.initial_state(B))
    second, state = core(x[1:], state)
    torch.testing.assert_close(torch.cat([first, second]), whole)
    for one, other in zip(state, end, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("name", KINDS)
def test_what_the_recipe_drops_is_dropped_in_training_alone(name: str) -> None:
    core = built(name, Dropouts("zaremba", input=0.5, between=0.5, output=0.5))
    x = some(T, B, E)
    outputs, _ = core(x, core.initial_state(B))
    masks = core.draw_masks(x)
    assert masks.input is not None
    assert [each.output is not None for each in masks.layers] == [True, True]
    assert name.endswith(SUMMED) or 0.2 < float((outputs == 0).double().mean()) < 0.8
    core.eval()
    assert core.draw_masks(x) == Masks(None, [LayerMasks()] * 2)


def test_gradients_of_a_scan_are_those_of_differences() -> None:
    torch.manual_seed(1)
    given = [some(T, B, H).requires_grad_(), some(T, B, H).requires_grad_(), some(B, H).requires_grad_()]
    assert torch.autograd.gradcheck(scan, given)


@torch.no_grad()
def test_gates_that_keep_start_open_and_gains_where_they_should() -> None:
    settings = replace(SETTINGS, forget_bias=40.0)
    for name, build in KINDS.items():
        core = build(settings, NONE)
        for parameter in core.parameters():
            torch.nn.init.uniform_(parameter, -0.1, 0.1)
        for layer in core.stack:
            layer.reset_biases()
        start, of_cell = core.initial_state(B), 1 if "LSTM" in name else 0
        for parts in start:
            parts[of_cell].fill_(100.0)
        _, end = core(torch.randn(T, B, E), start)
        for parts in end:
            assert parts[of_cell].flatten().tolist() == pytest.approx([100.0] * B * H, abs=4), name
        for each, value in core.named_parameters():
            if "gain" in each:
                assert value.unique().tolist() == pytest.approx([0.1 if "outputs" in name else 1.0])


def test_the_trials_of_other_cells_have_cores_as_large_as_the_lstm() -> None:
    def size(trial: Trial) -> int:
        settings = trial.settings("ptb", 1000).model
        with torch.device("meta"):
            return sum(each.numel() for each in trial.build(settings, NONE).parameters())

    for trial in TRIALS:
        if trial.units != LSTM_TRIAL.units:
            assert size(trial) == pytest.approx(size(LSTM_TRIAL), rel=0.01), trial


def test_a_trial_changes_no_more_than_it_says() -> None:
    recipe, trial = ROWS["two-minutes/sotu/recipe"].settings(), Trial("QRNN", KINDS["QRNN"], 2, 200, 0.006)
    found = trial.settings("sotu", 5000)
    assert found.training.lr * found.training.word_rate == pytest.approx(recipe.training.lr * recipe.training.word_rate)
    training = replace(recipe.training, lr=0.006, word_rate=5.0, tokens=5000, threads=1, precision="fp32")
    assert found == replace(recipe, model=replace(recipe.model, layers=2, hidden=200), training=training)


def test_the_core_is_replaced_while_training_alone() -> None:
    settings, lstm = TRIALS[0].settings("ptb", 1000).model, CORES["lstm"]
    small = replace(settings, hidden=4)
    with beyond_the_papers.core_replaced(KINDS["minGRU"]):
        assert isinstance(build_core(small), OneProduct)
    assert CORES["lstm"] is lstm
    with pytest.raises(SettingsError), beyond_the_papers.core_replaced(KINDS["QRNN"]):
        replace(settings, hidden=0)
    assert CORES["lstm"] is lstm


def test_each_trial_is_a_training_and_has_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole program on a text of made-up words, which it takes for one of the recipe's."""
    recipe = ROWS["two-minutes/ptb/recipe"]
    changes: dict[str, Any] = {"data.corpus": str(write_text(tmp_path / "text")), "training.streams": 4,
                               "training.steps": 8, "loss.samples": 16, "model.embedding": 8}  # fmt: skip
    monkeypatch.setitem(ROWS, recipe.name, replace(recipe, changes={**recipe.changes, **changes}))
    monkeypatch.setattr(beyond_the_papers, "LSTM_TRIAL", replace(LSTM_TRIAL, units=6))
    some = {
        name: KINDS[name] for name in ("LSTM, layers summed", "LSTM, normalised within", "QRNN, layers summed", "SRU")
    }
    trials = [Trial(name, build, layers=2, units=6) for name, build in some.items()]
    monkeypatch.setattr(beyond_the_papers, "TRIALS", trials)
    results = tmp_path / "results.tsv"
    beyond_the_papers.main(["ptb"], results, 3000)
    rows = beyond_the_papers.kept(results)
    assert [row[1] for row in rows] == ["LSTM", "LSTM", "LSTM", *some]
    columns = [dict(zip(beyond_the_papers.COLUMNS, row, strict=True)) for row in rows]
    for row in columns:
        assert float(row["words/s"]) > 0  # seconds are rounded to tenths
        assert float(row["valid"]) < 90, row  # of 100 words
        assert int(row["parameters"]) > int(row["core"])
    assert [int(row["tokens"]) for row in columns] == pytest.approx([3000, 1500, 6000, *[3000] * len(some)], rel=0.05)
    assert columns[0]["lstm valid"] == columns[0]["valid"]
    *most, last = rows
    results.write_text("".join("\t".join(row) + "\n" for row in (beyond_the_papers.COLUMNS, *most)))
    beyond_the_papers.main(["ptb"], results, 3000)
    again = beyond_the_papers.kept(results)
    assert [row[1] for row in again] == [*list(some)[:-1], *["LSTM"] * 3, last[1]], "the LSTM's rows are new"
    beyond_the_papers.main(["ptb"], results, 3000)
    assert beyond_the_papers.kept(results) == again
    assert {row["core"] for row in columns[3:]} == {str(sum(p.numel() for p in build(
        replace(SETTINGS, hidden=6, embedding=8), NONE).parameters())) for build in some.values()}  # fmt: skip
