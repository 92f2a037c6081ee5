"""The word2vec kernels against the reference: the same draws, the same loss, the same vectors."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.reference import word2vec as reference
from wordtie.errors import DataError, SettingsError
from wordtie.kernels.word2vec import negative_sampling as kernel
from wordtie.kernels.word2vec.draws import ALWAYS, alias_table, below, generator, negative, next_random, next_sentence
from wordtie.word2vec.model import Word2Vec, keep_thresholds, noise_weights, padded
from wordtie.word2vec.settings import MIN_COUNT, Word2VecSettings

WORDS, EOS, UNK = 9, 0, 8
TOKENS = np.array([1, 2, 3, 2, 0, 4, 5, 0, 0, 1, 8, 1, 6, 7, 3, 0, 2], np.int32)
"""With an empty sentence, one with a word twice in a window, one with an unknown word, and one of a single word."""
COUNTS = np.array([0, 3, 3, 2, 1, 1, 1, 1, 0])
SENTENCES = [[1, 2, 3, 2], [4, 5], [1, 1, 6, 7, 3], [2]]


class Draws:
    """The kernel's own random choices, in the order in which it makes them."""

    def __init__(self, model: Word2Vec, state: NDArray[np.uint64]) -> None:
        self.model, self.state = model, state.copy()

    def reach(self) -> int:
        return self.model.settings.window - int(below(self.state, self.model.settings.window))

    def negatives(self, target: int) -> list[int]:
        drawn = [int(negative(self.state, self.model.threshold_V, self.model.alias_V))
                 for _ in range(self.model.settings.negative)]  # fmt: skip
        return [word for word in drawn if word != target]


def predictions(
    model: Word2Vec, draws: Draws, sentences: Sequence[Sequence[int]] = SENTENCES
) -> Iterator[reference.Prediction]:
    for sentence in sentences:
        for context, target in reference.windows(sentence, iter(draws.reach, None)):
            if model.settings.algorithm == "cbow":
                if context:
                    yield reference.Prediction(context, target, draws.negatives(target))
            else:
                for word in context:
                    yield reference.Prediction([word], target, draws.negatives(target))


def model_of(**settings: Any) -> Word2Vec:
    model = Word2Vec(Word2VecSettings(vector_size=5, window=3, sample=0, **settings), COUNTS)
    rng = np.random.default_rng(3)
    for matrix in (model.input_VP, model.output_VP):
        matrix[:, :5] = rng.normal(size=(WORDS, 5))
    return model


def start() -> NDArray[np.uint64]:
    return np.array([12345], np.uint64)


@pytest.mark.parametrize("mean", [True, False], ids=["mean", "sum"])
@pytest.mark.parametrize("head", ["untied", "tied"])
@pytest.mark.parametrize("algorithm", ["skipgram", "cbow"])
def test_equals_the_reference(algorithm: str, head: str, mean: bool) -> None:
    model = model_of(algorithm=algorithm, head=head, cbow_mean=mean, negative=4)
    inputs = model.input_VP[:, :5].tolist()
    output = inputs if head == "tied" else model.output_VP[:, :5].tolist()
    made = predictions(model, Draws(model, start()))
    expected = [reference.step(each, inputs, output, 0.3, mean or algorithm == "skipgram") for each in made]
    nats, count = kernel.train(
        *(TOKENS, EOS, model.keep_V, model.input_VP, model.output_VP, model.draws, (0.3, 0.3), start()),
        *(algorithm == "skipgram", mean),
    )
    assert count == len(expected)
    assert nats == pytest.approx(sum(expected), rel=1e-5)
    np.testing.assert_allclose(model.input_VP[:, :5], inputs, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(model.output_VP[:, :5], output, rtol=1e-4, atol=1e-5)
    assert not model.input_VP[:, 5:].any()


def test_the_rate_falls_from_sentence_to_sentence() -> None:
    """By the words read before it, those that are not trained included."""
    model = model_of(negative=4)
    inputs, output = model.input_VP[:, :5].tolist(), model.output_VP[:, :5].tolist()
    draws, expected = Draws(model, start()), 0.0
    for begin, sentence in zip([0, 5, 9, 16], SENTENCES, strict=True):
        alpha = 0.3 - 0.2 * begin / len(TOKENS)
        for each in predictions(model, draws, [sentence]):
            expected += reference.step(each, inputs, output, alpha, True)
    nats, _ = kernel.train(
        *(TOKENS, EOS, model.keep_V, model.input_VP, model.output_VP, model.draws, (0.3, 0.1), start(), True, True),
    )
    assert nats == pytest.approx(expected, rel=1e-5)
    np.testing.assert_allclose(model.input_VP[:, :5], inputs, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(model.output_VP[:, :5], output, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("same", [False, True], ids=["other target", "target is context"])
def test_a_tied_step_is_the_gradient(same: bool) -> None:
    """The step over both roles of the one matrix is minus alpha times the derivative of the loss."""
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(4, 3)).tolist()
    made = reference.Prediction([1], 1 if same else 0, [2, 3])

    def loss(rows: list[list[float]]) -> float:
        return reference.loss_of(rows[1], rows, made.target, made.negatives)

    moved = [list(row) for row in matrix]
    reference.step(made, moved, moved, 1e-6, True)
    for row in range(4):
        for e in range(3):
            up, down = ([list(each) for each in matrix] for _ in range(2))
            up[row][e] += 1e-5
            down[row][e] -= 1e-5
            slope = (loss(up) - loss(down)) / 2e-5
            assert (moved[row][e] - matrix[row][e]) / -1e-6 == pytest.approx(slope, abs=1e-4)


def test_large_scores_have_a_finite_loss() -> None:
    matrix = np.array([[80, 0], [1, 0], [-1, 0]], np.float32)
    step, error = np.empty(3, np.float32), np.empty(2, np.float32)
    words = np.array([2, 1, 1])
    nats = kernel.predict(matrix[0].copy(), matrix, words, 3, np.float32(0), step, error)
    assert nats == pytest.approx(240, rel=1e-6)


def test_random_numbers_are_those_of_xorshift64_star() -> None:
    """Vigna (2016), in Python's whole numbers."""
    state = start()
    x = int(state[0])
    for _ in range(9):
        x ^= x >> 12
        x = (x ^ x << 25) % 2**64
        x ^= x >> 27
        assert int(next_random(state)) == x * 2685821657736338717 % 2**64


def test_every_place_has_a_generator_of_its_own() -> None:
    states = [int(generator(*place)[0]) for place in product((0, 1), repeat=3)]
    assert len(set(states)) == 8
    assert all(states), "zero would stay zero"


def test_negatives_follow_their_distribution() -> None:
    weight = noise_weights(COUNTS, 0.75)
    threshold, alias = alias_table(weight)
    column = threshold / ALWAYS
    share = (column + np.bincount(alias, 1 - column, WORDS)) / WORDS
    np.testing.assert_allclose(share, weight / weight.sum(), atol=1e-6)
    state = start()
    drawn = np.bincount([negative(state, threshold, alias) for _ in range(20_000)], minlength=WORDS) / 20_000
    np.testing.assert_allclose(drawn, weight / weight.sum(), atol=0.015)
    assert drawn[EOS] == drawn[UNK] == 0


def test_reaches_are_even() -> None:
    state = start()
    drawn = np.bincount([below(state, 5) for _ in range(20_000)], minlength=5) / 20_000
    np.testing.assert_allclose(drawn, 0.2, atol=0.015)


def test_words_are_kept_at_their_thresholds() -> None:
    tokens, sentence = np.tile(np.array([1, 2, 3], np.int32), 20_000), np.empty(60_000, np.int32)
    keep = np.array([0, ALWAYS // 4, ALWAYS, 0])
    kept, position = next_sentence(tokens, 0, EOS, keep, start(), sentence)
    share = np.bincount(sentence[:kept], minlength=4) / 20_000
    assert position == 60_000
    assert share.tolist() == [0, pytest.approx(0.25, abs=0.015), 1, 0]


def test_a_sentence_longer_than_its_buffer_is_cut() -> None:
    tokens, sentence = np.array([1, 2, 3, EOS, 1], np.int32), np.empty(2, np.int32)
    keep, state = np.full(4, ALWAYS), start()
    assert next_sentence(tokens, 0, EOS, keep, state, sentence) == (2, 2)
    assert sentence.tolist() == [1, 2]
    assert next_sentence(tokens, 2, EOS, keep, state, sentence) == (1, 4)
    assert sentence[0] == 3


def test_negatives_are_weighed_by_count_to_the_exponent() -> None:
    counts = np.array([0, 1, 16, 81])
    assert noise_weights(counts, 0.75).tolist() == pytest.approx([0, 1, 8, 27])
    assert noise_weights(counts, -0.5).tolist() == pytest.approx([0, 1, 1 / 4, 1 / 9])


def test_vectors_start_even_around_zero_however_many_words_there_are() -> None:
    model = Word2Vec(Word2VecSettings(vector_size=20), np.ones(5000, np.int64))
    vectors = model.input_VP[:, :20]
    assert vectors.any(axis=1).all()
    np.testing.assert_allclose(np.quantile(vectors * 20, [0, 0.25, 0.5, 0.75, 1]), [-1, -0.5, 0, 0.5, 1], atol=0.02)


def test_frequent_words_are_thinned_out_as_in_gensim() -> None:
    counts = np.array([0, 600, 300, 99, 1])
    keep = keep_thresholds(counts, 0.01) / ALWAYS
    limit = 0.01 * 1000
    expected = [0, *(min((np.sqrt(c / limit) + 1) * (limit / c), 1) for c in (600, 300, 99, 1))]
    np.testing.assert_allclose(keep, expected, rtol=1e-6)
    assert (keep_thresholds(counts, 0) == [0, *[ALWAYS] * 4]).all()
    assert keep_thresholds(np.array([1, 3]), 0.01)[0] / ALWAYS == pytest.approx(0.24), "even a word that comes once"


def test_starts_as_gensim_does_and_stores_each_matrix_once() -> None:
    model = Word2Vec(Word2VecSettings(vector_size=20), np.array([5, 3, 0]))
    assert padded(20) == model.input_VP.shape[1] == 32
    assert 0.5 / 20 < np.abs(model.input_VP).max() <= 1 / 20
    assert not model.output_VP.any()
    assert model.parameter_count() == 2 * 3 * 20
    tied = Word2Vec(Word2VecSettings(vector_size=20, head="tied"), np.array([5, 3, 0]))
    assert tied.output_VP is tied.input_VP
    assert set(tied.tensors()) == {"embedding.weight", "counts"}
    linear = Word2Vec(Word2VecSettings(vector_size=20, head="tied_linear"), np.array([5, 3, 0]))
    assert linear.parameter_count() == 3 * 20 + 400
    assert linear.linear_PP is not None
    np.testing.assert_allclose(linear.linear_PP[:20, :20] @ linear.linear_PP[:20, :20].T, np.eye(20), atol=1e-5)


def test_refuses_a_text_without_words() -> None:
    with pytest.raises(DataError, match="fewer than two words"):
        Word2Vec(Word2VecSettings(), np.array([0, 7, 0]))


def test_what_is_left_out_is_what_gensim_takes() -> None:
    gensim = pytest.importorskip("gensim.models")
    theirs = inspect.signature(gensim.Word2Vec.__init__).parameters
    ours = Word2VecSettings()
    names = ("vector_size", "window", "negative", "ns_exponent", "sample", "min_alpha", "epochs", "seed")
    assert {name: getattr(ours, name) for name in names} == {name: theirs[name].default for name in names}
    cbow = Word2VecSettings("cbow")
    assert (ours.rate, cbow.rate, cbow.mean) == (0.025, 0.025, bool(theirs["cbow_mean"].default))
    assert theirs["alpha"].default == 0.025
    assert theirs["min_count"].default == MIN_COUNT


@pytest.mark.parametrize(
    "setting",
    [{"window": 0}, {"negative": 0}, {"sample": 1.0}, {"alpha": 0.0}, {"min_alpha": 0.1}, {"seed": -1}, {"epochs": 0}],
    ids=str,
)
def test_refuses_settings_that_mean_nothing(setting: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match=f"word2vec.{next(iter(setting))} must"):
        Word2VecSettings(**setting)
