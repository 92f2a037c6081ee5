"""Noise against the plain tied step, at 512 units and batch 64 as in Kong et al. (2019).

The paper's element-wise smoothing took about 12 times as long as the model without, and was not run on WikiText-2; a
vocabulary of that size is the second one here. The step is the trainer's own, cross-entropy, half the coordinates of
input vectors dropped: the plain step drops them with one mask a stream, the noisy ones with one a word and stream. The
last row of each vocabulary drops output coordinates too, on both sides. Memory is kept as in training. Rates come from
930,000 synthetic ids, whose words have more different neighbours than those of a real text, and so are replaced more
often.

Shapes: V words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import cycle

import torch

from benchmarks.harness import Claim, Effort, MatrixProbe, Measurement, compare
from benchmarks.steps import Setup, Window, memory_as_in_training, multiply_adds, windows_of, with_shares, zipf_ids
from wordtie.config import LossSettings, ModelSettings, NoiseSettings, TrainingSettings
from wordtie.losses.build import build_loss
from wordtie.models.language_model import LanguageModel
from wordtie.ngrams.counts import neighbour_counts
from wordtie.noise.noisy_forward import Noise
from wordtie.noise.proposals import build_proposal
from wordtie.training.language_modelling import NextWordLoss, window
from wordtie.training.optim import build_optimiser
from wordtie.training.run_state import RunState
from wordtie.training.step import train_step

COUNTED = 930_000
"""Ids that the rates are taken from: as many as Penn Treebank's training text."""
UNITS = 512
PLAIN = NoiseSettings()
KNESER_NEY = NoiseSettings(kind="kneser_ney", gamma=0.2, input_vector_dropout=0.5)


def setup_of(words: int) -> Setup:
    """The plain step; its input dropout is a mask a stream."""
    return Setup(
        ModelSettings(hidden=UNITS, input_dropout=0.5, hidden_dropout=0.0),
        LossSettings(kind="cross_entropy"),
        TrainingSettings(streams=64, lr=0.1),
        words=words,
    )


def contender(setup: Setup, settings: NoiseSettings, windows: Iterator[Window]) -> Callable[[], object]:
    """The trainer's step with this noise."""
    torch.manual_seed(1)
    training, words = setup.training, setup.words
    counts = neighbour_counts(zipf_ids(COUNTED, words, seed=1), words)
    proposal = None if settings.kind == "none" else build_proposal(settings, counts, blank_id=0)
    model = LanguageModel(setup.model, words).use(training.fused, setup.precision).train()
    optimiser = build_optimiser(training, model.parameters())
    now = RunState(model, optimiser, model.initial_state(training.streams))
    loss = build_loss(setup.loss, training.fused, setup.precision)
    objective = NextWordLoss(model, Noise(settings, proposal), loss)
    return lambda: train_step(objective, now, window(*next(windows)), training.clip)


def measure(words: int, plain: NoiseSettings, noisy: NoiseSettings, effort: Effort) -> Measurement:
    """Plain over noisy: 0.8 says that the noisy step takes 1.25 times as long."""
    setup = setup_of(words)
    windows = windows_of(setup)
    bare = replace(setup, model=replace(setup.model, input_dropout=0.0))
    with memory_as_in_training():
        ours = contender(bare, noisy, cycle(windows))
        found = compare(
            alternative=contender(bare if plain.input_vector_dropout else setup, plain, cycle(windows)),
            ours=ours,
            multiply_adds=multiply_adds(setup, windows),
            probe=MatrixProbe(setup.precision),
            rounds=effort.rounds,
        )
        return with_shares(found, f"{words:,} words, {str(setup.precision).removeprefix('torch.')}", ours)


def claims_at(name: str, words: int) -> list[Claim]:
    """The four rows of a vocabulary."""
    dropped = replace(PLAIN, input_vector_dropout=0.5, output_vector_dropout=0.5)
    rows = [
        ("elements", "element-wise smoothing", 1 / 1.25, PLAIN, replace(KNESER_NEY, elementwise=True)),
        ("smoothing", "Kneser-Ney smoothing", 1 / 1.1, PLAIN, KNESER_NEY),
        ("data", "Kneser-Ney data noising", 1 / 1.1, PLAIN, replace(KNESER_NEY, scheme="data_noising")),
        (
            "elements-output",
            "element-wise smoothing, output dropout on both sides",
            1 / 1.25,
            dropped,
            replace(KNESER_NEY, elementwise=True, output_vector_dropout=0.5),
        ),
    ]
    return [
        Claim(
            f"noise-{row}-{name}",
            f"training step with {what}, {UNITS} units, {words:,} words, against plain tied",
            goal,
            partial(measure, words, plain, noisy),
        )
        for row, what, goal, plain, noisy in rows
    ]


CLAIMS = (*claims_at("ptb", 10_000), *claims_at("wikitext-2", 33_278))
