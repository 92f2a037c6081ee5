"""The ledger: one JSON file per finished run, `results/<row>.seed-N.json`, written by the program, never by hand.

An entry carries the SHA-256 of its own canonical content, so that an edited number is detected.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypedDict, cast

from wordtie.config import RUNTIME_ONLY, resolved, settings_from_dict
from wordtie.errors import DataError, SettingsError, require
from wordtie.reproduction.ledger.earlier import with_earlier
from wordtie.reproduction.ledger.record import STAGES, About, Entry, VectorEntry, has_scores, score_of
from wordtie.reproduction.papers.row import Row, RowSettings, VectorSettings, settings_of
from wordtie.storage.atomic import write_text
from wordtie.storage.strict_json import conform, parse

VERSION = 1
HINT = "restore it from a copy, or run the row with --again"


class _Sealed(TypedDict):
    checksum: str


class _Versioned(TypedDict):
    version: int


class LedgerError(DataError):
    """A result is not as the program wrote it, or a table does not match the results."""


def entry_path(results: Path, row: str, seed: int) -> Path:
    """Return the path of a row's entry; the run folder has the same name without `.json`."""
    return results / f"{row}.seed-{seed}.json"


def checksum(sealed: Mapping[str, Any]) -> str:
    """Return the SHA-256 of all fields but `checksum`, as JSON with sorted keys and no white space."""
    content = {name: value for name, value in sealed.items() if name != "checksum"}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def write_sealed(path: Path, content: Mapping[str, Any]) -> None:
    """Write JSON that carries the checksum of its content. Raises `SaveError`."""
    write_text(path, _text({**content, "checksum": checksum(content)}))


def read_sealed(path: Path, hint: str) -> dict[str, Any]:
    """Read what `write_sealed` wrote. Raises `LedgerError`, with the `hint`, for any other content."""
    try:
        text = path.read_text(encoding="utf-8")
        content: dict[str, Any] = conform(parse(text), dict[str, Any])
        given, made = conform(content, _Sealed)["checksum"], checksum(content)
    except (OSError, ValueError) as error:  # text that is not Unicode, too
        raise LedgerError(f"{path}: not a result of `wordtie reproduce`, or damaged ({error}): {hint}") from error
    if given != made:
        raise LedgerError(f"{path}: was changed by hand, its checksum does not fit: {hint}")
    if text != _text(content):  # white space, which the checksum does not see
        raise LedgerError(f"{path}: was changed by hand, it is not as the program writes it: {hint}")
    return content


def _text(content: Mapping[str, Any]) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def write_entry(results: Path, entry: Entry) -> Path:
    """Seal an entry and write it to its place, with the numbers of the entry that it replaces.

    Raises `SaveError`, and `LedgerError` for inconsistent scores.
    """
    path = entry_path(results, entry["row"], entry["seed"])
    _check_scores(path, entry)
    write_sealed(path, {"version": VERSION, **_after_another(path, entry)})
    return path


def _after_another(path: Path, entry: Entry) -> Entry:
    """Return the entry with the numbers it replaces; nothing is added without scores, or if the old one is damaged."""
    if "weights_sha256" not in entry or not has_scores(entry) or not path.exists():
        return entry
    try:
        before = read_entry(path)
    except LedgerError:
        return entry
    return with_earlier(entry, before, path.read_bytes()) if "weights_sha256" in before else entry


def read_entry(path: Path) -> Entry:
    """Read an entry. Raises `LedgerError` if it is not as the program wrote it."""
    content = read_sealed(path, HINT)
    try:
        version, entry = conform(content, _Versioned)["version"], _conforming(content)
    except ValueError as error:
        raise LedgerError(f"{path}: not a result of `wordtie reproduce`, or damaged ({error}): {HINT}") from error
    row, seed = entry["row"], entry["seed"]
    if version > VERSION:
        raise LedgerError(f"{path}: written by a newer wordtie: update wordtie")
    if not f"/{path.as_posix()}".endswith(f"/{row}.seed-{seed}.json"):
        raise LedgerError(f"{path}: is the result of {row}, seed {seed}: put it back where it belongs")
    _check_scores(path, entry)
    return entry


def read_unless_again(path: Path, again: bool) -> Entry | None:
    """Read the entry; None if there is none. A damaged one gives None if `again`, otherwise raises `LedgerError`."""
    try:
        return read_entry(path) if path.exists() else None
    except LedgerError:
        if again:
            return None
        raise


def _conforming(content: dict[str, Any]) -> Entry:
    """Return the content as an entry; one of word vectors may lack perplexities. Raises `ValueError`."""
    if "word2vec" in conform(content, About)["configuration"]:
        return cast(Entry, conform(content, VectorEntry))
    return conform(content, Entry)


def _check_scores(path: Path, entry: Entry) -> None:
    if not has_scores(entry):
        return
    nats_and_tokens = {
        "valid": (entry["valid_nats"], entry["valid_tokens"]),
        "test": (entry["test_nats"], entry["test_tokens"]),
    }
    for split, (nats, tokens) in nats_and_tokens.items():
        expected = math.exp(min(nats / tokens, 700)) if tokens > 0 else math.nan
        if not math.isclose(score_of(entry, split), expected, rel_tol=1e-9):
            raise LedgerError(f"{path}: the {split} perplexity is not exp(nats / tokens)")


def read_all(results: Path) -> list[Entry]:
    """Read every entry in a folder, sorted by row and seed. Raises `LedgerError` if one is invalid."""
    entries, problems = read_sound(results)
    if problems:
        raise LedgerError(problems[0])
    return entries


def read_sound(results: Path) -> tuple[list[Entry], list[str]]:
    """Return the entries that are as the program wrote them, sorted by row and seed, and the problems of the others.

    Raises `LedgerError` if the path exists and is not a folder.
    """
    if results.exists() and not results.is_dir():
        raise LedgerError(f"{results}: is not a folder of results")
    entries, problems = [], []
    for path in sorted(results.rglob("*.json")):
        try:
            if _is_entry(path.relative_to(results)):
                entry = read_entry(path)
                if path != entry_path(results, entry["row"], entry["seed"]):
                    raise LedgerError(f"{path}: a copy of {entry['row']}, seed {entry['seed']}: remove it")
                entries.append(entry)
        except LedgerError as error:
            problems.append(str(error))
    return sorted(entries, key=lambda entry: (entry["row"], entry["seed"])), problems


def _is_entry(path: Path) -> bool:
    """Whether the path is an entry's, not that of a hidden temporary file, which a killed process may leave behind."""
    hidden = any(part.startswith(".") for part in path.parts)
    return not hidden and re.search(r"\.seed-\d+\.json$", path.name) is not None


def ever(entry: Entry, name: str) -> Iterator[Any]:
    """Yield the values of a field (`code_version`, `machine`) over a run's invocations, in all its stages."""
    for part in cast(list[dict[str, Any]], [*entry.get(STAGES, ()), entry]):
        yield from part.get(f"{name}s", [part[name]] if name in part else [])


def configuration(settings: RowSettings) -> dict[str, Any]:
    """Return the settings that determine the numbers of a run, as plain values."""
    if isinstance(settings, VectorSettings):
        found = settings.resolved()
        del found["word2vec"]["workers"]
        return found
    values = resolved(settings)
    for name in RUNTIME_ONLY:
        values["training"].pop(name, None)
    return values


def same_configuration(entry: Entry, settings: RowSettings) -> bool:
    """Whether an entry's run had these settings; a setting that its version did not know has today's default.

    For an n-gram model, only the settings of its text are compared.
    """
    try:
        before = configuration(_settings_of(entry, settings))
        now = configuration(settings)
    except SettingsError:
        return False
    return bool(before["data"] == now["data"] if set(entry["configuration"]) == {"data"} else before == now)


def _settings_of(entry: Entry, like: RowSettings) -> RowSettings:
    """Return the settings of an entry. Raises `SettingsError` if they are not of the type of `like`."""
    values = entry["configuration"]
    if isinstance(like, VectorSettings):
        require("word2vec" in values, "not the settings of word vectors")
        return VectorSettings.from_dict(values)
    return settings_from_dict(values, type(like))


def is_stale(entry: Entry, row: Row) -> bool:
    """Whether the settings of the row, or of a later stage, have changed since the entry was written."""
    changed = [stage["changed"] for stage in entry.get(STAGES, ())[1:]]
    try:
        same = same_configuration(entry, settings_of(row, entry["seed"]))
    except SettingsError:
        return True
    return not same or changed != [dict(changes) for changes in row.later_stages[: len(changed)]]
