"""What a person sees while a model trains.

On a terminal: one live line. Elsewhere (a log, a pipe): a line each half minute, and one for each validation. All of it
on stderr.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any

from wordtie.console import SECONDS_BETWEEN_LINES, clock, is_silent, tell, waiting


class Progress:
    """A live line: epoch, perplexity so far, loss, words a second, time left."""

    def __init__(self, epochs: float, windows: int, max_seconds: float = math.inf) -> None:
        self.epochs = epochs
        self.windows = windows
        self.max_seconds = max_seconds
        self.started = time.monotonic()
        self.shown = -math.inf
        self.first: float | None = None
        """Time at which the first window was done; None before."""
        self.words = 0
        """Words read since then."""
        self.live: Any = None

    def __enter__(self) -> Progress:
        if sys.stderr.isatty() and not is_silent():
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn
            from rich.progress import Progress as Bar

            columns = TextColumn("{task.description}{task.fields[figures]}"), BarColumn()
            self.live = Bar(*columns, console=Console(stderr=True), transient=True)
            self.live.__enter__()
            self.task = self.live.add_task("", total=self.windows, figures="starting")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.live is not None:
            with suppress(OSError):
                self.live.__exit__(kind, error, trace)

    def window(self, epoch: int, done: int, nats: float, tokens: int, words: int) -> None:
        """Show where training is: `nats` over `tokens` in this epoch so far; `words` more were just read."""
        now = time.monotonic()
        if self.first is None:  # the rate leaves out start-up, which this window is part of
            self.first = now
            self.shown = now if self.live is None else self.shown
            return
        self.words += words
        pause = SECONDS_BETWEEN_LINES if self.live is None else 0.2
        if now - self.shown < pause or tokens == 0:
            return
        self.shown = now
        rate = self.words / (now - self.first)
        left = (self.epochs - epoch + 1 - done / self.windows) * self.windows * words / rate
        left = min(left, self.max_seconds - (now - self.started))
        loss = nats / tokens
        perplexity = math.exp(min(loss, 50))
        epochs = f"epoch {epoch}/{math.ceil(self.epochs)}  "
        # a narrow terminal cuts it off at the right
        figures = f"{clock(left)} left  perplexity {perplexity:.1f}  loss {loss:.3f}  {rate:,.0f} words/s"
        if self.live is None:
            tell(f"{epochs}{100 * done / self.windows:.0f} %  {figures}")
        else:
            self.live.update(self.task, completed=done, description=epochs, figures=figures)

    @contextmanager
    def measuring(self, what: str) -> Iterator[None]:
        """Show that the model is being measured on the `what` text, in place of figures that do not change now."""
        if self.live is not None:
            self.live.update(self.task, figures=f"measuring the {what} text")
            yield
        else:
            with waiting(f"measuring the {what} text", SECONDS_BETWEEN_LINES):
                yield

    def say(self, line: str) -> None:
        """Print a line that stays on the screen."""
        if self.live is None:
            tell(line)
            return
        with suppress(OSError):
            self.live.console.print(line, highlight=False, markup=False)
