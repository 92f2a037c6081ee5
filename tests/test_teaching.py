"""The exercises of the course: what they compare, their tables, and the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks import teaching
from benchmarks.teaching import EXERCISES, LABELS, NETWORKS, Exercise, Row
from tests.tiny_run import write_text
from wordtie.config import Settings
from wordtie.config.keywords import settings_from
from wordtie.reproduction.render import generated_blocks

TINY = {"training.epochs": 1, "model.hidden": 4, "model.embedding": 4, "training.streams": 4, "training.threads": 1}


def row(method: str, seed: int, valid: float, test: float = 5.0, parameters: int | None = 1234) -> Row:
    values: dict[str, Any] = {"method": method, "seed": seed, "valid_perplexity": valid, "test_perplexity": test}
    return {**values, "parameters": parameters, "seconds": 7.0}


def test_every_method_is_used_and_is_a_valid_setting() -> None:
    used = {method for exercise in EXERCISES.values() for method in exercise.methods}
    assert used == set(LABELS)
    for _, changes in NETWORKS.values():
        assert isinstance(settings_from("text", **{**teaching.COMMON, **changes}), Settings)


def test_seeds_are_compared_in_pairs() -> None:
    rows = [row("untied", 1, 100.0), row("untied", 2, 200.0), row("tied", 1, 90.0), row("tied", 2, 210.0)]
    header, first, second = teaching.table(Exercise("", ("untied", "tied")), rows)
    assert header == ["method", "parameters", "valid, seed 1", "valid, seed 2", "mean", "to the first", "test", "s"]
    assert first[1:] == ["1,234", "100.0", "200.0", "150.0", "", "5.0", "7"]
    assert second[1:] == ["1,234", "90.0", "210.0", "150.0", "-2.5 % (1 of 2 lower)", "5.0", "7"]


def test_counting_has_no_seed() -> None:
    rows = [row("5-gram", 0, 100.0), row("1-gram", 0, 150.0), row("tied", 1, 90.0), row("tied", 2, 80.0)]
    lines = teaching.table(Exercise("", ("5-gram", "1-gram", "tied")), rows)
    assert lines[2][2:6] == ["150.0", "150.0", "150.0", "+50.0 % (0 of 2 lower)"]
    assert lines[3][2:6] == ["90.0", "80.0", "85.0", "-15.0 % (2 of 2 lower)"]


def test_what_is_saved_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(teaching, "RESULTS", tmp_path / "teaching.tsv")
    teaching.save([row("tied", 1, 3.0), row("mixture", 1, 2.0, parameters=None)])
    teaching.save([row("tied", 1, 4.0), row("tied", 2, 5.0)])
    assert teaching.saved() == [row("tied", 1, 4.0), row("tied", 2, 5.0), row("mixture", 1, 2.0, parameters=None)]


def test_an_exercise_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(teaching, "TEXT", {**teaching.TEXT, "vocabulary_size": 50})
    monkeypatch.setattr(teaching, "COMMON", {**teaching.COMMON, "data.vocabulary_size": 50, **TINY})
    write_text(tmp_path / "text")
    rows = list(teaching.trained(["ngrams"], tmp_path, [1], {}))
    assert [(each["method"], each["seed"]) for each in rows] == [
        ("5-gram", 0), ("1-gram", 0), ("2-gram", 0), ("3-gram", 0), ("tied", 1), ("mixture", 1),
    ]  # fmt: skip
    perplexity = {each["method"]: each["valid_perplexity"] for each in rows}
    best = min(perplexity["tied"], perplexity["5-gram"])
    assert perplexity["mixture"] <= best * (1 + 1e-6), "but for rounding: the network may get all of the weight"
    changed = (tmp_path / "tied.seed-1" / "manifest.json").stat().st_mtime_ns
    assert list(teaching.trained(["ngrams"], tmp_path, [1], {})) == rows
    assert (tmp_path / "tied.seed-1" / "manifest.json").stat().st_mtime_ns == changed, "it was not trained again"


def test_the_text(tmp_path: Path) -> None:
    folder = teaching.write_addresses(tmp_path / "text")
    lines = {split: (folder / f"{split}.txt").read_text().splitlines() for split in ("train", "valid", "test")}
    words = {split: sum(len(line.split()) for line in text) for split, text in lines.items()}
    assert words["train"] > 50_000
    assert all(number > 4_000 for number in words.values())
    longest = max(lines["test"], key=len)
    assert longest not in lines["train"] + lines["valid"]


def test_the_page_has_the_tables_of_the_results() -> None:
    assert {(each["method"], each["seed"]) for each in teaching.saved()} == {
        *((method, 0) for method in teaching.NGRAMS),
        *((method, seed) for method in (*NETWORKS, teaching.MIXED) for seed in teaching.SEEDS),
    }, "every method has all seeds"
    for name, content in teaching.blocks().items():
        found = generated_blocks.parts(teaching.PAGE, *teaching.markers(name))
        assert found is not None, name
        assert found[1] == f"\n{content}", "python -m benchmarks.teaching --write-docs"
