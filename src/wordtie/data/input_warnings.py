"""Notes on text that a model reads otherwise than its writer may expect."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from wordtie.console import amount
from wordtie.data.reading import BLOCK, Source, opened
from wordtie.data.sentences import go_on
from wordtie.data.table import columns_of, listed
from wordtie.data.tokenizer import Tokenizer
from wordtie.data.vocabulary import EOS, UNK
from wordtie.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from wordtie.data.token_file import PreparedData

SAMPLE = 200
"""Lines of a text that are examined."""
STRAIGHT = str.maketrans("’‘“”", "''\"\"")
CURLED, OPENED = str.maketrans("'\"", "’”"), str.maketrans("'\"", "‘“")
MARKS = ".,;:?!\"'“”‘’«»()[]…"


def beginning(path: Path) -> list[str]:
    """Return the first lines of a file, at most one block of it."""
    with opened(Source(path)) as handle:
        return handle.read(BLOCK).decode("utf-8-sig", "ignore").split("\n")[:SAMPLE]


def misread(tokenizer: Tokenizer, lines: Sequence[str]) -> list[str]:
    """Return all notes on single lines and words."""
    return unknown_forms(tokenizer, lines) + written_ends(tokenizer, lines)


def of_text(tokenizer: Tokenizer, lines: Sequence[str]) -> list[str]:
    """Return all notes on the beginning of a text that is measured as a whole."""
    return misread(tokenizer, lines) + blank_lines(tokenizer, lines)


@dataclass(frozen=True)
class Form:
    """Another way to write words."""

    rewrite: Callable[[str], Iterable[str]]
    """Function from a word to its other forms."""
    why: str
    hint: str


PUNCTUATION = Form(
    lambda word: [word.strip(MARKS)],
    "their punctuation",
    "the model takes text that is tokenised already: part the marks from the words with blanks, as its training text "
    "does",
)
FORMS = (
    Form(
        lambda word: [word.translate(table) for table in (STRAIGHT, CURLED, OPENED)],
        "their quotation marks",
        "the text that the model was trained on has others: write them as it does",
    ),
    Form(
        lambda word: [word.lower()],
        "their capitals",
        "the model knows them in lower case: write them so, or train with --lowercase true",
    ),
    Form(
        lambda word: [unicodedata.normalize(form, word) for form in ("NFC", "NFD")],
        "how letters and marks are composed",
        "write them in the Unicode form that the training text has, NFC or NFD",
    ),
)


def unknown_forms(tokenizer: Tokenizer, lines: Sequence[str]) -> list[str]:
    """Return notes on words that the model does not know, but would in another form."""
    notes, unknown = [], _unknown(tokenizer, lines)
    for form in (PUNCTUATION, *FORMS) if tokenizer.tokenisation.kind == "space" else FORMS:
        found = [word for word in unknown if any(other in tokenizer.vocabulary for other in form.rewrite(word))]
        notes += [f"unknown because of {form.why}: {_named(found)}; {form.hint}"] if found else []
    return notes


def of_phrases(tokenizer: Tokenizer, phrases: Sequence[str]) -> list[str]:
    """Return all notes on phrases: why words in them are unknown, or else which words are."""
    unknown = _unknown(tokenizer, phrases)
    plain = [f"not in the vocabulary, read as {UNK}: {_named(unknown)}"] if unknown else []
    return unknown_forms(tokenizer, phrases) or plain


def _unknown(tokenizer: Tokenizer, lines: Sequence[str]) -> list[str]:
    """Return the words that the model does not know, each once."""
    words = dict.fromkeys(word for line in lines for word in tokenizer.words(line))
    return [word for word in words if word not in tokenizer.vocabulary]


def _named(words: Sequence[str]) -> str:
    return f"{' '.join(words[:5])}{' ...' if len(words) > 5 else ''}"


def several_sentences(tokenizer: Tokenizer, lines: Sequence[str]) -> list[str]:
    """Return a note if lines hold several sentences: a model of one per line expects `<eos>` after each of them."""
    several = [line for line in lines if go_on(line)] if tokenizer.sentences else []
    holds = "holds" if len(several) == 1 else "hold"
    return [
        f"{_first(len(several), lines)} {holds} several sentences; if the model was trained on one a line, it expects "
        "<eos> where they go on: put each on a line of its own (`wordtie surprisal --help` says how context is kept)"
    ] if several else []  # fmt: skip


def refuse_single_words(tokenizer: Tokenizer, cells: Sequence[str], where: str, column: str) -> None:
    """Raise `DataError` if several cells of a column are a single word each: scored as lines, each is a sentence.

    A cell without white space may be a sentence all the same, in Chinese say, so the tokenizer's words count, too.
    """
    if len(cells) < 2 or any(len(cell.split()) != 1 for cell in cells):
        return
    words = [sum(any(map(str.isalnum, word)) for word in tokenizer.words(cell)) for cell in cells]
    if sum(count < 2 for count in words) > len(cells) / 2:
        raise DataError(
            f"{where}: column {column} has one word a row, and each would be scored as a sentence: give it with "
            "--words, and the columns that tell sentences apart with --by"
        )


def refuse_table(name: str, lines: Sequence[str]) -> None:
    """Raise `DataError` if a file that is to be scored as text is a table: its header would be a sentence."""
    if columns := _columns(name, lines):
        raise DataError(
            f"{name}: looks like a table with the columns {columns}: name the one to score with --column, or with "
            "--words and --by if it holds one word per row; if it is text, give its name another ending, such as .txt"
        )


def of_table(name: str, lines: Sequence[str]) -> list[str]:
    """Return a note if a file that is read as text looks like a table."""
    if columns := _columns(name, lines):
        return [f"{name} looks like a table with the columns {columns}: all of it is read as text; give the text alone"]
    return of_columns(name, lines)


def of_columns(name: str, lines: Sequence[str]) -> list[str]:
    """Return a note if lines have the same number of tabs, or of commas in a .csv file: they may be rows of a table."""
    rows = [line for line in lines if line.strip()]
    for mark, noun in (("\t", "tab"), (",", "comma"))[: 1 + (".csv" in name.lower())]:
        counts = {line.count(mark) for line in rows}
        if len(rows) > 1 and len(counts) == 1 and (count := counts.pop()):
            return [
                f"{name}: each of the first {len(rows):,} lines has {amount(count, noun)}, as in a table, and all of "
                "it is read as text: if it is a table, `wordtie surprisal --help` says how one of its columns is scored"
            ]
    return []


def _columns(name: str, lines: Sequence[str]) -> str:
    return listed(columns_of(name, next(filter(str.strip, lines), "")))


def blank_lines(tokenizer: Tokenizer, lines: Sequence[str]) -> list[str]:
    """Return a note if a text that is scored as a whole has blank lines, each of which is an `<eos>`."""
    blank = sum(not line.strip() for line in lines[:-1]) if tokenizer.sentences and any(map(str.strip, lines)) else 0
    return [
        f"{_first(blank, lines)} {'is' if blank == 1 else 'are'} blank, and a blank line is a sentence without words: "
        "take out those that only part paragraphs"
    ] if blank else []  # fmt: skip


def written_ends(tokenizer: Tokenizer, lines: Sequence[str]) -> list[str]:
    """Return a note if a text contains `<eos>`: its line end is a second one, which is easy to predict."""
    ends = sum(EOS in tokenizer.words(line) for line in lines) if tokenizer.sentences else 0
    return [
        f"{_first(ends, lines)} {'has' if ends == 1 else 'have'} {EOS}, beside the one that each line end is: take it "
        "out, or the perplexity is lower than that of the text"
    ] if ends else []  # fmt: skip


def _first(found: int, lines: Sequence[str]) -> str:
    """`2 of the first 200 lines`, of those that were examined."""
    return f"{found:,} of the first {len(lines):,} lines" if len(lines) > 1 else "the first line"


def training_text_warnings(data: PreparedData) -> list[str]:
    """Return notes on what may not be intended in the texts of a training."""
    from wordtie.data.catalogue import CATALOGUE  # commands on a few words do without

    ids, vocabulary = data.train, data.vocabulary
    found = []
    if not (ids == vocabulary.unk_id).any():
        every_word = data.info.made_from.settings["min_count"] == 1
        hint = ": with --min-count 2 it is learnt from rare words" if every_word else ""
        found.append(
            f"<unk> does not occur in the training text, so the model's scores of unknown words mean nothing{hint}"
        )
    if data.info.corpus in CATALOGUE:
        return found
    found += equal_texts(data.info.corpus, data.texts)
    paths = map(Path, data.info.made_from.files)
    if written := [f"{path}: {note}" for path in paths for note in written_ends(data.tokenizer, beginning(path))]:
        return found + written
    splits = {"training": ids, "validation": data.valid, "test": data.test}
    return found + [note for name, split in splits.items() for note in _blank_in(name, split == vocabulary.eos_id)]


def equal_texts(corpus: str, texts: Mapping[str, str]) -> list[str]:
    """Return notes on splits with the same text; `texts` are the SHA-256 of each."""
    notes = []
    if texts["valid"] == texts["train"]:
        notes.append(
            f"{corpus}: the validation text is the training text, so its perplexity says nothing about other texts, "
            "training does not stop in time, and n-grams get too much weight: give another validation text"
        )
    if texts["test"] == texts["train"]:
        notes.append(
            f"{corpus}: the test text is the training text, so its perplexity says nothing about other texts: give "
            "another test text"
        )
    elif texts["test"] == texts["valid"]:
        notes.append(
            f"{corpus}: the test text is the validation text, on which training chooses, so its perplexity is lower "
            "than that of other texts: give another test text"
        )
    return notes


def _blank_in(text: str, ends: NDArray[np.bool_]) -> list[str]:
    """Return a note if lines have no words; `ends` marks the places of their `<eos>`."""
    blank = int((ends[1:] & ends[:-1]).sum())
    return [
        f"{blank:,} of {int(ends.sum()):,} lines of the {text} text {'is' if blank == 1 else 'are'} blank, and a blank "
        "line is a sentence without words: take out those that only part paragraphs"
    ] if blank else []  # fmt: skip
