"""Build the model `en` that comes with wordtie: text, training, 8 bits, and its card.

The text is what may be redistributed: WikiText-2 (CC BY-SA 3.0) and the State of the Union addresses (public domain),
one sentence a line. WikiText-2's tokenisation is undone first ("real @-@ time", "don 't"), so that the model reads raw
text; its `<unk>` stay. Each step leaves a folder and is skipped if that is there; a training that was stopped resumes.
"""

from __future__ import annotations

import argparse
import itertools
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from wordtie import cli
from wordtie.config import DataSettings
from wordtie.data.catalogue import locate
from wordtie.data.reading import opened
from wordtie.data.sentences import sentences
from wordtie.inference.loading import LoadedModel, load
from wordtie.inference.pairs import accuracy, read_pairs, score_pairs
from wordtie.inference.surprisal import Reset
from wordtie.runs import ready
from wordtie.runs.layout import MODEL_FILES, RESULT
from wordtie.runs.result import read_result
from wordtie.runs.run_folder import read_language_model, write_language_model

SPLITS = ("train", "valid", "test")
CORPORA = ("wikitext-2", "sotu")
RECIPE = Path(__file__).with_suffix(".yaml")
CARD = Path(__file__).with_name("ready_model_card.md")
"""The card, with a name in braces for each number."""
BUILD = Path("build", "ready-model")
TESTS = {"wikitext-2": "WikiText-2, test", "sotu": "State of the Union, each 20th year"}
LINES = 1000
RESETS: tuple[Reset, Reset] = ("line", "never")
JOINED = ((re.compile(r" @([-,.])@ "), r"\1"), (re.compile(r" '(s|t|re|ve|ll|d|m)\b"), r"'\1"))
"""What the tokenisation of WikiText-2 took apart."""
SENTENCE_END = re.compile(r"(?<= [.!?]) (?=[A-Z\"'(<])")


def raw_sentences(paragraph: str) -> list[str]:
    """The sentences of a paragraph of WikiText-2, its words joined again; a heading has none.

    >>> raw_sentences(" It is a real @-@ time game . Players don 't wait . ")
    ['It is a real-time game .', "Players don't wait ."]
    >>> raw_sentences(" = = Gameplay = = ")
    []
    """
    text = paragraph.strip()
    if text.startswith("= ") and text.endswith(" ="):
        return []
    for pattern, replacement in JOINED:
        text = pattern.sub(replacement, text)
    return [each for each in SENTENCE_END.split(text) if each]


def lines_of(corpus: str, split: str) -> Iterator[str]:
    """The sentences of one split of a corpus."""
    for source in locate(corpus, download=True)[split]:
        with opened(source) as handle:
            for line in handle.read().decode("utf-8").splitlines():
                yield from raw_sentences(line) if corpus == "wikitext-2" else sentences(line)


def write_text(folder: Path) -> None:
    """`train.txt`, `valid.txt` and `test.txt`, a sentence a line, and a test text of each corpus."""
    folder.mkdir(parents=True)
    for split in SPLITS:
        texts = [list(lines_of(corpus, split)) for corpus in CORPORA]
        (folder / f"{split}.txt").write_text("\n".join(itertools.chain(*texts)) + "\n", encoding="utf-8")
        if split == "test":
            for corpus, text in zip(CORPORA, texts, strict=True):
                (folder / f"{corpus}.test.txt").write_text("\n".join(text) + "\n", encoding="utf-8")


def call(*arguments: str) -> None:
    """A wordtie command; ends the program if it fails."""
    if code := cli.main(arguments):
        sys.exit(code)


def train(text: Path, run: Path, *settings: str) -> None:
    """As `wordtie train` by the recipe beside this file, if it is not done; continues what was stopped."""
    if not (run / RESULT).is_file():
        print(f"== training {run.name}", file=sys.stderr)
        again = ["--resume"] if (run / "checkpoints").is_dir() else []
        recipe = ["--config", str(RECIPE), "--data.corpus", str(text), "--ngram", "none", *settings]
        call("train", *recipe, "--out", str(run), *again)


def second_stage(run: Path) -> list[str]:
    """Settings with which a model of running text learns to read a sentence by itself, too."""
    return [
        *("--training.start-from", str(run), "--training.reset-state", "true"),
        *("--training.tokens", "3000000", "--training.lr", "0.001"),
        *("--training.validations", "1", "--training.measured-tokens", "60000"),
    ]


def count(text: Path, run: Path, data: DataSettings) -> None:
    """A Kneser-Ney 5-gram model of the same text and words, to compare with."""
    size = ["--vocabulary-size", str(data.vocabulary_size)]
    call("ngram", str(text), "--lowercase", "true", "--tokenisation", "words", *size, "--out", str(run))


def write_ready(run: Path, out: Path) -> None:
    """The model in 8 bits. Its settings name text and first stage as this script does by default."""
    saved = read_language_model(run)
    data = replace(saved.settings.data, corpus=str(BUILD / "text"))
    training = replace(saved.settings.training, start_from=str(BUILD / "run"))
    settings = replace(saved.settings, data=data, training=training)
    write_language_model(out, replace(saved, settings=settings), eight_bits=True)


def blimp(model: LoadedModel, folder: Path) -> list[str]:
    """A row of the card for each set of minimal pairs, and one for all."""
    rows, everything = [], []
    for path in sorted(folder.glob("*.jsonl")):
        with path.open(encoding="utf-8") as lines:
            scores = score_pairs(model, read_pairs(lines, path.name))
        rows.append(accuracy(path.stem, scores))
        everything += scores
    rows.append(accuracy("all", everything))
    return [
        f"| {row.set} | {row.pairs:,} | {row.accuracy:.3f} | {row.ties} | {row.oov_pairs} | "
        f"{'–' if row.accuracy_without_oov is None else f'{row.accuracy_without_oov:.3f}'} |"
        for row in rows
    ]


def first_words(model: LoadedModel, text: Path) -> tuple[float, float]:
    """Bits of the first word of a line, on average: of each line by itself, and of running text."""
    lines = "".join(text.read_text(encoding="utf-8").splitlines(keepends=True)[:LINES])
    found = []
    for reset in RESETS:
        bits = [word.surprisal_bits for word in model.surprisal(lines, reset) if word.position == 1]
        found.append(sum(bits) / len(bits))
    return found[0], found[1]


def card(out: Path, stages: Sequence[Path], counted: Path, text: Path, pairs: Path) -> str:
    """The model card: every number in it is measured here."""
    model, whole, ngram = load(out), load(stages[-1]), load(counted)
    results = [result for run in stages if (result := read_result(run))]
    rows = []
    for name, label in TESTS.items():
        measured = [each.evaluate(text / f"{name}.test.txt") for each in (model, whole, ngram)]
        oov = measured[0].oov / (measured[0].tokens - measured[0].eos)
        figures = " | ".join(f"{each.perplexity:.1f}" for each in measured)
        rows.append(f"| {label} | {measured[0].tokens:,} | {oov:.1%} | {figures} |")
    alone, running = first_words(model, text / "wikitext-2.test.txt")
    before, _ = first_words(load(stages[0]), text / "wikitext-2.test.txt")
    size = sum((out / file).stat().st_size for file in MODEL_FILES)
    values = {
        "words": f"{len(model.tokenizer.vocabulary):,}",
        "parameters": f"{results[-1].parameters:,}",
        "megabytes": f"{size / 1e6:.1f}",
        "hidden": whole.network.settings.hidden,
        "embedding": whole.network.settings.embedding,
        "tokens": f"{sum(result.tokens_seen or 0 for result in results):,}",
        "minutes": f"{sum(result.seconds for result in results) / 60:.0f}",
        "lines": f"{LINES:,}",
        "first_alone": f"{alone:.1f}",
        "first_running": f"{running:.1f}",
        "first_before": f"{before:.1f}",
        "perplexities": "\n".join(rows),
        "blimp": "\n".join(blimp(model, pairs)),
    }
    return CARD.read_text(encoding="utf-8").format(**values)


def main() -> int:
    """Do each step that is not done yet."""
    parser = argparse.ArgumentParser("scripts/ready-model", description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--build", type=Path, default=BUILD, help=f"what is kept between calls ({BUILD})")
    parser.add_argument("--out", type=Path, default=ready.FOLDER / "en", help="where the model goes")
    parser.add_argument("--blimp", type=Path, default=Path("blimp"), help="BLiMP's JSONL files (blimp)")
    arguments = parser.parse_args()
    if not any(arguments.blimp.glob("*.jsonl")):
        parser.error(f"--blimp {arguments.blimp}: no *.jsonl there; github.com/alexwarstadt/blimp has them in data/")
    text, first, run, counted = (arguments.build / name for name in ("text", "run", "sentences", "ngram"))
    if not text.is_dir():
        print("== text", file=sys.stderr)
        write_text(text)
    train(text, first)
    train(text, run, *second_stage(first))
    print("== 8 bits", file=sys.stderr)
    write_ready(run, arguments.out)
    if not (counted / RESULT).is_file():
        count(text, counted, read_language_model(run).settings.data)
    print("== measures", file=sys.stderr)
    page = card(arguments.out, (first, run), counted, text, arguments.blimp)
    (arguments.out / "README.md").write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
