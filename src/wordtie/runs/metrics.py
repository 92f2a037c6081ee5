"""`metrics.jsonl`, written while a model trains, and read by anyone who watches.

It has a line for each validation, and one every few hundred windows in between, without a `valid_perplexity`.
Lines of earlier versions lack some of the figures: `recent_perplexity` and `measuring_seconds` at a validation, and
before that `tokens` and `window`.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, TypedDict

from wordtie.console import tell
from wordtie.errors import RunFolderError
from wordtie.runs.layout import METRICS
from wordtie.storage.atomic import saving
from wordtie.storage.opening import own_file, read_regular
from wordtie.storage.strict_json import conform, parse


class _Line(TypedDict):
    """Fields that every line of `metrics.jsonl` has."""

    epoch: int
    seconds: float


class _Figures(_Line):
    """A line of a validation. `train_perplexity`: training perplexity of the epoch so far."""

    train_perplexity: float
    valid_perplexity: float


class _Between(_Line):
    """A line between validations. `recent_perplexity`: perplexity of the training tokens since the line before."""

    window: int
    tokens: int
    recent_perplexity: float


class _Optional(TypedDict, total=False):
    """Fields that a line may have."""

    window: int
    tokens: int
    lr: float
    recent_perplexity: float
    measuring_seconds: float
    valid_bleu: float


class Metrics:
    """`metrics.jsonl`, and TensorBoard beside it when that is installed."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / METRICS
        self.length = 0
        """Bytes written so far."""
        self.board: Any = None

    def open(self, length: int) -> None:
        """Continue after `length` bytes: what a killed run wrote past its last checkpoint is dropped."""
        with saving(self.path), open(self.path, "ab", opener=own_file) as file:
            self.length = min(length, file.tell())
            file.truncate(self.length)
        self.board = _tensorboard(self.path.parent / "tensorboard")

    def write(self, **values: Any) -> None:
        """Write one line, a JSON object."""
        with saving(self.path), open(self.path, "a", encoding="utf-8", opener=own_file) as file:
            file.write(json.dumps(values) + "\n")
            file.flush()
            os.fsync(file.fileno())
            self.length = file.tell()
        if self.board is not None:
            for name, value in values.items():
                if isinstance(value, float):
                    self.board.add_scalar(name, value, values.get("window", values.get("epoch", 0)))
            self.board.flush()

    def close(self) -> None:
        """Close the files of TensorBoard."""
        if self.board is not None:
            self.board.close()


def _tensorboard(folder: Path) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter

        return SummaryWriter(folder)
    except ImportError:
        return None
    except Exception as error:  # installed, but it or what it loads is broken; the run can do without
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        tell(f"note: nothing is written for TensorBoard, which does not start here: {reason}")
        return None


def finished_epochs(folder: Path) -> list[dict[str, Any]]:
    """Return the lines of validations in `metrics.jsonl`, usually one for each epoch.

    Raises `RunFolderError` as `read_metrics` does.
    """
    return [line for line in read_metrics(folder) if "valid_perplexity" in line]


def read_metrics(folder: Path) -> list[dict[str, Any]]:
    """Read all lines of `metrics.jsonl`, of validations and between; one that is being written is left out.

    Without a file, there are no lines. Raises `RunFolderError` if the file cannot be read, or has a damaged line.
    """
    path = folder / METRICS
    try:
        whole = read_regular(path).rpartition(b"\n")[0]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise RunFolderError(f"{path}: cannot be read ({error.strerror}): restore it from a copy") from error
    lines = []
    for number, line in enumerate(whole.split(b"\n") if whole else (), start=1):
        try:
            lines.append(_figures(line))
        except ValueError as error:
            hint = "take the file from a copy"
            raise RunFolderError(f"{path}, line {number}: damaged, not the figures of an epoch: {hint}") from error
    return lines


def _figures(line: bytes) -> dict[str, Any]:
    values = conform(parse(line), dict[str, Any])
    conform(values, _Between if "recent_perplexity" in values and "valid_perplexity" not in values else _Figures)
    conform(values, _Optional)
    if values["epoch"] < 1 or any(value <= 0 for name, value in values.items() if name.endswith("_perplexity")):
        raise ValueError(values)
    return values
