"""A search for settings, as it was made: what each trial changed, and its validation perplexity epoch by epoch.

    python -m wordtie.reproduction.analyses.trials RUN [RUN ...] > results/search/NAME.tsv

The first run is the one that the others are compared with. The test text has no part in it. `--subspace` is for runs
that overfit on purpose (inan-2017, Figure 1): there, the search is not for a low validation perplexity.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from wordtie.errors import RunFolderError
from wordtie.exits import exit_code_of
from wordtie.reproduction.running.measures import spaces
from wordtie.runs.compatibility import decisive, recorded_settings
from wordtie.runs.metrics import finished_epochs


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        "python -m wordtie.reproduction.analyses.trials",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("run", nargs="+", type=Path, help="run folders; the first is what the others are compared with")
    parser.add_argument(
        "--subspace", action="store_true", help="instead: how the run ended, and how far its spaces are apart"
    )
    arguments = parser.parse_args(argv)
    rows = trials(arguments.run, _ending if arguments.subspace else _curve)
    writer = csv.DictWriter(sys.stdout, rows[0], delimiter="\t", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


def trials(folders: Sequence[Path], shown: Callable[[Path], dict[str, str]]) -> list[dict[str, str]]:
    """Return a row for each run: its name, what it changed, and the columns that `shown` returns for it.

    Raises `RunFolderError` for a folder without settings or without a finished epoch.
    """
    settings = [_settings(folder) for folder in folders]
    columns = [shown(folder) for folder in folders]
    blank = {name: "" for each in columns for name in each}
    return [
        {"trial": folder.name, "changed": _changed(settings[0], own)} | blank | each
        for folder, own, each in zip(folders, settings, columns, strict=True)
    ]


def _settings(folder: Path) -> dict[str, Any]:
    """Map `section.name` to value, without settings that only decide where and how long a run computes."""
    settings = recorded_settings(folder)
    if settings is None:
        raise RunFolderError(f"{folder}: no settings.yaml: not a run folder")
    return decisive(settings)


def _changed(base: dict[str, Any], settings: dict[str, Any]) -> str:
    named = sorted(name for name in base.keys() | settings.keys() if base.get(name) != settings.get(name))
    return " ".join(f"{name}={settings.get(name)}" for name in named) or "-"


def _curve(folder: Path) -> dict[str, str]:
    """Return the validation perplexity by epoch."""
    return {f"epoch {n}": f"{line['valid_perplexity']:.2f}" for n, line in enumerate(_finished(folder), start=1)}


def _ending(folder: Path) -> dict[str, str]:
    """Return the number of epochs, the last training perplexity, the subspace distance and the share of W outside."""
    lines, found = _finished(folder), spaces(folder)
    return {
        "epochs": str(len(lines)),
        "training perplexity": f"{lines[-1]['train_perplexity']:.2f}",
        "distance": f"{found.distance:.3f}",
        "W outside": f"{found.outside:.3f}",
    }


def _finished(folder: Path) -> list[dict[str, float]]:
    lines = finished_epochs(folder)
    if not lines:
        raise RunFolderError(f"{folder}: no epoch has been finished: train on")
    return lines


if __name__ == "__main__":
    sys.exit(exit_code_of(main))
