"""The result of a run, and the position of one that is not finished."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, TypeAlias

from wordtie.errors import RunFolderError
from wordtie.runs.layout import RESULT
from wordtie.storage.atomic import write_text
from wordtie.storage.opening import read_regular
from wordtie.storage.strict_json import conform, parse

Stopped: TypeAlias = Literal["finished", "patience", "max_time"]


@dataclass(frozen=True)
class RunResult:
    """The result of a run, whatever kind of model it trained."""

    folder: Path

    def as_json(self) -> dict[str, Any]:
        """Return the result as plain values."""
        return {**asdict(self), "folder": str(self.folder)}

    def save(self) -> None:
        """Write result.json into the run folder. Raises `SaveError`."""
        write_text(self.folder / RESULT, json.dumps(self.as_json(), indent=2) + "\n")


@dataclass(frozen=True)
class TrainingResult(RunResult):
    """The result of a training. Perplexities are the exported model's, over one stream, no token dropped."""

    stopped: Stopped
    epochs: int
    best_epoch: int
    """Number of the best validation: its epoch, where there is one after each."""
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
    epochs_trained: float | None = None
    """Epochs trained, as a fraction: 0.48 if time stopped it in its first epoch. None in results from before 0.2."""
    tokens_seen: int | None = None
    """Target words that the run was trained on; None in results from before 0.2."""
    measuring_seconds: float | None = None
    """The part of `seconds` spent on validation and on measuring the finished model."""
    ngram: dict[str, Any] | None = None
    """Order, n-grams, bytes, seconds and the same figures of the n-gram model of the same text; None without one."""
    mixture: dict[str, Any] | None = None
    """Weights, recent words and the same figures of the mixture of both; None without one."""
    translation: dict[str, Any] | None = None
    """BLEU of a translation model on validation and test text, with signature, interval and beam."""
    earlier: list[dict[str, Any]] | None = None
    """For each run that this one extends: tokens of its test text, and perplexity of network and mixture on it, before
    and now; None if there is none. The tokens are those of that run: a word that it did not know is `<unk>`."""
    change_kept: float | None = None
    """Share of the change of earlier words' vectors that is kept: less than 1 if the model was moved back towards its
    start, to meet `training.max_forgetting`; None if there is no such limit, or if it cannot be met."""
    text: dict[str, Any] | None = None
    """Vocabulary size, tokenisation, `<unk>` and `<eos>` policy, and out-of-vocabulary tokens of the text."""


def read_result(folder: Path) -> TrainingResult | None:
    """Read the result of the run in the folder; None if it has not ended. Raises `RunFolderError` if it is damaged."""
    path = folder / RESULT
    if not path.exists():
        return None
    try:
        return _result(parse(read_regular(path)), folder)
    except (OSError, ValueError) as error:
        raise RunFolderError(
            f"{path}: damaged ({error}): remove it, and the run resumes from its checkpoint"
        ) from error


def _result(values: Any, folder: Path) -> TrainingResult:
    """Build the result from JSON. Raises `ValueError` for a field that is missing, or of another type or range."""
    checked = conform({**conform(values, dict[str, Any]), "folder": folder}, TrainingResult)
    given: dict[str, Any] = dict(checked)  # type: ignore[call-overload]
    found = {each.name: given[each.name] for each in fields(TrainingResult) if each.name in given}
    for name, value in found.items():
        if isinstance(value, int | float) and value < 0:
            raise ValueError(f"{name} must not be negative, got {value}")
    for split in ("valid", "test"):
        nats, tokens, perplexity = (found[f"{split}_{what}"] for what in ("nats", "tokens", "perplexity"))
        if tokens < 1 or not math.isclose(perplexity, math.exp(min(nats / tokens, 700.0))):
            raise ValueError(f"{split}_perplexity is not exp({split}_nats / {split}_tokens)")
    return TrainingResult(**found)


@dataclass
class Position:
    """The position of a run: what a checkpoint records besides its tensors."""

    epoch: int = 1
    """Number of the epoch in training, from 1."""
    window: int = 0
    """Finished windows of this epoch; `nats` and `tokens` are the sums over them."""
    nats: float = 0.0
    tokens: int = 0
    recent_nats: float = 0.0
    """Nats of the windows since the last line of `metrics.jsonl`; `recent_tokens` has their tokens."""
    recent_tokens: int = 0
    seconds: float = 0.0
    """Seconds of training and validation, over all invocations."""
    measuring_seconds: float = 0.0
    """The part of `seconds` spent on validation."""
    best_perplexity: float = math.inf
    """The best validation objective so far; of a language model, its perplexity."""
    best_epoch: int = 0
    """Number of the best validation: its epoch, where there is one after each; 0 if there was none yet."""
    history: list[float] = field(default_factory=list)
    """The objective at each validation: after each epoch, or as the settings say."""
    started_from: str = ""
    """SHA-256 of the weights that the run started from; empty if these were drawn."""
    precisions: list[str] = field(default_factory=list)
    """Precisions of the matrix products, in the order in which the run used them: it may resume on another machine."""
    metrics_length: int = 0
    """Bytes of `metrics.jsonl` that belong to the run so far."""

    def count(self, nats: float, tokens: int) -> None:
        """Count one more window."""
        self.nats += nats
        self.tokens += tokens
        self.recent_nats += nats
        self.recent_tokens += tokens
        self.window += 1

    def add_precision(self, precision: str) -> None:
        """Record the precision of this invocation."""
        if precision not in self.precisions:
            self.precisions.append(precision)

    def next_epoch(self) -> None:
        """Go to the start of the next epoch."""
        self.epoch += 1
        self.window, self.nats, self.tokens = 0, 0.0, 0
