"""Reading times: regressions against literal ones, tests of significance by enumeration, and hostile tables."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from tests.reference.held_out import held_out
from wordtie.errors import DataError, SettingsError, UsageError
from wordtie.inference.joined_table import Choice, read_joined
from wordtie.inference.reading_times import ReadingTimes, analyse, assign_folds, compare, predict_held_out
from wordtie.inference.reading_times_figure import draw


def made(items: int = 40, words: int = 6, effect: float = 5.0) -> ReadingTimes:
    """Times that depend on length, on surprisal by `effect`, and on chance; the same in every call."""
    count, generator = items * words, np.random.default_rng(7)
    length_N, good_N, noise_N = (generator.normal(size=(count, 1)) for _ in range(3))
    time_N = 300 + 8 * length_N[:, 0] + effect * good_N[:, 0] + generator.normal(scale=10, size=count)
    return ReadingTimes(time_N, np.repeat(np.arange(items), words), length_N, {"good": good_N, "noise": noise_N})


def test_predictions_of_held_out_words_are_the_literal_ones() -> None:
    predictors = [[2, 1], [3, 5], [4, 2], [1, 7], [6, 3], [8, 8], [5, 1], [2, 6], [7, 4]]
    times, folds = [210, 250, 230, 260, 300, 340, 240, 225, 310], [0, 0, 0, 1, 1, 1, 2, 2, 2]
    found = predict_held_out(np.array(predictors, float), np.array(times, float), np.array(folds))
    likelihoods, errors = held_out(predictors, times, folds)
    assert found.log_likelihood_N.tolist() == pytest.approx(likelihoods, rel=1e-9)
    assert found.error_N.tolist() == pytest.approx(errors, rel=1e-9)


def test_a_predictor_that_never_varies_changes_nothing() -> None:
    data = made()
    folds = assign_folds(40, 10, 1)[data.item_N]
    more = np.hstack([data.baseline_NP, np.zeros((240, 1)), np.ones((240, 1))])
    for found, expected in zip(
        predict_held_out(more, data.time_N, folds).error_N,
        predict_held_out(data.baseline_NP, data.time_N, folds).error_N,
        strict=True,
    ):
        assert found == pytest.approx(expected, abs=1e-9)


def test_units_change_nothing() -> None:
    """Of a control in milliseconds since 1970, beside a length of a few letters."""
    data = made()
    folds = assign_folds(40, 10, 1)[data.item_N]
    clock_N1 = np.random.default_rng(3).normal(scale=1e6, size=(240, 1)).round()
    small, large = (np.hstack([data.baseline_NP, each]) for each in (clock_N1 / 1e6, 1.7e12 + clock_N1))
    expected, found = (predict_held_out(each, data.time_N, folds) for each in (small, large))
    np.testing.assert_allclose(found.error_N, expected.error_N, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found.log_likelihood_N, expected.log_likelihood_N, rtol=1e-6)


def test_the_test_is_that_of_all_signs() -> None:
    item_N = np.repeat(np.arange(8), 3)
    difference_N = np.random.default_rng(7).normal(0.4, size=24)
    sums = [float(difference_N[item_N == item].sum()) for item in range(8)]
    flipped = [
        abs(sum(s * v for s, v in zip(signs, sums, strict=True))) for signs in itertools.product((1, -1), repeat=8)
    ]
    exact = sum(value >= abs(sum(sums)) - 1e-12 for value in flipped) / 2**8
    found = compare(difference_N, item_N)
    assert found.nats == pytest.approx(sum(sums) / 24)
    assert found.p == pytest.approx(exact, abs=0.02)
    means = [each / 3 for each in sums]
    assert found.standard_error == pytest.approx(float(np.std(means, ddof=1)) / 8**0.5)


def test_what_explains_times_gains_and_noise_does_not() -> None:
    result = analyse(made())
    good, noise = result.gains
    assert (good.gain.nats > 0.03, good.gain.p < 0.001, good.delta_r2 > 0.05) == (True, True, True)
    assert -0.02 < noise.gain.nats < 0.005
    (beyond,) = result.beyond_first
    assert beyond.nats == pytest.approx(noise.gain.nats - good.gain.nats)
    assert beyond.p < 0.001
    assert (result.words, result.items) == (240, 40)


def test_items_are_never_divided() -> None:
    folds = assign_folds(25, 10, 3)
    assert sorted(np.bincount(folds)) == [2] * 5 + [3] * 5
    assert (folds != assign_folds(25, 10, 4)).any()


def test_what_cannot_be_analysed() -> None:
    data = made(items=5)
    with pytest.raises(SettingsError, match="5 items cannot be divided into 10 folds: set --folds lower"):
        analyse(data)
    with pytest.raises(SettingsError, match="all words are of one item: "):
        analyse(made(items=1), folds=2)
    with pytest.raises(SettingsError, match="at least 2"):
        analyse(data, folds=1)
    few = ReadingTimes(np.arange(4.0), np.arange(4), np.eye(4), {})
    with pytest.raises(SettingsError, match="2 words are too few for 2 predictors: give times of more words"):
        analyse(few, folds=2)
    with pytest.raises(SettingsError, match="all reading times are the same"):
        analyse(ReadingTimes(np.ones(4), np.arange(4), np.ones((4, 1)), {}), folds=2)
    time_N, item_N = np.array([300.0] * 6 + [290, 310, 250, 280]), np.repeat([0, 1], [6, 4])
    with pytest.raises(SettingsError, match="explain the times of some folds without any error"):
        analyse(ReadingTimes(time_N, item_N, np.ones((10, 1)), {}), folds=2)


HEADER = "line,rt,surprisal_bits,word_length,log_frequency,oov,"
HEADER += "surprisal_bits_prev1,word_length_prev1,log_frequency_prev1,oov_prev1"
ROWS = [
    "1,,5,3,2.5,0,,,,",
    "1,300,6,4,1.5,0,5,3,2.5,0",
    "1,NA,2,2,3.5,1,6,4,1.5,0",
    "2,310.5,7,5,1,1,2,2,3.5,1",
    "2,290,1e0,1,4,0,7,5,1,1",
    "2,280,3,1,4,0,1,1,4,0",
]


def test_words_that_cannot_be_analysed_are_counted() -> None:
    table = [HEADER, *ROWS, "3,250,4,4,2,0,,,,"]
    data, dropped = read_joined([("joined.csv", table)], Choice("rt"))
    assert data.time_N.tolist() == [300, 310.5, 290, 280]
    assert data.item_N.tolist() == [0, 1, 1, 1]
    assert data.baseline_NP.tolist() == [[4, 3, 1.5, 2.5], [5, 2, 1, 3.5], [1, 5, 4, 1], [1, 1, 4, 4]]
    assert {name: values.tolist() for name, values in data.surprisal.items()} == {
        "surprisal_bits": [[6, 5], [7, 2], [1, 7], [3, 1]]
    }
    assert (dropped.no_time, dropped.no_predictor, dropped.oov) == (2, 1, 0)


def test_unknown_words_dropped_or_flagged() -> None:
    table = [HEADER, *ROWS]
    data, dropped = read_joined([("joined.csv", table)], Choice("rt", oov="drop", log=True))
    assert data.time_N.tolist() == pytest.approx(np.log([300, 280]))
    assert dropped.oov == 2
    data, _ = read_joined([("joined.csv", table)], Choice("rt", oov="flag", spillover=1))
    assert data.baseline_NP[:, 4:].tolist() == [[0, 0], [1, 1], [0, 1], [0, 0]]
    data, _ = read_joined([("joined.csv", table)], Choice("rt", spillover=0, controls=("oov",)))
    assert data.baseline_NP.tolist() == [[4, 1.5, 0], [5, 1, 1], [1, 4, 0], [1, 4, 0]]


def test_a_surprisal_without_the_words_before_is_refused() -> None:
    table = [f"{HEADER},gpt2_bits", *(f"{row},{number}" for number, row in enumerate(ROWS))]
    both = ("surprisal_bits", "gpt2_bits")
    with pytest.raises(DataError, match=r"joined.csv, line 1: has no column gpt2_bits_prev1, .* or give --spillover 0"):
        read_joined([("joined.csv", table)], Choice("rt", both))
    data, _ = read_joined([("joined.csv", table)], Choice("rt", both, spillover=0))
    assert {name: lags_NS.shape[1] for name, lags_NS in data.surprisal.items()} == {"surprisal_bits": 1, "gpt2_bits": 1}
    other = [HEADER.replace("surprisal_bits_prev1", "before"), *ROWS]
    with pytest.raises(DataError, match=r"b.csv, line 1: has no column surprisal_bits_prev1, which a spillover of 1"):
        read_joined([("a.csv", [HEADER, *ROWS]), ("b.csv", other)], Choice("rt"))


def test_a_word_that_one_of_several_models_does_not_know_is_flagged() -> None:
    cells = [row.split(",") for row in ROWS]
    known = [",".join([*row[:5], "0", *row[6:9], row[9] and "0"]) for row in cells]
    for tables in ((known, ROWS), (ROWS, known)):
        named = [(name, [HEADER, *rows]) for name, rows in zip(("a.csv", "b.csv"), tables, strict=True)]
        data, _ = read_joined(named, Choice("rt", oov="flag"))
        assert data.baseline_NP[:, 4:].tolist() == [[0, 0], [1, 1], [0, 1], [0, 0]]


def test_several_tables_have_the_same_rows() -> None:
    other = [HEADER, *(row.replace(",6,", ",9,") for row in ROWS)]
    data, _ = read_joined([("a.csv", [HEADER, *ROWS]), ("b.csv", other)], Choice("rt"))
    assert [values[0, 0] for values in data.surprisal.values()] == [6, 9]
    assert list(data.surprisal) == ["a.csv", "b.csv"]
    with pytest.raises(DataError, match=r"b.csv, line 2: does not match a.csv: another item or rt"):
        read_joined([("a.csv", [HEADER, *ROWS]), ("b.csv", [HEADER, *ROWS[::-1]])], Choice("rt"))
    with pytest.raises(DataError, match=r"b.csv: has 5 rows where a.csv has 6"):
        read_joined([("a.csv", [HEADER, *ROWS]), ("b.csv", [HEADER, *ROWS[:5]])], Choice("rt"))


@pytest.mark.parametrize(
    ("row", "more", "says"),
    [
        ("1,fast,6,4,1.5,0,5,3,2.5,0", {}, "joined.csv, line 2: rt is 'fast', no number"),
        ("1,inf,6,4,1.5,0,5,3,2.5,0", {}, "line 2: rt is 'inf', no number"),
        ("1,1e999,6,4,1.5,0,5,3,2.5,0", {}, "line 2: rt is '1e999', no number"),
        ('1,"300,5",6,4,1.5,0,5,3,2.5,0', {}, "line 2: rt is '300,5', no number: fix the cell, or leave it empty"),
        ("1,-3,6,4,1.5,0,5,3,2.5,0", {"log": True}, "line 2: rt is -3, which has no logarithm"),
        ("1,300", {}, "line 2: has 2 cells where line 1 has 10"),
        ("1,300,6,4,,0,5,3,2.5,0", {}, "has no word with rt and all predictors; log_frequency is empty if"),
        ("1,300,6,4,1.5,0,5,3,2.5,0", {"spillover": 2}, "has no column surprisal_bits_prev2"),
        ("1,300,6,4,1.5,0,5,3,2.5,0", {"item": "story"}, "has no column story"),
        ("1,300,6,4,1.5,0,5,3,2.5,0", {"surprisal": ("psg",)}, "has no column psg"),
    ],
)
def test_hostile_tables_are_said_by_line(row: str, more: dict[str, object], says: str) -> None:
    with pytest.raises(DataError, match=says):
        read_joined([("joined.csv", [HEADER, row])], Choice("rt", **more))  # type: ignore[arg-type]
    with pytest.raises(DataError, match="has no rows, only a header"):
        read_joined([("joined.csv", [HEADER])], Choice("rt"))


def test_the_figure(tmp_path: Path) -> None:
    data = made()
    result = analyse(data)
    for name in ("gain.svg", "again.svg"):
        draw(data, result, tmp_path / name, "rt")
    assert (tmp_path / "gain.svg").read_bytes() == (tmp_path / "again.svg").read_bytes()
    assert "<svg" in (tmp_path / "gain.svg").read_text()
    with pytest.raises(UsageError, match=r"must end in \.svg, \.png or \.pdf"):
        draw(data, result, tmp_path / "gain.gif", "rt")
