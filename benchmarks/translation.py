"""Translation: training against a plain PyTorch loop over the target's words, and a beam of many sentences at once.

Training is of made-up sentences: their lengths are spread as those of image descriptions are, and words come as often
as Zipf's law says. Both models train on the same batches, of pairs of like length, as `wordtie translate train` makes
them.

The beam searches translations of Multi30k's test sentences, with a model that was trained on Multi30k for an epoch, so
that they end where real ones do. The plain way goes sentence by sentence, ours side by side; both have the same
parameters, and how many translations are the same is part of what is printed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from operator import eq

import numpy as np
import torch

from benchmarks.harness import Claim, Effort, MatrixProbe, Measurement, UnavailableError, compare
from benchmarks.steps import zipf_ids
from tests.reference.naive_translation import NaiveTranslation
from wordtie.config import BitextSettings, LossSettings, TranslationSettings
from wordtie.config.translation import Seq2SeqSettings, TranslationTrainingSettings
from wordtie.console import StageProgress
from wordtie.data.bitext import read_bitext
from wordtie.data.pair_batches import PaddedPairs, batch_order, pad_pairs
from wordtie.errors import DataError
from wordtie.losses.build import build_loss
from wordtie.models.beam_search import Search, translate_ids
from wordtie.models.seq2seq import Seq2Seq
from wordtie.training.optim import clip_global_norm
from wordtie.training.translation import Translation, as_tensors

WORDS, SIZE, HIDDEN, DROPOUT = 8000, 256, 256, 0.2
EOS, IGNORED = 1, -100
BATCH, BEAM = 64, 5
TRANSLATED = 200
"""Test sentences that are translated in a round."""
Sentences = list[list[int]]


@dataclass(frozen=True)
class Pairs:
    """Made-up pairs of about Multi30k's lengths: 14 subwords, from 4 to 40."""

    source: Sentences
    target: Sentences

    @classmethod
    def drawn(cls, count: int) -> Pairs:
        """The same for the same count."""
        draw = np.random.default_rng(1)
        lengths = np.clip(np.exp(draw.normal(2.55, 0.33, count)), 4, 40).astype(int)
        ids = zipf_ids(int(2 * lengths.sum()) + 100 * count, WORDS - 2) + 2
        sides: tuple[Sentences, Sentences] = ([], [])
        first = 0
        for length in lengths.tolist():
            for side, more in zip(sides, (0, int(draw.integers(-2, 3))), strict=True):
                side.append(ids[first : first + max(2, length + more)].tolist())
                first += max(2, length + more)
        return cls(*sides)


def our_settings() -> Seq2SeqSettings:
    """Untied, as the plain model is."""
    return Seq2SeqSettings(
        tying="none", hidden=HIDDEN, embedding=SIZE, word_dropout=DROPOUT, encoder_dropout=DROPOUT,
        output_dropout=DROPOUT,
    )  # fmt: skip


def measure_training(effort: Effort) -> Measurement:
    """The same pairs once, in batches, with Adam."""
    torch.manual_seed(1)
    pairs = Pairs.drawn(BATCH * (1 if effort.quick else 4))
    ours = Seq2Seq(our_settings(), WORDS, WORDS).use(fused=True).train()
    plain = NaiveTranslation(WORDS, SIZE, HIDDEN, DROPOUT).train()
    loss = build_loss(LossSettings(kind="cross_entropy"), fused=True, precision=torch.float32)
    our_adam, plain_adam = (torch.optim.Adam(model.parameters(), fused=True) for model in (ours, plain))

    def batches() -> Iterator[PaddedPairs]:
        for batch in batch_order(pairs.source, pairs.target, BATCH, seed=1, epoch=1):
            yield pad_pairs([pairs.source[n] for n in batch], [pairs.target[n] for n in batch], EOS, EOS)

    def run_ours() -> None:
        for padded in batches():
            loss.forward(ours(as_tensors(padded, ours.device))).total.backward()
            clip_global_norm(ours.parameters(), 5.0)
            our_adam.step()
            our_adam.zero_grad()

    def run_plain() -> None:
        for padded in batches():
            batch = as_tensors(padded, torch.device("cpu"))
            targets = batch.targets_TB.masked_fill(~batch.present_TB, IGNORED)
            plain.loss(batch.source_SB, batch.source_lengths_B, batch.inputs_TB, targets, IGNORED).backward()
            torch.nn.utils.clip_grad_norm_(plain.parameters(), 5.0)
            plain_adam.step()
            plain_adam.zero_grad()

    words = sum(len(each) + 1 for each in pairs.target)
    found = compare(run_plain, run_ours, None, MatrixProbe(torch.float32), max(2, effort.rounds // 3))
    return replace(found, note=f"{1e3 * words / found.ours:,.0f} target subwords/s")


def measure_search(effort: Effort) -> Measurement:
    """A beam of 5 over sentences of a test set."""
    try:
        ours, source = trained(quick=effort.quick)
    except DataError as error:
        raise UnavailableError(str(error)) from error
    plain = NaiveTranslation.like(ours).eval()
    found: dict[str, list[list[int]]] = {}

    def run_ours() -> None:
        best = translate_ids(ours, source, EOS, EOS, Search(BEAM))
        found["ours"] = [each[0].ids for each in best]

    def run_plain() -> None:
        longest = [Search(BEAM).longest(len(sentence)) for sentence in source]
        found["plain"] = [
            plain.search(torch.tensor([*sentence, EOS]), BEAM, EOS, most)
            for sentence, most in zip(source, longest, strict=True)
        ]

    measured = compare(run_plain, run_ours, None, MatrixProbe(torch.float32), max(2, effort.rounds // 3))
    same = sum(map(eq, *found.values())) / len(source)
    return replace(measured, note=f"{1e3 * len(source) / measured.ours:,.1f} sentences/s; {same:.0%} the same")


def trained(quick: bool) -> tuple[Seq2Seq, Sentences]:
    """A model after an epoch of Multi30k, and sentences of its test part. Raises `DataError` without the text."""
    settings = TranslationSettings(
        BitextSettings("multi30k", vocabulary_size=WORDS), our_settings(), training=TranslationTrainingSettings()
    )
    data = read_bitext(settings.data)
    torch.manual_seed(1)
    task = Translation(settings, data, torch.device("cpu"), torch.float32)
    task.prepare_for_training()
    adam = torch.optim.Adam(task.model.parameters(), lr=settings.training.lr, fused=True)
    progress = StageProgress("batches", 1)
    for number, batch in enumerate(islice(task.batches(0), 20 if quick else None)):
        progress("training a model to translate with", number, task.batches_per_epoch)
        loss, _ = task.objective.forward(batch, [])
        (loss.total / batch.streams).backward()
        clip_global_norm(task.model.parameters(), settings.training.clip)
        adam.step()
        adam.zero_grad()
    return task.model.eval(), data.test.source[: 4 if quick else TRANSLATED]


SIZES = f"{HIDDEN} units, {WORDS:,} subwords"
CLAIMS = (
    Claim("translation-training", f"training of a translation model, {SIZES}, against plain PyTorch, step by step",
          2.0, measure_training),
    Claim("translation-beam", f"beam of {BEAM}, {SIZES}, {TRANSLATED} sentences of Multi30k, against plain PyTorch, "
          "sentence by sentence",
          5.0, measure_search),
)  # fmt: skip
