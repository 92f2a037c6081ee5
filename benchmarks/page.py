"""The table of docs/performance.md, and the same in the terminal, from the records of `benchmarks.runner`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from wordtie.errors import DataError
from wordtie.reproduction.render import generated_blocks
from wordtie.reproduction.render.tables import table_line

Record = dict[str, Any]

PAGE = Path(__file__).parent.parent / "docs" / "performance.md"
BEGIN, END = "<!-- wordtie bench: begin -->", "<!-- wordtie bench: end -->"
HEADER = (
    "claim", "alternative", "ours", "ratio", "goal", "reached", "spread", "measured ÷ floor", "goal ÷ floor", "remarks",
)  # fmt: skip


def reached(record: Record) -> str:
    """In a word."""
    if record["ratio"] is None or record["goal"] is None:
        return "-"
    return "yes" if record["ratio"] >= record["goal"] else "**no**"


def goal_over_floor(record: Record) -> str:
    """What multiple of the floor ours would have to be for the goal to be met; below 1 nothing can meet it.

    >>> goal_over_floor({"alternative": 30.0, "ours": 10.0, "goal": 2.0, "measured_over_floor": 2.0})
    '3.00'
    """
    if record["goal"] is None or record["measured_over_floor"] is None:
        return "-"
    floor = record["ours"] / record["measured_over_floor"]
    return f"{record['alternative'] / record['goal'] / floor:.2f}"


def cells(record: Record) -> list[str]:
    """One row, in the order of `HEADER`."""
    goal = "-" if record["goal"] is None else f"≥ {record['goal']:.3g}×"
    if record["ratio"] is None:
        return [record["what"], "-", "-", "-", goal, "-", "-", "-", "-", record["note"]]
    floor = record["measured_over_floor"]
    return [
        record["what"],
        _quantity(record["alternative"], record["unit"]),
        _quantity(record["ours"], record["unit"]),
        f"**{record['ratio']:.2f}×**",
        goal,
        reached(record),
        _share(record["spread"]),
        "-" if floor is None else f"{floor:.1f}",
        goal_over_floor(record),
        record["note"],
    ]


def markdown(tables: Mapping[str, Sequence[Record]]) -> str:
    """A table for each machine, headed by its name but for the first, and what it was measured on."""
    return "\n\n".join(
        f"### On {name}\n{_table(records)}" if name else _table(records) for name, records in tables.items()
    )


def _table(records: Sequence[Record]) -> str:
    rows = [HEADER, ["---"] * len(HEADER), *(cells(record) for record in records)]
    table = "\n".join(map(table_line, rows))
    measured: dict[str, list[str]] = {}
    for record in records:
        if record["ratio"] is not None:
            measured.setdefault(machine(record), []).append(f"`{record['name']}`")
    return f"{table}\n\n" + "\n".join(f"- Measured on {each}: {', '.join(names)}" for each, names in measured.items())


def machine(record: Record) -> str:
    """Machine, versions, commit and threads in one line."""
    found, versions = record["machine"], {"commit": record.get("code_version", "not kept"), **record["versions"]}
    parts = [
        found["processor"],
        f"{found['cores']} cores",
        *found["instructions"],
        f"{found['memory_gb']} GB",
        *([found["gpu"]] if found["gpu"] else []),
        found["system"],
        f"{record['threads']} threads",
    ]
    return ", ".join(parts) + " (" + ", ".join(f"{name} {number}" for name, number in versions.items()) + ")"


def text(record: Record) -> str:
    """One claim in the terminal."""
    goal = "" if record["goal"] is None else f" (goal {record['goal']:.3g}×)"
    if record["ratio"] is None:
        return f"{record['name']:24} not measured{goal}: {record['note']}"
    floor = record["measured_over_floor"]
    return (
        f"{record['name']:24} {record['ratio']:.2f}×{goal}, spread {_share(record['spread'])}"
        + ("" if floor is None else f", measured ÷ floor {floor:.1f}")
        + f": {_quantity(record['ours'], record['unit'])} against {_quantity(record['alternative'], record['unit'])}"
        + (f"; {record['note']}" if record["note"] else "")
        + ("; a quick look, not a figure to quote" if record["quick"] else "")
    )


def write(tables: Mapping[str, Sequence[Record]], page: Path = PAGE) -> None:
    """Put the tables between the markers. Raises `DataError` where the page has lost them."""
    if not generated_blocks.replace(page, BEGIN, END, f"{markdown(tables)}\n"):
        raise DataError(f"{page}: the lines `{BEGIN}` and `{END}` are missing; put them where the table belongs")


def _share(spread: float | None) -> str:
    return "-" if spread is None else f"{spread:.0%}"


def _quantity(value: float, unit: str) -> str:
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:,.{digits}f} {unit}"
