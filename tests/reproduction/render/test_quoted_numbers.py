"""The perplexities that docs/open-settings.md quotes are those of the trials it names, or the ledger's.

What a paper's section quotes has to be in the files of trials that it links, among that paper's results, or printed in
the paper. Shares, differences and correlations, all below `LEAST`, are worked out from these and not looked up.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from wordtie.reproduction.papers.registry import ROWS

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "open-settings.md").read_text(encoding="utf-8")
PARTS = [part for part in PAGE.split("\n## ") if re.match(r"[a-z-]+-\d{4},", part)]
"""A paper's table or figure each, by its heading."""
LEAST = 50.0


def quoted(part: str) -> list[str]:
    """Numbers with a point."""
    return [number for number in re.findall(r"(?<![\w.±])\d+\.\d+(?!\.?\w)", part) if float(number) >= LEAST]


def numbers(content: Any) -> Iterator[float]:
    """All that are in a JSON file, however deep."""
    if isinstance(content, dict | list):
        for each in content.values() if isinstance(content, dict) else content:
            yield from numbers(each)
    elif isinstance(content, float):
        yield content


def known(part: str) -> set[float]:
    """What the part may quote."""
    paper = part.partition(",")[0]
    trials = [(ROOT / "results" / "search" / name).read_text() for name in re.findall(r"search/([\w.-]+\.tsv)", part)]
    ledger = [json.loads(path.read_text()) for path in sorted((ROOT / "results" / paper).rglob("*.json"))]
    printed = [row.published for row in ROWS.values() if row.name.startswith(paper)]
    return {
        *(float(cell) for text in trials for cell in re.findall(r"(?<=\t)\d+\.\d+", text)),
        *numbers(ledger),
        *(number for each in printed for number in (each.valid, each.test) if number is not None),
    }


def unknown(part: str) -> list[str]:
    """What is quoted and nowhere to be found."""
    there = known(part)
    return [text for text in quoted(part) if not any(f"{n:.{len(text.partition('.')[2])}f}" == text for n in there)]


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.partition(":")[0])
def test_every_perplexity_that_is_quoted_was_measured_or_printed(part: str) -> None:
    assert unknown(part) == []


def test_there_are_such_numbers_and_another_one_would_be_found_out() -> None:
    assert sum(len(quoted(part)) for part in PARTS) > 15
    part = next(part for part in PARTS if "88.95" in quoted(part))
    assert unknown(part.replace("88.95", "88.94")) == ["88.94"]
