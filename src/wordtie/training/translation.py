"""Translation as a task of the trainer: sentence pairs in batches of like length, BLEU on the validation text.

Epochs are chosen by the BLEU of greedy translations. The figures of a result are those of a beam, with the interval of
sacrebleu's bootstrap. Perplexities are per subword of the target, `<eos>` included, and no pair is left out of them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from wordtie.config import LossSettings, TranslationSettings
from wordtie.config.keywords import translation_settings_from
from wordtie.config.unused_settings import unused_translation_settings
from wordtie.console import say
from wordtie.data.bitext import Bitext, Split, columns_read, read_bitext
from wordtie.data.pair_batches import PaddedPairs, batch_order, by_length, pad_pairs
from wordtie.evaluation.bleu import Bleu, bleu, require_sacrebleu, tokenizer_of
from wordtie.evaluation.format_perplexity import format_perplexity
from wordtie.evaluation.perplexity import Score
from wordtie.losses.build import build_loss
from wordtie.losses.loss import Loss, LossSum
from wordtie.models.beam_search import Search, translate_ids
from wordtie.models.fp32 import in_fp32
from wordtie.models.memory import check_training
from wordtie.models.seq2seq import SentencePairs, Seq2Seq
from wordtie.ngrams.counts import neighbour_counts
from wordtie.nn.core import State
from wordtie.noise.proposals import Proposal, build_proposal
from wordtie.runs.result import Position, TrainingResult
from wordtie.runs.run_folder import Mode, folder_for_training
from wordtie.runs.translation_run import SavedTranslation, translation_identity, write_translation
from wordtie.training.divergence import why_diverged
from wordtie.training.optim import build_optimiser, parameter_groups
from wordtie.training.precision import precision_of, resolve_device
from wordtie.training.process import exclusive_training
from wordtie.training.run_state import RunState
from wordtie.training.run_writer import RunRecord, RunWriter, read_resumable
from wordtie.training.task import Batch, Finished, Tensors, Validation
from wordtie.training.trainer import Trainer

MOST_BLEU = 101.0
"""Bound from which BLEU is subtracted to give an objective: above 100, because objectives are positive."""
TIE = 1e-6
"""Weight of the nats per word in an objective: where BLEU is the same, as it is while it is 0, these decide."""
MOST_NATS = 20.0
MEASURED_TOGETHER = 64
"""Sentence pairs in a batch when perplexity is measured."""
POSITIONS_TOGETHER = 128 * MEASURED_TOGETHER
"""Largest number of subwords in such a batch, padding included: a long line is measured with few others."""
SAMPLE = 64
"""Sentences that are translated to estimate how long measuring takes."""


@dataclass(frozen=True)
class PairNoise:
    """Data noising of the words that are read. A side whose proposal is None stays as it is."""

    source: Proposal | None
    target: Proposal | None
    replaces_targets: bool
    """Whether a target word is replaced where the word before it was (Kneser-Ney)."""

    def noised(self, pairs: SentencePairs) -> SentencePairs:
        """Return the batch with words replaced. `<eos>` stays: it marks where a sentence begins and ends."""
        source_SB, inputs_TB, targets_TB = pairs.source_SB, pairs.inputs_TB, pairs.targets_TB
        if self.source is not None:
            drawn_SB, _ = self.source.replace(source_SB)
            source_SB = torch.where(_inside(source_SB, pairs.source_lengths_B, 0, 1), drawn_SB, source_SB)
        if self.target is not None:
            drawn_TB, replaced_TB = self.target.replace(inputs_TB)
            may_TB = _inside(inputs_TB, pairs.target_lengths_B, 1, 0)
            inputs_TB = torch.where(may_TB, drawn_TB, inputs_TB)
            if self.replaces_targets:
                may_TB = may_TB & replaced_TB & _inside(targets_TB, pairs.target_lengths_B, 0, 1)
                targets_TB = torch.where(may_TB, self.target.draw(targets_TB), targets_TB)
        return SentencePairs(source_SB, pairs.source_lengths_B, inputs_TB, targets_TB, pairs.target_lengths_B)


def _inside(ids_TB: Tensor, lengths_B: Tensor, after: int, before: int) -> Tensor:
    """Return the mask (T, B) of each sentence's positions without the first `after` and the last `before`."""
    step_T1 = torch.arange(len(ids_TB), device=ids_TB.device)[:, None]
    return (step_T1 >= after) & (step_T1 < lengths_B - before)


def build_pair_noise(settings: TranslationSettings, data: Bitext, device: torch.device) -> PairNoise:
    """Build the noise from counts of the training sentences. Raises `DataError` if there are too few of them."""
    noise = settings.noise

    def proposal(side: str, ids: Sequence[Sequence[int]]) -> Proposal | None:
        if noise.kind == "none" or noise.side not in ("both", side):
            return None
        vocabulary = getattr(data.tokenizer, side).vocabulary
        text = np.array([number for each in ids for number in (*each, vocabulary.eos_id)], np.int32)
        counts = neighbour_counts(text, len(vocabulary))
        for count_V in (counts.count, counts.distinct_left):
            count_V[vocabulary.eos_id] = 0  # the end of a sentence replaces no word
        return build_proposal(noise.proposal, counts, vocabulary.unk_id).to(device)

    source, target = proposal("source", data.train.source), proposal("target", data.train.target)
    return PairNoise(source, target, noise.kind == "kneser_ney")


@dataclass(frozen=True)
class TargetLoss:
    """The `Objective`: the loss of each target word, read with noise. A sentence carries no state to the next."""

    model: Seq2Seq
    noise: PairNoise
    loss: Loss

    def forward(self, batch: Batch, state: State) -> tuple[LossSum, State]:
        """Compute the loss, summed over the batch's target words."""
        return self.loss.forward(self.model(self.noise.noised(batch.inputs))), state

    def add_gradients(self) -> None:
        """Do nothing: the loss has all terms."""


class Translation:
    """A `Task`: predict each word of a sentence from the words before it and from its source.

    The model's parameters are drawn here, so the caller seeds torch first.
    """

    def __init__(
        self, settings: TranslationSettings, data: Bitext, device: torch.device, precision: torch.dtype
    ) -> None:
        training = settings.training
        self.settings = settings
        self.data = data
        self.batches_per_epoch = -(-len(data.train) // training.streams)
        self.tokens_per_epoch = data.train.target_tokens
        sizes = [len(side.vocabulary) for side in (data.tokenizer.source, data.tokenizer.target)]
        self.model = Seq2Seq(settings.model, *sizes).to(device)
        loss = build_loss(settings.loss, training.fused, precision)
        self.objective = TargetLoss(self.model, build_pair_noise(settings, data, device), loss)
        self._orders: dict[int, list[Any]] = {}

    def initial_state(self) -> State:
        """Return an empty state: no sentence depends on another."""
        return []

    def batches(self, start: int, epoch: int = 1) -> Iterator[Batch]:
        """Yield the batches of an epoch from number `start` on."""
        for pairs in self._order(epoch)[start:]:
            made = self._padded(self.data.train, pairs)
            yield Batch(made, made.targets_TB, streams=len(pairs), words=int(made.target_lengths_B.sum()))

    def tokens_before(self, batch: int, epoch: int = 1) -> int:
        """Count the target words of the first `batch` batches of an epoch, the `<eos>` of each pair included."""
        target = self.data.train.target
        return sum(len(target[pair]) + 1 for pairs in self._order(epoch)[:batch] for pair in pairs)

    def _order(self, epoch: int) -> list[Any]:
        if epoch not in self._orders:
            train, training = self.data.train, self.settings.training
            self._orders = {epoch: batch_order(train.source, train.target, training.streams, training.seed, epoch)}
        return self._orders[epoch]

    def _padded(self, split: Split, pairs: Sequence[int]) -> SentencePairs:
        source, target = ([side[pair] for pair in pairs] for side in (split.source, split.target))
        return as_tensors(pad_pairs(source, target, *self.data.tokenizer.eos_ids), self.model.device)

    def begin_step(self, done: float) -> None:
        """Do nothing: the objective stays the same."""

    def prepare_for_training(self) -> None:
        """Choose the kernels that the settings ask for, and turn dropout on."""
        self.model.use(self.settings.training.fused).train()

    def validate(self) -> Validation:
        """Measure BLEU of greedy translations of the validation text, and its perplexity."""
        self.model.use(self.settings.training.fused)
        score = self.score(self.data.valid)
        found = self.bleu(self.data.valid, beam=1)
        return Validation(
            objective=MOST_BLEU - found.bleu + TIE * min(MOST_NATS, score.nats / score.tokens),
            figures={"valid_perplexity": score.perplexity, "valid_bleu": found.bleu},
            diverged=why_diverged(score, self.model.words),
            summary=f"validation BLEU {found.bleu:.2f}, perplexity {format_perplexity(score.perplexity)}",
        )

    def for_export(self, parameters: Tensors) -> Tensors:
        """Return the parameters unchanged: data noising predicts with the clean model."""
        return parameters

    def finished(self, exported: Tensors) -> Finished:
        """Return the parameters as they are."""
        return Finished(exported)

    def measure(self, exported: Tensors) -> tuple[dict[str, Any], str]:
        """Measure perplexity and BLEU of validation and test text. The model has these tensors afterwards."""
        self.model.load_state_dict(exported)
        self.model.use(self.settings.training.fused)
        beam, what = self.settings.training.beam, ""
        figures: dict[str, Any] = {}
        scores: dict[str, Any] = {}
        for split, pairs in (("valid", self.data.valid), ("test", self.data.test)):
            score, found = self.score(pairs), self.bleu(pairs, beam, interval=True)
            what = what or why_diverged(score, self.model.words)
            figures |= score.figures(split)
            scores |= {f"{split}_{name}": value for name, value in found.as_json().items() if name != "signature"}
        return {**figures, "translation": {**scores, "signature": found.signature, "beam": beam}}, what

    def seconds_to_measure(self) -> float:
        """Estimate the seconds to validate once and to measure both texts, from a few translations."""
        self.model.use(self.settings.training.fused)
        valid, test = len(self.data.valid), len(self.data.test)
        found = 0.0
        for beam, pairs in ((1, valid), (self.settings.training.beam, valid + test)):
            started = time.monotonic()
            self.translate(self.data.valid.source[:SAMPLE], beam)
            found += (time.monotonic() - started) * pairs / min(SAMPLE, valid)
        return found

    def score(self, split: Split) -> Score:
        """Compute the nats of all target words, `<eos>` included."""
        self.model.eval()
        nats, loss = 0.0, build_loss(LossSettings("cross_entropy"), self.settings.training.fused, torch.float32)
        with torch.no_grad(), in_fp32(self.model.device):
            longer = [max(pair, key=len) for pair in zip(split.source, split.target, strict=True)]
            for numbers in by_length(longer, MEASURED_TOGETHER, POSITIONS_TOGETHER):
                nats += float(loss.forward(self.model(self._padded(split, numbers))).cross_entropy)
        return Score(nats, split.target_tokens)

    def translate(self, source: Sequence[Sequence[int]], beam: int) -> list[str]:
        """Return the best translation of each sentence."""
        tokenizer = self.data.tokenizer
        found = translate_ids(self.model, source, *tokenizer.eos_ids, Search(beam))
        return [tokenizer.target.join(tokenizer.target.pieces(best[0].ids)) for best in found]

    def bleu(self, split: Split, beam: int, interval: bool = False) -> Bleu:
        """Compute BLEU of the split's translations; the references are its target lines, as they were read."""
        tokenizer = tokenizer_of(self.settings.data.target, self.data.tokenisation == "space")
        lowercase = self.settings.data.lowercase
        return bleu(self.translate(split.source, beam), split.target_lines, tokenizer, lowercase, interval)


def as_tensors(pairs: PaddedPairs, device: torch.device) -> SentencePairs:
    """Return the batch as tensors on a device."""
    return SentencePairs(*(torch.from_numpy(part).to(device) for part in vars(pairs).values()))


def translation_record(settings: TranslationSettings, data: Bitext) -> RunRecord:
    """Return the record of a run that trains a translation model."""

    def write(folder: Path, tensors: Tensors) -> None:
        tokenised = data.tokenisation == "space"
        write_translation(folder, SavedTranslation(settings, tensors, data.tokenizer, tokenised, data.texts))

    return RunRecord(settings, translation_identity(settings, data), write)


def train_translation(
    settings: TranslationSettings | str | Path, out: str | Path, mode: Mode = "new", **named: Any
) -> TrainingResult:
    """Train a translation model in the folder `out`.

    `settings` may be the name or path of a parallel corpus. Keyword arguments change single settings, by the names that
    `wordtie translate train` takes: `train_translation("texts", "runs/en-nl", target="nl", hidden=512)`. `mode` and
    errors are those of `wordtie.train`; raises `WordtieError` if sacrebleu is missing.
    """
    settings = translation_settings_from(settings, **named)
    require_sacrebleu()
    training = settings.training
    device = resolve_device(training.device)
    precision = precision_of(settings, device)
    with exclusive_training(training.threads, device), folder_for_training(out, mode) as folder:
        resumable = read_resumable(folder, settings) if mode == "resume" else None
        data = read_bitext(settings.data)
        if not resumable:
            say([f"{folder}: no run to resume, so a new one starts"] if mode == "resume" else [])
            say([*unused_translation_settings(settings, bool(data.columns)), *notes(data)])
        check_translation_memory(settings, data, device)
        torch.manual_seed(training.seed)
        task = Translation(settings, data, device, precision)
        optimiser = build_optimiser(training, parameter_groups(task.model, training.word_rate))
        state = RunState(task.model, optimiser, task.initial_state(), Position())
        writer = RunWriter(folder, translation_record(settings, data), mode, resumable)
        return Trainer(task, training, state, writer, str(precision).removeprefix("torch.")).run()


def notes(data: Bitext) -> list[str]:
    """List which columns were read, how many training pairs were left out, and how many are measured on, too."""
    lost = {"are too long or have an empty side": data.too_long, "have a sentence of another part": data.repeated}
    return [
        *columns_read(data),
        *(f"{count:,} training pairs {why}, and are left out" for why, count in lost.items() if count),
        *(
            f"{count:,} of {len(part):,} {name} pairs are training pairs, too: what is measured on them is too good"
            for name, part in (("validation", data.valid), ("test", data.test))
            if (count := also_trained_on(data, part))
        ),
    ]


def also_trained_on(data: Bitext, part: Split) -> int:
    """Count the pairs of a part whose two sentences are a training pair."""
    trained = set(zip(data.train.source_lines, data.train.target_lines, strict=True))
    return sum(pair in trained for pair in zip(part.source_lines, part.target_lines, strict=True))


def check_translation_memory(settings: TranslationSettings, data: Bitext, device: torch.device) -> None:
    """Raise a `SettingsError` if the training does not fit into memory."""
    if device.type != "cpu":
        return
    sizes = [len(side.vocabulary) for side in (data.tokenizer.source, data.tokenizer.target)]
    with torch.device("meta"):
        parameters = Seq2Seq(settings.model, *sizes).parameter_count()
    check_training(parameters, settings.training, "take a smaller model.hidden or data.vocabulary_size")
