"""Recent words against their definition, word by word; weight and half-life against texts that are known."""

from __future__ import annotations

import math
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wordtie
from tests.models.test_mixture import (
    BY_CLASS,
    VOCABULARY,
    WEIGHTS,
    WORDS,
    AlmostWithout,
    WithoutClasses,
    nats,
    ngrams,
    text,
    three_parts,
)
from tests.runs.mutations import sealed
from wordtie.config import DataSettings, LossSettings, ModelSettings, Settings, TrainingSettings
from wordtie.data.batches import PADDING
from wordtie.errors import RunFolderError, SettingsError
from wordtie.models import mixture, recent_words
from wordtie.models.mixture import Mixture
from wordtie.models.next_word import NextWordModel
from wordtie.models.recent_words import (
    AdaptiveMixture,
    RecentWords,
    fit_recent_words,
    log_with_recent,
    mixture_of,
    text_queries,
    text_shares,
    with_recent_words,
)
from wordtie.training.train import train

RECENT, SHARP = RecentWords(0.3, 4), RecentWords(0.3, 4, 5.0)


class WithQueries(WithoutClasses):
    """A model that predicts from vectors: three numbers of the words that were read, and the last word."""

    def queries(self, ids_TB: np.ndarray, state: Any) -> tuple[np.ndarray, Any]:
        found = []
        for ids_B in ids_TB:
            found.append(query_of(np.exp(self.next(state))))
            state = self.advance(ids_B[None], state)
        return np.stack(found) if found else np.zeros((0, ids_TB.shape[1], 3), np.float32), state

    def score_with_queries(self, ids_TB: np.ndarray, state: Any) -> tuple[np.ndarray, np.ndarray, Any]:
        log_p_TB, _, after = self.score(ids_TB, state)
        return log_p_TB, self.queries(ids_TB, state)[0], after


class AlmostWithoutOne(WithQueries, AlmostWithout):
    """Such a model, which gives exp(-1000) to a word."""


def query_of(p_BV: np.ndarray) -> np.ndarray:
    return (p_BV @ np.sin(np.arange(WORDS * 3)).reshape(WORDS, 3)).astype(np.float32)


def parts_with_queries() -> list[NextWordModel[Any]]:
    return [*three_parts()[:2], WithQueries(ngrams(3, 3, eos_id=None))]


def by_definition(
    m_V: np.ndarray, read: list[tuple[int, np.ndarray]], query_E: np.ndarray, recent: RecentWords
) -> np.ndarray:
    """p of every word from m of every word, after these words and the vectors that they were predicted from."""
    counts_V, n = np.zeros(len(m_V)), 0.0
    for back, (word, its_query_E) in enumerate(reversed(read[-5 * recent.half_life :]), start=1):
        counts_V[word] += 2 ** (-back / recent.half_life) * math.exp(recent.sharpness * float(query_E @ its_query_E))
        n += 2 ** (-back / recent.half_life)
    share = recent.weight * n / (n + 10)
    recent_V = counts_V / counts_V.sum() if n else counts_V
    p_V: np.ndarray = (1 - share) * m_V + share * recent_V
    return p_V


@pytest.mark.parametrize("recent", [RECENT, SHARP], ids=["alike", "by context"])
@pytest.mark.parametrize("weights", [WEIGHTS, BY_CLASS], ids=["one weight a part", "by class"])
def test_equals_the_definition(weights: np.ndarray, recent: RecentWords, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent_words, "VALUES_AT_ONCE", 7 * RECENT.words)  # pieces of seven words
    monkeypatch.setattr(mixture, "VALUES_AT_ONCE", 7 * WORDS)
    parts, ids = parts_with_queries(), text(60, 5)
    model, alone = AdaptiveMixture(parts, weights, recent), Mixture(parts, weights)
    p_TBV, after = model.distributions(ids[:, None], model.initial_state(1))
    found, none, also_after = model.score(ids[:, None], model.initial_state(1))
    with_entropy, entropy, third_after = model.score(ids[:, None], model.initial_state(1), entropy=True)
    assert none is None
    assert entropy is not None
    log_m_N = alone.score(ids[:, None], alone.initial_state(1))[0][:, 0]
    np.testing.assert_allclose(with_recent_words(model, ids, log_m_N), found[:, 0], rtol=1e-6)
    query_NE = text_queries(parts, ids)
    assert query_NE is not None
    np.testing.assert_allclose(with_recent_words(model, ids, log_m_N, query_NE), found[:, 0], rtol=1e-6)
    state, of_mixture = model.initial_state(1), alone.initial_state(1)
    read: list[tuple[int, np.ndarray]] = []
    for position, word in enumerate(ids):
        query_E = query_of(np.exp(parts[2].next(of_mixture[2])))[0]
        p_V = by_definition(np.exp(alone.next(of_mixture)[0]), read, query_E, recent)
        read.append((int(word), query_E))
        assert p_V.sum() == pytest.approx(1, abs=1e-9)
        for found_V in (p_TBV[position, 0], np.exp(model.next(state)[0])):
            np.testing.assert_allclose(found_V, p_V, rtol=1e-6)
        assert found[position, 0] == pytest.approx(math.log(p_V[word]), rel=1e-6)
        assert with_entropy[position, 0] == pytest.approx(found[position, 0], rel=1e-6)
        assert entropy[position, 0] == pytest.approx(-(p_V @ np.log(p_V)), rel=1e-6)
        state = model.advance(ids[[position], None], state)
        of_mixture = alone.advance(ids[[position], None], of_mixture)
    for end in (after, also_after, third_after):
        np.testing.assert_allclose(model.next(end), model.next(state), rtol=1e-7)


@pytest.mark.parametrize("recent", [RECENT, SHARP], ids=["alike", "by context"])
def test_unequal_lengths_and_selection(recent: RecentWords) -> None:
    model = AdaptiveMixture(parts_with_queries(), BY_CLASS, recent)
    long, short = text(40, 5), text(4, 6)
    padded = np.full((40, 2), PADDING)
    padded[:, 0], padded[:4, 1] = long, short
    log_p, entropy, _ = model.score(padded, model.initial_state(2), entropy=True)
    without_entropy, _, _ = model.score(padded, model.initial_state(2))
    assert entropy is not None
    assert not log_p[4:, 1].any()
    assert not without_entropy[4:, 1].any()
    assert not entropy[4:, 1].any()
    for stream, ids in enumerate((long, short)):
        alone, entropy_alone, _ = model.score(ids[:, None], model.initial_state(1), entropy=True)
        assert entropy_alone is not None
        np.testing.assert_allclose(log_p[: len(ids), stream], alone[:, 0], rtol=1e-7)
        np.testing.assert_allclose(without_entropy[: len(ids), stream], alone[:, 0], rtol=1e-6)
        np.testing.assert_allclose(entropy[: len(ids), stream], entropy_alone[:, 0], rtol=1e-7)
    after = model.advance(short[:, None], model.initial_state(1))
    both = model.advance(np.stack([long[:4], short], 1), model.initial_state(2))
    np.testing.assert_allclose(model.next(model.select(both, [1, 0, 1]))[[0, 2]], model.next(after)[[0, 0]], rtol=1e-7)
    empty = np.zeros((0, 1), np.int64)
    assert model.score(empty, after)[0].shape == (0, 1)
    np.testing.assert_array_equal(model.next(model.advance(empty, after)), model.next(after))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("recent", [RECENT, SHARP, RecentWords(0.3, 4, 1e6)], ids=["alike", "by context", "sharpest"])
def test_the_next_word_may_have_a_probability_below_the_least_float(recent: RecentWords) -> None:
    """One that was not read lately, and one that was."""
    parts: list[NextWordModel[Any]] = [AlmostWithout(ngrams(2, 2), 7), AlmostWithoutOne(ngrams(3, 3), 7)]
    model = AdaptiveMixture(parts, np.array([[0.25, 0.75]]), recent)
    before, every_word = text(12, 5), np.arange(WORDS)[None]
    assert 7 not in before
    for ids in (before, np.append(before, 7)):
        state = model.advance(ids[:, None], model.initial_state(1))
        log_p_1V, _, _ = model.score(every_word, model.select(state, [0] * WORDS))
        assert 7 in ids or log_p_1V[0, 7] < -900
        np.testing.assert_allclose(model.next(state), log_p_1V, rtol=1e-6)


def test_memory_does_not_grow_with_the_square_of_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long window of a small vocabulary is compared with the remembered words piece by piece."""
    model, ids = AdaptiveMixture(parts_with_queries(), WEIGHTS, SHARP), text(2000, 5)[:, None]
    whole, after = model.distributions(ids, model.initial_state(1))
    monkeypatch.setattr(recent_words, "VALUES_AT_ONCE", 50 * SHARP.words)
    tracemalloc.start()
    p_TBV, also_after = model.distributions(ids, model.initial_state(1))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    np.testing.assert_allclose(p_TBV, whole, rtol=1e-6)
    np.testing.assert_allclose(model.next(also_after), model.next(after), rtol=1e-6)
    assert peak < 4 * 2000 * 2000, "less than a float32 for each pair of tokens"


def log_p(recent: RecentWords, ids: np.ndarray) -> np.ndarray:
    """Of each token, all words being as likely without recent words."""
    return log_with_recent(np.full(len(ids), -math.log(WORDS)), *text_shares([], recent, ids))


def in_sections(words: int, seed: int) -> np.ndarray:
    """A text of sections, each of which has few words of its own."""
    generator = np.random.default_rng(seed)
    return np.concatenate([generator.choice(generator.integers(0, WORDS, 4), 100) for _ in range(words // 100)])


def test_words_are_remembered_where_they_return() -> None:
    uniform = np.full(3000, -math.log(WORDS))
    recent, log_p_N = fit_recent_words([], in_sections(3000, 1), uniform)
    assert recent is not None
    np.testing.assert_allclose(log_p_N, log_p(recent, in_sections(3000, 1)), rtol=1e-7)
    assert recent.half_life == min(recent_words.HALF_LIVES)  # sections are short
    assert recent.weight > 0.8
    assert log_p(recent, in_sections(3000, 1)).sum() > uniform.sum()
    none, log_p_N = fit_recent_words([], np.random.default_rng(2).integers(0, WORDS, 3000), uniform)
    assert none is None
    np.testing.assert_array_equal(log_p_N, uniform)


@pytest.mark.parametrize("length", [1e-4, 1e-12, 1e-30])
def test_queries_of_almost_nothing_are_not_compared(length: float) -> None:
    """As of a network that has learnt little from small initial weights; 1e-30 squared is 0."""
    ids_N, uniform = in_sections(3000, 1), np.full(3000, -math.log(WORDS))
    query_NE = np.full((3000, 2), length, np.float32)
    recent, _ = fit_recent_words([], ids_N, uniform, query_NE)
    assert recent is not None
    assert recent.sharpness == 0


def test_the_weight_is_the_likeliest() -> None:
    mixed, uniform = in_sections(10_000, 1), np.full(10_000, -math.log(WORDS))
    mixed[::2] = np.random.default_rng(3).integers(0, WORDS, 5000)
    recent, _ = fit_recent_words([], mixed, uniform)
    assert recent is not None
    grid = {
        (weight, half_life): log_p(RecentWords(weight, half_life), mixed).sum()
        for half_life in recent_words.HALF_LIVES
        for weight in np.linspace(0.1, 0.9, 17)
    }
    weight, half_life = max(grid, key=lambda each: grid[each])
    assert recent.half_life == half_life
    assert recent.weight == pytest.approx(weight, abs=0.03)
    assert log_p(recent, mixed).sum() == pytest.approx(grid[weight, half_life], abs=1)


def test_a_model_without_them_is_a_mixture() -> None:
    parts = three_parts()
    plain = mixture_of(parts, WEIGHTS, None)
    assert not isinstance(plain, AdaptiveMixture)
    forgetful = AdaptiveMixture(parts, WEIGHTS, RecentWords(0.0, 4))
    assert nats(forgetful, text(50, 1)) == pytest.approx(nats(plain, text(50, 1)))
    assert forgetful.vocabulary is VOCABULARY


@pytest.mark.parametrize(("weight", "half_life"), [(-0.1, 4), (1.0, 4), (0.5, 0), (0.5, 10**9), (math.nan, 4)])
def test_refuses_what_is_no_weight(weight: float, half_life: int) -> None:
    with pytest.raises(SettingsError, match="recent words"):
        RecentWords(weight, half_life)


def test_a_run_stores_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text of sections: trained, mixed, opened again and measured with the same perplexity."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    Path("text").mkdir()
    for seed, split in enumerate(("train", "valid", "test")):
        words = in_sections(3000, seed).reshape(-1, 10)
        Path(f"text/{split}.txt").write_text("".join(f"{' '.join(f'w{word}' for word in line)}\n" for line in words))
    training = TrainingSettings(epochs=1, streams=4, steps=7, threads=1)
    settings = Settings(
        DataSettings(corpus="text"), ModelSettings(hidden=8), LossSettings(kind="cross_entropy"), training=training
    )
    result = train(settings, "run", ngram=2)
    assert result.mixture is not None
    figures = result.mixture
    assert figures["recent"]["half_life"] == 50
    assert figures["valid_perplexity"] < figures["without_recent"]["valid_perplexity"]
    opened = wordtie.load("run")
    assert isinstance(opened.model, AdaptiveMixture)
    assert "recent words" in repr(opened)
    for split in ("valid", "test"):
        assert opened.evaluate(f"text/{split}.txt").perplexity == pytest.approx(
            figures[f"{split}_perplexity"], rel=1e-5
        )
    config = Path("run/mixture/config.json")
    config.write_text(config.read_text().replace('"half_life": 50', '"half_life": 0'))
    sealed(config.parent)
    with pytest.raises(RunFolderError, match=r"config\.json.*half-life of recent words"):
        wordtie.load("run")


def test_queries_of_a_long_text_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    parts, ids = parts_with_queries(), text(60, 5)
    known = text_shares(parts, SHARP, ids, text_queries(parts, ids))
    monkeypatch.setattr(recent_words, "MOST_KEPT", 1)
    assert text_queries(parts, ids) is None
    np.testing.assert_allclose(text_shares(parts, SHARP, ids), known)
    assert text_queries(parts[:2], ids) is None, "no part has any"
    assert fit_recent_words(parts, ids, np.full(60, -math.log(WORDS)))[1].shape == (60,)
