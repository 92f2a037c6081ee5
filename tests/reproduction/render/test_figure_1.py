"""inan-2017, Figure 1, in a very small version: trained, measured, entered and drawn."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from wordtie.reproduction.ledger.ledger import read_all
from wordtie.reproduction.ledger.status import states
from wordtie.reproduction.papers import registry
from wordtie.reproduction.papers.inan_2017_figure_1 import GROUP, ROWS
from wordtie.reproduction.papers.row import Row
from wordtie.reproduction.render import plots
from wordtie.reproduction.running.run_row import Place, run_row
from wordtie.runs import checkpoint
from wordtie.runs.layout import CHECKPOINT
from wordtie.vectors.subspace import compare_subspaces

NAMES = [f"{GROUP}/{name}" for name in ("a-beta-0.0", "a-beta-1.0", "b-tau-2")]


def small(row: Row, like: Row, monkeypatch: pytest.MonkeyPatch) -> Row:
    """The row on a text and at a size for tests, under its own name."""
    size = {"data.corpus": like.changes["data.corpus"], "model.hidden": 3, "training.epochs": 2}
    chosen = dataclasses.replace(row, changes={**row.changes, **size, "training.lr": 0.01})
    monkeypatch.setitem(registry.ROWS, row.name, chosen)
    return chosen


def test_points_become_entries_and_both_panels(row: Row, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        assert run_row(small(ROWS[name], row, monkeypatch), 1, place) == "done"
        assert run_row(small(ROWS[name], row, monkeypatch), 1, place) == "already"
    entries = {entry["row"]: entry for entry in read_all(place.results)}
    for name in NAMES:
        tensors, _ = checkpoint.load(place.folder(ROWS[name], 1) / CHECKPOINT)
        first, second = (tensors[f"model.{side}.weight"].numpy() for side in ("embedding", "head"))
        np.testing.assert_allclose(np.linalg.norm(first, axis=1), 1, rtol=1e-6, err_msg="rows are held at norm 1")
        distance = entries[name]["measures"]["subspace"]["distance"]
        assert distance == pytest.approx(compare_subspaces(first, second).distance, abs=1e-6)
    found = states(read_all(place.results))
    drawn = {figure.name: figure.lines["ours"] for figure in plots.papers_figures(found)}
    at = {name: entries[name]["measures"]["subspace"]["distance"] for name in NAMES}
    assert drawn["inan-2017-figure-1a"] == ([0.0, 1.0], [at[NAMES[0]], at[NAMES[1]]])
    assert drawn["inan-2017-figure-1b"] == ([2.0, 10.0], [at[NAMES[2]], at[NAMES[1]]]), "panels share a point"


def test_every_point_is_of_section_6_2() -> None:
    for row in ROWS.values():
        if row.kind == "train":
            settings = row.settings()
            assert (settings.model.hidden, settings.model.layers, settings.model.head) == (300, 2, "untied")
            assert settings.model.unit_rows
            assert not settings.model.has_output_bias
            training = settings.training
            assert (training.steps, training.streams, training.clip) == (20, 5, 0.0)
            assert "20 steps, 5 streams and no clipping" in row.note
            assert not settings.loss.gradient_through_target, "or all input vectors become one"
    betas = {row.settings().loss.beta for name, row in ROWS.items() if "/a-" in name}
    assert {0.0, 1.0} < betas
