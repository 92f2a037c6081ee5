"""The training steps that the claims compare, ready to be called again and again.

Every contender starts from the same parameters and sees the same windows: synthetic ids by Zipf's law (probability
of the word of rank r in proportion to 1 / r), which over 10,000 words repeat about as often as those of Penn Treebank
do (some 380 distinct words a window of 700, against 360).

Shapes: T steps, B streams, N = T * B tokens, V words, E = H units, L layers, M distinct targets of a window.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import cycle

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from benchmarks.harness import Claim, Effort, MatrixProbe, Measurement, compare
from benchmarks.shares import sentence, shares
from tests.reference.naive import NaiveLoss, NaiveModel, naive_step
from wordtie.config import LossSettings, ModelSettings, NoiseSettings, Settings, TrainingSettings
from wordtie.data.batches import batches
from wordtie.losses.build import build_loss
from wordtie.models.language_model import LanguageModel
from wordtie.noise.noisy_forward import Noise
from wordtie.training.language_modelling import NextWordLoss, window
from wordtie.training.optim import build_optimiser
from wordtie.training.precision import resolve_precision
from wordtie.training.process import hand_freed_memory_back, keep_freed_memory
from wordtie.training.run_state import RunState
from wordtie.training.step import train_step

Window = tuple[Tensor, Tensor]
ROUNDS = 4
"""Times those that an effort asks for: a step is short, and a shared machine changes its pace from second to second."""
WINDOWS = 20
"""Different windows that a contender goes through, over and over."""

_CELL: dict[str, Callable[[ModelSettings], int]] = {
    "lstm": lambda _: 8,
    "gru": lambda _: 6,
    "rnn": lambda _: 2,
    "rhn": lambda model: (2 if model.coupled_gates else 3) * (model.depth + 1),
}
"""Square products of a token in a layer; an RHN's at each depth, and once for its input."""


@dataclass(frozen=True)
class Setup:
    """A training step of PTB's shape: what is trained, and on what."""

    model: ModelSettings
    loss: LossSettings
    training: TrainingSettings = field(default_factory=lambda: TrainingSettings(lr=0.1))
    words: int = 10_000
    device: str = "cpu"

    @property
    def precision(self) -> torch.dtype:
        """Of the fast step's products: bf16 where the machine has instructions for it, unless fp32 is forced."""
        return resolve_precision(self.training.precision, torch.device(self.device))

    def in_fp32(self) -> Setup:
        """The same on a machine without bf16 instructions."""
        return replace(self, training=replace(self.training, precision="fp32"))


def zipf_ids(count: int, words: int, seed: int = 0) -> NDArray[np.int32]:
    """Ids drawn with probability in proportion to 1 / rank, (count,)."""
    heights = np.cumsum(1 / np.arange(1, words + 1))
    draws = np.random.default_rng(seed).random(count) * heights[-1]
    ids: NDArray[np.int32] = np.minimum(np.searchsorted(heights, draws), words - 1).astype(np.int32)
    return ids


def zipf_counts(words: int) -> Tensor:
    """How often a long text with Zipf's law has each word, (words,)."""
    return (1e6 / torch.arange(1, words + 1)).long()


def windows_of(setup: Setup, count: int = WINDOWS) -> list[Window]:
    """Windows of synthetic ids, on the device."""
    streams, steps = setup.training.streams, setup.training.steps
    ids = zipf_ids(streams * steps * count, setup.words)
    found = batches(ids, streams, steps, eos_id=0)
    return [(torch.from_numpy(x).to(setup.device), torch.from_numpy(y).to(setup.device)) for x, y in found]


def multiply_adds(setup: Setup, windows: list[Window]) -> float:
    """Of the matrix products of one step: forward, and twice as much backward.

    A token costs 8 H^2 a layer of LSTM (of another cell what `_CELL` says) and V H for its scores; the augmented loss
    adds V H a distinct target, backward too only where gradient goes through it. What is done element by element is
    not counted.
    """
    model = setup.model
    tokens = setup.training.streams * setup.training.steps
    scores = setup.words * model.hidden
    total = 3.0 * tokens * (_CELL[model.core](model) * model.hidden**2 * model.layers + scores)
    if setup.loss.kind == "augmented":
        distinct = float(np.mean([len(targets.unique()) for _, targets in windows]))
        total += distinct * scores * (3 if setup.loss.gradient_through_target else 1)
    return total


def naive_contender(setup: Setup, windows: Iterator[Window]) -> Callable[[], float]:
    """The papers' code."""
    settings, training = setup.model, setup.training
    torch.manual_seed(1)
    model = NaiveModel(
        setup.words, settings.hidden, settings.layers, settings.head == "tied", settings.has_output_bias, settings.init
    ).to(setup.device)
    weight = setup.loss.weight if setup.loss.kind == "augmented" else 0.0
    loss = NaiveLoss(weight, setup.loss.temperature, setup.loss.gradient_through_target)
    state = model.initial_state(training.streams)

    def step() -> float:
        nonlocal state
        masks = model.draw_masks(training.streams, settings.input_dropout, settings.hidden_dropout)
        nats, state = naive_step(model, *next(windows), state, masks, loss, training.lr, training.clip)
        return nats

    return step


def fast_contender(setup: Setup, windows: Iterator[Window]) -> Callable[[], float]:
    """What `wordtie train` does with a window."""
    training = setup.training
    torch.manual_seed(1)
    model = LanguageModel(setup.model, setup.words).to(setup.device)
    sparse = Settings(model=setup.model, loss=setup.loss, training=training).has_sparse_updates
    model.use(training.fused, setup.precision, sparse).train()
    optimiser = build_optimiser(training, model.parameters())
    now = RunState(model, optimiser, model.initial_state(training.streams))
    counts_V = zipf_counts(setup.words).to(setup.device)
    loss = build_loss(setup.loss, training.fused, setup.precision, counts_V, sparse)
    objective = NextWordLoss(model, Noise(NoiseSettings()), loss)

    def step() -> float:
        before = now.position.nats
        train_step(objective, now, window(*next(windows)), training.clip)
        return now.position.nats - before

    return step


@contextmanager
def memory_as_in_training() -> Iterator[None]:
    """What a step frees stays with the process, for both contenders: without it, the system clears pages again."""
    keep_freed_memory()
    try:
        yield
    finally:
        hand_freed_memory_back()


def against(alternative: Callable[[], object], setup: Setup, windows: list[Window], effort: Effort) -> Measurement:
    """The fast step against another one, and where its own time goes."""
    ours = fast_contender(setup, cycle(windows))
    found = compare(
        alternative,
        ours,
        multiply_adds=multiply_adds(setup, windows),
        probe=MatrixProbe(setup.precision, setup.device),
        rounds=effort.rounds if effort.quick else ROUNDS * effort.rounds,
    )
    note = f"ours in {str(setup.precision).removeprefix('torch.')}"
    if setup.device != "cpu":
        return replace(found, note=note)
    return with_shares(found, note, ours)


def with_shares(found: Measurement, note: str, ours: Callable[[], object]) -> Measurement:
    """The measurement with a note that says where our step's time goes."""
    parts = shares(ours)
    details = {**found.details, **{f"{part}_share": share for part, share in parts.items()}}
    return replace(found, note=f"{note}: {sentence(parts)}", details=details)


def against_naive(setup: Setup, effort: Effort) -> Measurement:
    """The fast step against the naive one."""
    windows = windows_of(setup)
    return against(naive_contender(setup, cycle(windows)), setup, windows, effort)


def claims(name: str, what: str, setup: Setup, goal: float, fp32_goal: float) -> tuple[Claim, Claim]:
    """The claim, and the same one where bf16 instructions are missing."""
    return (
        Claim(name, what, goal, lambda effort: against_naive(setup, effort)),
        Claim(f"{name}-fp32", f"{what}, fp32 forced", fp32_goal, lambda effort: against_naive(setup.in_fp32(), effort)),
    )
