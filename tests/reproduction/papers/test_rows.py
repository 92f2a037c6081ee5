"""The rows against what the papers print, and against the settings that the ledger's runs were trained with."""

from __future__ import annotations

import json

import pytest

from wordtie.config import DataSettings, LossSettings, ModelSettings, Settings, TrainingSettings, to_dict
from wordtie.data.catalogue import CATALOGUE
from wordtie.errors import SettingsError
from wordtie.reproduction.papers.registry import ROWS, select
from wordtie.runs.compatibility import decisive
from wordtie.training.schedule import learning_rate, out_of_patience

NAMED = [
    *(f"inan-2017/table-1/ptb-small-{model}" for model in ("base", "al", "re", "real")),
    *(f"press-wolf-2017/table-6/{model}" for model in ("small", "wt", "pr", "wt-pr")),
    *(f"inan-khosravi-2016/table-1/{model}" for model in ("base", "tying", "al", "both")),
    *(f"gulordava-2018/table-1/200-200-{model}" for model in ("non-tied", "tied", "tied-l")),
    *("gulordava-2018/table-1/400-200-non-tied", "gulordava-2018/table-1/400-200-tied-l"),
    *(
        f"kong-2019/table-2/ptb-512-{model}"
        for model in ("untied", "tied", "dn-li", "dn-kn", "vs-li", "vs-kn", "vs-elementwise")
    ),
]


def test_the_rows_that_others_refer_to_are_there() -> None:
    assert set(NAMED) <= set(ROWS)
    assert all(ROWS[name].kind == "train" for name in NAMED)


def test_small_base_and_real_are_what_a_bare_train_command_trains_but_for_a_few_settings() -> None:
    """REAL has those of the authors' code, which the defaults are older than; base has its head, loss and mask."""
    data = DataSettings(corpus="ptb", min_count=1)  # what it comes to in a text with <unk>
    real = Settings(
        data=data,
        model=ModelSettings(input_dropout=0.3),
        loss=LossSettings(gradient_through_target="entropy"),
        training=TrainingSettings(decay_after=6, patience=6, epochs=40),
    )
    assert decisive(ROWS["inan-2017/table-1/ptb-small-real"].settings()) == decisive(real)
    base = Settings(
        data=data,
        model=ModelSettings(head="untied", input_dropout=0.3),
        loss=LossSettings(kind="cross_entropy"),
        training=TrainingSettings(epochs=32),
    )
    assert decisive(ROWS["inan-2017/table-1/ptb-small-base"].settings()) == decisive(base)


@pytest.mark.parametrize(
    ("name", "valid", "test", "parameters"),
    [
        ("inan-2017/table-1/ptb-small-real", 86.3, 82.7, None),
        ("inan-2017/table-1/ptb-large-real", 71.1, 68.5, 51e6),
        ("inan-2017/table-2/part-2-base", 163.19, 148.6, None),
        ("press-wolf-2017/table-6/wt-pr", 104.9, 100.9, 2.69e6),
        ("press-wolf-2017/table-7/bbc-pr", 104.9, 108.7, None),
        ("inan-khosravi-2016/table-1/both", None, 90.0, None),
        ("gulordava-2018/table-1/600-400-tied-l", 79.0, 76.0, 9.5e6),
        ("kong-2019/table-2/ptb-512-vs-elementwise", 70.5, 66.8, 9e6),
        ("kong-2019/table-2/wikitext-2-1024-vs-li", 80.5, 76.6, 50e6),
        ("baselines/kneser-ney-5/ptb", None, 141.2, None),
    ],
)
def test_published_numbers(name: str, valid: float | None, test: float, parameters: float | None) -> None:
    published = ROWS[name].published
    assert (published.valid, published.test, published.parameters) == (valid, test, parameters)


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row.kind in ("train", "kneser_ney")])
def test_a_row_builds_its_settings_and_its_corpus_has_a_name(name: str) -> None:
    settings = ROWS[name].settings(seed=7)
    assert settings.training.seed == 7
    assert settings.data.corpus in CATALOGUE


def test_names_are_paper_table_row_and_every_row_says_what_it_is() -> None:
    for name, row in ROWS.items():
        assert name == row.name
        assert len(name.split("/")) == 3
        assert row.label
        assert set(row.drawn_from) <= set(ROWS)
        assert (row.kind == "other") == bool(row.not_run)


def test_no_configuration_is_trained_under_two_names() -> None:
    """A point that two tables or figures share is trained by one row, and drawn from it by the other."""
    trained = [
        json.dumps([to_dict(row.settings()), [*map(dict, row.later_stages)]])
        for row in ROWS.values()
        if row.kind == "train"
    ]
    assert len(trained) == len(set(trained))


@pytest.mark.parametrize(("model", "full_rate"), [("small", 5), ("wt", 5), ("wt-pr", 5), ("small-zaremba", 4)])
def test_the_rate_falls_as_in_the_code_of_zaremba_or_as_they_write(model: str, full_rate: int) -> None:
    """Their main.lua and the code of Press & Wolf have a `max_epoch` of 4 and count from 0."""
    training = ROWS[f"press-wolf-2017/table-6/{model}"].settings().training
    rates = [learning_rate(training, epoch) for epoch in range(1, 14)]
    assert rates == [1.0] * full_rate + [0.5**n for n in range(1, 14 - full_rate)]


def test_how_many_stages_a_row_may_have() -> None:
    """As docs/reproduction.md says: the small models on PTB of inan-2017, and no other row."""
    several = {name: len(row.stages) for name, row in ROWS.items() if len(row.stages) > 1}
    small = "inan-2017/table-1/ptb-small"
    assert several == {f"{small}-al": 2, f"{small}-re": 2, f"{small}-real": 3}


def test_small_rhns_differ_in_the_reused_embedding_alone() -> None:
    base, re = (to_dict(ROWS[f"inan-2017/scaled-down/{name}"].settings()) for name in ("rhn", "rhn-re"))
    assert (base["model"].pop("head"), re["model"].pop("head")) == ("untied", "tied")
    assert base == re


def test_the_rows_of_text8_that_train_a_language_model_have_no_excuse_but_their_size() -> None:
    table_7 = [f"press-wolf-2017/table-7/text8-{model}" for model in ("small", "wt", "pr", "wt-pr")]
    assert [(ROWS[name].kind, ROWS[name].needs, ROWS[name].stands_in) for name in table_7] == [
        ("train", "gpu", False)
    ] * 4
    drawn = {side: ROWS[f"press-wolf-2017/table-3/text8-{side}"] for side in ("input", "output", "tied")}
    assert {side: row.drawn_from for side, row in drawn.items()} == {
        "input": (table_7[0],),
        "output": (table_7[0],),
        "tied": (table_7[1],),
    }
    for side, row in drawn.items():
        assert row.shows == ("measures", "similarity", side)
        assert "similarity" in ROWS[row.drawn_from[0]].measures


def test_scaled_down_vectors_stand_beside_table_2_as_printed() -> None:
    """Hidden 600, embedding 300 and 600; for non-tied models both matrices are printed."""
    printed = {
        "200-200-non-tied": (40.8, 40.0, (0.33, 0.52, 0.55)),
        "200-200-non-tied-output": (None, None, (0.34, 0.50, 0.60)),
        "200-200-tied": (40.5, 39.7, (0.39, 0.55, 0.64)),
        "200-200-tied-l": (38.6, 37.9, (0.42, 0.59, 0.70)),
        "400-200-non-tied": (40.0, 39.2, (0.33, 0.52, 0.55)),
        "400-200-non-tied-output": (None, None, (0.34, 0.50, 0.60)),
        "400-200-tied-l": (39.3, 38.5, (0.42, 0.61, 0.68)),
    }
    group = "gulordava-2018/scaled-down/wikitext-2-"
    rows = {row.name.removeprefix(group): row for row in select([group])}
    assert {
        name: (row.published.valid, row.published.test, tuple(row.published.values.values()))
        for name, row in rows.items()
    } == printed
    for name, row in rows.items():
        assert row.stands_in
        assert "similarity" in (row if row.kind == "train" else ROWS[row.drawn_from[0]]).measures
        assert row.shows_perplexities == (not name.endswith("-output"))


def test_a_group_is_what_begins_so_and_a_name_in_full_is_one_row() -> None:
    assert [row.name for row in select(["inan-2017/table-1/ptb-small"])] == NAMED[:4]
    assert [row.name for row in select(["press-wolf-2017/table-6/wt"])] == ["press-wolf-2017/table-6/wt"]
    assert len(select([])) == len(ROWS)
    with pytest.raises(SettingsError, match="did you mean inan-2017/table-1/ptb-small-real"):
        select(["inan-2017/table-1/ptb-smal-real"])
    with pytest.raises(SettingsError, match="a row's name is empty"):
        select([""])


@pytest.mark.parametrize(
    ("name", "named", "decay"),
    [("wikitext-2-small", 5, 0.9), ("ptb-medium", 10, 0.9), ("wikitext-2-medium", 10, 0.9), ("ptb-large", 1, 0.97)],
)
@pytest.mark.parametrize("model", ["base", "al", "re", "real"])
def test_the_rate_falls_as_in_the_code_of_inan_2017(name: str, named: int, decay: float, model: str) -> None:
    """Which counts epochs from 0: decay ** max(epoch - the one that the paper names, 0)."""
    training = ROWS[f"inan-2017/table-1/{name}-{model}"].settings().training
    rates = [learning_rate(training, epoch + 1) for epoch in range(100)]
    assert rates == pytest.approx([decay ** max(epoch - named, 0) for epoch in range(100)])
    assert training.epochs == 100
    assert not out_of_patience([1.0, *[2.0] * 5], training.patience, 0)
    assert out_of_patience([1.0, *[2.0] * 6], training.patience, 0)
