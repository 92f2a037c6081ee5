"""A model as an ARPA file: an n-gram model as it is, a network or a mixture as the n-grams that come closest to it."""

from __future__ import annotations

import gzip
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

import numpy as np

from wordtie.config.paths import is_arpa, path_of
from wordtie.console import say
from wordtie.data.batches import Ids
from wordtie.data.token_file import PreparedData
from wordtie.data.tokenizer import Tokenizer
from wordtie.errors import WordtieError, require
from wordtie.evaluation.perplexity import evaluate_blocks
from wordtie.export.ngram_approximation import (
    Approximation,
    Progress,
    approximate,
    context_frequencies,
)
from wordtie.inference.loading import LoadedModel, load
from wordtie.inference.training_corpus import training_corpus, with_extended
from wordtie.models.recent_words import without_recent_words
from wordtie.ngrams.arpa import check_words, write_arpa
from wordtie.ngrams.backoff import BackoffModel, of_trie, pruned, to_trie
from wordtie.ngrams.kneser_ney import fit_kneser_ney
from wordtie.ngrams.model import NgramModel
from wordtie.ngrams.trie import Doubles, NgramTrie
from wordtie.storage.atomic import atomic_write, check_new

LONGEST_COUNTED = 10
"""Most words in an n-gram of an approximation."""


@dataclass(frozen=True)
class Compared:
    """A model's perplexities."""

    model: str
    ngrams: int | None
    """Number of n-grams; None if it is no n-gram model."""
    valid: float
    test: float


@dataclass(frozen=True)
class WrittenArpa:
    """What was written."""

    file: Path
    ngrams: int
    compared: Sequence[Compared] = ()
    """For an approximation: perplexities of the model, of the approximation, and of counts of the same size."""


OF_APPROXIMATION = ("order", "sampled", "seed", "places")
"""Settings that do not apply to an n-gram model."""


def export_arpa(
    run: str | Path,
    out: str | Path,
    settings: Approximation | None = None,
    part: str | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> WrittenArpa:
    """Write the ARPA file of a model, compressed if its name ends in `.gz`.

    An n-gram model is written as it is, pruned if `settings.ngrams` is less than it has. Its training text tells how
    frequent contexts are; without the text, the model's estimates are used, which prune worse, and a note says so. A
    network or a mixture is approximated: this needs its training text, and minutes. Raises `SaveError` if the file is
    there already and is not to be overwritten; `RunFolderError` if the text has changed; `SettingsError` for invalid
    settings or an invalid name; `DataError` for a model with words that mean something else in an ARPA file.
    """
    settings, path = settings or Approximation(), path_of(out)
    require(is_arpa(path), f"{out}: an ARPA file is named .arpa or .arpa.gz, so that wordtie knows it")
    require(settings.sampled >= 0, f"sampled must not be negative, got {settings.sampled}")
    require(1 <= settings.order <= LONGEST_COUNTED, f"order must be from 1 to {LONGEST_COUNTED}, got {settings.order}")
    check_new(path, overwrite)
    with atomic_write(path) as new:  # before the work, which takes minutes
        loaded, found, compared = _model_of(run, part, settings, progress)
        with new.open("wb") as raw:
            if path.suffix == ".gz":
                with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed:
                    _write(packed, found, loaded.tokenizer)
            else:
                _write(raw, found, loaded.tokenizer)
    return WrittenArpa(path, found.ngrams, compared)


def _model_of(
    run: str | Path, part: str | None, settings: Approximation, progress: Progress | None
) -> tuple[LoadedModel, BackoffModel, Sequence[Compared]]:
    """Return (the model, its n-grams, how well they do)."""
    loaded = load(run, part=part)  # type: ignore[arg-type]
    check_words(loaded.tokenizer)
    words, most = len(loaded.tokenizer.vocabulary), settings.ngrams
    require(most is None or most >= words, f"ngrams must be at least {words:,}, since every word is kept, got {most}")
    compared: Sequence[Compared] = ()
    if isinstance(loaded.model, NgramModel):
        unused = [name for name in OF_APPROXIMATION if getattr(settings, name) != getattr(Approximation(), name)]
        require(not unused, f"{run}: an n-gram model is written as it is: leave out {', '.join(unused)}")
        found = of_trie(loaded.model.trie)
        if most is not None and most < found.ngrams:
            found = pruned(found, most, _context_frequencies(loaded, run, loaded.model.trie))
    else:
        hint = "an approximation needs the training text; restore it"
        data = with_extended(loaded, training_corpus(loaded, run, hint=hint), hint)
        found = approximate(loaded.model, data.train, data.valid, data.tokenizer.sentences, settings, progress)
        compared = comparison(loaded, data, found, settings.order)
    return loaded, found, compared


def _context_frequencies(loaded: LoadedModel, run: str | Path, trie: NgramTrie) -> list[Doubles] | None:
    """Return the frequencies of contexts in the training text; None, and print a note, if it cannot be read."""
    hint = "pruning is better with the training text"
    try:
        data = with_extended(loaded, training_corpus(loaded, run, ["train"], hint), hint)
    except WordtieError as error:
        say([f"pruned by the model's estimates of how frequent contexts are: {error}"])
        return None
    return context_frequencies(trie, data.train)


def _write(file: IO[bytes] | gzip.GzipFile, model: BackoffModel, tokenizer: Tokenizer) -> None:
    text = io.TextIOWrapper(cast(IO[bytes], file), encoding="utf-8", newline="\n")
    write_arpa(text, model, tokenizer)
    text.flush()
    text.detach()


def comparison(loaded: LoadedModel, data: PreparedData, found: BackoffModel, order: int) -> list[Compared]:
    """Compute the perplexities of the model, without recent words, as its name says if it has any; of its
    approximation, and of counts."""
    texts = {"valid": data.valid, "test": data.test}
    model = without_recent_words(loaded.model)
    original = {name: evaluate_blocks(model, [np.asarray(text)]).perplexity for name, text in texts.items()}
    name = "original" if model is loaded.model else "original without recent words"
    rows = [Compared(name, None, **original)]
    rows.append(_of_ngrams("approximation", found, texts))
    eos_id = found.eos_id
    for name, each in counted(np.asarray(data.train), len(data.vocabulary), order, eos_id, found.ngrams):
        rows.append(_of_ngrams(name, each, texts))
    return rows


def counted(train_N: Ids, words: int, order: int, eos_id: int | None, ngrams: int) -> list[tuple[str, BackoffModel]]:
    """Return Kneser-Ney models of at most this many n-grams: the whole one, pruned as the approximation is if it is
    larger, and then also the one with the least minimum counts that is not larger."""
    whole = fit_kneser_ney(train_N, words, order, eos_id=eos_id)
    if whole.ngrams <= ngrams:
        return [("Kneser-Ney", of_trie(whole))]
    small = pruned(of_trie(whole), ngrams, context_frequencies(whole, train_N))
    found = [("Kneser-Ney, pruned", small)]
    for least in range(2, 6):
        for first in range(order, 1, -1):
            minimum = [1 if place < first else least for place in range(1, order + 1)]
            trie = fit_kneser_ney(train_N, words, order, eos_id=eos_id, minimum_counts=minimum)
            if trie.ngrams <= ngrams:
                return [*found, (f"Kneser-Ney, minimum counts {' '.join(map(str, minimum))}", of_trie(trie))]
    return found


def _of_ngrams(name: str, model: BackoffModel, texts: Mapping[str, Ids]) -> Compared:
    trie = to_trie(model)
    perplexity = {split: float(np.exp(-trie.log_probabilities(text).mean())) for split, text in texts.items()}
    return Compared(name, model.ngrams, **perplexity)
