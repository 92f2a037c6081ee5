"""Language modelling as a task of the trainer: windows of a text, the noisy forward pass, perplexity.

A batch is a window of T steps of B contiguous streams; the recurrent state is carried from window to window. Epochs are
chosen by the perplexity of the validation text, read as 10 streams. The figures of a result are over one stream, so
that no token is dropped. Both are always computed in float32.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from wordtie.config import Settings
from wordtie.data.batches import Ids, batches, stream_length, window_count
from wordtie.data.token_file import PreparedData
from wordtie.evaluation.format_perplexity import format_perplexity
from wordtie.evaluation.perplexity import Score, evaluate
from wordtie.evaluation.sampled import evaluate_sampled
from wordtie.losses.build import build_loss
from wordtie.losses.loss import Loss, LossSum
from wordtie.losses.sampled import SampledLoss
from wordtie.models.language_model import LanguageModel
from wordtie.models.recent_words import MOST_KEPT
from wordtie.nn.core import State
from wordtie.noise.noisy_forward import Noise, build_noise
from wordtie.training.divergence import why_diverged
from wordtie.training.retention import Retention
from wordtie.training.task import Batch, Finished, Tensors, Validation

VALIDATION_STREAMS = 10
"""Streams in which the validation text is read to choose between epochs."""
SAMPLE_WORDS, FEWEST_SAMPLE_WORDS, SAMPLE_SCORES = 2_000, 100, 20_000_000
"""Most and fewest words read to estimate how long measuring takes, and the scores (words x vocabulary) aimed at."""


def window(inputs_TB: Tensor, targets_TB: Tensor) -> Batch:
    """Return T steps of B streams as a batch."""
    return Batch(inputs_TB, targets_TB, streams=targets_TB.shape[1], words=targets_TB.numel())


def reset(state: State, kept_B: Tensor) -> State:
    """Return the state with zeros for the streams that are not kept; parts are (B, H).

    >>> reset([(torch.ones(2, 3),)], torch.tensor([True, False]))[0][0].sum(1).tolist()
    [3.0, 0.0]
    """
    return [tuple(torch.where(kept_B[:, None], part, 0.0) for part in layer) for layer in state]


@dataclass(frozen=True)
class NextWordLoss:
    """The `Objective`: the loss of each next word, read with noise."""

    model: LanguageModel
    noise: Noise
    loss: Loss
    reset_at: int | None = None
    """The id of `<eos>`, if a stream whose window begins with it starts from zeros; else None."""

    def forward(self, batch: Batch, state: State) -> tuple[LossSum, State]:
        """Compute the loss, summed over the window's tokens, and the state after it."""
        if self.reset_at is not None:
            state = reset(state, batch.inputs[0] != self.reset_at)
        scoring, state = self.noise.forward(self.model, batch.inputs, batch.targets, state)
        return self.loss.forward(scoring), state

    def add_gradients(self) -> None:
        """Add those of the L2 term, which variational smoothing weighs by word (Kong et al. 2019, equation 3)."""
        self.noise.add_l2_gradient(self.model)


class LanguageModelling:
    """A `Task`: predict each word of a text from the words before it.

    The model's parameters are drawn here, so the caller seeds torch first.
    """

    def __init__(
        self,
        settings: Settings,
        data: PreparedData,
        device: torch.device,
        precision: torch.dtype,
        text_of_epoch: Callable[[int], Ids] | None = None,
    ) -> None:
        """`text_of_epoch`: the training text of an epoch, as long as `data.train`, where they differ."""
        training = settings.training
        self.settings = settings
        self.data = data
        self.precision = precision
        self._text_of_epoch = text_of_epoch
        self.valid, self.test = (data.measured(split, training.measured_tokens) for split in ("valid", "test"))
        self.log_p: dict[str, list[Tensor]] = {}
        self.queries: dict[str, list[Tensor]] = {}
        """Split to log p, and to queries, of each token that `measure` read, in pieces; none if the noise was sampled,
        and no queries if a text is so long that they would take too much memory."""
        self.retention: Retention | None = None
        """Limit on what the finished model may forget of earlier texts."""
        self.noise = build_noise(settings.noise, data, device)
        self.batches_per_epoch = window_count(len(data.train), training.streams, training.steps)
        self.tokens_per_epoch = training.streams * stream_length(len(data.train), training.streams)
        self.model = LanguageModel(settings.model, len(data.vocabulary)).to(device)
        count_V = torch.from_numpy(np.bincount(data.train, minlength=len(data.vocabulary))).to(device)
        if settings.model.bias_init == "unigram":
            self.model.start_from_unigram(count_V)
        loss = build_loss(settings.loss, training.fused, precision, count_V, settings.has_sparse_updates)
        reset_at = data.vocabulary.eos_id if training.reset_state else None
        self.objective = self._objective = NextWordLoss(self.model, self.noise, loss, reset_at)
        self._objective_at_end = self._objective
        if isinstance(loss, SampledLoss):
            self._objective_at_end = dataclasses.replace(self._objective, loss=loss.full)

    def initial_state(self) -> State:
        """Return zeros for each layer's parts, (B, H): an epoch starts from them."""
        return self.model.initial_state(self.settings.training.streams)

    def batches(self, start: int, epoch: int = 1) -> Iterator[Batch]:
        """Yield the windows of the epoch's training text from number `start` on."""
        training, device = self.settings.training, self.model.device
        eos_id = self.data.vocabulary.eos_id
        ids_N = self.data.train if self._text_of_epoch is None else self._text_of_epoch(epoch)
        for inputs_TB, targets_TB in batches(ids_N, training.streams, training.steps, eos_id=eos_id, start=start):
            yield window(torch.from_numpy(inputs_TB).to(device), torch.from_numpy(targets_TB).to(device))

    def tokens_before(self, batch: int, epoch: int = 1) -> int:
        """Count the target words before window `batch`: B x T for each; the last one of an epoch may be shorter."""
        training = self.settings.training
        return min(training.streams * batch * training.steps, self.tokens_per_epoch)

    def prepare_for_training(self) -> None:
        """Choose the kernels that the settings ask for, in the run's precision, and turn dropout on."""
        self.model.use(self.settings.training.fused, self.precision, self.settings.has_sparse_updates).train()

    def begin_step(self, done: float) -> None:
        """Switch to the full softmax for the last share of the training, `loss.full_at_end`."""
        at_end = done >= 1 - self.settings.loss.full_at_end  # a step never begins at 1, which a plan asks for
        self.objective = self._objective_at_end if at_end else self._objective

    def validate(self) -> Validation:
        """Measure the perplexity of the validation text, by the mean of the noisy word vectors if that predicts."""
        self.model.use(self.settings.training.fused)
        with self.noise.frozen(self.model):
            score = self._score(self.valid, VALIDATION_STREAMS)
        perplexity = score.perplexity
        return Validation(
            objective=perplexity,
            figures={"valid_perplexity": perplexity},
            diverged=why_diverged(score, self.model.words),
            summary=f"validation perplexity {format_perplexity(perplexity)}",
        )

    def for_export(self, parameters: Tensors) -> Tensors:
        """Return the parameters, with the mean of the noise folded in if that predicts."""
        return self.noise.for_prediction(parameters)

    def finished(self, exported: Tensors) -> Finished:
        """Return the parameters, moved back towards the start if the model forgot too much of earlier texts."""
        if self.retention is None:
            return Finished(exported)
        found = self.retention(self.model, exported)
        if found is None:
            limit = f"--max-forgetting {self.settings.training.max_forgetting}"
            return Finished(exported, note=f"note: no share of the change meets {limit}, so the model stays as it is: "
                            "raise --rehearsal or that limit, or lower --lr")  # fmt: skip
        tensors, share = found
        return Finished(tensors, {"change_kept": share})

    def measure(self, exported: Tensors) -> tuple[dict[str, Any], str]:
        """Measure perplexity, nats and tokens of validation and test text, and report how they were read.

        The model has these tensors afterwards.
        """
        self.model.load_state_dict(exported)
        self.model.use(self.settings.training.fused)
        info = self.data.info
        text = {"vocabulary_size": info.vocabulary_size, **dataclasses.asdict(info.policy)}
        for split, whole in (("valid", self.data.valid), ("test", self.data.test)):
            text |= {f"{split}_oov": info.splits[split].oov, f"{split}_length": len(whole)}
        found: dict[str, Any] = {"text": text}
        what = ""
        for split, ids, most in (("valid", self.valid, None), ("test", self.test, math.inf)):
            score = self._final(ids, self.log_p.setdefault(split, []), self.queries.setdefault(split, []))
            what = what or why_diverged(score, self.model.words, most)
            found |= score.figures(split)
        return found, what

    def seconds_to_measure(self) -> float:
        """Estimate the seconds to validate once, to limit forgetting, and to measure both texts."""
        validation, measuring = self.seconds_per_token()
        choosing = self.retention.tokens if self.retention else 0
        return validation * (len(self.valid) + choosing) + measuring * (len(self.valid) + len(self.test))

    def seconds_per_token(self) -> tuple[float, float]:
        """Estimate the seconds per token of (a validation, measuring over one stream) from a few words."""
        self.model.use(self.settings.training.fused)
        words = min(SAMPLE_WORDS, max(FEWEST_SAMPLE_WORDS, SAMPLE_SCORES // self.model.words))
        sample, found = self.valid[:words], []
        for streams in (VALIDATION_STREAMS, 1):
            self._score(sample[:FEWEST_SAMPLE_WORDS], streams)  # kernels are compiled once, which must not count
            started = time.monotonic()
            self._score(sample, streams)
            found.append((time.monotonic() - started) / len(sample))
        noise = self.settings.noise
        return found[0], found[1] * (noise.samples if noise.predicts_with == "sampling" else 1)

    def _score(self, ids: Ids, streams: int = 1) -> Score:
        return evaluate(self.model, ids, self.data.vocabulary.eos_id, streams)

    def _final(self, ids: Ids, log_p: list[Tensor], queries: list[Tensor]) -> Score:
        """Score one stream and fill the lists, or score draws of the noise if `noise.prediction` is sampling."""
        noise = self.settings.noise
        log_p.clear()
        queries.clear()
        if noise.predicts_with != "sampling":
            kept = queries if len(ids) * self.model.output_matrix.shape[1] <= MOST_KEPT else None
            return evaluate(self.model, ids, self.data.vocabulary.eos_id, log_p=log_p, kept=kept)
        eos_id, steps = self.data.vocabulary.eos_id, self.settings.training.steps
        return evaluate_sampled(self.model, self.noise, ids, eos_id, steps, noise.samples)
