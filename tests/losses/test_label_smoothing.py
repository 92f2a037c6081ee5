"""Label smoothing against its definition, over the readable and the fast losses."""

from __future__ import annotations

import pytest
import torch

from wordtie.config import LossSettings
from wordtie.errors import SettingsError
from wordtie.losses.build import build_loss
from wordtie.losses.label_smoothing import LabelSmoothing
from wordtie.losses.loss import CrossEntropy, Scoring

N, V, E = 6, 11, 4


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_it_is_the_mean_cross_entropy_over_all_words(fused: bool, bias: bool) -> None:
    torch.manual_seed(1)
    query, matrix = torch.randn(N, E, requires_grad=True), torch.randn(V, E, requires_grad=True)
    bias_V = torch.randn(V, requires_grad=True) if bias else None
    targets, eps = torch.randint(V, (N,)), 0.15
    loss = build_loss(LossSettings(kind="cross_entropy", label_smoothing=eps), fused, torch.float32)
    given = [each for each in (query, matrix, bias_V) if each is not None]
    found = loss.forward(Scoring(query, matrix, bias_V, targets, matrix))
    log_p = (query @ matrix.T + (0 if bias_V is None else bias_V)).log_softmax(1)
    wanted = -(1 - eps) * log_p[range(N), targets].sum() - eps / V * log_p.sum()
    torch.testing.assert_close(found.total, wanted)
    torch.testing.assert_close(found.cross_entropy, -log_p[range(N), targets].sum())
    ours, theirs = torch.autograd.grad(found.total, given), torch.autograd.grad(wanted, given)
    torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-4)


def test_drawn_targets_stand_for_the_rows() -> None:
    torch.manual_seed(1)
    query, matrix, drawn = torch.randn(N, E), torch.randn(V, E), torch.randn(N, E)
    targets = torch.arange(N) % V
    distance = LabelSmoothing.distance(Scoring(query, matrix, None, targets, matrix, drawn))
    score = query @ matrix.T
    score[torch.arange(N), targets] = (query * drawn).sum(1)
    torch.testing.assert_close(distance, (score[torch.arange(N), targets] - score.mean(1)).sum())


def test_shares_and_losses_that_mean_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="in \\[0, 1\\)"):
        LabelSmoothing(CrossEntropy(), 1.0)
    with pytest.raises(SettingsError, match=r"loss\.label_smoothing is a share"):
        LossSettings(label_smoothing=1.0)
    for wrong in ({"softmax": "sampled"}, {"kind": "interpolated"}):
        with pytest.raises(SettingsError, match=r"loss\.label_smoothing is over all words"):
            LossSettings(label_smoothing=0.1, **wrong)  # type: ignore[arg-type]
