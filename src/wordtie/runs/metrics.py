"""`metrics.jsonl`: a line for each finished epoch, written while a model trains, and read by whoever looks on."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, TypedDict

from wordtie.console import tell
from wordtie.errors import RunFolderError
from wordtie.runs.layout import METRICS
from wordtie.storage.atomic import saving
from wordtie.storage.strict_json import conform, parse


class _Figures(TypedDict):
    """What a line of `metrics.jsonl` has, at least."""

    epoch: int
    train_perplexity: float
    valid_perplexity: float
    seconds: float


class Metrics:
    """`metrics.jsonl`, and TensorBoard beside it when that is installed."""

    def __init__(self, folder: Path, length: int) -> None:
        """Go on after `length` bytes: what a killed run wrote past its last checkpoint is dropped."""
        self.path = folder / METRICS
        with saving(self.path):
            self.path.touch()
            with self.path.open("r+b") as file:
                file.truncate(min(length, self.length))
        self.board = _tensorboard(folder / "tensorboard")

    @property
    def length(self) -> int:
        """Bytes written so far."""
        return self.path.stat().st_size

    def write(self, **values: Any) -> None:
        """One JSON object on a line."""
        with saving(self.path), self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(values) + "\n")
            file.flush()
            os.fsync(file.fileno())
        if self.board is not None:
            for name, value in values.items():
                if isinstance(value, float):
                    self.board.add_scalar(name, value, values.get("epoch", 0))
            self.board.flush()

    def close(self) -> None:
        """No more is to come."""
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
    """The lines of `metrics.jsonl`; one that is being written is left out.

    Raises `RunFolderError` where another is damaged.
    """
    path = folder / METRICS
    try:
        whole = path.read_bytes().rpartition(b"\n")[0]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise RunFolderError(f"{path}: cannot be read ({error.strerror}): take it from a copy") from error
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
    conform(values, _Figures)
    if values["epoch"] < 1:
        raise ValueError(values)
    return values
