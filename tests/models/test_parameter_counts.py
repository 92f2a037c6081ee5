"""Parameter counts against arithmetic by hand, and against the papers' rounded figures.

An LSTM layer has 4H(E + H + 1) parameters, a word matrix VE, an output bias V, a linear map before the matrix HE.
"""

from __future__ import annotations

from typing import Literal

import pytest
import torch

from wordtie.config import ModelSettings
from wordtie.models.language_model import LanguageModel

Head = Literal["untied", "tied", "tied_linear"]
PTB, WIKITEXT_2 = 10_000, 33_278
SMALL, MEDIUM, LARGE = 641_600, 6_765_200, 36_012_000
"""Two LSTM layers of 200, 650 and 1500 units whose inputs are as long."""


def count(words: int, settings: ModelSettings) -> int:
    with torch.device("meta"):  # shapes without memory
        return LanguageModel(settings, words).parameter_count()


@pytest.mark.parametrize(
    ("hidden", "words", "base", "reused"),
    [
        (200, PTB, 2 * 2_000_000 + 10_000 + SMALL, 2_000_000 + SMALL),
        (650, PTB, 2 * 6_500_000 + 10_000 + MEDIUM, 6_500_000 + MEDIUM),
        (1500, PTB, 66_022_000, 15_000_000 + LARGE),
        (200, WIKITEXT_2, 2 * 6_655_600 + 33_278 + SMALL, 6_655_600 + SMALL),
    ],
    ids=["small", "medium", "large", "small, WikiText-2"],
)
def test_inan_2017(hidden: int, words: int, base: int, reused: int) -> None:
    """Base has its own output matrix and bias; RE reuses the word matrix, with the bias at 0."""
    assert count(words, ModelSettings(head="untied", hidden=hidden)) == base
    assert count(words, ModelSettings(head="tied", hidden=hidden)) == reused


@pytest.mark.parametrize(("head", "printed"), [("tied", 51), ("untied", 66)])
def test_inan_2017_table_3(head: Head, printed: int) -> None:
    """Large REAL, and the large untied VD-LSTM of Gal (2015), in millions."""
    assert round(count(PTB, ModelSettings(head=head, hidden=1500)) / 1e6) == printed


@pytest.mark.parametrize(
    ("settings", "expected", "printed"),
    [
        (ModelSettings(head="untied"), 4_651_600, 4.65),
        (ModelSettings(head="tied", output_bias=True), 2_651_600, 2.65),
        (ModelSettings(head="untied", projection=True), 4_691_600, 4.69),
        (ModelSettings(head="tied_linear", output_bias=True), 2_691_600, 2.69),
    ],
    ids=["base", "WT", "PR", "WT+PR"],
)
def test_press_wolf_2017_table_6(settings: ModelSettings, expected: int, printed: float) -> None:
    found = count(PTB, settings)
    assert found == expected
    assert round(found / 1e6, 2) == printed


@pytest.mark.parametrize(
    ("head", "hidden", "embedding", "printed"),
    [
        ("untied", 200, 200, 4.7),
        ("tied", 200, 200, 2.7),
        ("tied_linear", 200, 200, 2.7),
        ("untied", 400, 200, 8.3),
        ("tied_linear", 400, 200, 4.3),
        ("untied", 400, 400, 10.6),
        ("tied", 400, 400, 6.6),
        ("tied_linear", 400, 400, 6.7),
        ("untied", 600, 400, 15.3),
        ("tied_linear", 600, 400, 9.5),
        ("untied", 600, 600, 17.8),
        ("tied", 600, 600, 11.8),
        ("tied_linear", 600, 600, 12.1),
    ],
)
def test_gulordava_2018_table_1(head: Head, hidden: int, embedding: int, printed: float) -> None:
    """The PyTorch example that they start from has an output bias, and two biases a gate where one would do."""
    settings = ModelSettings(head=head, hidden=hidden, embedding=embedding, output_bias=True)
    assert (count(PTB, settings) + 2 * 4 * hidden) / 1e6 == pytest.approx(printed, abs=0.0501)
