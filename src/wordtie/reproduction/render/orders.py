"""Whether our results are in the order of the published ones: who beats whom is what the papers claim.

Only rows that differ in nothing but the method are compared: of one table, one text and one size. So the order can be
compared even where text or size are not the paper's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

from wordtie.reproduction.ledger.status import Mean, RowState

FEWEST = 3
"""Minimum number of rows in an order; for two, their lines in the table are enough."""


@dataclass(frozen=True)
class Place:
    """A row in an order."""

    name: str
    published: float
    ours: Mean


def orders(states: Sequence[RowState]) -> Iterator[str]:
    """Yield a sentence for each text and size of a table, on the order of test perplexities."""
    groups: dict[tuple[str, int, int, bool], list[Place]] = {}
    for state in states:
        published, ours = state.row.published.test, state.ours("test")
        if published is None or ours is None or state.row.kind != "train":
            continue
        settings = state.row.settings()
        place = Place(state.row.short_name, published, ours)
        size = settings.model.hidden, settings.model.embedding_size
        groups.setdefault((settings.data.corpus, *size, state.row.stands_in), []).append(place)
    for (corpus, hidden, _, stands_in), places in groups.items():
        if len(places) >= FEWEST:
            other = " (text or size are not the paper's)" if stands_in else ""
            yield f"Order on {corpus}, {hidden} units{other}: {_order(sorted(places, key=lambda each: each.published))}"


def _order(places: Sequence[Place]) -> str:
    """Describe the published order, and name our pairs that are the other way round."""
    published = places[0].name
    for better, worse in pairwise(places):
        published += f" {'<' if better.published < worse.published else '='} {worse.name}"
    pairs = [(better, worse) for better, worse in combinations(places, 2) if better.published < worse.published]
    against = [(better, worse) for better, worse in pairs if better.ours.mean >= worse.ours.mean]
    if not against:
        return f"published `{published}`; it holds."
    reversed_ = "; ".join(f"{better.name} {better.ours}, {worse.name} {worse.ours}" for better, worse in against)
    return (
        f"published `{published}`; {len(pairs) - len(against)} of {len(pairs)} pairs hold, the other way round are: "
        f"{reversed_}."
    )
