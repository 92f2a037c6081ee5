"""The network in numpy: the parameters and the scores of the network in torch, whichever way they are asked for."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.reference.perplexity import surprisals
from wordtie.config import ModelSettings
from wordtie.data.batches import PADDING
from wordtie.data.vocabulary import Vocabulary
from wordtie.models import numpy_network
from wordtie.models.language_model import LanguageModel
from wordtie.models.network import Network
from wordtie.models.next_word import NextWordModel
from wordtie.models.numpy_network import NumpyNetwork, parameter_shapes

WORDS = 23
VOCABULARY = Vocabulary(["<unk>", "<eos>", *(f"w{number}" for number in range(2, WORDS))])
TEXT = np.random.default_rng(1).integers(WORDS, size=(40, 3))
SETTINGS = {
    "lstm": ModelSettings(hidden=6),
    "three layers": ModelSettings(hidden=6, layers=3, output_bias=True),
    "tied_linear": ModelSettings(head="tied_linear", hidden=7, embedding=5, projection_bias=True),
    "tied_linear without biases": ModelSettings(head="tied_linear", hidden=7, embedding=5, output_bias=False),
    "untied": ModelSettings(head="untied", hidden=6, embedding=4),
    "untied with a map": ModelSettings(head="untied", projection=True, hidden=6, embedding=4, output_bias=False),
    "gru": ModelSettings(core="gru", hidden=6),
    "rnn": ModelSettings(core="rnn", hidden=6),
    "rhn": ModelSettings(core="rhn", hidden=6, depth=3, layers=1),
    "rhn with gates apart": ModelSettings(core="rhn", hidden=6, depth=2, coupled_gates=False),
}


def both(settings: ModelSettings) -> tuple[NumpyNetwork, Network]:
    """One model, twice."""
    torch.manual_seed(3)
    made = LanguageModel(settings, WORDS)
    for parameter in made.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    arrays = {name: tensor.numpy() for name, tensor in made.state_dict().items()}
    return NumpyNetwork(settings, arrays, VOCABULARY), Network(made.requires_grad_(False).use(fused=True), VOCABULARY)


@pytest.fixture(params=list(SETTINGS.values()), ids=list(SETTINGS))
def models(request: pytest.FixtureRequest) -> tuple[NumpyNetwork, Network]:
    return both(request.param)


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_it_has_the_parameters_of_the_network(settings: ModelSettings) -> None:
    state = LanguageModel(settings, WORDS).state_dict()
    assert parameter_shapes(settings, WORDS) == {name: tuple(tensor.shape) for name, tensor in state.items()}


def test_equals_the_definition() -> None:
    ours, torchs = both(SETTINGS["lstm"])
    text = TEXT[:12, 0]
    slow = surprisals(torchs.network.state_dict(), text.tolist(), VOCABULARY.eos_id)
    log_p_T1, entropy_T1, _ = ours.score(text[:, None], ours.initial_state(1), entropy=True)
    assert entropy_T1 is not None
    np.testing.assert_allclose(-log_p_T1[:, 0], [nats for nats, _ in slow], rtol=1e-4)
    np.testing.assert_allclose(entropy_T1[:, 0] / np.log(2), [entropy for _, entropy in slow], rtol=1e-4)


def test_scores_and_entropies(models: tuple[NumpyNetwork, Network], monkeypatch: pytest.MonkeyPatch) -> None:
    """Of streams of unequal length, in two pieces; the softmax takes a few rows at a time."""
    monkeypatch.setattr(numpy_network, "SCORES_AT_ONCE", 5 * WORDS)
    ids_TB = TEXT.copy()
    ids_TB[30:, 1] = PADDING
    found = []
    for model in models:
        network: NextWordModel[object] = model  # type: ignore[assignment]
        state, pieces = network.initial_state(3), []
        for piece in (ids_TB[:17], ids_TB[17:]):
            log_p_TB, entropy_TB, state = network.score(piece, state, entropy=True)
            pieces.append(np.stack([log_p_TB, np.zeros(piece.shape) if entropy_TB is None else entropy_TB]))
        found.append(np.concatenate(pieces, 1))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-5, atol=1e-5)
    assert not found[0][:, 30:, 1].any()


def test_next_words_and_queries(models: tuple[NumpyNetwork, Network]) -> None:
    ours, torchs = models
    p_TBV, state = ours.distributions(TEXT, ours.initial_state(3))
    expected_TBV, expected_state = torchs.distributions(TEXT, torchs.initial_state(3))
    np.testing.assert_allclose(p_TBV, expected_TBV, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(
        ours.queries(TEXT, ours.initial_state(3))[0], torchs.queries(TEXT, torchs.initial_state(3))[0], atol=1e-5
    )
    chosen, expected = ours.select(state, [2, 0, 0]), torchs.select(expected_state, [2, 0, 0])
    np.testing.assert_allclose(ours.next(chosen), torchs.next(expected), atol=1e-5)
    after, expected = ours.advance(TEXT[:2], chosen), torchs.advance(TEXT[:2], expected)
    np.testing.assert_allclose(ours.next(after), torchs.next(expected), atol=1e-5)
    np.testing.assert_allclose(ours.next(chosen), ours.next(ours.select(state, [2, 0, 0])), atol=1e-7)  # unchanged


def test_nothing_is_read(models: tuple[NumpyNetwork, Network]) -> None:
    ours, _ = models
    state = ours.initial_state(1)
    assert ours.advance(np.zeros((0, 1), np.int64), state) is state


def test_a_word_that_is_next_to_impossible_has_a_probability() -> None:
    settings = ModelSettings(hidden=6, output_bias=True)
    _, torchs = both(settings)
    arrays = {name: tensor.numpy() for name, tensor in torchs.network.state_dict().items()}
    arrays["head.bias"][4] = -100
    ours = NumpyNetwork(settings, arrays, VOCABULARY)
    p_TBV, _ = ours.distributions(TEXT[:3], ours.initial_state(3))
    assert 0 < p_TBV[..., 4].max() < 1e-30
