from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests import commands
from tests.reproduction.analyses.test_by_frequency import trained
from tests.tiny_run import write_text
from wordtie.errors import SettingsError
from wordtie.reproduction.analyses import mean_or_mode

Capture = pytest.CaptureFixture[str]
NOISE = ("--noise.kind", "linear_interpolation", "--noise.gamma", "0.3", "--model.init", "0.5")
INPUTS = ("--noise.output_draw", "none")
RUNS = {
    "both mean": ("mean", ()),
    "both mode": ("mode", ()),
    "both sampling": ("samples", ()),
    "inputs mean": ("mean of inputs", INPUTS),
    "inputs mode": ("mode", INPUTS),
    "untied mean": ("mean of inputs", (*INPUTS, "--model.head", "untied")),
    "untied mode": ("mode", (*INPUTS, "--model.head", "untied")),
}


def test_each_way_is_what_a_run_that_predicts_so_has(tmp_path: Path, capsys: Capture) -> None:
    text = write_text(tmp_path / "text")
    expected = {}
    for name, (_, options) in RUNS.items():
        predicts = ("--noise.prediction", name.split()[1])
        run = trained(text, tmp_path / name, *NOISE, *options, *predicts, "--training.keep", "last")
        expected[name] = json.loads((run / "result.json").read_text())["valid_perplexity"]
    capsys.readouterr()
    mean_or_mode.main([str(tmp_path / name) for name in RUNS])
    rows = {row["trial"]: row for row in commands.rows(capsys.readouterr().out)}
    for name, (way, _) in RUNS.items():
        assert float(rows[name][way]) == pytest.approx(expected[name], rel=1e-5)
        assert len({rows[name][way] for way in (*mean_or_mode.WAYS, mean_or_mode.SAMPLES)}) == 5


def test_a_run_without_noise_or_with_a_map_is_refused(tmp_path: Path) -> None:
    text = write_text(tmp_path / "text")
    trained(text, tmp_path / "without")
    with pytest.raises(SettingsError, match=r"without: was trained without noise, so its mean is its mode"):
        mean_or_mode.main([str(tmp_path / "without")])
    trained(text, tmp_path / "map", *NOISE, "--model.head", "tied_linear")
    with pytest.raises(SettingsError, match=r"map: has a map before the output, which this comparison leaves out"):
        mean_or_mode.main([str(tmp_path / "map")])
