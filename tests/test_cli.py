"""The command line: help, errors of one line, exit codes, and what the commands hand on."""

from __future__ import annotations

import dataclasses
import importlib
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from wordtie import __version__, cli
from wordtie.commands._settings import as_yaml, default_folder
from wordtie.commands._shared import read_lines
from wordtie.config import (
    DataSettings,
    LossSettings,
    ModelSettings,
    NoiseSettings,
    Settings,
    TrainingSettings,
    to_dict,
)
from wordtie.config.arguments import Parser
from wordtie.config.unused_settings import unused_settings
from wordtie.data.bitext import PARALLEL
from wordtie.errors import DataError, DivergedError, RunFolderError, SaveError, UsageError, WordtieError
from wordtie.exits import EXIT_CODES
from wordtie.word2vec.settings import Word2VecSettings

Capture = pytest.CaptureFixture[str]


def wordtie(*arguments: str) -> subprocess.CompletedProcess[str]:
    code = "import sys, wordtie.cli; sys.exit(wordtie.cli.main())"
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)


def failing_with(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every command raise the error."""

    def fail(arguments: list[str]) -> None:
        raise error

    monkeypatch.setattr(cli, "_run", fail)


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help_lists_commands_and_exit_codes(arguments: list[str], capsys: Capture) -> None:
    assert cli.main(arguments) == 0
    out = capsys.readouterr().out
    for line in [*cli.COMMANDS.values(), *EXIT_CODES.values()]:
        assert line in out


def test_version(capsys: Capture) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"wordtie {__version__}\n"


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_each_command_explains_itself(name: str, capsys: Capture) -> None:
    help_text = importlib.import_module(cli.module_of(name)).HELP
    first, *_ = help_text.splitlines()
    assert first == cli.COMMANDS[name][0].upper() + cli.COMMANDS[name][1:] + "."
    assert f"  wordtie {name}" in help_text
    assert cli.main([name, "--help"]) == 0
    assert help_text.rstrip() in capsys.readouterr().out


def test_an_unknown_command_suggests_the_nearest(capsys: Capture) -> None:
    assert cli.main(["trian"]) == 2
    assert capsys.readouterr().err == "wordtie: error: no command `trian`; did you mean `wordtie train`?\n"
    assert cli.main(["xyzzy"]) == 2
    assert "`wordtie --help` lists" in capsys.readouterr().err


def test_an_option_that_does_not_exist_leads_to_one_that_does(capsys: Capture) -> None:
    assert cli.main(["--versoin"]) == 2
    assert capsys.readouterr().err == "wordtie: error: no option `--versoin`; did you mean `wordtie --version`?\n"


@pytest.mark.parametrize("command", ["train", "ngram", "baseline", "word2vec"])
def test_nothing_is_trained_before_a_text_is_named(command: str, capsys: Capture) -> None:
    assert cli.main([command]) == 2
    assert f"name a text: `wordtie {command} novel.txt`, or a corpus" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (WordtieError("bad\nsetting"), 2, "error: bad setting"),
        (DataError("text.txt, line 3: not UTF-8"), 3, "error: text.txt, line 3: not UTF-8"),
        (RunFolderError("damaged"), 4, "error: damaged"),
        (DivergedError("nan"), 5, "error: nan"),
        (SaveError("disk full"), 6, "error: disk full"),
        (PermissionError(13, "Permission denied", "runs/x"), 6, "error: runs/x: Permission denied"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (KeyError("x"), 1, "bug: KeyError: 'x' (--debug shows where)"),
        (ModuleNotFoundError("gone", name="gone.part"), 2, "error: this needs a package"),
        (ModuleNotFoundError("gone", name="wordtie.gone"), 1, "bug: ModuleNotFoundError: gone"),
        (RuntimeError("CUDA error: launch failure\nSee"), 1, "the GPU failed: CUDA error: launch failure (--debug"),
    ],
)
def test_errors_are_one_line_and_a_code(
    error: BaseException, code: int, message: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    failing_with(error, monkeypatch)
    assert code in EXIT_CODES
    assert cli.main(["train"]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"wordtie: {message}")
    assert captured.err.count("\n") == 1


def test_options_may_stand_between_arguments() -> None:
    parser = Parser("name", "help")
    parser.add_argument("runs", nargs="+")
    parser.add_argument("--part")
    parsed = parser.parse_args(["a", "--part", "network", "b"])
    assert (parsed.runs, parsed.part) == (["a", "b"], "network")
    with pytest.raises(UsageError, match="unknown option --prat; did you mean --part"):
        parser.parse_args(["a", "--prat", "network", "b"])


@pytest.mark.parametrize(
    "arguments",
    [
        ["predict", "RUN", "--interactive", "--blocked", "-"],
        ["predict", "RUN", "-", "--blocked", "-"],
        ["surprisal", "RUN", "--per", "region", "--frequencies", "-"],
        ["export", "keyman", "RUN", "words.tsv", "--blocked", "-", "--frequencies", "-"],
        ["pairs", "RUN", "-", "-"],
        ["rescore", "RUN", "-", "--tune", "-", "--references", "ref"],
    ],
    ids=" ".join,
)
def test_stdin_is_read_once(arguments: list[str], capsys: Capture) -> None:
    assert cli.main(arguments) == UsageError.exit_code
    assert capsys.readouterr().err.startswith("wordtie: error: stdin (-) can be read once, and two inputs")


def test_debug_shows_the_traceback(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    failing_with(DataError("bad text"), monkeypatch)
    assert cli.main(["--debug", "train"]) == 3
    err = capsys.readouterr().err
    assert "Traceback" in err
    assert err.endswith("wordtie: error: bad text\n")


def test_a_reader_that_leaves_is_no_error() -> None:
    code = "import sys, wordtie.cli as c; c.COMMANDS = {str(i): 'x' * 99 for i in range(9999)}; sys.exit(c.main())"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


def test_messages_do_not_go_among_the_data_where_stderr_is_closed() -> None:
    code = "import sys, wordtie.cli; sys.stderr = None; sys.exit(wordtie.cli.main(['nothing']))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (result.returncode, result.stdout) == (2, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_said() -> None:
    with Path("/dev/full").open("w") as full:
        code = "import sys, wordtie.cli; sys.exit(wordtie.cli.main())"
        result = subprocess.run([sys.executable, "-c", code], stdout=full, stderr=subprocess.PIPE, text=True)
    assert result.returncode == 6
    assert result.stderr.startswith("wordtie: error: could not write")


def test_a_recipe_leaves_open_what_was_left_out(tmp_path: Path, capsys: Capture) -> None:
    recipe = tmp_path / "recipe.yaml"
    assert cli.main(["train", "--print-config"]) == 0
    recipe.write_text(capsys.readouterr().out)
    of_2016 = ["--loss.kind", "augmented_2016", "--loss.softmax", "full"]
    assert cli.main(["train", "--config", str(recipe), *of_2016, "--print-config"]) == 0
    printed = yaml.safe_load(capsys.readouterr().out)
    assert printed["loss"]["gamma"] is None
    assert LossSettings(**printed["loss"]).weight == 0.3


@pytest.mark.parametrize(
    ("corpus", "folder"),
    [("ptb", "ptb"), ("wikitext-2", "wikitext-2"), ("a/novel.txt", "novel"), ("a/v1.2/", "v1.2")],
)
def test_default_run_folder(corpus: str, folder: str) -> None:
    assert default_folder(corpus) == Path("runs") / folder


def test_a_link_gives_its_own_name_to_the_run_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "novel.txt").symlink_to("objects/9ab3")
    assert default_folder("novel.txt") == Path("runs/novel")
    assert default_folder(".") == Path("runs") / tmp_path.name


def test_read_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes("\ufeffein Wort\r\n\nnoch eins".encode())
    assert list(read_lines(str(path))) == ["ein Wort", "", "noch eins"]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"one\ntwo\n")))
    assert list(read_lines("-")) == ["one", "two"]
    path.write_bytes(b"")
    assert list(read_lines(str(path))) == []
    path.write_bytes(b"fine\nnot \xff fine\n")
    with pytest.raises(DataError, match=r"text\.txt, line 2: not UTF-8"):
        list(read_lines(str(path)))
    with pytest.raises(DataError, match="gone"):
        list(read_lines(str(tmp_path / "gone")))


def test_corpora_says_what_is_known(capsys: Capture) -> None:
    assert cli.main(["corpora", "--json"]) == 0
    corpora = {corpus["name"]: corpus for corpus in json.loads(capsys.readouterr().out)}
    assert corpora["sotu"]["state"] == "here"
    assert len(corpora["ptb"]["files"]) == 3
    assert len(corpora["multi30k"]["files"]) == 6
    assert cli.main(["corpora"]) == 0
    listing = capsys.readouterr().out
    assert re.search(r"^sotu +here +State of the Union", listing)
    assert "as bbc.tsv.gz in $WORDTIE_DATA/bbc;" in " ".join(listing.split())
    assert re.search(r"^tatoeba-deu-eng +(here|missing) +Tatoeba", listing, re.MULTILINE)


def test_corpora_says_what_can_be_downloaded(
    own_folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where every file of it has an address."""
    monkeypatch.setenv("WORDTIE_DATA", str(own_folder))
    assert cli.main(["corpora", "--json"]) == 0
    corpora = {corpus["name"]: corpus for corpus in json.loads(capsys.readouterr().out)}
    assert (corpora["ptb"]["state"], corpora["bbc"]["state"]) == ("download", "missing")
    assert {*PARALLEL} <= {*corpora}
    for corpus in corpora.values():
        addresses = [file["url"] for file in corpus["files"]]
        expected = "download" if addresses and None not in addresses else "missing"
        assert corpus["state"] == ("here" if corpus["name"] == "sotu" else expected)


def test_corpora_says_where_another_text_has_the_place_of_a_known_one(
    own_folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which `train` and `reproduce` refuse, and do not fetch anew."""
    monkeypatch.setenv("WORDTIE_DATA", str(own_folder))
    (own_folder / "ptb").mkdir()
    for split in ("train", "valid", "test"):
        (own_folder / "ptb" / f"{split}.txt").write_text("the same line\n" * 400)
    assert cli.main(["corpora", "--json"]) == 0
    states = {corpus["name"]: corpus["state"] for corpus in json.loads(capsys.readouterr().out)}
    assert (states["ptb"], states["ptb-20000"], states["wikitext-2"]) == ("damaged", "damaged", "download")
    assert cli.main(["corpora"]) == 0
    assert re.search(r"^ptb +damaged +Penn Treebank", capsys.readouterr().out, re.MULTILINE)
    for command in (["baseline", "ptb", "--order", "1"], ["reproduce", "run", "baselines/kneser-ney-5/ptb"]):
        assert cli.main(command) == DataError.exit_code
        assert "train.txt: is not the file that results are compared with" in capsys.readouterr().err
    assert not Path("results").exists()


def test_settings_without_effect_are_named() -> None:
    assert unused_settings(Settings()) == []
    unused = Settings(noise=NoiseSettings(gamma=0.4, scheme="data_noising"), model=ModelSettings(core="gru", depth=3))
    assert unused_settings(unused) == [
        "noise.scheme data_noising has no effect with noise.kind none",
        "noise.gamma 0.4 has no effect with noise.kind none",
        "model.depth 3 has no effect with a core that is no rhn",
    ]
    assert unused_settings(Settings(loss=LossSettings(kind="augmented_2016", temperature=5.0, beta=0.9))) == [
        "loss.temperature 5.0 has no effect with loss.kind augmented_2016",
        "loss.beta 0.9 has no effect with loss.kind augmented_2016",
    ]
    assert unused_settings(Settings(loss=LossSettings(kind="interpolated", form="cross_entropy", gamma=1.5))) == [
        "loss.gamma 1.5 has no effect with loss.kind interpolated",
        "loss.form cross_entropy has no effect with loss.kind interpolated",
    ]
    one_layer = ModelSettings(layers=1, dropout="zaremba", hidden_dropout=0.4, between_dropout=0.1, output_dropout=0.2)
    assert unused_settings(Settings(model=one_layer)) == [
        "model.between_dropout 0.1 has no effect with model.layers 1",
        "model.hidden_dropout 0.4 has no effect with a share of its own for each place",
    ]
    assert unused_settings(Settings(model=dataclasses.replace(one_layer, dropout="gal", layers=2))) == []
    decays = {name: TrainingSettings(name, 0.1, beta1=0.5, beta2=0.5) for name in ("sgd", "adam", "rmsprop")}
    assert [unused_settings(Settings(training=training)) for training in decays.values()] == [
        ["training.beta1 0.5 has no effect with an optimiser that is not adam",
         "training.beta2 0.5 has no effect with training.optimiser sgd"],
        [],
        ["training.beta1 0.5 has no effect with an optimiser that is not adam"],
    ]  # fmt: skip
    used = NoiseSettings(kind="kneser_ney", gamma=0.4)
    assert unused_settings(Settings(noise=used, loss=LossSettings(kind="augmented", gamma=1.0))) == []


def test_settings_of_word2vec_without_effect_are_named() -> None:
    assert Word2VecSettings().unused_settings() == []
    assert Word2VecSettings(cbow_mean=False, linear_rate=3.0, precision="fp32").unused_settings() == [
        "word2vec.cbow_mean False has no effect with word2vec.algorithm skipgram",
        "word2vec.linear_rate 3.0 has no effect with word2vec.head untied",
        "word2vec.precision fp32 has no effect with word2vec.head untied",
    ]
    assert Word2VecSettings("cbow", "tied_linear", cbow_mean=False, linear_rate=3.0).unused_settings() == []


def test_a_recipe_for_training_serves_for_its_text_too(tmp_path: Path, capsys: Capture) -> None:
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(as_yaml(to_dict(Settings(data=DataSettings(lowercase=True), model=ModelSettings(hidden=3)))))
    assert cli.main(["word2vec", "--config", str(recipe), "--print-config"]) == 0
    data = yaml.safe_load(capsys.readouterr().out)["data"]
    assert data["lowercase"] is True
    assert data["min_count"] == 5, "a language model leaves it to the text"
    assert cli.main(["word2vec", "--print-config"]) == 0
    recipe.write_text(capsys.readouterr().out)
    assert cli.main(["train", "--config", str(recipe), "--print-config"]) == 0
    assert "word2vec" not in yaml.safe_load(capsys.readouterr().out)


def test_baseline_of_a_text_of_ones_own(tmp_path: Path, capsys: Capture) -> None:
    """Test text `a <eos>` and training text half of `a` and half of `<eos>`: one bit a token without context."""
    for split in ("train", "valid", "test"):
        (tmp_path / f"{split}.txt").write_text("a\n" if split == "test" else "a\n" * 50)
    arguments = ["baseline", str(tmp_path), "--order", "2", "--data.tokenisation", "space"]
    assert cli.main([*arguments, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["tokens"] == 2
    assert result["oov"] == 0
    assert result["perplexity"]["unigram"] == pytest.approx(2, rel=0.05)  # the unseen <unk> takes a little
    assert 1 < result["perplexity"]["Kneser-Ney 2-gram"] < 1.2
    assert cli.main(arguments) == 0
    assert "over 2 tokens" in capsys.readouterr().out
    assert cli.main([*arguments, "--split", "valid"]) == 0
    assert "over 100 tokens" in capsys.readouterr().out


def test_baseline_takes_the_recipe_of_a_model(tmp_path: Path, capsys: Capture) -> None:
    recipe = tmp_path / "settings.yaml"
    recipe.write_text(as_yaml(to_dict(Settings(model=ModelSettings(hidden=7)))).replace("sotu", "not-there"))
    assert cli.main(["baseline", "--config", str(recipe)]) == DataError.exit_code
    assert "not-there: no such file" in capsys.readouterr().err
    assert cli.main(["baseline", "--order", "0"]) == 2
    assert cli.main(["baseline", "--order", "9" * 30]) == 2
