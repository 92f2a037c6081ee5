"""What cannot be used is refused in one line that names it and the hint, with the exit code of its kind."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from wordtie import cli
from wordtie.data.reading import LONGEST_LINE
from wordtie.errors import DataError, SaveError, WordtieError
from wordtie.inference.loading import load

pytestmark = pytest.mark.usefixtures("own_folder")
Capture = pytest.CaptureFixture[str]
TINY = ["--model.hidden", "4", "--training.epochs", "1", "--training.streams", "2", "--training.threads", "1"]
GOOD = b"the cat sat on the mat\nthe dog sat on the cat\n" * 20
OLD_MAC = r"text.txt: has old Mac line ends: convert it with `tr '\r' '\n'`"


def error(arguments: list[str], code: int, capsys: Capture) -> str:
    """The one line that the command leaves on stderr."""
    capsys.readouterr()
    assert cli.main(arguments) == code, capsys.readouterr().err
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert "Traceback" not in err
    assert err.startswith("wordtie: error: ")
    return err.removeprefix("wordtie: error: ").strip()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "text.txt: has no words in it; give a file with text"),
        (b"\n\n  \n", "text.txt"),
        (b"only\n", "too few lines to split"),
        (
            GOOD + b"\n" * 4000,
            "text.txt: one of the parts it is split into has blank lines alone; take out those in a row",
        ),
        (GOOD + b"\x00\x01\x02\xff\n" + GOOD, "text.txt, line 41: a NUL byte"),
        (
            GOOD + b"caf\xe9\n" + GOOD,
            "text.txt, line 41: not UTF-8; convert it with `iconv -f windows-1252 -t utf-8` (or",
        ),
        (GOOD.replace(b"\n", b"\r"), OLD_MAC),
        (GOOD.decode().encode("utf-16"), "UTF-16; convert it"),
        (GOOD + b"x" * 11_000_000 + b"\n" + GOOD * 2_000, "longer than 10 MB: put one sentence on a line"),
    ],
    ids=["empty", "blank", "one word", "blank part", "NUL", "Latin-1", "old Mac", "UTF-16", "long line"],
)
def test_a_text_that_is_none(content: bytes, says: str, tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "text.txt").write_bytes(content)
    assert says in error(["train", "text.txt", "--out", "run", *TINY], DataError.exit_code, capsys)
    assert not (tmp_path / "run").exists()


def test_a_text_that_is_not_there(tmp_path: Path, capsys: Capture) -> None:
    assert "no such file or folder" in error(["train", "nowhere.txt", *TINY], DataError.exit_code, capsys)
    (tmp_path / "loop").symlink_to("loop")
    for out in ([], ["--out", "run"]):
        assert "loop: no such file" in error(["train", "loop", *out, *TINY], DataError.exit_code, capsys)
    machine = ["--model.core", "gru", "--loss.kind", "interpolated", "--training.precision", "bf16"]
    assert "nothing fused computes here" in error(["train", "nowhere.txt", *machine], WordtieError.exit_code, capsys)
    (tmp_path / "folder").mkdir()
    assert "has no train.txt; give a folder with" in error(["train", "folder", *TINY], DataError.exit_code, capsys)


@pytest.mark.parametrize(
    ("content", "tokens"),
    [(GOOD, 280), (GOOD.replace(b"\n", b"\r\n"), 280), (GOOD + b"one\n\nlast", 285)],
    ids=["Unix", "Windows", "short and blank lines"],
)
def test_a_text_that_is_unusual(content: bytes, tokens: int, tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "text.txt").write_bytes(content)
    assert cli.main(["train", "text.txt", "--out", "run", "--json", *TINY]) == 0
    capsys.readouterr()
    assert cli.main(["evaluate", "run", "text.txt", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tokens"] == tokens


@pytest.mark.parametrize("content", [b"", b"\n\n  \n"], ids=["empty", "blank"])
def test_what_cannot_be_scored(content: bytes, tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "text.txt").write_bytes(GOOD)
    (tmp_path / "none.txt").write_bytes(content)
    assert cli.main(["train", "text.txt", "--out", "run", *TINY]) == 0
    for command in ("evaluate", "surprisal"):
        line = error([command, "run", "none.txt"], DataError.exit_code, capsys)
        assert line == "none.txt: has no words in it; give a file with text"


def test_old_mac_line_ends_are_refused_wherever_a_text_is_read(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "text.txt").write_bytes(GOOD)
    assert cli.main(["train", "text.txt", "--out", "run", *TINY]) == 0
    mac = GOOD.replace(b"\n", b"\r")
    (tmp_path / "text.txt").write_bytes(mac)
    for arguments in (["train", "text.txt", "--data.sentences", "false"], ["evaluate", "run", "text.txt"]):
        assert error(arguments, DataError.exit_code, capsys) == OLD_MAC
    assert error(["surprisal", "run", "text.txt"], DataError.exit_code, capsys) == OLD_MAC
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(mac)))
    assert "stdin: has old Mac line ends" in error(["surprisal", "run"], DataError.exit_code, capsys)
    with pytest.raises(DataError, match="text: has old Mac line ends"):
        load("run").evaluate(io.BytesIO(mac))


def test_blank_lines_before_the_first_word_count(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "text.txt").write_bytes(GOOD)
    (tmp_path / "late.txt").write_bytes(b"\n\ncat\n")
    assert cli.main(["train", "text.txt", "--out", "run", *TINY]) == 0
    capsys.readouterr()
    assert cli.main(["surprisal", "run", "late.txt"]) == 0
    rows = [row.split("\t")[:4] for row in capsys.readouterr().out.splitlines()[1:]]
    assert rows == [
        ["1", "1", "1", "<eos>"],
        ["2", "1", "1", "<eos>"],
        ["3", "1", "1", "cat"],
        ["3", "2", "2", "<eos>"],
    ]


def test_a_vocabulary_larger_than_the_text(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "text.txt").write_bytes(GOOD)
    line = error(["train", "text.txt", *TINY, "--data.vocabulary_size", "999"], DataError.exit_code, capsys)
    assert "leave data.vocabulary_size out, or set it lower" in line


def test_too_little_text_for_the_streams(tmp_path: Path, capsys: Capture) -> None:
    lines = (f"<unk> and {'more' if number % 49 else 'less'}\n" for number in range(50))  # with nothing to note
    (tmp_path / "text.txt").write_text("".join(lines))
    line = error(["train", "text.txt", *TINY, "--training.streams", "999"], DataError.exit_code, capsys)
    assert "too few for 999 streams: set training.streams to at most 184" in line


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--model.hiden", "4"], "did you mean --model.hidden?"),
        (["--model.hidden", "many"], "model.hidden"),
        (["--model.hidden", "0"], "model.hidden must be at least 1, got 0"),
        (["--training.lr", "-1"], "training.lr must be positive"),
        (["--model.head", "tyed"], "model.head"),
        (["--max-time", "soon"], "training.max_time must be a time such as"),
        (["--config", "nowhere.yaml"], "nowhere.yaml"),
        (["--config", ""], "--config needs a value: the file of a recipe"),
        (["--config="], "--config needs a value: the file of a recipe"),
        (["--resume", "--overwrite"], "give one of them"),
        (["--training.device", "abacus"], "training.device must be auto, cpu, cuda or cuda:1, got 'abacus'"),
    ],
)
def test_settings_that_mean_nothing(arguments: list[str], says: str, tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "text.txt").write_bytes(GOOD)
    assert says in error(["train", "text.txt", *arguments], WordtieError.exit_code, capsys)


@pytest.mark.parametrize(
    ("recipe", "options", "says"),
    [
        ("model:\n  layers: 1\n  hidden: many\n", [], "my.yaml, line 3: model.hidden must be a whole number, got many"),
        ("model: {hidden: 4}\ntraining:\n  lr: .nan\n", [], "my.yaml, line 3: training.lr must be a number"),
        ("training:\n  lr: 0.5\n", ["--lr", "-1"], "--lr: training.lr must be positive, got -1.0"),
    ],
    ids=["type", "value", "option after it"],
)
def test_a_setting_of_a_recipe_is_said_by_line(
    recipe: str, options: list[str], says: str, tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / "text.txt").write_bytes(GOOD)
    (tmp_path / "my.yaml").write_text(recipe)
    line = error(["train", "text.txt", "--config", "my.yaml", *options], WordtieError.exit_code, capsys)
    assert line.startswith(says)


def test_a_folder_is_called_one_where_a_file_is_wanted(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "text.txt").write_bytes(GOOD)
    (tmp_path / "vectors.txt").write_text("2 1\ncat 1\ndog 2\n")
    (tmp_path / "folder").mkdir()
    assert cli.main(["train", "text.txt", "--out", "run", *TINY]) == 0
    folder = "folder: cannot be read: Is a directory"
    assert error(["compare", "run", "run", "--text", "folder"], DataError.exit_code, capsys) == folder
    judged = ["similarity", "vectors.txt", "--benchmark", "folder"]
    assert error(judged, DataError.exit_code, capsys) == f"{folder}; check the path"
    line = error(["vectors", "vectors.txt", "--out", "folder"], SaveError.exit_code, capsys)
    assert (
        line == "folder: cannot be written (Is a directory); choose another folder - what was there before is untouched"
    )
    line = error(["vectors", "vectors.txt", "--out", "."], SaveError.exit_code, capsys)
    assert line == ".: is a folder: name a file in it"
    line = error(["vectors", "vectors.txt", "--json"], WordtieError.exit_code, capsys)
    assert line.startswith("--json prints neighbours: give --neighbours WORD")


def test_that_nothing_can_be_ranked_is_said_once(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "vectors.txt").write_text("3 2\ncat 1 2\ndog 2 1\nmat 0 3\n")
    (tmp_path / "pairs.txt").write_text("cat dog 5\ndog mat 5\n")
    line = error(["similarity", "vectors.txt", "--benchmark", "pairs.txt"], DataError.exit_code, capsys)
    assert line == "pairs: all pairs that vectors.txt covers have the same score: nothing to rank"


def test_debug_shows_where(capsys: Capture) -> None:
    assert cli.main(["--debug", "train", "nowhere.txt"]) == DataError.exit_code
    assert "Traceback" in capsys.readouterr().err


def test_running_text_is_cut_at_tabs_too(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "text.txt").write_bytes(b"a\tb\t" * 400)
    assert cli.main(["train", "text.txt", "--data.sentences", "false", "--out", "run", *TINY]) == 0
    (tmp_path / "long.txt").write_bytes(b"bbbbbbbbbbbbbbbb" * 50_000 + b"\t" + b"a\tb\t" * 10)
    long = (tmp_path / "long.txt").read_bytes() * 14
    (tmp_path / "long.txt").write_bytes(long)
    assert len(long) > LONGEST_LINE
    capsys.readouterr()
    assert cli.main(["evaluate", "run", "long.txt", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tokens"] == 14 * 21 + 1
