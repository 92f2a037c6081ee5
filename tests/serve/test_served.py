"""Models are opened again when their folders change."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import wordtie
from tests.commands import SMALL, small_text
from tests.serve.client import Running, running, wait_until
from tests.serve.conftest import Runs
from wordtie import cli
from wordtie.errors import SettingsError
from wordtie.inference.loading import Part
from wordtie.serve import served
from wordtie.serve.served import names_of
from wordtie.serve.server import ServeSettings


@pytest.mark.parametrize(
    ("runs", "names"),
    [
        (["en"], ["en"]),
        (["runs/a", "runs/b/"], ["a", "b"]),
        (["x/ptb", "y/ptb", "ptb"], ["x/ptb", "y/ptb", "ptb"]),
    ],
)
def test_names(runs: list[str], names: list[str]) -> None:
    assert list(names_of(runs)) == names
    assert list(names_of(runs).values()) == runs


def test_a_run_named_twice() -> None:
    with pytest.raises(SettingsError, match="named twice"):
        names_of(["a", "a"])
    with pytest.raises(SettingsError, match="named twice"):
        names_of(["runs/a", "./runs/a/"])


def bits(server: Running) -> float:
    return float(server.post("/compare", text="the cat sat", models=["run", "run"]).json["bits"][0])


def test_a_run_folder_that_is_replaced(runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Damaged, removed and restored while it is served: the model in memory answers until another can be opened."""
    monkeypatch.setattr(served, "LOOK", 0.05)
    monkeypatch.setattr(served.Models.watch, "__defaults__", (0.05,))
    expected = {
        name: sum(r.surprisal_bits for r in wordtie.load(getattr(runs, name)).surprisal("the cat sat"))
        for name in ("tied", "untied")
    }
    folder = tmp_path / "run"
    shutil.copytree(runs.tied, folder)
    with running([folder]) as server:
        assert bits(server) == pytest.approx(expected["tied"], rel=1e-5)
        os.truncate(folder / "model.safetensors", 100)
        os.utime(folder / "manifest.json")
        before = server.get("/models").json["models"][0]["version"]
        with monkeypatch.context() as patch:  # an error that nobody has foreseen
            calls: list[str] = []

            def fail(run: str, part: None, copied: bool) -> None:
                calls.append(run)
                raise KeyError(run)

            patch.setattr(served, "load", fail)
            wait_until(lambda: len(calls) > 1)
        assert bits(server) == pytest.approx(expected["tied"], rel=1e-5)
        shutil.rmtree(folder)
        assert bits(server) == pytest.approx(expected["tied"], rel=1e-5)
        shutil.copytree(runs.untied, folder)
        wait_until(lambda: server.get("/models").json["models"][0]["version"] != before)
        assert bits(server) == pytest.approx(expected["untied"], rel=1e-5)
        assert 'wordtie_models_replaced_total{model="run"} 1.0' in server.get("/metrics").body.decode()


def test_a_part_of_each_model_is_served(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    assert cli.main(["train", str(small_text(tmp_path / "text")), "--out", str(folder), *SMALL, "--ngram", "2"]) == 0
    parts: tuple[Part | None, ...] = ("network", None)
    expected = {
        part: sum(r.surprisal_bits for r in wordtie.load(folder, part).surprisal("the cat sat")) for part in parts
    }
    assert expected["network"] != pytest.approx(expected[None], rel=1e-3)
    for part, total in expected.items():
        with running([folder], ServeSettings(part=part)) as server:
            assert bits(server) == pytest.approx(total, rel=1e-5)


def test_n_grams_that_are_written_over_while_they_are_served(runs: Runs, tmp_path: Path) -> None:
    """In place, as `cp` and `scp` write: the file is emptied first, and what is mapped of it would be gone."""
    folder = tmp_path / "run"
    shutil.copytree(runs.ngram, folder)
    with running([folder]) as server:
        before = bits(server)
        os.truncate(folder / "model.safetensors", 100)
        assert bits(server) == before
