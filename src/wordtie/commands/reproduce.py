"""`wordtie reproduce`: the tables and figures of the papers, one command each."""

from __future__ import annotations

import math
import sys
from argparse import Namespace
from pathlib import Path

from wordtie.commands._shared import Parser, UsageError, print_json, whole_number
from wordtie.config import parse_time
from wordtie.config.paths import path_of
from wordtie.errors import WordtieError
from wordtie.reproduction.papers.registry import of_papers, select
from wordtie.reproduction.papers.row import Row

HELP = """\
Train the rows of the papers' tables, and list how they stand.

A row has the settings of a line of a published table; what comes out is held against the published number. ROW is
the name of a row, or what the names of a group of rows begin with. Every finished run is one JSON file under results/,
with its settings, machine, texts and numbers; a row that is there already for the same settings and text is not
trained again. A run that was stopped goes on from its run folder. Rows that take a CPU days are left out where there is
no GPU, unless they are named in full.

examples:
  wordtie reproduce --list                                  every row and how it stands
  wordtie reproduce inan-2017/table-1/ptb-small-real        train one row
  wordtie reproduce inan-2017/table-1/ptb-small --jobs 2    train a group, two at a time
  wordtie reproduce press-wolf-2017 --max_time 9m           stop all cleanly after nine minutes; the same again goes on
  wordtie reproduce inan-2017/table-1/ptb-small --seed 2    another seed: tables show mean and spread
  wordtie reproduce methods/ptb-200 --jobs 2                compare the methods at one size: docs/methods.md
  wordtie reproduce --report                                one HTML page, and the tables in docs/
  wordtie reproduce --check                                 do results and tables stand as the program wrote them?
"""
SIDE_BY_SIDE_ON_A_GPU = 4
RESULTS = Path("results")
TRAINING = ("seed", "max_time", "jobs", "threads", "again", "one")
NO_USE_FOR = {
    "list": (*TRAINING, "document", "page"),
    "check": (*TRAINING, "page", "json", "rows"),
    "report": (*TRAINING, "json", "rows"),
    "train": ("page",),
}
"""What each of the four things that the command does could only ignore."""


def main(argv: list[str]) -> None:
    """List, check, report or run."""
    arguments = _parser().parse_args(argv)
    task = next((name for name in ("list", "check", "report") if getattr(arguments, name)), "train")
    if task == "train" and not arguments.rows:
        if not arguments.json:
            raise UsageError("name a row or a group of rows; `wordtie reproduce --list` shows all")
        task = "list"
    if ignored := [name for name in NO_USE_FOR[task] if getattr(arguments, name)]:
        given = arguments.rows[0] if ignored == ["rows"] else f"--{ignored[0]}"
        asked = f"--{task}" if task != "train" else "training"
        raise UsageError(f"{asked} has no use for {given}: leave it out")
    chosen = select(arguments.rows)
    if task == "train":
        _run(chosen, arguments)
    elif task == "list":
        _list(chosen, arguments)
    elif task == "check":
        _check(arguments)
    else:
        _report(arguments)


def _parser() -> Parser:
    parser = Parser("reproduce", HELP)
    parser.add_argument("rows", metavar="ROW", nargs="*", help="a row, or the beginning of the names of several")
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument("--list", action="store_true", help="list the rows and how they stand")
    instead.add_argument("--report", action="store_true", help="write the HTML page and the tables of the document")
    instead.add_argument("--check", action="store_true", help="check results, tables and figures against each other")
    parser.add_argument("--json", action="store_true", help="print the list as JSON, after a run too")
    parser.add_argument("--seed", type=whole_number, help="the seed (1)")
    parser.add_argument("--max_time", metavar="TIME", help="stop cleanly after this long (90s, 9m, 2h)")
    parser.add_argument("--jobs", type=whole_number, help="how many side by side (one a core; on a GPU 4)")
    parser.add_argument("--threads", type=whole_number, help="CPU threads of each (1)")
    parser.add_argument(
        "--again", action="store_true", help="train anew what another version, or other settings, trained"
    )
    parser.add_argument("--runs", type=path_of, default=Path("runs"), help="where the run folders lie (runs)")
    parser.add_argument("--results", type=path_of, default=RESULTS, help="where the ledger lies (results)")
    parser.add_argument(
        "--document",
        type=path_of,
        action="append",
        help="the Markdown file whose tables to rewrite (reproduction.md, methods.md in docs; of other results: none)",
    )
    parser.add_argument("--page", type=path_of, help="where --report writes the page (RUNS/report.html)")
    parser.add_argument("--one", action="store_true", help="run in this process and leave the document alone")
    return parser


def _list(rows: list[Row], arguments: Namespace) -> None:
    from wordtie.reproduction.ledger.ledger import read_sound
    from wordtie.reproduction.ledger.status import states
    from wordtie.reproduction.render.tables import listing

    entries, problems = read_sound(arguments.results)
    for problem in problems:
        print(problem, file=sys.stderr)
    found = states(entries, arguments.runs, rows)
    if arguments.json:
        print_json([state.as_json() for state in found])
    else:
        print(listing(found))


def _check(arguments: Namespace) -> None:
    from wordtie.reproduction.ledger.ledger import LedgerError
    from wordtie.reproduction.render import word_vectors_table
    from wordtie.reproduction.render.document import DOCUMENTS, check

    documents = _documents(arguments)
    problems = check(documents, arguments.results)
    if documents == list(DOCUMENTS) and not problems:
        documents.append(word_vectors_table.DOCUMENT)
        problems = word_vectors_table.check(word_vectors_table.DOCUMENT, arguments.results / word_vectors_table.RESULTS)
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        raise LedgerError(f"{len(problems)} of results, tables and figures do not stand as the program wrote them")
    print(f"{', '.join(map(str, [arguments.results, *documents]))}: all stands as the program wrote it")


def _report(arguments: Namespace) -> None:
    from wordtie.reproduction.ledger.ledger import LedgerError, read_all
    from wordtie.reproduction.ledger.status import states
    from wordtie.reproduction.render import word_vectors_table
    from wordtie.reproduction.render.document import update
    from wordtie.reproduction.render.page import page
    from wordtie.storage.atomic import write_text

    if arguments.results != RESULTS and not arguments.results.is_dir():
        raise LedgerError(f"{arguments.results}: no such folder")
    vectors = word_vectors_table.tables(arguments.results / word_vectors_table.RESULTS)
    path = arguments.page or arguments.runs / "report.html"
    write_text(path, page(states(read_all(arguments.results), arguments.runs, of_papers()), vectors))
    print(path)
    for document in _documents(arguments):
        if update(document, arguments.results):
            print(document)
        elif arguments.document:
            raise LedgerError(f"{document}: missing, or without the markers that tables are written between")


def _documents(arguments: Namespace) -> list[Path]:
    """Those whose tables are kept: what is said in `docs/` is said of the results beside it alone."""
    from wordtie.reproduction.render.document import DOCUMENTS

    own = arguments.results.resolve() == RESULTS.resolve()
    return arguments.document or (list(DOCUMENTS) if own else [])


def _run(chosen: list[Row], arguments: Namespace) -> None:
    """Those of the rows that can be run here; one in this process, several, or any for a time, in the queue."""
    from wordtie.reproduction.running.batch import run_many, runnable
    from wordtie.reproduction.running.run_row import Place, run_row

    seconds = parse_time(arguments.max_time, "--max_time") if arguments.max_time else math.inf
    seed, threads = arguments.seed or 1, arguments.threads or 1
    place = Place(arguments.runs, arguments.results, threads, seconds, arguments.again)
    rows = runnable(chosen, named_in_full=arguments.rows, results=arguments.results)
    if arguments.one and len(rows) > 1:
        raise UsageError(f"--one runs a single row: name one in full, such as {rows[0].name}")
    try:
        if arguments.one or (len(rows) == 1 and not arguments.max_time):
            outcome = run_row(rows[0], seed, place)
            print(f"{rows[0].name}: {outcome}", file=sys.stderr)
        else:
            run_many(rows, seed, place, arguments.jobs or _places(threads))
    finally:
        if not arguments.one:
            _after(rows, arguments)
        elif arguments.json:
            _list(rows, arguments)


def _places(threads: int) -> int:
    """How many runs fit side by side."""
    import torch

    from wordtie.runs.provenance import cores

    return SIDE_BY_SIDE_ON_A_GPU if torch.cuda.is_available() else max(1, cores() // threads)


def _after(rows: list[Row], arguments: Namespace) -> None:
    """Bring the documents up to date, unless a result is damaged, and show how the rows stand now.

    What hinders it is said, and takes nothing from the runs, nor from what one of them may have to say.
    """
    from wordtie.reproduction.ledger.ledger import read_sound
    from wordtie.reproduction.render.document import update

    _, problems = read_sound(arguments.results)
    for document in [] if problems else _documents(arguments):
        try:
            if not update(document, arguments.results) and arguments.document:
                print(f"{document} is missing, or without the markers that tables are written between", file=sys.stderr)
        except (ImportError, WordtieError) as error:
            hint = "`wordtie reproduce --report` does it"
            print(f"{document} is not brought up to date: {error}; {hint}", file=sys.stderr)
    _list(rows, arguments)
