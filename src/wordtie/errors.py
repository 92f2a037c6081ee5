"""Errors that the user can fix: one line each, naming the file, the line and the fix.

The command line prints the message alone and exits with `exit_code`; `--debug` shows the traceback.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable

NOT_ALLOWED = (
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.EISDIR,
    errno.ENOTDIR,
    errno.EEXIST,
    errno.ENAMETOOLONG,
    errno.ELOOP,
)
"""What the system says of a file that is not to be read or written as it is."""


class WordtieError(Exception):
    """Something the user can fix. The message is one line."""

    exit_code = 2


class UsageError(WordtieError):
    """The command line or a recipe does not say what to do."""


class DataError(WordtieError):
    """A text, a vectors file or a benchmark file cannot be used as it is."""

    exit_code = 3


class RunFolderError(WordtieError):
    """A run folder is incomplete, damaged, from a newer version, or already there."""

    exit_code = 4


class DivergedError(WordtieError):
    """Training produced a loss or weights that are not numbers, or mean nothing; the last good model is kept."""

    exit_code = 5


class SaveError(WordtieError):
    """A file could not be written (a full disk, say), or is there already; what was there before is untouched."""

    exit_code = 6


class SettingsError(WordtieError):
    """A setting, or a combination of settings, that means nothing."""


def require(condition: bool, message: str) -> None:
    """Raise a `SettingsError` with the message unless the condition holds."""
    if not condition:
        raise SettingsError(message)


def did_you_mean(name: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """A hint to end a message with: the nearest of the names that are known; empty where none is near."""
    import difflib  # of use here alone, and slow to load

    near = difflib.get_close_matches(name, list(known), n=1, cutoff=cutoff)
    return f"; did you mean {near[0]}?" if near else ""
