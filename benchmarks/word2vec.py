"""word2vec at 300 dimensions: against gensim's compiled core, and the ties against untied.

Both train on the same sentences of the default text with the same settings, a pass a round, and go on from where the
round before has left them. gensim is handed lists of words, as it wants them; making them is not counted. It looks
them up in every pass, as it does for its users; ours reads ids, which were looked up once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.harness import Claim, Effort, MatrixProbe, Measurement, UnavailableError, compare
from wordtie.config import DataSettings
from wordtie.data.prepare import prepare
from wordtie.word2vec.settings import Word2VecSettings

Algorithm = Literal["skipgram", "cbow"]
Head = Literal["untied", "tied", "tied_linear"]
SIZE, NEGATIVE = 300, 5
WORDS = {False: 600_000, True: 60_000}
"""By whether it is to be quick."""


@cache
def text(words: int) -> tuple[NDArray[np.int32], NDArray[np.int64], int, tuple[str, ...]]:
    """(ids, counts without `<unk>` and `<eos>`, id of `<eos>`, words) of the beginning of the default text."""
    data = prepare(DataSettings(lowercase=True, min_count=5))
    ids, vocabulary = np.asarray(data.train[:words]), data.vocabulary
    count_V = np.bincount(ids, minlength=len(vocabulary))
    count_V[[vocabulary.unk_id, vocabulary.eos_id]] = 0
    return ids, count_V, vocabulary.eos_id, vocabulary.words


def ours(algorithm: Algorithm, head: Head, words: int) -> Callable[[], object]:
    """A pass of ours. Raises `UnavailableError` without numba."""
    try:
        from wordtie.word2vec.model import Word2Vec
        from wordtie.word2vec.training import fit
    except ImportError as error:
        raise UnavailableError("numba is not installed: pip install numba") from error
    ids, count_V, eos_id, _ = text(words)
    settings = Word2VecSettings(
        algorithm, head, vector_size=SIZE, negative=NEGATIVE, workers=torch.get_num_threads(), epochs=1
    )
    model = Word2Vec(settings, count_V)
    return lambda: fit(model, ids, eos_id)


def gensims(algorithm: Algorithm, words: int) -> Callable[[], object]:
    """A pass of gensim's. Raises `UnavailableError` where it is not installed, or only in its slow Python form."""
    try:
        from gensim.models import Word2Vec as Gensim
        from gensim.models.word2vec import FAST_VERSION
    except ImportError as error:
        raise UnavailableError("gensim is not installed: pip install gensim") from error
    if FAST_VERSION < 0:
        raise UnavailableError("gensim has no compiled core here")
    ids, count_V, eos_id, names = text(words)
    sentences = [
        [names[word] for word in part.tolist() if count_V[word]]
        for part in np.split(ids, np.flatnonzero(ids == eos_id))
    ]
    model: Any = Gensim(
        vector_size=SIZE,
        sg=int(algorithm == "skipgram"),
        negative=NEGATIVE,
        workers=torch.get_num_threads(),
        min_count=1,
        epochs=1,
    )
    model.build_vocab(sentences)
    return lambda: model.train(sentences, total_examples=len(sentences), epochs=1)


def measured(effort: Effort, algorithm: Algorithm, head: Head, against: Literal["gensim", "untied"]) -> Measurement:
    """Without a floor: rows are fetched and written back one by one, which the rate of a product says nothing of."""
    words = WORDS[effort.quick]
    found = compare(
        alternative=gensims(algorithm, words) if against == "gensim" else ours(algorithm, "untied", words),
        ours=ours(algorithm, head, words),
        multiply_adds=None,
        probe=MatrixProbe(torch.float32),
        rounds=max(2, effort.rounds // 3),
    )
    return replace(
        found, note=f"{1e3 * words / found.ours:,.0f} words/s, {against} {1e3 * words / found.alternative:,.0f}"
    )


def claim(algorithm: Algorithm, head: Head, against: Literal["gensim", "untied"], goal: float) -> Claim:
    """A claim of this file."""
    name = f"word2vec-{algorithm}-{head.replace('_', '-')}"
    what = f"word2vec, {algorithm} {head.replace('_', ' + ')}, 300 dimensions, against {against}"
    return Claim(name, what, goal, lambda effort: measured(effort, algorithm, head, against))


CLAIMS = (
    claim("skipgram", "untied", "gensim", 1.0),
    claim("cbow", "untied", "gensim", 1.0),
    claim("skipgram", "tied", "untied", 1.0),
    claim("cbow", "tied", "untied", 1.0),
    claim("skipgram", "tied_linear", "untied", 0.5),
    claim("cbow", "tied_linear", "untied", 0.5),
)
