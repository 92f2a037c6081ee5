"""A training step with the sampled softmax and sparse updates of the word matrix, against two alternatives.

`full`: our fused full softmax with dense Adam. The sample has 512 words, the default of `loss.samples`; in the rows of
a plan it is as `wordtie train --time` chooses it. `torch`: sampled softmax as it is usually written in PyTorch, with
`torch.nn.LSTM`, 1,000 shared negatives, the correction on target and negatives, hits masked, and dense gradients. The
model is a tied LSTM of one layer and 256 units with a linear map, 32 streams of 32 steps, Adam, clipping. Memory is
kept as in training.

Shapes: T steps, B streams, N = T * B tokens, V words, K negatives, E = H units.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import cycle

import torch
import torch.nn.functional as F
from torch import nn

from benchmarks.harness import Claim, Effort, MatrixProbe, Measurement, compare
from benchmarks.steps import ROUNDS, Setup, Window, fast_contender, memory_as_in_training, windows_of, zipf_counts
from wordtie.config import LossSettings, ModelSettings, TrainingSettings
from wordtie.losses.sampled import CandidateSampler
from wordtie.training.recipe import samples_for

NEGATIVES, POWER = 1_000, 0.75
"""Of the PyTorch alternative."""
FULL = Setup(
    ModelSettings(head="tied_linear", hidden=256, layers=1, hidden_dropout=0.0),
    LossSettings(kind="cross_entropy"),
    TrainingSettings(optimiser="adam", lr=0.003, clip=32.0, streams=32, steps=32),
)
SAMPLED = replace(FULL, loss=LossSettings(kind="cross_entropy", softmax="sampled"))


def multiply_adds(setup: Setup, windows: list[Window]) -> float:
    """Of the products of a step: the cell, the map, and the scores of the candidates of a window."""
    units, tokens = setup.model.hidden, setup.training.streams * setup.training.steps
    expected_V = CandidateSampler(zipf_counts(setup.words), setup.loss.samples, setup.loss.power).expected_V
    candidates = 0.0
    for _, targets in windows:
        distinct = targets.unique()
        candidates += len(distinct) + float(expected_V.sum() - expected_V[distinct].sum())
    return 3.0 * tokens * (9 * units**2 + candidates / len(windows) * units)


def torch_contender(setup: Setup, windows: Iterator[Window]) -> Callable[[], float]:
    """The step in plain PyTorch."""
    units, training = setup.model.hidden, setup.training
    torch.manual_seed(1)
    embedding, core, projection = nn.Embedding(setup.words, units), nn.LSTM(units, units), nn.Linear(units, units)
    bias = nn.Parameter(torch.zeros(setup.words))
    parameters = [*embedding.parameters(), *core.parameters(), *projection.parameters(), bias]
    optimiser = torch.optim.Adam(parameters, training.lr, fused=True)
    weight_V = zipf_counts(setup.words).float() ** POWER
    log_expected_V = (NEGATIVES * weight_V / weight_V.sum()).log()
    state = (torch.zeros(1, training.streams, units), torch.zeros(1, training.streams, units))

    def step() -> float:
        nonlocal state
        inputs_TB, targets_TB = next(windows)
        outputs_TBH, state = core(embedding(inputs_TB.long()), state)
        state = (state[0].detach(), state[1].detach())
        query_NE, targets_N = projection(outputs_TBH).flatten(0, 1), targets_TB.flatten().long()
        drawn_K = torch.multinomial(weight_V, NEGATIVES, replacement=True)
        corrected_V = bias - log_expected_V
        own_N = (query_NE * embedding.weight[targets_N]).sum(1) + corrected_V[targets_N]
        others_NK = query_NE @ embedding.weight[drawn_K].T + corrected_V[drawn_K]
        others_NK = others_NK.masked_fill(targets_N[:, None] == drawn_K, -1e9)
        scores = torch.cat([own_N[:, None], others_NK], dim=1)
        loss = F.cross_entropy(scores, torch.zeros_like(targets_N), reduction="sum")
        optimiser.zero_grad()
        torch.autograd.backward(loss / training.streams)
        nn.utils.clip_grad_norm_(parameters, training.clip)
        optimiser.step()
        return loss.item()

    return step


def measure(words: int, alternative: str, samples: int, effort: Effort) -> Measurement:
    """Ours against the alternative, with a vocabulary of so many words and a sample of so many."""
    full, sampled = replace(FULL, words=words), replace(SAMPLED, words=words)
    sampled = replace(sampled, loss=replace(sampled.loss, samples=samples))
    windows = windows_of(sampled)
    make = partial(fast_contender, full) if alternative == "full" else partial(torch_contender, full)
    with memory_as_in_training():
        found = compare(
            make(cycle(windows)),
            fast_contender(sampled, cycle(windows)),
            multiply_adds=multiply_adds(sampled, windows),
            probe=MatrixProbe(sampled.precision),
            rounds=effort.rounds * (1 if effort.quick or words > 50_000 else ROUNDS),
        )
    tokens = sampled.training.streams * sampled.training.steps
    note = f"{tokens / found.ours * 1e3:,.0f} words/s, alternative {tokens / found.alternative * 1e3:,.0f}"
    precision = str(sampled.precision).removeprefix("torch.")
    ours = "our products" if alternative == "torch" and sampled.precision != torch.float32 else "products"
    return replace(found, note=f"{note}; {ours} in {precision}")


AGAINST = {"full": "the fused full softmax and dense Adam", "torch": "sampled softmax in PyTorch with dense gradients"}
GOALS = {("full", 10_000): 3.0, ("full", 100_000): 15.0}
VOCABULARIES = (10_000, 33_278, 100_000)
OF_A_PLAN = {words: samples_for(words)["loss.samples"] for words in VOCABULARIES}
CLAIMS = (
    *(
        Claim(
            f"sampled-softmax-{alternative}-{words // 1000}k",
            f"training step with sampled softmax, 256 units, {words:,} words, against {what}",
            GOALS.get((alternative, words)),
            partial(measure, words, alternative, SAMPLED.loss.samples),
        )
        for alternative, what in AGAINST.items()
        for words in VOCABULARIES
    ),
    *(
        Claim(
            f"sampled-softmax-plan-{words // 1000}k",
            f"the same with the sample of a plan, {OF_A_PLAN[words]:,} of {words:,} words, against {AGAINST['full']}",
            None,
            partial(measure, words, "full", OF_A_PLAN[words]),
        )
        for words in VOCABULARIES
    ),
)
