"""N-best lists in JSON: ESPnet's document, and JSON Lines with a hypothesis or a list on each line.

    espnet   {"utts": {"utt-1": {"output": [{"rec_text": "THE CAT", "score": -1.5, ...}, ...]}, ...}}
    jsonl    {"id": "utt-1", "text": "the cat", "score": -1.5}              a hypothesis per line
             {"id": "utt-1", "nbest": [{"text": "the cat", "score": -1.5}]} a list per line

Other fields of the objects are kept. Writing adds `lm_score`, the model's log p in nats, to a hypothesis, and
`total_score` if it was ranked.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from wordtie.data.nbest import Hypothesis, NBestList, Ranked, RankedList
from wordtie.errors import DataError
from wordtie.storage.strict_json import JsonError, with_distinct_names

TEXT_NAMES = ("text", "hyp", "hypothesis", "rec_text")
LIST_NAMES = ("nbest", "hypotheses", "hyps")
ID_NAMES = ("id", "utt_id", "utterance_id")
SENTENCE_ENDS = re.compile(r"(\s*<(eos|sos/eos)>)+$")
"""What ESPnet leaves at the end of a hypothesis."""


@dataclass(frozen=True)
class JsonLines:
    """An object per line: a list, or a hypothesis, of which neighbours with one id form a list."""

    def read(self, lines: Iterable[str], where: str) -> Iterator[NBestList]:
        """Yield lists by their ids. A line that holds a list without an id is numbered, from 0."""
        seen: set[str] = set()
        current: NBestList | None = None
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            found = _object(line, f"{where}, line {number}")
            entries = _named(found, LIST_NAMES)
            own = _named(found, ID_NAMES)
            if entries is None and own is None:
                raise DataError(f'{where}, line {number}: has no "id": give each hypothesis that of its list')
            list_id = str(len(seen) if own is None else own)
            if current is not None and current.id == list_id and entries is None and current.raw is None:
                place = f"{where}, line {number}"
                current = NBestList(list_id, [*current.hypotheses, _hypothesis(found, place)])
                _check_scores(current.hypotheses, place)
                continue
            if current is not None:
                yield current
            if list_id in seen:
                raise DataError(f"{where}, line {number}: {list_id} had a list before: keep its lines together")
            seen.add(list_id)
            current = _list(list_id, found, entries, f"{where}, line {number}")
        if current is not None:
            yield current

    def write(self, lists: Iterable[RankedList]) -> Iterator[str]:
        """Yield the same objects with the new scores."""
        for ranked in lists:
            entries = [_with_scores(each) for each in ranked.order]
            if ranked.nbest.raw is None:
                yield from map(_dumped, entries)
            else:
                name = next(each for each in LIST_NAMES if each in ranked.nbest.raw)
                yield _dumped({**ranked.nbest.raw, name: entries})

    def best(self, ranked: RankedList) -> str:
        """Return an object with the id as it was, and `text`."""
        objects = [ranked.nbest.raw or {}, *(each.raw for each in ranked.nbest.hypotheses[:1])]
        ids = ({name: each[name]} for each in objects for name in ID_NAMES if name in each)
        return _dumped({**next(ids, {"id": ranked.nbest.id}), "text": ranked.best_text})


@dataclass(frozen=True)
class Espnet:
    """The JSON document that ESPnet's recognition writes; it is held in memory whole."""

    others: dict[str, Any] = field(default_factory=dict)
    """What the document that was read has beside the utterances; it is written again."""

    def read(self, lines: Iterable[str], where: str) -> Iterator[NBestList]:
        """Yield lists by utterance, in the order of the document."""
        text = "\n".join(lines)
        try:
            document = json.loads(text, object_pairs_hook=with_distinct_names)
        except json.JSONDecodeError as error:
            raise DataError(f"{where}, line {error.lineno}: is not JSON ({error.msg}): fix it") from error
        except JsonError as error:
            raise DataError(f"{where}: {error}: keep one") from error
        except RecursionError as error:
            raise DataError(f"{where}: is not JSON that ESPnet writes: it nests too deep") from error
        except ValueError as error:
            raise DataError(f"{where}: is not JSON that ESPnet writes ({error!s:.80}): fix it") from error
        utterances = document.get("utts") if isinstance(document, dict) else None
        if not isinstance(utterances, dict):
            raise DataError(f'{where}: has no "utts" as ESPnet\'s documents have: fix it, or choose another --format')
        lists: list[NBestList] = []
        for own, utterance in utterances.items():
            if not isinstance(utterance, dict):
                raise DataError(f"{where}, utterance {own}: is not a JSON object: fix it")
            entries = utterance.get("output")
            lists.append(_list(own, utterance, [] if entries is None else entries, f"{where}, utterance {own}"))
        self.others.update({name: value for name, value in document.items() if name != "utts"})
        yield from lists

    def write(self, lists: Iterable[RankedList]) -> Iterator[str]:
        """Yield the same document with the new scores, an utterance per line."""
        lines = (
            f"{_dumped(ranked.nbest.id)}: "
            + _dumped({**ranked.nbest.raw, "output": [_with_scores(each) for each in ranked.order]})
            for ranked in lists
        )
        first = list(islice(lines, 1))  # read before anything is written: the input may turn out to be bad
        yield '{"utts": {'
        yield from (f" {line}" for line in first)
        yield from (f",{line}" for line in lines)
        yield "".join(["}", *(f", {_dumped(name)}: {_dumped(value)}" for name, value in self.others.items()), "}"])

    def best(self, ranked: RankedList) -> str:
        """Return `utterance text`."""
        return f"{ranked.nbest.id} {ranked.best_text}".rstrip()


def _list(own: str, found: dict[str, Any], entries: Any, place: str) -> NBestList:
    """Return the list of an object, whose one hypothesis is the object itself if `entries` is None."""
    if entries is None:
        return NBestList(own, [_hypothesis(found, place)])
    if not isinstance(entries, list):
        raise DataError(f"{place}: its hypotheses are not a list: fix it")
    hypotheses = [_hypothesis(each, place) for each in entries]
    _check_scores(hypotheses, place)
    return NBestList(own, hypotheses, found)


def _check_scores(hypotheses: Sequence[Hypothesis], place: str) -> None:
    """Raise `DataError` if some hypotheses of a list have a score and others, which count as 0, have none."""
    if len({"score" in each.raw for each in hypotheses}) > 1:
        raise DataError(f"{place}: a hypothesis of the list has no score, others have one: add it, or leave out all")


def _hypothesis(entry: Any, place: str) -> Hypothesis:
    text = _named(entry, TEXT_NAMES) if isinstance(entry, dict) else None
    if isinstance(entry, dict) and "rec_text" in entry:  # beside it, ESPnet's `text` is the reference
        text = entry["rec_text"]
    if not isinstance(text, str):
        raise DataError(f"{place}: a hypothesis has no text: name it {', '.join(TEXT_NAMES)}")
    score = entry.get("score", 0.0)
    if isinstance(score, bool) or not isinstance(score, int | float) or not abs(score) <= sys.float_info.max:
        raise DataError(f"{place}: the score {score!r:.40} is not a number: fix it")
    return Hypothesis(SENTENCE_ENDS.sub("", text), float(score), entry)


def _object(line: str, place: str) -> dict[str, Any]:
    try:
        found = json.loads(line, object_pairs_hook=with_distinct_names)
    except JsonError as error:
        raise DataError(f"{place}: {error}: keep one") from error
    except (ValueError, RecursionError) as error:
        raise DataError(
            f"{place}: is not JSON ({' '.join(str(error).split()):.80}): write one object a line"
        ) from error
    if not isinstance(found, dict):
        raise DataError(f"{place}: is not a JSON object: write one object a line")
    return found


def _named(found: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((found[name] for name in names if name in found), None)


def _with_scores(each: Ranked) -> dict[str, Any]:
    total = {} if each.total is None else {"total_score": round(each.total, 6)}
    return {**each.hypothesis.raw, "lm_score": round(each.log_p, 6), **total}


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
