"""Tables, row for row: delimited and JSON Lines."""

from __future__ import annotations

import unicodedata
from typing import Literal

import pytest

from wordtie.data.table import columns_of, read_table, text_of
from wordtie.errors import DataError


def column(lines: list[str], name: str) -> list[str]:
    table = read_table(lines, "items")
    place = table.place(name)
    return [row.cells[place] for row in table.rows]


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
    assert column(lines, "text") == ['The cat, "sat".', "", "A dog"]


def test_every_column_is_kept_and_each_row_has_its_line() -> None:
    table = read_table(["id,text,", '1,"The', 'cat",x', "", "2,A dog,"], "items")
    assert list(table.columns) == ["id", "text", ""]
    assert [(row.line, list(row.cells)) for row in table.rows] == [(3, ["1", "The\ncat", "x"]), (5, ["2", "A dog", ""])]


def test_a_cell_of_several_lines_is_one_row() -> None:
    lines = ["text,id", '"The cat.', "", 'It sat.",1', "A dog,2"]
    assert [text_of(cell) for cell in column(lines, "text")] == ["The cat.\nIt sat.", "A dog"]


@pytest.mark.parametrize("within", ["\u2028", "\x85", "\x0b", "\f", "\x1c"])
def test_only_a_line_end_ends_a_line(within: str) -> None:
    cell = f"The cat sat.{within}A dog."
    assert column(["text,id", f"{cell},1"], "text") == [cell]


def test_a_cell_may_be_long() -> None:
    assert column(["id,text", f'1,"{"a" * 200_000}"'], "text") == ["a" * 200_000]


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (["id,text", "1,a"], "items, line 1: has no column sentence, only id, text"),
        (["id, sentence", "1,a"], "items, line 1: has no column sentence, only id, ' sentence': name one of these"),
        ([",".join(["a"] * 200)], r"line 1: has no column sentence, only a, .*a, \.\.\.: name one of these"),
        ([], "items, line 1: is blank; a table begins with the names of its columns"),
        (["", "id,sentence", "1,a"], "items, line 1: is blank"),
        (["sentence,id,sentence", "a,1,b"], "items, line 1: has 2 columns sentence: rename all but one"),
        (["id,sentence", "1,a", "2"], "items, line 3: has 1 cells where line 1 has 2"),
        (["id\tsentence", "1\ta", '2\t"Oh', '3\tno,"'], "items, line 3: a quotation mark opens a cell that goes on"),
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
        column(lines, "sentence")


def test_json_lines_are_a_table_too() -> None:
    lines = ['{"id": 1, "text": "The cat, \\"sat\\"."}', "", '{"text": "one\\n\\ntwo", "id": 2}']
    assert [text_of(cell) for cell in column(lines, "text")] == ['The cat, "sat".', "one\ntwo"]
    assert column(lines, "id") == ["1", "2"]


def test_cells_of_json_lines_that_are_no_text() -> None:
    assert column(['{"a": null}', '{"a": 1.5}', '{"a": true}', '{"a": ["é"]}'], "a") == ["", "1.5", "true", '["é"]']


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_a_column_is_found_in_any_unicode_form(form: Literal["NFC", "NFD"]) -> None:
    header = unicodedata.normalize(form, "numéro,référence")
    for name in (unicodedata.normalize("NFC", "référence"), unicodedata.normalize("NFD", "référence")):
        assert column([header, "1,a"], name) == ["a"]


def test_two_columns_of_one_name_in_the_first_line_of_json() -> None:
    with pytest.raises(DataError, match="items, line 1: 'text' is there twice"):
        column(['{"text": "a cat", "text": "a dog"}'], "text")


def test_a_header_with_a_brace_is_a_header() -> None:
    assert column(["{id},text", "1,a"], "text") == ["a"]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("a dog", "items, line 2: is no JSON object as line 1 is"),
        ('["a dog"]', "items, line 2: is no JSON object"),
        ("{" * 100_000, "items, line 2: is no JSON object"),
        ('{"id": 2}', "items, line 2: has a id, which line 1 has not"),
        ('{"text": "a dog", "text": "a cow"}', "items, line 2: 'text' is there twice: keep or rename one"),
        ("{}", "items, line 2: has no text, only : write the same names on each line"),
    ],
)
def test_bad_json_lines_are_said_by_line(line: str, says: str) -> None:
    with pytest.raises(DataError, match=says):
        column(['{"text": "a cat"}', line], "text")


@pytest.mark.parametrize(
    ("name", "header", "columns"),
    [
        ("t.tsv", "item\tword", ["item", "word"]),
        ("T.TSV.gz", "item\tword", ["item", "word"]),
        ("t.csv", 'item,"the sentence, whole",cond', ["item", "the sentence, whole", "cond"]),
        ("t.csv.zip", "item;sentence", ["item", "sentence"]),
        ("t.csv", "item\t1", ["item", "1"]),
        ("t.jsonl", '{"good": "The cat.", "bad": ""}', ["good", "bad"]),
        ("t.txt", "item\tword", []),
        ("stdin", '{"good": "The cat."}', []),
        ("t.tsv", "item,word", []),
        ("t.csv", "The cat", []),
        ("t.csv", "The cat, the dog", []),
        ("t.csv", "The cat,the dog.", []),
        ("t.csv", "He had 1,000 cats", []),
        ("t.csv", "word," + "long" * 50_000, ["word", "long" * 50_000]),
        ("t.csv", "item\rword,rt", []),
        ("t.jsonl", "{laughs} No.", []),
        ("t.jsonl", '"a"', []),
        ("t.jsonl", "[" * 100_000, []),
    ],
)
def test_what_is_a_table_and_what_is_text(name: str, header: str, columns: list[str]) -> None:
    assert columns_of(name, header) == columns
