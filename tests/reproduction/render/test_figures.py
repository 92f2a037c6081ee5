"""What figures show: all that matters is in view, stages are told apart, a model has one colour."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, cast

import pytest

from tests.reproduction.ledger.test_ledger import made_up, stage
from wordtie.reproduction.ledger.ledger import read_all, write_entry
from wordtie.reproduction.ledger.record import Entry
from wordtie.reproduction.ledger.status import states
from wordtie.reproduction.papers.kong_2019 import FIGURE_1_GAMMAS
from wordtie.reproduction.papers.registry import ROWS
from wordtie.reproduction.render import plots
from wordtie.reproduction.render.figure import Figure, cut_off
from wordtie.reproduction.running.run_row import Place

TABLE_1 = "inan-2017/table-1/ptb"


def enter(place: Place, row: str, curve: list[float], **more: Any) -> None:
    """An entry of a row, with this validation curve and what `more` there is in it."""
    entry = made_up(ROWS[row], valid=curve[-1])
    write_entry(place.results, cast(Entry, {**entry, "curve": {"train": curve, "valid": curve}, **more}))


def drawn(results: Path) -> dict[str, Figure]:
    return {figure.name: figure for figure in plots.papers_figures(states(read_all(results)))}


def gamma_figure(place: Place, worst: float) -> Figure:
    """Figure 1 of kong-2019, worse and worse from one gamma to the next."""
    for n, gamma in enumerate(FIGURE_1_GAMMAS):
        row = ROWS[f"kong-2019/figure-1/gamma-{gamma}"]
        value = worst if gamma == 0.9 else 75.0 + 40 * n
        enter(place, row.drawn_from[0] if row.kind == "drawn" else row.name, [value])
    return drawn(place.results)["kong-2019-figure-1"]


def in_view(figure: Figure, value: float) -> bool:
    return figure.y_range[0] < value < figure.y_range[1]


def test_every_gamma_is_in_view(place: Place) -> None:
    figure = gamma_figure(place, worst=500.0)
    _, perplexities = figure.lines["ours"]
    assert len(perplexities) == len(FIGURE_1_GAMMAS)
    assert all(in_view(figure, each) for each in perplexities)
    assert ">500</text>" in plots.svg(figure), "the axis is that of the figure"
    assert "view" not in figure.title


def test_the_model_without_noise_stands_beside_the_gammas(place: Place) -> None:
    assert list(gamma_figure(place, worst=500.0).lines) == ["ours"]
    enter(place, "kong-2019/table-2/ptb-512-tied", [80.0])
    figure = drawn(place.results)["kong-2019-figure-1"]
    assert figure.lines[plots.WITHOUT_NOISE] == ([0.0], [80.0])
    assert in_view(figure, 80.0)


def test_a_much_worse_gamma_is_in_view_by_powers_of_ten(place: Place) -> None:
    figure = gamma_figure(place, worst=9000.0)
    assert figure.is_logarithmic
    assert all(in_view(figure, each) for each in figure.lines["ours"][1])


def test_a_run_that_blew_up_is_told_of_and_hides_no_other(place: Place) -> None:
    figure = gamma_figure(place, worst=1e303)
    assert all(in_view(figure, each) for each in figure.lines["ours"][1][:-1])
    assert not figure.is_logarithmic
    assert figure.title.endswith("Out of view, since it blew up: γ = 0.9 (1e+303)")


def test_what_blew_up_can_be_drawn_by_powers_of_ten_too(place: Place) -> None:
    figure = gamma_figure(place, worst=1e303)
    (x, perplexities), far = figure.lines["ours"], 9000.0
    wide = cut_off(dataclasses.replace(figure, lines={"ours": (x, [*perplexities[:-2], far, 1e303])}))
    assert wide.is_logarithmic
    assert in_view(wide, far)
    assert not in_view(wide, 1e303)
    assert "</svg>" in plots.svg(wide)


def test_first_epochs_are_cut_off_and_said_to_be_but_no_models_end(place: Place) -> None:
    for model, end in (("base", 80.0), ("al", 300.0), ("re", 79.0), ("real", 130.0)):
        enter(place, f"{TABLE_1}-large-{model}", [2000.0, 400.0, end])
    figure = drawn(place.results)["inan-2017-figure-2-large"]
    assert all(in_view(figure, y[-1]) for _, y in figure.lines.values())
    assert not in_view(figure, 400.0)
    assert figure.title.endswith("Perplexities above 315 are cut off")


def test_where_nothing_is_cut_off_nothing_is_said(place: Place) -> None:
    enter(place, f"{TABLE_1}-small-base", [120.0, 100.0, 90.0])
    figure = drawn(place.results)["inan-2017-figure-2-small"]
    assert all(in_view(figure, each) for each in figure.lines["VD-LSTM"][1])
    assert "cut off" not in figure.title


def test_a_later_stage_is_marked_explained_and_in_view(place: Place) -> None:
    first, second = [200.0, 110.0, 95.0], [190.0, 100.0, 85.0, 84.0]
    row = ROWS[f"{TABLE_1}-small-re"]
    stages = [
        stage(row, epochs=len(curve), seconds=1.0, curve={"train": curve, "valid": curve}, changed=dict(changed))
        for curve, changed in ((first, {}), (second, row.later_stages[0]))
    ]
    enter(place, f"{TABLE_1}-small-base", [300.0, 93.0])
    once = drawn(place.results)["inan-2017-figure-2-small"]
    assert "later stage" not in once.title + plots.svg(once)
    enter(place, row.name, second, sessions=stages)
    twice = drawn(place.results)["inan-2017-figure-2-small"]
    assert twice.lines["VD-LSTM+RE"] == ([1, 2, 3, 4, 5, 6, 7], [*first, *second])
    assert twice.later_stages == {"VD-LSTM+RE": [3]}
    assert "later stage: the model is trained once more" in twice.title
    assert ">later stage</text>" in plots.svg(twice)
    assert in_view(twice, 190.0), "that is where it starts"
    assert twice.digest != once.digest


def test_a_point_of_several_seeds_is_their_mean_with_its_spread(place: Place) -> None:
    def measured(beta: str, seed: int, distance: float) -> None:
        row = ROWS[f"inan-2017/figure-1/a-beta-{beta}"]
        write_entry(place.results, {**made_up(row, seed), "measures": {"subspace": {"distance": distance}}})

    measured("0.0", 1, 0.9)
    measured("1.0", 1, 0.4)
    once = drawn(place.results)["inan-2017-figure-1a"]
    assert not once.spreads
    assert "Bars" not in once.title
    for seed, distance in ((2, 0.5), (3, 0.6)):
        measured("1.0", seed, distance)
    thrice = drawn(place.results)["inan-2017-figure-1a"]
    assert thrice.lines["ours"][1] == pytest.approx([0.9, 0.5])
    assert thrice.spreads["ours"] == pytest.approx([0.0, 0.1])
    assert thrice.title.endswith(". Bars: standard deviation over seeds (3 at β = 1)")
    assert thrice.short_title == once.short_title
    assert thrice.digest != once.digest
    assert plots.svg(thrice).count("<path") > plots.svg(once).count("<path"), "the bars are drawn"


@pytest.mark.parametrize("models", [("real",), ("al", "real"), ("base", "re", "real")])
def test_a_model_has_its_colour_whichever_others_are_there(place: Place, models: tuple[str, ...]) -> None:
    for model in models:
        enter(place, f"{TABLE_1}-small-{model}", [100.0, 90.0])
    drawing = plots.svg(drawn(place.results)["inan-2017-figure-2-small"])
    labels = {"base": "VD-LSTM", "al": "VD-LSTM+AL", "re": "VD-LSTM+RE", "real": "VD-LSTM+REAL"}
    for model, label in labels.items():
        assert (f"stroke: {plots.COLOURS[label]}" in drawing) == (model in models)


def test_what_the_paper_tells_of_figure_1_stands_beside_ours(place: Place) -> None:
    for beta, distance in (("0.0", 0.99), ("0.4", 0.5), ("1.0", 0.1)):
        enter(place, f"inan-2017/figure-1/a-beta-{beta}", [9.0], measures={"subspace": {"distance": distance}})
    figures = drawn(place.results)
    assert figures["inan-2017-figure-1a"].lines == {
        "ours": ([0.0, 0.4, 1.0], [0.99, 0.5, 0.1]),
        "published, about": ([1.0], [0.06]),
    }
    assert ">published, about</text>" in plots.svg(figures["inan-2017-figure-1a"])
    assert "inan-2017-figure-1b" not in figures, "one point of ours is no curve"


def test_drawings_share_no_names_so_that_a_page_can_hold_them_all(place: Place) -> None:
    enter(place, f"{TABLE_1}-small-base", [100.0, 90.0])
    assert '<g id="' not in plots.svg(drawn(place.results)["inan-2017-figure-2-small"])
