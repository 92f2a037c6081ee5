"""docs/reproduction.md names a cause for each row that is not reached, and for no other."""

from __future__ import annotations

import re
from pathlib import Path

from wordtie.reproduction.ledger.ledger import read_all
from wordtie.reproduction.ledger.status import states
from wordtie.reproduction.papers.registry import of_papers

ROOT = Path(__file__).parents[3]


def test_the_rows_with_a_cause_are_those_that_are_not_reached() -> None:
    page = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8")
    section = page.partition("## Not reached, and why\n")[2].partition("\n## ")[0]
    named = re.findall(r"`([\w.-]+/[\w.-]+/[\w.-]+)`", section)
    short = [
        state.row.name
        for state in states(read_all(ROOT / "results"), rows=of_papers())
        if state.status == "not reached"
    ]
    assert sorted(named) == sorted(short)
