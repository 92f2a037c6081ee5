"""An entry keeps the numbers of the results that it replaced, and those of this repository's ledger are git's."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import Any, cast

import pytest

from tests.reproduction.ledger.test_ledger import REPOSITORY, made_up, stage
from wordtie.reproduction.ledger.earlier import git_blob, numbers
from wordtie.reproduction.ledger.ledger import read_all, read_entry, write_entry
from wordtie.reproduction.ledger.record import EARLIER, Entry
from wordtie.reproduction.ledger.status import states
from wordtie.reproduction.papers.row import Row
from wordtie.reproduction.render.tables import markdown
from wordtie.reproduction.running.run_row import Place

TEXT = {"corpus": "a text", "train": "a", "valid": "b", "test": "c"}


def trained(row: Row, weights: str, valid: float, test: float, **more: Any) -> Entry:
    return cast(Entry, {**made_up(row, valid=valid, test=test), "weights_sha256": weights, "data": TEXT, **more})


def test_what_a_result_replaces_is_kept_in_it_and_shown_beside_it(row: Row, place: Place) -> None:
    first = write_entry(place.results, trained(row, "one", 25.0, 24.0)).read_bytes()
    stages = [stage(row, epochs=2, seconds=1.0, changed={}), stage(row, epochs=5, seconds=1.0, changed={})]
    write_entry(place.results, trained(row, "two", 22.0, 21.0, sessions=stages))
    path = write_entry(place.results, trained(row, "three", 20.5, 20.25))
    earlier = read_entry(path)[EARLIER]
    assert [
        [each["valid_perplexity"], each["test_perplexity"], each["weights_sha256"], each["epochs"]] for each in earlier
    ] == [
        [25.0, 24.0, "one", [3]],
        [22.0, 21.0, "two", [2, 5]],
    ]
    assert earlier[0]["blob"] == git_blob(first)
    assert "| reached; before: 25.00 / 24.00, 22.00 / 21.00 |" in markdown(states(read_all(place.results), None, [row]))


def test_the_same_weights_measured_again_replace_nothing(row: Row, place: Place) -> None:
    write_entry(place.results, trained(row, "one", 25.0, 24.0))
    write_entry(place.results, trained(row, "two", 20.5, 20.25))
    path = write_entry(place.results, trained(row, "two", 20.5, 20.25, label="another"))
    assert [each["weights_sha256"] for each in read_entry(path)[EARLIER]] == ["one"]


def test_a_result_of_another_text_is_no_earlier_one(row: Row, place: Place) -> None:
    write_entry(place.results, trained(row, "one", 25.0, 24.0))
    path = write_entry(place.results, trained(row, "two", 20.5, 20.25, data={**TEXT, "train": "another"}))
    assert EARLIER not in read_entry(path)


def test_a_damaged_result_leaves_nothing_and_is_replaced(row: Row, place: Place) -> None:
    write_entry(place.results, trained(row, "one", 25.0, 24.0)).write_text("{")
    assert EARLIER not in read_entry(write_entry(place.results, trained(row, "two", 20.5, 20.25)))


def git(*arguments: str, given: bytes = b"") -> bytes:
    return subprocess.run(["git", *arguments], cwd=REPOSITORY, input=given, capture_output=True, check=True).stdout


@pytest.fixture(scope="module")
def history() -> dict[str, bytes]:
    """Every file of results that was ever committed, by its blob, oldest first."""
    if not shutil.which("git") or not (REPOSITORY / ".git").exists():
        pytest.skip("not a git repository")
    if git("rev-parse", "--is-shallow-repository").strip() == b"true":
        pytest.skip("the history is shallow")
    log = git("log", "--reverse", "--raw", "--no-abbrev", "--no-renames", "--format=", "--", "results").decode()
    changes = [line.split("\t") for line in log.splitlines() if line.endswith(".json") and ".seed-" in line]
    blobs = list(dict.fromkeys(blob for change, _ in changes if (blob := change.split()[3]).strip("0")))
    packed, contents = git("cat-file", "--batch", given="\n".join(blobs).encode()), {}
    for blob in blobs:
        header, _, rest = packed.partition(b"\n")
        size = int(header.split()[2])
        contents[blob], packed = rest[:size], rest[size + 1 :]
    return contents


def test_earlier_numbers_of_this_ledger_are_those_of_the_named_blobs(history: dict[str, bytes]) -> None:
    kept = [each for entry in read_all(REPOSITORY / "results") for each in entry.get(EARLIER, [])]
    assert len(kept) > 10
    for each in kept:
        content = history[each["blob"]]
        assert each == numbers(json.loads(content), content)


def test_this_ledger_names_every_result_that_it_replaced(history: dict[str, bytes]) -> None:
    ledger = read_all(REPOSITORY / "results")
    now = {entry["weights_sha256"] for entry in ledger if "weights_sha256" in entry}
    of_row = {(entry["row"], entry["seed"]): entry for entry in ledger}
    for content in history.values():
        before = json.loads(content)
        entry = of_row.get((before["row"], before["seed"]), cast(Entry, {}))
        weights = before.get("weights_sha256")
        if weights is None or weights in now or before["data"] != entry.get("data"):
            continue
        assert weights in [each["weights_sha256"] for each in entry.get(EARLIER, [])], before["row"]
