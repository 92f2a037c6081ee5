"""What `json.loads` lets through and a file of ours never has."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

import pytest

from wordtie.storage.strict_json import MOST_DEPTH, JsonError, conform, parse, read


class Optional(TypedDict, total=False):
    notes: dict[str, str]


class Example(Optional):
    version: int
    scores: list[float]
    kind: Literal["a", "b"]
    limit: float | None
    deep: dict[str, dict[str, int]]


@dataclass
class Record:
    name: str
    count: int = 0


WHOLE = {"version": 1, "scores": [1, 2.5], "kind": "a", "limit": None, "deep": {"x": {"y": 1}}, "later": [{}]}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "Expecting value"),
        ('{"a": 1', "Expecting"),
        (b"\xff", "can't decode byte"),
        (b"\x80\x04\x95\x00.", "can't decode byte"),
        ("NaN", "NaN is no number"),
        ("[Infinity]", "Infinity is no number"),
        ("-Infinity", "-Infinity is no number"),
        ("1e999", "'1e999' is larger than any number"),
        ("9" * 5000, "a whole number of 5,000 digits"),
        ("-" + "9" * 21, "a whole number of 22 digits"),
        ('{"a": 1, "b": 2, "a": 1}', "'a' is there twice"),
        ('{"x": [{"a": 1, "a": 2}]}', "'a' is there twice"),
        ("[" * 100_000, "nested deeper"),
        ("[" * (MOST_DEPTH + 2) + "]" * (MOST_DEPTH + 2), "nested deeper"),
    ],
)
def test_what_is_refused(text: str | bytes, says: str) -> None:
    with pytest.raises(JsonError, match=says) as caught:
        parse(text)
    assert "\n" not in str(caught.value)


def test_edges() -> None:
    assert parse("[" * MOST_DEPTH + "]" * MOST_DEPTH) is not None
    assert parse("-9223372036854775808") == -(2**63)
    assert parse(json.dumps(sys.float_info.max)) == sys.float_info.max
    assert parse('{"a": Infinity}', infinity=True) == {"a": float("inf")}
    with pytest.raises(JsonError, match="NaN"):
        parse("NaN", infinity=True)
    assert parse("[1]", most_bytes=3) == [1]
    with pytest.raises(JsonError, match="larger than 2 bytes"):
        parse("[1]", most_bytes=2)


def test_what_conforms_is_returned() -> None:
    assert read(json.dumps(WHOLE), Example) == WHOLE
    assert conform({**WHOLE, "limit": 2, "notes": {}}, Example)["limit"] == 2
    assert conform({"name": "x"}, Record) == {"name": "x"}  # type: ignore[comparison-overlap]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"version": True}, "config.version must be a whole number, got True"),
        ({"version": 1.0}, "config.version must be a whole number, got 1.0"),
        ({"version": "1"}, "config.version must be a whole number, got '1'"),
        ({"scores": {}}, "config.scores must be a list, got {}"),
        ({"scores": [1, "2"]}, r"config.scores\[1\] must be a number, got '2'"),
        ({"scores": [False]}, r"config.scores\[0\] must be a number, got False"),
        ({"kind": "c"}, "config.kind must be one of a, b, got 'c'"),
        ({"kind": ["a"]}, r"config.kind must be one of a, b, got \['a'\]"),
        ({"limit": "1"}, "config.limit must be a number or null, got '1'"),
        ({"limit": []}, "config.limit must be a number, got"),
        ({"deep": []}, "config.deep must be an object"),
        ({"deep": {"x": 1}}, "config.deep.x must be an object, got 1"),
        ({"deep": {"x": {"y": None}}}, "config.deep.x.y must be a whole number, got None"),
        ({"notes": {"a": 1}}, "config.notes.a must be a text, got 1"),
    ],
)
def test_the_field_is_named(change: dict[str, Any], says: str) -> None:
    with pytest.raises(JsonError, match=says):
        conform({**WHOLE, **change}, Example, "config")


@pytest.mark.parametrize("name", ["version", "deep"])
def test_what_is_missing(name: str) -> None:
    with pytest.raises(JsonError, match=rf"^{name} is missing"):
        conform({key: value for key, value in WHOLE.items() if key != name}, Example)
    with pytest.raises(JsonError, match=r"the whole must be an object, got \[1\]"):
        conform([1], Example)
    with pytest.raises(JsonError, match=r"^name is missing"):
        conform({"count": 1}, Record)
    with pytest.raises(JsonError, match=r"^position\.count must be a whole number"):
        conform({"name": "x", "count": 1.5}, Record, "position")
