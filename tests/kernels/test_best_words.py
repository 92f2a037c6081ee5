"""The likeliest words of each row: numba's form and torch's against a full log-softmax that is sorted."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from wordtie.kernels import best_words as module
from wordtie.kernels.backend import have_numba
from wordtie.kernels.best_words import best_words

FORMS = ["torch", pytest.param("numba", marks=pytest.mark.skipif(not have_numba(), reason="numba is not installed"))]


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(module, "numba_serves", lambda _: request.param == "numba")
    return str(request.param)


def sorted_log_softmax(logits_BV: Tensor, bias_V: Tensor | None, count: int) -> tuple[Tensor, Tensor, Tensor]:
    scores_BV = logits_BV.double() + (0 if bias_V is None else bias_V.double())
    found = scores_BV.log_softmax(1).sort(dim=1, descending=True, stable=True)
    return found.values[:, :count], found.indices[:, :count], scores_BV.logsumexp(1, keepdim=True)


@pytest.mark.parametrize("words", [3, 127, 128, 129, 1000])
@pytest.mark.parametrize("with_bias", [False, True])
def test_they_are_those_of_a_sorted_softmax(form: str, words: int, with_bias: bool) -> None:
    torch.manual_seed(words)
    logits_BV, bias_V = 4 * torch.randn(7, words), torch.randn(words) if with_bias else None
    wanted = sorted_log_softmax(logits_BV, bias_V, 10)
    log_p, ids, normaliser = best_words(logits_BV.clone(), bias_V, 10)
    assert log_p.shape == (7, min(10, words))
    torch.testing.assert_close(log_p.double(), wanted[0], atol=1e-5, rtol=1e-6)
    assert torch.equal(ids, wanted[1])
    torch.testing.assert_close(normaliser.double(), wanted[2], atol=1e-5, rtol=1e-6)


def test_rows_that_rise_and_rows_that_are_huge(form: str) -> None:
    """Every word is better than all before it; and scores whose exponentials overflow."""
    rising = torch.arange(300.0)[None] / 10
    log_p, ids, _ = best_words(rising.clone(), None, 4)
    assert ids.tolist() == [[299, 298, 297, 296]]
    far, ids_of_far, _ = best_words(rising + 1e4, None, 4)
    assert ids_of_far.tolist() == ids.tolist()
    torch.testing.assert_close(far, log_p, atol=2e-3, rtol=0)


def test_of_equal_scores_the_smaller_id_comes_first(form: str) -> None:
    assert best_words(torch.zeros(2, 400), None, 3)[1].tolist() == [[0, 1, 2]] * 2


def test_a_model_that_has_diverged_has_no_finite_score(form: str) -> None:
    logits_BV = torch.zeros(2, 300)
    logits_BV[0, 200] = torch.nan
    log_p, _, _ = best_words(logits_BV, None, 5)
    assert log_p[0].isnan().all()
    assert log_p[1].isfinite().all()
