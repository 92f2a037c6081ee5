"""One HTML page of word vectors: a map of the most frequent words, and neighbours side by side.

The map shows the vectors at length 1 in two dimensions: by UMAP where that is installed, by PCA (and the share of the
variance that it shows) where it is not. A word that would lie on a more frequent one is a dot. The page has everything
in it and opens without a network.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordtie.errors import DataError
from wordtie.pages.style import PALETTE, wide
from wordtie.storage.atomic import write_text
from wordtie.vectors.word_vectors import Floats, WordVectors

SIZE = 900
"""Pixels of a map's side."""
LETTER, MEAN_LETTER, HEIGHT = 8, 6, 11
"""Pixels that a letter is wide, at most and in the mean, and a word high."""
SPECIAL = ("<unk>", "<eos>")
DEFAULT_WORDS = 12
"""How many words have their neighbours shown where none are named."""

STYLE = """
body { font: 15px/1.4 system-ui, sans-serif; margin: 2rem auto; max-width: 1100px; padding: 0 1rem; color: var(--ink);
  background: var(--paper) }
.wide { overflow-x: auto } h2 { overflow-wrap: anywhere }
svg { width: 100%; min-width: 900px; height: auto; border: 1px solid var(--line); box-sizing: border-box }
text { font-size: 10px; fill: var(--link); paint-order: stroke; stroke: var(--paper); stroke-width: 2px;
  pointer-events: none }
text.named { fill: var(--ink); font-weight: bold }
circle { fill: var(--muted); opacity: .6; stroke: transparent; stroke-width: 8px }
g text { visibility: hidden; fill: var(--ink); font-size: 15px }
g:hover text, text.hit { visibility: visible }
text.hit { fill: var(--bad); font-weight: bold; font-size: 15px }
table { border-collapse: collapse; margin: 1rem 0 }
td, th { border: 1px solid var(--line); padding: .2rem .6rem; text-align: left; vertical-align: top }
.cosine { color: var(--muted); font-size: 12px } input { font: inherit; padding: .2rem .5rem }
"""
SCRIPT = """
document.getElementById('find').addEventListener('input', event => {
  const wanted = event.target.value.trim().toLowerCase();
  let found = 0;
  for (const word of [...document.querySelectorAll('svg text')]) {
    const hit = word.textContent.toLowerCase() === wanted;
    word.classList.toggle('hit', hit);
    if (hit) { const drawn = word.closest('g') ?? word; drawn.parentNode.append(drawn); found += 1; }
  }
  document.getElementById('found').textContent = wanted && !found ? 'not in the maps' : '';
});
"""


def write_page(path: Path, sets: Sequence[WordVectors], words: Sequence[str], most: int, top: int) -> None:
    """Write the page: a map of each set's `most` most frequent words, `top` neighbours of each of `words`.

    Words that are not named are taken from the map, at equal distances by frequency. Raises `DataError` for a word that
    is not known, or where no word is there to be drawn, `SaveError` where the file cannot be written.
    """
    first = sets[0]
    frequent = [word for word in first.words[:most] if word not in SPECIAL]
    named = dict.fromkeys(first.words[first.known_row(word)] for word in words)  # as the vocabulary writes them
    others = [word for word in named if word not in frequent]
    shown = frequent + others
    if not shown:
        raise DataError(f"{first.name}: has no word but <unk> and <eos>: there is nothing to draw")
    what = f"The {len(frequent)} most frequent words" + (f" and {len(others)} named" if others else "")
    chosen = list(dict.fromkeys(words)) or shown[:: max(1, len(shown) // DEFAULT_WORDS)][:DEFAULT_WORDS]
    parts = [
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width'><title>Word vectors</title>",
        f"<style>{PALETTE}{STYLE}</style></head><body><h1>Word vectors</h1>",
        neighbour_table(sets, chosen, top),
        "<p><label>Find a word in the maps: <input id='find'></label> <span id='found'></span></p>",
        *(map_of(vectors, shown, frozenset(named), what) for vectors in sets),
        f"<script>{SCRIPT}</script></body></html>\n",
    ]
    write_text(path, "\n".join(parts))


def neighbour_table(sets: Sequence[WordVectors], words: Sequence[str], top: int) -> str:
    """A row a word, a column a set."""
    head = "".join(f"<th>{html.escape(vectors.name)}</th>" for vectors in sets)
    rows = []
    for word in words:
        cells = "".join(f"<td>{_listed(vectors.neighbours(word, top))}</td>" for vectors in sets)
        rows.append(f"<tr><th>{html.escape(word)}</th>{cells}</tr>")
    table = f"<table><tr><th>word</th>{head}</tr>{''.join(rows)}</table>"
    return f"<h2>Nearest words</h2>{wide('Nearest words')}{table}</div>"


def _listed(found: Sequence[tuple[str, float]]) -> str:
    return "<br>".join(f"{html.escape(word)} <span class='cosine'>{cosine:.3f}</span>" for word, cosine in found)


def map_of(vectors: WordVectors, words: Sequence[str], named: frozenset[str], what: str) -> str:
    """An SVG with the words at their places, those that are `named` in bold, above the others; `what` is shown.

    A word that would go beyond the right edge ends at its place.
    """
    place_N2, how = two_dimensions(vectors.unit_VE[[vectors.known_row(word) for word in words]])
    span = np.ptp(place_N2, axis=0)
    place_N2 = (place_N2 - place_N2.min(axis=0)) / np.where(span > 0, span, 1) * (SIZE - 80) + 20
    first = sorted(zip(words, place_N2.tolist(), strict=True), key=lambda place: place[0] not in named)
    places = {word: (x, y) for word, (x, y) in first}
    legible = without_overlap(places)
    dots = [_dot(word, x, y) for word, (x, y) in places.items() if word not in legible | named]
    texts = [_text(word, x, y) for word, (x, y) in places.items() if word in legible - named]
    bold = [_text(word, x, y, " class=named") for word, (x, y) in places.items() if word in named]
    how += "; a word that others would hide is a dot: point at it, or find it by name" if dots else ""
    title = f"<h2>{html.escape(vectors.name)}</h2><p>{what}, {how}.</p>{wide(f'Map of words: {vectors.name}')}"
    drawn = "".join([*texts, *dots, *bold])
    return f"{title}<svg viewBox='0 0 {SIZE} {SIZE}' role='group' aria-label='map of words'>{drawn}</svg></div>"


def without_overlap(places: Mapping[str, tuple[float, float]]) -> frozenset[str]:
    """The words that can be read where all of them are drawn: one that would lie on an earlier one is left out."""
    begin_N = np.empty(len(places))
    y_N, width_N = np.empty_like(begin_N), np.empty_like(begin_N)
    legible: list[str] = []
    for word, (x, y) in places.items():
        n, width = len(legible), MEAN_LETTER * len(word)
        begin = x - width if _ends_at_its_place(word, x) else x
        beside_N = (begin_N[:n] > begin + width) | (begin_N[:n] + width_N[:n] < begin)
        if (beside_N | (np.abs(y_N[:n] - y) > HEIGHT)).all():
            begin_N[n], y_N[n], width_N[n] = begin, y, width
            legible.append(word)
    return frozenset(legible)


def _dot(word: str, x: float, y: float) -> str:
    return f"<g><circle cx='{x:.1f}' cy='{y:.1f}' r='2'/>{_text(word, x, y)}</g>"


def _text(word: str, x: float, y: float, attributes: str = "") -> str:
    attributes += " text-anchor='end'" if _ends_at_its_place(word, x) else ""
    return f"<text{attributes} x='{x:.1f}' y='{y:.1f}'>{html.escape(word)}</text>"


def _ends_at_its_place(word: str, x: float) -> bool:
    return x > SIZE / 2 and x + LETTER * len(word) > SIZE


def two_dimensions(points_NE: Floats) -> tuple[NDArray[np.float64], str]:
    """(N, 2) places, and how they were found."""
    try:
        from umap import UMAP
    except ImportError:
        return pca(points_NE)
    if len(points_NE) < 10:
        return pca(points_NE)
    return np.asarray(UMAP(metric="cosine", random_state=0).fit_transform(points_NE), np.float64), "by UMAP"


def pca(points_NE: Floats) -> tuple[NDArray[np.float64], str]:
    """The two directions of most variance; each turned so that its largest entry is positive."""
    centred_NE = points_NE.astype(np.float64) - points_NE.mean(axis=0)
    _, length_K, direction_KE = np.linalg.svd(centred_NE, full_matrices=False)
    axes_2E = np.zeros((2, centred_NE.shape[1]))
    axes_2E[: len(direction_KE[:2])] = direction_KE[:2]
    axes_2E *= np.where(axes_2E[[0, 1], np.abs(axes_2E).argmax(axis=1)] < 0, -1, 1)[:, None]
    share = float((length_K[:2] ** 2).sum() / max((length_K**2).sum(), 1e-30))
    return centred_NE @ axes_2E.T, f"by PCA, which shows {share:.0%} of the variance"
