"""The tables of what each idea does to the recipe in two minutes and in ten."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.reproduction.ledger.test_ledger import made_up
from wordtie.config import Settings, TrainingSettings
from wordtie.config.recommended import RECOMMENDED
from wordtie.reproduction.ledger.ledger import write_entry
from wordtie.reproduction.ledger.record import Entry
from wordtie.reproduction.papers.minutes import GROUPS, REFERENCE, TEN_MINUTES, TWO_MINUTES, Group
from wordtie.reproduction.papers.registry import ROWS, of_group
from wordtie.reproduction.render import document
from wordtie.reproduction.running.run_row import Place
from wordtie.training.recipe import Lengths, choose
from wordtie.training.timings import Timings


def entry(text: str, name: str, seed: int, valid: float) -> Entry:
    """Of a row, with this perplexity."""
    return made_up(ROWS[f"{TWO_MINUTES.name}/{text}/{name}"], seed, valid)


@pytest.fixture
def page(place: Place) -> Path:
    """An empty page."""
    page = Path("methods.md")
    page.write_text("\n".join(document.markers("two-minutes")))
    return page


def test_a_change_is_compared_over_the_seeds_that_both_have(page: Path, place: Place) -> None:
    for seed, recipe, change in ((1, 100.0, 110.0), (2, 102.0, 92.0)):
        write_entry(place.results, entry("ptb", "recipe", seed, recipe))
        write_entry(place.results, entry("ptb", "untied", seed, change))
    write_entry(place.results, entry("ptb", "gru", 1, 101.0))
    write_entry(place.results, entry("sotu", "gru", 1, 61.0))
    document.update(page, place.results)
    split = [line.split("|") for line in page.read_text().splitlines()]
    lines = {cells[1].strip(): cells for cells in split if cells[1:]}
    assert lines["recipe"][4].strip() == "101.00 ± 1.41"
    assert lines["untied"][4].strip() == "101.00 ± 12.73, +0.0 %"
    assert lines["gru"][4].strip() == "101.00, +1.0 %"
    assert lines["gru"][5].strip() == "61.00", "nothing to compare with"
    assert lines["tied"][4].strip() == "–"
    fields = [line.split("\t") for line in (place.results / f"{TWO_MINUTES.name}.tsv").read_text().splitlines()]
    found = {(cells[0], cells[1]): cells for cells in fields}
    assert found["ptb", "untied"][2:6] == ["2", "101", "12.7279", "0"]
    assert found["sotu", "gru"][5] == ""
    assert document.check([page], place.results) == []


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize(
    ("text", "words", "vocabulary"),
    [("ptb", 929_589, 10_000), ("sotu", 2_078_870, 10_000), ("wikitext-2", 2_088_628, 33_278)],
)
def test_the_reference_is_what_a_plan_chooses_for_as_many_tokens(
    group: Group, text: str, words: int, vocabulary: int
) -> None:
    reference = ROWS[f"{group.name}/{text}/{REFERENCE}"].settings()
    timings = Timings(window=0.05, validation=0.0, measuring=0.0)
    start = replace(Settings(), training=replace(TrainingSettings(), tokens=group.tokens))
    planned = choose(start, ["training.tokens"], Lengths(words, 1, 1, vocabulary), 1.0, 0.1, timings)
    same = {
        "model": ("hidden", "embedding", "layers", "head", "input_dropout", "hidden_dropout"),
        "training": ("tokens", "lr", "word_rate", "streams", "steps", "schedule", "warmup"),
        "noise": ("kind", "scheme", "gamma"),
    }
    for section, names in same.items():
        for name in names:
            found, expected = (getattr(getattr(each, section), name) for each in (planned, reference))
            assert found == expected, name


@pytest.mark.parametrize(("group", "seconds"), [(TWO_MINUTES, 117.0), (TEN_MINUTES, 586.0)])
def test_a_group_reads_about_as_many_tokens_as_two_cores_with_avx2(group: Group, seconds: float) -> None:
    """At 17,500 words/s, without measuring."""
    streams = group.rows[f"{group.name}/ptb/{REFERENCE}"].settings().training.streams
    timings = Timings(window=streams * 32 / 17_500, validation=0.0, measuring=0.0, tokens=streams * 32)
    planned = choose(Settings(), [], Lengths(929_589, 1, 1, 10_000), seconds, 12.0, timings)
    assert planned.training.tokens == pytest.approx(group.tokens, rel=0.01)


@pytest.mark.parametrize("group", GROUPS)
def test_every_row_changes_the_recipe_in_its_own_way(group: Group) -> None:
    rows = of_group(group)
    found = [row.settings() for row in rows]
    assert len({str(each) for each in found}) == len(found) == len(group.texts) * len(group.variants)
    for row, settings in zip(rows, found, strict=True):
        assert settings.training.tokens == group.tokens
        if row.short_name.endswith("recipe"):
            assert settings.training.lr == RECOMMENDED["training.lr"]
