"""Measure how long a machine takes to train a model on a text: a few steps are timed, the rest is estimated."""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import cycle, islice

import torch

from wordtie.config import Settings
from wordtie.data.token_file import PreparedData
from wordtie.models.network import Network
from wordtie.models.recent_words import (
    HALF_LIVES,
    MOST_KEPT,
    RecentWords,
    text_queries,
    text_shares,
    tokens_to_choose,
)
from wordtie.ngrams.kneser_ney import fit_kneser_ney
from wordtie.training.language_modelling import LanguageModelling
from wordtie.training.optim import build_optimiser, parameter_groups
from wordtie.training.precision import precision_of, resolve_device
from wordtie.training.run_state import RunState
from wordtie.training.step import train_step

FULL_STEPS = 3
"""Steps with the full softmax that are timed."""
TOKENS_TO_REMEMBER = 4096
"""Tokens read to estimate how long recent words take: more than are remembered."""
NGRAM_SAMPLE, NGRAM_SAMPLE_READ = 200_000, 50_000
"""Tokens to count, and to score, to estimate how long a whole text takes; tables of fewer would fit into the cache."""
SLOWER_WHOLE = 1.5
"""Factor by which an n-gram takes longer in the tables of a whole text than in those of a sample."""
SAVED, BYTES_PER_SECOND = 4, 200e6
"""Copies of the parameters in a checkpoint: the model, the best so far, the optimiser's state. A validation writes two
checkpoints and the model."""
FIRST_STEPS, TIMED_STEPS = 2, 50
"""Steps before timing starts, and the largest number of steps that are timed."""


@dataclass(frozen=True)
class Timings:
    """Seconds that a machine needs to train, validate and measure a model of this text."""

    window: float
    """Seconds of one training step, its share of a checkpoint included."""
    validation: float
    """Seconds per token of a validation."""
    measuring: float
    """Seconds per token of the texts that the finished model is measured on."""
    saving: float = 0.0
    """Seconds to write the two checkpoints and the model of one validation."""
    remembering: float = 0.0
    """Seconds to find how much recent words count in a mixture."""
    full_window: float | None = None
    """Seconds of one step with the full softmax; None if no step has it, and it was not timed."""
    tokens: int = 1024
    """Tokens of one training step."""
    compiling: float = 0.0
    """Seconds by which the first step took longer: kernels were compiled, or read from their cache. It happens once."""

    def seconds_of(self, tokens: int, full_at_end: float) -> float:
        """Return the seconds to train on `tokens`, of which the last share `full_at_end` has the full softmax."""
        full_window = self.window if self.full_window is None else self.full_window
        return tokens / self.tokens * (self.window + full_at_end * (full_window - self.window))


def time_model(settings: Settings, data: PreparedData, seconds: float, mixed: bool = False) -> Timings:
    """Train a model for about `seconds` on the beginning of the text, and time how fast it is validated and measured.

    `mixed`: whether n-grams and recent words will be mixed in.
    """
    device = resolve_device(settings.training.device)
    torch.manual_seed(settings.training.seed)
    task = LanguageModelling(settings, data, device, precision_of(settings, device))
    optimiser = build_optimiser(settings.training, parameter_groups(task.model, settings.training.word_rate))
    state = RunState(task.model, optimiser, task.initial_state())
    task.prepare_for_training()
    created, steps = time.monotonic(), 0
    started = compiled = created
    for number, batch in enumerate(islice(cycle(task.batches(0)), FIRST_STEPS + TIMED_STEPS)):
        if number == 1:
            compiled = time.monotonic()
        if number == FIRST_STEPS:
            started = time.monotonic()
        train_step(task.objective, state, batch, settings.training.clip)
        steps = number + 1 - FIRST_STEPS
        if steps > 0 and time.monotonic() - started > seconds:
            break
    window = (time.monotonic() - started) / max(1, steps)
    full_window = None
    if settings.loss.full_at_end > 0:
        full_window = time_full_softmax(task, state, settings.training.clip)
    validation, measuring = task.seconds_per_token()
    a_copy = 4 * task.model.parameter_count() / BYTES_PER_SECOND
    checkpoints = SAVED * a_copy / settings.training.checkpoint_every
    a_word = seconds_to_remember(task) if mixed else 0.0
    tokens = settings.training.streams * settings.training.steps
    remembering = tokens_to_choose(len(task.valid)) * a_word
    return Timings(
        window + checkpoints,
        validation,
        measuring + a_word,
        (2 * SAVED + 1) * a_copy,
        remembering,
        None if full_window is None else full_window + checkpoints,
        tokens,
        max(0.0, compiled - created - window),
    )


def time_full_softmax(task: LanguageModelling, state: RunState, clip: float) -> float:
    """Return the seconds of one step with the softmax over all words."""
    task.begin_step(1.0)
    started = time.monotonic()
    for number, batch in enumerate(islice(cycle(task.batches(0)), 1 + FULL_STEPS)):
        if number == 1:
            started = time.monotonic()
        train_step(task.objective, state, batch, clip)
    return (time.monotonic() - started) / FULL_STEPS


def seconds_to_remember(task: LanguageModelling) -> float:
    """Estimate the seconds that recent words take per token of a text that is measured, from a short sample."""
    sample, parts = task.valid[:TOKENS_TO_REMEMBER], [Network(task.model, task.data.vocabulary)]
    are_kept = len(task.valid) * task.model.output_matrix.shape[1] <= MOST_KEPT
    query_NE = text_queries(parts, sample) if are_kept else None
    started = time.monotonic()
    text_shares(parts, RecentWords(0.1, HALF_LIVES[-1], 1.0), sample, query_NE)
    return (time.monotonic() - started) / len(sample)


@dataclass(frozen=True)
class Counting:
    """Seconds that an n-gram model of a text takes."""

    fitting: float = 0.0
    """Seconds to fit it."""
    reading: float = 0.0
    """Seconds per token of the texts that it is measured on."""


def time_counting(data: PreparedData, order: int, tokens: int) -> Counting:
    """Estimate what an n-gram model of so many tokens takes from one of the beginning of a text; larger tables are
    slower."""
    sample = data.train[:NGRAM_SAMPLE]
    started = time.monotonic()
    trie = fit_kneser_ney(sample, len(data.vocabulary), order, eos_id=data.tokenizer.sentence_end)
    fitted = time.monotonic() - started
    trie.log_probabilities(sample[:NGRAM_SAMPLE_READ])
    measured = time.monotonic() - started - fitted
    return Counting(
        SLOWER_WHOLE * fitted * tokens / len(sample),
        SLOWER_WHOLE * 2 * measured / min(len(sample), NGRAM_SAMPLE_READ),
    )
