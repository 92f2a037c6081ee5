"""Training: windows of text in, a run folder out.

The loop is truncated back-propagation through time: each window's loss is summed over its T steps and
averaged over its B streams, gradients are clipped by their global norm, the state is carried over. After
each epoch the model is validated; the best one so far is exported as the run folder's model. Everything
that decides what comes next (weights, optimiser, carried state, random numbers, position) is in one
checkpoint file, so that a run that was killed goes on and ends in the same bits.

Shapes: T steps, B streams, N = T * B.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import torch
import yaml
from torch import Tensor

from wordtie.config import MAY_CHANGE_ON_RESUME, Settings, parse_time, to_dict
from wordtie.errors import DivergedError, RunFolderError
from wordtie.evaluation.perplexity import Score, evaluate
from wordtie.losses.build import build_loss
from wordtie.models.language_model import LanguageModel
from wordtie.text.batches import batches, window_count
from wordtie.text.catalogue import cache_folder
from wordtie.text.files import write_text
from wordtie.text.token_file import PreparedData, prepare
from wordtie.training import checkpoint, run_folder
from wordtie.training.optim import OPTIMISERS, clip_global_norm, learning_rate
from wordtie.training.precision import resolve_device, resolve_precision
from wordtie.training.progress import Metrics, Progress, Stages

Stopped: TypeAlias = Literal["finished", "patience", "max_time"]
VALIDATION_STREAMS = 10
"""Streams while choosing between epochs; the figures in the result are over one stream."""


@dataclass(frozen=True)
class TrainingResult:
    """What a run came to. Perplexities are the exported model's, over one stream, no token dropped."""

    folder: Path
    stopped: Stopped
    epochs: int
    best_epoch: int
    seconds: float
    parameters: int
    valid_perplexity: float
    valid_nats: float
    valid_tokens: int
    test_perplexity: float
    test_nats: float
    test_tokens: int
    weights_sha256: str
    precision: str


@dataclass
class Position:
    """Where a run is: what a checkpoint records beside its tensors."""

    epoch: int = 1
    window: int = 0
    nats: float = 0.0
    tokens: int = 0
    seconds: float = 0.0
    best_perplexity: float = math.inf
    best_epoch: int = 0
    metrics_length: int = 0


def prepared_data(settings: Settings) -> PreparedData:
    """The corpus as ids, from the cache where it is there; runs with the same data settings share it."""
    key = hashlib.sha256(json.dumps([to_dict(settings)["data"], str(Path.cwd())]).encode()).hexdigest()[:16]
    name = Path(settings.data.corpus).name.removesuffix(".txt")
    return prepare(settings.data, cache_folder() / "prepared" / f"{name}-{key}", Stages())


def train(settings: Settings, out: Path, resume: bool = False, overwrite: bool = False) -> TrainingResult:
    """Train, or go on training, in the folder `out`.

    Raises `RunFolderError` where a run is there already and neither `resume` nor `overwrite` is given,
    `DataError` for a text that cannot be used, `DivergedError` where the loss stops being a number.
    """
    out = Path(out)
    if run_folder.holds_run(out) and not (resume or overwrite):
        raise RunFolderError(f"{out}: holds a run already: --resume goes on with it, --overwrite replaces it")
    data = prepared_data(settings)
    with run_folder.locked(out):
        if overwrite:
            run_folder.clear(out)
        return _Run(settings, out, data).run()


class _Run:
    """One call of `train`: the model, where it is, and what it writes."""

    def __init__(self, settings: Settings, out: Path, data: PreparedData) -> None:
        self.settings = settings
        self.out = out
        self.data = data
        training = settings.training
        if training.threads is not None:
            torch.set_num_threads(training.threads)
        self.device = resolve_device(training.device)
        self.precision = resolve_precision(training.precision, self.device)
        self.loss = build_loss(settings.loss, training.fused, self.precision)
        torch.manual_seed(training.seed)
        words = len(data.vocabulary)
        self.model = LanguageModel(settings.model, words).to(self.device)
        self.optimiser = OPTIMISERS[training.optimiser](self.model.parameters(), training.lr)
        self.windows = window_count(len(data.train), training.streams, training.steps)
        self.position = Position()
        self.best: dict[str, Tensor] = {}
        self.state = self.model.initial_state(training.streams)
        self.max_seconds = parse_time(training.max_time) if training.max_time else None
        if (out / run_folder.CHECKPOINT).exists():
            self.restore()
        else:
            write_text(out / "settings.yaml", yaml.safe_dump(to_dict(settings), sort_keys=False))
        self.metrics = Metrics(out, self.position.metrics_length)

    def run(self) -> TrainingResult:
        """Epoch after epoch, until the last, the patience or the time is at an end."""
        training = self.settings.training
        self.started = time.monotonic()
        self.seconds_before = self.position.seconds
        with Progress(training.epochs, self.windows, self.max_seconds) as self.progress:
            stopped = self.epochs()
            if stopped == "max_time":
                self.checkpoint()
                self.provisional()
            else:
                self.export(self.best)
            self.progress.say(f"stopped: {stopped}; measuring the model on the validation and the test text")
            return self.result(stopped)

    def epochs(self) -> Stopped:
        """Train until there is a reason to stop."""
        training, position = self.settings.training, self.position
        while position.epoch <= training.epochs:
            stale = position.epoch - 1 - position.best_epoch
            if position.window == 0 and training.patience and position.best_epoch and stale >= training.patience:
                return "patience"
            if not self.epoch():
                return "max_time"
        return "finished"

    def epoch(self) -> bool:
        """The rest of the current epoch, then validation; False where the time ran out before its end."""
        training, position = self.settings.training, self.position
        lr = learning_rate(training, position.epoch)
        for group in self.optimiser.param_groups:
            group["lr"] = lr
        self.model.use(training.fused, self.precision).train()
        windows = batches(
            self.data.train,
            training.streams,
            training.steps,
            eos_id=self.data.vocabulary.eos_id,
            start=position.window,
        )
        for inputs_TB, targets_TB in windows:
            if self.max_seconds is not None and time.monotonic() - self.started >= self.max_seconds:
                return False
            self.window(torch.from_numpy(inputs_TB).to(self.device), torch.from_numpy(targets_TB).to(self.device))
            self.progress.window(position.epoch, position.window, position.nats, position.tokens, targets_TB.size)
            if position.window % training.checkpoint_every == 0 and position.window < self.windows:
                self.checkpoint()
        self.finish_epoch(lr)
        return True

    def window(self, inputs_TB: Tensor, targets_TB: Tensor) -> None:
        """One step: forward, loss, backward, clip, update."""
        training, position = self.settings.training, self.position
        query, state = self.model(inputs_TB, self.state)
        self.state = [(hidden.detach(), cell.detach()) for hidden, cell in state]
        loss = self.loss(
            query, self.model.output_matrix, self.model.head.bias, targets_TB.flatten(), self.model.embedding.weight
        )
        torch.autograd.backward(loss.total / training.streams)
        norm = clip_global_norm(self.model.parameters(), training.clip)
        nats = float(loss.cross_entropy)
        if not math.isfinite(nats) or not math.isfinite(float(norm)):
            self.diverged()
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)
        position.nats += nats
        position.tokens += loss.tokens
        position.window += 1

    def diverged(self) -> None:
        """Stop, and say what was kept and what to try."""
        position, lr = self.position, self.settings.training.lr
        kept = f"the model of epoch {position.best_epoch} is kept" if position.best_epoch else "no epoch was finished"
        raise DivergedError(
            f"{self.out}: the loss is not a number at epoch {position.epoch}, window {position.window + 1}; {kept}. "
            f"Try --training.lr {lr / 2:g}, or a smaller --training.clip, in a new run"
        )

    def finish_epoch(self, lr: float) -> None:
        """Validate, keep the best, write it all down."""
        position = self.position
        valid = self.score(self.data.valid, VALIDATION_STREAMS)
        position.seconds = self.seconds()
        train_perplexity = math.exp(min(position.nats / position.tokens, 700))
        self.metrics.write(
            epoch=position.epoch,
            lr=lr,
            train_perplexity=train_perplexity,
            valid_perplexity=valid.perplexity,
            seconds=round(position.seconds, 3),
        )
        self.progress.say(
            f"epoch {position.epoch}  lr {lr:.4g}  training perplexity {train_perplexity:.2f}  "
            f"validation perplexity {valid.perplexity:.2f}  {position.seconds:.0f} s"
        )
        if valid.perplexity < position.best_perplexity:
            position.best_perplexity, position.best_epoch = valid.perplexity, position.epoch
            self.best = {name: tensor.detach().clone() for name, tensor in self.model.state_dict().items()}
            self.export(self.best)
        position.epoch += 1
        position.window, position.nats, position.tokens = 0, 0.0, 0
        self.state = self.model.initial_state(self.settings.training.streams)
        self.checkpoint()

    def seconds(self) -> float:
        """Of training and validation so far, earlier calls counted in."""
        return self.seconds_before + time.monotonic() - self.started

    def score(self, ids: Any, streams: int = 1) -> Score:
        """Evaluation is always in fp32."""
        self.model.use(self.settings.training.fused)
        return evaluate(self.model, ids, self.data.vocabulary.eos_id, streams)

    def export(self, tensors: dict[str, Tensor]) -> None:
        """Write the run folder's model."""
        config = run_folder.model_config(self.settings, self.model.words)
        run_folder.write_model(self.out, "language_model", config, tensors, self.data.tokenizer)

    def provisional(self) -> None:
        """Where time ran out: export the current model if it is better than the best finished epoch's.

        The checkpoint knows nothing of it, so that stopping changes nothing of what the whole run comes to.
        """
        valid = self.score(self.data.valid, VALIDATION_STREAMS)
        if valid.perplexity < self.position.best_perplexity:
            self.best = self.model.state_dict()
        self.export(self.best)

    def result(self, stopped: Stopped) -> TrainingResult:
        """Measure the exported model over one stream, and write result.json."""
        self.model.load_state_dict(self.best)
        valid, test = self.score(self.data.valid), self.score(self.data.test)
        result = TrainingResult(
            folder=self.out,
            stopped=stopped,
            epochs=self.position.epoch - 1,
            best_epoch=self.position.best_epoch,
            seconds=round(self.seconds(), 1),
            parameters=self.model.parameter_count(),
            valid_perplexity=valid.perplexity,
            valid_nats=valid.nats,
            valid_tokens=valid.tokens,
            test_perplexity=test.perplexity,
            test_nats=test.nats,
            test_tokens=test.tokens,
            weights_sha256=checkpoint.tensors_sha256(self.best),
            precision=str(self.precision).removeprefix("torch."),
        )
        content = {**asdict(result), "folder": str(self.out)}
        write_text(self.out / "result.json", json.dumps(content, indent=2) + "\n")
        return result

    def identity(self) -> dict[str, Any]:
        """What must not change between the parts of a run."""
        settings = to_dict(self.settings)
        for name in MAY_CHANGE_ON_RESUME:
            del settings["training"][name]
        texts = {split: values["sha256"] for split, values in self.data.info["splits"].items()}
        return {"settings": settings, "texts": texts}

    def checkpoint(self) -> None:
        """Save everything that decides what comes next."""
        self.position.seconds = self.seconds()
        self.position.metrics_length = self.metrics.length
        tensors = {f"model.{name}": tensor for name, tensor in self.model.state_dict().items()}
        tensors |= {f"best.{name}": tensor for name, tensor in self.best.items()}
        tensors |= {f"state.{n}.{part}": pair[part] for n, pair in enumerate(self.state) for part in (0, 1)}
        tensors["rng.cpu"] = torch.get_rng_state()
        if self.device.type == "cuda":
            tensors["rng.cuda"] = torch.cuda.get_rng_state(self.device)
        for n, slots in self.optimiser.state_dict()["state"].items():
            tensors |= {f"optimiser.{n}.{name}": torch.as_tensor(value) for name, value in slots.items()}
        record = {"position": asdict(self.position), "identity": self.identity()}
        checkpoint.save(self.out / run_folder.CHECKPOINT, tensors, record)

    def restore(self) -> None:
        """Take everything back. Raises `RunFolderError` where the settings or the text are not the run's."""
        path = self.out / run_folder.CHECKPOINT
        tensors, record = checkpoint.load(path)
        if difference := _difference(record["identity"], self.identity()):
            raise RunFolderError(f"{path}: this run has other {difference}; keep them, or choose another --out")
        self.position = Position(**record["position"])
        parts: dict[str, dict[str, Tensor]] = {}
        for name, tensor in tensors.items():
            part, _, rest = name.partition(".")
            parts.setdefault(part, {})[rest] = tensor
        self.model.load_state_dict(parts["model"])
        self.best = {name: tensor.to(self.device) for name, tensor in parts.get("best", {}).items()}
        state = parts["state"]
        self.state = [
            (state[f"{n}.0"].to(self.device), state[f"{n}.1"].to(self.device)) for n in range(len(state) // 2)
        ]
        slots: dict[int, dict[str, Tensor]] = {}
        for name, tensor in parts.get("optimiser", {}).items():
            number, _, slot = name.partition(".")
            slots.setdefault(int(number), {})[slot] = tensor
        self.optimiser.load_state_dict({**self.optimiser.state_dict(), "state": slots})
        torch.set_rng_state(parts["rng"]["cpu"])
        if "cuda" in parts["rng"] and self.device.type == "cuda":
            torch.cuda.set_rng_state(parts["rng"]["cuda"], self.device)


def _difference(before: dict[str, Any], now: dict[str, Any], prefix: str = "") -> str:
    """The first setting or text that differs, as `training.lr (1.0, now 0.5)`."""
    for name in now:
        old, new = before.get(name), now[name]
        if isinstance(new, dict) and isinstance(old, dict):
            if found := _difference(old, new, f"{prefix}{name}."):
                return found
        elif old != new:
            return f"{prefix}{name} ({old}, now {new})"
    return ""
