"""Every perplexity and loss that a page quotes is that of the source that `quoted_numbers.tsv` names for it.

The file has a line for each quoted number, in the order of the page. A source is a result of the ledger (`ROW.seed-N`),
a trial (`search/FILE:TRIAL`), a measurement (`bench/FILE:ROW`) or what a paper
prints (`published:ROW`). A field is a path in it, lists counted from 1,
or a trial's column. Losses in nats are above one and have three decimals. Tables that a command writes are left out,
and so are shares, differences and correlations, all of them below `LEAST`.
"""

from __future__ import annotations

import csv
import json
import re
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from wordtie.reproduction.papers.registry import ROWS

ROOT = Path(__file__).parents[3]
REFERENCES = Path(__file__).with_name("quoted_numbers.tsv")
PAGES = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")))
LEAST = 50.0


class Reference(NamedTuple):
    page: str
    number: str
    source: str
    field: str


def references() -> list[Reference]:
    lines = REFERENCES.read_text(encoding="utf-8").splitlines()
    assert tuple(lines[0].split("\t")) == Reference._fields
    return [Reference(*line.split("\t")) for line in lines[1:]]


def quoted(text: str) -> list[str]:
    """Numbers with a point in what a person wrote, code left out."""
    prose = re.sub(r"<!-- ([\w -]+): begin.*?<!-- \1: end -->|```.*?```", "", text, flags=re.DOTALL)
    numbers = re.findall(r"(?<![\w.±])\d+\.\d+(?!\.?\w)", prose)
    return [number for number in numbers if float(number) >= LEAST or re.fullmatch(r"[1-9]\d*\.\d{3,}", number)]


@cache
def entry(name: str) -> Any:
    return json.loads((ROOT / "results" / f"{name}.json").read_text(encoding="utf-8"))


@cache
def trials(name: str) -> dict[str, dict[str, str]]:
    with (ROOT / "results" / name).open(encoding="utf-8", newline="") as file:
        return {row["trial"]: row for row in csv.DictReader(file, delimiter="\t")}


@cache
def measured(name: str) -> dict[str, dict[str, str]]:
    """The rows of a benchmark's table, named by their first two columns, and by their first three."""
    with (ROOT / "results" / name).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    return {" ".join(list(row.values())[:columns]): row for columns in (2, 3) for row in rows}


def value(source: str, field: str) -> float:
    """What the source has in the field. Raises `LookupError` or `OSError` if there is none."""
    if source.startswith("published:"):
        return float(getattr(ROWS[source.removeprefix("published:")].published, field))
    if source.startswith("search/"):
        file, _, trial = source.partition(":")
        return float(trials(file)[trial][field])
    if source.startswith("bench/"):
        file, _, row = source.partition(":")
        return float(measured(file)[row][field])
    found = entry(source)
    for name in field.split("/"):
        found = found[int(name) - 1] if isinstance(found, list) else found[name]
    return float(found)


def wrong(reference: Reference) -> bool:
    decimals = len(reference.number.partition(".")[2])
    return f"{value(reference.source, reference.field):.{decimals}f}" != reference.number


@pytest.mark.parametrize("page", PAGES)
def test_every_quoted_perplexity_has_a_reference_in_the_pages_order(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert quoted(text) == [each.number for each in references() if each.page == page]


@pytest.mark.parametrize("reference", references(), ids=lambda each: f"{each.number} {each.source}")
def test_a_quoted_perplexity_is_that_of_its_source(reference: Reference) -> None:
    assert not wrong(reference)


def test_a_reference_to_another_result_or_field_is_found() -> None:
    """Every other source of the same kind, unless it has the very same number."""
    chosen = [each for each in references() if each.number == "88.44"]
    assert len(chosen) == 1
    of_its_row, stage, name = chosen[0].source, *chosen[0].field.split("/")[:2]
    for other in (
        chosen[0]._replace(number="88.45"),
        chosen[0]._replace(source=of_its_row.replace("real", "al")),
        chosen[0]._replace(field=f"{stage}/1/valid_perplexity"),
        chosen[0]._replace(field=f"{stage}/{name}/test_perplexity"),
        chosen[0]._replace(source="published:inan-2017/table-1/ptb-small-real", field="valid"),
        chosen[0]._replace(source="search/inan-2017-ptb-small.tsv:real-before", field="epoch 1"),
    ):
        assert wrong(other)
    with pytest.raises(LookupError):
        wrong(chosen[0]._replace(field="sessions/9/valid_perplexity"))


def test_a_page_with_another_number_or_one_more_is_found() -> None:
    text = (ROOT / "docs" / "open-settings.md").read_text(encoding="utf-8")
    numbers = quoted(text)
    assert len(numbers) > 40
    assert quoted(text.replace("88.95", "88.94")) != numbers
    assert quoted(f"{text}\nIt is 77.7 there, and 2.849 nats at a rate of 0.025.\n") == [*numbers, "77.7", "2.849"]
    assert quoted("<!-- results: begin (x) -->\n| 77.7 |\n<!-- results: end -->\n`` ` ``\n```\n88.8\n```\n") == []
