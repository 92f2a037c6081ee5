"""The model that comes with wordtie: found by its name, from anywhere, in every command."""

from __future__ import annotations

from pathlib import Path

import pytest

import wordtie
from wordtie import cli
from wordtie.errors import DataError
from wordtie.runs.layout import MODEL_FILES
from wordtie.runs.ready import FOLDER, READY, run_path

LARGEST = 12_000_000
pytestmark = pytest.mark.usefixtures("own_folder")


def test_a_name_is_a_model_unless_a_folder_has_it() -> None:
    assert run_path("en") == FOLDER / "en"
    assert run_path("./en") == Path("en")
    assert run_path("nl") == Path("nl")
    Path("en").mkdir()
    assert run_path("en") == Path("en")


@pytest.mark.parametrize("name", READY)
def test_each_has_its_files_and_its_card_and_is_small(name: str) -> None:
    assert {file.name for file in (FOLDER / name).iterdir()} == {*MODEL_FILES, "README.md"}
    assert sum(file.stat().st_size for file in (FOLDER / name).iterdir()) <= LARGEST


def test_it_prefers_english() -> None:
    model = wordtie.load("en")
    good, bad = model.score(["the dogs are in the garden .", "garden the in are dogs the ."])
    assert good + 20 < bad
    assert "states" in [word for word, _ in model.predict("the president of the united", 3)]


def test_its_training_text_is_not_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["evaluate", "en"]) == DataError.exit_code
    says = "wordtie: error: en comes without its training text: name a FILE to measure\n"
    assert capsys.readouterr().err == says


@pytest.mark.parametrize(
    "command",
    [
        ["surprisal", "en", "text"],
        ["evaluate", "en", "text"],
        ["predict", "en", "the united"],
        ["generate", "en", "--words", "5"],
        ["pairs", "en", "pairs.tsv"],
        ["vectors", "en", "--neighbours", "war"],
        ["compare", "en", "en", "--phrase", "the united"],
    ],
)
def test_commands_take_its_name(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    Path("text").write_text("The people of the United States .\n")
    Path("pairs.tsv").write_text("sentence_good\tsentence_bad\nthe dogs are here .\tdogs the here are .\n")
    assert cli.main(command) == 0, capsys.readouterr().err
    assert capsys.readouterr().out
