"""The LSTM layer as one autograd node, in each of its forms, against one number at a time and against `gradcheck`."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from tests.reference.lstm import SlowLayer, slow_window
from wordtie.kernels import backend
from wordtie.kernels.lstm.layer import FastLayer
from wordtie.nn.lstm import LSTMLayer, LSTMWeights
from wordtie.nn.masks import LayerMasks


def fast(
    layer: LSTMLayer, precision: torch.dtype, inputs: Tensor, state: tuple[Tensor, Tensor], mask: Tensor | None
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """Outputs masked as they recur, and the last state."""
    weights = LSTMWeights(layer.input_weight, layer.recurrent_weight, layer.bias)
    masks = LayerMasks(output=mask, recurrent=mask)
    outputs, after = FastLayer(precision)(weights, inputs, state, masks)
    return masks.going_up(outputs), after


@dataclass(frozen=True)
class Case:
    steps: int = 5
    streams: int = 3
    size: int = 4
    units: int = 3
    masked: bool = True

    def layer(self, dtype: torch.dtype) -> LSTMLayer:
        generator = torch.Generator().manual_seed(1)
        layer = LSTMLayer(self.size, self.units).to(dtype)
        for parameter in layer.parameters():
            values = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.data.copy_(values)
        return layer

    def operands(self, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        """inputs, h and c that are not zero, mask."""
        generator = torch.Generator().manual_seed(2)

        def randn(*shape: int) -> Tensor:
            return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype).requires_grad_()

        here = self.streams, self.units
        mask = (torch.rand(here, generator=generator) < 0.7).to(dtype) / 0.7 if self.masked else None
        return randn(self.steps, self.streams, self.size), randn(*here), randn(*here), mask


CASES = {
    "odd": Case(),
    "no mask": Case(masked=False),
    "smallest": Case(1, 1, 1, 1),
    "one step": Case(steps=1),
    "past a vector register": Case(2, 1, 2, 19),
    "tiles of 4, 2 and 1 streams": Case(2, 7, 2, 9),
}


def slow(case: Case) -> tuple[Tensor, Tensor, Tensor]:
    """Outputs, h and c of every stream by the reference."""
    layer = case.layer(torch.float64)
    literal = [SlowLayer(layer.input_weight.tolist(), layer.recurrent_weight.tolist(), layer.bias.tolist())]
    inputs, hidden, cell, mask = case.operands(torch.float64)
    streams = []
    for b in range(case.streams):
        state = [(hidden[b].tolist(), cell[b].tolist())]
        masks = [[1.0] * case.units if mask is None else mask[b].tolist()]
        outputs, [(h, c)] = slow_window(literal, inputs[:, b].tolist(), state, [1.0] * case.size, masks)
        streams.append([torch.tensor(part, dtype=torch.float64) for part in (outputs, h, c)])
    outputs_TBH, h_BH, c_BH = zip(*streams, strict=True)
    return torch.stack(outputs_TBH, dim=1), torch.stack(h_BH), torch.stack(c_BH)


def gradients(layer: LSTMLayer, found: tuple[Tensor, ...], leaves: tuple[Tensor, ...]) -> list[Tensor]:
    """Of a sum in which every output, the last h and the last c have a weight of their own."""
    generator = torch.Generator().manual_seed(3)
    weights = [torch.randn(part.shape, generator=generator, dtype=torch.float64).to(part) for part in found]
    total = torch.stack([(part * weight).sum() for part, weight in zip(found, weights, strict=True)]).sum()
    return list(torch.autograd.grad(total, (*leaves, *layer.parameters())))


def run(case: Case, dtype: torch.dtype, precision: torch.dtype) -> tuple[list[Tensor], list[Tensor]]:
    layer = case.layer(dtype)
    inputs, hidden, cell, mask = case.operands(dtype)
    outputs, (h, c) = fast(layer, precision, inputs, (hidden, cell), mask)
    return [outputs, h, c], gradients(layer, (outputs, h, c), (inputs, hidden, cell))


def assert_close(found: list[Tensor], expected: list[Tensor], tolerance: float) -> None:
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one.to(other.dtype), other, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_values_equal_the_definition(form: str, case: Case) -> None:
    values, _ = run(case, torch.float32, torch.float32)
    assert_close(values, list(slow(case)), 2e-6)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_readable_form_equals_the_definition(case: Case) -> None:
    layer = case.layer(torch.float64)
    inputs, hidden, cell, mask = case.operands(torch.float64)
    outputs, state = layer(inputs, (hidden, cell), LayerMasks(output=mask, recurrent=mask))
    assert_close([outputs, *state], list(slow(case)), 1e-12)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_gradients_equal_autograd_of_the_readable_form(form: str, case: Case) -> None:
    layer = case.layer(torch.float64)
    inputs, hidden, cell, mask = case.operands(torch.float64)
    outputs, (h, c) = layer(inputs, (hidden, cell), LayerMasks(output=mask, recurrent=mask))
    expected = gradients(layer, (outputs, h, c), (inputs, hidden, cell))
    assert_close(run(case, torch.float64, torch.float64)[1], expected, 1e-11)
    assert_close(run(case, torch.float32, torch.float32)[1], expected, 1e-5)


@pytest.mark.parametrize("case", [Case(3, 2, 2, 2), Case(2, 1, 3, 2, masked=False)], ids=["masked", "no mask"])
def test_gradients_in_float64(case: Case) -> None:
    layer = case.layer(torch.float64)
    inputs, hidden, cell, mask = case.operands(torch.float64)

    def whole(*leaves: Tensor) -> tuple[Tensor, ...]:
        inputs, hidden, cell, *weights = leaves
        names = [name for name, _ in layer.named_parameters()]
        for name, weight in zip(names, weights, strict=True):
            delattr(layer, name)
            setattr(layer, name, weight)
        outputs, state = fast(layer, torch.float64, inputs, (hidden, cell), mask)
        for name, parameter in zip(names, parameters, strict=True):
            delattr(layer, name)
            setattr(layer, name, parameter)
        return outputs, *state

    parameters = list(layer.parameters())
    assert torch.autograd.gradcheck(whole, [inputs, hidden, cell, *parameters])


def test_bf16_is_near(form: str) -> None:
    """Inputs and input weights keep 8 bits, and with AMX the recurrence's, too."""
    case = Case(6, 4, 16, 12)
    expected_values, expected = run(case, torch.float64, torch.float64)
    values, found = run(case, torch.float32, torch.bfloat16)
    assert_close(values, expected_values, 5e-2)
    limit = 0.08 if backend.tiles_serve() else 0.05
    for one, other in zip(found, expected, strict=True):
        assert (one - other).norm() < limit * other.norm()


def test_a_layout_that_is_not_contiguous(form: str) -> None:
    case = Case()
    layer = case.layer(torch.float32)
    inputs, hidden, cell, mask = case.operands(torch.float32)
    assert mask is not None
    expected, _ = fast(layer, torch.float32, inputs, (hidden, cell), mask)
    turned = [part.T.contiguous().T for part in (hidden, cell, mask)]
    found, state = fast(
        layer, torch.float32, inputs.transpose(0, 2).contiguous().transpose(0, 2), (turned[0], turned[1]), turned[2]
    )
    torch.testing.assert_close(found, expected)
    turned_weights = torch.randn(found.shape[::-1]).permute(2, 1, 0)
    torch.autograd.backward([found, *state], [turned_weights, *(torch.randn(3, 3).T for _ in state)])


@pytest.mark.parametrize("bad", [float("nan"), float("inf")], ids=["nan", "inf"])
@pytest.mark.parametrize("where", ["input_weight", "recurrent_weight", "bias", "inputs", "cell"])
def test_what_is_not_finite_shows(form: str, where: str, bad: float) -> None:
    """NaN passes through gates and state. An infinite gate may close, as it should; it must not become a number > 1."""
    for place in range(3):
        case = Case(masked=False)
        layer = case.layer(torch.float32)
        inputs, hidden, cell, mask = case.operands(torch.float32)
        broken = {"inputs": inputs, "cell": cell, **dict(layer.named_parameters())}[where]
        with torch.no_grad():
            broken.view(-1)[place] = bad
        outputs, _ = fast(layer, torch.float32, inputs, (hidden, cell), mask)
        if bad == bad:
            assert not (outputs.abs() > 1).any()
        else:
            assert outputs.isnan().any()


def test_gates_far_from_zero(form: str) -> None:
    """Saturated, not overflowing: sigmoid and tanh of 1e4 and -1e4."""
    case = Case(steps=2)
    layer = case.layer(torch.float32)
    inputs, hidden, cell, mask = case.operands(torch.float32)
    with torch.no_grad():
        layer.bias.copy_(torch.tensor([1e4, -1e4, 90.0] * 4))
    outputs, (h, c) = fast(layer, torch.float32, inputs, (hidden, cell), mask)
    wide = case.layer(torch.float64)
    wide.bias.data.copy_(layer.bias.detach())
    operands = [part.detach().double() for part in (inputs, hidden, cell)]
    assert mask is not None
    masks = LayerMasks(mask.double(), mask.double())
    expected, (expected_h, expected_c) = wide(operands[0], (operands[1], operands[2]), masks)
    assert_close([outputs, h, c], [expected, expected_h, expected_c], 2e-6)
    for gradient in gradients(layer, (outputs, h, c), (inputs, hidden, cell)):
        assert gradient.isfinite().all()


def test_threads_do_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bit for bit: streams are shared out, and do not meet."""
    case = Case(3, 7, 4, 9)
    found = []
    for threads in (1, 2, 3):
        monkeypatch.setattr(torch, "get_num_threads", lambda threads=threads: threads)
        values, slopes = run(case, torch.float32, torch.float32)
        found.append([*values, *slopes])
    for others in found[1:]:
        assert all(torch.equal(one, other) for one, other in zip(found[0], others, strict=True))


def test_without_gradients_the_form_is_torchs(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a score does not depend on what else ran in the process, and prediction does not wait for numba."""
    case = Case()
    layer = case.layer(torch.float32)
    inputs, hidden, cell, _ = case.operands(torch.float32)
    monkeypatch.setattr(backend, "have_numba", lambda: pytest.fail("asked for numba"))
    with torch.no_grad():
        fast(layer, torch.float32, inputs, (hidden, cell), None)
