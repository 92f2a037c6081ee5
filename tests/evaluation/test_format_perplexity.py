"""Perplexities and numbers as they are printed."""

from __future__ import annotations

import math

import pytest

from wordtie.evaluation.format_perplexity import format_epochs, format_number, format_perplexity


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
    assert format_perplexity(999.996) == "1000.00"
    assert format_perplexity(99_999.0) == "99999.00"
    assert format_perplexity(1_014_904.12) == "1014904"
    assert format_perplexity(3.12e12) == "3.1e+12"
    assert format_perplexity(math.inf) == "inf"


@pytest.mark.parametrize(
    ("epochs", "digits", "printed"),
    [
        (1000.0, 2, "1,000 epochs"),
        (99.6, 2, "100 epochs"),
        (10.4, 2, "10 epochs"),
        (9.96, 2, "10 epochs"),
        (1.0, 2, "1 epoch"),
        (0.123, 2, "0.12 epochs"),
        (1.25, 3, "1.25 epochs"),
        (36_000.4, 3, "36,000 epochs"),
    ],
)
def test_many_epochs_keep_their_digits(epochs: float, digits: int, printed: str) -> None:
    assert format_epochs(epochs, digits) == printed
