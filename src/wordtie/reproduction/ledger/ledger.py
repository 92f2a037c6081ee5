"""The ledger: one JSON a finished run, `results/<row>.seed-N.json`, written by the program and never by hand.

An entry carries the SHA-256 of its own canonical content, so that a number that was edited shows.
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
    """A result is not what the program wrote, or a table is not what the results say."""


def entry_path(results: Path, row: str, seed: int) -> Path:
    """Where the entry of a row lies; the run folder has the same name without `.json`."""
    return results / f"{row}.seed-{seed}.json"


def checksum(sealed: Mapping[str, Any]) -> str:
    """SHA-256 of everything else in it, as JSON with sorted keys and no white space."""
    content = {name: value for name, value in sealed.items() if name != "checksum"}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def write_sealed(path: Path, content: Mapping[str, Any]) -> None:
    """Write JSON that carries the checksum of its content. Raises `SaveError`."""
    write_text(path, _text({**content, "checksum": checksum(content)}))


def read_sealed(path: Path, hint: str) -> dict[str, Any]:
    """What `write_sealed` wrote there, to the letter. Raises `LedgerError`, which gives the `hint`."""
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
    """Seal an entry and write it to its place, with the numbers of what it replaces there.

    Raises `SaveError`, and `LedgerError` for scores that do not fit.
    """
    path = entry_path(results, entry["row"], entry["seed"])
    _check_scores(path, entry)
    write_sealed(path, {"version": VERSION, **_after_another(path, entry)})
    return path


def _after_another(path: Path, entry: Entry) -> Entry:
    """The entry with what it replaces; one that was counted has no weights to replace, a damaged one says nothing."""
    if "weights_sha256" not in entry or not has_scores(entry) or not path.exists():
        return entry
    try:
        before = read_entry(path)
    except LedgerError:
        return entry
    return with_earlier(entry, before, path.read_bytes()) if "weights_sha256" in before else entry


def read_entry(path: Path) -> Entry:
    """An entry that is what the program wrote. Raises `LedgerError` where it is not."""
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
    """The entry; None if there is none, or a damaged one that is to be made `again`. Raises `LedgerError`."""
    try:
        return read_entry(path) if path.exists() else None
    except LedgerError:
        if again:
            return None
        raise


def _conforming(content: dict[str, Any]) -> Entry:
    """The content as an entry; what trained word vectors may lack perplexities. Raises `ValueError`."""
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
    """Every entry under a folder, in the order of rows and seeds. Raises `LedgerError` where one is bad."""
    entries, problems = read_sound(results)
    if problems:
        raise LedgerError(problems[0])
    return entries


def read_sound(results: Path) -> tuple[list[Entry], list[str]]:
    """The entries that are what the program wrote, in the order of rows and seeds; what is wrong with the others.

    Raises `LedgerError` where there is something else than a folder.
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
    """Not what is being written beside its place, in a hidden folder, or was when a process was killed."""
    hidden = any(part.startswith(".") for part in path.parts)
    return not hidden and re.search(r"\.seed-\d+\.json$", path.name) is not None


def ever(entry: Entry, name: str) -> Iterator[Any]:
    """What a run had of a thing (`code_version`, `machine`), each time that it went on, in all its stages."""
    for part in cast(list[dict[str, Any]], [*entry.get(STAGES, ()), entry]):
        yield from part.get(f"{name}s", [part[name]] if name in part else [])


def configuration(settings: RowSettings) -> dict[str, Any]:
    """What decides the numbers of a run, as plain values."""
    if isinstance(settings, VectorSettings):
        found = settings.resolved()
        del found["word2vec"]["workers"]
        return found
    values = resolved(settings)
    for name in RUNTIME_ONLY:
        values["training"].pop(name, None)
    return values


def same_configuration(entry: Entry, settings: RowSettings) -> bool:
    """Whether an entry's run had these settings; one that its version did not know had what is its default now.

    What was counted rather than trained has settings of its text alone.
    """
    try:
        before = configuration(_settings_of(entry, settings))
        now = configuration(settings)
    except SettingsError:
        return False
    return bool(before["data"] == now["data"] if set(entry["configuration"]) == {"data"} else before == now)


def _settings_of(entry: Entry, like: RowSettings) -> RowSettings:
    """Those that an entry was computed with. Raises `SettingsError` where they are not of that kind."""
    values = entry["configuration"]
    if isinstance(like, VectorSettings):
        require("word2vec" in values, "not the settings of word vectors")
        return VectorSettings.from_dict(values)
    return settings_from_dict(values, type(like))


def is_stale(entry: Entry, row: Row) -> bool:
    """Whether the row, or a later stage of it, has been given other settings since."""
    changed = [stage["changed"] for stage in entry.get(STAGES, ())[1:]]
    try:
        same = same_configuration(entry, settings_of(row, entry["seed"]))
    except SettingsError:
        return True
    return not same or changed != [dict(changes) for changes in row.later_stages[: len(changed)]]
