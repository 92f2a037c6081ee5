"""Perplexities and numbers as they are printed."""

from __future__ import annotations

import pytest

from wordtie.evaluation.format_perplexity import format_number, format_perplexity


@pytest.mark.parametrize(
    ("number", "printed"),
    [
        (0.5, "0.500000"),
        (0.0, "0.000000"),
        (1e-5, "0.000010"),
        (4.21e-8, "4.21e-08"),
        (-3e-6, "-3e-06"),
        (12.0, "12.000000"),
    ],
)
def test_numbers_near_zero_are_no_zeros(number: float, printed: str) -> None:
    assert format_number(number) == printed


def test_a_perplexity_that_means_nothing_is_short() -> None:
    assert format_perplexity(99_999.0) == "99999.00"
    assert format_perplexity(312_345.0) == "3.1e+05"
