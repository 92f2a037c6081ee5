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
from wordtie.reproduction.papers.registry import ROWS, of_papers, select
from wordtie.reproduction.papers.row import Row

HELP = """\
Train the rows of the papers' tables, and list how they stand.

  wordtie reproduce list [ROW ...]    list the rows and their state
  wordtie reproduce run ROW ...       train rows, and bring the tables in docs/ up to date
  wordtie reproduce report            write one HTML page, and the tables in docs/
  wordtie reproduce check             compare results, tables and figures with each other

examples:
  wordtie reproduce list inan-2017                              every row of a paper, and its state
  wordtie reproduce run inan-2017/table-1/ptb-small-real        train one row
  wordtie reproduce run inan-2017/table-1/ptb-small --jobs 2    train a group, two at a time
  wordtie reproduce run press-wolf-2017 --max-time 9m           stop all cleanly after nine minutes; the same continues
  wordtie reproduce run inan-2017/table-1/ptb-small --seed 2    another seed: tables show mean and spread
  wordtie reproduce run methods/ptb-200 --jobs 2                compare the methods at one size: docs/methods.md

A row has the settings of a line of a published table; its result is compared with the published number. ROW is
the name of a row, or the beginning of the names of several. Every finished run is one JSON file under results/,
with its settings, machine, texts and numbers. `wordtie reproduce TASK --help` explains a task.
"""
LIST = """\
List the rows of the papers' tables and their state: published number, ours, and why a row is not run.
"""
RUN = """\
Train rows of the papers' tables.

A row that has a result for the same settings and text is not trained again. A run that was stopped continues from
its run folder. Rows that take a CPU days are left out if there is no GPU, unless they are named in full. The tables
in docs/ are brought up to date afterwards.
"""
REPORT = """\
Write one HTML page with every table and figure, and the tables in docs/.
"""
CHECK = """\
Check that results, tables and figures are as the program wrote them.
"""
SIDE_BY_SIDE_ON_A_GPU = 4
RESULTS = Path("results")


def main(argv: list[str]) -> None:
    """Hand the arguments to the task that they name."""
    tasks = {"list": _list_rows, "run": _run_rows, "report": _report, "check": _check}
    task, *rest = argv or ["list"]
    if task in ("-h", "--help"):
        print(HELP)
    elif task in tasks:
        tasks[task](rest)
    elif task.removeprefix("--") in tasks:
        raise UsageError(f"there is no {task}; did you mean `wordtie reproduce {task[2:]}`?")
    else:
        meant = f"`wordtie reproduce run {task}`" if any(name.startswith(task) for name in ROWS) else ""
        hint = f"did you mean {meant}?" if meant else f"give one of {', '.join(tasks)}; see `wordtie reproduce --help`"
        raise UsageError(f"`wordtie reproduce` has no task {task}; {hint}")


def _parser(task: str, help_text: str) -> Parser:
    """Make a parser with the options that the tasks share."""
    parser = Parser(f"reproduce {task}", help_text)
    if task != "check":
        parser.add_argument("--runs", type=path_of, default=Path("runs"), help="where the run folders are (runs)")
    parser.add_argument("--results", type=path_of, default=RESULTS, help="where the ledger is (results)")
    return parser


def _add_rows(parser: Parser) -> None:
    parser.add_argument("rows", metavar="ROW", nargs="*", help="a row, or the beginning of the names of several")
    parser.add_argument("--json", action="store_true", help="print the list as JSON")


def _add_document(parser: Parser) -> None:
    parser.add_argument(
        "--document",
        type=path_of,
        action="append",
        help="a Markdown file with the tables (reproduction.md and methods.md in docs; of other results: none)",
    )


def _list_rows(argv: list[str]) -> None:
    parser = _parser("list", LIST)
    _add_rows(parser)
    arguments = parser.parse_args(argv)
    _list(select(arguments.rows), arguments)


def run_parser() -> Parser:
    """Make the parser of `wordtie reproduce run`."""
    parser = _parser("run", RUN)
    _add_rows(parser)
    _add_document(parser)
    parser.add_argument("--seed", type=whole_number, default=1, help="the seed (1)")
    parser.add_argument("--max-time", metavar="TIME", help="stop cleanly after this long (90s, 9m, 2h)")
    parser.add_argument("--jobs", type=whole_number, help="how many side by side (one per core; on a GPU 4)")
    parser.add_argument("--threads", type=whole_number, default=1, help="CPU threads of each (1)")
    parser.add_argument("--again", action="store_true", help="retrain what another version or other settings trained")
    parser.add_argument("--one", action="store_true", help="run in this process and leave the tables alone")
    return parser


def _run_rows(argv: list[str]) -> None:
    arguments = run_parser().parse_args(argv)
    if not arguments.rows:
        raise UsageError("name a row or a group of rows; `wordtie reproduce list` shows all")
    _run(select(arguments.rows), arguments)


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


def _check(argv: list[str]) -> None:
    parser = _parser("check", CHECK)
    _add_document(parser)
    arguments = parser.parse_args(argv)

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


def _report(argv: list[str]) -> None:
    parser = _parser("report", REPORT)
    _add_document(parser)
    parser.add_argument("--page", type=path_of, help="where to write the page (RUNS/report.html)")
    arguments = parser.parse_args(argv)

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
    """Return the documents to update: those in `docs/` are about the results beside them."""
    from wordtie.reproduction.render.document import DOCUMENTS

    own = arguments.results.resolve() == RESULTS.resolve()
    return arguments.document or (list(DOCUMENTS) if own else [])


def _run(chosen: list[Row], arguments: Namespace) -> None:
    """Run those of the rows that can be run here: one in this process; several, or any with a time, in the queue."""
    from wordtie.reproduction.running.batch import run_many, runnable
    from wordtie.reproduction.running.run_row import Place, run_row

    seconds = parse_time(arguments.max_time, "--max-time") if arguments.max_time else math.inf
    place = Place(arguments.runs, arguments.results, arguments.threads, seconds, arguments.again)
    rows = runnable(chosen, named_in_full=arguments.rows, results=arguments.results)
    if arguments.one and len(rows) > 1:
        raise UsageError(f"--one runs a single row: name one in full, such as {rows[0].name}")
    try:
        if arguments.one or (len(rows) == 1 and not arguments.max_time):
            outcome = run_row(rows[0], arguments.seed, place)
            print(f"{rows[0].name}: {outcome}", file=sys.stderr)
        else:
            run_many(rows, arguments.seed, place, arguments.jobs or _places(arguments.threads))
    finally:
        if not arguments.one:
            _after(rows, arguments)
        elif arguments.json:
            _list(rows, arguments)


def _places(threads: int) -> int:
    """Return how many runs fit side by side."""
    import torch

    from wordtie.runs.provenance import cores

    return SIDE_BY_SIDE_ON_A_GPU if torch.cuda.is_available() else max(1, cores() // threads)


def _after(rows: list[Row], arguments: Namespace) -> None:
    """Bring the documents up to date, unless a result is damaged, and show how the rows stand now.

    A failure is reported and does not change the outcome of the runs.
    """
    from wordtie.reproduction.ledger.ledger import read_sound
    from wordtie.reproduction.render.document import update

    _, problems = read_sound(arguments.results)
    for document in [] if problems else _documents(arguments):
        try:
            if not update(document, arguments.results) and arguments.document:
                print(f"{document} is missing, or without the markers that tables are written between", file=sys.stderr)
        except (ImportError, WordtieError) as error:
            hint = "`wordtie reproduce report` does it"
            print(f"{document} is not brought up to date: {error}; {hint}", file=sys.stderr)
    _list(rows, arguments)
