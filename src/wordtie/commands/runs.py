"""`wordtie runs`: run folders with the settings that differ, perplexity, parameters, time and state."""

from __future__ import annotations

import json
from typing import Any

from wordtie.commands._shared import Parser, print_json, print_tsv
from wordtie.console import say
from wordtie.runs.listing import list_runs

HELP = """\
List runs with their state, perplexity, parameters, time, and settings.

Only settings that differ between the runs are listed. Runs are looked for in and below each FOLDER. The
state is `running`, `stopped` (--resume continues it), `finished` or `damaged`. Each model is read whole and compared
with its SHA-256 sums; --quick leaves that out. Before a run is finished, valid_perplexity is its best so far.

examples:
  wordtie runs
  wordtie runs runs/tying runs/dropout
  wordtie runs runs --json
"""


def main(argv: list[str]) -> None:
    """Find the runs, and print a line for each."""
    parser = Parser("runs", HELP, usage="wordtie runs [FOLDER ...] [--quick] [--json]")
    parser.add_argument("folders", metavar="FOLDER", nargs="*", help="where runs are looked for (runs)")
    parser.add_argument("--quick", action="store_true", help="do not compare models with their SHA-256 sums")
    parser.add_argument("--json", action="store_true", help="print a JSON list")
    arguments = parser.parse_args(argv)

    found = list_runs(arguments.folders or ["runs"], seal=not arguments.quick)
    if arguments.json:
        print_json(found)
        return
    say(f"{run['run']}: {run['state']}: {run['why']}" for run in found if run["why"])
    say([] if found else [f"no runs below {', '.join(arguments.folders or ['runs'])}"])
    figures = [name for name in COLUMNS if name in ALWAYS or any(run[name] is not None for run in found)]  # type: ignore[literal-required]
    settings = [*found[0]["settings"]] if found else []
    print_tsv([*figures, *settings], ({**run, **_as_given(run["settings"])} for run in found))


def _as_given(settings: dict[str, Any]) -> dict[str, str]:
    """Return values as the command line takes them: `0.2`, `true`; None becomes empty."""
    return {
        name: "" if value is None else value if isinstance(value, str) else json.dumps(value)
        for name, value in settings.items()
    }


ALWAYS = ("run", "state", "kind", "valid_perplexity", "test_perplexity", "parameters", "seconds")
COLUMNS = ("run", "state", "kind", "epochs", "valid_perplexity", "test_perplexity", "mixture_test_perplexity",
           "test_bleu", "parameters", "seconds")  # fmt: skip
"""Columns of the table before the settings; those that are not in `ALWAYS` are shown only if a run has them."""
