"""What a text has that a model reads otherwise than its writer may think."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from wordtie.text.reading import BLOCK, Source, opened
from wordtie.text.sentences import go_on
from wordtie.text.tokenizer import Tokenizer
from wordtie.text.vocabulary import EOS, UNK

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
    return unknown_forms(tokenizer, lines) + written_ends(tokenizer, lines)


def of_text(tokenizer: Tokenizer, lines: Sequence[str]) -> list[str]:
    """All that can be said of the beginning of a text that is measured as a whole."""
    return misread(tokenizer, lines) + blank_lines(tokenizer, lines)


def unknown_forms(tokenizer: Tokenizer, lines: Sequence[str]) -> list[str]:
    """Notes on words that the model does not know, but would in another form."""
    return [note for look in (hanging_marks, other_marks, other_letters) for note in look(tokenizer, lines)]


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


def other_letters(tokenizer: Tokenizer, lines: Sequence[str]) -> list[str]:
    """Notes where words are unknown that are known in lower case, or with letters and marks composed otherwise."""
    capitals = _unknown(
        tokenizer,
        lines,
        lambda word: [word.lower()],
        "their capitals",
        "the model knows them in lower case: write them so, or train with --data.lowercase true",
    )
    composed = _unknown(
        tokenizer,
        lines,
        lambda word: [unicodedata.normalize(form, word) for form in ("NFC", "NFD")],
        "how letters and marks are composed",
        "write them in the Unicode form that the training text has, NFC or NFD",
    )
    return capitals + composed


def of_phrases(tokenizer: Tokenizer, phrases: Sequence[str]) -> list[str]:
    """All that can be said of phrases: why words in them are unknown, or else which are."""
    unknown = [word for word in _words(tokenizer, phrases) if word not in tokenizer.vocabulary]
    plain = [f"not in the vocabulary, read as {UNK}: {_named(unknown)}"] if unknown else []
    return unknown_forms(tokenizer, phrases) or plain


def _words(tokenizer: Tokenizer, lines: Sequence[str]) -> Iterable[str]:
    """Each once."""
    return dict.fromkeys(word for line in lines for word in tokenizer.words(line))


def _unknown(
    tokenizer: Tokenizer, lines: Sequence[str], forms: Callable[[str], list[str]], why: str, mend: str
) -> list[str]:
    """A note where words are unknown of which another form is known."""
    known = tokenizer.vocabulary
    unknown = [word for word in _words(tokenizer, lines) if word not in known]
    found = [word for word in unknown if any(form in known for form in forms(word))]
    return [f"unknown because of {why}: {_named(found)}; {mend}"] if found else []


def _named(words: Sequence[str]) -> str:
    return f"{' '.join(words[:5])}{' ...' if len(words) > 5 else ''}"


def several_sentences(tokenizer: Tokenizer, lines: Sequence[str]) -> list[str]:
    """A note where lines hold several sentences: a model of one a line expects `<eos>` where they go on."""
    several = [line for line in lines if go_on(line)] if tokenizer.sentences else []
    return [
        f"{len(several):,} of the first {len(lines):,} lines hold several sentences; if the model was trained on one "
        "a line, it expects <eos> where they go on: put each on a line of its own (`wordtie surprisal --help` says how "
        "context is kept)"
    ] if several else []  # fmt: skip


def blank_lines(tokenizer: Tokenizer, lines: Sequence[str]) -> list[str]:
    """A note where a text that is scored as one has blank lines, each of them an `<eos>`."""
    blank = sum(not line.strip() for line in lines[:-1]) if tokenizer.sentences and any(map(str.strip, lines)) else 0
    return [
        f"{blank:,} of the first {len(lines):,} lines are blank, each a sentence without words: take them out where "
        "they only part paragraphs"
    ] if blank else []  # fmt: skip


def written_ends(tokenizer: Tokenizer, lines: Sequence[str]) -> list[str]:
    """A note where a text writes `<eos>` itself: the line end is another, which is then no news."""
    ends = sum(EOS in tokenizer.words(line) for line in lines) if tokenizer.sentences else 0
    return [
        f"{ends:,} of the first {len(lines):,} lines have {EOS} in them, beside the one that each line end is: take it "
        "out, or the perplexity is lower than that of the text"
    ] if ends else []  # fmt: skip
