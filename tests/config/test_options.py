"""Settings on the command line: every way to name one, and every error as one line with its place and a way out."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from wordtie import cli
from wordtie.config import SECTIONS, DataSettings, Settings, from_dict, to_dict
from wordtie.config.keywords import settings_from
from wordtie.config.recommended import RECOMMENDED

Capture = pytest.CaptureFixture[str]


def settings(options: str | list[str], capsys: Capture, command: str = "train") -> dict[str, dict[str, Any]]:
    """What the command would train with."""
    capsys.readouterr()
    given = options.split() if isinstance(options, str) else options
    assert cli.main([command, *given, "--print-config"]) == 0, capsys.readouterr().err
    found: dict[str, dict[str, Any]] = yaml.safe_load(capsys.readouterr().out)
    return found


def error(options: str, capsys: Capture, command: str = "train") -> str:
    capsys.readouterr()
    assert cli.main([command, *options.split()]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return err.removeprefix("wordtie: error: ").strip()


@pytest.mark.parametrize(
    ("options", "full", "value"),
    [
        ("--hidden 400", "model.hidden", 400),
        ("--hidden=400", "model.hidden", 400),
        ("--model.hidden 400", "model.hidden", 400),
        ("--nhid 400 --hidden_size 300", "model.hidden", 300),
        ("--nhid 400 --hidden-size 300", "model.hidden", 300),
        ("--lr 1 --optimiser sgd", "training.lr", 1.0),
        ("--lr 5e-2", "training.lr", 0.05),
        ("--learning_rate 0.05", "training.lr", 0.05),
        ("--batch-size 8", "training.streams", 8),
        ("--bptt 10", "training.steps", 10),
        ("--emsize 100 --head tied_linear", "model.embedding", 100),
        ("--nlayers 1", "model.layers", 1),
        ("--tied", "model.head", "tied"),
        ("--head untied --tied", "model.head", "tied"),
        ("--tied false", "model.head", "untied"),
        ("--cuda", "training.device", "cuda"),
        ("--head tied-linear", "model.head", "tied_linear"),
        ("--max_time 9m", "training.max_time", "9m"),
        ("--max-time 90", "training.max_time", 90.0),
        ("--training.max-time none", "training.max_time", None),
        ("--lowercase", "data.lowercase", True),
        ("--lowercase no", "data.lowercase", False),
        ("novel.txt --lowercase --seed 2", "data.corpus", "novel.txt"),
        ("--corpus a.txt", "data.corpus", "a.txt"),
        ("b.txt --corpus b.txt", "data.corpus", "b.txt"),
        ("--split 0.8,0.1,0.1", "data.split", [0.8, 0.1, 0.1]),
        ("--split [0.8,0.1,0.1]", "data.split", [0.8, 0.1, 0.1]),
        ("--output-bias true", "model.output_bias", True),
        ("--output-bias None", "model.output_bias", None),
        ("--gradient-through-target entropy", "loss.gradient_through_target", "entropy"),
        ("--loss.gamma 0.3", "loss.gamma", 0.3),
        ("--input-vector-dropout 0.3", "noise.input_vector_dropout", 0.3),
        ("--noise.input_dropout 0.3", "noise.input_vector_dropout", 0.3),
        ("--input-dropout 0.3", "model.input_dropout", 0.3),
    ],
)
def test_a_setting_has_several_names(options: str, full: str, value: object, capsys: Capture) -> None:
    section, _, name = full.partition(".")
    found = settings(options, capsys)
    assert found[section][name] == value
    assert type(found[section][name]) is type(value)


@pytest.mark.parametrize(
    ("options", "full", "value"),
    [
        ("--lr 0.05", "word2vec.alpha", 0.05),
        ("--dim 300", "word2vec.vector_size", 300),
        ("--cbow --tied", "word2vec.head", "tied"),
        ("--cbow", "word2vec.algorithm", "cbow"),
        ("--min_freq 3", "data.min_count", 3),
        ("--epochs 2", "word2vec.epochs", 2),
    ],
)
def test_a_name_is_that_of_the_commands_own_setting(options: str, full: str, value: object, capsys: Capture) -> None:
    section, _, name = full.partition(".")
    assert settings(options, capsys, "word2vec")[section][name] == value


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("--hiden 3", "unknown option --hiden; did you mean --hidden?"),
        ("--model.hiden 3", "unknown option --model.hiden; did you mean --model.hidden?"),
        ("--model.nhid 3", "unknown option --model.nhid; did you mean --model.hidden?"),
        ("--bath-size 3", "unknown option --bath-size; did you mean --batch-size?"),
        ("--overwrit", "unknown option --overwrit; did you mean --overwrite?"),
        ("--xyzzy", "unknown option --xyzzy; see `wordtie train --help`"),
        ("--gamma 0.4", "--gamma is the name of several settings: give --loss.gamma or --noise.gamma; see"),
        ("--kind none", "--kind is the name of several settings: give --loss.kind or --noise.kind; see"),
        ("--momentum 0.9", "unknown option --momentum; sgd is plain here, adam has a mean of gradients: see --opt"),
        ("--dropouti 0.4", "unknown option --dropouti; masks are drawn as model.dropout says: see --input-dropout"),
        ("--hidden many", "--hidden must be a whole number, got many; see `wordtie train --help`"),
        ("--nhid=many", "--nhid must be a whole number, got many; see"),
        ("--hidden", "--hidden needs a value: a whole number; see"),
        ("--hidden --lr 1", "--hidden needs a value: a whole number; see"),
        ("--data.vocabulary_size 10,000", "--data.vocabulary-size must be a whole number or none, got 10,000; see"),
        ("--head loose", "--head must be one of untied, tied, tied_linear, got loose; see"),
        ("--head tied-lin", "--head must be one of untied, tied, tied_linear, got tied-lin; did you mean tied_linear?"),
        ("--dropout 0.3", "--dropout must be one of inan, gal, zaremba, got 0.3; rates are hidden_dropout"),
        ("--tied maybe", "--tied must be true or false, got maybe; alone it means true: put it last, or give --tied="),
        ("--lowercase novel.txt", "--lowercase must be true or false, got novel.txt; alone it means true"),
        ("--gradient-through-target maybe", "--gradient-through-target must be true or false or entropy, got maybe"),
        ("--split 0.9", "--split: data.split must be 3 numbers, got (0.9,): for example 0.9,0.05,0.05"),
        ("--split a,b,c", "--split must be 3 numbers, got a,b,c: for example 0.9,0.05,0.05; see"),
        ("--hidden 0", "--hidden: model.hidden must be at least 1, got 0"),
        ("--nhid 0", "--nhid: model.hidden must be at least 1, got 0"),
        ("--model.hidden 0", "model.hidden must be at least 1, got 0"),
        ("--max-time soon", "--max-time: training.max_time must be a time such as 90s, 9m or 1h30m, got 'soon'"),
        ("--lr nan", "--lr: training.lr must be a number (3.4e+38 at most), got nan"),
        (
            "--head tied --emsize 100",
            "--emsize: a tied head needs model.embedding = model.hidden, got 100 and 320: set model.head",
        ),
        ("x --optimiser rmsprop", "training.lr 1 is a rate for sgd; rmsprop moves"),
        (
            "--model small.yaml",
            "--model is a section: give one of its settings as --model.NAME VALUE, or a recipe with",
        ),
        ("--word2vec.window 3", "--word2vec.window: `wordtie train` has no word2vec settings"),
        ("--config", "--config needs a value: the file of a recipe; see `wordtie train --help`"),
        ("--config=", "--config needs a value: the file of a recipe; see `wordtie train --help`"),
        ("ptb wikitext-2", "unexpected argument wikitext-2; see `wordtie train --help`"),
        ("--resume --overwrite", "--resume keeps the run folder and --overwrite replaces it; give one of them"),
        ("--out", "argument --out: expected one argument; see `wordtie train --help`"),
        ("b.txt --corpus a.txt", "b.txt and --corpus a.txt are two texts: give one of them"),
        ("--data.corpus a.txt b.txt", "b.txt and --corpus a.txt are two texts: give one of them"),
        ("--help hiden", "unknown option --hiden; did you mean --hidden?"),
    ],
)
def test_an_error_names_the_option_and_a_way_out(options: str, says: str, capsys: Capture) -> None:
    assert error(options, capsys).startswith(says)


@pytest.mark.parametrize(
    ("command", "options", "says"),
    [
        ("word2vec", "novel.txt --model.hidden 300", "--model.hidden: `wordtie word2vec` has no model settings"),
        ("word2vec", "--training.epoch=9", "--training.epoch: `wordtie word2vec` has no training settings"),
        ("word2vec", "--model {hidden:9}", "--model: `wordtie word2vec` has no model settings"),
        ("word2vec", "--hidden 300", "unknown option --hidden; see `wordtie word2vec --help`"),
        ("baseline", "--noise.gamma 0", "--noise.gamma: `wordtie baseline` has no noise settings"),
        ("baseline", "--split train", "argument --split: invalid choice: 'train'"),
        ("predict", "run x --words-onyl", "unknown option --words-onyl; did you mean --words-only?"),
        ("predict", "run x --top ten", "argument --top: must be a whole number of at least 1, got ten; see"),
        ("surprisal", "run --rest never", "unknown option --rest; did you mean --reset?"),
    ],
)
def test_each_command_has_its_own_options(command: str, options: str, says: str, capsys: Capture) -> None:
    assert error(options, capsys, command).startswith(says)


@pytest.mark.parametrize(
    ("command", "options", "says"),
    [
        ("train", "--config a.yaml", "a.yaml, line 3: model.layers must be at least 1, got 0"),
        (
            "train",
            "--config a.yaml --layers 1 --config zero.yaml",
            "zero.yaml, line 2: model.hidden must be at least 1",
        ),
        ("train", "--config zero.yaml --hidden 0", "--hidden: model.hidden must be at least 1, got 0"),
        ("train", "--config zero.yaml --hidden 3 --layers 0", "--layers: model.layers must be at least 1, got 0"),
        ("train", "--config wide.yaml", "wide.yaml, line 2: a tied head needs model.embedding = model.hidden, got 300"),
        (
            "train",
            "--config word2vec.yaml --config zero.yaml",
            "zero.yaml, line 2: model.hidden must be at least 1, got 0",
        ),
        ("train", "--config gone.yaml", "gone.yaml: cannot be read: No such file or directory"),
        ("word2vec", "--config word2vec.yaml", "word2vec.yaml, line 3: word2vec.window must be at least 1, got 0"),
        ("word2vec", "--config word2vec.yaml --window -1", "--window: word2vec.window must be at least 1, got -1"),
        (
            "word2vec",
            "--config misspelt.yaml",
            "misspelt.yaml, line 2: model has no setting hiden; did you mean hidden?",
        ),
        (
            "baseline",
            "--config misspelt.yaml",
            "misspelt.yaml, line 2: model has no setting hiden; did you mean hidden?",
        ),
    ],
)
def test_an_error_names_the_recipe_and_the_line(
    command: str, options: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "a": "model:\n  hidden: 200\n  layers: 0\n",
        "zero": "model:\n  hidden: 0\n",
        "wide": "model:\n  embedding: 300\n",
        "word2vec": "data: {}\nword2vec:\n  window: 0\n",
        "misspelt": "model:\n  hiden: 3\n",
    }.items():
        Path(f"{name}.yaml").write_text(text)
    assert error(options, capsys, command).startswith(says)


def test_what_follows_two_dashes_is_no_option(capsys: Capture) -> None:
    assert settings("--hidden 3", capsys)["data"]["corpus"] == "sotu"
    capsys.readouterr()
    assert cli.main(["train", "--print-config", "--", "--hidden"]) == 0
    assert yaml.safe_load(capsys.readouterr().out)["data"]["corpus"] == "--hidden"


def test_later_arguments_win(tmp_path: Path, capsys: Capture) -> None:
    for name, text in {"a": "model: {hidden: 10, layers: 1}", "b": "model: {hidden: 20}"}.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    a, b = (f"--config={tmp_path}/{name}.yaml" for name in "ab")
    for options, hidden in (([a, b], 20), ([b, a], 10), ([a, "--hidden", "9"], 9), (["--hidden", "9", a], 10)):
        model = settings(options, capsys)["model"]
        assert (model["hidden"], model["layers"]) == (hidden, 1 if a in options else 2)


def test_the_settings_printed_are_the_recipe_and_come_back(tmp_path: Path, capsys: Capture) -> None:
    mixed_in = {"ngram": {"order": 5}}
    recommended = yaml.safe_load(yaml.safe_dump(to_dict(settings_from(Settings(), **RECOMMENDED))))
    assert settings("", capsys) == recommended | mixed_in
    empty = tmp_path / "empty.yaml"
    empty.write_text("data: {}\n")
    defaults = yaml.safe_load(yaml.safe_dump(to_dict(Settings())))
    assert settings(f"--config {empty}", capsys) == defaults | mixed_in, "what a recipe means does not change with ours"
    given = (
        "novel.txt --head untied --embedding 7 --lr 1e-05 --output-vector-dropout 0.1 --lowercase --start-from runs/x"
    )
    printed = settings(given, capsys)
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(yaml.safe_dump(printed))
    assert settings(f"--config {recipe}", capsys) == printed


def test_the_recipe_of_an_earlier_version_opens(capsys: Capture) -> None:
    """It has noise.input_dropout and noise.output_dropout."""
    old = Path(__file__).with_name("recipe_8696be2.yaml")
    values = yaml.safe_load(old.read_text())
    found = settings(f"--config {old}", capsys)
    assert found["noise"]["input_vector_dropout"] == values["noise"].pop("input_dropout") == 0.4
    assert found["noise"]["output_vector_dropout"] == values["noise"].pop("output_dropout") == 0.1
    for section, old_settings in values.items():
        assert old_settings.items() <= found[section].items()
    assert found.pop("ngram") == {"order": 5}
    assert from_dict(found) == from_dict(yaml.safe_load(old.read_text()))
    assert settings(f"--config {old} --noise.input_dropout 0.3", capsys)["noise"]["input_vector_dropout"] == 0.3


@pytest.mark.parametrize("arguments", ["--help", "-h", "--help-all", "--help lr", "--print-config"])
@pytest.mark.parametrize("command", ["train", "word2vec", "baseline"])
def test_help_loads_nothing_heavy(command: str, arguments: str) -> None:
    if (command, arguments) in (("baseline", "--print-config"), ("baseline", "--help lr"), ("word2vec", "--help lr")):
        arguments = "--help-all"
    code = (
        "import sys, wordtie.cli\n"
        f"assert wordtie.cli.main({[command, *arguments.split()]}) == 0\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"torch", "numpy", "tokenizers", "rich", "safetensors", "pooch"}
    heavy |= set() if arguments == "--print-config" else {"yaml"}
    assert not set(done.stderr.split()) & heavy


def test_the_help_of_train_fits_a_screen(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert cli.main(["train", "--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 45
    assert max(map(len, lines)) <= 100
    assert lines.index("examples:") < lines.index("options:")
    common = lines[next(at for at, line in enumerate(lines) if line.startswith("common settings")) + 1 :]
    assert len(common) == 15
    assert "  --hidden 320               H: units per layer." in common


def test_all_help_has_every_setting_with_type_default_choices_and_meaning(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert cli.main(["train", "--help-all"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for section, kind in SECTIONS.items():
        at = lines.index(f"{section} settings:")
        block = lines[at + 1 : at + 1 + 2 * len(dataclasses.fields(kind))]
        for field, heading, meaning in zip(dataclasses.fields(kind), block[::2], block[1::2], strict=True):
            name = heading.split()[0].removeprefix("--").removeprefix(f"{section}.")
            assert name.replace("-", "_") == field.name
            assert meaning.startswith("      ")
            assert meaning.endswith(".")
            assert len(meaning) <= 100
    assert "  --optimiser sgd|adam|rmsprop|adadelta  [adam; recipes sgd]  (also --optim, --optimizer)" in lines
    dims = "(also --dim, --embedding-dim, --embedding-size, --emsize)"
    assert f"  --embedding INT|none  [160; recipes none]  {dims}" in lines
    assert any(line.startswith("  --epochs INT  [50]") for line in lines)
    assert "  --split A,B,C  [0.9,0.05,0.05]" in lines


def test_help_names_a_setting_as_the_command_takes_it(capsys: Capture) -> None:
    """`--split` of `wordtie baseline` is the text to measure."""
    assert cli.main(["baseline", "--help"]) == 0
    assert "  --data.split 0.9,0.05,0.05" in capsys.readouterr().out
    assert cli.main(["baseline", "--help-all"]) == 0
    assert "  --data.split A,B,C  [0.9,0.05,0.05]" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["noise.output_draw", "output-draw"])
def test_help_explains_one_setting(name: str, capsys: Capture) -> None:
    assert cli.main(["train", "--help", name]) == 0
    out = capsys.readouterr().out
    assert out.startswith("--output-draw own|with_input|none|shared|all  [own]\n")
    assert "kong-2019, equations 4 and 5" in " ".join(out.split())
    assert "In a recipe: output_draw, in the section noise." in out


@pytest.mark.parametrize(
    ("arguments", "starts"),
    [
        ("--help time", "--time TIME  Plan for this long"),
        ("-h --max_time", "--max-time TEXT|NUMBER|none  [none]"),
        ("--help --print-config", "--print-config  Print the settings as a recipe"),
        ("--help=extend_vocabulary", "--extend-vocabulary  With --start-from"),
        ("-h --seed=3", "--seed INT  [1]"),
        ("-h config", "--config RECIPE  Read settings"),
    ],
)
def test_help_explains_one_option(arguments: str, starts: str, capsys: Capture) -> None:
    assert cli.main(["train", *arguments.split()]) == 0
    assert capsys.readouterr().out.startswith(starts)


def test_help_of_an_option_of_the_command_comes_before_a_setting(capsys: Capture) -> None:
    assert cli.main(["baseline", "--help", "split"]) == 0
    assert capsys.readouterr().out.startswith("--split {valid,test}")


def test_a_text_comes_before_that_of_a_recipe(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "recipe.yaml").write_text("data:\n  corpus: a.txt\n")
    assert settings(["b.txt", "--config", str(tmp_path / "recipe.yaml")], capsys)["data"]["corpus"] == "b.txt"


@pytest.mark.parametrize(("command", "name"), [("train", "--lr"), ("word2vec", "--sample")])
def test_a_recipe_in_json_is_read_back(command: str, name: str, tmp_path: Path, capsys: Capture) -> None:
    expected = settings(f"a.txt {name} 0.00001", capsys, command)
    assert cli.main([command, "a.txt", name, "0.00001", "--print-config", "--json"]) == 0
    printed = capsys.readouterr().out
    assert json.loads(printed) == expected
    (tmp_path / "recipe.json").write_text(printed)
    assert settings(["--config", str(tmp_path / "recipe.json")], capsys, command) == expected


def test_settings_of_the_data_alone(capsys: Capture) -> None:
    assert settings("--lowercase", capsys, "word2vec")["data"]["min_count"] == 5
    assert DataSettings().min_count is None
