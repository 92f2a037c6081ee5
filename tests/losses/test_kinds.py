"""Every kind and form of loss against its equations, in value and gradient, readable and fast."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from tests.reference import augmented_losses as reference
from wordtie.config import LossSettings
from wordtie.losses.build import build_loss

Reference = Callable[[Tensor, Tensor, Tensor | None, Tensor, Tensor], Tensor]

KINDS: dict[str, tuple[LossSettings, Reference]] = {
    "2016": (
        LossSettings("augmented_2016", gamma=0.3),
        lambda q, o, b, t, w: reference.loss_2016(q, o, b, t, w, 0.3, "kl"),
    ),
    "2016, cross-entropy": (
        LossSettings("augmented_2016", gamma=0.3, form="cross_entropy"),
        lambda q, o, b, t, w: reference.loss_2016(q, o, b, t, w, 0.3, "cross_entropy"),
    ),
    "2017": (
        LossSettings("augmented", 3.0, gamma=0.7),
        lambda q, o, b, t, w: reference.loss_2017(q, o, b, t, w, 3.0, 0.7, "kl"),
    ),
    "2017, cross-entropy": (
        LossSettings("augmented", 3.0, gamma=0.7, form="cross_entropy"),
        lambda q, o, b, t, w: reference.loss_2017(q, o, b, t, w, 3.0, 0.7, "cross_entropy"),
    ),
    "6.1": (
        LossSettings("interpolated", 3.0, beta=0.4),
        lambda q, o, b, t, w: reference.loss_6_1(q, o, b, t, w, 3.0, 0.4),
    ),
    "6.1, beta 1": (
        LossSettings("interpolated", 3.0, beta=1.0),
        lambda q, o, b, t, w: reference.loss_6_1(q, o, b, t, w, 3.0, 1.0),
    ),
}
TARGETS = torch.tensor([3, 0, 3, 6, 1])


def parts(tied: bool, bias: bool, hidden: int = 3) -> list[Tensor | None]:
    """query, output, bias, words; tied, output and words are one tensor."""
    torch.manual_seed(3)
    query, output, words = torch.randn(5, hidden), torch.randn(7, hidden), torch.randn(7, 3)
    if tied:
        words = output
    tensors = [query, output, torch.randn(7) if bias else None, words]
    return [None if each is None else each.requires_grad_() for each in tensors]


def value_and_gradients(loss: Reference, given: list[Tensor | None], double: bool) -> list[Tensor]:
    leaves = [each for each in given if each is not None]
    query, output, bias, words = [each if each is None or not double else each.double() for each in given]
    assert query is not None
    assert output is not None
    assert words is not None
    total = loss(query, output, bias, TARGETS, output if given[3] is given[1] else words)
    gradients = torch.autograd.grad(total, leaves, allow_unused=True, materialize_grads=True)
    return [total.detach().float(), *(each.float() for each in gradients)]


@pytest.mark.parametrize("fused", [False, True], ids=["readable", "fused"])
@pytest.mark.parametrize("bias", [False, True], ids=["no bias", "bias"])
@pytest.mark.parametrize("tied", [False, True], ids=["untied", "tied"])
@pytest.mark.parametrize("kind", KINDS)
def test_equals_its_equations(kind: str, tied: bool, bias: bool, fused: bool) -> None:
    settings, by_hand = KINDS[kind]
    loss = build_loss(settings, fused, torch.float32)
    given = parts(tied, bias)
    ours = value_and_gradients(lambda *each: loss(*each).total, given, double=False)
    expected = value_and_gradients(by_hand, given, double=True)
    for one, other in zip(ours, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("fused", [False, True], ids=["readable", "fused"])
@pytest.mark.parametrize("kind", ["2016", "2017", "2017, cross-entropy"])
def test_output_and_input_vectors_may_differ_in_size(kind: str, fused: bool) -> None:
    settings, by_hand = KINDS[kind]
    loss = build_loss(settings, fused, torch.float32)
    given = parts(tied=False, bias=True, hidden=5)
    ours = value_and_gradients(lambda *each: loss(*each).total, given, double=False)
    expected = value_and_gradients(by_hand, given, double=True)
    for one, other in zip(ours, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("fused", [False, True], ids=["readable", "fused"])
@pytest.mark.parametrize("kind", KINDS)
def test_no_gradient_through_the_target_where_it_is_switched_off(kind: str, fused: bool) -> None:
    values = {**KINDS[kind][0].__dict__, "gradient_through_target": False}
    loss = build_loss(LossSettings(**values), fused, torch.float32)
    given = parts(tied=False, bias=True)
    *_, d_words = value_and_gradients(lambda *each: loss(*each).total, given, double=False)
    assert not d_words.any()


@pytest.mark.parametrize("fused", [False, True], ids=["readable", "fused"])
@pytest.mark.parametrize("kind", [kind for kind, (settings, _) in KINDS.items() if settings.form == "kl"])
def test_only_the_entropy_of_the_similar_words_teaches_them_where_asked_for(kind: str, fused: bool) -> None:
    """As in the code that was released."""
    settings = LossSettings(**{**KINDS[kind][0].__dict__, "gradient_through_target": "entropy"})
    loss, given = build_loss(settings, fused, torch.float32), parts(tied=False, bias=True)
    *_, d_words = value_and_gradients(lambda *each: loss(*each).total, given, double=False)

    words = given[3]
    assert words is not None
    temperature = 1.0 if settings.kind == "augmented_2016" else settings.temperature
    weight = settings.weight * temperature
    if settings.kind == "interpolated":
        weight = settings.beta * temperature**2 * len(words)
    similar = (words[TARGETS] @ words.T / temperature).softmax(1)
    negative_entropy = (similar * similar.log()).sum() * weight
    (expected,) = torch.autograd.grad(negative_entropy, [words])
    torch.testing.assert_close(d_words, expected, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("beta", [0.01, 0.1, 0.99])
def test_the_weight_of_the_cross_entropy_is_not_rounded_away(beta: float) -> None:
    """Beside a divergence that weighs tau^2 V: the bias learns from the cross-entropy alone."""
    torch.manual_seed(0)
    query, output, bias = torch.randn(4, 2), torch.randn(33_000, 2), torch.zeros(33_000, requires_grad=True)
    targets = torch.tensor([0, 1, 2, 3])
    found = []
    for loss in (LossSettings("interpolated", 20.0, beta=beta), LossSettings("cross_entropy")):
        total = build_loss(loss, False, torch.float32)(query, output, bias, targets, output).total
        found.append(torch.autograd.grad(total, bias)[0])
    torch.testing.assert_close(found[0], (1 - beta) * found[1], rtol=1e-5, atol=0)


@pytest.mark.parametrize("kind", KINDS)
def test_reports_cross_entropy_alone(kind: str) -> None:
    query, output, bias, words = parts(tied=False, bias=True)
    assert query is not None
    assert output is not None
    assert words is not None
    alone = build_loss(LossSettings("cross_entropy"), False, torch.float32)
    loss = build_loss(KINDS[kind][0], True, torch.float32)
    expected = alone(query, output, bias, TARGETS, words)
    found = loss(query, output, bias, TARGETS, words)
    torch.testing.assert_close(found.cross_entropy, expected.cross_entropy)
    assert found.tokens == 5
