"""Training and measuring compute in fp32, though the program around them has asked torch for less."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest
import torch

from wordtie.config import ModelSettings
from wordtie.models.fp32 import in_fp32
from wordtie.models.language_model import LanguageModel
from wordtie.models.network import evaluating
from wordtie.training.process import exclusive_training

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def asked_for_less() -> Iterator[None]:
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    yield
    torch.set_float32_matmul_precision(before)


@pytest.mark.parametrize(
    "within",
    [
        lambda: in_fp32(CPU),
        lambda: exclusive_training(1, CPU),
        lambda: evaluating(LanguageModel(ModelSettings(hidden=2), 3)),
    ],
    ids=["alone", "training", "measuring"],
)
def test_products_are_whole_and_afterwards_as_asked_for(within: Callable[[], AbstractContextManager[object]]) -> None:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        with within():
            assert torch.get_float32_matmul_precision() == "highest"
            assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.float32
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.bfloat16
    assert torch.get_float32_matmul_precision() == "high"


@pytest.mark.parametrize("place", ["cuda.matmul", "mkldnn.matmul"])
def test_what_was_asked_for_of_one_device_comes_back(place: str) -> None:
    """Since torch 2.9 it can be asked for so; then there is no one answer to what is asked for of all."""
    kind = operator.attrgetter(place)(torch.backends)
    before = kind.fp32_precision
    kind.fp32_precision = "tf32"
    try:
        with in_fp32(CPU):
            assert kind.fp32_precision == "ieee"
        assert kind.fp32_precision == "tf32"
    finally:
        kind.fp32_precision = before
