"""The training loop. Read `Trainer.run` from top to bottom.

Training is truncated back-propagation through time. Gradients are clipped by their global norm, and the recurrent state
is carried from window to window. After each epoch, or as the settings say, the model is validated; the best one so far,
or the last, becomes the run folder's model, once the task has finished it. One checkpoint file holds everything that
decides what comes next: weights, optimiser, recurrent state, random numbers, position. A run that was killed therefore
resumes with bit-identical results.
"""

from __future__ import annotations

import math
import time
from itertools import islice
from typing import NoReturn

from wordtie.config import TrainingSettings, parse_time
from wordtie.console import say
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
from wordtie.training.schedule import (
    averaging_begins,
    budget_of,
    is_validated,
    never_reached,
    rate_of_step,
    why_finished,
    windows_done,
)
from wordtie.training.step import train_step
from wordtie.training.stop_signals import StopSignals
from wordtie.training.task import Batch, Task, Tensors, Validation

WINDOWS_BETWEEN_LINES = 200
"""Windows between two lines of `metrics.jsonl`, apart from those of validations."""


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
        """Signals to stop, obeyed after the current batch or, while validating, after that."""
        self.max_seconds = parse_time(training.max_time) if training.max_time else math.inf
        self.budget = budget_of(training, task.batches_per_epoch, task.tokens_per_epoch)
        self.progress = Progress(self.budget.epochs, task.batches_per_epoch, self.max_seconds)
        self.live = LiveProgress(writer.folder)
        self.started = time.monotonic()
        self.seconds_before = 0.0
        """Seconds of earlier invocations; known once the run is resumed."""
        self.reserve = 0.0
        """The part of `max_seconds` that measuring in the end will take."""

    def run(self) -> TrainingResult:
        """Train until the budget is used up, or until patience or time runs out; then measure the model."""
        state = self.state
        self.writer.begin(state, self.task)
        self.live.remove()  # of an invocation that was killed
        self.seconds_before = state.position.seconds
        if self.writer.resumable is None:
            say(never_reached(self.training, self.budget))
        if not why_finished(self.training, self.budget, state.position):
            self.writer.forget_result()
            if (before := state.position.precisions) and before != [self.precision]:
                say([f"this machine computes in {self.precision}, the run so far in {', '.join(before)}: its result "
                     "differs from that of an uninterrupted run"])  # fmt: skip
            state.position.add_precision(self.precision)
            self.writer.begin_invocation(state)
        if self.training.max_time:
            self.reserve = min(self.task.seconds_to_measure(), self.max_seconds / 2)
        with self.writer, self.progress:
            with self.signals:
                stopped = self.train()
            if self.signals.heard:
                self.checkpoint()
                self.progress.say(f"interrupted; the same command {self.writer.how_to_resume}resumes")
                self.signals.leave()
            exported, best_epoch = state.kept, state.position.best_epoch
            if stopped == "max_time":
                self.checkpoint()
                exported, best_epoch = self.provisional()
            self.progress.say(f"stopped: {stopped}; measuring the model on the validation and the test text")
            return self.finish(stopped, exported, best_epoch)

    def train(self) -> Stopped:
        """Train until there is a reason to stop."""
        state, first = self.state, len(self.state.position.history)
        while not (why := why_finished(self.training, self.budget, state.position)) and not self.signals.heard:
            validated = len(state.position.history)
            if (validated > first and self.out_of_time()) or not self.train_until(self.budget.after(validated + 1)):
                return "max_time"
            self.finish_interval()
        return why or "finished"

    def train_until(self, end: int) -> bool:
        """Train to `end`, a number of windows over all epochs; return False if time or a signal ended it early."""
        task, state = self.task, self.state
        task.prepare_for_training()
        while windows_done(self.budget, state.position) < end:
            if state.position.window == task.batches_per_epoch:
                self.begin_epoch()
            windows = end - windows_done(self.budget, state.position)
            for batch in islice(task.batches(state.position.window, state.position.epoch), windows):
                if not self.train_on(batch, end):
                    return False
        return True

    def train_on(self, batch: Batch, end: int) -> bool:
        """Train one step, and do what is due after it; return False if time or a signal stops training before `end`."""
        state, training, position = self.state, self.training, self.state.position
        step = windows_done(self.budget, position)
        set_learning_rate(state.optimiser, rate_of_step(training, self.budget, position, step))
        self.task.begin_step(step / self.budget.windows)
        if not train_step(self.task.objective, state, batch, training.clip):
            self.diverged(f"window {position.window + 1}")
        self.progress.window(position.epoch, position.window, position.nats, position.tokens, batch.words)
        done = windows_done(self.budget, position)
        self.live(done / self.budget.windows_per_epoch, self.seconds())
        if done < end:
            if done % WINDOWS_BETWEEN_LINES == 0:
                self.write_line()
            if self.signals.heard or self.out_of_time():
                return False
            if done % training.checkpoint_every == 0:
                self.checkpoint()
        return True

    def write_line(self, **figures: float) -> None:
        """Write a line of `metrics.jsonl`: for a validation if there are figures, else for the windows in between."""
        position = self.state.position
        if position.recent_tokens:  # a checkpoint of an earlier version may not have counted them
            recent = {"recent_perplexity": Score(position.recent_nats, position.recent_tokens).perplexity}
            figures = {**recent, **figures}
        self.writer.metrics.write(
            epoch=position.epoch,
            window=windows_done(self.budget, position),
            tokens=self.tokens_seen(),
            lr=self.rate(),
            **figures,
            seconds=round(self.seconds(), 3),
            measuring_seconds=round(position.measuring_seconds, 3),
        )
        position.recent_nats, position.recent_tokens = 0.0, 0

    def rate(self) -> float:
        """Return the learning rate of the last step."""
        position = self.state.position
        return rate_of_step(self.training, self.budget, position, windows_done(self.budget, position) - 1)

    def tokens_seen(self) -> int:
        """Count the target words of all windows so far."""
        position = self.state.position
        return (position.epoch - 1) * self.task.tokens_per_epoch + position.tokens

    def begin_epoch(self) -> None:
        """Go back to the beginning of the text."""
        self.state.position.next_epoch()
        self.state.hidden_state = self.task.initial_state()

    def finish_interval(self) -> None:
        """Validate, export the model if it is to be kept, and record both."""
        self.checkpoint()  # a kill during validation must not cost what was trained since the last one
        state, position = self.state, self.state.position
        validation = self.validate()
        better = validation.objective < position.best_perplexity
        keeps = better or self.training.keep == "last"
        exported = self.for_export() if keeps else state.kept  # the last step that may find that the run diverged
        position.seconds = self.seconds()
        train_perplexity = Score(position.nats, position.tokens).perplexity
        epoch = f"{position.epoch - 1 + position.window / self.task.batches_per_epoch:.2f}".removesuffix(".00")
        self.progress.say(
            f"epoch {epoch}  lr {self.rate():.4g}  training perplexity {format_perplexity(train_perplexity)}  "
            f"{validation.summary}  {position.seconds:,.0f} s"
        )
        if better:
            position.best_perplexity, position.best_epoch = validation.objective, len(position.history) + 1
        if keeps:
            state.kept = exported
            self.writer.export(exported)
        # after the export: readers take a line of a validation as a sign that the folder's model is this run's
        self.write_line(train_perplexity=train_perplexity, **validation.figures)
        position.history.append(validation.objective)
        if not state.average.mean and averaging_begins(position.history, self.training.average_patience):
            state.average.begin(state.model)
            self.progress.say("from here on the mean of the weights is validated and exported")
        if position.window == self.task.batches_per_epoch:
            self.begin_epoch()
        self.checkpoint()

    def validate(self) -> Validation:
        """Measure the model on the validation text. Raises `DivergedError` if the result means nothing."""
        started = time.monotonic()
        with self.progress.measuring("validation"), self.state.average.applied(self.state.model):
            validation = self.task.validate()
        self.state.position.measuring_seconds += time.monotonic() - started
        if validation.diverged:
            self.diverged("on the validation text", validation.diverged)
        return validation

    def for_export(self) -> Tensors:
        """Return the current parameters for export. Raises `DivergedError` if they could not be loaded again."""
        exported = self.task.for_export(self.state.parameters())
        if what := why_unusable(exported):
            self.diverged("after the last window", what)
        return exported

    def provisional(self) -> tuple[Tensors, int]:
        """Return (what to export when time ran out: the current parameters, unless those of a validation are better;
        the number of the best validation).

        The checkpoint does not record this, so that a stop does not change the result of the whole run.
        """
        state, position = self.state, self.state.position
        if is_validated(self.budget, position) and state.kept:
            return state.kept, position.best_epoch
        better = self.validate().objective < position.best_perplexity
        best_epoch = len(position.history) + 1 if better else position.best_epoch
        if better or self.training.keep == "last":
            return self.for_export(), best_epoch
        return state.kept, best_epoch

    def finish(self, stopped: Stopped, exported: Tensors, best_epoch: int) -> TrainingResult:
        """Finish and export the model, measure it, and write result.json."""
        position = self.state.position
        started = time.monotonic()
        with self.progress.measuring("test"):
            finished = self.task.finished(exported)
            self.writer.export(finished.tensors)
            figures, what = self.task.measure(finished.tensors)
        if finished.note:
            self.progress.say(finished.note)
        if what:
            self.diverged("measured in the end", what)
        measuring_seconds = position.measuring_seconds + time.monotonic() - started
        result = TrainingResult(
            folder=self.writer.folder,
            stopped=stopped,
            epochs=position.epoch - 1,
            best_epoch=best_epoch,
            seconds=round(self.seconds(), 1),
            parameters=self.state.model.parameter_count(),
            weights_sha256=checkpoint.tensors_sha256(finished.tensors),
            precision=", ".join(position.precisions),
            epochs_trained=round(position.epoch - 1 + position.window / self.task.batches_per_epoch, 4),
            tokens_seen=self.tokens_seen(),
            measuring_seconds=round(measuring_seconds, 1),
            **finished.figures,
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
        """Return the seconds of training and validation so far, earlier invocations included."""
        return self.seconds_before + time.monotonic() - self.started

    def out_of_time(self) -> bool:
        """Whether this invocation has to stop training now to be measured in time."""
        return time.monotonic() - self.started >= self.max_seconds - self.reserve

    def diverged(self, where: str, what: str = NO_NUMBER) -> NoReturn:
        """Stop the run: raise `DivergedError`, which says what was kept and what to try."""
        if self.state.kept:
            self.writer.export(self.state.kept)  # the folder may have a provisional one, of a stop by time
        self.writer.end_invocation(f"diverged at epoch {self.state.position.epoch}, {where}")
        raise diverged(self.writer.folder, self.training, self.state.position, what, where)
