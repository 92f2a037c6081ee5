"""Training: windows of text in, a run folder out.

The loop is truncated back-propagation through time: each window's loss is summed over its T steps and
averaged over its B streams, gradients are clipped by their global norm, the state is carried over. After
each epoch the model is validated; the best one so far, or the last, is exported as the run folder's model. Everything
that decides what comes next (weights, optimiser, carried state, random numbers, position) is in one
checkpoint file, so that a run that was killed goes on and ends in the same bits.
"""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any, NoReturn

import torch

from wordtie.config import Settings, parse_time
from wordtie.config.keywords import settings_from
from wordtie.data.batches import batches, window_count
from wordtie.data.prepare import prepare
from wordtie.data.token_file import PreparedData
from wordtie.errors import DivergedError, RunFolderError
from wordtie.evaluation.format_perplexity import format_perplexity
from wordtie.evaluation.perplexity import Score
from wordtie.losses.build import build_loss
from wordtie.models.language_model import LanguageModel
from wordtie.noise.noisy_forward import build_noise
from wordtie.runs import checkpoint, run_folder
from wordtie.runs.live_progress import Pace
from wordtie.runs.provenance import end_session
from wordtie.runs.result import Position, Stopped, TrainingResult
from wordtie.training.optim import build_optimiser
from wordtie.training.precision import precision_of, resolve_device
from wordtie.training.process import exclusive_training
from wordtie.training.progress import Progress
from wordtie.training.run_state import RunState, Tensors
from wordtie.training.run_writer import SavedRun, check_call
from wordtie.training.schedule import averaging_begins, learning_rate, over
from wordtie.training.step import Step
from wordtie.training.stop_signals import StopSignals
from wordtie.training.validation import Measuring
from wordtie.training.warm_start import start


def train(
    settings: Settings | str | Path, out: str | Path, resume: bool = False, overwrite: bool = False, **named: Any
) -> TrainingResult:
    """Train, or go on training, in the folder `out`. One training at a time in a process; while it lasts, whatever else
    draws torch's random numbers there, in another thread, changes what it comes to.

    `settings` may be the name or path of a text; keyword arguments change single settings, by the names that the
    command line takes: `train("novel.txt", "runs/novel", hidden=400)`.

    Raises `RunFolderError` where a run is there already and neither `resume` nor `overwrite` is given, or both are,
    `SettingsError` for what are no settings, `DataError` for a text that cannot be used, `DivergedError` where the loss
    stops being a number, `SaveError` where something cannot be written. Ctrl-C, SIGTERM and SIGHUP save a checkpoint,
    then raise `KeyboardInterrupt`, `SystemExit(143)` and `SystemExit(129)`.
    """
    settings = settings_from(settings, **named)
    out = run_folder.named(out)
    if resume and overwrite:
        raise RunFolderError(f"{out}: resume goes on with a run, overwrite replaces it: give one of them")
    check_call(out, settings, resume, overwrite)
    data = prepare(settings.data)
    device = resolve_device(settings.training.device)
    with exclusive_training(settings.training.threads, device), run_folder.locked(out):
        run_folder.check_free(out, resume, overwrite)
        return _Run(settings, out, data, device, overwrite, resume).run()


class _Run:
    """One call of `train`: the run's state, and what it writes."""

    def __init__(
        self, settings: Settings, out: Path, data: PreparedData, device: torch.device, overwrite: bool, resume: bool
    ) -> None:
        self.settings = settings
        self.data = data
        self.to_go_on = "" if resume else "with --resume "
        self.saved = SavedRun(out, settings, data, overwrite)
        self.pace = Pace(out)
        training = settings.training
        self.precision = precision_of(settings, device)
        self.noise = build_noise(settings.noise, data, device)
        self.measuring = Measuring(settings, data, self.noise)
        self.step = Step(build_loss(settings.loss, training.fused, self.precision), training.clip, self.noise)
        self.windows = window_count(len(data.train), training.streams, training.steps)
        self.max_seconds = parse_time(training.max_time) if training.max_time else math.inf
        torch.manual_seed(training.seed)
        model = LanguageModel(settings.model, len(data.vocabulary)).to(device)
        position = Position(started_from=start(settings, model, data) if self.saved.fresh else "")
        optimiser = build_optimiser(training, model.parameters())
        self.now = RunState(model, optimiser, model.initial_state(training.streams), position)
        self.signals = StopSignals()
        """Obeyed after the window in which they come; while validating, after that."""

    def run(self) -> TrainingResult:
        """Epoch after epoch, until the last, the patience or the time is at an end."""
        self.started = time.monotonic()
        self.saved.begin(self.now)
        self.seconds_before = self.now.position.seconds
        training = self.settings.training
        if not over(training, self.now.position):
            self.now.position.computes_in(str(self.precision).removeprefix("torch."))
            self.saved.begin_invocation(self.now)
        with self.saved, Progress(training.epochs, self.windows, self.max_seconds) as self.progress:
            with self.signals:
                stopped = self.epochs()
            if self.signals.heard:
                self.checkpoint()
                self.progress.say(f"interrupted; the same command {self.to_go_on}goes on")
                self.signals.leave()
            exported = self.now.kept
            if stopped == "max_time":
                self.checkpoint()
                exported = self.provisional()
            self.saved.export(exported)
            self.progress.say(f"stopped: {stopped}; measuring the model on the validation and the test text")
            self.progress.measuring("test")
            return self.result(stopped, exported)

    def epochs(self) -> Stopped:
        """Train until there is a reason to stop."""
        first = self.now.position.epoch
        while not (why := over(self.settings.training, self.now.position)) and not self.signals.heard:
            if (self.now.position.epoch > first and self.out_of_time()) or not self.epoch():
                return "max_time"
        return why or "finished"

    def out_of_time(self) -> bool:
        """Whether this call has taken as long as it may."""
        return time.monotonic() - self.started >= self.max_seconds

    def epoch(self) -> bool:
        """The rest of the current epoch, then validation; False where time or a signal ended it before."""
        training, position = self.settings.training, self.now.position
        lr = learning_rate(training, position.epoch, position.history)
        for group in self.now.optimiser.param_groups:
            group["lr"] = lr
        self.now.model.use(training.fused, self.precision).train()
        eos_id, device = self.data.vocabulary.eos_id, self.now.device
        windows = batches(self.data.train, training.streams, training.steps, eos_id=eos_id, start=position.window)
        for inputs_TB, targets_TB in windows:
            if not self.step(self.now, torch.from_numpy(inputs_TB).to(device), torch.from_numpy(targets_TB).to(device)):
                self.diverged(f"window {position.window + 1}")
            self.progress.window(position.epoch, position.window, position.nats, position.tokens, targets_TB.size)
            self.pace(position.epoch - 1 + position.window / self.windows, self.seconds())
            if position.window < self.windows:
                if self.signals.heard or self.out_of_time():
                    return False
                if position.window % training.checkpoint_every == 0:
                    self.checkpoint()
        self.finish_epoch(lr)
        return True

    def diverged(self, where: str) -> NoReturn:
        """Stop, and say what was kept and what to try."""
        position, training = self.now.position, self.settings.training
        epoch = position.best_epoch if training.keep == "best" else position.epoch - 1
        if epoch:
            self.saved.export(self.now.kept)  # the folder may have a provisional one, of a stop by time
        end_session(self.saved.folder, f"diverged at epoch {position.epoch}, {where}")
        kept = f"the model of epoch {epoch} is kept" if epoch else "no epoch was finished"
        clip = f"--clip {training.clip / 2:g}" if training.clip else "--clip 5"
        raise DivergedError(
            f"{self.saved.folder}: the loss is not a number at epoch {position.epoch}, {where}; {kept}. "
            f"Try --lr {training.lr / 2:g} or {clip}, in another --out or with --overwrite"
        )

    def finish_epoch(self, lr: float) -> None:
        """Validate, keep the model if it is to be kept, write it all down."""
        self.checkpoint()  # measuring takes long, and a kill in it would cost what was trained since the last one
        now, position = self.now, self.now.position
        valid = self.validate()
        position.seconds = self.seconds()
        train_perplexity = Score(position.nats, position.tokens).perplexity
        self.saved.metrics.write(
            epoch=position.epoch,
            lr=lr,
            train_perplexity=train_perplexity,
            valid_perplexity=valid.perplexity,
            seconds=round(position.seconds, 3),
        )
        self.progress.say(
            f"epoch {position.epoch}  lr {lr:.4g}  training perplexity {format_perplexity(train_perplexity)}  "
            f"validation perplexity {format_perplexity(valid.perplexity)}  {position.seconds:.0f} s"
        )
        better = valid.perplexity < position.best_perplexity
        if better:
            position.best_perplexity, position.best_epoch = valid.perplexity, position.epoch
        if better or self.settings.training.keep == "last":
            now.kept = self.noise.for_prediction(now.parameters())
            self.saved.export(now.kept)
        position.history.append(valid.perplexity)
        if not now.average.mean and averaging_begins(position.history, self.settings.training.average_patience):
            now.average.begin(now.model)
            self.progress.say("from here on the mean of the weights is what is measured")
        position.next_epoch()
        now.carried = now.model.initial_state(self.settings.training.streams)
        self.checkpoint()

    def seconds(self) -> float:
        """Of training and validation so far, earlier calls counted in."""
        return self.seconds_before + time.monotonic() - self.started

    def validate(self) -> Score:
        """The score to choose between epochs by. Raises `DivergedError` where it is not a number."""
        self.progress.measuring("validation")
        valid = self.measuring.between_epochs(self.now)
        if not math.isfinite(valid.nats):
            self.diverged("on the validation text")
        return valid

    def checkpoint(self) -> None:
        """Save everything that decides what comes next."""
        self.now.position.seconds = self.seconds()
        self.saved.checkpoint(self.now)

    def provisional(self) -> Tensors:
        """Where time ran out: the current parameters, unless those of a finished epoch are kept as better.

        The checkpoint knows nothing of it, so that stopping changes nothing of what the whole run comes to.
        """
        valid, best = self.validate(), self.now.position.best_perplexity
        if valid.perplexity >= best and self.settings.training.keep == "best":
            return self.now.kept
        return self.noise.for_prediction(self.now.parameters())

    def result(self, stopped: Stopped, exported: Tensors) -> TrainingResult:
        """Measure the exported model over one stream, and write result.json."""
        model, position = self.now.model, self.now.position
        valid, test = self.measuring.exported(model, exported)
        result = TrainingResult(
            folder=self.saved.folder,
            stopped=stopped,
            epochs=position.epoch - 1,
            best_epoch=position.best_epoch,
            seconds=round(self.seconds(), 1),
            parameters=model.parameter_count(),
            valid_perplexity=valid.perplexity,
            valid_nats=valid.nats,
            valid_tokens=valid.tokens,
            test_perplexity=test.perplexity,
            test_nats=test.nats,
            test_tokens=test.tokens,
            weights_sha256=checkpoint.tensors_sha256(exported),
            precision=", ".join(position.precisions),
        )
        result.save()
        self.pace.over()
        return result
