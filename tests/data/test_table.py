"""One column of a table, row for row."""

from __future__ import annotations

import pytest

from wordtie.data.table import column, sentences
from wordtie.errors import DataError


@pytest.mark.parametrize(
    "lines",
    [
        ["id,text", '1,"The cat, ""sat""."', "2,", "3,A dog"],
        ["id;text", '1;"The cat, ""sat""."', "2;", "3;A dog"],
        ["id\ttext", '1\t"The cat, ""sat""."', "", "2\t", "3\tA dog"],
    ],
    ids=["comma", "semicolon", "tab, and a blank line"],
)
def test_the_cells_of_a_column(lines: list[str]) -> None:
    assert list(column(lines, "text", "items")) == ['The cat, "sat".', "", "A dog"]


def test_a_cell_of_several_lines_is_one_row() -> None:
    lines = ["text,id", '"The cat.', "", 'It sat.",1', "A dog,2"]
    assert list(column(lines, "text", "items")) == ["The cat.\nIt sat.", "A dog"]


@pytest.mark.parametrize("within", ["\u2028", "\x85", "\x0b", "\f", "\x1c"])
def test_only_a_line_end_ends_a_line(within: str) -> None:
    cell = f"The cat sat.{within}A dog."
    assert list(column(["text,id", f"{cell},1"], "text", "items")) == [cell]


def test_a_cell_may_be_long() -> None:
    assert list(column(["id,text", f'1,"{"a" * 200_000}"'], "text", "items")) == ["a" * 200_000]


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (["id,text", "1,a"], "items, line 1: has no column sentence, only id, text"),
        (["id, sentence", "1,a"], "items, line 1: has no column sentence, only id, ' sentence': name one of these"),
        ([], "items, line 1: is blank; a table begins with the names of its columns"),
        (["", "id,sentence", "1,a"], "items, line 1: is blank"),
        (["sentence,id,sentence", "a,1,b"], "items, line 1: has 2 columns sentence: rename all but one"),
        (["id,sentence", "1,a", "2"], "items, line 3: has 1 cells where line 1 has 2"),
        (["id,sentence", "1,The, old king"], "items, line 2: has 3 cells where line 1 has 2"),
        (
            ["id\tsentence\tms", '1\t"Why, she said.\t200', "2\tThe king.\t210", '3\t"No.\t220'],
            "line 4: .* written twice",
        ),
        (["id,sentence", '1,"The old king', "2,A queen"], "items, line 3: .*is a quotation mark left open"),
        (["id,sentence", '1,"' + "a" * 200_000], "items, line 2: unexpected end of data"),
    ],
)
def test_a_bad_table_is_said_by_line(lines: list[str], says: str) -> None:
    with pytest.raises(DataError, match=says):
        list(column(lines, "sentence", "items"))


def test_json_lines_are_a_table_too() -> None:
    lines = ['{"id": 1, "text": "The cat, \\"sat\\"."}', "", '{"text": "one\\n\\ntwo", "id": 2}']
    assert list(column(lines, "text", "items")) == ['The cat, "sat".', "one\ntwo"]
    assert list(column(lines, "id", "items")) == ["1", "2"]


def test_a_header_with_a_brace_is_a_header() -> None:
    assert list(column(["{id},text", "1,a"], "text", "items")) == ["a"]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("a dog", "items, line 2: is no JSON object as line 1 is"),
        ('["a dog"]', "items, line 2: is no JSON object"),
        ("{" * 100_000, "items, line 2: is no JSON object"),
        ('{"id": 2}', "items, line 2: has no text, only id: name one of these"),
        ('{"text": ["a"]}', "items, line 2: text is no string"),
        ('{"text": null}', "items, line 2: text is no string"),
        ('{"text": true}', "items, line 2: text is no string"),
    ],
)
def test_bad_json_lines_are_said_by_line(line: str, says: str) -> None:
    with pytest.raises(DataError, match=says):
        list(column(['{"text": "a cat"}', line], "text", "items"))


def test_words_of_a_row_each_are_sentences_by_another_column() -> None:
    lines = ["word,item", "The,1", "cat.,1", "A,2", " dog,2", "Again,1"]
    assert list(sentences(lines, "word", "item", "items")) == ["The cat.", "A dog", "Again"]


@pytest.mark.parametrize(("cell", "count"), [("a dog", 2), ("", 0)])
def test_a_row_that_is_not_one_word_is_refused(cell: str, count: int) -> None:
    with pytest.raises(DataError, match=f"items, line 3: has {count} words in column word; .* every row is one word"):
        list(sentences(["word,item", "The,1", f"{cell},1"], "word", "item", "items"))


def test_a_sentence_that_does_not_end_is_refused() -> None:
    word = "a" * 1_000_000
    with pytest.raises(DataError, match="items, line 11: sentence '1' is longer than 10 MB: does column item tell"):
        list(sentences(["word,item", *[f"{word},1"] * 10], "word", "item", "items"))
