"""Counts beside the token file: taken once, and anew where the file is."""

from pathlib import Path

import numpy as np
import pytest

from wordtie.noise import cached_counts
from wordtie.noise.cached_counts import COUNTS, INFO, training_counts
from wordtie.noise.ngram_counts import NeighbourCounts, neighbour_counts

IDS = np.array([0, 1, 0, 2, 1], np.int32)


def same(a: NeighbourCounts, b: NeighbourCounts) -> bool:
    rows = zip(vars(a).values(), vars(b).values(), strict=True)
    return all(np.array_equal(left, right) for left, right in rows)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    np.save(tmp_path / "train.npy", IDS)
    (tmp_path / INFO).write_text("{}")
    return tmp_path


def open_ids(folder: Path) -> np.memmap:
    return np.lib.format.open_memmap(folder / "train.npy", mode="r")


def test_counted_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = neighbour_counts(IDS, 3)
    assert same(training_counts(open_ids(folder), 3), expected)
    monkeypatch.setattr(cached_counts, "neighbour_counts", None)
    assert same(training_counts(open_ids(folder), 3), expected)


@pytest.mark.parametrize("change", ["prepared anew", "damaged", "empty", "other vocabulary"])
def test_counted_anew(folder: Path, change: str) -> None:
    training_counts(open_ids(folder), 3)
    if change == "prepared anew":
        (folder / INFO).write_text('{"other": 1}')
    elif change in ("damaged", "empty"):
        (folder / COUNTS).write_bytes((folder / COUNTS).read_bytes()[: 100 if change == "damaged" else 0])
    words = 4 if change == "other vocabulary" else 3
    before = (folder / COUNTS).read_bytes()
    assert same(training_counts(open_ids(folder), words), neighbour_counts(IDS, words))
    assert (folder / COUNTS).read_bytes() != before


@pytest.mark.parametrize("of_the_new_text", [False, True])
def test_counts_are_of_the_ids_though_the_text_has_been_read_anew_since(folder: Path, of_the_new_text: bool) -> None:
    ids, other = open_ids(folder), np.array([0, 1, 1, 1, 1], np.int32)
    (folder / "train.npy").unlink()
    np.save(folder / "train.npy", other)
    (folder / INFO).write_text('{"other": 1}')
    if of_the_new_text:
        training_counts(open_ids(folder), 3)
    assert same(training_counts(ids, 3), neighbour_counts(IDS, 3))
    assert same(training_counts(open_ids(folder), 3), neighbour_counts(other, 3))


def test_ids_without_a_folder_are_counted() -> None:
    assert same(training_counts(IDS, 3), neighbour_counts(IDS, 3))


def test_a_folder_that_cannot_be_written_costs_only_time(folder: Path) -> None:
    (folder / COUNTS).mkdir()
    assert same(training_counts(open_ids(folder), 3), neighbour_counts(IDS, 3))


def test_a_part_of_the_ids_is_counted_by_itself(folder: Path) -> None:
    training_counts(open_ids(folder), 3)
    for part in (slice(2), slice(2, None)):
        assert same(training_counts(open_ids(folder)[part], 3), neighbour_counts(IDS[part], 3))
    np.save(folder / "valid.npy", IDS[:2])
    valid = np.lib.format.open_memmap(folder / "valid.npy", mode="r")
    assert same(training_counts(valid, 3), neighbour_counts(IDS[:2], 3))
