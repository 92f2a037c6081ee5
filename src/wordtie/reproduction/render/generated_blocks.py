"""Documents that are generated in part, between two markers."""

from __future__ import annotations

from pathlib import Path

from wordtie.errors import DataError
from wordtie.storage.atomic import write_text


def parts(document: Path, begin: str, end: str) -> tuple[str, str, str] | None:
    """Return the text before, between and after the markers; None if they, or the document, are missing.

    Raises `DataError` if the document is not UTF-8 text.
    """
    try:
        text = document.read_text(encoding="utf-8") if document.exists() else ""
    except UnicodeDecodeError as error:
        raise DataError(f"{document}: not UTF-8 text: restore it from a copy") from error
    before, begins, rest = text.partition(begin)
    between, ends, after = rest.partition(end)
    return (before, between, after) if begins and ends else None


def replace(document: Path, begin: str, end: str, content: str) -> bool:
    """Replace the lines between the markers; return False if there are no markers."""
    if found := parts(document, begin, end):
        write_text(document, f"{found[0]}{begin}\n{content}{end}{found[2]}")
    return bool(found)
