"""The list of runs: what differs, what state each is in, and which folders are runs."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.tiny_run import TINY, write_text
from wordtie import cli
from wordtie.errors import RunFolderError
from wordtie.runs.curves import State
from wordtie.runs.layout import CHECKPOINT, CONFIG, MANIFEST, MODEL, RESULT, SETTINGS, TOKENIZER
from wordtie.runs.listing import RunSummary, list_runs
from wordtie.runs.run_folder import locked


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs that differ in a setting, the second with n-grams mixed in, and an n-gram model."""
    top = tmp_path_factory.mktemp("runs")
    text = str(write_text(top / "text"))
    assert cli.main(["train", text, "--out", str(top / "runs" / "tying" / "tied"), *TINY]) == 0
    changes = {"--ngram": "2", "--training.threads": "2", "--model.head": "untied"}
    untied = [changes.pop(name, value) for name, value in zip(["", *TINY], TINY, strict=False)]
    assert changes == {}
    assert cli.main(["train", text, "--out", str(top / "runs" / "tying" / "untied"), *untied]) == 0
    assert cli.main(["ngram", text, "--order", "2", "--out", str(top / "runs" / "ngram")]) == 0
    return top / "runs"


@pytest.fixture
def runs(trained: Path, tmp_path: Path) -> Path:
    """A copy to change."""
    return Path(shutil.copytree(trained, tmp_path / "runs"))


def by_name(runs: Path, seal: bool = True) -> dict[str, RunSummary]:
    return {Path(each["run"]).name: each for each in list_runs([runs], seal)}


def state(runs: Path, name: str = "tied") -> tuple[State, str]:
    found = by_name(runs)[name]
    return found["state"], found["why"]


def test_what_is_listed(trained: Path) -> None:
    found = by_name(trained)
    assert [*found] == ["ngram", "tied", "untied"], "the models inside the run of a mixture are part of it"
    for name in ("tied", "untied"):
        result = json.loads((trained / "tying" / name / RESULT).read_text())
        of_run = found[name]
        for figure in ("valid_perplexity", "test_perplexity", "parameters", "seconds"):
            assert of_run[figure] == result[figure]
        assert (of_run["state"], of_run["kind"], of_run["epochs"]) == ("finished", "language_model", 3.0)
    assert found["tied"]["mixture_test_perplexity"] is None
    result = json.loads((trained / "tying" / "untied" / RESULT).read_text())
    assert found["untied"]["mixture_test_perplexity"] == result["mixture"]["test_perplexity"]
    assert found["ngram"]["kind"] == "ngram"


def test_the_text_and_the_settings_that_differ_are_listed(trained: Path) -> None:
    tied, untied = (by_name(trained)[name]["settings"] for name in ("tied", "untied"))
    assert tied == {"data.corpus": str(trained.parent / "text"), "model.head": "tied", "ngram.order": None}
    assert untied == {**tied, "model.head": "untied", "ngram.order": 2}, "threads do not count, nor what n-grams lack"
    assert [*list_runs([trained / "ngram"])[0]["settings"]] == ["data.corpus"]


def test_a_folder_that_is_named_twice_is_listed_once(trained: Path) -> None:
    assert len(list_runs([trained, trained / "ngram"])) == 3


def test_a_linked_run_is_listed(runs: Path, tmp_path: Path) -> None:
    elsewhere = Path(shutil.move(runs / "tying" / "tied", tmp_path / "elsewhere"))
    (runs / "tying" / "tied").symlink_to(elsewhere)
    (runs / "tying" / "back").symlink_to(runs)
    assert [Path(each["run"]).name for each in list_runs([str(runs)])] == ["ngram", "tied", "untied"]


def test_stopped_and_running(runs: Path) -> None:
    tied = runs / "tying" / "tied"
    (tied / RESULT).unlink()
    assert state(runs) == ("stopped", "")
    assert by_name(runs)["tied"]["valid_perplexity"] is not None, "the best so far"
    assert by_name(runs)["tied"]["parameters"] is None
    (tied / "live_progress").write_text("1.25 3.5\n")  # as a kill leaves it
    assert (by_name(runs)["tied"]["epochs"], by_name(runs)["tied"]["seconds"]) == (1.25, 3.5)
    with locked(tied):
        assert state(runs) == ("running", "")
    with locked(runs / "new"):
        assert state(runs, "new") == ("running", ""), "it prepares its text"


def test_a_run_that_diverged_says_so(runs: Path) -> None:
    tied = runs / "tying" / "tied"
    (tied / RESULT).unlink()
    call = json.loads((tied / "sessions.jsonl").read_text())
    (tied / "sessions.jsonl").write_text(json.dumps({**call, "ended": "diverged at epoch 2, window 3"}) + "\n")
    assert state(runs) == ("stopped", "diverged at epoch 2, window 3")


def test_a_run_that_time_stopped_can_be_continued(runs: Path) -> None:
    path = runs / "tying" / "tied" / RESULT
    path.write_text(json.dumps({**json.loads(path.read_text()), "stopped": "max_time"}))
    assert state(runs)[0] == "stopped"


@pytest.mark.parametrize("file", [MODEL, MANIFEST, "metrics.jsonl", RESULT, "sessions.jsonl"])
def test_damage(runs: Path, file: str) -> None:
    path = runs / "tying" / "tied" / file
    path.write_bytes(b"123456789" + path.read_bytes()[9:])
    found, why = state(runs)
    assert found == "damaged"
    assert str(path) in why
    assert state(runs, "untied") == ("finished", "")


def test_a_result_without_a_manifest_is_damage(runs: Path) -> None:
    (runs / "tying" / "tied" / MANIFEST).unlink()
    found, why = state(runs)
    assert found == "damaged"
    assert why.endswith(f"{MANIFEST}: missing: restore it from a copy, or write it again with --resume")


NETWORK, NGRAM = 0, 1
"""Number of each part in the config of the mixture."""


def part(run: Path, number: int) -> Path:
    names: list[str] = json.loads((run / "mixture" / CONFIG).read_text())["parts"]
    return run / "mixture" / "parts" / names[number]


DAMAGE: dict[str, Callable[[Path], object]] = {
    "no manifest of the mixture": lambda run: (run / "mixture" / MANIFEST).unlink(),
    "no words of the mixture": lambda run: (run / "mixture" / TOKENIZER).unlink(),
    "no config of the mixture": lambda run: (run / "mixture" / CONFIG).write_text("{"),
    "no mixture": lambda run: shutil.rmtree(run / "mixture"),
    "no network": lambda run: shutil.rmtree(part(run, NETWORK)),
    "half of a network": lambda run: os.truncate(part(run, NETWORK) / MODEL, 1000),
    "half of n-grams": lambda run: os.truncate(part(run, NGRAM) / MODEL, 1000),
    "another manifest": lambda run: (part(run, NGRAM) / MANIFEST).write_text("{}"),
    "no n-grams by themselves": lambda run: (run / "ngram" / MANIFEST).unlink(),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_damage_to_a_mixture_is_told_and_resuming_repairs_it(
    runs: Path, damage: Callable[[Path], object], capsys: pytest.CaptureFixture[str]
) -> None:
    run = runs / "tying" / "untied"
    assert state(runs, "untied")[0] == "finished"
    damage(run)
    found, why = state(runs, "untied")
    assert found == "damaged"
    assert why.endswith("write it again with --resume")
    assert cli.main(["train", "--config", str(run / SETTINGS), "--out", str(run), "--resume"]) == 0
    assert state(runs, "untied") == ("finished", "")
    assert [cli.main(["predict", str(run), "w1", *more]) for more in ([], ["--part", "ngram"])] == [0, 0]
    shutil.rmtree(run / "checkpoints")
    damage(run)
    assert "--resume" not in state(runs, "untied")[1]


def test_damage_to_the_parts_of_mixed_runs_is_told(runs: Path) -> None:
    out = runs / "mixed"
    assert cli.main(["mix", str(runs / "tying" / "tied"), str(runs / "ngram"), "--out", str(out)]) == 0
    assert state(runs, "mixed") == ("finished", "")
    shutil.rmtree(next((out / "parts").iterdir()))
    found, why = state(runs, "mixed")
    assert found == "damaged"
    assert why.endswith("a part is missing (No such file or directory): restore it from a copy")


def test_a_model_is_read_only_if_its_seal_is_asked_for(runs: Path) -> None:
    path = runs / "tying" / "tied" / MODEL
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    assert by_name(runs, seal=False)["tied"]["state"] == "finished"
    assert by_name(runs)["tied"]["state"] == "damaged"


def test_a_run_without_model_and_checkpoint_is_damaged(runs: Path) -> None:
    tied = runs / "tying" / "tied"
    (tied / MANIFEST).unlink()
    (tied / CHECKPOINT).unlink()
    assert state(runs)[0] == "damaged"


def test_settings_that_cannot_be_read_differ_from_none(runs: Path) -> None:
    for name in (SETTINGS, "config.json"):
        (runs / "tying" / "tied" / name).write_text("a: [")
    found = by_name(runs)
    assert found["tied"]["settings"] == {"data.corpus": None}
    assert found["tied"]["state"] == "damaged"


def test_nested_settings_are_left_out(runs: Path) -> None:
    """A YAML file of a few lines may stand for gigabytes."""
    path = runs / "tying" / "tied" / SETTINGS
    values = yaml.safe_load(path.read_text())
    nested: list[object] = ["x"]
    for _ in range(60):
        nested = [nested, nested]
    values["model"]["head"] = nested
    path.write_text(yaml.safe_dump(values))
    assert by_name(runs)["tied"]["settings"]["data.corpus"] is not None


def test_folders_that_hold_no_run(tmp_path: Path) -> None:
    assert list_runs([tmp_path]) == []
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / MANIFEST).touch()
    assert list_runs([tmp_path]) == []
    with pytest.raises(RunFolderError, match="no such folder"):
        list_runs([tmp_path / "none"])
