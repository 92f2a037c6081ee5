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
        """Plain values."""
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
    """As a fraction: 0.48 of a run that time stopped in its first epoch. None in results of before 0.2, as the next."""
    tokens_seen: int | None = None
    """Target words that the run was trained on."""
    measuring_seconds: float | None = None
    """Of `seconds`, those of validation and of measuring the finished model."""
    ngram: dict[str, Any] | None = None
    """Of the n-gram model of the same text: order, n-grams, bytes, seconds, and the same figures; None without one."""
    mixture: dict[str, Any] | None = None
    """Of the mixture of both: its weights, and the same figures."""
    translation: dict[str, Any] | None = None
    """Of a translation model: BLEU of the validation and the test text, with signature and interval."""
    earlier: list[dict[str, Any]] | None = None
    """Of the test text of each run that this one extends: tokens, and the perplexity of network and mixture, before
    and now; None if there is none. The tokens are those of that run: a word that it did not know is `<unk>`."""
    text: dict[str, Any] | None = None
    """How the text was read: vocabulary size, tokenisation, `<unk>` and `<eos>` policy, out-of-vocabulary tokens."""


def read_result(folder: Path) -> TrainingResult | None:
    """The result of the run in the folder; None if it has not ended. Raises `RunFolderError` for a damaged file."""
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
    """Raises `ValueError` for a field that is missing, or of another type or range."""
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
    """Where a run is: what a checkpoint records beside its tensors."""

    epoch: int = 1
    """The one that is being trained, from 1."""
    window: int = 0
    """Windows of it that are done; `nats` and `tokens` are theirs."""
    nats: float = 0.0
    tokens: int = 0
    recent_nats: float = 0.0
    """Of the windows since the last line of `metrics.jsonl`, as the next."""
    recent_tokens: int = 0
    seconds: float = 0.0
    """Of training and validation, over all invocations."""
    measuring_seconds: float = 0.0
    """Of `seconds`, those of validation."""
    best_perplexity: float = math.inf
    """The best validation objective so far; of a language model, its perplexity."""
    best_epoch: int = 0
    """Number of the best validation, an epoch where there is one each; 0: there was none yet."""
    history: list[float] = field(default_factory=list)
    """The objective at each validation: after each epoch, or as the settings say."""
    started_from: str = ""
    """SHA-256 of the weights that it started from; empty where these were drawn."""
    precisions: list[str] = field(default_factory=list)
    """Of the matrix products, in the order in which the run met them: it may go on on another machine."""
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
        """Note the precision of this invocation."""
        if precision not in self.precisions:
            self.precisions.append(precision)

    def next_epoch(self) -> None:
        """Go to the start of the next epoch."""
        self.epoch += 1
        self.window, self.nats, self.tokens = 0, 0.0, 0
