"""Files of a corpus from their public address into the cache folder."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from wordtie.errors import DataError, SaveError
from wordtie.storage.atomic import as_new_files_are


@dataclass(frozen=True)
class CorpusFile:
    """One file of a corpus."""

    name: str
    sha256: str
    """Of the file as stored, compressed if it is."""
    url: str | None = None
    """None: no public copy of just this file is known."""


def cache_folder() -> Path:
    """Where downloads go: `$XDG_CACHE_HOME/wordtie`, usually `~/.cache/wordtie`. Raises `SaveError`."""
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "wordtie"
    except RuntimeError as error:
        raise SaveError("there is no home folder to keep a cache in: say where with XDG_CACHE_HOME") from error


def download_files(name: str, files: Iterable[CorpusFile]) -> None:
    """Into the cache folder. Raises `DataError` for what does not arrive, or is not what it was."""
    import pooch

    for file in files:
        try:
            found = pooch.retrieve(
                file.url, known_hash=f"sha256:{file.sha256}", fname=file.name, path=cache_folder() / name
            )
            as_new_files_are(Path(found))
        except (OSError, ValueError) as error:
            reason = " ".join(str(error).split())
            raise DataError(
                f"{name}: cannot be downloaded from {file.url} ({reason}): put {file.name} into $WORDTIE_DATA/{name}"
            ) from error
