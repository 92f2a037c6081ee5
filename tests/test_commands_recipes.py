"""Recipes of one section, and of word2vec: an error names the file and the line that the setting comes from."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from wordtie import cli

Capture = pytest.CaptureFixture[str]
FILES = {
    "a.yaml": "model:\n  hidden: 200\n  layers: 0\n",
    "zero.yaml": "hidden: 0\n",
    "many.yaml": "layers: 1\nhidden: many\n",
    "three.yaml": "layers: 3\n",
    "twice.yaml": "hidden: 100\nhidden: 300\n",
    "misspelt.yaml": "hiden: 3\n",
    "broken.yaml": "hidden: 3\nlayers: [\n",
    "prose.txt": "the cat sat\n",
}


@pytest.fixture
def recipes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text)
    Path("latin.yaml").write_bytes(b"caf\xe9: 1\n")


def error(arguments: list[str], capsys: Capture) -> str:
    assert cli.main([*arguments, "--print_config"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return err.removeprefix("wordtie: error: ").strip()


@pytest.mark.usefixtures("recipes")
@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("--config a.yaml --model three.yaml --model zero.yaml", "zero.yaml, line 1: model.hidden must be at least 1"),
        ("--config a.yaml --model=zero.yaml", "zero.yaml, line 1: model.hidden must be at least 1, got 0"),
        ("--model zero.yaml --config a.yaml", "a.yaml, line 3: model.layers must be at least 1, got 0"),
        ("--config a.yaml --model many.yaml", "many.yaml, line 2: model.hidden: expected int. Got value: many"),
        ("--model zero.yaml --model.hidden 0", "model.hidden must be at least 1, got 0"),
        ("--config a.yaml --model {hidden:\t0}", "model.hidden must be at least 1, got 0"),
        ("--config a.yaml --model zero.yaml --model.hidden 9", "a.yaml, line 3: model.layers must be at least 1"),
        ("--model twice.yaml", "twice.yaml, line 2: hidden stands there already, in line 1"),
        ("--model={hidden:\t1,hidden:\t3}", "--model, line 1: hidden stands there already, in line 1"),
        ("--model misspelt.yaml", "misspelt.yaml: model has no setting hiden; did you mean hidden?"),
        ("--model broken.yaml", "broken.yaml, line 3: not YAML; --model takes a recipe of that section"),
        ("--model latin.yaml", "latin.yaml: not UTF-8 text: is it a recipe?"),
        ("--data prose.txt", "--data takes a recipe of that section, got 'prose.txt'; a setting in it is given as"),
        ("--data gone.txt", "--data takes a recipe of that section, got 'gone.txt'; a setting in it is given as"),
    ],
)
def test_a_recipe_of_a_section_is_said_by_its_line(options: str, says: str, capsys: Capture) -> None:
    arguments = [argument.replace("\t", " ") for argument in options.split(" ")]
    assert error(["train", *arguments], capsys).startswith(says)


@pytest.mark.usefixtures("recipes")
def test_a_recipe_of_a_section_leaves_what_it_does_not_name(capsys: Capture) -> None:
    Path("a.yaml").write_text("model: {hidden: 100, layers: 1}\n")
    inline = "{embedding: 50, head: tied_linear, " + " " * 300 + "output_bias: true}"
    assert cli.main(["train", "--config=a.yaml", "--model=three.yaml", "--model", inline, "--print_config"]) == 0
    model = yaml.safe_load(capsys.readouterr().out)["model"]
    named = ("hidden", "layers", "embedding", "head", "output_bias")
    assert [model[name] for name in named] == [100, 3, 50, "tied_linear", True]


@pytest.mark.usefixtures("recipes")
@pytest.mark.parametrize(
    ("recipe", "options", "says"),
    [
        ("data:\n  min_count: 0\n", [], "r.yaml, line 2: data.min_count must be at least 1, got 0"),
        ("data: {}\nword2vec:\n  window: 0\n", [], "r.yaml, line 3: word2vec.window must be at least 1, got 0"),
        ("word2vec:\n  window: 0\n", ["--word2vec.window", "-1"], "word2vec.window must be at least 1, got -1"),
        ("word2vec:\n  window: 9\n", ["--word2vec", "own.yaml"], "own.yaml, line 1: word2vec.window must be at least"),
    ],
    ids=["data", "word2vec", "option after it", "a recipe of the section after it"],
)
def test_a_setting_of_word2vec_is_said_by_line(recipe: str, options: list[str], says: str, capsys: Capture) -> None:
    Path("r.yaml").write_text(recipe)
    Path("own.yaml").write_text("window: 0\n")
    assert error(["word2vec", "--config", "r.yaml", *options], capsys).startswith(says)


@pytest.mark.usefixtures("recipes")
@pytest.mark.parametrize(
    ("command", "options", "section"),
    [
        ("word2vec", ["--model", "{hidden: 9}"], "model"),
        ("word2vec", ["--model=three.yaml"], "model"),
        ("word2vec", ["--training.lr", "1"], "training.lr"),
        ("train", ["--word2vec", "{window: 1}"], "word2vec"),
        ("train", ["--word2vec.window", "1"], "word2vec.window"),
        ("baseline", ["--word2vec.window=1"], "word2vec.window"),
    ],
)
def test_settings_that_a_command_has_not_are_not_passed_over(
    command: str, options: list[str], section: str, capsys: Capture
) -> None:
    named = section.partition(".")[0]
    assert cli.main([command, *options]) == 2
    assert f"--{section}: `wordtie {command}` has no {named} settings" in capsys.readouterr().err


def test_a_date_that_there_is_not_is_no_yaml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.chdir(tmp_path)
    Path("r.yaml").write_text("data:\n  corpus: 2026-02-30\n")
    assert error(["train", "--config", "r.yaml"], capsys).startswith("r.yaml: not YAML; ")
