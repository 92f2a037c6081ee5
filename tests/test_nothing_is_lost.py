"""Whoever's file it is: nothing is replaced that nobody said may be, and what goes wrong leaves it there."""

from __future__ import annotations

import errno
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest

from tests.commands import SMALL, Capture, output, small_text
from wordtie import cli
from wordtie.errors import DataError, DivergedError, RunFolderError, SaveError, WordtieError
from wordtie.inference.loading import load
from wordtie.ngrams import baselines
from wordtie.runs import layout, run_folder, sealed
from wordtie.storage.atomic import saving
from wordtie.vectors.files import write_vectors
from wordtie.vectors.word_vectors import WordVectors

pytestmark = pytest.mark.usefixtures("own_folder")
TINY_WORD2VEC = ["--data.min_count", "1", "--word2vec.vector_size", "4", "--word2vec.epochs", "1"]


def refused(arguments: list[str], code: int, capsys: Capture) -> str:
    capsys.readouterr()
    assert cli.main(arguments) == code
    return capsys.readouterr().err.strip().splitlines()[-1]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A trained model beside its text `novel`."""
    small_text(tmp_path / "novel")
    assert cli.main(["train", "novel", *SMALL]) == 0
    return Path("runs", "novel")


def test_vectors_do_not_replace_a_text_of_the_runs_name(run: Path, capsys: Capture) -> None:
    Path("novel.txt").write_text("my only copy")
    assert output(["vectors", str(run)], capsys) == "novel.vectors.txt\n"
    assert Path("novel.txt").read_text() == "my only copy"
    assert "name the file with --out" in refused(["vectors", str(run)], SaveError.exit_code, capsys)
    assert output(["vectors", str(run), "--out", "novel.vectors.txt"], capsys)


RECORDS = ["settings.yaml", "metrics.jsonl", "result.json", "sessions.jsonl", "live_progress"]


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", *RECORDS])
def test_training_does_not_replace_a_file_of_a_runs_names(name: str, tmp_path: Path, capsys: Capture) -> None:
    small_text(tmp_path / "novel")
    Path("mine").mkdir()
    Path("mine", name).write_text("mine")
    message = refused(["train", "novel", "--out", "mine", *SMALL], RunFolderError.exit_code, capsys)
    assert f"mine: has a {name} already: --overwrite replaces it" in message
    assert Path("mine", name).read_text() == "mine"


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", *RECORDS])
def test_going_on_replaces_nothing_where_no_run_is(name: str, tmp_path: Path, capsys: Capture) -> None:
    small_text(tmp_path / "novel")
    Path("web").mkdir()
    Path("web", name).write_text("a: my only copy")
    says = refused(["train", "novel", *SMALL, "--out", "web", "--resume"], RunFolderError.exit_code, capsys)
    assert f"has a {name}, but no" in says or "web/settings.yaml: cannot be read as settings" in says
    assert Path("web", name).read_text() == "a: my only copy"
    assert [path.name for path in Path("web").iterdir()] == [name]


@pytest.mark.parametrize("command", ["train", "word2vec"])
def test_the_folder_that_we_are_in_is_no_default(command: str, tmp_path: Path, capsys: Capture) -> None:
    small_text(tmp_path / "novel")
    before = sorted(Path().iterdir())
    assert "has no name" in refused([command, "novel", "--out", ""], RunFolderError.exit_code, capsys)
    assert sorted(Path().iterdir()) == before


def test_a_folder_that_may_not_be_read_is_not_called_damaged(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(path: str, flags: int) -> NoReturn:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)

    monkeypatch.setattr(sealed, "regular_file", forbidden)  # root may read everything
    with pytest.raises(RunFolderError, match=r"manifest\.json: cannot be read \(Permission denied\)"):
        run_folder.read_model(run, "language_model")


def test_a_text_may_come_from_a_pipe_where_it_is_read_once(run: Path, capsys: Capture) -> None:
    Path("text.txt").write_text("w1 w2\n")
    expected = json.loads(output(["evaluate", str(run), "text.txt", "--json"], capsys))
    for command, code in (("evaluate", 0), ("compare", DataError.exit_code)):
        read, write = os.pipe()
        os.write(write, b"w1 w2\n")
        os.close(write)
        pipe = f"/dev/fd/{read}"
        arguments = [str(run), pipe, "--json"] if command == "evaluate" else [str(run), str(run), "--text", pipe]
        assert cli.main([command, *arguments]) == code
        os.close(read)
        told = capsys.readouterr()
        if command == "evaluate":
            assert json.loads(told.out)["nats"] == expected["nats"]
        else:
            assert "a pipe cannot: save it to a file" in told.err


@pytest.mark.parametrize("hidden", ["99999999", "9999999999", "99999999999999999999"])
def test_too_little_memory_is_no_bug(hidden: str, tmp_path: Path, capsys: Capture) -> None:
    small_text(tmp_path / "novel")
    says = refused(["train", "novel", *SMALL, "--model.hidden", hidden], WordtieError.exit_code, capsys)
    assert "take a smaller model" in says
    assert "memory" in says or "GB" in says


def test_a_name_that_is_not_utf8_is_a_name(tmp_path: Path) -> None:
    small_text(tmp_path / "novel")
    text = (Path("novel") / "train.txt").read_bytes()
    Path(os.fsdecode(b"rom\xe1n.txt")).write_bytes(text)
    assert cli.main(["train", os.fsdecode(b"rom\xe1n.txt"), *SMALL, "--out", "run"]) == 0
    assert cli.main(["evaluate", "run"]) == 0


@pytest.mark.parametrize("name", ["x" * 300, "~nobody-of-this-name/text", "~nobody-of-this-name"])
def test_a_name_that_can_be_none_is_no_bug(name: str, run: Path, capsys: Capture) -> None:
    for arguments in (["train", name], ["evaluate", str(run), name], ["evaluate", name, "text"], ["vectors", name]):
        assert cli.main(arguments) in {2, DataError.exit_code, RunFolderError.exit_code, SaveError.exit_code}
        assert capsys.readouterr().err.startswith("wordtie: error: ")


def test_overwriting_leaves_what_is_not_the_runs(run: Path) -> None:
    strangers = [run / "notes.txt", run / "checkpoints" / "epoch-1.pt", run / "tensorboard" / "mine.csv"]
    for path in strangers:
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine")
    run_folder.clear(run)
    assert all(path.read_text() == "mine" for path in strangers)
    assert not (run / layout.CHECKPOINT).exists()
    assert not (run / layout.MODEL).exists()


def test_word2vec_that_goes_wrong_leaves_the_vectors_that_were_there(tmp_path: Path, capsys: Capture) -> None:
    small_text(tmp_path / "novel")
    command = ["word2vec", "novel", "--out", "vectors", *TINY_WORD2VEC]
    assert cli.main(command) == 0
    before = Path("vectors", layout.MODEL).read_bytes()
    assert refused([*command, "--overwrite", "--data.min_count", "10000"], DataError.exit_code, capsys)
    assert Path("vectors", layout.MODEL).read_bytes() == before
    assert output(["vectors", "vectors", "--neighbours", "cat"], capsys)


def test_an_option_must_be_written_out(run: Path, capsys: Capture) -> None:
    before = Path(run, layout.MODEL).read_bytes()
    for short in (["--over"], ["--training.epoch", "1"]):
        message = refused(["train", "novel", *short], WordtieError.exit_code, capsys)
        assert f"unknown option {short[0]}" in message
        assert "did you mean" in message
    assert Path(run, layout.MODEL).read_bytes() == before


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"overwrite: true\n", "line 1: overwrite is no section of a recipe"),
        (b"out: {run: elsewhere}\n", "out is no section of a recipe"),
        (
            b"corpus: keep.txt\n",
            "line 1: corpus is no section of a recipe (data, model, loss, noise, training, word2vec, ngram); it",
        ),
        (b"the cat sat on the mat\n" * 4000, "a recipe has sections"),
        (b"the cat sat on the mat\n" * 5000, "is longer than 100 kB: is it a recipe?"),
        (b"", "a recipe has sections"),
        (b"caf\xe9\n", "not UTF-8"),
        (b"model:\n  hidden: [1\n", "line 3: not YAML"),
        (b"model: {hidden: 8}\ndata: {}\nmodel: {head: tied}\n", "line 3: model is given already, in line 1"),
        (b"model:\n  hidden: 8\n  head: tied\n  hidden: 9\n", "line 4: hidden is given already, in line 2"),
    ],
)
def test_a_recipe_holds_settings_and_nothing_else(content: bytes, says: str, tmp_path: Path, capsys: Capture) -> None:
    Path("recipe.yaml").write_bytes(content)
    message = refused(["train", "--config", "recipe.yaml", "--print-config"], WordtieError.exit_code, capsys)
    assert says in message
    assert len(message) < 300


def test_a_run_is_known_by_its_text_not_by_where_that_lies(run: Path, tmp_path: Path, capsys: Capture) -> None:
    Path("novel").rename("moved")
    again = ["train", "./moved", "--out", str(run), *SMALL, "--resume"]
    assert "test perplexity" in output(again, capsys)
    Path("moved", "train.txt").write_text("another text altogether\n" * 50)
    assert "text of train" in refused(again, RunFolderError.exit_code, capsys)
    Path("moved").rename("elsewhere")
    message = refused([again[0], "elsewhere", *again[2:]], RunFolderError.exit_code, capsys)
    assert "other data.corpus (novel, now elsewhere), text of train (SHA-256" in message


def test_evaluate_elsewhere_asks_for_a_file(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    Path("elsewhere").mkdir()
    here = tmp_path / run
    monkeypatch.chdir("elsewhere")
    message = refused(["evaluate", str(here)], DataError.exit_code, capsys)
    by_its_path = "by its path from the folder that training ran in"
    assert f"{here} was trained on it, {by_its_path}: name a FILE to measure" in message
    assert "leave it out" in refused(["evaluate", str(here), "x.txt", "--split", "valid"], 2, capsys)


def test_evaluate_says_that_it_does_not_read_stdin(run: Path) -> None:
    command = [sys.executable, "-m", "wordtie", "evaluate", str(run)]
    with (Path("novel") / "test.txt").open() as text:
        given = subprocess.run(command, stdin=text, capture_output=True, text=True)
    assert "note: what comes on stdin is not read: give - for it" in given.stderr
    without = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert "stdin" not in without.stderr
    assert given.stdout == without.stdout


def test_evaluate_reads_stdin(run: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    text = Path("novel", "test.txt").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert "28 tokens of stdin" in output(["evaluate", str(run), "-"], capsys)
    monkeypatch.setattr(sys, "stdin", None)
    assert "standard input is closed" in refused(["evaluate", str(run), "-"], 2, capsys)
    assert "a pipe cannot: save it" in refused(["train", "-"], DataError.exit_code, capsys)


def test_a_closed_stdout_and_a_narrow_locale(run: Path) -> None:
    narrow = {**os.environ, "PYTHONIOENCODING": "ascii"}
    generated = [sys.executable, "-m", "wordtie", "generate", str(run), "--prompt", "café", "--words", "3"]
    found = subprocess.run(generated, env=narrow, capture_output=True, check=True)
    assert found.stdout.decode().startswith("café")
    closed = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *generated], env=narrow, stderr=subprocess.PIPE, check=False
    )
    assert closed.returncode == SaveError.exit_code
    assert closed.stderr == b"wordtie: error: standard output is closed\n"


def test_an_unwritable_place_is_named(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    small_text(tmp_path / "novel")
    Path("file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    message = refused(["train", "novel", *SMALL], SaveError.exit_code, capsys)
    assert "XDG_CACHE_HOME says where the cache lies" in message


@pytest.mark.parametrize("temperature", ["1e-40", "1e-300"])
def test_however_cold_the_likeliest_word_comes(temperature: str, run: Path, capsys: Capture) -> None:
    cold = ["generate", str(run), "--prompt", "the cat sat on", "--words", "4", "--temperature"]
    assert output([*cold, temperature], capsys) == output([*cold, "1e-6", "--seed", "7"], capsys)
    assert "must be a whole number from 0 to" in refused([*cold, "1", "--seed", "100000000000000000000"], 2, capsys)


def test_a_model_stays_until_there_is_another(run: Path, capsys: Capture) -> None:
    before = output(["predict", str(run), "the"], capsys)
    wild = ["train", "novel", *SMALL, "--overwrite", "--training.lr", "1e38", "--training.clip", "0"]
    assert "no model was validated before" in refused(wild, DivergedError.exit_code, capsys)
    assert output(["predict", str(run), "the"], capsys) == before
    assert cli.main(["train", "novel", *SMALL, "--overwrite", "--training.seed", "2"]) == 0
    assert output(["predict", str(run), "the"], capsys) != before


def test_a_folder_that_is_being_trained_has_no_model_yet(run: Path) -> None:
    with run_folder.locked(run):
        (run / "manifest.json").unlink()
        (run / "model.safetensors").unlink()
        with pytest.raises(RunFolderError, match="it is being trained: wait for its first epoch"):
            load(run)


def test_a_disk_that_fills_up_under_the_weights_is_to_be_emptied() -> None:
    """What safetensors raises has a message alone, and no number of the system's."""
    full = OSError("Error while serializing: I/O error: No space left on device (os error 28)")
    with pytest.raises(SaveError, match="free some space or choose another folder"), saving(Path("model.safetensors")):
        raise full
    with pytest.raises(SaveError, match=r"\(Is a directory\); choose another folder"), saving(Path("folder")):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))


def test_what_cannot_be_replaced_stays(run: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    """The first file of two cannot take its place: the second, without which the first means nothing, is not gone."""
    Path("old.txt").write_text("my only copy")
    (Path("old.txt.vocab") / "mine").mkdir(parents=True)
    vectors = WordVectors(["a"], np.ones((1, 2), np.float32), [3])
    with pytest.raises(SaveError, match=r"Is a directory\); .*is untouched"):
        write_vectors(vectors, Path("old.txt"), "text")
    assert Path("old.txt").read_text() == "my only copy"
    (Path("old.txt.vocab") / "mine").rmdir()
    Path("old.txt.vocab").rmdir()
    real = Path.replace

    def not_the_counts(self: Path, target: str | Path) -> Path:
        if Path(target).name == "old.txt.vocab":
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), str(target))
        return real(self, target)

    monkeypatch.setattr(Path, "replace", not_the_counts)
    with pytest.raises(SaveError, match="is untouched"):
        write_vectors(vectors, Path("old.txt"), "text")
    assert Path("old.txt").read_text() == "my only copy"

    def interrupted(self: Path, target: str | Path) -> Path:
        if Path(target).name == "old.txt.vocab":
            raise KeyboardInterrupt
        return real(self, target)

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_vectors(vectors, Path("old.txt"), "text")
    assert Path("old.txt").read_text() == "my only copy"


def test_a_single_file_is_never_missing(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("old.txt").write_text("my only copy")
    real = Path.replace

    def there(self: Path, target: str | Path) -> Path:
        assert Path("old.txt").read_text() == "my only copy"
        return real(self, target)

    monkeypatch.setattr(Path, "replace", there)
    write_vectors(WordVectors(["a"], np.ones((1, 2), np.float32)), Path("old.txt"), "text")
    assert Path("old.txt").read_text().startswith("1 2\n")


def test_a_command_that_is_stopped_leaves_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_text(tmp_path / "novel")
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    monkeypatch.setattr(baselines, "fit_kneser_ney", lambda *_, **__: os.kill(os.getpid(), signal.SIGTERM))
    try:
        assert cli.main(["baseline", "novel"]) == 128 + signal.SIGTERM
    finally:
        signal.signal(signal.SIGTERM, before)
    assert not list((tmp_path / "temporary").iterdir())


def test_a_pipe_a_device_or_a_socket_stays_what_it_is(run: Path, capsys: Capture) -> None:
    """`--out /dev/null`, by root, would give everyone a file of that name."""
    os.mkfifo("pipe")
    Path("link").symlink_to("pipe")
    ledger = ["reproduce", "report", "--page", "pipe", "--results", "runs", "--runs", "none"]
    before = sorted(Path().iterdir())
    for name in ("pipe", "link"):
        commands = [["vectors", str(run), "--out", name], ["vectors", str(run), "--picture", name], ledger]
        for arguments in commands:
            assert "whose place no file may take" in refused(arguments, SaveError.exit_code, capsys)
    assert Path("pipe").is_fifo()
    assert Path("link").is_symlink()
    assert sorted(Path().iterdir()) == before
