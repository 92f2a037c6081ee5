"""One column of a table, row for row."""

from __future__ import annotations

import pytest

from wordtie.data.table import column
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
