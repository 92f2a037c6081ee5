"""Coloured text in a notebook: what it says, that text cannot become markup, and that it is readable."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import wordtie
from wordtie.inference.coloured_surprisal import COLOUR, MOST_WORDS, STRONGEST, SurprisalList, as_html
from wordtie.inference.surprisal import WordSurprisal


def word(text: str, bits: float = 3.0, line: int = 1, oov: bool = False) -> WordSurprisal:
    return WordSurprisal(line, 1, 1, text, 5, oov, bits, 4.5)


class Seen(HTMLParser):
    """Tags, attributes and text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[dict[str, str | None]] = []
        self.text = ""
        self.open: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.open.append(tag)
        self.attributes.append(dict(attrs))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_model_gives_a_list_that_a_notebook_shows() -> None:
    found = wordtie.load("en").surprisal("the people\nof qzxqzx")
    assert isinstance(found, list)
    assert found == list(found)
    seen = Seen(found._repr_html_())
    assert seen.open == []
    rubies = [each for tag, each in zip(seen.tags, seen.attributes, strict=True) if tag == "ruby"]
    assert len(rubies) == len(found)
    for each, ruby in zip(found, rubies, strict=True):
        assert each.word in seen.text
        assert f"surprisal {each.surprisal_bits:.2f} bits, entropy before it {each.entropy_bits:.2f} bits" in str(ruby)
    assert ["dotted" in str(ruby) for ruby in rubies] == [each.oov for each in found]
    assert any(each.oov for each in found)
    mean = sum(each.surprisal_bits for each in found) / len(found)
    assert f"{mean:.2f} on average" in seen.text


def test_words_cannot_become_markup() -> None:
    nasty = ['<script>alert("1")</script>', "a\"b'c", "&amp;", "<eos>", "</ruby></div>"]
    seen = Seen(as_html([word(each, oov=True) for each in nasty]))
    assert set(seen.tags) == {"div", "ruby", "rt", "small"}
    assert {name for each in seen.attributes for name in each} == {"style", "title"}
    assert all(each in seen.text for each in nasty)


def test_colour_grows_with_surprisal() -> None:
    page = as_html([word("a", bits) for bits in (-1e-9, 0.0, 4.0, 8.0, 16.0, 90.0)])
    opacities = [float(each) for each in re.findall(r"rgba\(213, 94, 0, ([\d.]+)\)", page)]
    assert opacities == [0.0, 0.0, 0.15, 0.3, 0.6, 0.6]


def test_a_line_is_a_line() -> None:
    page = as_html([word("a"), word("b"), word("c", line=3)])
    assert [re.findall(r">(\w)<rt", line) for line in page.split("<div")[2:]] == [["a", "b"], ["c"]]


def test_long_texts_are_cut() -> None:
    page = as_html([word("a")] * (MOST_WORDS + 1))
    assert page.count("<ruby") == MOST_WORDS
    assert "Of 2,001 words the first 2,000 are shown." in page
    assert "No words." in SurprisalList()._repr_html_()


def luminance(colour: tuple[float, ...]) -> float:
    """Of WCAG 2.2."""
    parts = [each / 255 for each in colour]
    red, green, blue = (each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_text_is_readable_on_light_and_dark_pages() -> None:
    """At least 4.5, WCAG's level AA, with JupyterLab's text and backgrounds."""
    for text, page in (((33, 33, 33), (255, 255, 255)), ((224, 224, 224), (17, 17, 17))):
        for share in (0.0, 0.5, 1.0):
            opacity = STRONGEST * share
            under = tuple(opacity * a + (1 - opacity) * b for a, b in zip(COLOUR, page, strict=True))
            assert contrast(text, under) >= 4.5
