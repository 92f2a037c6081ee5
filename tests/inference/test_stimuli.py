"""Tables with a word per row: row for row, and the first row that does not match."""

from __future__ import annotations

from typing import Literal

import pytest

from tests.commands import Capture
from tests.inference.hand_made import hand_made
from wordtie.data.table import read_table
from wordtie.errors import DataError
from wordtie.inference.stimuli import check_new_columns, word_per_row

READ = """\
subject,item,word,rt
s1,1,The,300
s1,1,cat,
s1,2,the,310
s1,2,cat,NA
s1,2,sat.,290
s2,1,The,200
s2,1,cat,210
"""


def joined(
    text: str, by: str, reset: Literal["line", "blank"] = "line"
) -> list[tuple[int, list[str], int, int, float]]:
    table = read_table(text.splitlines(), "times.csv")
    found = word_per_row([hand_made()], table, "word", by.split(","), reset)
    return [(row.line, [*row.cells], v["line"], v["region"], v["surprisal_bits"]) for row, v in found]


def test_rows_stay_in_order_and_a_sentence_is_scored_once() -> None:
    found = joined(READ, "subject,item")
    assert [cells for _, cells, *_ in found] == [line.split(",") for line in READ.splitlines()[1:]]
    assert [line for line, *_ in found] == [2, 3, 4, 5, 6, 7, 8]
    assert [(line, region) for *_, line, region, _ in found] == [(1, 1), (1, 2), (2, 1), (2, 2), (2, 3), (1, 1), (1, 2)]
    assert [bits for *_, bits in found] == pytest.approx([1, 1, 1, 1, 1 + 2, 1, 1])


def test_a_passage_keeps_its_context_and_ends_its_sentences() -> None:
    text = "story,sentence,word\n1,1,the\n1,1,cat\n1,2,sat\n2,1,sat\n"
    sentences, passages = joined(text, "story,sentence"), joined(text, "story,sentence", "blank")
    assert [(line, region) for *_, line, region, _ in passages] == [(1, 1), (1, 2), (1, 3), (2, 1)]
    assert [bits for *_, bits in passages] == pytest.approx([bits for *_, bits in sentences])  # <eos> is all it knows
    assert [(line, region) for *_, line, region, _ in sentences] == [(1, 1), (1, 2), (2, 1), (2, 1)]


def test_passages_of_several_readers_are_told_apart() -> None:
    """By all columns but the last, so each reader has the context that a single one has."""
    story = ["one,1,the", "one,1,cat", "one,2,the", "one,2,cat", "one,2,sat", "two,1,cat", "two,2,the", "two,2,cat"]
    columns = "story,sentence,word"
    alone = joined("\n".join([columns, *story]), "story,sentence", "blank")
    rows = [f"{reader},{row}" for reader in ("A", "B") for row in story]
    both = joined("\n".join([f"reader,{columns}", *rows]), "reader,story,sentence", "blank")
    assert [bits for *_, bits in both] == [bits for *_, bits in alone] * 2
    by_story = sorted(rows, key=lambda row: row.split(",")[1])  # both readers of a story, one after the other
    other = joined("\n".join([f"reader,{columns}", *by_story]), "story,reader,sentence", "blank")
    assert [bits for *_, bits in other] == [bits for *_, bits in alone[:5] * 2 + alone[5:] * 2]
    with pytest.raises(DataError, match=r"line 7: .* come several times over: name the column that tells readers"):
        joined("\n".join([f"reader,{columns}", *by_story]), "story,sentence", "blank")


def test_a_cell_may_hold_a_region_of_several_words() -> None:
    assert [bits for *_, bits in joined("item,word\n1,The  cat\n1,sat\n", "item")] == pytest.approx([2, 1])


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (["1,The", "1, "], "times.csv, line 3: has no word in column word: fix the row"),
        (['1,"Oh', '1,no"'], "times.csv, line 3: the word in column word goes on over several lines"),
        (
            ["1,the", "1,cat", "2,a", "1,the", "1,dog"],
            "line 6: does not match: the sentence with item 1 came before, and word 2 was 'cat', but 'dog' here",
        ),
        (["1,the", "1,cat", "2,a", "1,the"], "line 5: .* word 2 was 'cat', but the sentence ends here"),
        (["1,the", "2,a", "1,the", "1,cat"], "line 5: .* it had 1 words, but 'cat' here"),
    ],
)
def test_the_first_row_that_does_not_match_is_named(rows: list[str], says: str) -> None:
    with pytest.raises(DataError, match=says):
        joined("\n".join(["item,word", *rows]), "item")


ONE_BY_ONE = [f"{reader},1,{word},{reader}{word}" for reader in "AB" for word in ("the", "cat", "sat")]
BY_TURNS = [f"{reader},1,{word},{reader}{word}" for word in ("the", "cat", "sat") for reader in "AB"]


@pytest.mark.parametrize(("rows", "line"), [(ONE_BY_ONE, 5), (BY_TURNS, 3)], ids=["one by one", "by turns"])
def test_readers_who_are_not_told_apart_are_refused(rows: list[str], line: int) -> None:
    says = f"line {line}: .* item 1 come 2 times over: name the column that tells readers apart, such as reader, with"
    with pytest.raises(DataError, match=says):
        joined("\n".join(["reader,item,word,rt", *rows]), "item")


@pytest.mark.parametrize("words", ["no no no no no no", "the cat sat the cat sat", "the the cat cat sat sat"])
def test_words_that_one_reader_reads_again_are_a_sentence(words: str, capsys: Capture) -> None:
    """Without a column of readers, there is nothing that could be named: times and places of words differ anyway."""
    rows = [f"{item},{word},{place},{300 + 7 * place}" for item in (1, 2) for place, word in enumerate(words.split())]
    found = joined("\n".join(["item,word,place,rt", *rows]), "item")
    assert [(line, region) for *_, line, region, _ in found] == [(1, place) for place in range(1, 7)] * 2
    (note,) = capsys.readouterr().err.splitlines()
    place = 3 if words.startswith("the the") else 5
    assert note.startswith(f"note: times.csv, line {place}: the words with item 1 come 2 times over, and are scored in")


def test_a_passage_may_repeat_a_sentence(capsys: Capture) -> None:
    rows = ["1,1,the,9", "1,1,cat,8", "1,1,sat,7", "1,2,the,6", "1,2,cat,5", "1,2,sat,4"]
    found = joined("\n".join(["story,sentence,word,rt", *rows]), "story,sentence", "blank")
    assert [(line, region) for *_, line, region, _ in found] == [(1, region) for region in range(1, 7)]
    assert "line 5: the sentences of a passage come 2 times over, and are scored" in capsys.readouterr().err


def test_a_passage_of_two_readers_whose_trials_are_numbered_is_refused() -> None:
    trials = (("A", 1, "the cat"), ("A", 2, "sat"), ("B", 3, "the cat"), ("B", 4, "sat"))
    rows = [f"{reader},1,{trial},{word}" for reader, trial, words in trials for word in words.split()]
    with pytest.raises(DataError, match=r"line 5: .* come several times over: name the column .* before trial"):
        joined("\n".join(["reader,story,trial,word", *rows]), "story,trial", "blank")


def test_a_short_sentence_may_repeat_itself() -> None:
    assert len(joined("item,word\n1,no\n1,no\n", "item")) == 2


def test_a_column_that_is_there_already() -> None:
    table = read_table(["item,oov"], "times.csv")
    with pytest.raises(DataError, match=r"times.csv, line 1: has a column oov already, .* --prefix"):
        check_new_columns(table, ["line", "oov"])


def test_a_sentence_that_does_not_end_is_refused() -> None:
    with pytest.raises(DataError, match="line 11: the sentence with item 1 is longer than 10 MB: do these columns"):
        joined("\n".join(["item,word", *[f"1,{'a' * 1_000_000}"] * 10]), "item")
