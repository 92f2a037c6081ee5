"""Phrases that readers stumbled over stay out of everything that a person reads.

Docs and code say "resumes with bit-identical results", "is compared with", "is reported", "again". Left out are text
that a command writes (between markers), and the papers' rows, whose notes are part of that text.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAPERS = ROOT / "src" / "wordtie" / "reproduction" / "papers"
GENERATED = re.compile(r"<!-- [^>]*: begin.*?: end -->|^```.*?^```", flags=re.MULTILINE | re.DOTALL)

PHRASES = [
    "what it comes to",
    "comes to nothing",
    "came to nothing",
    "goes on in the same bits",
    "in the same bits",
    "gone on with",
    "gone on from",
    "go on with",
    "goes on from",
    "goes on with",
    "stands there",
    "what becomes of",
    "held against",
    "hold it against",
    "hold against",
    "is said to be",
    "is said where",
    "in truth",
    "the mend",
    "can mend",
    "to mend",
    "mended",
    "anew",
    "begun with",
    "begun from",
    "not to be had",
    "are to be had",
    "is to be had",
    "hangs on",
    "taken apart",
    "by heart",
    "for whoever",
]
FOUND = re.compile(r"\b(?:" + "|".join(phrase.replace(" ", r"\s+") for phrase in PHRASES) + r")\b")

PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
CODE = [file for file in (ROOT / "src").rglob("*.py") if PAPERS not in file.parents]
FILES = sorted([*PAGES, *CODE, *(ROOT / "benchmarks").glob("*.py")])


def phrases_in(text: str) -> list[str]:
    return [" ".join(match[0].split()) for match in FOUND.finditer(GENERATED.sub("", text))]


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_no_private_phrases(file: Path) -> None:
    assert phrases_in(file.read_text(encoding="utf-8")) == []


def test_phrases_are_found_across_lines_and_not_in_generated_text() -> None:
    assert phrases_in("It is held\nagainst the other, and begins anew.") == ["held against", "anew"]
    assert phrases_in("<!-- results: begin (x) -->\nheld against\n<!-- results: end -->\nfine") == []
