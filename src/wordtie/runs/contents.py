"""What `config.json` and `manifest.json` of a run folder hold, checked field by field.

Both have been read whole by then. A format above `VERSION` is one that this version does not know; one of a later
program with the same number may have more fields, which are left alone.
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
    """`manifest.json`."""

    sha256: dict[str, str]
    """File name to the digest of its bytes."""


class Kind(_Versioned):
    """Of `config.json`, what decides how the rest is read."""

    kind: str


class _Origin(TypedDict, total=False):
    texts: dict[str, str]
    imported: dict[str, Any]


class Stored(Kind):
    """`config.json` of a model of any kind."""

    wordtie: str
    words: int


class _Storage(TypedDict, total=False):
    storage: str


class Config(Stored, _Origin, _Storage):
    """Of a model that was trained on a text.

    `texts`: SHA-256 of each split's text, where it is known. `imported`: where a model is from that another program
    trained. `storage`: `int8` if its matrices are stored so.
    """

    settings: dict[str, dict[str, Any]]


class RecentConfig(TypedDict):
    """How much recent words count in a mixture, and for how long."""

    weight: float
    half_life: int
    sharpness: float


class _Adapting(TypedDict, total=False):
    recent: RecentConfig | None


class MixtureConfig(Stored, _Adapting):
    """Of a mixture. `parts`: SHA-256 of each part's manifest; `recent`: where it expects recent words again."""

    parts: list[str]


C = TypeVar("C", bound=Stored)


def parse_manifest(data: bytes) -> Manifest:
    """Raises `ValueError`, which names the field; `NewerFormatError` for a newer format."""
    values = conform(parse(data), _Versioned)
    _check_version(values, "is newer than this wordtie")
    return conform(values, Manifest)


def parse_kind(data: bytes) -> Kind:
    """Raises `ValueError`, which names the field; `NewerFormatError` for a newer format."""
    values = conform(parse(data), _Versioned)
    _check_version(values, f"of wordtie {values.get('wordtie')!s:.20}, newer than this one")
    return conform(values, Kind)


def check_config(values: Kind, kind: type[C]) -> C:
    """The whole of it, once the kind is one that can be read. Raises `ValueError`, which names the field."""
    return conform(values, kind)


def _check_version(values: _Versioned, newer: str) -> None:
    if values["version"] > VERSION:
        raise NewerFormatError(f"format {values['version']} {newer}")
    if values["version"] < 1:
        raise ValueError(f"version must be from 1 to {VERSION}, got {values['version']}")
