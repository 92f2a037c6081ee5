"""Which way gets the best model of a text in the minutes given: ours and others, in turn, on the same two cores.

    python -m benchmarks.quality_in_minutes             trials, then all measurements, then table and figure
    python -m benchmarks.quality_in_minutes trials      choose each contender's settings, 2 minutes each
    python -m benchmarks.quality_in_minutes run --texts ptb,sotu --minutes 2
    python -m benchmarks.quality_in_minutes figure      from the rows that are there

All contenders read the same text with the same vocabulary, in which out-of-vocabulary words are one `<unk>`, and
predict the same test tokens, `<eos>` included, as one stream; of IMDb's test text, these are 250,000. Each has the same
time from the start of its process to a model on the disk. Perplexity is measured after that. Rows are added to
results/bench/quality-in-minutes.jsonl; what is there is not measured again, so that the command can be stopped at any
time and called again. `--threads 1 --clock cpu` compares settings on a busy machine: the time is then counted in
seconds of the contender's own process.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

from benchmarks.quality import page
from benchmarks.quality.choices import TRIAL_MINUTES, UntriedError, Way, choose, way_of_trials, with_chosen_settings
from benchmarks.quality.contenders import ADDED, CONTENDERS, OTHERS, Settings
from benchmarks.quality.goals import value
from benchmarks.quality.rows import ROWS, ROWS_OF_AVX2, Row, append, key_of, read
from benchmarks.quality.texts import GOAL_TEXTS, TEXTS, TRIAL_TEXTS
from benchmarks.quality.turn import FailedError, Turn, take
from wordtie.config import DataSettings
from wordtie.errors import WordtieError

PLAN: tuple[tuple[str, float], ...] = (
    *((text, 2.0) for text in GOAL_TEXTS),
    ("ptb-100k", 2.0),
    ("tatoeba-deu", 2.0),
    *((text, 10.0) for text in GOAL_TEXTS),
    ("imdb", 10.0),
    ("tatoeba-deu", 10.0),
    ("ptb", 60.0),
)
"""(text, minutes) of the measurements."""
LONG, LONG_BEFORE, LONG_OTHERS = 60.0, 10.0, 2
"""The longest time is for ours and the best others of a shorter one."""


def main(argv: Sequence[str] | None = None) -> int:
    """Measure what is missing, then draw."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality_in_minutes", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("what", nargs="?", choices=["trials", "run", "figure"], help="all three if not given")
    parser.add_argument("--texts", type=_names(TEXTS), help=f"some of {','.join(TEXTS)}")
    parser.add_argument("--minutes", type=_numbers, help="of the planned times, which")
    parser.add_argument("--contenders", type=_names(CONTENDERS), default=list(CONTENDERS))
    parser.add_argument("--seed", type=int, help="1 if not given, or as the trials began")
    parser.add_argument("--threads", type=int, help="2 if not given, or as the trials began")
    parser.add_argument("--clock", choices=["wall", "cpu"], help="wall if not given, or as the trials began")
    parser.add_argument("--most", type=int, default=sys.maxsize, help="stop after so many measurements")
    parser.add_argument("--rows", type=Path, default=ROWS, help="another file of rows; table and figure are not of it")
    given = parser.parse_args(argv)
    left = given.most
    try:
        if given.what in (None, "trials"):
            left -= measure(_trials(given), given.rows, left)
        if given.what in (None, "run"):
            for text, minutes in PLAN:
                if text in (given.texts or TEXTS) and minutes in (given.minutes or {minutes}):
                    left -= measure(_turns(given, text, minutes), given.rows, left)
        if given.what in (None, "figure"):
            print("written:", *page.write(read(given.rows), of_avx2=read(ROWS_OF_AVX2)), file=sys.stderr)
    except WordtieError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def measure(turns: Iterator[Turn], path: Path = ROWS, most: int = sys.maxsize) -> int:
    """Take the turns that have no row yet, and return how many; a contender that fails does not stop the others."""
    done, taken = {key_of(row) for row in read(path)}, 0
    for turn in turns:
        if key_of(turn.key()) in done:
            continue
        if taken == most:
            break
        taken += 1
        try:
            row = take(turn)
        except FailedError as error:
            print(f"failed: {error}", file=sys.stderr, flush=True)
            continue
        append(row, path)
        print(
            f"{turn.contender:16} {turn.text:12} {turn.minutes:3g} min  valid {row['valid']:7.2f}  "
            f"test {row['test']:7.2f}  mixed {row['mixed_test']:7.2f}  {dict(turn.settings)}",
            flush=True,
        )
    return taken


def _trials(given: argparse.Namespace) -> Iterator[Turn]:
    """Of the contenders that have something to choose. They take turns here, too."""
    most = max(len(CONTENDERS[name].settings) for name in given.contenders)
    for number in range(most):
        for text in TRIAL_TEXTS:
            if (data := _data(text)) is None or text not in (given.texts or TRIAL_TEXTS):
                continue
            for name in given.contenders:
                every = CONTENDERS[name].settings
                if 1 < len(every) > number:
                    way = _way(given, way_of_trials(read(given.rows), name))
                    yield Turn(name, text, data, TRIAL_MINUTES, every[number], *way)


def _turns(given: argparse.Namespace, text: str, minutes: float) -> Iterator[Turn]:
    """The measurements of a text at a time. Raises `UntriedError`."""
    if (data := _data(text)) is None:
        return
    rows = read(given.rows)
    names = given.contenders if minutes < LONG else ["ours", *best_others(rows, text)]
    for name in names:
        if name not in given.contenders:
            continue
        seed, threads, clock = _way(given)
        if CONTENDERS[name].kind == "command":  # the seconds of its process cannot be planned for
            clock = "wall"
        yield Turn(name, text, data, minutes, _settings(rows, name), seed, threads, clock)


def _settings(rows: Sequence[Row], name: str) -> Settings:
    """What the trials among these rows chose, or else those of the repository. Raises `UntriedError`."""
    try:
        return choose(rows, name)
    except UntriedError:
        return choose(read(ROWS), name)


def _way(given: argparse.Namespace, begun: Way | None = None) -> Way:
    """Seed, threads and clock: those given, those of the trials so far, or the usual ones."""
    seed, threads, clock = begun or (1, 2, "wall")
    return given.seed or seed, given.threads or threads, given.clock or clock


def best_others(rows: Sequence[Row], text: str) -> list[str]:
    """The others that were best on the validation text in less time, mixed; what is counted does not get better."""
    rows = with_chosen_settings(rows)
    trained = [name for name in (*OTHERS, ADDED) if name != "kneser-ney"]
    found = {name: value(rows, name, text, LONG_BEFORE, "mixed_valid") for name in trained}
    known = {name: each for name, each in found.items() if each is not None}
    return sorted(known, key=lambda name: known[name])[:LONG_OTHERS]


def _data(text: str) -> DataSettings | None:
    """None, and a line that says why, if the text is not here."""
    try:
        return TEXTS[text]()
    except WordtieError as error:
        print(f"skipped: {error}", file=sys.stderr, flush=True)
        return None


def _names(known: Collection[str]) -> Callable[[str], list[str]]:
    def names(given: str) -> list[str]:
        found = given.split(",")
        if unknown := set(found) - set(known):
            raise argparse.ArgumentTypeError(f"unknown: {', '.join(sorted(unknown))}")
        return found

    return names


def _numbers(given: str) -> set[float]:
    return {float(each) for each in given.split(",")}


if __name__ == "__main__":
    sys.exit(main())
