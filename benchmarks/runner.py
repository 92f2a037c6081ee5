"""Run claims by name, keep what came out, and bring it to docs/performance.md."""

from __future__ import annotations

import difflib
import importlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks import CLAIM_FILES
from benchmarks.environment import describe
from benchmarks.harness import Claim, Effort, Measurement, UnavailableError
from wordtie.errors import WordtieError
from wordtie.storage.atomic import write_text

CHECKOUT = Path(__file__).parent.parent
RESULTS = CHECKOUT / "results" / "bench"
GROWTH = "growth"
"""Not a claim but a plot; it takes long, and runs only when it is named."""
ROUNDS, QUICK_ROUNDS = 15, 3


class UnknownClaimError(WordtieError):
    """No claim of that name."""


def all_claims() -> list[Claim]:
    """Of every file, in the order of the page."""
    return [claim for name in CLAIM_FILES for claim in importlib.import_module(f"benchmarks.{name}").CLAIMS]


def chosen(names: Sequence[str]) -> list[Claim]:
    """The claims of these names, or all. Raises `UnknownClaimError`."""
    known = {claim.name: claim for claim in all_claims()}
    for name in names:
        if name not in {*known, GROWTH}:
            near = difflib.get_close_matches(name, [*known, GROWTH], n=1)
            hint = f"did you mean {near[0]}?" if near else "`wordtie bench --list` lists them"
            raise UnknownClaimError(f"no claim `{name}`; {hint}")
    return [known[name] for name in names if name != GROWTH] if names else list(known.values())


def effort(quick: bool) -> Effort:
    """For figures to quote, or to see that all runs."""
    return Effort(QUICK_ROUNDS if quick else ROUNDS, quick)


def run(claim: Claim, how: Effort) -> dict[str, Any]:
    """Measure one claim; the record of what came out, or of why it could not be measured."""
    record: dict[str, Any] = {"name": claim.name, "ratio": None, "goal": claim.goal, "measured_over_floor": None,
                              "spread": None, "note": "", "what": claim.what}  # fmt: skip
    try:
        found = claim.measure(how)
    except UnavailableError as reason:
        return {**record, "note": str(reason), **describe()}
    return {**record, **_rounded(found), "quick": how.quick, **describe()}


def public(record: dict[str, Any]) -> dict[str, Any]:
    """What `--json` prints of a record."""
    return {key: record[key] for key in ("name", "ratio", "goal", "measured_over_floor", "spread", "note")}


def save(record: dict[str, Any], on: str = "") -> None:
    """One file a claim, replaced by the next measurement, but not by word that there could be none.

    `on` names a machine of another kind than the page's first table is of.
    """
    path = RESULTS / on / f"{record['name']}.json"
    if record.get("ratio", 1) is None and path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps(record, indent=2, ensure_ascii=False) + "\n")


def saved(claims: Iterable[Claim], on: str = "") -> list[dict[str, Any]]:
    """The last record of each claim; one without figures where there is none."""
    records = []
    for claim in claims:
        path = RESULTS / on / f"{claim.name}.json"
        none: dict[str, Any] = {"name": claim.name, "ratio": None, "note": "not measured yet"}
        record = json.loads(path.read_text(encoding="utf-8")) if path.exists() else none
        records.append({**record, "goal": claim.goal, "what": claim.what})
    return records


def tables() -> dict[str, list[dict[str, Any]]]:
    """Every claim, then by name what other kinds of machine have measured."""
    claims = all_claims()
    others = sorted(folder.name for folder in RESULTS.glob("*/"))
    measured = {on: [record for record in saved(claims, on) if record["ratio"] is not None] for on in others}
    return {"": saved(claims), **measured}


def _rounded(found: Measurement) -> dict[str, Any]:
    """Four digits, which is more than any of these figures deserves."""
    return {key: float(f"{value:.4g}") if isinstance(value, float) else value for key, value in asdict(found).items()}
