"""Settings of the loss that mean nothing together."""

from __future__ import annotations

from typing import Any

import pytest

from wordtie.config import LossSettings
from wordtie.errors import SettingsError


@pytest.mark.parametrize("kind", ["augmented", "augmented_2016"])
def test_nothing_is_learnt_from_an_entropy_that_is_left_out(kind: Any) -> None:
    says = (
        r"^loss\.gradient_through_target entropy: loss\.form cross_entropy has no entropy in it: take form kl, or "
        "gradient_through_target false$"
    )
    with pytest.raises(SettingsError, match=says):
        LossSettings(kind, form="cross_entropy", gradient_through_target="entropy")
    LossSettings(kind, form="kl", gradient_through_target="entropy")
    for through in (True, False):
        LossSettings(kind, form="cross_entropy", gradient_through_target=through)


@pytest.mark.parametrize("kind", ["cross_entropy", "interpolated"])
def test_a_form_that_is_not_used_is_left_alone(kind: Any) -> None:
    LossSettings(kind, form="cross_entropy", gradient_through_target="entropy")


def test_equation_6_1_needs_all_words() -> None:
    """Its divergence is weighed by V, and a sample has fewer words."""
    with pytest.raises(SettingsError, match=r"^loss\.softmax sampled: interpolated .*: set loss\.kind to augmented$"):
        LossSettings("interpolated", softmax="sampled")
    LossSettings("interpolated")
    LossSettings("augmented", softmax="sampled")
