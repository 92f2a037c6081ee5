"""The training loop. Read `Trainer.run` from top to bottom.

Training is truncated back-propagation through time. Gradients are clipped by their global norm, and the recurrent state
is carried from window to window. After each epoch the model is validated; the best one so far, or the last, becomes the
run folder's model. One checkpoint file holds everything that decides what comes next: weights, optimiser, recurrent
state, random numbers, position. A run that was killed therefore resumes with bit-identical results.
"""

from __future__ import annotations

import math
import time
from typing import NoReturn

from wordtie.config import TrainingSettings, parse_time
from wordtie.evaluation.format_perplexity import format_perplexity
from wordtie.evaluation.perplexity import Score
from wordtie.runs import checkpoint
from wordtie.runs.live_progress import LiveProgress
from wordtie.runs.result import Stopped, TrainingResult
from wordtie.training.divergence import NO_NUMBER, diverged, why_unusable
from wordtie.training.optim import set_learning_rate
from wordtie.training.progress import Progress
from wordtie.training.run_state import RunState
from wordtie.training.run_writer import RunWriter
from wordtie.training.schedule import averaging_begins, learning_rate, why_finished
from wordtie.training.step import train_step
from wordtie.training.stop_signals import StopSignals
from wordtie.training.task import Task, Tensors, Validation


class Trainer:
    """One invocation: from where the run is to its end, or to a stop by time or signal."""

    def __init__(
        self, task: Task, training: TrainingSettings, state: RunState, writer: RunWriter, precision: str
    ) -> None:
        self.task = task
        self.training = training
        self.state = state
        self.writer = writer
        self.precision = precision
        self.signals = StopSignals()
        """Obeyed after the batch in which they come; while validating, after that."""
        self.max_seconds = parse_time(training.max_time) if training.max_time else math.inf
        self.progress = Progress(training.epochs, task.batches_per_epoch, self.max_seconds)
        self.live = LiveProgress(writer.folder)
        self.started = time.monotonic()
        self.seconds_before = 0.0
        """Of earlier invocations; known once the run is resumed."""
        self.reserve = 0.0
        """Of `max_seconds`, what measuring in the end will take."""

    def run(self) -> TrainingResult:
        """Epoch after epoch, until the last, or until patience or time runs out; then measure the model."""
        state = self.state
        self.writer.begin(state)
        self.seconds_before = state.position.seconds
        if not why_finished(self.training, state.position):
            state.position.add_precision(self.precision)
            self.writer.begin_invocation(state)
        if self.training.max_time:
            self.reserve = min(self.task.seconds_to_measure(), self.max_seconds / 2)
        with self.writer, self.progress:
            with self.signals:
                stopped = self.train_epochs()
            if self.signals.heard:
                self.checkpoint()
                self.progress.say(f"interrupted; the same command {self.writer.how_to_resume}resumes")
                self.signals.leave()
            exported = state.kept
            if stopped == "max_time":
                self.checkpoint()
                exported = self.provisional()
            self.writer.export(exported)
            self.progress.say(f"stopped: {stopped}; measuring the model on the validation and the test text")
            return self.finish(stopped, exported)

    def train_epochs(self) -> Stopped:
        """Train until there is a reason to stop."""
        first = self.state.position.epoch
        while not (why := why_finished(self.training, self.state.position)) and not self.signals.heard:
            if (self.state.position.epoch > first and self.out_of_time()) or not self.train_epoch():
                return "max_time"
        return why or "finished"

    def train_epoch(self) -> bool:
        """The rest of the current epoch, then validation; False if time or a signal ended it early."""
        task, state, training = self.task, self.state, self.training
        position = state.position
        lr = learning_rate(training, position.epoch, position.history)
        set_learning_rate(state.optimiser, lr)
        task.prepare_for_training()
        for batch in task.batches(start=position.window):
            if not train_step(task.objective, state, batch, training.clip):
                self.diverged(f"window {position.window + 1}")
            self.progress.window(position.epoch, position.window, position.nats, position.tokens, batch.words)
            self.live(position.epoch - 1 + position.window / task.batches_per_epoch, self.seconds())
            if position.window < task.batches_per_epoch:
                if self.signals.heard or self.out_of_time():
                    return False
                if position.window % training.checkpoint_every == 0:
                    self.checkpoint()
        self.finish_epoch(lr)
        return True

    def finish_epoch(self, lr: float) -> None:
        """Validate, keep the model if it is to be kept, write it all down."""
        self.checkpoint()  # a kill during validation must not cost what was trained since the last one
        state, position = self.state, self.state.position
        validation = self.validate()
        better = validation.objective < position.best_perplexity
        keeps = better or self.training.keep == "last"
        exported = self.for_export() if keeps else state.kept  # the last step that may find that the run diverged
        position.seconds = self.seconds()
        train_perplexity = Score(position.nats, position.tokens).perplexity
        self.writer.metrics.write(
            epoch=position.epoch,
            lr=lr,
            train_perplexity=train_perplexity,
            **validation.figures,
            seconds=round(position.seconds, 3),
        )
        self.progress.say(
            f"epoch {position.epoch}  lr {lr:.4g}  training perplexity {format_perplexity(train_perplexity)}  "
            f"{validation.summary}  {position.seconds:.0f} s"
        )
        if better:
            position.best_perplexity, position.best_epoch = validation.objective, position.epoch
        if keeps:
            state.kept = exported
            self.writer.export(exported)
        position.history.append(validation.objective)
        if not state.average.mean and averaging_begins(position.history, self.training.average_patience):
            state.average.begin(state.model)
            self.progress.say("from here on the mean of the weights is validated and exported")
        position.next_epoch()
        state.hidden_state = self.task.initial_state()
        self.checkpoint()

    def validate(self) -> Validation:
        """Measure the model on the validation text. Raises `DivergedError` if the result means nothing."""
        self.progress.measuring("validation")
        started = time.monotonic()
        with self.state.average.applied(self.state.model):
            validation = self.task.validate()
        self.state.position.measuring_seconds += time.monotonic() - started
        if validation.diverged:
            self.diverged("on the validation text", validation.diverged)
        return validation

    def for_export(self) -> Tensors:
        """The current parameters as they are exported. Raises `DivergedError` if they could not be loaded again."""
        exported = self.task.for_export(self.state.parameters())
        if what := why_unusable(exported):
            self.diverged("after the last window", what)
        return exported

    def provisional(self) -> Tensors:
        """What to export when time ran out: the current parameters, unless those of a finished epoch are better.

        The checkpoint does not record this, so that a stop does not change what the whole run ends with.
        """
        state = self.state
        if state.position.window == 0 and state.kept:  # nothing was trained since the last validation
            return state.kept
        validation = self.validate()
        if self.training.keep == "best" and validation.objective >= state.position.best_perplexity:
            return state.kept
        return self.for_export()

    def finish(self, stopped: Stopped, exported: Tensors) -> TrainingResult:
        """Measure the exported model, and write result.json."""
        position = self.state.position
        self.progress.measuring("test")
        started = time.monotonic()
        figures, what = self.task.measure(exported)
        if what:
            self.diverged("measured in the end", what)
        measuring_seconds = position.measuring_seconds + time.monotonic() - started
        result = TrainingResult(
            folder=self.writer.folder,
            stopped=stopped,
            epochs=position.epoch - 1,
            best_epoch=position.best_epoch,
            seconds=round(self.seconds(), 1),
            parameters=self.state.model.parameter_count(),
            weights_sha256=checkpoint.tensors_sha256(exported),
            precision=", ".join(position.precisions),
            epochs_trained=round(position.epoch - 1 + position.window / self.task.batches_per_epoch, 4),
            tokens_seen=(position.epoch - 1) * self.task.tokens_per_epoch + position.tokens,
            measuring_seconds=round(measuring_seconds, 1),
            **figures,
        )
        result.save()
        self.live.remove()
        return result

    def checkpoint(self) -> None:
        """Save everything that decides what comes next."""
        self.state.position.seconds = self.seconds()
        self.writer.checkpoint(self.state)

    def seconds(self) -> float:
        """Of training and validation so far, earlier invocations included."""
        return self.seconds_before + time.monotonic() - self.started

    def out_of_time(self) -> bool:
        """Whether this invocation has to stop training now to be measured in time."""
        return time.monotonic() - self.started >= self.max_seconds - self.reserve

    def diverged(self, where: str, what: str = NO_NUMBER) -> NoReturn:
        """Stop, and say what was kept and what to try."""
        if self.state.kept:
            self.writer.export(self.state.kept)  # the folder may have a provisional one, of a stop by time
        self.writer.end_invocation(f"diverged at epoch {self.state.position.epoch}, {where}")
        raise diverged(self.writer.folder, self.training, self.state.position, what, where)
