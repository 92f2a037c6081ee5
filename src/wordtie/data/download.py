"""Download the files of a corpus from their public addresses into the cache folder."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from wordtie.config.paths import cache_folder
from wordtie.errors import DataError
from wordtie.storage.atomic import apply_umask


@dataclass(frozen=True)
class CorpusFile:
    """One file of a corpus."""

    name: str
    sha256: str
    """SHA-256 of the file as stored, compressed if it is."""
    url: str | None = None
    """Public address; None if no public copy of just this file is known."""


def download_files(name: str, files: Iterable[CorpusFile]) -> None:
    """Download files into the cache folder. Raises `DataError` if a download fails or has another SHA-256."""
    import pooch

    for file in files:
        try:
            found = pooch.retrieve(
                file.url, known_hash=f"sha256:{file.sha256}", fname=file.name, path=cache_folder() / name
            )
            apply_umask(Path(found))
        except (OSError, ValueError) as error:
            reason = " ".join(str(error).split())
            raise DataError(
                f"{name}: cannot be downloaded from {file.url} ({reason}): put {file.name} into $WORDTIE_DATA/{name}"
            ) from error
