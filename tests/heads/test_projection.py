"""Heads with a linear map: the query, what scores it, and the penalty."""

from __future__ import annotations

import math

import pytest
import torch

from wordtie.config import ModelSettings
from wordtie.heads.build import build_head
from wordtie.heads.projection import Projection
from wordtie.heads.tied import TiedLinear


def test_tied_linear_scores_words_by_the_word_matrix() -> None:
    """o_v = sum over e of (sum over h of x_h L_he) E_ve."""
    head = build_head(ModelSettings(head="tied_linear", hidden=3, embedding=2), 4)
    assert isinstance(head, TiedLinear)
    torch.nn.init.normal_(head.projection.weight)
    hidden, words = torch.randn(1, 3), torch.randn(4, 2)
    scores = (head(hidden) @ head.output_matrix(words).T)[0].tolist()
    x, linear = hidden[0].tolist(), head.projection.weight.tolist()
    query = [sum(x[h] * linear[h][e] for h in range(3)) for e in range(2)]
    expected = [sum(query[e] * row[e] for e in range(2)) for row in words.tolist()]
    assert scores == pytest.approx(expected, rel=1e-5)
    assert head.output_matrix(words) is words


def test_a_map_may_have_a_bias_which_the_penalty_leaves_alone() -> None:
    settings = ModelSettings(head="tied_linear", hidden=3, embedding=2, projection_bias=True, projection_penalty=1.0)
    head = build_head(settings, 4)
    assert isinstance(head, TiedLinear)
    assert head.projection.bias is not None
    torch.nn.init.normal_(head.projection.weight)
    torch.nn.init.normal_(head.projection.bias)
    hidden = torch.randn(5, 3)
    torch.testing.assert_close(head(hidden), hidden @ head.projection.weight + head.projection.bias)
    penalty = head.penalty()
    assert isinstance(penalty, torch.Tensor)
    assert penalty.item() == pytest.approx(head.projection.weight.square().sum().item() / 2)
    assert build_head(ModelSettings(head="tied_linear"), 4).state_dict().keys() == {"bias", "projection.weight"}


def test_penalties_are_those_printed_and_released() -> None:
    """lambda |P| as the paper prints it; 0.15 * 1/2 |P|^2 as released, and the gradients of both."""
    values = [[3.0, 0.0], [-4.0, 12.0]]
    norm = math.sqrt(9 + 16 + 144)
    for form, value, slope in (("norm", 0.15 * norm, 0.15 / norm), ("squared_norm", 0.15 * norm**2 / 2, 0.15)):
        projection = Projection(2, 2, 0.15, form)  # type: ignore[arg-type]
        projection.weight.data = torch.tensor(values)
        penalty = projection.penalty()
        assert isinstance(penalty, torch.Tensor)
        assert penalty.item() == pytest.approx(value)
        (gradient,) = torch.autograd.grad(penalty, projection.weight)
        torch.testing.assert_close(gradient, torch.tensor(values) * slope)


@pytest.mark.parametrize(
    "settings",
    [
        ModelSettings(),
        ModelSettings(head="untied"),
        ModelSettings(head="tied_linear", embedding=100),
        ModelSettings(head="untied", projection=True),
    ],
)
def test_no_penalty_where_none_is_asked_for(settings: ModelSettings) -> None:
    assert build_head(settings, 10).penalty() == 0.0


@pytest.mark.parametrize("head", ["untied", "tied", "tied_linear"])
@pytest.mark.parametrize("bias", [False, True])
def test_output_bias_is_on_or_off(head: str, bias: bool) -> None:
    built = build_head(ModelSettings(head=head, output_bias=bias), 10)  # type: ignore[arg-type]
    assert (built.bias is not None) == bias


def test_untied_may_have_vectors_of_another_size() -> None:
    head = build_head(ModelSettings(head="untied", hidden=3, embedding=2), 4)
    assert head.output_matrix(torch.randn(4, 2)).shape == (4, 3)
    head = build_head(ModelSettings(head="untied", hidden=3, embedding=2, projection=True), 4)
    assert head(torch.randn(1, 3)).shape == (1, 2)
    assert head.output_matrix(torch.randn(4, 2)).shape == (4, 2)


def test_output_bias_where_nobody_says() -> None:
    defaults = {head: ModelSettings(head=head).has_output_bias for head in ("untied", "tied", "tied_linear")}
    assert defaults == {"untied": True, "tied": False, "tied_linear": True}
