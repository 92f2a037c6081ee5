"""Perplexity against one word at a time, and what it must not depend on."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reference.perplexity import surprisals
from wordtie.config import DataSettings, ModelSettings
from wordtie.data.corpus import SplitReader, find_corpus
from wordtie.data.vocabulary import Vocabulary
from wordtie.errors import DataError
from wordtie.evaluation import perplexity
from wordtie.evaluation.perplexity import Reader, evaluate, evaluate_blocks
from wordtie.models import network
from wordtie.models.language_model import LanguageModel
from wordtie.models.network import LogProbabilities, Network

WORDS, EOS = 23, 1
VOCABULARY = Vocabulary(["<unk>", "<eos>", *(f"w{number}" for number in range(2, WORDS))])


def reader_of(model: LanguageModel) -> Reader:
    return Reader(Network(model, VOCABULARY))


@pytest.fixture(scope="module", params=["tied", "untied"])
def model(request: pytest.FixtureRequest) -> LanguageModel:
    torch.manual_seed(3)
    made = LanguageModel(ModelSettings(head=request.param, hidden=6, init=0.8, output_bias=True), WORDS)
    assert made.head.bias is not None
    torch.nn.init.normal_(made.head.bias)  # it starts at zero, which would not be missed
    return made.use(fused=True).requires_grad_(False)


def text(length: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.random.default_rng(length).integers(WORDS, size=length)


@pytest.mark.parametrize("length", [1, 2, 61])
def test_one_stream_is_one_word_after_another(model: LanguageModel, length: int) -> None:
    ids = text(length)
    slow = surprisals(model.state_dict(), ids.tolist(), EOS)
    score = evaluate(model, ids, EOS)
    assert score.tokens == length
    assert score.nats == pytest.approx(sum(nats for nats, _ in slow), rel=1e-5)
    assert score.perplexity == pytest.approx(math.exp(sum(nats for nats, _ in slow) / length), rel=1e-5)
    bits, entropies = (np.concatenate(parts) for parts in zip(*reader_of(model)(ids), strict=True))
    np.testing.assert_allclose(bits, [nats / math.log(2) for nats, _ in slow], rtol=1e-4)
    np.testing.assert_allclose(entropies, [entropy for _, entropy in slow], rtol=1e-4)


@pytest.mark.parametrize(("tokens", "scores"), [(1, 1), (7, 50), (1000, 1)])
def test_windows_do_not_matter(model: LanguageModel, tokens: int, scores: int, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = text(50)
    whole = evaluate(model, ids, EOS)
    pieces = np.concatenate([bits for bits, _ in reader_of(model)(ids)])
    monkeypatch.setattr(perplexity, "TOKENS_AT_ONCE", tokens)
    monkeypatch.setattr(network, "SCORES_AT_ONCE", scores)
    monkeypatch.setattr(network, "FEWEST_ROWS", 1)
    assert evaluate(model, ids, EOS).nats == pytest.approx(whole.nats, rel=1e-5)
    np.testing.assert_allclose(np.concatenate([b for b, _ in reader_of(model)(ids)]), pieces, rtol=1e-4)


@settings(max_examples=25, deadline=None)
@given(cuts=st.lists(st.integers(0, 40), max_size=5))
def test_pieces_do_not_matter(cuts: list[int]) -> None:
    torch.manual_seed(1)
    model = LanguageModel(ModelSettings(hidden=5), WORDS).use(fused=True)
    ids = text(40)
    reader = reader_of(model)
    pieces = [bits for piece in np.split(ids, sorted(cuts)) for bits, _ in reader(piece)]
    assert np.concatenate(pieces).sum() * math.log(2) == pytest.approx(evaluate(model, ids, EOS).nats, rel=1e-5)


@pytest.mark.parametrize("cuts", [[], [0, 0, 3, 20, 61], [7, 14, 62], range(63)])
def test_blocks_are_scored_as_the_whole(
    cuts: Sequence[int], model: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(perplexity, "TOKENS_AT_ONCE", 7)
    ids = text(62)
    next_word, whole = Network(model, VOCABULARY), evaluate(model, ids, EOS)
    found = evaluate_blocks(next_word, np.split(ids, cuts))
    assert found == evaluate_blocks(next_word, [ids])  # to the bit
    assert found.tokens == whole.tokens
    assert found.nats == pytest.approx(whole.nats, rel=1e-6)


def bits_of(reader: Reader, ids: np.ndarray) -> list[float]:
    return [float(each) for bits, _ in reader(ids) for each in bits]


def test_a_text_that_starts_knows_nothing_of_the_one_before(model: LanguageModel) -> None:
    reader, ids = reader_of(model), text(9)
    first = bits_of(reader, ids)
    assert bits_of(reader, ids) != first
    reader.start()
    assert bits_of(reader, ids) == first


@pytest.mark.parametrize("at_once", [1, 2, 99])
def test_short_texts_side_by_side_have_what_each_has_alone(
    model: LanguageModel, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(perplexity, "VALUES_OF_A_STEP", at_once * len(VOCABULARY))
    reader, texts = reader_of(model), [text(length) for length in (3, 1, 5, 2, 4)]
    for measured, ids in zip(reader.apart(texts), texts, strict=True):
        alone = [np.concatenate(part) for part in zip(*reader_of(model)(ids), strict=True)]
        np.testing.assert_allclose(measured, alone, rtol=1e-4)
    assert bits_of(reader, text(9)) == bits_of(reader_of(model), text(9)), "the stream has not moved"


def test_the_memory_of_the_scores_is_taken_once(model: LanguageModel, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SCORES_AT_ONCE", "SCORES_AT_ONCE_BY_ONEDNN"):
        monkeypatch.setattr(network, name, 1)
    monkeypatch.setattr(network, "FEWEST_ROWS", 5)
    monkeypatch.setattr(network, "SCORES_IN_CACHE", 2 * WORDS)
    log_probabilities = LogProbabilities(model)
    query = torch.randn(12, 6)
    parts = zip(query.split(9), torch.arange(12).split(9), strict=True)
    found = [(log_p.data_ptr(), log_p.clone(), here) for part in parts for log_p, here in log_probabilities(*part)]
    assert len({place for place, _, _ in found}) == 1
    assert [len(log_p) for _, log_p, _ in found] == [2, 2, 1, 2, 2, 2, 1]
    torch.testing.assert_close(torch.cat([log_p for _, log_p, _ in found]), model.logits(query).log_softmax(1))
    assert torch.cat([here for *_, here in found]).tolist() == list(range(12))


def test_streams_lose_no_token_and_change_little(model: LanguageModel) -> None:
    ids = text(53)
    assert evaluate(model, ids, EOS, 10).tokens == evaluate(model, ids, EOS, 99).tokens == 53
    assert evaluate(model, ids, EOS, 10).nats == pytest.approx(evaluate(model, ids, EOS).nats, rel=0.2)
    befores = [EOS, *ids.tolist()[5:53:6]]  # streams of six words, each from the word before it and an empty state
    pieces = [ids.tolist()[first : first + 6] for first in range(0, 53, 6)]
    slow = [nats for piece, before in zip(pieces, befores, strict=True)
            for nats, _ in surprisals(model.state_dict(), piece, before)]  # fmt: skip
    assert evaluate(model, ids, EOS, 10).nats == pytest.approx(sum(slow), rel=1e-5)


def test_a_uniform_model_is_as_perplexed_as_it_has_words() -> None:
    model = LanguageModel(ModelSettings(hidden=4), WORDS)
    with torch.no_grad():
        model.embedding.weight.zero_()
    assert evaluate(model, text(30), EOS).perplexity == pytest.approx(WORDS)
    for bits, entropies in reader_of(model)(text(30)):
        np.testing.assert_allclose(bits, math.log2(WORDS), rtol=1e-6)
        np.testing.assert_allclose(entropies, math.log2(WORDS), rtol=1e-6)


def test_scoring_leaves_gradients_on_for_its_caller() -> None:
    model = LanguageModel(ModelSettings(hidden=4), WORDS).train()
    for _ in reader_of(model)(text(30)):
        assert torch.is_grad_enabled()
        assert model.training


def test_penn_treebank_has_82430_test_tokens() -> None:
    try:
        source = find_corpus(DataSettings(corpus="ptb")).splits["test"]
    except DataError as error:
        pytest.skip(str(error))
    assert sum(len(block.split()) + block.count("\n") for block in SplitReader(source, sentences=True)) == 82_430
