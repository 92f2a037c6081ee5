"""The sizes that the papers print, of models on the meta device: no number is stored."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from wordtie.config import ModelSettings
from wordtie.models.language_model import LanguageModel

PTB, WIKITEXT_2, WIKIPEDIA = 10_000, 33_278, 50_000
MILLION = 1e6

LARGE = {"hidden": 1500, "output_bias": True}
RHN = {"core": "rhn", "layers": 1, "depth": 10, "hidden": 830, "output_bias": True}


def sized(hidden: int, embedding: int, head: str) -> dict[str, Any]:
    return {"hidden": hidden, "embedding": embedding, "head": head, "output_bias": True}


ROWS: dict[str, tuple[int, dict[str, Any], float, float]] = {
    # words, model settings, printed millions, half a unit of the last printed digit
    "press-wolf-2017 table 6, small": (PTB, {"head": "untied"}, 4.65, 0.005),
    "press-wolf-2017 table 6, WT": (PTB, {"output_bias": True}, 2.65, 0.005),
    "press-wolf-2017 table 6, PR": (PTB, {"head": "untied", "projection": True}, 4.69, 0.005),
    "press-wolf-2017 table 6, WT + PR": (PTB, {"head": "tied_linear", "output_bias": True}, 2.69, 0.005),
    "press-wolf-2017 table 5, large": (PTB, {**LARGE, "head": "untied"}, 66, 0.5),
    "press-wolf-2017 table 5, large + WT": (PTB, LARGE, 51, 0.5),
    "press-wolf-2017 table 5, large + BD + WD": (PTB, {**LARGE, "head": "untied", "dropout": "gal"}, 66, 0.5),
    "press-wolf-2017 table 5, RHN": (PTB, {**RHN, "head": "untied"}, 32, 0.5),
    "press-wolf-2017 table 5, RHN + WT": (PTB, RHN, 24, 0.54),  # 23.48 million
    "inan-2017 table 3, medium LSTM": (PTB, {"hidden": 650, "head": "untied"}, 20, 0.5),
    "inan-2017 table 3, large LSTM": (PTB, {"hidden": 1500, "head": "untied"}, 66, 0.5),
    "inan-2017 table 3, VD-RHN": (PTB, {**RHN, "head": "untied"}, 32, 0.5),
    "inan-2017 table 3, VD-RHN + RE": (PTB, {**RHN, "output_bias": False}, 24, 0.54),  # 23.47 million
    "inan-2017 table 3, VD-LSTM + REAL": (PTB, {"hidden": 1500}, 51, 0.5),
    "gulordava-2018 table 1, 200/200 non-tied": (PTB, sized(200, 200, "untied"), 4.7, 0.05),
    "gulordava-2018 table 1, 200/200 tied": (PTB, sized(200, 200, "tied"), 2.7, 0.05),
    "gulordava-2018 table 1, 200/200 tied+L": (PTB, sized(200, 200, "tied_linear"), 2.7, 0.05),
    "gulordava-2018 table 1, 400/200 non-tied": (PTB, sized(400, 200, "untied"), 8.3, 0.05),
    "gulordava-2018 table 1, 400/200 tied+L": (PTB, sized(400, 200, "tied_linear"), 4.3, 0.05),
    "gulordava-2018 table 1, 400/400 non-tied": (PTB, sized(400, 400, "untied"), 10.6, 0.05),
    "gulordava-2018 table 1, 400/400 tied": (PTB, sized(400, 400, "tied"), 6.6, 0.05),
    "gulordava-2018 table 1, 400/400 tied+L": (PTB, sized(400, 400, "tied_linear"), 6.7, 0.05),
    "gulordava-2018 table 1, 600/400 non-tied": (PTB, sized(600, 400, "untied"), 15.3, 0.05),
    "gulordava-2018 table 1, 600/400 tied+L": (PTB, sized(600, 400, "tied_linear"), 9.5, 0.05),
    "gulordava-2018 table 1, 600/600 non-tied": (PTB, sized(600, 600, "untied"), 17.8, 0.05),
    "gulordava-2018 table 1, 600/600 tied": (PTB, sized(600, 600, "tied"), 11.8, 0.05),
    "gulordava-2018 table 1, 600/600 tied+L": (PTB, sized(600, 600, "tied_linear"), 12.1, 0.05),
    "gulordava-2018 table 2, 600/300 non-tied": (WIKIPEDIA, sized(600, 300, "untied"), 50, 0.5),
    "gulordava-2018 table 2, 600/300 tied+L": (WIKIPEDIA, sized(600, 300, "tied_linear"), 20, 0.5),
    "gulordava-2018 table 2, 600/600 non-tied": (WIKIPEDIA, sized(600, 600, "untied"), 66, 0.5),
    "gulordava-2018 table 2, 600/600 tied": (WIKIPEDIA, sized(600, 600, "tied"), 36, 0.5),
    "gulordava-2018 table 2, 600/600 tied+L": (WIKIPEDIA, sized(600, 600, "tied_linear"), 36, 0.5),
    "kong-2019 table 2, 512 untied, PTB": (PTB, {"hidden": 512, "head": "untied"}, 14, 0.5),
    "kong-2019 table 2, 512 untied, WT2": (WIKITEXT_2, {"hidden": 512, "head": "untied"}, 38, 0.5),
    "kong-2019 table 2, 512 tied, PTB": (PTB, {"hidden": 512}, 9, 0.5),
    "kong-2019 table 2, 512 tied, WT2": (WIKITEXT_2, {"hidden": 512}, 21, 0.5),
    "kong-2019 table 2, 1024 untied, PTB": (PTB, {"hidden": 1024, "head": "untied"}, 37, 0.5),
    "kong-2019 table 2, 1024 untied, WT2": (WIKITEXT_2, {"hidden": 1024, "head": "untied"}, 85, 0.5),
    "kong-2019 table 2, 1024 tied, PTB": (PTB, {"hidden": 1024}, 27, 0.5),
    "kong-2019 table 2, 1024 tied, WT2": (WIKITEXT_2, {"hidden": 1024}, 50, 1.0),  # 50.87 million, cut off there
}


def parameters(words: int, settings: dict[str, Any]) -> int:
    with torch.device("meta"):
        return LanguageModel(ModelSettings(**settings), words).parameter_count()


@pytest.mark.parametrize("row", ROWS)
def test_is_the_printed_size(row: str) -> None:
    words, settings, printed, half_a_unit = ROWS[row]
    assert abs(parameters(words, settings) / MILLION - printed) < half_a_unit + 1e-9


def test_the_smallest_model_to_the_number() -> None:
    """PTB: V E + two layers of 4 H (E + H + 1); untied V H more, and a bias for every word."""
    layers = 2 * 4 * 200 * (200 + 200 + 1)
    assert parameters(PTB, {}) == PTB * 200 + layers
    assert parameters(PTB, {"head": "untied"}) == 2 * PTB * 200 + PTB + layers
    layers = 4 * 200 * (50 + 200 + 1) + 4 * 200 * (200 + 200 + 1)
    assert parameters(PTB, {"head": "tied_linear", "embedding": 50}) == PTB * 50 + layers + 200 * 50
