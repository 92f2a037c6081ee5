"""The worked example of docs/how-to/reading-times.md: UCL reading times, models of film reviews, and what choices change.

    python -m benchmarks.reading_times build/reading-times > results/bench/reading-times.tsv

The folder receives the text, the reading times in reading order and the trained models; what is there already is kept.
Both corpora are looked for in `$WORDTIE_DATA`: `imdb` (Maas et al. 2011) and `ucl-reading` (Frank et al. 2013; de Varda
et al. 2023), neither of which may be passed on with this repository.
"""

from __future__ import annotations

import csv
import gzip
import os
import sys
from dataclasses import replace
from pathlib import Path

from wordtie.config import DataSettings
from wordtie.config.ngram import NgramSettings
from wordtie.data.sentences import sentences
from wordtie.inference.mix import mix
from wordtie.training.ngrams import train_ngrams
from wordtie.training.plan import plan
from wordtie.training.train import train

WORDS = {"valid": 100_000, "test": 100_000, "train": 5_000_000}
"""Words of each split, taken from the reviews in this order."""
VOCABULARY = 30_000
SECONDS = 600.0
"""For the training of one network."""
SEEDS = (1, 2)


def main(folder: Path) -> None:
    """Prepare, train, and print the table."""
    data = Path(os.environ["WORDTIE_DATA"])
    folder.mkdir(parents=True, exist_ok=True)
    write_text(data / "imdb" / "train_unsup.tsv.gz", folder / "reviews")
    write_words(data / "ucl-reading" / "all_measures.csv", folder / "words.tsv")
    train_models(folder)


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
        writer.writerow(["item", "word", "self_paced", "first_pass"])
        for row in rows:
            if row["context_length"] == "1":
                writer.writerow([row["sent_id"], row["sentence"].split()[0], "", ""])
            writer.writerow([row["sent_id"], row["word"], row["self_paced_reading_time"], row["RTfirstpass"]])


def train_models(folder: Path) -> None:
    """An n-gram model, a network for each seed, and the mixture of the n-grams with the first of them."""
    data = {"corpus": str(folder / "reviews"), "vocabulary_size": VOCABULARY}
    if not (folder / "ngram").exists():
        train_ngrams(NgramSettings(DataSettings(**data)), folder / "ngram")  # type: ignore[arg-type]
    missing = [seed for seed in SEEDS if not (folder / f"network-{seed}").exists()]
    if missing:
        settings = plan(folder / "reviews", seconds=SECONDS, vocabulary_size=VOCABULARY)
        for seed in missing:
            train(replace(settings, training=replace(settings.training, seed=seed)), folder / f"network-{seed}")
    if not (folder / "mixture").exists():
        mix([folder / "network-1", folder / "ngram"], folder / "mixture")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
