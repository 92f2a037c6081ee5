"""Peak extra memory of the augmented loss, value and gradient, at the vocabulary of WikiText-103.

The naive loss holds some ten arrays of N x V; where the machine cannot hold them, its peak is taken from the line
through two smaller N (it is linear in N), and the row says so. The floor is the gradients that the loss hands back.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable

import torch
from torch import Tensor

from benchmarks.harness import Claim, Effort, Measurement, ratios, spread
from benchmarks.memory import available, extra_peak, in_fresh_process
from benchmarks.steps import zipf_ids
from tests.reference.naive import NaiveLoss, naive_loss
from wordtie.config import LossSettings
from wordtie.losses.build import build_loss
from wordtie.training.precision import resolve_precision

WORDS, TOKENS, SIZE = 267_735, 1_400, 200
NAIVE_ARRAYS = 14
"""Of N x V, more than the naive loss needs: to see beforehand whether it fits."""
SETTINGS = LossSettings()

Work = Callable[[Tensor, Tensor, Tensor], Tensor]


def naive_work(query: Tensor, words: Tensor, targets: Tensor) -> Tensor:
    """The papers' code."""
    return naive_loss(query, words, None, targets, words, NaiveLoss(SETTINGS.weight, SETTINGS.temperature))


def fast_work(query: Tensor, words: Tensor, targets: Tensor) -> Tensor:
    """What `wordtie train` uses on this machine."""
    precision = resolve_precision("auto", torch.device("cpu"))
    return build_loss(SETTINGS, True, precision)(query, words, None, targets, words).total


def fast_work_fp32(query: Tensor, words: Tensor, targets: Tensor) -> Tensor:
    """The same without bf16 instructions."""
    return build_loss(SETTINGS, True, torch.float32)(query, words, None, targets, words).total


def peak_of(work: Work, tokens: int) -> int:
    """Bytes, of loss and gradients; compiled and warmed up on a small vocabulary before."""
    for words in (50, WORDS):
        query = torch.randn(tokens, SIZE, requires_grad=True)
        matrix = torch.empty(words, SIZE).uniform_(-0.1, 0.1).requires_grad_()
        targets = torch.from_numpy(zipf_ids(tokens, words)).long()
        if words == 50:
            torch.autograd.backward(work(query, matrix, targets))
    return extra_peak(lambda: torch.autograd.backward(work(query, matrix, targets)))


def naive_peak(quick: bool) -> tuple[float, str]:
    """Bytes, and how they were found."""
    if not quick and available() > NAIVE_ARRAYS * 4 * WORDS * TOKENS:
        return in_fresh_process(peak_of, naive_work, TOKENS), "naive measured whole"
    small, large = TOKENS // 20, TOKENS // 10
    low, high = (in_fresh_process(peak_of, naive_work, tokens) for tokens in (small, large))
    through_both = low + (high - low) / (large - small) * (TOKENS - small)
    return through_both, f"naive from the line through N = {small} and {large}"


def measure(work: Work, effort: Effort) -> Measurement:
    """Alternate the two, each in processes of its own."""
    naive, ours = [], []
    for _ in range(1 if effort.quick else 3):
        peak, note = naive_peak(effort.quick)
        naive.append(peak)
        ours.append(float(in_fresh_process(peak_of, work, TOKENS)))
    values = ratios(naive, ours)
    return Measurement(
        ratio=statistics.median(values),
        spread=spread(values),
        alternative=statistics.median(naive) / 1e6,
        ours=statistics.median(ours) / 1e6,
        unit="MB",
        measured_over_floor=statistics.median(ours) / (4 * SIZE * (WORDS + TOKENS)),
        note=f"{note}; floor: the gradients handed back",
    )


WHAT = f"peak extra memory of the augmented loss, V {WORDS:,}, N {TOKENS:,}, against naive"
CLAIMS = (
    Claim("loss-memory", WHAT, 10.0, lambda effort: measure(fast_work, effort)),
    Claim("loss-memory-fp32", f"{WHAT}, fp32 forced", 10.0, lambda effort: measure(fast_work_fp32, effort)),
)
