"""Next words for one text after another, as a keyboard or an editor asks for them while someone types.

The model is opened once. If a text begins with the last one, only what follows is read:

    answer = NextWords(model, Options(top=3))
    answer("the president of"), answer("the president of the uni|")

`answers` takes lines, plain or JSON, and answers each one before it takes the next.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypedDict

from wordtie.data.reading import decoded
from wordtie.errors import DataError, WordtieError, did_you_mean
from wordtie.evaluation.format_perplexity import format_number
from wordtie.inference.predict import after, at_cursor, next_words
from wordtie.storage.strict_json import JsonError, conform, parse

if TYPE_CHECKING:
    from wordtie.inference.loading import LoadedModel

HINT = 'write {"text": "the peo|"}'


@dataclass(frozen=True)
class Options:
    """Options of `wordtie.inference.predict.next_words`."""

    top: int = 10
    words_only: bool = False
    blocked: Collection[str] = field(default_factory=frozenset)


class _Optional(TypedDict, total=False):
    top: int
    words_only: bool
    blocked: list[str]
    id: Any


class Request(_Optional):
    """A line of JSON: a text, and options that override those of the command line. `id` is returned in the answer."""

    text: str


class NextWords:
    """Answers texts one by one, and keeps the state after the last."""

    def __init__(self, model: LoadedModel, options: Options) -> None:
        self.model = model
        self.options = options
        self._words: list[str] = []
        self._state = model.start()

    def __call__(self, text: str, options: Options | None = None) -> list[tuple[str, float]]:
        """Return what `LoadedModel.predict` returns for the text."""
        asked = self.options if options is None else options
        model, tokenizer = self.model.model, self.model.tokenizer
        words, prefix = at_cursor(tokenizer, text)
        known = len(self._words)
        if words[:known] == self._words:
            self._state = after(model, tokenizer, words[known:], self._state)
        else:
            self._state = after(model, tokenizer, words, self.model.start())
        self._words = words
        return next_words(model, tokenizer, self._state, prefix, asked.top, asked.words_only, asked.blocked)


def answers(next_words_of: NextWords, lines: Iterable[bytes], name: str, as_json: bool) -> Iterator[str]:
    """Yield a whole answer for each line of UTF-8, as soon as the line is there.

    For a plain line: a line with word, tab and probability for each word, and a blank line. For JSON: an object,
    `{"words": [{"word": ..., "probability": ...}, ...]}`, or `{"error": ...}`. A line that cannot be answered does not
    stop the next from being answered; if it is plain, its answer is `error: ...` without words.
    """
    for number, raw in enumerate(lines, 1):
        line = b""
        given: dict[str, Any] = {}
        try:
            line = raw.removesuffix(b"\n").removesuffix(b"\r")
            text, options = decoded(line, name, number, begins=number == 1), next_words_of.options
            if as_json:
                where = f"{name}, line {number}"
                content = _parsed(text, where)
                given = {"id": content["id"]} if isinstance(content, dict) and "id" in content else {}
                request = _request(content, where)
                text, options = request["text"], _options(request, options)
            found = next_words_of(text, options)
        except WordtieError as error:
            yield json.dumps({**given, "error": str(error)}, ensure_ascii=False) if as_json else f"error: {error}\n"
            continue
        if as_json:
            words = [{"word": word, "probability": probability} for word, probability in found]
            yield json.dumps({**given, "words": words}, ensure_ascii=False)
        else:
            yield "".join(f"{word}\t{format_number(probability)}\n" for word, probability in found)


def _parsed(text: str, where: str) -> Any:
    """Parse a line of JSON. Raises `DataError`."""
    try:
        return parse(text)
    except JsonError as error:
        raise DataError(f"{where}: {error}: {HINT}") from error


def _request(content: Any, where: str) -> Request:
    """Check the content of a line of JSON. Raises `DataError` if it is no request."""
    try:
        request = conform(content, Request)
    except JsonError as error:
        raise DataError(f"{where}: {error}: {HINT}") from error
    for key in request:
        if key not in Request.__annotations__:
            raise DataError(f"{where}: unknown key {key:.40}{did_you_mean(key, Request.__annotations__)}")
    return request


def _options(request: Request, options: Options) -> Options:
    """Return the options of the request in place of the given ones; words that it blocks are blocked in addition."""
    blocked = [*options.blocked, *request.get("blocked", ())]
    top, words_only = request.get("top", options.top), request.get("words_only", options.words_only)
    return replace(options, top=top, words_only=words_only, blocked=blocked)
