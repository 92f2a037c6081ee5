"""Cross-entropy and the augmented loss, readable and fused, against lists and `math`: value and gradient by hand."""

from __future__ import annotations

from typing import Literal

import pytest
import torch
from torch import Tensor

from tests.reference.losses import literal_loss, slow_loss
from wordtie.config import LossSettings
from wordtie.losses.augmented import AugmentedLoss
from wordtie.losses.build import build_loss
from wordtie.losses.loss import CrossEntropy

SHAPES = {"odd": (5, 7, 3), "one token": (1, 7, 3), "two words": (4, 2, 2), "smallest": (1, 2, 1)}
FORMS = ["readable", "fused"]


def leaf(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64).float().requires_grad_()


def gradients(total: Tensor, leaves: list[Tensor]) -> list[Tensor]:
    found = torch.autograd.grad(total, leaves, allow_unused=True)
    return [torch.zeros_like(each) if g is None else g for each, g in zip(leaves, found, strict=True)]


def assert_close(found: list[Tensor], expected: list[Tensor]) -> None:
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one.double(), other, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("through", [True, False, "entropy"], ids=["through", "fixed", "entropy"])
@pytest.mark.parametrize("tied", [False, True], ids=["untied", "tied"])
@pytest.mark.parametrize("bias", [False, True], ids=["no-bias", "bias"])
@pytest.mark.parametrize("temperature", [1.0, 20.0])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_the_augmented_loss(
    shape: tuple[int, int, int],
    temperature: float,
    bias: bool,
    tied: bool,
    through: bool | Literal["entropy"],
    form: str,
) -> None:
    torch.manual_seed(1)
    tokens, vocabulary, size = shape
    query, output, offset = leaf(tokens, size), leaf(vocabulary, size), leaf(vocabulary)
    words = output if tied else leaf(vocabulary, size)
    targets = torch.randint(vocabulary, (tokens,))
    settings = LossSettings("augmented", temperature=temperature, gamma=0.7, gradient_through_target=through)
    loss = build_loss(settings, form == "fused", torch.float32)
    found = loss(query, output, offset if bias else None, targets, words)
    leaves = [query, output, *([] if tied else [words]), *([offset] if bias else [])]

    matrices = query.tolist(), output.tolist(), offset.tolist() if bias else [0.0] * vocabulary, targets.tolist()
    slow = slow_loss(*matrices, words.tolist(), temperature, 0.7, through)
    d_query, d_output, d_words, d_bias = (
        torch.tensor(part, dtype=torch.float64) for part in (slow.d_query, slow.d_output, slow.d_words, slow.d_bias)
    )
    expected = [d_query, d_output + d_words if tied else d_output, *([] if tied else [d_words])]
    assert found.tokens == tokens
    assert found.cross_entropy.item() == pytest.approx(slow.cross_entropy, rel=1e-5, abs=1e-6)
    assert found.total.item() == pytest.approx(slow.total, rel=1e-5, abs=1e-6)
    assert_close(gradients(found.total, leaves), [*expected, *([d_bias] if bias else [])])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("bias", [False, True], ids=["no-bias", "bias"])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_cross_entropy(shape: tuple[int, int, int], bias: bool, form: str) -> None:
    torch.manual_seed(2)
    tokens, vocabulary, size = shape
    query, output, offset = leaf(tokens, size), leaf(vocabulary, size), leaf(vocabulary)
    targets = torch.randint(vocabulary, (tokens,))
    loss = build_loss(LossSettings("cross_entropy"), form == "fused", torch.float32)
    found = loss(query, output, offset if bias else None, targets, output)
    slow = slow_loss(
        query.tolist(), output.tolist(), offset.tolist() if bias else [0.0] * vocabulary, targets.tolist(),
        output.tolist(), through_target=False,
    )  # fmt: skip
    assert found.total.item() == found.cross_entropy.item() == pytest.approx(slow.total, rel=1e-5)
    expected = [torch.tensor(part, dtype=torch.float64) for part in (slow.d_query, slow.d_output, slow.d_bias)]
    assert_close(gradients(found.total, [query, output, *([offset] if bias else [])]), expected[: 3 if bias else 2])


@pytest.mark.parametrize("tied", [False, True], ids=["untied", "tied"])
def test_the_two_references_agree(tied: bool) -> None:
    """The one with gradients by hand, and the one that larger tests differentiate."""
    torch.manual_seed(3)
    query, output, bias = (torch.randn(*shape, dtype=torch.float64) for shape in ((4, 3), (6, 3), (6,)))
    words = output if tied else torch.randn(6, 3, dtype=torch.float64)
    leaves = [query, output, bias, *([] if tied else [words])]
    for each in leaves:
        each.requires_grad_()
    targets = torch.tensor([0, 5, 5, 2])
    total, _ = literal_loss(query, output, bias, targets, words, 3.0, 0.7)
    slow = slow_loss(query.tolist(), output.tolist(), bias.tolist(), targets.tolist(), words.tolist(), 3.0, 0.7)
    assert total.item() == pytest.approx(slow.total, rel=1e-12)
    by_hand = [torch.tensor(part, dtype=torch.float64) for part in (slow.d_query, slow.d_output, slow.d_bias)]
    d_words = torch.tensor(slow.d_words, dtype=torch.float64)
    expected = [by_hand[0], by_hand[1] + d_words, by_hand[2]] if tied else [*by_hand, d_words]
    for one, other in zip(torch.autograd.grad(total, leaves), expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-10)


def test_the_readable_losses_in_float64() -> None:
    query, words, bias = (torch.randn(*shape, dtype=torch.float64) for shape in ((3, 2), (4, 2), (4,)))
    targets = torch.tensor([1, 1, 3])
    for loss in (CrossEntropy(), AugmentedLoss(3.0, 0.7)):

        def total(query: Tensor, words: Tensor, bias: Tensor) -> Tensor:
            return loss(query, words, bias, targets, words).total  # noqa: B023

        assert torch.autograd.gradcheck(total, [each.requires_grad_() for each in (query, words, bias)])
