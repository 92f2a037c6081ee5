"""`wordtie bench`: the claims of speed and memory, measured on this machine."""

from __future__ import annotations

import argparse
import importlib
import json
import re
import sys
from pathlib import Path
from typing import Any

import wordtie
from wordtie.commands._shared import Parser, UsageError, whole_number

HELP = """\
Measure the claims of speed and memory.

Most claims run ours and the alternative in turn, in one process. Start-up, memory and vocabulary are measured in new
processes, start-up and vocabulary against a fixed goal. It prints the median ratio (how many times better, also for
memory), its spread (distance of the quartiles over the median), and measured ÷ floor: the time relative to that of the
multiply-adds alone, at the rate of a matrix product in the same run; for the memory of the loss, relative to the
gradients alone.

It needs a checkout, because the measurements are in benchmarks/ and tests/. Results are kept in results/bench/, except
those of --quick. `growth` is a plot, not a claim, and runs only if it is named.

examples:
  wordtie bench                           every claim, about half an hour on an idle machine
  wordtie bench small-real medium-real    some of them
  wordtie bench --list                    their names and goals
  wordtie bench --quick --json            few rounds; one JSON object per line
  wordtie bench growth                    seconds per million words and peak memory, into docs/figures/
  wordtie bench --on no-avx512            on a machine of another kind, which has a table of its own in the docs
  wordtie bench --write-docs              measure nothing; write docs/performance.md from results/bench/
"""


def main(argv: list[str]) -> None:
    """Measure the claims, print the results, and keep them."""
    parser = Parser("bench", HELP)
    parser.add_argument("names", metavar="NAME", nargs="*", help="a claim, or `growth` (none: every claim)")
    parser.add_argument("--list", action="store_true", help="list the claims and their goals, and stop")
    parser.add_argument("--quick", action="store_true", help="few rounds: to see that it runs, not what it is worth")
    parser.add_argument("--threads", type=whole_number, default=2, help="CPU threads (2, which the goals are for)")
    parser.add_argument("--on", metavar="MACHINE", type=_name, help="keep the results apart, in results/bench/MACHINE/")
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")
    parser.add_argument(
        "--write-docs", action="store_true", help="write docs/performance.md from what is kept, at the end"
    )
    arguments = parser.parse_args(argv)

    runner = load_benchmarks("runner")
    claims = runner.chosen(arguments.names)
    if arguments.list:
        _list(claims, arguments.json)
        if not arguments.json and (not arguments.names or runner.GROWTH in arguments.names):
            print(
                f"{runner.GROWTH:24} plot     seconds per million words and peak memory, against V, H and text length"
            )
        return
    if arguments.on and runner.GROWTH in arguments.names:
        raise UsageError(f"{runner.GROWTH} is a plot of one machine: `--on` is for claims")
    load_benchmarks("memory").set_threads(arguments.threads)
    how = runner.effort(arguments.quick)
    page = load_benchmarks("page")
    if arguments.names or not arguments.write_docs:
        for claim in claims:
            print(f"measuring {claim.name}", file=sys.stderr)
            record = runner.run(claim, how)
            if not arguments.quick:
                runner.save(record, arguments.on or "")
            print(json.dumps(runner.public(record), ensure_ascii=False) if arguments.json else page.text(record))
    if runner.GROWTH in arguments.names:
        load_benchmarks("growth").run(how, arguments.json)
    if arguments.write_docs:
        page.write(runner.tables())
        print(f"written: {page.PAGE}", file=sys.stderr)


def _name(given: str) -> str:
    """An `argparse` type: the name of a folder."""
    if re.fullmatch("[A-Za-z0-9-]+", given):
        return given
    raise argparse.ArgumentTypeError(f"a name of letters, digits and hyphens, not {given!r}")


def _list(claims: Any, as_json: bool) -> None:
    """Print the claims and their goals."""
    for claim in claims:
        told = {name: getattr(claim, name) for name in ("name", "goal", "what")}
        goal = "no goal" if claim.goal is None else f">= {claim.goal:.3g}x"
        print(json.dumps(told, ensure_ascii=False) if as_json else f"{claim.name:24} {goal:8} {claim.what}")


def load_benchmarks(name: str) -> Any:
    """Import a module of the checkout's benchmarks/. Raises `UsageError` if wordtie does not run from a checkout."""
    checkout = Path(wordtie.__file__).parents[2]
    for needed in ("benchmarks/runner.py", "tests/reference/naive.py"):
        if not (checkout / needed).is_file():
            raise UsageError(
                f"`wordtie bench` needs a checkout of the repository, installed with `pip install -e .`: "
                f"{checkout / needed} is not there"
            )
    if str(checkout) not in sys.path:
        sys.path.insert(0, str(checkout))
    return importlib.import_module(f"benchmarks.{name}")
