"""Forward scoring of a long text, one stream, fp32: words of it a second, as ids, and memory against length.

Naive scores windows of 35 words with a Python loop over time and N x V logits; the library's way is `torch.nn.LSTM` and
`F.cross_entropy` over windows as long as ours. Memory is that of one text against
that of another `LONGER` times as long: growth in proportion is 1, none at all is `LONGER`. It is counted beyond what a
process has after one line, whose scores are few: a window scored before would leave with the allocator, now and then,
the very memory that the text then needs.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from benchmarks.harness import Claim, Effort, MatrixProbe, Measurement, compare
from benchmarks.memory import extra_peak, in_fresh_process
from benchmarks.steps import zipf_ids
from tests.reference.naive import NaiveModel, State, naive_score, naive_surprisal
from wordtie.config import ModelSettings
from wordtie.data.batches import Ids, batches
from wordtie.data.tokenisation import Tokenisation
from wordtie.data.tokenizer import Tokenizer
from wordtie.data.vocabulary import EOS, UNK, Vocabulary
from wordtie.evaluation.perplexity import TOKENS_AT_ONCE, Reader, evaluate
from wordtie.inference.surprisal import surprisal
from wordtie.models.language_model import LanguageModel
from wordtie.models.network import Network

WORDS, UNITS, LAYERS = 10_000, 200, 2
VOCABULARY = Vocabulary([EOS, UNK, *(f"w{n}" for n in range(WORDS - 2))])
STEPS = 35
LONGER = 8
LINE = 20
"""Words a line of the text whose surprisal is asked for."""

NaiveWindow = Callable[[NaiveModel, torch.Tensor, torch.Tensor, State], tuple[Any, State]]


def fast_model() -> LanguageModel:
    """Small RE, as `wordtie.load` opens it."""
    model = LanguageModel(ModelSettings(hidden=UNITS, layers=LAYERS), WORDS)
    return model.use(fused=True).requires_grad_(False).eval()


def naive_contender(ids: Ids, score: NaiveWindow) -> Callable[[], object]:
    """Window by window."""
    model = NaiveModel(WORDS, UNITS, LAYERS, tied=True, output_bias=False)

    def run() -> None:
        state = model.initial_state(1)
        for inputs_TB, targets_TB in batches(ids, 1, STEPS, eos_id=0, drop=False):
            _, state = score(model, torch.from_numpy(inputs_TB), torch.from_numpy(targets_TB), state)

    return run


def library_contender(ids: Ids) -> Callable[[], object]:
    """Window by window, with what PyTorch has for it."""
    words, core = nn.Embedding(WORDS, UNITS), nn.LSTM(UNITS, UNITS, LAYERS)

    @torch.no_grad()
    def run() -> float:
        state, nats = None, 0.0
        for inputs_TB, targets_TB in batches(ids, 1, TOKENS_AT_ONCE, eos_id=0, drop=False):
            hidden_TBH, state = core(words(torch.from_numpy(inputs_TB)), state)
            logits_NV = F.linear(hidden_TBH.flatten(0, 1), words.weight)
            nats += F.cross_entropy(logits_NV, torch.from_numpy(targets_TB).flatten(), reduction="sum").item()
        return nats

    return run


def measure(
    alternative: Callable[[Ids], Callable[[], object]], ours: Callable[[LanguageModel, Ids], object], effort: Effort
) -> Measurement:
    """Both over the same text."""
    ids = zipf_ids(2_000 if effort.quick else 10_000, WORDS)
    model = fast_model()
    return scored(alternative(ids), lambda: ours(model, ids), len(ids), effort)


def scored(alternative: Callable[[], object], ours: Callable[[], object], tokens: int, effort: Effort) -> Measurement:
    """Two ways to score so many tokens."""
    found = compare(
        alternative=alternative,
        ours=ours,
        multiply_adds=float(tokens) * (8 * UNITS**2 * LAYERS + WORDS * UNITS),
        probe=MatrixProbe(torch.float32),
        rounds=max(2, effort.rounds // 3),
    )
    return replace(found, note=f"{1e3 * tokens / found.ours:,.0f} words/s")


def evaluate_extra(tokens: int, folder: str) -> int:
    """Bytes that `evaluate` needs at its peak for a memory-mapped text."""
    path = Path(folder) / f"{tokens}.npy"
    np.save(path, zipf_ids(tokens, WORDS))
    model, ids = fast_model(), np.load(path, mmap_mode="r")
    evaluate(model, ids[:LINE], 0)
    return extra_peak(lambda: evaluate(model, ids, 0))


def measure_lines(effort: Effort) -> Measurement:
    """Lines that start from nothing, side by side and each alone."""
    count = 50 if effort.quick else 400
    ids = zipf_ids(count * LINE, WORDS).reshape(count, LINE)
    model = fast_model()
    reader = Reader(Network(model, VOCABULARY))

    def alone() -> None:
        for line in ids:
            reader.start()
            list(reader(line))

    def together() -> None:
        for first in range(0, count, TOKENS_AT_ONCE // LINE):
            list(reader.apart([*ids[first : first + TOKENS_AT_ONCE // LINE]]))

    return scored(alone, together, ids.size, effort)


def surprisal_extra(tokens: int, folder: str) -> int:
    """Bytes that `surprisal` needs at its peak for lines that come one by one and rows that nobody keeps."""
    tokenizer = Tokenizer(Tokenisation("space", lowercase=False, sentences=True), VOCABULARY)
    model = fast_model()

    def lines(count: int) -> Iterator[str]:
        for number in range(count):
            yield " ".join(VOCABULARY.words[word] for word in zipf_ids(LINE, WORDS, seed=number))

    def run(count: int) -> None:
        for _ in surprisal(Network(model, VOCABULARY), tokenizer, lines(count), reset="never"):
            pass

    run(1)
    return extra_peak(lambda: run(tokens // LINE))


def measure_memory(extra: Callable[[int, str], int], effort: Effort) -> Measurement:
    """A text, and one `LONGER` times as long."""
    short = 4_000 if effort.quick else 20_000
    with tempfile.TemporaryDirectory() as folder:
        low, high = (max(in_fresh_process(extra, tokens, folder), 1) for tokens in (short, short * LONGER))
    return Measurement(
        ratio=LONGER * low / high,
        spread=None,
        alternative=LONGER * low / 1e6,
        ours=high / 1e6,
        unit="MB",
        note=f"{low / 1e6:.1f} MB extra for {short:,} words, {high / 1e6:.1f} MB for {short * LONGER:,}",
    )


CONSTANT = 0.9 * LONGER
CLAIMS = (
    Claim(
        "scoring",
        "words/s of `evaluate` over a long text, against naive",
        3.0,
        lambda effort: measure(
            lambda ids: naive_contender(ids, naive_score), lambda model, ids: evaluate(model, ids, 0), effort
        ),
    ),
    Claim(
        "scoring-library",
        "words/s of `evaluate` over a long text, against torch.nn.LSTM and cross_entropy in windows as long",
        1.0,
        lambda effort: measure(library_contender, lambda model, ids: evaluate(model, ids, 0), effort),
    ),
    Claim(
        "surprisal",
        "words/s of `surprisal` over a long text, against naive",
        3.0,
        lambda effort: measure(
            lambda ids: naive_contender(ids, naive_surprisal),
            lambda model, ids: list(Reader(Network(model, VOCABULARY))(ids)),
            effort,
        ),
    ),
    Claim(
        "surprisal-lines",
        f"words/s of `surprisal` of lines of {LINE} words, against one line after the other",
        2.0,
        measure_lines,
    ),
    Claim(
        "scoring-memory",
        f"extra memory of `evaluate`, of a text {LONGER} times as long, against growth in proportion",
        CONSTANT,
        lambda effort: measure_memory(evaluate_extra, effort),
    ),
    Claim(
        "surprisal-memory",
        f"extra memory of `surprisal`, of a text {LONGER} times as long, against growth in proportion",
        CONSTANT,
        lambda effort: measure_memory(surprisal_extra, effort),
    ),
)
