"""Compute the requests of all clients to one model together, in a thread of the model's own.

No request waits for others to join it: all that arrived while the last batch was computed are the next batch. So a
single client has the model to itself, and the more clients there are, the larger the batches.

There are three kinds of work. A *score* is the surprisal of texts, a *next* the distribution after a context, and
*writing* draws one word after another. The thread works in rounds. In each it computes scores or nexts, by turns, of a
bounded number of tokens, reads contexts of new writings, of as many tokens, and draws one word of every writing. So a
long text or a long writing delays nobody else. Work that nobody waits for any more is dropped.

Shapes: T steps, B streams, V words.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np

from wordtie.data.batches import Ids
from wordtie.errors import WordtieError
from wordtie.evaluation.perplexity import TOKENS_AT_ONCE, Bits, Reader
from wordtie.models.joining import join
from wordtie.models.next_word import Floats, NextWordModel
from wordtie.serve.contexts import after_each, read_each

TOKENS_A_ROUND = 4 * TOKENS_AT_ONCE
"""Maximum tokens of texts, and of contexts, per round."""
SCORES_AT_ONCE = 4_000_000
"""Log-probabilities of next words (contexts x vocabulary) in memory at a time."""

MOST_PIECES = 100_000
"""Texts and contexts of all requests that may wait: some 60 MB."""

R = TypeVar("R")
Scores: TypeAlias = tuple[Bits, Bits]
"""Surprisal of each token of a text, and entropy of each prediction, in bits."""
Observe: TypeAlias = Callable[[str, int], None]
"""Called for every batch, with the kind of work and the number of requests or texts in it."""


class QueueFullError(WordtieError):
    """More work is waiting than the server accepts. Trying again later helps."""


class ClosedError(WordtieError):
    """The model has been replaced or the server is shutting down: ask the model that has taken its place."""


@dataclass
class _Work(Generic[R]):
    """A piece of requested work, and the future that receives its answer."""

    ids: Ids
    answer: asyncio.Future[R]

    @property
    def is_wanted(self) -> bool:
        """Whether anybody still waits for it."""
        return not self.answer.done()


@dataclass
class _Score(_Work[Scores]):
    done: list[Scores] = field(default_factory=list)
    """Scores of the windows of a long text that have been read."""
    reader: Reader | None = None


@dataclass
class _Next(_Work[Any]):
    use: Callable[[Floats], Any]


@dataclass
class _Write(_Work[None]):
    words: int
    draw: Callable[[Floats], int]
    written: asyncio.Queue[int | BaseException | None]


@dataclass
class _Group:
    """Writings that step side by side."""

    writes: list[_Write]
    state: Any


class Batcher:
    """Computes for one model. Its methods are called in the event loop's thread."""

    def __init__(
        self, model: NextWordModel[Any], most: int = 64, queue: int = 1024, observe: Observe = lambda kind, size: None
    ) -> None:
        """Compute at most `most` texts or contexts together (1: each alone); at most `queue` requests wait, with
        `MOST_PIECES` texts and contexts in all."""
        self.model = model
        self.most = most
        self.queue = queue
        self.observe = observe
        self._waiting: deque[deque[Any]] = deque()
        """The work of each request, in the same form as in the three queues that it is sorted into."""
        self._scores: deque[deque[_Score]] = deque()
        self._nexts: deque[deque[_Next]] = deque()
        self._writes: deque[deque[_Write]] = deque()
        """Writings whose contexts have not been read."""
        self._groups: list[_Group] = []
        self._pieces = 0
        """Number of texts and contexts without an answer; counted in the event loop's thread."""
        self._changed = threading.Condition()
        self._closed = False
        self._scoring = False
        self._reader = Reader(model)
        self._thread = threading.Thread(target=self._run, name="wordtie-model", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """Number of requests with work that has not been started."""
        return len(self._waiting) + len(self._scores) + len(self._nexts) + len(self._writes)

    async def score(self, texts: Sequence[Ids]) -> list[Scores]:
        """Score each text from `<eos>` on. Raises `QueueFullError`, `ClosedError`."""
        loop = asyncio.get_running_loop()
        works = [_Score(ids, loop.create_future()) for ids in texts]
        self._add(works)
        return await _all([work.answer for work in works])

    async def next(self, ids: Ids, use: Callable[[Floats], R]) -> R:
        """Return what `use` returns for log p of every word after the ids, (V,); it is called in the model's thread.

        Raises `QueueFullError`, `ClosedError`.
        """
        work = _Next(ids, asyncio.get_running_loop().create_future(), use)
        self._add([work])
        found: R = (await _all([work.answer]))[0]
        return found

    async def write(self, ids: Ids, words: int, draw: Callable[[Floats], int]) -> AsyncIterator[int]:
        """Yield `words` words after the ids, as they are drawn. Raises `QueueFullError`, `ClosedError`."""
        work = _Write(ids, asyncio.get_running_loop().create_future(), words, draw, asyncio.Queue())
        self._add([work])
        try:
            while (word := await work.written.get()) is not None:
                if isinstance(word, BaseException):
                    raise word
                yield word
        finally:
            work.answer.cancel()

    def close(self) -> None:
        """Finish the requests that were accepted, and accept no more."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def join(self, seconds: float) -> None:
        """Wait until the thread has ended."""
        self._thread.join(seconds)

    def _add(self, works: Sequence[_Work[Any]]) -> None:
        with self._changed:
            if self._closed:
                raise ClosedError("the model has been replaced: try again")
            if self.waiting >= self.queue or (self._pieces and self._pieces + len(works) > MOST_PIECES):
                raise QueueFullError("too many requests are waiting: try again in a moment")
            if works:
                self._waiting.append(deque(works))
            self._changed.notify()
        self._pieces += len(works)
        for work in works:
            work.answer.add_done_callback(self._answered)

    def _answered(self, _: asyncio.Future[Any]) -> None:
        self._pieces -= 1

    def _run(self) -> None:
        while True:
            with self._changed:
                while not (self._closed or self.waiting or self._groups):
                    self._changed.wait()
                if not (self.waiting or self._groups):
                    return
                new = list(self._waiting)
                self._waiting.clear()
            self._sort(new)
            self._round()

    def _sort(self, new: Sequence[deque[Any]]) -> None:
        queues: dict[type, deque[Any]] = {_Score: self._scores, _Next: self._nexts, _Write: self._writes}
        for request in new:
            queues[type(request[0])].append(request)

    def _round(self) -> None:
        answers = _Answers()
        self._scoring = bool(self._scores) and not (self._scoring and self._nexts)
        if self._scoring:
            texts = _take(self._scores, self.most, TOKENS_A_ROUND)
            answers.guard(texts, partial(self._score, texts, answers))
        else:
            most = max(1, min(self.most, SCORES_AT_ONCE // len(self.model.vocabulary)))
            contexts = _take(self._nexts, most, TOKENS_A_ROUND)
            answers.guard(contexts, partial(self._next, contexts, answers))
        if writes := _take(self._writes, self.most, TOKENS_A_ROUND):
            self._begin(writes)
        self._merge()
        for group in self._groups:
            answers.guard(group.writes, partial(self._step, group, answers))
        self._groups = [group for group in self._groups if any(write.is_wanted for write in group.writes)]
        answers.deliver()

    def _score(self, texts: Sequence[_Score], answers: _Answers) -> None:
        for text in texts:
            if len(text.ids) > TOKENS_AT_ONCE:
                self._score_window(text, answers)
        for batch in _side_by_side([text for text in texts if len(text.ids) <= TOKENS_AT_ONCE]):
            self.observe("score", len(batch))
            for text, found in zip(batch, self._reader.apart([text.ids for text in batch]), strict=True):
                answers.give(text.answer, found)

    def _score_window(self, text: _Score, answers: _Answers) -> None:
        """Score the next window of a long text. The rest of the text waits behind the others."""
        text.reader = text.reader or Reader(self.model)
        first = TOKENS_AT_ONCE * len(text.done)
        self.observe("score", 1)
        text.done.extend(text.reader(text.ids[first : first + TOKENS_AT_ONCE]))
        if first + TOKENS_AT_ONCE < len(text.ids):
            self._scores.append(deque([text]))
        else:
            bits, entropy = (np.concatenate(parts) for parts in zip(*text.done, strict=True))
            answers.give(text.answer, (bits, entropy))

    def _next(self, contexts: Sequence[_Next], answers: _Answers) -> None:
        for batch in _side_by_side(contexts):
            self.observe("next", len(batch))
            for place, log_p_V in after_each(self.model, [work.ids for work in batch]):
                work = batch[place]
                answers.give(work.answer, work.use(log_p_V))

    def _begin(self, writes: list[_Write]) -> None:
        """Read the contexts of new writings."""
        answers = _Answers()

        def read() -> None:
            for places, state in read_each(self.model, [work.ids for work in writes]):
                self._groups.append(_Group([writes[place] for place in places], state))

        answers.guard(writes, read)
        answers.deliver()

    def _merge(self) -> None:
        """Merge writings that began at different times, as far as their states can be joined."""
        merged: list[_Group] = []
        for group in self._groups:
            last = merged[-1] if merged else None
            if last and len(last.writes) + len(group.writes) <= self.most:
                joined = None
                with suppress(Exception):  # such as too little memory: they stay apart
                    joined = join([last.state, group.state])
                if joined is not None:
                    merged[-1] = _Group([*last.writes, *group.writes], joined)
                    continue
            merged.append(group)
        self._groups = merged

    def _step(self, group: _Group, answers: _Answers) -> None:
        """Draw one word of each writing that has not ended."""
        staying = [place for place, work in enumerate(group.writes) if work.is_wanted and work.words > 0]
        for work in group.writes:
            if work.is_wanted and work.words <= 0:
                answers.end(work)
        if len(staying) < len(group.writes):
            group.writes = [group.writes[place] for place in staying]
            group.state = self.model.select(group.state, staying) if staying else None
        if not staying:
            return
        self.observe("write", len(staying))
        log_p_BV = self.model.next(group.state)
        words = [work.draw(log_p_V) for work, log_p_V in zip(group.writes, log_p_BV, strict=True)]
        for work, word in zip(group.writes, words, strict=True):
            work.words -= 1
            answers.tell(work, word)
        group.state = self.model.advance(np.array([words]), group.state)


class _Answers:
    """The results of a round, passed to the event loop in one go."""

    def __init__(self) -> None:
        self._calls: dict[asyncio.AbstractEventLoop, list[Callable[[], None]]] = {}

    def give(self, answer: asyncio.Future[Any], found: Any) -> None:
        """Answer with a result or an exception."""
        self._call(answer, partial(_settle, answer, found))

    def tell(self, work: _Write, word: int | BaseException | None) -> None:
        """Send the next word of a writing."""
        self._call(work.answer, partial(work.written.put_nowait, word))

    def end(self, work: _Write, error: BaseException | None = None) -> None:
        """End a writing: it has no more words."""
        self.tell(work, error)
        self.give(work.answer, None)

    def guard(self, works: Sequence[_Work[Any]], compute: Callable[[], None]) -> None:
        """Compute; an exception becomes the answer to all of the work, and the thread lives on."""
        try:
            compute()
        except Exception as error:
            for work in works:
                if isinstance(work, _Write):
                    self.end(work, error)
                else:
                    self.give(work.answer, error)

    def deliver(self) -> None:
        """Deliver the answers to each event loop, unless it is closed by now."""
        for loop, calls in self._calls.items():
            try:
                loop.call_soon_threadsafe(_call_all, calls)
            except RuntimeError:
                continue

    def _call(self, answer: asyncio.Future[Any], call: Callable[[], None]) -> None:
        self._calls.setdefault(answer.get_loop(), []).append(call)


def _call_all(calls: Sequence[Callable[[], None]]) -> None:
    for call in calls:
        call()


def _settle(answer: asyncio.Future[Any], found: Any) -> None:
    if answer.done():
        return
    if isinstance(found, Exception):
        answer.set_exception(found)
    else:
        answer.set_result(found)


async def _all(answers: list[asyncio.Future[R]]) -> list[R]:
    """Await all answers; if the caller is cancelled, or one fails, the others are cancelled."""
    try:
        return [await answer for answer in answers]
    finally:
        for answer in answers:
            if answer.done() and not answer.cancelled():
                answer.exception()  # or asyncio would complain that nobody looked at it
            answer.cancel()


W = TypeVar("W", _Score, _Next, _Write)


def _take(queue: deque[deque[W]], most: int, tokens: int) -> list[W]:
    """Take the oldest wanted work: at most `most` pieces with `tokens` tokens in all, but at least one piece.

    Requests take turns, so that one with many pieces does not delay the others.
    """
    taken: list[W] = []
    while queue and len(taken) < most:
        request = queue[0]
        work = request[0]
        cost = min(len(work.ids), TOKENS_AT_ONCE) if isinstance(work, _Score) else len(work.ids)
        if taken and cost > tokens:
            break
        queue.popleft()
        request.popleft()
        if request:
            queue.append(request)
        if work.is_wanted:
            taken.append(work)
            tokens -= cost
    return taken


def _side_by_side(works: Sequence[W]) -> Iterator[list[W]]:
    """Yield batches of work of similar length, as large as a window has room for; longer work is alone."""
    waiting = deque(sorted(works, key=lambda work: len(work.ids)))
    while waiting:
        batch = [waiting.popleft()]
        while waiting and len(waiting[0].ids) * (len(batch) + 1) <= TOKENS_AT_ONCE:
            batch.append(waiting.popleft())
        yield batch
