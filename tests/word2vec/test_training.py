"""Training word2vec: blocks of tied+L against the reference, threads, seeds, run folders."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.reference import word2vec as reference
from tests.word2vec.test_model import COUNTS, EOS, SENTENCES, TOKENS, Draws, predictions
from wordtie.config import DataSettings
from wordtie.data.prepare import prepare
from wordtie.data.token_file import PreparedData
from wordtie.errors import DataError, DivergedError, RunFolderError
from wordtie.kernels.word2vec import linear as kernel
from wordtie.kernels.word2vec.draws import generator
from wordtie.runs.run_folder import read_model
from wordtie.word2vec import training, training_linear
from wordtie.word2vec.model import Word2Vec
from wordtie.word2vec.run import train_word2vec
from wordtie.word2vec.settings import Word2VecSettings
from wordtie.word2vec.training import fit, one_torch_thread, train_piece
from wordtie.word2vec.training_linear import parts

TEXT = "the cat sat on the mat\nthe dog sat on the rug\na cat and a dog met\n"


@pytest.mark.parametrize("mean", [True, False], ids=["mean", "sum"])
@pytest.mark.parametrize("algorithm", ["skipgram", "cbow"])
def test_a_tied_linear_block_equals_the_reference(algorithm: Any, mean: bool) -> None:
    settings = Word2VecSettings(
        algorithm, "tied_linear", vector_size=5, window=3, sample=0, negative=4, alpha=0.2, min_alpha=0.2, epochs=1,
        cbow_mean=mean, precision="fp32", linear_rate=3.0,
    )  # fmt: skip
    model = Word2Vec(settings, COUNTS)
    rng = np.random.default_rng(3)
    model.input_VP[:, :5] = rng.normal(size=(9, 5))
    assert model.linear_PP is not None
    model.linear_PP[:5, :5] += 0.3 * rng.normal(size=(5, 5))
    matrix, linear = model.input_VP[:, :5].tolist(), model.linear_PP[:5, :5].tolist()
    made = list(predictions(model, Draws(model, generator(1, 0, 0, 0, 1))))
    expected = reference.linear_block(made, matrix, linear, 0.2, 3.0, mean or algorithm == "skipgram")
    with ThreadPoolExecutor(1) as threads:
        nats, count = train_piece(model, TOKENS, EOS, 0, 0, threads)
    assert count == len(made)
    assert nats == pytest.approx(expected, rel=1e-5)
    np.testing.assert_allclose(model.input_VP[:, :5], matrix, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(model.linear_PP[:5, :5], linear, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("every", [1, 2])
def test_tied_linear_blocks_and_their_parts_follow_one_another(every: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two blocks of two parts each: the rate falls from block to block, and one in `MAP_EVERY` moves the map."""
    for name, value in {"BLOCK": 6, "PART": 1, "ROWS": 3, "MAP_EVERY": every}.items():
        monkeypatch.setattr(training_linear, name, value)
    settings = Word2VecSettings(
        head="tied_linear", vector_size=5, window=3, sample=0, alpha=0.2, min_alpha=0.1, epochs=1, precision="fp32",
        linear_rate=3.0,
    )  # fmt: skip
    model = Word2Vec(settings, COUNTS)
    model.input_VP[:, :5] = np.random.default_rng(3).normal(size=(9, 5))
    assert model.linear_PP is not None
    matrix, linear = model.input_VP[:, :5].tolist(), model.linear_PP[:5, :5].tolist()
    expected = 0.0
    for begin, sentences, starts, rate in (
        (0, SENTENCES[:2], (0, 4), 3.0),
        (7, SENTENCES[2:], (0, 5), 3.0 if every == 1 else 0.0),
    ):
        made = [
            each
            for start, sentence in zip(starts, sentences, strict=True)
            for each in predictions(model, Draws(model, generator(1, 0, 0, begin, start + 1)), [sentence])
        ]
        expected += reference.linear_block(made, matrix, linear, 0.2 - 0.1 * begin / len(TOKENS), rate, True)
    with ThreadPoolExecutor(1) as threads:
        nats, _ = train_piece(model, TOKENS, EOS, 0, 0, threads)
    assert nats == pytest.approx(expected, rel=1e-5)
    np.testing.assert_allclose(model.input_VP[:, :5], matrix, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(model.linear_PP[:5, :5], linear, rtol=1e-4, atol=1e-4)


def test_products_with_the_map_in_bf16_are_near_those_in_fp32() -> None:
    """It keeps 8 bits."""
    found = []
    for precision in ("fp32", "bf16"):
        settings = Word2VecSettings(head="tied_linear", vector_size=5, sample=0, epochs=1, precision=precision)
        model = Word2Vec(settings, COUNTS)
        model.input_VP[:, :5] = np.random.default_rng(3).normal(size=(9, 5))
        with ThreadPoolExecutor(1) as threads:
            nats, _ = train_piece(model, TOKENS, EOS, 0, 0, threads)
        assert model.linear_PP is not None
        found.append((nats, model.input_VP, model.linear_PP))
    for exact, near in zip(*found, strict=True):
        np.testing.assert_allclose(near, exact, rtol=0.02, atol=0.02)
        assert not np.array_equal(near, exact)


def test_torch_has_one_thread_meanwhile_and_as_many_as_before_afterwards(set_threads: Callable[[int], None]) -> None:
    set_threads(3)
    with one_torch_thread():
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 3


def test_pieces_and_epochs_follow_one_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rate falls by all the words that were read; the loss of an epoch is over its pieces so far."""
    monkeypatch.setattr(training, "PIECE", 9)
    settings = Word2VecSettings(vector_size=5, window=3, sample=0, alpha=0.3, min_alpha=0.1, epochs=2, workers=1)
    model = Word2Vec(settings, COUNTS)
    inputs, output = model.input_VP[:, :5].tolist(), model.output_VP[:, :5].tolist()
    expected, reports = [], []
    for epoch in range(2):
        losses: list[float] = []
        for first, begins, sentences in ((0, (0, 5), SENTENCES[:2]), (9, (9, 16), SENTENCES[2:])):
            draws = Draws(model, generator(1, epoch, first))
            for begin, sentence in zip(begins, sentences, strict=True):
                alpha = 0.3 - 0.2 * (epoch * len(TOKENS) + begin) / (2 * len(TOKENS))
                made = predictions(model, draws, [sentence])
                losses += [reference.step(each, inputs, output, alpha, True) for each in made]
            expected.append(
                (epoch + 1, first + len(TOKENS[first : first + 9]), pytest.approx(sum(losses)), len(losses))
            )
    found = fit(model, TOKENS, EOS, lambda *each: reports.append(each))
    assert reports == expected
    assert found == [each[2:] for each in reports[1::2]]
    np.testing.assert_allclose(model.input_VP[:, :5], inputs, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(model.output_VP[:, :5], output, rtol=1e-4, atol=1e-5)


def text(words: int = 30_000) -> tuple[Any, Any]:
    """A text with something to learn: even words stand beside even ones."""
    rng = np.random.default_rng(0)
    start = 1 + np.minimum(rng.zipf(1.3, words // 10), 149) * 2
    ids = (start[:, None] + 2 * rng.integers(0, 5, (words // 10, 10)) + rng.integers(0, 2, (words // 10, 1))).ravel()
    ids[9::10] = 0
    ids = ids.astype(np.int32)
    counts = np.bincount(ids, minlength=ids.max() + 1)
    counts[0] = 0
    return ids, counts


def trained(algorithm: Any, head: Any, workers: int, monkeypatch: pytest.MonkeyPatch) -> tuple[Word2Vec, list[float]]:
    monkeypatch.setattr(training, "PIECE", 3000)
    monkeypatch.setattr(training_linear, "BLOCK", 500)
    monkeypatch.setattr(training_linear, "PART", 50)
    ids, counts = text()
    settings = Word2VecSettings(algorithm, head, vector_size=20, workers=workers, epochs=3, sample=0.01, alpha=0.05)
    model = Word2Vec(settings, counts)
    return model, [nats / count for nats, count in fit(model, ids, 0)]


@pytest.mark.parametrize("head", ["untied", "tied", "tied_linear"])
@pytest.mark.parametrize("algorithm", ["skipgram", "cbow"])
def test_one_thread_gives_the_same_bits_and_more_about_the_same_loss(
    algorithm: str, head: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, losses = trained(algorithm, head, 1, monkeypatch)
    again, same = trained(algorithm, head, 1, monkeypatch)
    assert losses == same
    for name, tensor in first.tensors().items():
        assert tensor.equal(again.tensors()[name])
    assert losses[-1] < losses[0]
    for workers in (2, 8):
        _, threaded = trained(algorithm, head, workers, monkeypatch)
        # a text so short that a thread which waits for its turn on a busy machine shows: 4 % were seen
        assert threaded == pytest.approx(losses, rel=0.1)


def test_a_block_is_cut_at_the_ends_of_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training_linear, "PART", 10)
    cut = [(start, ends.tolist()) for start, ends in parts(np.array([4, 10, 11, 40, 41, 45]))]
    assert cut == [(0, [4, 10]), (10, [11, 40]), (40, [41, 45])]


def test_a_block_has_its_words_and_no_sentence_without_one() -> None:
    model = Word2Vec(Word2VecSettings(vector_size=5, sample=0), COUNTS)
    buffers = training_linear._Buffers(*model.input_VP.shape)
    found = kernel.gather(TOKENS, 0, EOS, model.keep_V, generator(1), model.input_VP, *buffers.filled())
    words = [word for sentence in SENTENCES for word in sentence]
    assert found == (len(words), len(SENTENCES), 7, len(TOKENS))
    assert buffers.words[: len(words)].tolist() == words
    assert buffers.distinct[buffers.block[: len(words)]].tolist() == words
    assert buffers.ends[: len(SENTENCES)].tolist() == [4, 6, 11, 12]
    assert buffers.rows_BP[:7].numpy().tolist() == model.input_VP[buffers.distinct[:7]].tolist()
    assert (buffers.place == -1).all()


def test_the_loss_is_over_every_prediction() -> None:
    """Before anything is learnt each of the 1 + k scores is 0 or about 0: (1 + k) log 2 nats a prediction."""
    ids, counts = text(2000)
    model = Word2Vec(Word2VecSettings(vector_size=8, negative=1, alpha=1e-9, min_alpha=0, epochs=1), counts)
    ((nats, count),) = fit(model, ids, 0)
    assert 0.9 * 2 * np.log(2) < nats / count <= 2 * np.log(2)  # a negative that is the target is left out


def test_a_text_on_disk_is_never_read_whole(tmp_path: Path) -> None:
    ids, counts = text()
    np.save(tmp_path / "ids.npy", ids)
    settings = Word2VecSettings(vector_size=8, epochs=1, workers=1)
    mapped = fit(Word2Vec(settings, counts), np.load(tmp_path / "ids.npy", mmap_mode="r"), 0)
    assert mapped == fit(Word2Vec(settings, counts), ids, 0)


def test_divergence_is_said() -> None:
    ids, counts = text(2000)
    with pytest.raises(DivergedError, match=r"not a number in epoch 1: lower word2vec\.alpha"):
        fit(Word2Vec(Word2VecSettings(vector_size=8, alpha=1e30, min_alpha=1e30), counts), ids, 0)


def test_a_run_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "text.txt").write_text(TEXT * 40)
    data = DataSettings(corpus=str(tmp_path / "text.txt"))
    settings = Word2VecSettings(head="tied_linear", vector_size=8, epochs=2, workers=1)
    result = train_word2vec(data, settings, tmp_path / "run")
    assert result.words_read % 2 == 0
    assert 1400 < result.words_read < 1600  # nine tenths of 40 * 21, twice
    assert result.parameters == 8 * (result.vocabulary + 2) + 64
    config, tensors, tokenizer = read_model(tmp_path / "run", "word2vec")
    assert config["settings"]["word2vec"]["head"] == "tied_linear"
    assert config["settings"]["data"]["min_count"] == 5, "not a language model's"
    assert config["texts"] == prepare(replace(data, min_count=5)).texts
    assert tensors["embedding.weight"].shape == (len(tokenizer.vocabulary), 8)
    assert set(tensors) == {"embedding.weight", "head.linear", "counts"}
    assert int(tensors["counts"][tokenizer.vocabulary.id("the")]) >= 140
    assert int(tensors["counts"][tokenizer.vocabulary.eos_id]) == 0
    assert json.loads((tmp_path / "run" / "result.json").read_text())["losses"] == list(result.losses)
    with pytest.raises(RunFolderError, match="holds a run already: --overwrite replaces it"):
        train_word2vec(data, settings, tmp_path / "run")
    again = train_word2vec(data, settings, tmp_path / "run", mode="overwrite")
    assert again.weights_sha256 == result.weights_sha256
    with pytest.raises(DataError, match=r"nothing was predicted.*word2vec\.sample 1e-12"):
        train_word2vec(data, replace(settings, sample=1e-12), tmp_path / "run", mode="overwrite")
    assert read_model(tmp_path / "run", "word2vec")[0] == config, "what was there is there still"


def test_two_calls_never_train_in_one_folder(text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, settings = DataSettings(str(text), min_count=1), Word2VecSettings(vector_size=4, epochs=1)

    def while_another_tries(of: DataSettings) -> PreparedData:
        monkeypatch.setattr(where, prepare)
        with pytest.raises(RunFolderError, match="another process is training it"):
            train_word2vec(data, settings, tmp_path / "run")
        return prepare(of)

    where = "wordtie.word2vec.run.prepare"
    monkeypatch.setattr(where, while_another_tries)
    train_word2vec(data, replace(settings, seed=2), tmp_path / "run")
    with pytest.raises(RunFolderError, match="holds a run already"):
        train_word2vec(data, settings, tmp_path / "run")
