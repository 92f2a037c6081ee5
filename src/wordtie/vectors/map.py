"""One HTML page of word vectors: a map of the most frequent words, and neighbours side by side.

The map shows the vectors at length 1 in two dimensions: by UMAP if it is installed, otherwise by PCA with the share of
the variance that it shows. A word that would lie on a more frequent one is a dot. The template is
`pages/templates/word_vectors.html`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordtie.errors import DataError
from wordtie.pages.render import render
from wordtie.storage.atomic import write_text
from wordtie.vectors.word_vectors import Floats, WordVectors

SIZE = 900
"""Side of a map, in pixels."""
LETTER, MEAN_LETTER, HEIGHT = 8, 6, 11
"""Maximum and mean width of a letter, and height of a word, in pixels."""
SPECIAL = ("<unk>", "<eos>")
DEFAULT_WORDS = 12
"""Number of words whose neighbours are shown if none are named."""


@dataclass(frozen=True)
class Place:
    """A word in a map, in pixels from the upper left corner."""

    word: str
    x: float
    y: float

    @property
    def ends_here(self) -> bool:
        """Whether the word ends at its place, because it would go beyond the right edge."""
        return self.x > SIZE / 2 and self.x + LETTER * len(self.word) > SIZE


@dataclass(frozen=True)
class Map:
    """The words of one set of vectors at their places, in the order of drawing: what comes later is on top."""

    name: str
    method: str
    """Method by which the places were found."""
    texts: Sequence[Place]
    dots: Sequence[Place]
    """Words that would lie on a more frequent one."""
    named: Sequence[Place]
    """Words that the user asked for, in bold."""


def write_page(path: Path, sets: Sequence[WordVectors], words: Sequence[str], most: int, top: int) -> None:
    """Write the page: a map of each set's first `most` words, `top` neighbours of each of `words`.

    Words that are not named are taken from the map, at equal distances. Raises `DataError` for a word that
    is not known, or if there is no word to draw; `SaveError` if the file cannot be written.
    """
    first = sets[0]
    frequent = [word for word in first.words[:most] if word not in SPECIAL]
    named = dict.fromkeys(first.words[first.known_row(word)] for word in words)  # as the vocabulary writes them
    others = [word for word in named if word not in frequent]
    drawn = frequent + others
    if not drawn:
        raise DataError(f"{first.name}: has no word but <unk> and <eos>: there is nothing to draw")
    shown = f"The first {len(frequent)} words of the vocabulary" + (f" and {len(others)} named" if others else "")
    chosen = list(dict.fromkeys(words)) or drawn[:: max(1, len(drawn) // DEFAULT_WORDS)][:DEFAULT_WORDS]
    page = render(
        "word_vectors.html",
        neighbours={word: [vectors.neighbours(word, top) for vectors in sets] for word in chosen},
        maps=[map_of(vectors, drawn, frozenset(named)) for vectors in sets],
        shown=shown,
        size=SIZE,
    )
    write_text(path, page)


def map_of(vectors: WordVectors, words: Sequence[str], named: frozenset[str]) -> Map:
    """Return places for `words`; those that are `named` are drawn whatever they hide."""
    place_N2, method = two_dimensions(vectors.unit_VE[[vectors.known_row(word) for word in words]])
    span = np.ptp(place_N2, axis=0)
    place_N2 = (place_N2 - place_N2.min(axis=0)) / np.where(span > 0, span, 1) * (SIZE - 80) + 20
    places = [Place(word, x, y) for word, (x, y) in zip(words, place_N2.tolist(), strict=True)]
    places.sort(key=lambda place: place.word not in named)
    legible = without_overlap(places)
    return Map(
        vectors.name,
        method,
        texts=[place for place in places if place.word in legible - named],
        dots=[place for place in places if place.word not in legible | named],
        named=[place for place in places if place.word in named],
    )


def without_overlap(places: Sequence[Place]) -> frozenset[str]:
    """Return the words that are legible if all of them are drawn: one that would overlap an earlier one is left out."""
    begin_N = np.empty(len(places))
    y_N, width_N = np.empty_like(begin_N), np.empty_like(begin_N)
    legible: list[str] = []
    for place in places:
        n, width = len(legible), MEAN_LETTER * len(place.word)
        begin = place.x - width if place.ends_here else place.x
        beside_N = (begin_N[:n] > begin + width) | (begin_N[:n] + width_N[:n] < begin)
        if (beside_N | (np.abs(y_N[:n] - place.y) > HEIGHT)).all():
            begin_N[n], y_N[n], width_N[n] = begin, place.y, width
            legible.append(place.word)
    return frozenset(legible)


def two_dimensions(points_NE: Floats) -> tuple[NDArray[np.float64], str]:
    """Return (N, 2) places, and the method by which they were found."""
    try:
        from umap import UMAP
    except ImportError:
        return pca(points_NE)
    if len(points_NE) < 10:
        return pca(points_NE)
    return np.asarray(UMAP(metric="cosine", random_state=0).fit_transform(points_NE), np.float64), "by UMAP"


def pca(points_NE: Floats) -> tuple[NDArray[np.float64], str]:
    """Project on the two directions of largest variance, each turned so that its largest entry is positive."""
    centred_NE = points_NE.astype(np.float64) - points_NE.mean(axis=0)
    _, length_K, direction_KE = np.linalg.svd(centred_NE, full_matrices=False)
    axes_2E = np.zeros((2, centred_NE.shape[1]))
    axes_2E[: len(direction_KE[:2])] = direction_KE[:2]
    axes_2E *= np.where(axes_2E[[0, 1], np.abs(axes_2E).argmax(axis=1)] < 0, -1, 1)[:, None]
    share = float((length_K[:2] ** 2).sum() / max((length_K**2).sum(), 1e-30))
    return centred_NE @ axes_2E.T, f"by PCA, which shows {share:.0%} of the variance"
