"""The picture: one page, everything in it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from wordtie.errors import DataError
from wordtie.vectors.map import pca, write_page
from wordtie.vectors.word_vectors import WordVectors


def vectors(name: str, seed: int) -> WordVectors:
    words = ["<unk>", "a&b", *(f"word{n}" for n in range(30))]
    return WordVectors(words, np.random.default_rng(seed).normal(size=(32, 6)).astype(np.float32), name=name)


def test_the_page_opens_offline_and_shows_both_sides(tmp_path: Path) -> None:
    path = tmp_path / "new" / "map.html"
    write_page(path, [vectors("run:input", 0), vectors("run:output", 1)], ["word3", "a&b"], most=20, top=4)
    page = path.read_text()
    assert not re.search(r"https?://|src=|@import|url\(", page)
    assert page.count("<svg") == 2
    assert page.count("<text") == 2 * 19  # `<unk>` is not drawn
    assert "run:input" in page
    for drawn in page.split("<svg")[1:]:  # the named words are drawn last, above the others
        assert re.findall(r'class="named".*?>(.*?)<', drawn, re.DOTALL) == ["a&amp;b", "word3"]
        assert re.findall(r"<text.*?>(.*?)<", drawn, re.DOTALL)[-2:] == ["a&amp;b", "word3"]
    assert "a&amp;b" in page
    assert "a&b" not in page
    rows = re.findall(r"<tr><th>(.*?)</th>(.*?)</tr>", page, re.DOTALL)
    assert [row[0] for row in rows[1:]] == ["word3", "a&amp;b"]
    assert all(row[1].count("<small>") == 8 for row in rows[1:])


def test_no_word_hides_another(tmp_path: Path) -> None:
    """Of three in one place the one that is asked for can be read, else the most frequent; the others are dots."""
    words = ["first", "second", "third", "far", "up", "down"]
    places = np.array([[1, 0], [1, 0.001], [1, 0.002], [-1, 0], [0, 1], [0, -1]], np.float32)
    for named, hidden in (([], ["second", "third"]), (["third"], ["first", "second"])):
        write_page(tmp_path / "map.html", [WordVectors(words, places, name="v")], named, most=6, top=2)
        page = (tmp_path / "map.html").read_text()
        assert "is a dot: point at it" in page
        assert re.findall(r"<g><circle.*?<text.*?>(.*?)</text></g>", page, re.DOTALL) == hidden
        assert sorted(re.findall(r"<text.*?>(.*?)<", page, re.DOTALL)) == sorted(words)
    write_page(tmp_path / "map.html", [WordVectors(words, places, name="v")], words, 6, 2)
    assert "is a dot" not in (tmp_path / "map.html").read_text()  # what is asked for is drawn whatever it hides


def test_an_unknown_word_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no vector of 'gone'"):
        write_page(tmp_path / "map.html", [vectors("v", 0)], ["gone"], most=5, top=2)
    assert not (tmp_path / "map.html").exists()


def test_a_model_of_no_words_has_no_map(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="v: has no word but <unk> and <eos>"):
        write_page(
            tmp_path / "map.html", [WordVectors(["<unk>", "<eos>"], np.eye(2, dtype=np.float32), name="v")], [], 5, 2
        )


def test_words_stay_within_the_map_and_are_counted(tmp_path: Path) -> None:
    words = ["one", "two", "three", "Donaudampfschifffahrtsgesellschaft", "rare"]
    places = np.array([[1, 0], [-1, 0], [-1, 0.1], [1, 0.1], [-0.9, 0.5]], np.float32)
    write_page(tmp_path / "map.html", [WordVectors(words, places, name="v")], ["rare", "rare"], most=4, top=2)
    page = (tmp_path / "map.html").read_text()
    assert "The first 4 words of the vocabulary and 1 named, by" in page
    assert page.count("<th>rare</th>") == 1
    for attributes, word in re.findall(r"<text(.*?)>(.*?)<", page, re.DOTALL):
        x = float(re.findall(r'x="([\d.]+)"', attributes)[0])
        begin, end = (x - 8 * len(word), x) if 'text-anchor="end"' in attributes else (x, x + 8 * len(word))
        assert 0 <= begin < end <= 900


def test_the_page_fits_a_telephone_and_the_night(tmp_path: Path) -> None:
    write_page(tmp_path / "map.html", [vectors("v", 0)], [], most=20, top=4)
    page = (tmp_path / "map.html").read_text()
    assert '<meta name="viewport" content="width=device-width">' in page
    assert "prefers-color-scheme: dark" in page
    assert page.count('class="wide"') == page.count("<svg") + page.count("<table>")


@pytest.mark.parametrize("shape", [(5, 4), (1, 3), (3, 1)])
def test_pca_finds_the_directions_of_most_variance(shape: tuple[int, int]) -> None:
    points = np.random.default_rng(2).normal(size=shape).astype(np.float32)
    places, how = pca(points)
    assert places.shape == (shape[0], 2)
    assert how.startswith("by PCA")
    if shape == (5, 4):
        variance = np.linalg.eigvalsh(np.cov(points.T.astype(np.float64)))[::-1][:2]
        np.testing.assert_allclose(places.var(axis=0, ddof=1), variance, rtol=1e-5)
