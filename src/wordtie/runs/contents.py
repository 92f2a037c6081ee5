"""What `config.json` and `manifest.json` of a run folder hold, checked field by field.

Both have been read completely by then. A format above `VERSION` is one that this version does not know; a file that a
later program wrote with the same number may have more fields, which are ignored.
"""

from __future__ import annotations

from typing import Any, TypedDict, TypeVar

from wordtie.storage.strict_json import conform, parse

VERSION = 2


class NewerFormatError(ValueError):
    """A file was written in a format that this version does not know."""


class _Versioned(TypedDict):
    version: int


class Manifest(_Versioned):
    """Content of `manifest.json`."""

    sha256: dict[str, str]
    """File name to the digest of its bytes."""


class Kind(_Versioned):
    """The part of `config.json` that decides how the rest is read."""

    kind: str


class _Origin(TypedDict, total=False):
    texts: dict[str, str]
    imported: dict[str, Any]


class Stored(Kind):
    """Content of `config.json` for a model of any kind."""

    wordtie: str
    words: int


class _Storage(TypedDict, total=False):
    storage: str


class Config(Stored, _Origin, _Storage):
    """Content of `config.json` for a model that was trained on a text.

    `texts`: SHA-256 of each split's text, where it is known. `imported`: origin of a model that another program
    trained. `storage`: `int8` if its matrices are stored in 8 bits.
    """

    settings: dict[str, dict[str, Any]]


class RecentConfig(TypedDict):
    """Settings of the recent words in a mixture: their weight, half-life in tokens, and sharpness."""

    weight: float
    half_life: int
    sharpness: float


class _Adapting(TypedDict, total=False):
    recent: RecentConfig | None


class MixtureConfig(Stored, _Adapting):
    """Content of `config.json` for a mixture. `parts`: SHA-256 of each part's manifest; `recent`: its recent words."""

    parts: list[str]


C = TypeVar("C", bound=Stored)


def parse_manifest(data: bytes) -> Manifest:
    """Parse `manifest.json`. Raises `ValueError`, which names the field; `NewerFormatError` for a newer format."""
    values = conform(parse(data), _Versioned)
    _check_version(values, "is newer than this wordtie")
    return conform(values, Manifest)


def parse_kind(data: bytes) -> Kind:
    """Parse the kind in `config.json`. Raises `ValueError`, which names the field; `NewerFormatError` if newer."""
    values = conform(parse(data), _Versioned)
    _check_version(values, f"of wordtie {values.get('wordtie')!s:.20}, newer than this one")
    return conform(values, Kind)


def check_config(values: Kind, kind: type[C]) -> C:
    """Check the whole config, once its kind is one that can be read. Raises `ValueError`, which names the field."""
    return conform(values, kind)


def _check_version(values: _Versioned, newer: str) -> None:
    if values["version"] > VERSION:
        raise NewerFormatError(f"format {values['version']} {newer}")
    if values["version"] < 1:
        raise ValueError(f"version must be from 1 to {VERSION}, got {values['version']}")
