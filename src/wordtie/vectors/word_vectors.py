"""Word vectors on their own: words, their matrix, and how often each was seen. What is judged, shown and exported.

Shapes: V words, E vector size.
"""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from wordtie.errors import DataError

Floats = NDArray[np.float32]


def fold(word: str) -> str:
    """Write a word without regard to case and to its Unicode form: in some files, é is e and an accent (NFD)."""
    return unicodedata.normalize("NFC", word.casefold())


@dataclass(frozen=True, eq=False)
class WordVectors:
    """A matrix with a word for each row, most frequent first where counts are known.

    Raises `DataError` for a word named twice or numbers that are not finite.
    """

    words: Sequence[str]
    matrix_VE: Floats
    counts: Sequence[int] | None = None
    name: str = "vectors"
    """Source of the vectors, for messages and tables."""

    def __post_init__(self) -> None:
        if len(self.index) != len(self.words):
            seen: set[str] = set()
            double = next(word for word in self.words if word in seen or seen.add(word))  # type: ignore[func-returns-value]
            raise DataError(f"{self.name}: the word {double!r} comes twice; keep one of its rows")
        bad = np.flatnonzero(~np.isfinite(self.matrix_VE).all(axis=1))
        if len(bad):
            raise DataError(f"{self.name}: the vector of {self.words[bad[0]]!r} has numbers that are NaN or infinite")

    @cached_property
    def index(self) -> dict[str, int]:
        """Map word to row."""
        return {word: row for row, word in enumerate(self.words)}

    @cached_property
    def folded(self) -> dict[str, int]:
        """Map word, as `fold` writes it, to the first, and so most frequent, row that has it."""
        found: dict[str, int] = {}
        for row, word in enumerate(self.words):
            found.setdefault(fold(word), row)
        return found

    @cached_property
    def unit_VE(self) -> Floats:
        """Rows scaled to length 1; a row of zeros stays one."""
        squares_V = np.einsum("ve,ve->v", self.matrix_VE, self.matrix_VE, dtype=np.float64)  # in fp32 they may overflow
        norm_V1 = np.sqrt(squares_V).astype(np.float32)[:, None]
        unit: Floats = (self.matrix_VE / np.where(norm_V1 > 0, norm_V1, 1)).astype(np.float32)
        return unit

    def row(self, word: str) -> int | None:
        """Return the word's row: as it is written, or else as `fold` writes it. None if it is not known."""
        return self.index.get(word, self.folded.get(fold(word)))

    def known_row(self, word: str) -> int:
        """Return the word's row, like `row`. Raises `DataError` for an unknown word."""
        row = self.row(word)
        if row is None:
            near = difflib.get_close_matches(fold(word), self.folded, n=1, cutoff=0.8)
            hint = f"did you mean {near[0]!r}?" if near else f"it is none of its {len(self.words):,} words"
            raise DataError(f"{self.name}: has no vector of {word!r}: {hint}")
        return row

    def neighbours(self, word: str, top: int = 10) -> list[tuple[str, float]]:
        """Return the words nearest by cosine, without the word itself. Raises `DataError` for an unknown word."""
        row = self.known_row(word)
        return self._nearest(self.unit_VE[row], {row}, top)

    def analogy(self, word: str, like: str, other: str, top: int = 10) -> list[tuple[str, float]]:
        """`word` is to `like` as `other` is to what? (3CosAdd, Mikolov et al. 2013.) The three are left out.

        Raises `DataError` for an unknown word.
        """
        a, b, c = (self.known_row(each) for each in (word, like, other))
        query_E = self.unit_VE[b] - self.unit_VE[a] + self.unit_VE[c]
        norm = float(np.linalg.norm(query_E))
        return self._nearest(query_E / (norm or 1.0), {a, b, c}, top)

    def _nearest(self, query_E: Floats, without: set[int], top: int) -> list[tuple[str, float]]:
        cosine_V = self.unit_VE @ query_E
        order = np.argsort(-cosine_V, kind="stable")[: top + len(without)].tolist()
        return [(self.words[row], float(cosine_V[row])) for row in order if row not in without][:top]
