"""What is computed together is what each would be alone."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

import numpy as np
import pytest

import wordtie
from tests.serve.client import wait_until
from tests.serve.conftest import Runs
from wordtie.inference.generate import Writing
from wordtie.inference.loading import LoadedModel
from wordtie.models.next_word import Floats
from wordtie.serve import batcher as batching
from wordtie.serve.batcher import TOKENS_A_ROUND, Batcher, ClosedError, QueueFullError
from wordtie.serve.contexts import after_each

R = TypeVar("R")
KINDS = ["tied", "ngram", "mixture"]


@pytest.fixture(scope="module", params=KINDS)
def model(request: pytest.FixtureRequest, runs: Runs, tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    if request.param != "mixture":
        return wordtie.load(getattr(runs, request.param))
    from wordtie import cli

    out = tmp_path_factory.mktemp("mixture") / "run"
    valid = runs.tied.parent / "text" / "valid.txt"
    assert cli.main(["mix", str(runs.tied), str(runs.ngram), "--text", str(valid), "--out", str(out)]) == 0
    return wordtie.load(out)


def run(work: Coroutine[Any, Any, R]) -> R:
    return asyncio.run(work)


def contexts(model: LoadedModel, count: int = 24) -> list[Any]:
    generator = np.random.default_rng(0)
    return [generator.integers(0, len(model.tokenizer.vocabulary), generator.integers(0, 9)) for _ in range(count)]


def alone(model: LoadedModel, ids: Any) -> Floats:
    log_p_V: Floats = model.model.next(model.model.advance(ids[:, None], model.model.initial_state(1)))[0]
    return log_p_V


def test_contexts_of_any_lengths(model: LoadedModel) -> None:
    asked = contexts(model)
    found = dict(after_each(model.model, asked))
    assert sorted(found) == list(range(len(asked)))
    for place, log_p_V in found.items():
        np.testing.assert_allclose(log_p_V, alone(model, asked[place]), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("most", [1, 4, 64])
def test_many_clients(model: LoadedModel, most: int) -> None:
    """Scores, next words and writings at once, in batches of any size."""
    sizes: list[int] = []
    batcher = Batcher(model.model, most, observe=lambda kind, size: sizes.append(size))
    asked = contexts(model)
    vocabulary = model.tokenizer.vocabulary

    async def write(seed: int) -> list[int]:
        words = 5 + seed % 3
        draw = Writing(vocabulary, words, 1.0, seed).draw
        return [word async for word in batcher.write(asked[seed], words, draw)]

    async def ask() -> tuple[Any, ...]:
        texts = [ids for ids in asked if len(ids)]
        return await asyncio.gather(
            batcher.score(texts),
            asyncio.gather(*(batcher.next(ids, np.copy) for ids in asked)),
            asyncio.gather(*map(write, range(6))),
        )

    scores, nexts, written = run(ask())
    for ids, (bits, entropy) in zip([ids for ids in asked if len(ids)], scores, strict=True):
        log_p_T1, entropy_T1, _ = model.model.score(ids[:, None], model.model.initial_state(1), entropy=True)
        np.testing.assert_allclose(bits, -log_p_T1[:, 0] / np.log(2), rtol=1e-4, atol=1e-5)
        assert entropy_T1 is not None
        np.testing.assert_allclose(entropy, entropy_T1[:, 0] / np.log(2), rtol=1e-4, atol=1e-5)
    for ids, log_p_V in zip(asked, nexts, strict=True):
        np.testing.assert_allclose(log_p_V, alone(model, ids), rtol=1e-4, atol=1e-5)
    for seed, words in enumerate(written):
        prompt = model.tokenizer.decode(asked[seed])
        drawn = Writing(vocabulary, len(words), 1.0, seed)
        state = model.model.advance(asked[seed][:, None], model.model.initial_state(1))
        for word in words:
            assert drawn.draw(model.model.next(state)[0]) == word, prompt
            state = model.model.advance(np.array([[word]]), state)
    assert max(sizes) <= most
    assert most == 1 or max(sizes) > 1
    batcher.close()
    batcher.join(10)


class Held:
    """A model that computes once it is let."""

    def __init__(self, model: LoadedModel) -> None:
        self.go = threading.Event()
        self.asked = self.free = 0
        """Words that were read, and how many are before it waits."""
        self._model = model.model

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def advance(self, ids_TB: Any, state: Any) -> Any:
        self.asked += 1
        assert self.asked <= self.free or self.go.wait(20)
        return self._model.advance(ids_TB, state)


def test_a_full_queue_refuses(runs: Runs) -> None:
    model = wordtie.load(runs.ngram)
    held = Held(model)
    batcher = Batcher(held, most=1, queue=3)
    ids = np.array([1, 2])

    async def ask() -> list[Any]:
        first = asyncio.create_task(batcher.next(ids, np.copy))
        while not held.asked:  # the first is being computed, and waits no more
            await asyncio.sleep(0.01)
        others = [asyncio.create_task(batcher.next(ids, np.copy)) for _ in range(4)]
        await asyncio.sleep(0.05)
        held.go.set()
        return await asyncio.gather(first, *others, return_exceptions=True)

    found = run(ask())
    assert [isinstance(each, QueueFullError) for each in found] == [False, False, False, False, True]


def test_texts_that_wait_are_counted_over_all_requests(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batching, "MOST_PIECES", 5)
    held = Held(wordtie.load(runs.ngram))
    batcher = Batcher(held, most=1)
    ids = np.array([1, 2])

    async def ask() -> list[Any]:
        first = asyncio.create_task(batcher.next(ids, np.copy))
        while not held.asked:
            await asyncio.sleep(0.01)
        others = [asyncio.create_task(batcher.score([ids] * 4)), asyncio.create_task(batcher.next(ids, np.copy))]
        await asyncio.sleep(0.05)
        held.go.set()
        found = await asyncio.gather(first, *others, return_exceptions=True)
        return [*found, await batcher.score([ids] * 9)]  # nothing waits any more

    found = run(ask())
    assert [isinstance(each, QueueFullError) for each in found] == [False, False, True, False]
    assert len(found[3]) == 9


def test_what_nobody_waits_for_is_not_computed(runs: Runs) -> None:
    held = Held(wordtie.load(runs.ngram))
    batcher = Batcher(held, most=1)
    ids = np.array([1, 2])

    async def ask() -> None:
        first = asyncio.create_task(batcher.next(ids, np.copy))
        while not held.asked:
            await asyncio.sleep(0.01)
        second = asyncio.create_task(batcher.next(ids, np.copy))
        await asyncio.sleep(0.05)
        second.cancel()
        await asyncio.sleep(0.05)
        held.go.set()
        await first

    run(ask())
    wait_until(lambda: batcher.waiting == 0)
    assert held.asked == 1


def test_long_contexts_of_writings_are_read_in_several_rounds(runs: Runs) -> None:
    """So that what others ask is answered between them."""
    held = Held(wordtie.load(runs.ngram))
    batches: list[tuple[str, int]] = []
    batcher = Batcher(held, observe=lambda *batch: batches.append(batch))

    async def write() -> int:
        return len([word async for word in batcher.write(np.ones(TOKENS_A_ROUND, np.int64), 2, lambda log_p_V: 1)])

    async def ask() -> Any:
        first = asyncio.create_task(batcher.next(np.array([1]), np.copy))
        while not held.asked:
            await asyncio.sleep(0.01)
        others = [asyncio.create_task(write()) for _ in range(3)]
        await asyncio.sleep(0.05)
        held.go.set()
        return await asyncio.gather(*others, first)

    assert run(ask())[:3] == [2, 2, 2]
    assert [size for kind, size in batches if kind == "write"] == [1, 2, 2, 1]


def test_an_error_is_the_answer_and_the_thread_lives_on(runs: Runs) -> None:
    batcher = Batcher(wordtie.load(runs.ngram).model)

    def fail(log_p_V: Floats) -> None:
        raise RuntimeError("no")

    async def ask() -> Any:
        with pytest.raises(RuntimeError, match="no"):
            await batcher.next(np.array([1]), fail)
        with pytest.raises(RuntimeError, match="no"):
            [word async for word in batcher.write(np.array([1]), 3, fail)]  # type: ignore[arg-type]
        return await batcher.next(np.array([1]), np.copy)

    assert len(run(ask())) == len(wordtie.load(runs.ngram).tokenizer.vocabulary)


def test_closing_finishes_what_was_asked(runs: Runs) -> None:
    held = Held(wordtie.load(runs.ngram))
    batcher = Batcher(held)

    async def ask() -> Any:
        first = asyncio.create_task(batcher.next(np.array([1]), np.copy))
        while not held.asked:
            await asyncio.sleep(0.01)
        batcher.close()
        with pytest.raises(ClosedError):
            await batcher.next(np.array([1]), np.copy)
        held.go.set()
        return await first

    assert len(run(ask()))
    batcher.join(10)


def test_a_request_of_many_texts_leaves_room_for_others(runs: Runs) -> None:
    """Requests are counted, not their texts, and they take turns."""
    model = wordtie.load(runs.ngram)
    batcher = Batcher(model.model, most=4, queue=2)
    ids = np.array([1, 2])
    order: list[str] = []

    async def score(name: str, texts: int) -> None:
        await batcher.score([ids] * texts)
        order.append(name)

    async def ask() -> None:
        long = asyncio.create_task(score("long", 500))
        await asyncio.sleep(0)
        await asyncio.gather(long, score("short", 1))

    run(ask())
    assert order == ["short", "long"]
    assert run(batcher.score([])) == []
