"""Whether the files of a corpus with a name are the ones that results under that name are compared with.

Each is hashed as it is stored, whenever the corpus is looked for: the largest, 51 MB, in a twentieth of a second where
the processor knows SHA-256, which is little beside reading it.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from wordtie.data.download import CorpusFile
from wordtie.errors import DataError
from wordtie.storage.atomic import file_sha256


class UnusableFileError(DataError):
    """A file of a corpus is there, but is not the known file of that name, or cannot be read."""


def check_files(folder: Path, files: Iterable[CorpusFile]) -> None:
    """Raise `UnusableFileError` for the first file in the folder that does not have the known SHA-256."""
    for file in files:
        path = folder / file.name
        if _sha256(path) != file.sha256:
            raise UnusableFileError(
                f"{path}: is not the file that results are compared with (it has another SHA-256): replace it, or "
                f"give its path, {_as_a_path(folder if path.suffix == '.txt' else path)}, to train on it as a text of "
                "one's own"
            )


def _sha256(path: Path) -> str:
    try:
        return file_sha256(path)
    except OSError as error:
        raise UnusableFileError(f"{path}: cannot be read: {error.strerror or error}") from error


def _as_a_path(path: Path) -> str:
    """Return a path in a form that commands take for one: `ptb` alone would be the corpus of that name."""
    return f"./{path}" if len(path.parts) == 1 and not path.is_absolute() else str(path)
