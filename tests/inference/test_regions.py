"""Regions: values by hand, from a model whose probabilities are on paper."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from tests.inference.hand_made import Bigrams, hand_made
from wordtie.errors import DataError, SettingsError
from wordtie.inference.frequencies import Frequencies, read_frequencies
from wordtie.inference.regions import (
    AVERAGED,
    Region,
    ShownLine,
    region_columns,
    region_rows,
    regions,
    token_columns,
    token_rows,
)
from wordtie.inference.surprisal import Reset

COUNTS = Frequencies({"the": 69, "cat": 19, "sat": 4, "of": 4})  # N + V = 96 + 4 = 100


def test_every_value_by_hand() -> None:
    """`NEXT` has the probabilities; all of them are powers of two."""
    found = next(regions(hand_made(), [ShownLine.of("The cat, the cat sat.")], frequencies=COUNTS))
    entropy = {
        "<eos>": 1 / 2 * 1 + 1 / 4 * 2 + 1 / 8 * 3 + 2 * (1 / 16 * 4),
        "the": 2 * (1 / 4 * 2) + 1 / 2 * 1,
        "cat": 2 * (1 / 16 * 4) + 1 / 2 * 1 + 1 / 4 * 2 + 1 / 8 * 3,
        ",": 2 * (1 / 2 * 1),
    }
    expected = [
        Region(1, "The", 1.0, 1.0, False, 3, math.log10(70 / 100 * 1e6), entropy["<eos>"], entropy["<eos>"] - 1.5),
        Region(2, "cat,", 1.0 + 3.0, 1.0, False, 3, math.log10(20 / 100 * 1e6), entropy["the"], 1.5 - entropy[","]),
        Region(3, "the", 1.0, 1.0, False, 3, math.log10(70 / 100 * 1e6), entropy[","], 1.0 - 1.5),
        Region(4, "cat", 1.0, 1.0, False, 3, math.log10(20 / 100 * 1e6), 1.5, 1.5 - entropy["cat"]),
        Region(5, "sat.", 1.0 + 2.0, 1.0, False, 3, math.log10(5 / 100 * 1e6), entropy["cat"], entropy["cat"] - 0.0),
    ]
    assert len(found) == len(expected)
    for region, by_hand in zip(found, expected, strict=True):
        assert (region.region, region.word, region.oov, region.word_length) == (
            by_hand.region, by_hand.word, by_hand.oov, by_hand.word_length,
        )  # fmt: skip
        for name in (*AVERAGED, "log_frequency"):
            assert getattr(region, name) == pytest.approx(getattr(by_hand, name), abs=1e-9), (region.word, name)


def test_a_word_out_of_the_vocabulary_is_flagged_and_rare() -> None:
    region = next(regions(hand_made(), [ShownLine.of("The dog")], frequencies=COUNTS))[1]
    assert region.oov
    assert region.surprisal_bits == pytest.approx(2.0)
    assert region.log_frequency == pytest.approx(math.log10(1 / 100 * 1e6))


def test_punctuation_alone_and_a_region_of_nothing() -> None:
    lines = [ShownLine("cat , \u200e sat", ["cat", ",", "\u200e", "sat"]), ShownLine.of("")]
    (cat, comma, nothing, _), none = regions(hand_made(), lines)
    assert comma.surprisal_bits == comma.word_surprisal_bits == pytest.approx(3.0)
    assert (nothing.surprisal_bits, nothing.entropy_bits, nothing.oov) == (None, None, False)
    assert cat.log_frequency is None
    assert none == []


def test_marked_regions_and_passages() -> None:
    line = ShownLine.of("The cat | sat.\nthe|cat", "|")
    assert line == ShownLine("The cat sat.\nthe cat", ["The cat", "sat.", "the", "cat"])
    found = next(regions(hand_made(), [line]))
    assert [r.surprisal_bits for r in found] == pytest.approx([2.0, 3.0, 1.0, 1.0])  # `the` follows <eos>


def test_a_mark_has_a_character() -> None:
    with pytest.raises(SettingsError, match="mark is empty"):
        hand_made().regions("the cat", mark="")


@pytest.mark.parametrize("sentences", [True, False])
def test_regions_add_up_to_the_tokens_of_their_line(sentences: bool) -> None:
    loaded = hand_made(sentences)
    text = "The cat, the cat.\n\nthe cat\n" if sentences else "The cat sat.\n\nthe cat\n"
    resets: list[Reset] = ["line", "blank"]
    for reset in resets:
        tokens = [record for record in loaded.surprisal(text, reset) if record.word != "<eos>"]
        total = sum(r.surprisal_bits or 0.0 for r in loaded.regions(text, reset))
        assert total == pytest.approx(sum(t.surprisal_bits for t in tokens))
    last = loaded.regions("the cat")[-1]
    assert (last.entropy_reduction_bits is None) == (not sentences)


def test_values_of_the_words_before() -> None:
    rows = list(region_rows([hand_made()], [ShownLine.of("The cat sat"), ShownLine.of("cat")], spillover=2))
    assert [row["line"] for row in rows] == [1, 1, 1, 2]
    assert [row["surprisal_bits_prev1"] for row in rows] == [None, 1.0, 1.0, None]
    assert [row["word_length_prev2"] for row in rows] == [None, None, 3, None]
    assert set(rows[0]) == set(region_columns(1, 2))


def test_the_mean_of_several_models() -> None:
    other = hand_made()
    model = Bigrams()
    model.table_VV = np.full((7, 7), 1 / 8)  # 3 bits for every word
    models = [other, replace(other, model=model)]
    rows = list(region_rows(models, [ShownLine.of("The cat,")], spillover=1))
    assert rows[0]["surprisal_bits"] == pytest.approx((1 + 3) / 2)
    assert rows[0]["surprisal_bits_sd"] == pytest.approx(math.sqrt(2))  # of 1 and 3, over n - 1
    assert rows[1]["surprisal_bits"] == pytest.approx((4 + 6) / 2)
    assert rows[1]["surprisal_bits_prev1"] == rows[0]["surprisal_bits"]
    assert set(rows[0]) == set(region_columns(2, 1))
    tokens = list(token_rows(models, ["The cat"]))
    assert list(tokens[0]) == token_columns(2)
    assert tokens[1]["surprisal_bits"] == pytest.approx(2.0)
    with pytest.raises(SettingsError, match="models of one vocabulary"):
        list(region_rows([other, hand_made(sentences=False)], []))


def test_frequencies_from_a_table() -> None:
    frequencies = read_frequencies(["word,count", "the,8", "cat,0", "the,1"], "counts.csv")
    assert frequencies.of("the") == pytest.approx(math.log10(10 / 11 * 1e6))
    assert frequencies.of("dog") == frequencies.of("cat") == pytest.approx(math.log10(1 / 11 * 1e6))


def test_words_with_capitals_are_found_in_a_table_of_lower_case() -> None:
    table = ["word,count", "the,8", "will,90", "Will,3"]
    frequencies = read_frequencies(table, "counts.csv", lower=True)
    assert frequencies.of("The") == frequencies.of("THE") == frequencies.of("the")
    assert frequencies.of("Will") == pytest.approx(math.log10(4 / 104 * 1e6))
    with pytest.raises(DataError, match=r"line 2: count '1111.* is not a whole number of at most"):
        read_frequencies(["word,count", f"the,{'1' * 400}"], "counts.csv")
    assert read_frequencies(table, "counts.csv").of("The") == frequencies.of("dog")


def test_words_of_a_table_are_read_as_the_model_reads_them() -> None:
    frequencies = read_frequencies(["word,count", "The ,8", "the,1", "...,0"], "counts.csv", hand_made().tokenizer)
    assert frequencies.counts["the"] == 9


@pytest.mark.parametrize("empty", ["The\n\ncat", "\nThe\ncat"])
def test_an_empty_line_within_a_passage_is_a_sentence_of_its_own(empty: str) -> None:
    found = next(regions(hand_made(), [ShownLine.of(empty)]))
    assert [(region.word, region.surprisal_bits) for region in found] == [("The", 1.0), ("cat", 2.0)]
