"""`wordtie curves`: loss, validation perplexity, learning rate and words per second of runs."""

from __future__ import annotations

from wordtie.commands._shared import Parser, UsageError, print_json, print_tsv
from wordtie.config.paths import path_of
from wordtie.console import say
from wordtie.runs.curves import Point, read_curves
from wordtie.runs.curves_figure import check_format, draw_curves

HELP = """\
Draw the curves of runs, finished or in training.

They are training loss, validation perplexity, learning rate and words per second. Without --out it prints a table, one
line for each line of metrics.jsonl:
  loss              nats per training word since the line before; epoch_loss: since the epoch began
  valid_perplexity  at a validation, as is epoch_loss
  words_per_second  since the line before, without the time of validation

examples:
  wordtie curves runs/novel --out curves.svg
  wordtie curves runs/tied runs/untied --out curves.png
  wordtie curves runs/tied runs/untied > curves.tsv
"""
COLUMNS = ("run", "epoch", "window", "tokens", "seconds", "loss", "epoch_loss", "valid_perplexity", "valid_bleu",
           "rate", "words_per_second")  # fmt: skip


def main(argv: list[str]) -> None:
    """Read the curves, then draw or print them."""
    parser = Parser("curves", HELP, usage="wordtie curves RUN ... [--out FIGURE [--against AXIS] | --json]")
    parser.add_argument("runs", metavar="RUN", nargs="+", help="a run folder")
    parser.add_argument("--out", metavar="FIGURE", help="draw: .svg, .png or .pdf (needs matplotlib)")
    parser.add_argument(
        "--against", choices=["tokens", "seconds"], help="what curves are drawn against (tokens, if all runs know them)"
    )
    parser.add_argument("--json", action="store_true", help="print a JSON list with all points of each run")
    arguments = parser.parse_args(argv)

    if arguments.json and arguments.out:
        raise UsageError("--json prints the points and --out draws them: leave one of them out")
    if arguments.against and not arguments.out:
        raise UsageError("--against is for a figure: add --out FIGURE, or leave it out")
    if arguments.out:
        check_format(path_of(arguments.out))
    curves = [read_curves(run) for run in arguments.runs]
    say(f"{run['folder']}: {run['state']}: {run['why']}" for run in curves if run["why"])
    bare = [run["folder"] for run in curves if run["state"] == "finished" and not run["points"]]
    if not arguments.out or len(bare) < len(curves):  # else the error of the figure says so
        say(f"{folder}: has no curves: it was not trained step by step" for folder in bare)
    if arguments.out:
        draw_curves(curves, arguments.out, arguments.against)
    elif arguments.json:
        print_json(curves)
    else:
        print_tsv(COLUMNS, (_row(run["folder"], point) for run in curves for point in run["points"]))


def _row(run: str, point: Point) -> dict[str, object]:
    """Return a point as a row; the learning rate may be far smaller than six decimals show."""
    rate = point["rate"]
    return {**point, "run": run, "rate": None if rate is None else f"{rate:.6g}"}
