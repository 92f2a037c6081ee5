"""The worked example of docs/how-to/reading-times.md: UCL reading times, and models of film reviews.

    python -m benchmarks.reading_times build/reading-times

The folder receives the text, the reading times in reading order and the trained models; what is there already is kept.
The results go to results/bench/reading-times.tsv, and the table to the page. Both corpora are looked for in
`$WORDTIE_DATA`: `imdb` (Maas et al. 2011) and `ucl-reading` (Frank et al. 2013; de Varda et al. 2023), neither of
which may be passed on with this repository.
"""

from __future__ import annotations

import csv
import gzip
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks import names_given
from wordtie.cli import main as main_of_program
from wordtie.config import DataSettings
from wordtie.config.ngram import NgramSettings
from wordtie.data.sentences import sentences
from wordtie.inference.joined_table import Choice, read_joined
from wordtie.inference.mix import mix
from wordtie.inference.reading_times import analyse
from wordtie.inference.reading_times_figure import draw
from wordtie.reproduction.render import generated_blocks
from wordtie.training.ngrams import train_ngrams
from wordtie.training.plan import plan
from wordtie.training.train import train

WORDS = {"valid": 100_000, "test": 100_000, "train": 5_000_000}
"""Words of each split, taken from the reviews in this order."""
VOCABULARY = 30_000
SECONDS = 600.0
"""For one network, as `wordtie train --time` plans."""
SEEDS = (1, 2)


MODELS = {"network": ["network-1"], "mean of 2 networks": ["network-1", "network-2"], "n-gram": ["ngram"],
          "mixture": ["mixture"]}  # fmt: skip
CHOICES: dict[str, dict[str, Any]] = {
    "sum of the parts": {},
    "word only": {"surprisal": ("word_surprisal_bits",)},
    "sum, OOV dropped": {"oov": "drop"},
    "sum, OOV flagged": {"oov": "flag"},
    "word only, OOV dropped": {"surprisal": ("word_surprisal_bits",), "oov": "drop"},
    "sum, last word flagged": {"controls": ("last",)},
    "word only, last word flagged": {"surprisal": ("word_surprisal_bits",), "controls": ("last",)},
}
TIMES = {"self_paced": "Self-paced reading", "first_pass": "First-pass reading time, eye tracking"}
COLUMNS = ("choice", "model", "words", "gain", "se", "p", "r2", "delta r2", "beyond network", "beyond se", "beyond p")
PAGE = Path(__file__).parent.parent / "docs" / "how-to" / "reading-times.md"
BEGIN, END = "<!-- reading times: begin -->", "<!-- reading times: end -->"
FIGURE = PAGE.parent.parent / "figures" / "reading-times.svg"
RESULTS = Path(__file__).parent.parent / "results" / "bench" / "reading-times.tsv"


def main(folder: Path) -> None:
    """Prepare, train, analyse; write the results, and the table and the figure of the page."""
    data = Path(os.environ["WORDTIE_DATA"])
    folder.mkdir(parents=True, exist_ok=True)
    write_text(data / "imdb" / "train_unsup.tsv.gz", folder / "reviews")
    write_words(data / "ucl-reading" / "all_measures.csv", folder / "words.tsv")
    train_models(folder)
    for name, runs in MODELS.items():
        paths = [
            *(str(folder / run) for run in runs),
            str(folder / "words.tsv"),
            *(["--mean"] if len(runs) > 1 else []),
        ]
        asked = ["--words", "word", "--by", "item", "--spillover", "2", "--out", str(folder / f"{name}.tsv")]
        if main_of_program(["surprisal", *paths, *asked]):
            raise SystemExit(f"{name} was not scored")
    RESULTS.write_text("".join("\t".join(row) + "\n" for row in [COLUMNS, *rows(folder)]), encoding="utf-8")
    generated_blocks.replace(PAGE, BEGIN, END, table(RESULTS))
    drawn, _ = read_joined(tables(folder), Choice("self_paced", item="item", controls=("last",)))
    draw(drawn, analyse(drawn), FIGURE, "self-paced time, ms,")


def tables(folder: Path) -> list[tuple[str, list[str]]]:
    """What was found with each model, by its name, as lines."""
    return [(model, (folder / f"{model}.tsv").read_text(encoding="utf-8").splitlines()) for model in MODELS]


def rows(folder: Path) -> Iterator[tuple[str, ...]]:
    """A row for each reading time, choice and model."""
    for time in TIMES:
        for name, choice in CHOICES.items():
            data, _ = read_joined(tables(folder), Choice(time, item="item", **choice))
            result = analyse(data)
            for model, gain, beyond in zip(MODELS, result.gains, [None, *result.beyond_first], strict=True):
                found = (gain.gain.nats, gain.gain.standard_error, gain.gain.p, gain.r2, gain.delta_r2)
                more = (beyond.nats, beyond.standard_error, beyond.p) if beyond else ()
                cells = [f"{number:.5f}" for number in (*found, *more)]
                yield f"{time}: {name}", model, f"{result.words}", *cells, *[""] * (3 - len(more))


def table(results: Path) -> str:
    """The gains as Markdown, thousandths of a nat per word: a row for each choice, a column for each model."""
    with results.open(encoding="utf-8", newline="") as file:
        found = {(row["choice"], row["model"]): row for row in csv.DictReader(file, delimiter="\t")}
    lines = []
    for time, title in TIMES.items():
        lines += [f"| {title} | words | {' | '.join(MODELS)} |", f"| --- | ---: |{' ---: |' * len(MODELS)}"]
        for choice in CHOICES:
            of_models = [found[f"{time}: {choice}", model] for model in MODELS]
            cells = [f"{1000 * float(row['gain']):.1f} ± {1000 * float(row['se']):.1f}" for row in of_models]
            lines.append(f"| {choice} | {int(of_models[0]['words']):,} | {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines)


def write_text(reviews: Path, folder: Path) -> None:
    """Film reviews, one sentence a line, split into train.txt, valid.txt and test.txt."""
    if folder.exists():
        return
    folder.mkdir()
    with gzip.open(reviews, "rt", encoding="utf-8") as lines:
        for split, wanted in WORDS.items():
            with (folder / f"{split}.txt").open("w", encoding="utf-8") as file:
                while wanted > 0:
                    for paragraph in next(lines).rpartition("\t")[2].split("<br />"):
                        for sentence in sentences(paragraph):
                            file.write(f"{sentence}\n")
                            wanted -= len(sentence.split())


def write_words(measures: Path, path: Path) -> None:
    """One word per row in reading order, with the first word of each sentence, which has no reading time."""
    with measures.open(encoding="utf-8", newline="") as file:
        rows = sorted(csv.DictReader(file), key=lambda row: (int(row["sent_id"]), int(row["context_length"])))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t")
        writer.writerow(["item", "word", "last", "self_paced", "first_pass"])
        for row in rows:
            if row["context_length"] == "1":
                writer.writerow([row["sent_id"], row["sentence"].split()[0], 0, "", ""])
            last = int(int(row["context_length"]) == len(row["sentence"].split()) - 1)
            times = row["self_paced_reading_time"], row["RTfirstpass"]
            writer.writerow([row["sent_id"], row["word"], last, *times])


def train_models(folder: Path) -> None:
    """An n-gram model, a network for each seed, and the mixture of the n-grams with the first of them."""
    data = DataSettings(corpus=str(folder / "reviews"), vocabulary_size=VOCABULARY)
    if not (folder / "ngram").exists():
        train_ngrams(NgramSettings(data), folder / "ngram")
    missing = [seed for seed in SEEDS if not (folder / f"network-{seed}").exists()]
    if missing:
        settings = plan(folder / "reviews", seconds=SECONDS, vocabulary_size=VOCABULARY).settings
        for seed in missing:
            train(replace(settings, training=replace(settings.training, seed=seed)), folder / f"network-{seed}")
    if not (folder / "mixture").exists():
        mix([folder / "network-1", folder / "ngram"], folder / "mixture")


if __name__ == "__main__":
    main(Path(names_given(__doc__, 1)[0]))
