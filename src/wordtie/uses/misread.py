"""What a text has that a model reads otherwise than its writer may think."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from wordtie.text.reading import BLOCK, Source, opened
from wordtie.text.sentences import sentences
from wordtie.text.tokenizer import Tokenizer
from wordtie.text.vocabulary import EOS

SAMPLE = 200
"""Lines of a text that are looked at."""
STRAIGHT = str.maketrans("’‘“”", "''\"\"")
CURLED, OPENED = str.maketrans("'\"", "’”"), str.maketrans("'\"", "‘“")
MARKS = ".,;:?!\"'“”‘’«»()[]…"


def beginning(path: Path) -> list[str]:
    """The first lines of a file; of one without line ends, as much as is read at a time."""
    with opened(Source(path)) as handle:
        return handle.read(BLOCK).decode("utf-8", "ignore").split("\n")[:SAMPLE]


def misread(tokenizer: Tokenizer, lines: Sequence[str]) -> list[str]:
    """All that can be said of single lines and words."""
    return [note for look in (hanging_marks, other_marks, written_ends) for note in look(tokenizer, lines)]


def hanging_marks(tokenizer: Tokenizer, lines: Sequence[str]) -> list[str]:
    """A note where a model of tokenised text does not know words that it would know without their punctuation."""
    if tokenizer.tokenisation.kind != "space":
        return []
    return _unknown(
        tokenizer,
        lines,
        lambda word: [word.strip(MARKS)],
        "their punctuation",
        "the model takes text that is tokenised already: part the marks from the words with blanks, as its training "
        "text does",
    )


def other_marks(tokenizer: Tokenizer, lines: Sequence[str]) -> list[str]:
    """A note where words are unknown that are known with another kind of apostrophe or quotation marks."""
    return _unknown(
        tokenizer,
        lines,
        lambda word: [word.translate(table) for table in (STRAIGHT, CURLED, OPENED)],
        "their quotation marks",
        "the text that the model was trained on has others: write them as it does",
    )


def _unknown(
    tokenizer: Tokenizer, lines: Sequence[str], forms: Callable[[str], list[str]], why: str, mend: str
) -> list[str]:
    """A note where words are unknown of which another form is known."""
    known = tokenizer.vocabulary
    words = dict.fromkeys(word for line in lines for word in tokenizer.words(line))
    found = [word for word in words if word not in known and any(form in known for form in forms(word))]
    named = f"{' '.join(found[:5])}{' ...' if len(found) > 5 else ''}"
    return [f"unknown because of {why}: {named}; {mend}"] if found else []


def several_sentences(tokenizer: Tokenizer, lines: Sequence[str]) -> list[str]:
    """A note where lines hold several sentences: a model of one a line expects `<eos>` where they go on."""
    several = [line for line in lines if len(sentences(line)) > 1] if tokenizer.sentences else []
    return [
        f"{len(several):,} of the first {len(lines):,} lines hold several sentences; if the model was trained on one "
        "a line, it expects <eos> where they go on: put each on a line of its own (--reset blank keeps the context up "
        "to a blank line)"
    ] if several else []  # fmt: skip


def written_ends(tokenizer: Tokenizer, lines: Sequence[str]) -> list[str]:
    """A note where a text writes `<eos>` itself: the line end is another, which is then no news."""
    ends = sum(EOS in tokenizer.words(line) for line in lines) if tokenizer.sentences else 0
    return [
        f"{ends:,} of the first {len(lines):,} lines have {EOS} in them, beside the one that each line end is: take it "
        "out, or the perplexity is lower than that of the text"
    ] if ends else []  # fmt: skip
