"""Open files of n-best lists, by the name of their format or by their first line; and read their references."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from wordtie.data.nbest import Kaldi, Moses, NBestFormat, NBestList, Nemo, after_first_word
from wordtie.data.nbest_json import Espnet, JsonLines
from wordtie.errors import DataError, SettingsError


@dataclass(frozen=True)
class FormatOptions:
    """Options that some formats need besides the file itself."""

    list_size: int | None = None
    """NeMo: hypotheses of each list; None: blank lines separate lists."""
    scores: Sequence[tuple[str, Iterable[str]]] = field(default=())
    """Kaldi: name and lines of each file of scores."""
    costs: bool = False
    """Kaldi: scores are costs."""


FORMATS: dict[str, Callable[[FormatOptions], NBestFormat]] = {
    "kaldi": lambda options: Kaldi(options.scores, options.costs),
    "nemo": lambda options: Nemo(options.list_size),
    "moses": lambda options: Moses(),
    "espnet": lambda options: Espnet(),
    "jsonl": lambda options: JsonLines(),
}
"""Name of a format to a function that makes its reader and writer."""
BY_UTTERANCE = ("kaldi", "espnet", "jsonl")
"""Formats whose references are lines `utt-id text`; those of the others are a line for each list."""
IN_ORDER = ("nemo",)
"""Formats without ids: the first reference is that of the first list, and there are as many."""


def open_nbest(
    lines: Iterable[str], where: str, name: str | None, options: FormatOptions | None = None
) -> tuple[str, NBestFormat, Iterator[NBestList]]:
    """Return (name of the format, the format, its lists); without a name, the first line decides.

    Raises `SettingsError` for options of another format and `DataError` for an empty file, and, as the lists are read,
    for a malformed line.
    """
    rest, head = iter(lines), []
    options = options or FormatOptions()
    for line in rest:
        head.append(line)
        if line.strip():
            break
    else:
        raise DataError(f"{where}: has no hypotheses: is it the right file?")
    if name is None:
        name = guessed(head[-1])
        name = "kaldi" if name == "nemo" and (options.scores or options.costs) else name
    if options.list_size is not None and name != "nemo":
        raise SettingsError(f"--list-size is for nemo, and {where} is {name}: leave it out, or give --format nemo")
    if (options.scores or options.costs) and name != "kaldi":
        raise SettingsError(f"--scores and --costs are for kaldi, and {where} is {name}: leave them out")
    found = FORMATS[name](options)
    return name, found, found.read(chain(head, rest), where)


def guessed(line: str) -> str:
    """Guess the format of a file from its first line.

    >>> [guessed(line) for line in ("0 ||| a ||| LM= -1 ||| -2", "a b\\t-2.5", "utt-1 a b", '{"id": 1, "text": ""}')]
    ['moses', 'nemo', 'kaldi', 'jsonl']
    >>> guessed("utt-1\\tthe cat")
    'kaldi'
    """
    if "|||" in line:
        return "moses"
    if line.lstrip().startswith("{"):
        try:
            return "espnet" if "utts" in json.loads(line) else "jsonl"
        except (ValueError, RecursionError):
            return "jsonl" if re.match(r'\s*\{\s*"(id|utt_id|text|hyp|nbest)"', line) else "espnet"
    _, *others = line.split("\t")
    return "nemo" if others and _is_number(others[0]) else "kaldi"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def references_of(
    lists: Sequence[NBestList], lines: Iterable[str], where: str, by_utterance: bool, in_order: bool = False
) -> list[str]:
    """Return the reference of each list: that of its id, or the line of its number, from 0.

    Raises `DataError` for a list without one, for two of one id, and with `in_order` unless there is a line per list.
    """
    found: dict[str, str] = {}
    for number, line in enumerate(lines):
        own, text = after_first_word(line) if by_utterance else (str(number), line.strip())
        if by_utterance and own in found:
            raise DataError(f"{where}, line {number + 1}: {own} had a reference before: keep one")
        found[own] = text
    if in_order and len(found) != len(lists):
        raise DataError(
            f"{where}: has {len(found):,} lines for {len(lists):,} lists: give a line for each list; of two blank "
            "lines in a row among the lists, the second is a list without hypotheses"
        )
    for each in lists:
        if each.id not in found:
            what = f"`{each.id} text`" if by_utterance else f"line {int(each.id) + 1}"
            raise DataError(f"{where}: has no reference for list {each.id}: add {what}")
    return [found[each.id] for each in lists]
