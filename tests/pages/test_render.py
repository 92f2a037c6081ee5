"""Templates escape what they are given, and a value that is missing is an error, not a gap in the page."""

from __future__ import annotations

import pytest
from jinja2 import UndefinedError

from wordtie.pages.render import render

VALUES = {"neighbours": {"<b>": []}, "maps": [], "shown": "all", "size": 9}


def test_values_are_escaped() -> None:
    page = render("word_vectors.html", **VALUES)
    assert "<th>&lt;b&gt;</th>" in page
    assert "<b>" not in page


def test_a_missing_value_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="neighbours"):
        render("word_vectors.html", maps=[])
