"""The notes below a table: what to know about some rows, training perplexities, and how the runs went."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import fmean

from wordtie.reproduction.ledger.ledger import ever
from wordtie.reproduction.ledger.record import DIVERGED, Entry, stages_of
from wordtie.reproduction.ledger.status import RowState
from wordtie.reproduction.papers.row import Row
from wordtie.reproduction.render.formats import number


@dataclass(frozen=True)
class Run:
    """The run of one seed of a row."""

    row: str
    seed: int
    epochs: str
    """Number of epochs, in words; empty if nothing was trained in epochs."""
    time: str
    machine: str
    code: str

    def __str__(self) -> str:
        counted = f"{self.epochs}, " if self.epochs else ""
        return f"seed {self.seed}, {counted}{self.time} on {self.machine}"


def runs(rows: Sequence[RowState]) -> list[Run]:
    """Return the runs that the rows' numbers come from."""
    return [_run(state.row, entry) for state in rows for entry in state.entries]


def _run(row: Row, entry: Entry) -> Run:
    stages = stages_of(entry)
    seconds = sum(stage["seconds"] for stage in stages)
    machines = [machine["gpu"] or machine["cpu"] for machine in ever(entry, "machine") if machine]
    epochs = " + ".join(str(stage["epochs"]) for stage in stages)
    # spaces are compared after the last epoch, whatever is exported
    of_spaces = "subspace" in (*row.measures, *row.shows)
    of_vectors = "best_epoch" not in entry
    keeps_last = of_spaces or of_vectors or entry["configuration"].get("training", {}).get("keep") == "last"
    best = "" if keeps_last else f" (best {entry['best_epoch']})"
    if len(stages) > 1:
        best = f" in {len(stages)} stages"
    if DIVERGED in entry:
        best += ", a later stage diverged"
    return Run(
        row.short_name,
        entry["seed"],
        f"{epochs} epochs{best}" if entry["epochs"] > 1 else "",
        f"{seconds / 3600:.1f} h" if seconds >= 360 else f"{seconds:.0f} s",
        " and ".join(dict.fromkeys(machines)),
        ", ".join(dict.fromkeys(ever(entry, "code_version"))),
    )


def runs_in_a_line(rows: Sequence[RowState]) -> str:
    """Return all runs in one line; empty if there are none."""
    told = [f"{row}: {', '.join(map(str, of_row))}" for row, of_row in groupby(runs(rows), key=lambda run: run.row)]
    return f"Runs: {'; '.join(told)}." if told else ""


def notes(rows: Sequence[RowState]) -> Iterator[str]:
    """Yield the notes on rows, each once, training perplexities where published, and intervals of BLEU."""
    found: dict[str, list[str]] = {}
    for state in rows:
        if state.row.note:
            found.setdefault(state.row.note, []).append(state.row.short_name)
    for note, names in found.items():
        yield f"{', '.join(names) if len(names) < len(rows) else 'All'}: {note}."
    if names := _beside_another(rows):
        yield (
            f"{', '.join(names)}: beside the vectors of `small-zaremba` in table 6, whose rate falls one epoch earlier "
            "than that of `small`."
        )
    trained = [
        f"{state.row.short_name} {number(state.row.published.train)} / {number(ours)}"
        for state in rows
        if state.row.published.train is not None and (ours := _last_training_perplexity(state)) is not None
    ]
    if trained:
        yield f"Training perplexity of the last epoch, published / ours: {'; '.join(trained)}."
    yield from _intervals_of_bleu(rows)


def _intervals_of_bleu(rows: Sequence[RowState]) -> Iterator[str]:
    """Yield the BLEU interval of each translation model, and its comparison with the baseline of the same seed."""
    told, signatures = [], dict[str, None]()
    for state in rows:
        for entry in state.entries if "bleu" in state.row.shows else ():
            scores, paired = entry["measures"]["translation"], entry["measures"].get("paired")
            signatures[scores["signature"]] = None
            against = f", p = {paired['p_value']:.3f} against the baseline" if paired else ""
            told.append(
                f"{state.row.short_name} seed {entry['seed']}: {scores['test_low']:.2f} to {scores['test_high']:.2f}"
                + against
            )
    if told:
        yield (
            f"95 % intervals of the test BLEU, and paired bootstrap resampling: {'; '.join(told)}. Signature: "
            f"{', '.join(f'`{each}`' for each in signatures)}."
        )


def _beside_another(rows: Sequence[RowState]) -> list[str]:
    """Return rows that show an agreement with vectors other than those of `small` whose agreement is in this table."""
    small = {entry["weights_sha256"] for state in rows if "agreement" in state.row.shows for entry in state.entries}
    return [
        state.row.short_name
        for state in rows
        if "agreement_with_small" in state.row.shows
        and {entry["measures"]["agreement_with_small"]["small_weights_sha256"] for entry in state.entries} - small
    ]


def _last_training_perplexity(state: RowState) -> float | None:
    found = [float(entry["curve"]["train"][-1]) for entry in state.entries if "curve" in entry]
    return fmean(found) if found else None
