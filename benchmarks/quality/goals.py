"""The goals of quality per minute, and whether the rows reach them."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from benchmarks.quality.contenders import ADDED, CONTENDERS, OTHERS, OURS
from benchmarks.quality.rows import Row
from benchmarks.quality.texts import GOAL_TEXTS

Kind: TypeAlias = Literal["network", "mixture", "without_recent", "others", "added"]
WHAT: dict[Kind, str] = {
    "network": "our network ÷ Kneser-Ney 5-gram",
    "mixture": "our mixture ÷ Kneser-Ney 5-gram",
    "without_recent": "our mixture without recent words ÷ Kneser-Ney 5-gram",
    "others": "ours ÷ the best other that the goals name, all mixed with the same 5-gram",
    "added": f"ours ÷ {CONTENDERS[ADDED].what}, both mixed with the same 5-gram",
}
LIMITS: dict[tuple[Kind, float], float | None] = {
    ("network", 2): 0.82,
    ("network", 10): 0.62,
    ("mixture", 2): 0.68,
    ("mixture", 10): 0.55,
    ("without_recent", 2): 0.68,
    ("without_recent", 10): 0.55,
    ("others", 2): 0.9,
    ("others", 10): 0.95,
    ("added", 2): None,
    ("added", 10): None,
}
"""By minutes: the largest ratio of test perplexities, which holds for each of `GOAL_TEXTS`; None: no goal was set."""
MOST_OVER_TIME = 0.02
"""Share of the time that a contender may be late. What is later of ours does not count; others it can only favour."""


@dataclass(frozen=True)
class Verdict:
    """One goal, and the ratio of each text."""

    kind: Kind
    minutes: float
    limit: float | None
    ratios: dict[str, float]
    """By text; texts that were not measured are missing."""

    @property
    def reached(self) -> bool | None:
        """On each of the texts; None if one was not measured and no other fails.

        A ratio is compared as it is, not as it is printed.
        """
        if self.limit is None:
            return None
        limit = self.limit
        if any(ratio > limit for ratio in self.ratios.values()):
            return False
        return True if set(self.ratios) >= set(GOAL_TEXTS) else None


def is_late(row: Row) -> bool:
    """Whether the model was on the disk too late."""
    limit = 60 * row["minutes"] * (1 + MOST_OVER_TIME)
    return bool(row["clock"] == "wall" and row.get("seconds", row["wall_seconds"]) > limit)


def latest(rows: Sequence[Row]) -> list[Row]:
    """Those of the program and the settings of the last one."""
    return [row for row in rows if all(row[each] == rows[-1][each] for each in ("code", "settings"))]


def value(rows: Sequence[Row], contender: str, text: str, minutes: float, name: str) -> float | None:
    """The median over the seeds of the latest program and settings; None without a row, or with none of ours in time.

    Counting has one row for all times.
    """
    found = [
        row
        for row in rows
        if row["contender"] == contender
        and row["text"] == text
        and (row["minutes"] == minutes or contender == "kneser-ney")
    ]
    counted = [row[name] for row in latest(found) if name in row and not (contender in OURS and is_late(row))]
    return statistics.median(counted) if counted else None


def ratio(rows: Sequence[Row], kind: Kind, text: str, minutes: float) -> float | None:
    """Of ours to what the goal compares it with; None if a row is missing."""
    if kind in ("others", "added"):
        ours = value(rows, "ours", text, minutes, "mixed_test")
        against_whom = OTHERS if kind == "others" else (ADDED,)
        found = [value(rows, other, text, minutes, "mixed_test") for other in against_whom]
        against = None if None in found else min(each for each in found if each is not None)
    else:
        ours = value(rows, "ours", text, minutes, "test" if kind == "network" else f"own_{kind}_test")
        against = value(rows, "kneser-ney", text, minutes, "test")
    return None if ours is None or against is None else ours / against


def verdicts(rows: Sequence[Row]) -> Iterator[Verdict]:
    """Of all goals."""
    for (kind, minutes), limit in LIMITS.items():
        found = {text: ratio(rows, kind, text, minutes) for text in GOAL_TEXTS}
        yield Verdict(kind, minutes, limit, {text: each for text, each in found.items() if each is not None})
