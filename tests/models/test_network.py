"""The network as a `NextWordModel`: every way to ask gives the numbers of one word at a time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from tests.reference.perplexity import surprisals
from wordtie.config import ModelSettings
from wordtie.data.batches import PADDING
from wordtie.data.vocabulary import Vocabulary
from wordtie.models.language_model import LanguageModel
from wordtie.models.network import Network

WORDS = 23
VOCABULARY = Vocabulary(["<unk>", "<eos>", *(f"w{number}" for number in range(2, WORDS))])
TEXT = np.random.default_rng(1).integers(WORDS, size=12)


@pytest.fixture(scope="module", params=["tied lstm", "untied lstm", "tied gru", "tied rhn"])
def model(request: pytest.FixtureRequest) -> Network:
    torch.manual_seed(3)
    head, core = request.param.split()
    made = LanguageModel(ModelSettings(head=head, core=core, hidden=6, init=0.8, output_bias=True), WORDS)
    assert made.head.bias is not None
    torch.nn.init.normal_(made.head.bias)
    return Network(made.use(fused=True).requires_grad_(False), VOCABULARY)


def test_equals_the_definition() -> None:
    torch.manual_seed(3)
    made = LanguageModel(ModelSettings(hidden=6, init=0.8), WORDS).requires_grad_(False)
    slow = surprisals(made.state_dict(), TEXT.tolist(), VOCABULARY.eos_id)
    network = Network(made.use(fused=True), VOCABULARY)
    log_p_T1, entropy_T1, _ = network.score(TEXT[:, None], network.initial_state(1), entropy=True)
    assert entropy_T1 is not None
    np.testing.assert_allclose(-log_p_T1[:, 0], [nats for nats, _ in slow], rtol=1e-4)
    np.testing.assert_allclose(entropy_T1[:, 0] / np.log(2), [entropy for _, entropy in slow], rtol=1e-4)


def test_all_ways_to_ask_agree(model: Network) -> None:
    score, none, after = model.score(TEXT[:, None], model.initial_state(1))
    _, entropy, _ = model.score(TEXT[:, None], model.initial_state(1), entropy=True)
    p_TBV, also_after = model.distributions(TEXT[:, None], model.initial_state(1))
    assert none is None
    assert entropy is not None
    asked = passed = model.initial_state(1)
    for position, word in enumerate(TEXT):
        log_p_V = model.next(asked)[0]
        assert np.exp(log_p_V).sum() == pytest.approx(1, abs=1e-5)
        np.testing.assert_allclose(np.log(p_TBV[position, 0]), log_p_V, atol=1e-5)
        assert score[position, 0] == pytest.approx(log_p_V[word], abs=1e-5)
        assert entropy[position, 0] == pytest.approx(-(np.exp(log_p_V) @ log_p_V), abs=1e-5)
        asked = model.advance(np.array([[word]]), asked)  # after `next`, and without it
        passed = model.advance(np.array([[word]]), passed)
    for state in (after, also_after, passed):
        np.testing.assert_allclose(model.next(state), model.next(asked), atol=1e-5)


def test_goes_on_after_next_as_without_it(model: Network) -> None:
    """`next` reads the last word; `score` and `distributions` then start after it."""
    state = model.advance(TEXT[:5, None], model.initial_state(1))
    expected, _, _ = model.score(TEXT[5:, None], state)
    model.next(state)
    again, _, end = model.score(TEXT[5:, None], state)
    np.testing.assert_allclose(again, expected, atol=1e-5)
    np.testing.assert_allclose(
        model.next(end), model.next(model.advance(TEXT[:, None], model.initial_state(1))), atol=1e-5
    )
    p_T1V, _ = model.distributions(TEXT[5:, None], state)
    np.testing.assert_allclose(np.log(np.take_along_axis(p_T1V[:, 0], TEXT[5:, None], 1)), expected, atol=1e-5)


def test_streams_of_unequal_length(model: Network) -> None:
    ids_TB = np.full((8, 3), PADDING)
    ids_TB[:, 0], ids_TB[:3, 1] = TEXT[:8], TEXT[8:11]
    log_p_TB, entropy_TB, _ = model.score(ids_TB, model.initial_state(3), entropy=True)
    assert entropy_TB is not None
    for stream, ids in ((0, TEXT[:8]), (1, TEXT[8:11])):
        alone, entropy_alone, _ = model.score(ids[:, None], model.initial_state(1), entropy=True)
        assert entropy_alone is not None
        np.testing.assert_allclose(log_p_TB[: len(ids), stream], alone[:, 0], atol=1e-5)
        np.testing.assert_allclose(entropy_TB[: len(ids), stream], entropy_alone[:, 0], atol=1e-5)
        assert not log_p_TB[len(ids) :, stream].any()
        assert not entropy_TB[len(ids) :, stream].any()


@pytest.mark.parametrize("asked", [False, True])
def test_streams_are_selected(model: Network, asked: bool) -> None:
    state = model.advance(TEXT.reshape(6, 2), model.initial_state(2))
    expected = model.next(model.advance(TEXT.reshape(6, 2), model.initial_state(2)))
    if asked:
        model.next(state)
    np.testing.assert_allclose(model.next(model.select(state, [1, 1, 0])), expected[[1, 1, 0]], atol=1e-5)
    assert model.next(model.select(state, [])).shape == (0, WORDS)


def test_threads_may_share_a_model() -> None:
    """The memory in which scores are computed belongs to the model."""
    torch.manual_seed(3)
    words = 5000
    made = LanguageModel(ModelSettings(hidden=16, init=0.8), words).requires_grad_(False)
    shared = Network(made, Vocabulary(["<unk>", "<eos>", *(f"w{number}" for number in range(2, words))]))
    texts = np.random.default_rng(2).integers(words, size=(8, 300, 1))

    def score(ids_T1: np.ndarray) -> np.ndarray:
        return np.concatenate([shared.score(ids_T1, shared.initial_state(1))[0] for _ in range(5)])

    alone = [score(text) for text in texts]
    with ThreadPoolExecutor(len(texts)) as pool:
        for expected, found in zip(alone, pool.map(score, texts), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_no_words_change_nothing(model: Network) -> None:
    nothing = np.zeros((0, 1), np.int64)
    state = model.advance(TEXT[:, None], model.initial_state(1))
    log_p_TB, _, after = model.score(nothing, state)
    assert log_p_TB.shape == (0, 1)
    np.testing.assert_array_equal(model.next(after), model.next(state))


def test_a_model_in_training_keeps_its_mode_and_is_read_without_dropout() -> None:
    made = LanguageModel(ModelSettings(hidden=6, dropout="gal", output_dropout=0.5, layers=2), WORDS).train()
    network = Network(made, VOCABULARY)
    first, second = (network.score(TEXT[:, None], network.initial_state(1))[0] for _ in range(2))
    assert first.tolist() == second.tolist()
    assert made.training
    assert torch.is_grad_enabled()


def test_a_probability_too_small_for_float32_is_not_zero() -> None:
    made = LanguageModel(ModelSettings(hidden=4, output_bias=True), WORDS).requires_grad_(False)
    assert made.head.bias is not None
    made.head.bias[3] = -200.0
    network = Network(made, VOCABULARY)
    p_T1V, _ = network.distributions(np.array([[3]]), network.initial_state(1))
    log_p_T1, _, _ = network.score(np.array([[3]]), network.initial_state(1))
    assert np.log(p_T1V[0, 0, 3]) == pytest.approx(log_p_T1[0, 0], rel=1e-6)
    assert p_T1V.sum() == pytest.approx(1, abs=1e-6)
