"""A search for settings, as it was made: what each trial changed, and its validation perplexity epoch by epoch.

    python -m wordtie.report.trials RUN [RUN ...] > results/search/NAME.tsv

The first run is the one that the others are held against. The test text has no part in it.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from wordtie.errors import RunFolderError
from wordtie.report.program import run
from wordtie.training.identity import begun_with, decisive
from wordtie.training.queue_table import finished_epochs


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser("python -m wordtie.report.trials", description=__doc__)
    parser.add_argument("run", nargs="+", type=Path, help="run folders; the first is what the others are held against")
    rows = trials(parser.parse_args(argv).run)
    writer = csv.DictWriter(sys.stdout, rows[0], delimiter="\t", lineterminator="\n", restval="")
    writer.writeheader()
    writer.writerows(rows)


def trials(folders: Sequence[Path]) -> list[dict[str, str]]:
    """A row for each run: its name, what it changed, and validation perplexity by epoch; the widest row comes as it is.

    Raises `RunFolderError` for a folder without settings or without a finished epoch.
    """
    base = _settings(folders[0])
    curves = [_curve(folder) for folder in folders]
    epochs = max(len(curve) for curve in curves)
    return [
        {"trial": folder.name, "changed": _changed(base, _settings(folder))}
        | {f"epoch {n + 1}": f"{curve[n]:.2f}" if n < len(curve) else "" for n in range(epochs)}
        for folder, curve in zip(folders, curves, strict=True)
    ]


def _settings(folder: Path) -> dict[str, Any]:
    """`section.name` to value, less what only decides where and how long a run computes."""
    settings = begun_with(folder)
    if settings is None:
        raise RunFolderError(f"{folder}: no settings.yaml: not a run folder")
    return decisive(settings)


def _changed(base: dict[str, Any], settings: dict[str, Any]) -> str:
    named = sorted(name for name in base.keys() | settings.keys() if base.get(name) != settings.get(name))
    return " ".join(f"{name}={settings.get(name)}" for name in named) or "-"


def _curve(folder: Path) -> list[float]:
    lines = finished_epochs(folder)
    if not lines:
        raise RunFolderError(f"{folder}: no epoch has been finished: train on")
    return [float(line["valid_perplexity"]) for line in lines]


if __name__ == "__main__":
    run(main)
