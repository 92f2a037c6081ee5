"""Answer requests, through the batchers. Nothing here knows of HTTP.

Each function answers as the library does offline: `surprisal` as `wordtie.inference.surprisal`, and so on.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial
from itertools import groupby, pairwise
from typing import Any

from wordtie.inference.generate import Spaces, Writing
from wordtie.inference.predict import CURSOR, as_file, at_cursor, likeliest, lines_of, spelt, words_of
from wordtie.inference.surprisal import Reset, WordSurprisal, records_of, texts_of
from wordtie.serve.served import CannotAnswerError, Opened
from wordtie.vectors.word_vectors import WordVectors

DIFFERENT = 10
"""Number of the listed regions on which models differ most."""
Values = dict[str, Any]


def plain(text: str) -> str:
    """Return the text with Unix line ends, whatever the client sends."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


async def surprisal(opened: Opened, text: str, reset: Reset) -> list[WordSurprisal]:
    """Return the surprisal of each word of the text."""
    tokenizer = opened.loaded.tokenizer
    texts = texts_of(tokenizer, lines_of(plain(text)), reset)
    ids = [tokenizer.vocabulary.encode(word for *_, word in places) for places in texts]
    found = await opened.batcher.score(ids)
    rows = (zip(bits, entropy, strict=True) for bits, entropy in found)
    return [
        record
        for places, of_text, row in zip(texts, ids, rows, strict=True)
        for record in records_of(tokenizer, places, of_text, row)
    ]


def with_shown(text: str, records: Sequence[WordSurprisal]) -> list[Values]:
    """Return the records as JSON, each with the part of the text that it covers."""
    lines = [line.split() for line in lines_of(plain(text))]
    rows: list[Values] = []
    for (line, region), same in groupby(records, key=lambda record: (record.line, record.region)):
        of_region = list(same)
        stretch = lines[line - 1][region - 1] if region <= len(lines[line - 1]) else ""
        shown = shown_parts(stretch, [record.word for record in of_region])
        rows += [{**_values(record), "shown": part} for record, part in zip(of_region, shown, strict=True)]
    return rows


def shown_parts(stretch: str, words: Sequence[str]) -> list[str]:
    """Split the stretch into one part per word; if the words are not found in it, the first part is all of it.

    >>> shown_parts('"Don\\'t,"', ['"', "don't", ",", '"'])
    ['"', "Don't", ',', '"']
    >>> shown_parts("The/the", ["the", "/", "the"])
    ['The', '/', 'the']
    """
    composed = unicodedata.normalize("NFC", stretch)
    lower = composed.lower() if len(composed.lower()) == len(composed) else composed
    cuts: list[int] = []
    at = 0
    for word in words:
        places = [place for place in (composed.find(word, at), lower.find(word, at)) if place >= 0]
        if not places:
            return [stretch, *[""] * (len(words) - 1)]
        cuts.append(min(places))
        at = cuts[-1] + len(word)
    cuts = [0, *cuts[1:], len(composed)]
    return [composed[first:end] for first, end in pairwise(cuts)]


async def predict(opened: Opened, text: str, top: int, complete: bool, words_only: bool) -> tuple[str, list[Values]]:
    """Return (the letters that are completed, the most likely words)."""
    tokenizer = opened.loaded.tokenizer
    text = plain(text)
    words, prefix = at_cursor(tokenizer, text + CURSOR) if complete else (words_of(tokenizer, text), "")
    use = partial(likeliest, tokenizer=tokenizer, prefix=prefix, top=top, words_only=words_only)
    found = await opened.batcher.next(tokenizer.vocabulary.encode(words), use)
    return prefix, [{"word": word, "probability": probability} for word, probability in found]


async def rescore(
    opened: Opened, hypotheses: Sequence[tuple[str, float]], weight: float, per_word: float
) -> list[Values]:
    """Return the texts with their scores, ranked; equal totals keep their order."""
    tokenizer = opened.loaded.tokenizer
    ids = [tokenizer.encode(as_file(plain(text))) for text, _ in hypotheses]
    found = await opened.batcher.score([each for each in ids if len(each)])
    scores = iter(found)
    rows = []
    for index, ((text, score), of_text) in enumerate(zip(hypotheses, ids, strict=True)):
        bits = float(next(scores)[0].sum()) if len(of_text) else 0.0
        words = len(text.split())  # as `wordtie rescore` counts them, which fits weights
        total = score - weight * bits * math.log(2) + per_word * words
        rows.append({"index": index, "text": text, "bits": bits, "words": words, "total": total})
    return sorted(rows, key=lambda row: -row["total"])


async def generate(opened: Opened, prompt: str, words: int, temperature: float, seed: int | None) -> AsyncIterator[str]:
    """Yield the text in pieces; joined, they are what `wordtie.inference.generate` writes.

    The prompt comes with the first word, so that nothing has been sent if a full queue refuses the request.
    """
    tokenizer = opened.loaded.tokenizer
    begin = words_of(tokenizer, plain(prompt))
    writing = Writing(tokenizer.vocabulary, words, temperature, seed)
    spaces = Spaces()
    text = "".join(spaces.before(word) for word in begin)
    async for word in opened.batcher.write(tokenizer.vocabulary.encode(begin), words, writing.draw):
        yield text + spaces.before(tokenizer.vocabulary.words[word])
        text = ""
    if text:
        yield text


def neighbours(opened: Opened, word: str, side: str | None, top: int) -> dict[str, list[Values]]:
    """Return nearest words, by side. Raises `CannotAnswerError` without vectors, `DataError` for an unknown word."""
    sides: Mapping[str, WordVectors] = opened.vectors
    if side is not None and side not in sides:
        raise CannotAnswerError(f"the model has no {side} vectors of their own: it has {', '.join(sides)}")
    chosen = sides if side is None else {side: sides[side]}
    word = spelt(opened.loaded.tokenizer, word)
    return {
        name: [{"word": near, "cosine": cosine} for near, cosine in vectors.neighbours(word, top)]
        for name, vectors in chosen.items()
    }


def compared(text: str, of_models: Sequence[Sequence[WordSurprisal]]) -> Values:
    """Return the surprisal of each stretch between white space, by model, and where the models differ most."""
    lines = [line.split() for line in lines_of(plain(text))]
    places: dict[tuple[int, int], str] = {}
    sums: list[dict[tuple[int, int], tuple[float, bool]]] = []
    for records in of_models:
        found: dict[tuple[int, int], tuple[float, bool]] = {}
        for record in records:
            place = (record.line, record.region)
            bits, unknown = found.get(place, (0.0, False))
            found[place] = (bits + record.surprisal_bits, unknown or record.oov)
            shown = lines[place[0] - 1]
            places.setdefault(place, shown[place[1] - 1] if place[1] <= len(shown) else record.word)
        sums.append(found)
    regions: list[Values] = []
    for place in sorted(places):
        bits_of = [found[place][0] if place in found else None for found in sums]
        known = [bits for bits in bits_of if bits is not None]
        difference = max(known) - min(known) if len(known) == len(sums) else 0.0
        oov = [place in found and found[place][1] for found in sums]
        regions.append({"line": place[0], "region": place[1], "word": places[place], "surprisal_bits": bits_of,
                        "oov": oov, "difference": difference})  # fmt: skip
    order = sorted(range(len(regions)), key=lambda number: -regions[number]["difference"])
    different = [number for number in order if regions[number]["difference"] > 0][:DIFFERENT]
    totals = [sum(record.surprisal_bits for record in records) for records in of_models]
    return {"bits": totals, "regions": regions, "most_different": different}


def _values(record: WordSurprisal) -> Values:
    """Return the fields of a record, without the id."""
    values = dict(vars(record))
    del values["id"]
    return values
