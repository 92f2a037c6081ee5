"""Whether our results are in the order of the published ones: who beats whom is what the papers claim.

Only rows of one table, one text and one hidden size are compared. So the order can be compared even where text or size
are not the paper's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

from wordtie.reproduction.ledger.status import Mean, RowState

FEWEST = 2
"""Minimum number of rows in an order."""


@dataclass(frozen=True)
class Place:
    """A row in an order."""

    name: str
    published: float
    ours: Mean


def orders(states: Sequence[RowState]) -> Iterator[str]:
    """Yield a sentence for each text and size of a table, on the order of test perplexities."""
    groups: dict[tuple[str, int, bool], list[Place]] = {}
    for state in states:
        published, ours = state.row.published.test, state.ours("test")
        if published is None or ours is None or state.row.kind != "train":
            continue
        settings = state.row.settings()
        place = Place(state.row.short_name, published, ours)
        groups.setdefault((settings.data.corpus, settings.model.hidden, state.row.stands_in), []).append(place)
    for (corpus, hidden, stands_in), places in groups.items():
        if len(places) >= FEWEST:
            other = " (text or size are not the paper's)" if stands_in else ""
            yield f"Order on {corpus}, {hidden} units{other}: {_order(sorted(places, key=lambda each: each.published))}"


def _order(places: Sequence[Place]) -> str:
    """Describe the published order and ours, and name our pairs that are the other way round."""
    published = places[0].name
    for better, worse in pairwise(places):
        published += f" {'<' if better.published < worse.published else '='} {worse.name}"
    pairs = [(better, worse) for better, worse in combinations(places, 2) if better.published < worse.published]
    against = [(better, worse) for better, worse in pairs if better.ours.mean >= worse.ours.mean]
    seeds = sorted({place.ours.seeds for place in places})
    several = f"{seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else f"{seeds[0]}"
    numbers = ", ".join(f"{place.name} {place.ours}" for place in places)
    ours = f"ours ({several} seed{'s' if seeds[-1] > 1 else ''} each): {numbers}"
    if not against:
        return f"published `{published}`; it holds; {ours}."
    reversed_ = ", ".join(f"`{better.name} < {worse.name}`" for better, worse in against)
    return f"published `{published}`; {len(pairs) - len(against)} of {len(pairs)} pairs hold, not {reversed_}; {ours}."
