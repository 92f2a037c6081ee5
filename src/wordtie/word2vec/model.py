"""word2vec (Mikolov et al. 2013), and its tying: one matrix, or one matrix and a linear map (gulordava-2018 §2.3).

    untied        score of a word = h . o          two matrices
    tied          score of a word = h . x          one matrix; press-wolf-2017 finds it bad for skip-gram, whose
                                                   score of two words is then the same both ways round
    tied_linear   score of a word = (h L) . x      one matrix and an E x E map; half the parameters of untied

h is the vector of a context word (skip-gram), or the mean or sum of them (CBOW). L starts as a random orthogonal
matrix: started at the identity it would be `tied`, whose symmetry it takes long to leave.

Shapes: V words, E vector size, P columns in memory (E padded with zeros to whole SIMD registers).
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wordtie.errors import DataError
from wordtie.kernels.word2vec.draws import ALWAYS, alias_table
from wordtie.models.memory import check_memory
from wordtie.word2vec.settings import Word2VecSettings

LANES = 16
"""Rows are padded to a multiple of this many floats: one cache line, and the widest SIMD register."""

Floats = NDArray[np.float32]


def padded(size: int) -> int:
    """Return P for a vector size."""
    return -(-size // LANES) * LANES


class Word2Vec:
    """The matrices, and the tables behind the random choices. `wordtie.word2vec.training.fit` trains it."""

    def __init__(self, settings: Word2VecSettings, count_V: NDArray[np.int64]) -> None:
        """Vectors start uniform in (-1/E, 1/E), the output vectors of `untied` at zero, as in gensim.

        `count_V` is 0 for what is not to be trained (`<unk>`, `<eos>`). Raises `DataError` where that leaves
        fewer than two words.
        """
        if np.count_nonzero(count_V) < 2:
            raise DataError("the text has fewer than two words of data.min_count: give a longer text, or lower it")
        self.settings = settings
        self.count_V = count_V
        self.keep_V = keep_thresholds(count_V, settings.sample)
        self.threshold_V, self.alias_V = alias_table(noise_weights(count_V, settings.ns_exponent))
        words, size = len(count_V), settings.vector_size
        matrices = 2 if settings.head == "untied" else 1
        check_memory(matrices * words * padded(size), 1, "take a smaller word2vec.vector_size or data.vocabulary_size")
        rng = np.random.default_rng(settings.seed)
        self.input_VP = _zeros(words, padded(size))
        for row in range(0, words, 4096):  # in pieces, so that no second matrix is ever in memory
            part = self.input_VP[row : row + 4096, :size]
            part[:] = (rng.random(part.shape, dtype=np.float32) * 2 - 1) / size
        self.output_VP = _zeros(words, padded(size)) if settings.head == "untied" else self.input_VP
        self.linear_PP: Floats | None = None
        if settings.head == "tied_linear":
            self.linear_PP = _zeros(padded(size), padded(size))
            self.linear_PP[:size, :size] = np.linalg.qr(rng.standard_normal((size, size)))[0]

    @property
    def draws(self) -> tuple[int, int, NDArray[np.uint32], NDArray[np.int32]]:
        """What the kernels need to draw a prediction: window, negatives, and their alias table (two arrays)."""
        return self.settings.window, self.settings.negative, self.threshold_V, self.alias_V

    def tensors(self) -> dict[str, Tensor]:
        """Return what a run folder stores: each matrix once, without padding, and the counts."""
        size = self.settings.vector_size
        found = {
            "embedding.weight": torch.from_numpy(self.input_VP[:, :size]),
            "counts": torch.from_numpy(self.count_V),
        }
        if self.settings.head == "untied":
            found["head.weight"] = torch.from_numpy(self.output_VP[:, :size])
        if self.linear_PP is not None:
            found["head.linear"] = torch.from_numpy(self.linear_PP[:size, :size])
        return found

    def parameter_count(self) -> int:
        """Count the trained numbers, those of a shared matrix once."""
        return sum(tensor.numel() for name, tensor in self.tensors().items() if name != "counts")


def keep_thresholds(count_V: NDArray[np.int64], sample: float) -> NDArray[np.int64]:
    """Return 2^32 times the probability that each word is kept, sqrt(t / f) + t / f, at most 1, for its share f of the
    text and t = `sample`; 0 for words that are not trained."""
    if sample == 0:
        return np.where(count_V > 0, ALWAYS, 0)
    ratio_V = sample * count_V.sum() / np.maximum(count_V, 1)
    return np.where(count_V > 0, np.minimum(np.sqrt(ratio_V) + ratio_V, 1) * ALWAYS, 0).astype(np.int64)


def noise_weights(count_V: NDArray[np.int64], exponent: float) -> NDArray[np.float64]:
    """Return counts to the power of `exponent`; 0 for a word that is not trained, which is never drawn."""
    weight_V: NDArray[np.float64] = np.where(count_V > 0, np.maximum(count_V, 1).astype(np.float64) ** exponent, 0)
    return weight_V


def _zeros(rows: int, columns: int) -> Floats:
    """Return zeros that are aligned to a cache line, which numpy does not promise."""
    zeros: Floats = torch.zeros(rows, columns).numpy()
    return zeros
