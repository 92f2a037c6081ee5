"""Losses whose targets have output vectors of their own, against plain autograd over whole matrices."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from wordtie.config import LossSettings
from wordtie.losses.build import build_loss

N, V, E = 23, 17, 5
TEMPERATURE, GAMMA = 2.0, 0.7


def by_hand(query: Tensor, output: Tensor, bias: Tensor | None, targets: Tensor, words: Tensor, drawn: Tensor,
            augmented: bool, through: bool, of_2016: bool) -> Tensor:  # fmt: skip
    """Token by token, each with an output matrix of its own in which the target's row is the drawn one."""
    total = query.new_zeros(())
    for q, target, vector in zip(query, targets.tolist(), drawn, strict=True):
        matrix = torch.cat([output[:target], vector[None], output[target + 1 :]])
        scores = matrix @ q
        logits = scores if bias is None else scores + bias
        total = total - logits[target] + torch.logsumexp(logits, 0)
        if augmented:
            base = words if through else words.detach()
            temperature, held = (1.0, logits) if of_2016 else (TEMPERATURE, scores)
            similar = torch.softmax(base @ base[target] / temperature, 0)
            predicted = F.log_softmax(held / temperature, 0)
            total = total + GAMMA * temperature * (similar * (similar.log() - predicted)).sum()
    return total


@pytest.mark.parametrize("fused", [False, True], ids=["readable", "fused"])
@pytest.mark.parametrize("bias", [False, True], ids=["no bias", "bias"])
@pytest.mark.parametrize("tied", [False, True], ids=["untied", "tied"])
@pytest.mark.parametrize("kind", ["cross_entropy", "augmented", "augmented, target fixed", "augmented_2016"])
def test_equals_the_definition(kind: str, tied: bool, bias: bool, fused: bool) -> None:
    torch.manual_seed(1)
    augmented, through, of_2016 = kind != "cross_entropy", kind.endswith(("augmented", "2016")), kind.endswith("2016")

    def leaf(*shape: int) -> Tensor:
        return torch.randn(*shape).requires_grad_()

    query, output, drawn, offsets = leaf(N, E), leaf(V, E), leaf(N, E), leaf(V)
    words = output if tied else leaf(V, E)
    targets = torch.randint(V, (N,))
    settings = LossSettings(
        kind="augmented_2016" if of_2016 else "augmented" if augmented else "cross_entropy",
        temperature=TEMPERATURE,
        gamma=GAMMA,
        gradient_through_target=through,
    )
    loss = build_loss(settings, fused, torch.float32)
    found = loss(query, output, offsets if bias else None, targets, words, drawn)
    expected = by_hand(query, output, offsets if bias else None, targets, words, drawn, augmented, through, of_2016)
    torch.testing.assert_close(found.total, expected, rtol=1e-4, atol=1e-4)
    leaves = [query, output, drawn, *([offsets] if bias else []), *([words] if through and not tied else [])]
    ours = torch.autograd.grad(found.total * 1.5, leaves)
    theirs = torch.autograd.grad(expected * 1.5, leaves)
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("fused", [False, True], ids=["readable", "fused"])
@pytest.mark.parametrize("kind", ["cross_entropy", "augmented"])
def test_the_targets_own_rows_change_nothing(kind: str, fused: bool) -> None:
    torch.manual_seed(2)
    query, output, targets = torch.randn(N, E), torch.randn(V, E), torch.randint(V, (N,))
    loss = build_loss(LossSettings(kind=kind), fused, torch.float32)  # type: ignore[arg-type]
    plain = loss(query, output, None, targets, output)
    drawn = loss(query, output, None, targets, output, output[targets])
    torch.testing.assert_close(drawn.total, plain.total)
    torch.testing.assert_close(drawn.cross_entropy, plain.cross_entropy)
