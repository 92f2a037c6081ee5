"""Translation: training against a plain PyTorch loop over the target's words, and a beam of many sentences at once.

The sentences are made up: their lengths are spread as those of image descriptions are, and words come as often as
Zipf's law says. The plain model takes pairs as they come, ours puts pairs of like length together, as `wordtie
translate train` does; both train on the same pairs. A beam of 5 searches translations of the same lengths, since no
model ends one before its last step: the plain way one sentence after the other, ours side by side.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch

from benchmarks.harness import Claim, Effort, MatrixProbe, Measurement, compare
from benchmarks.steps import zipf_ids
from tests.reference.naive_translation import NaiveTranslation
from wordtie.config import LossSettings
from wordtie.config.translation import Seq2SeqSettings
from wordtie.data.pair_batches import batch_order, pad_pairs
from wordtie.losses.build import build_loss
from wordtie.models.beam_search import Search, translate_ids
from wordtie.models.seq2seq import Seq2Seq
from wordtie.training.optim import clip_global_norm
from wordtie.training.translation import as_tensors

WORDS, SIZE, HIDDEN, DROPOUT = 8000, 256, 256, 0.2
EOS, IGNORED = 1, -100
BATCH, BEAM, LONGEST = 64, 5, 16
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


def our_model() -> Seq2Seq:
    """Untied, as the plain one is."""
    settings = Seq2SeqSettings(
        tying="none", hidden=HIDDEN, embedding=SIZE, word_dropout=DROPOUT, encoder_dropout=DROPOUT,
        output_dropout=DROPOUT,
    )  # fmt: skip
    return Seq2Seq(settings, WORDS, WORDS).use(fused=True)


def measure_training(effort: Effort) -> Measurement:
    """The same pairs once, in batches, with Adam."""
    torch.manual_seed(1)
    pairs = Pairs.drawn(BATCH * (1 if effort.quick else 4))
    ours, plain = our_model().train(), NaiveTranslation(WORDS, SIZE, HIDDEN, DROPOUT).train()
    loss = build_loss(LossSettings(kind="cross_entropy"), fused=True, precision=torch.float32)
    our_adam, plain_adam = torch.optim.Adam(ours.parameters(), fused=True), torch.optim.Adam(plain.parameters())

    def run_ours() -> None:
        for batch in batch_order(pairs.source, pairs.target, BATCH, seed=1, epoch=1):
            source, target = ([side[n] for n in batch] for side in (pairs.source, pairs.target))
            padded = pad_pairs(source, target, EOS, EOS)
            loss.forward(ours(as_tensors(padded, ours.device))).total.backward()
            clip_global_norm(ours.parameters(), 5.0)
            our_adam.step()
            our_adam.zero_grad()

    def run_plain() -> None:
        for first in range(0, len(pairs.source), BATCH):
            source, target = (side[first : first + BATCH] for side in (pairs.source, pairs.target))
            batch = as_tensors(pad_pairs(source, target, EOS, EOS), torch.device("cpu"))
            targets = batch.targets_TB.masked_fill(~batch.present_TB, IGNORED)
            plain.loss(batch.source_SB, batch.source_lengths_B, batch.inputs_TB, targets, IGNORED).backward()
            torch.nn.utils.clip_grad_norm_(plain.parameters(), 5.0)
            plain_adam.step()
            plain_adam.zero_grad()

    words = sum(len(each) + 1 for each in pairs.target)
    found = compare(run_plain, run_ours, None, MatrixProbe(torch.float32), max(2, effort.rounds // 3))
    return replace(found, note=f"{1e3 * words / found.ours:,.0f} target subwords/s")


def measure_search(effort: Effort) -> Measurement:
    """A beam of 5 over the sentences of a small test set."""
    torch.manual_seed(1)
    source = Pairs.drawn(8 if effort.quick else 64).source
    ours, plain = our_model().eval(), NaiveTranslation(WORDS, SIZE, HIDDEN, DROPOUT).eval()
    with torch.no_grad():  # no translation ends before its last step
        assert ours.head.bias is not None
        ours.head.bias[EOS] = plain.output.bias[EOS] = -1e4

    def run_ours() -> None:
        translate_ids(ours, source, EOS, EOS, Search(BEAM, max_length=LONGEST))

    def run_plain() -> None:
        for sentence in source:
            plain.search(torch.tensor([*sentence, EOS]), BEAM, EOS, LONGEST)

    found = compare(run_plain, run_ours, None, MatrixProbe(torch.float32), max(2, effort.rounds // 3))
    return replace(found, note=f"{1e3 * len(source) / found.ours:,.1f} sentences/s")


SIZES = f"{HIDDEN} units, {WORDS:,} subwords"
CLAIMS = (
    Claim("translation-training", f"training of a translation model, {SIZES}, against plain PyTorch, step by step",
          2.0, measure_training),
    Claim("translation-beam", f"beam of {BEAM}, {SIZES}, against plain PyTorch, sentence by sentence",
          5.0, measure_search),
)  # fmt: skip
