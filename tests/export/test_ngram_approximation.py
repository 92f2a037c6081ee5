"""Approximation by n-grams: what is summed, against loops over places; what comes out, against counts."""

from __future__ import annotations

import io
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import wordtie
from tests.commands import Capture, output, rows
from tests.models.test_mixture import WORDS, ngrams, text
from tests.models.test_prefix_sharing import mixture, network
from tests.tiny_run import TINY, write_text
from wordtie.cli import main
from wordtie.data.batches import PADDING
from wordtie.data.tokenizer import Tokenizer
from wordtie.errors import SaveError
from wordtie.export import ngram_approximation
from wordtie.export.arpa import comparison, counted, export_arpa
from wordtie.export.ngram_approximation import (
    Approximation,
    Sums,
    _places,
    approximate,
    context_frequencies,
    sampled_text,
)
from wordtie.inference.training_corpus import training_corpus
from wordtie.models.mixture import Mixture
from wordtie.models.next_word import NextWordModel
from wordtie.models.recent_words import without_recent_words
from wordtie.ngrams import NgramModel, fit_kneser_ney
from wordtie.ngrams.arpa import write_arpa
from wordtie.ngrams.backoff import BackoffModel, of_trie, pruned, to_trie

START = WORDS


def contexts_before(ids: list[int], place: int, eos_id: int | None) -> list[tuple[int, ...]]:
    """The last words before a place, back to the start of the sentence; running text begins without a context."""
    before = ids[:place] if eos_id is None else [START, *ids[:place]]
    if eos_id is not None and eos_id in before:
        before = [START, *before[len(before) - before[::-1].index(eos_id) :]]
    return [tuple(before[-size:]) for size in (1, 2, 3) if len(before) >= size]


@pytest.mark.parametrize("eos_id", [0, None], ids=["sentences", "running text"])
def test_sums_over_places(eos_id: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ngram_approximation, "STREAMS", 1)
    monkeypatch.setattr(ngram_approximation, "VALUES_AT_ONCE", 7 * WORDS)
    ids, model = text(150, 4), network()
    trie = fit_kneser_ney(ids, WORDS, 4, eos_id=eos_id)
    sums = Sums.zeros(trie)
    for ids_TB, p_TBV, rows_TBK in _places(model, trie, ids, len(ids)):
        sums.add(trie, p_TBV[ids_TB != PADDING], rows_TBK[ids_TB != PADDING])

    p_NV = model.distributions(ids[:, None], model.initial_state(1))[0][:, 0]
    expected: defaultdict[tuple[int, ...], np.ndarray] = defaultdict(lambda: np.zeros(WORDS))
    places: defaultdict[tuple[int, ...], int] = defaultdict(int)
    for place in range(len(ids)):
        for context in contexts_before(ids.tolist(), place, eos_id):
            expected[context] += p_NV[place]
            places[context] += 1
    assert sums.places == len(ids)
    np.testing.assert_allclose(sums.unigram, p_NV.sum(0), rtol=1e-5)
    for level, sum_G, places_C in zip(of_trie(trie).levels, sums.ngrams, sums.contexts, strict=True):
        assert sum_G.tolist() == pytest.approx(
            [expected[(*each[:-1],)][each[-1]] for each in level.ids_GN.tolist()], rel=1e-4
        )
        of_rows = {
            (*each[:-1],): places_C[row] for each, row in zip(level.ids_GN.tolist(), level.context_G, strict=True)
        }
        assert of_rows == {context: places[context] for context in of_rows}
    frequencies = context_frequencies(trie, ids)
    for found_C, places_C in zip(frequencies, sums.contexts, strict=True):
        np.testing.assert_allclose(found_C * len(ids), places_C)


def test_text_that_the_model_writes_is_of_the_model() -> None:
    model = ngrams(2, 3)
    ids = sampled_text(model, 20_000, seed=1)
    assert len(ids) == 20_000
    assert sampled_text(model, 20_000, seed=1).tolist() == ids.tolist()
    assert sampled_text(model, 20_000, seed=2).tolist() != ids.tolist()
    log_p_N = model.score(ids[:, None], model.initial_state(1))[0]
    _, entropy_N, _ = model.score(ids[:, None], model.initial_state(1), entropy=True)
    assert entropy_N is not None
    assert -log_p_N.mean() == pytest.approx(entropy_N.mean(), abs=0.03)


@pytest.mark.parametrize("make", [network, mixture], ids=["network", "mixture with recent words"])
def test_an_approximation_predicts_what_the_model_writes(make: Any) -> None:
    """Better than counts of the same text do, and every distribution sums to one."""
    model: NextWordModel[Any] = without_recent_words(make())
    train, valid, test = (sampled_text(model, size, seed) for size, seed in ((4000, 11), (2000, 12), (4000, 13)))
    found = to_trie(approximate(model, train, valid, True, Approximation(3, sampled=4000)))
    counts = fit_kneser_ney(train, WORDS, 3, eos_id=model.vocabulary.eos_id)
    ours, theirs = (-float(trie.log_probabilities(test).mean()) for trie in (found, counts))
    own = -float(model.score(test[:, None], model.initial_state(1))[0].mean())
    assert own < ours < theirs - 0.005
    rows_NK = found.score(test[:500, None], found.start(1))[1][:, 0]
    np.testing.assert_allclose(found.probabilities(rows_NK).sum(1), 1, atol=1e-6)


def test_recent_words_are_left_out() -> None:
    model = mixture()
    plain = without_recent_words(model)
    assert type(plain) is Mixture
    assert without_recent_words(plain) is plain


def test_the_original_is_named_for_what_it_lacks() -> None:
    data: Any = SimpleNamespace(train=text(600, 1), valid=text(200, 2), test=text(200, 3), vocabulary=range(WORDS))
    found = of_trie(fit_kneser_ney(data.train, WORDS, 2, eos_id=0))
    for model, name in ((mixture(), "original without recent words"), (without_recent_words(mixture()), "original")):
        loaded: Any = SimpleNamespace(model=model)
        assert comparison(loaded, data, found, 2)[0].model == name


def test_counts_of_the_same_size() -> None:
    train = text(3000, 1)
    whole = fit_kneser_ney(train, WORDS, 3, eos_id=0)
    found = dict(counted(train, WORDS, 3, 0, whole.ngrams // 3))
    first, second = found
    assert first == "Kneser-Ney, pruned"
    assert second.startswith("Kneser-Ney, minimum counts 1 ")
    assert all(model.ngrams <= whole.ngrams // 3 for model in found.values())
    assert [name for name, _ in counted(train, WORDS, 3, 0, whole.ngrams)] == ["Kneser-Ney"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("arpa")
    arguments = [*TINY, "--ngram", "3"]
    assert main(["train", str(write_text(folder / "text")), "--out", str(folder / "run"), *arguments]) == 0
    return folder / "run"


@pytest.mark.parametrize("part", [[], ["--part", "network"]], ids=["mixture", "network"])
def test_the_command(run: Path, part: list[str], tmp_path: Path, capsys: Capture) -> None:
    out = str(tmp_path / "x.arpa.gz")
    command = ["export", "arpa", str(run), out, "--order", "3", "--sampled", "2000", "--ngrams", "400", *part]
    first, _, table = output(command, capsys).partition("\n")
    assert first.startswith(f"{out}\t")
    compared = {row["model"]: row for row in rows(table)}
    model = wordtie.load(run, part=part[-1] if part else None).model  # type: ignore[arg-type]
    original = "original" if without_recent_words(model) is model else "original without recent words"
    assert list(compared)[:3] == [original, "approximation", "Kneser-Ney, pruned"]
    assert compared[original]["ngrams"] == ""
    assert int(compared["approximation"]["ngrams"]) <= 400
    loaded = wordtie.load(out)
    test = run.parent / "text" / "test.txt"
    assert loaded.evaluate(test).perplexity == pytest.approx(float(compared["approximation"]["test"]), rel=1e-4)
    assert main(command) == SaveError.exit_code
    assert "is there already" in capsys.readouterr().err
    assert main([*command, "--overwrite"]) == 0


def test_where_it_is_written_is_checked_before_the_work(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.delattr("wordtie.export.arpa.approximate")
    folder = tmp_path / "there.arpa"
    folder.mkdir()
    assert main(["export", "arpa", str(run), str(folder), "--overwrite"]) == SaveError.exit_code
    assert "there.arpa" in capsys.readouterr().err
    words = tmp_path / "words.tsv"
    words.touch()
    assert main(["export", "keyman", "runs/nowhere", str(words)]) == SaveError.exit_code
    assert "words.tsv: is there already" in capsys.readouterr().err


def test_names_that_are_refused(run: Path) -> None:
    with pytest.raises(wordtie.WordtieError, match=r"is named \.arpa or \.arpa\.gz"):
        export_arpa(run, "x.lm")
    with pytest.raises(wordtie.WordtieError, match="order must be from 1 to 10"):
        export_arpa(run, "x.arpa", Approximation(order=11))
    with pytest.raises(wordtie.WordtieError, match="ngrams must be at least"):
        export_arpa(run, "x.arpa", Approximation(ngrams=2))
    ngrams = run / "ngram"
    with pytest.raises(wordtie.WordtieError, match="an n-gram model is written as it is: leave out order, places"):
        export_arpa(ngrams, "x.arpa", Approximation(order=3, places=9))


def as_text(model: BackoffModel, tokenizer: Tokenizer) -> str:
    written = io.StringIO()
    write_arpa(written, model, tokenizer)
    return written.getvalue()


def test_an_n_gram_model_is_pruned_by_its_training_text(run: Path, tmp_path: Path, capsys: Capture) -> None:
    """Without the text, by what the model estimates, and a note says so."""
    loaded = wordtie.load(run, part="ngram")
    assert isinstance(loaded.model, NgramModel)
    trie, out = loaded.model.trie, tmp_path / "small.arpa"
    train_N = training_corpus(loaded, run).train
    most = trie.ngrams // 3
    capsys.readouterr()
    by_text, estimated = (pruned(of_trie(trie), most, each) for each in (context_frequencies(trie, train_N), None))
    assert as_text(by_text, loaded.tokenizer) != as_text(estimated, loaded.tokenizer)
    for where, part in ((run, "ngram"), (run / "ngram", None)):
        export_arpa(where, out, Approximation(ngrams=most), part=part, overwrite=True)
        assert out.read_text() == as_text(by_text, loaded.tokenizer)
        assert capsys.readouterr().err == ""

    (run.parent / "text").rename(run.parent / "elsewhere")
    try:
        export_arpa(run, out, Approximation(ngrams=most), part="ngram", overwrite=True)
    finally:
        (run.parent / "elsewhere").rename(run.parent / "text")
    assert out.read_text() == as_text(estimated, loaded.tokenizer)
    assert "note: pruned by the model's estimates of how frequent contexts are" in capsys.readouterr().err
    export_arpa(run / "ngram", tmp_path / "whole.arpa")
    export_arpa(tmp_path / "whole.arpa", out, Approximation(ngrams=most), overwrite=True)
    assert out.read_text().count("\n") == as_text(estimated, loaded.tokenizer).count("\n")
    assert "an ARPA file does not say what text it is of: pruning is better with" in capsys.readouterr().err
