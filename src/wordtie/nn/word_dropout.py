"""Word dropout: whole words are read as zero (Gal & Ghahramani 2016, section 4.2, "word embedding dropout").

One draw for each distinct word of each stream's window: a word that is dropped is dropped wherever it stands in the
window. What is kept is scaled by 1 / (1 - share).

Shapes: T steps, B streams, M distinct words of all streams.
"""

from __future__ import annotations

from torch import Tensor

from wordtie.nn.dropout import mask
from wordtie.noise.variational_smoothing import distinct_words


def word_mask(ids_TB: Tensor, vocabulary_size: int, drop: float, like: Tensor) -> Tensor | None:
    """(T, B, 1), to multiply word vectors by; None where nothing is dropped."""
    if drop == 0:
        return None
    rows = distinct_words(ids_TB[None], vocabulary_size)
    mask_M = mask(rows.words_M.shape, drop, like)
    return None if mask_M is None else mask_M[rows.row_KTB[0], None]
