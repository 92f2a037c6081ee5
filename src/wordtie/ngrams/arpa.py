r"""ARPA files: n-gram models as KenLM, SRILM and most decoders read them.

    \data\
    ngram 1=3

    \1-grams:
    -1.2041200<TAB>the<TAB>-0.3010300

    \end\

Probabilities and back-off weights are logarithms to base 10. `<s>` begins a sentence, `</s>`, here `<eos>`, ends it.
The format does not say how text becomes words. If wordtie wrote the file, a comment before `\data\` does; in any
other file, words are separated by white space.
"""

from __future__ import annotations

import json
import math
import re
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, TextIO

import numpy as np
from numpy.typing import NDArray

from wordtie.config.ngram import LONGEST
from wordtie.data.reading import Source, byte_blocks, decoded, opened
from wordtie.data.tokenisation import SPACE_PATTERN, Tokenisation, is_one_character, is_written_here
from wordtie.data.tokenizer import Tokenizer
from wordtie.data.vocabulary import EOS, UNK, Vocabulary
from wordtie.errors import DataError
from wordtie.ngrams.backoff import BackoffLevel, BackoffModel, levels_of, to_trie
from wordtie.ngrams.trie import Doubles, NgramTrie

START, END = "<s>", "</s>"
UNK_IN_CAPITALS = "<UNK>"
"""`<unk>` as some tools write it."""
SPECIAL = (START, END, UNK, UNK_IN_CAPITALS, EOS)
COMMENT = "# wordtie "
NEVER = -99.0
"""Log p, to base 10, of what is never predicted, by convention."""
LINES_AT_ONCE = 10_000
MOST_DIGITS = 18


def write_arpa(file: TextIO, model: BackoffModel, tokenizer: Tokenizer) -> None:
    """Write the model to a file that is open for text.

    If lines are not sentences, `<eos>` is an ordinary word, and `</s>` is never predicted. Raises `DataError` like
    `check_words`.
    """
    check_words(tokenizer)
    rule = tokenizer.tokenisation
    about: dict[str, Any] = {"tokenisation": rule.kind, "lowercase": rule.lowercase, "sentences": rule.sentences}
    if rule.composed != (rule.kind == "words"):  # as of models of earlier versions
        about["composed"] = bool(rule.composed)
    usual = Tokenisation(rule.kind, rule.lowercase, composed=rule.composed)
    for name in ("replaced", "pattern"):  # or of another Python, which has other tables of letters
        if getattr(rule, name) != getattr(usual, name):
            about[name] = getattr(rule, name)
    names = [END if word == EOS and model.eos_id is not None else word for word in tokenizer.vocabulary.words]
    names += [START] if model.eos_id is not None else [START, END]
    log_p = np.append(_log10(model.unigram), [NEVER] * (len(names) - len(model.unigram)))
    file.write(f"{COMMENT}{json.dumps(about)}\n\n\\data\\\nngram 1={len(names)}\n")
    file.writelines(f"ngram {level.order}={len(level.p_G)}\n" for level in model.levels)
    ids = np.arange(len(names), dtype=np.int32)[:, None]
    for order, above in enumerate([*model.levels, None], start=1):
        file.write(f"\n\\{order}-grams:\n")
        log_backoff = None if above is None else _log10(above.backoff_C)
        file.writelines(_lines(names, ids, log_p, log_backoff))
        if above is not None:
            ids, log_p = above.ids_GN, _log10(above.p_G)
    file.write("\n\\end\\\n")


def check_words(tokenizer: Tokenizer) -> None:
    """Raise `DataError` if a word of the vocabulary means something else in an ARPA file."""
    for word, meaning in ((START, "begin"), (END, "end")):
        if word in tokenizer.vocabulary:
            what = f"{word} is a word of the model, and ARPA files {meaning} sentences with it"
            raise DataError(f"{what}: train on a text without {word}")


def _lines(
    names: Sequence[str], ids_GN: NDArray[Any], log_p_G: Doubles, log_backoff_G: Doubles | None
) -> Iterator[str]:
    """Yield the n-grams of one order; the highest has no back-off weights, nor has `</s>` at the end of the words."""
    for first in range(0, len(ids_GN), LINES_AT_ONCE):
        here = slice(first, first + LINES_AT_ONCE)
        ids, log_p = ids_GN[here].tolist(), log_p_G[here].tolist()
        weights = [] if log_backoff_G is None else [f"\t{each:.8g}" for each in log_backoff_G[here].tolist()]
        weights += [""] * (len(ids) - len(weights))
        for words, p, weight in zip(ids, log_p, weights, strict=True):
            yield f"{p:.8g}\t{' '.join(map(names.__getitem__, words))}{weight}\n"


def _log10(values: Doubles) -> Doubles:
    with np.errstate(divide="ignore"):
        return np.maximum(np.log10(values), NEVER)


def read_arpa(path: Path) -> tuple[NgramTrie, Tokenizer]:
    """Read the model in a file, plain or .gz, and how it splits text.

    If the file lacks `<unk>` or `</s>`, they are added, with a log p of -99; `<UNK>` is `<unk>`. Raises `DataError`
    that names file and line.
    """
    with opened(Source(path)) as handle:
        lines = _NumberedLines(handle, str(path))
        about = _head(lines)
        counts = _counts(lines)
        number_of: dict[str, int] = {}
        sections = [_unigrams(lines, counts[0], number_of)]
        for name in SPECIAL:  # which a file need not list
            number_of.setdefault(name, len(number_of))
        for order, count in enumerate(counts[1:], 2):
            sections.append(_section(lines, order, count, number_of))
        if lines.next_with_text() != "\\end\\":
            lines.fail("is not \\end\\, and all n-grams are read: the counts at the beginning are wrong")
    return _model(str(path), list(number_of), sections, about)


class _NumberedLines:
    """Lines of a file, and the number of the last one read."""

    def __init__(self, handle: BinaryIO, name: str) -> None:
        self.name, self.number = name, 0
        self._lines = self._read(handle)

    def _read(self, handle: BinaryIO) -> Iterator[str]:
        for number, block in byte_blocks(handle, self.name, hint="is it an ARPA file?"):
            yield from decoded(block, self.name, number, begins=number == 1).removesuffix("\n").split("\n")

    def __iter__(self) -> Iterator[str]:
        for self.number, line in enumerate(self._lines, self.number + 1):  # noqa: B020
            yield line

    def next_with_text(self) -> str:
        """Return the next line that is not blank, without white space around it; empty at the end of the file."""
        return next((line.strip() for line in self if line.strip()), "")

    def fail(self, message: str) -> NoReturn:
        """Raise `DataError` for the last line read."""
        raise DataError(f"{self.name}, line {self.number}: {message}")


def _head(lines: _NumberedLines) -> dict[str, Any]:
    """Read what wordtie wrote before the counts, if it wrote the file."""
    about: dict[str, Any] = {}
    for line in lines:
        if line.strip() == "\\data\\":
            return about
        if line.startswith(COMMENT):
            try:
                about = dict(json.loads(line.removeprefix(COMMENT)))
            except (ValueError, TypeError):
                lines.fail("a comment of wordtie that is damaged: restore it, or delete the line")
    raise DataError(f"{lines.name}: has no line \\data\\: is it an ARPA file?")


def _counts(lines: _NumberedLines) -> list[int]:
    """Read the number of n-grams of each order."""
    counts: list[int] = []
    for line in lines:
        key, equals, count = line.strip().partition("=")
        if not line.strip():
            if counts:
                return counts
        elif key.split() == ["ngram", str(len(counts) + 1)] and equals and count.strip().isdecimal():
            if len(count.strip()) > MOST_DIGITS:
                lines.fail("promises more n-grams than any file has: fix the line")
            counts.append(int(count))
            if not counts[0]:
                lines.fail("promises no words at all: restore the file from a copy")
        else:
            lines.fail(f"is not `ngram {len(counts) + 1}=COUNT`: fix the line")
        if len(counts) > LONGEST:
            lines.fail(f"n-grams of more than {LONGEST} words are not read: write those up to an order of {LONGEST}")
    raise DataError(f"{lines.name}: ends after the counts: restore it from a copy")


@dataclass(frozen=True)
class _Section:
    """The n-grams of one order."""

    first_line: int
    place_GN: NDArray[np.int32]
    """Index of each word among the names: those of the 1-grams, and special ones."""
    p: Doubles
    backoff: Doubles


def _unigrams(lines: _NumberedLines, count: int, number_of: dict[str, int]) -> _Section:
    """Read the 1-grams, and number their words in `number_of`."""

    def place(word: str) -> int:
        if word in number_of:
            lines.fail(f"{word} comes twice among the 1-grams: fix the file")
        return number_of.setdefault(word, len(number_of))

    return _read_section(lines, 1, count, place)


def _section(lines: _NumberedLines, order: int, count: int, number_of: Mapping[str, int]) -> _Section:
    """Read a higher order. Words are kept as numbers: as strings, they would be many times the size of the file."""

    def place(word: str) -> int:
        if (number := number_of.get(word)) is None:
            lines.fail(f"{word} is not among the 1-grams: fix the file")
        return number

    return _read_section(lines, order, count, place)


def _read_section(lines: _NumberedLines, order: int, count: int, place: Callable[[str], int]) -> _Section:
    if lines.next_with_text() != f"\\{order}-grams:":
        lines.fail(f"is not \\{order}-grams: where {count:,} of them should begin: fix the counts or the line")
    first, numbers, places = (
        lines.number + 1,
        array("d"),
        array("i"),
    )  # which grow with what is read, not with what is promised
    for row, line in enumerate(lines if count else ()):
        fields = _fields(line)
        if len(fields) not in (order + 1, order + 2):
            form = "log p, " + ("a word" if order == 1 else f"{order} words") + " and a back-off weight"
            lines.fail(f"is not {form}, and the file promises {count:,} n-grams here: fix the counts or the line")
        places.extend(map(place, fields[1 : order + 1]))
        try:
            log_p, weight = float(fields[0]), float(fields[-1]) if len(fields) == order + 2 else 0.0
        except ValueError:
            lines.fail("log p or back-off weight is not a number: fix the line")
        if not log_p <= 1e-6:
            lines.fail(f"log p must be at most 0, got {fields[0]}: fix the line")
        if math.isnan(weight):
            lines.fail(f"the back-off weight must be a number, got {fields[-1]}: fix the line")
        numbers.extend((log_p, weight))
        if row + 1 == count:
            break
    else:
        if count:
            raise DataError(f"{lines.name}: ends among the {order}-grams: restore it from a copy")
    p, backoff = np.power(10.0, np.clip(np.frombuffer(numbers).reshape(-1, 2).T, NEVER, -NEVER))
    return _Section(first, np.array(places, np.int32).reshape(-1, order), p, backoff)


def _fields(line: str) -> list[str]:
    """Split a line at blanks and tabs: a word may contain other white space, such as a no-break space."""
    return line.split() if line.isascii() else [field for field in re.split("[ \t\r]+", line) if field]


def _model(
    name: str, names: Sequence[str], sections: Sequence[_Section], about: dict[str, Any]
) -> tuple[NgramTrie, Tokenizer]:
    unigrams = sections[0]
    spelt = names[: len(unigrams.p)]
    while not len(sections[-1].place_GN):  # some tools name orders of which there are no n-grams
        sections = sections[:-1]
    sentences = bool(about.get("sentences", True))
    meant = {END: EOS} if sentences else {}
    if sentences and END in spelt and EOS in spelt:
        both = f"{name}, line {unigrams.first_line + spelt.index(EOS)}: lists both {EOS} and {END}, which mean the same"
        raise DataError(f"{both} here: take {EOS} out of the training text")
    if UNK not in spelt:
        meant[UNK_IN_CAPITALS] = UNK
    known = [meant.get(word, word) for word in spelt if word not in (START, END) or word in meant]
    p_of = {meant.get(word, word): p for word, p in zip(spelt, unigrams.p.tolist(), strict=True)}
    known += [word for word in (EOS, UNK) if word not in known]
    try:
        vocabulary = Vocabulary(known)
        tokenisation = _tokenisation(about)
    except (ValueError, re.error) as error:
        raise DataError(f"{name}: {error}: fix the file") from error
    number_of = {word: number for number, word in enumerate(known)} | {START: len(known)}
    number_of |= {word: number_of[means] for word, means in meant.items()}
    id_P = np.array([number_of.get(word, -1) for word in names], np.int32)
    ids = [_ids(name, section, id_P, names) for section in sections[1:]]
    backoff_C = np.ones(len(known) + 1)
    for word, weight in zip(spelt, unigrams.backoff.tolist(), strict=True):
        if word in number_of:
            backoff_C[number_of[word]] = weight
    unigram = np.array([p_of.get(word, 10**NEVER) for word in known])
    levels: list[BackoffLevel] = []
    try:
        for number, (order, context_G) in enumerate(levels_of(ids, len(known))):
            section = sections[number + 1]
            levels.append(BackoffLevel(ids[number][order], context_G, section.p[order], backoff_C))
            backoff_C = section.backoff[order]
    except ValueError as error:
        number, row, what = error.args
        section = sections[number + 1]
        where = f"{name}, line {section.first_line + row}"
        words = " ".join(names[place] for place in section.place_GN[row])
        raise DataError(f"{where}: {words!r}: {what}: fix the file") from error
    trie = to_trie(BackoffModel(unigram, tuple(levels), vocabulary.eos_id if sentences else None))
    return trie, Tokenizer(tokenisation, vocabulary)


def _tokenisation(about: dict[str, Any]) -> Tokenisation:
    """Return how text becomes words. Raises `ValueError` or `re.error` for what wordtie does not write."""
    kind, pattern, replaced = about.get("tokenisation", "space"), about.get("pattern", ""), about.get("replaced")
    if kind not in ("space", "words"):
        raise ValueError(f"does not know the tokenisation {kind}")
    written = isinstance(pattern, str) and is_written_here(pattern) and (pattern == SPACE_PATTERN) == (kind == "space")
    if "pattern" in about and not written:
        raise ValueError("its pattern is not one that wordtie writes")
    if "replaced" in about and not (isinstance(replaced, list) and all(map(_is_replacement, replaced))):
        raise ValueError("what it replaces is not a list of characters, each with what takes its place")
    return Tokenisation(
        kind,
        lowercase=bool(about.get("lowercase", False)),
        sentences=bool(about.get("sentences", True)),
        pattern=pattern,
        composed=bool(about["composed"]) if "composed" in about else None,
        replaced=None if replaced is None else tuple((found, new) for found, new in replaced),
    )


def _is_replacement(pair: Any) -> bool:
    """Whether it is a pair of a regular expression for one character, and text."""
    return (
        isinstance(pair, list)
        and len(pair) == 2
        and all(isinstance(each, str) for each in pair)
        and is_one_character(pair[0])
    )


def _ids(name: str, section: _Section, id_P: NDArray[np.int32], names: Sequence[str]) -> NDArray[np.int32]:
    """Return the ids of a section's words, (G, n). Raises `DataError` for a word that is not among the 1-grams, or a
    start that does not begin an n-gram."""
    ids_GN = id_P[section.place_GN]
    start = np.array([word == START for word in names])[section.place_GN]
    start[:, 0] = False
    wrong = np.argwhere((ids_GN < 0) | start)
    if len(wrong):
        row, place = wrong[0].tolist()
        word = names[section.place_GN[row, place]]
        what = "can only begin an n-gram" if start[row, place] else "is not among the 1-grams"
        raise DataError(f"{name}, line {section.first_line + row}: {word} {what}: fix the file")
    return ids_GN
