"""Back-off form against the interpolated one; normalisation and pruning against sums over all words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from wordtie.ngrams import fit_kneser_ney
from wordtie.ngrams.backoff import BackoffModel, losses, normalised, of_trie, pruned, restricted, to_trie

WORDS = 20
TRAIN = np.cumsum(np.minimum(np.random.default_rng(1).zipf(1.5, 800), 10) - 1) % WORDS
TEXT = np.cumsum(np.minimum(np.random.default_rng(2).zipf(1.5, 200), 10) - 1) % WORDS


@pytest.fixture(params=[0, None], ids=["sentences", "running text"])
def model(request: pytest.FixtureRequest) -> BackoffModel:
    return of_trie(fit_kneser_ney(TRAIN, WORDS, 4, eos_id=request.param, minimum_counts=[1, 1, 1, 2]))


def by_definition(model: BackoffModel, context: tuple[int, ...], word: int) -> float:
    """p(word | context) from the tables, by recursion."""
    tables = [{(*each,): (p, 1.0) for each, p in zip(np.arange(WORDS)[:, None].tolist(), model.unigram, strict=True)}]
    for level in model.levels:
        tables.append({(*each,): (p, 1.0) for each, p in zip(level.ids_GN.tolist(), level.p_G, strict=True)})
    contexts: list[dict[tuple[int, ...], float]] = []
    names = [(number,) for number in range(WORDS + 1)]
    for level in model.levels:
        contexts.append(dict(zip(names, level.backoff_C.tolist(), strict=True)))
        names = [(*each,) for each in level.ids_GN.tolist()]

    def p(h: tuple[int, ...]) -> float:
        if (*h, word) in tables[len(h)]:
            return float(tables[len(h)][(*h, word)][0])
        return contexts[len(h) - 1].get(h, 1.0) * p(h[1:])

    return p(context[-(len(model.levels)) :] if model.levels else ())


def contexts_of(model: BackoffModel) -> list[tuple[int, ...]]:
    start = WORDS
    of_level = [(*each,) for each in model.levels[1].ids_GN[:20].tolist()] if len(model.levels) > 1 else []
    return [(start,), (start, 3), (3, 4), (3, 4, 5), (start, 4, 4), (5, 5, 5), (7,), *of_level]


def sums(model: BackoffModel) -> list[float]:
    return [sum(by_definition(model, context, word) for word in range(WORDS)) for context in contexts_of(model)]


def test_both_forms_say_the_same(model: BackoffModel) -> None:
    trie = fit_kneser_ney(TRAIN, WORDS, 4, eos_id=model.eos_id, minimum_counts=[1, 1, 1, 2])
    np.testing.assert_allclose(to_trie(model).log_probabilities(TEXT), trie.log_probabilities(TEXT), rtol=1e-12)
    assert model.ngrams == trie.ngrams
    state = trie.start(1)
    for place, word in enumerate(TEXT[:40].tolist()):
        before = TEXT[:place].tolist()
        if model.eos_id is not None and model.eos_id in before:
            before = before[len(before) - before[::-1].index(model.eos_id) :]
        p_T1, rows = trie.score(np.array([[word]]), state)
        state = rows[-1]
        context = (() if model.eos_id is None else (WORDS,)) + tuple(before)
        assert by_definition(model, context, word) == pytest.approx(float(p_T1[0, 0]), rel=1e-10)


def test_words_sum_to_one(model: BackoffModel) -> None:
    np.testing.assert_allclose(sums(model), 1, atol=1e-9)
    draw = np.random.default_rng(3)
    other = replace(
        model,
        levels=tuple(replace(level, p_G=level.p_G * draw.uniform(0.5, 1, len(level.p_G))) for level in model.levels),
    )
    assert max(abs(each - 1) for each in sums(other)) > 0.01
    np.testing.assert_allclose(sums(normalised(other)), 1, atol=1e-9)
    np.testing.assert_allclose(sums(pruned(other, 150)), 1, atol=1e-9)


def test_what_an_n_gram_is_worth_is_the_divergence_without_it() -> None:
    """Stolcke (1998), equation 2, from the distributions with and without one bigram."""
    model = of_trie(fit_kneser_ney(TRAIN, WORDS, 2, eos_id=0))
    (level,) = model.levels
    (worth_G,) = losses(model)
    for row in (0, 5, 40):
        kept = np.arange(len(level.p_G)) != row
        without = normalised(restricted(model, [kept]))
        context = int(level.ids_GN[row, 0])
        p, q = (np.array([by_definition(each, (context,), word) for word in range(WORDS)]) for each in (model, without))
        p_context = model.unigram[0 if context == WORDS else context]
        assert worth_G[row] == pytest.approx(p_context * float((p * np.log(p / q)).sum()), rel=1e-6)


def test_the_least_valuable_are_pruned(model: BackoffModel) -> None:
    for most in (400, 200, 60, 20):
        small = pruned(model, most)
        assert small.ngrams <= most
        for level in small.levels:
            assert (np.diff(level.context_G) >= 0).all()
    perplexities = [-to_trie(pruned(model, most)).log_probabilities(TRAIN).mean() for most in (400, 200, 60)]
    assert perplexities == sorted(perplexities)
    chance = np.random.default_rng(1).random(len(model.levels[0].p_G)) < 0.5
    rest = [np.zeros(len(level.p_G), bool) for level in model.levels[1:]]
    at_random = normalised(restricted(model, [chance, *rest]))
    chosen = pruned(replace(model, levels=model.levels[:1]), at_random.ngrams)
    better = [-to_trie(each).log_probabilities(TRAIN).mean() for each in (chosen, at_random)]
    assert better[0] < better[1]


def test_nothing_to_prune(model: BackoffModel) -> None:
    assert pruned(model, 10**6).ngrams == model.ngrams
    assert pruned(model, 1).levels == ()
