"""The last tables of `docs/methods.md`: what each idea does to the recipe of `wordtie train` in two minutes and in ten.

The same numbers are in `results/` as tab-separated values, for sorting and drawing.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from wordtie.reproduction.ledger.status import RowState
from wordtie.reproduction.papers.minutes import REFERENCE, SEEDS, Group
from wordtie.reproduction.render.formats import percent
from wordtie.reproduction.render.methods import options, over
from wordtie.reproduction.render.tables import table_line

COLUMNS = ("text", "change", "seeds", "valid_perplexity", "spread", "against_recipe", "test_perplexity", "seconds",
           "settings")  # fmt: skip


def markdown(group: Group, states: Sequence[RowState]) -> str:
    """Return the table: validation perplexity on each text, its difference from the recipe's, and the relative time."""
    of = _by_place(states)
    done = sum(bool(state.entries) for state in states)
    counts = [len(state.entries) for state in states if state.entries] or [0]
    seeds = dict.fromkeys((min(counts), max(counts)))
    header = ("change", "what it is", "its own settings", *group.texts, "time")
    lines = [
        f"{done} of {len(states)} rows are run, {' to '.join(map(str, seeds))} of {len(SEEDS)} seeds each, on "
        f"{group.tokens:,} tokens. All rows: `{options(group.common)}`; beside these, "
        f"{'; '.join(f'`{options(of_text)}`' for of_text in group.texts.values())}.",
        "",
        table_line(header),
        table_line("---" for _ in header),
    ]
    for name, (label, changes) in group.variants.items():
        cells = [_cell(of.get((text, name)), of.get((text, REFERENCE))) for text in group.texts]
        time = _time([(of.get((text, name)), of.get((text, REFERENCE))) for text in group.texts])
        lines.append(table_line((name, label, f"`{options(changes)}`" if changes else "", *cells, time)))
    return "\n".join(lines) + "\n"


def _by_place(states: Sequence[RowState]) -> Mapping[tuple[str, str], RowState]:
    """Map (text, change) to the state of its row."""
    return {(text, name): state for state in states for _, text, name in [state.row.name.split("/")]}


def _cell(state: RowState | None, reference: RowState | None) -> str:
    """Return a cell, as `112.34 ± 0.20, +1.2 %`."""
    valid = state and state.ours("valid")
    if not valid or not reference or state is reference:
        return str(valid or "–")
    compared = _against(state, reference)
    return f"{valid}, {percent(compared)}" if compared is not None else str(valid)


def _time(pairs: Sequence[tuple[RowState | None, RowState | None]]) -> str:
    """Return the ratio of seconds to the recipe's, of the first seed: the geometric mean over texts.

    The first seeds of all rows are trained in one go; later ones may share the machine with other work.
    """
    found = [ratio for pair in pairs if (ratio := over(*pair, "seconds", SEEDS[:1])) is not None]
    return f"{statistics.geometric_mean(found):.2f}×" if found else "–"


def _against(state: RowState | None, reference: RowState | None) -> float | None:
    """Return the relative difference of the validation perplexity from the recipe's."""
    ratio = over(state, reference, "valid_perplexity")
    return None if ratio is None else ratio - 1


def tsv(group: Group, states: Sequence[RowState]) -> str:
    """Return a header and a line for each row that was run, with means over seeds."""
    of = _by_place(states)
    lines: list[list[object]] = []
    for (text, name), state in of.items():
        valid, test = state.ours("valid"), state.ours("test")
        if not valid or not test:
            continue
        compared = _against(state, of.get((text, REFERENCE)))
        seconds = statistics.fmean(float(entry["seconds"]) for entry in state.entries)
        numbers = (valid.mean, valid.spread, compared, test.mean, seconds)
        shown = ["" if each is None else f"{each:.6g}" for each in numbers]
        lines.append([text, name, len(state.entries), *shown, options(group.variants[name][1])])
    return "".join("\t".join(map(str, line)) + "\n" for line in [COLUMNS, *lines])
