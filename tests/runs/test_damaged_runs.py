"""Run folders that are damaged, foreign, taken or in the way: one line, exit code 4, nothing lost."""

from __future__ import annotations

import errno
import fcntl
import json
import multiprocessing
import os
import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.torch import save_file

from tests.tiny_run import TINY, write_text
from wordtie import cli
from wordtie.data.prepare import prepare
from wordtie.data.tokenizer import Tokenizer
from wordtie.data.vocabulary import Vocabulary
from wordtie.errors import RunFolderError
from wordtie.inference.loading import load
from wordtie.inference.training_corpus import is_of
from wordtie.runs import checkpoint, run_folder, sealed
from wordtie.runs.compatibility import difference, identity
from wordtie.runs.layout import CONFIG
from wordtie.runs.run_folder import is_mixture_of, read_model, read_settings
from wordtie.storage.atomic import file_sha256
from wordtie.storage.lock import LOCK, hold, is_locked
from wordtie.training.run_writer import incompatible_run

Capture = pytest.CaptureFixture[str]
MODEL_FILES = ("config.json", "model.safetensors", "tokenizer.json", "manifest.json")
CHECKPOINT = "checkpoints/last.safetensors"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("damaged")
    write_text(folder / "text")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        patch.chdir(folder)
        arguments = ["train", "text", "--out", "run", *TINY, "--training.epochs", "1"]
        assert cli.main([*arguments, "--training.checkpoint_every", "50"]) == 0
    return folder


@pytest.fixture
def run(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the run, beside a copy of its text."""
    shutil.copytree(trained, tmp_path, dirs_exist_ok=True)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "run"


def refused(arguments: list[str], capsys: Capture, code: int = RunFolderError.exit_code) -> str:
    capsys.readouterr()
    assert cli.main(arguments) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("wordtie: error: ")
    return err


def train(*more: str) -> list[str]:
    return ["train", "text", "--out", "run", *TINY, *more]


def truncated(content: bytes) -> bytes:
    return content[: len(content) // 2]


def emptied(content: bytes) -> bytes:
    return b""


def flipped(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 0x04]) + content[middle + 1 :]


@pytest.mark.parametrize("damage", [truncated, emptied, flipped])
@pytest.mark.parametrize("name", MODEL_FILES)
def test_a_damaged_model(run: Path, name: str, damage: Callable[[bytes], bytes], capsys: Capture) -> None:
    before = {each: (run / each).read_bytes() for each in MODEL_FILES}
    (run / name).write_bytes(damage(before[name]))
    err = refused(["predict", "run", "w1"], capsys)
    assert "damaged" in err
    assert "restore it from a copy, or write it again with --resume" in err
    assert cli.main([*train("--training.epochs", "1", "--training.checkpoint_every", "50"), "--resume"]) == 0
    assert {each: (run / each).read_bytes() for each in MODEL_FILES} == before
    shutil.rmtree(run / "checkpoints")
    (run / name).write_bytes(damage(before[name]))
    assert refused(["predict", "run", "w1"], capsys).endswith("restore it from a copy\n")
    if name != "manifest.json" or damage is not flipped:  # a flipped digest speaks of the file it is of
        assert f"run/{name}: " in err


@pytest.mark.parametrize("name", MODEL_FILES)
def test_a_missing_file(run: Path, name: str, capsys: Capture) -> None:
    (run / name).unlink()
    assert f"run/{name}: " in refused(["evaluate", "run"], capsys)


@pytest.mark.parametrize("name", MODEL_FILES)
def test_a_file_that_may_not_be_read(run: Path, name: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(path: str, flags: int) -> int:
        if Path(path) == Path("run", name):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return os.open(path, flags)

    monkeypatch.setattr(sealed, "regular_file", forbidden)
    err = refused(["predict", "run", "w1"], capsys)
    assert err.endswith(f"run/{name}: cannot be read (Permission denied): give yourself permission to read it\n")


def test_a_file_is_no_run_folder(run: Path, capsys: Capture) -> None:
    Path("sentences.txt").write_text("the cat\n")
    assert "sentences.txt: is a file, where the run folder" in refused(["surprisal", "sentences.txt", "run"], capsys)


@pytest.mark.parametrize("damage", [truncated, emptied, flipped])
def test_a_damaged_checkpoint_is_not_gone_on_from(run: Path, damage: Callable[[bytes], bytes], capsys: Capture) -> None:
    path = run / CHECKPOINT
    path.write_bytes(damage(path.read_bytes()))
    before = (run / "model.safetensors").read_bytes()
    err = refused(train("--resume"), capsys)
    assert f"run/{CHECKPOINT}: " in err
    assert "damaged" in err
    assert (run / "model.safetensors").read_bytes() == before
    assert cli.main(["predict", "run", "w1"]) == 0


def test_every_bit_of_a_checkpoint_counts(run: Path, capsys: Capture) -> None:
    """Position and settings too: a wrong epoch would train on as if nothing were amiss."""
    path = run / CHECKPOINT
    content = path.read_bytes()
    place = content.index(b'best_epoch\\": 1') + len(b'best_epoch\\": ')
    path.write_bytes(content[:place] + b"3" + content[place + 1 :])
    assert "damaged" in refused(train("--resume"), capsys)


def test_a_model_without_a_checkpoint_is_not_trained_over(run: Path, capsys: Capture) -> None:
    shutil.rmtree(run / "checkpoints")
    assert "no checkpoints/last.safetensors to resume from" in refused(train("--resume"), capsys)
    assert cli.main(["predict", "run", "w1"]) == 0


def sealed_anew(run: Path, **changes: object) -> None:
    config = json.loads((run / "config.json").read_text())
    (run / "config.json").write_text(json.dumps({**config, **changes}))
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["sha256"]["config.json"] = file_sha256(run / "config.json")
    (run / "manifest.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"version": 3, "wordtie": "9.9"}, "format 3 of wordtie 9.9, newer than this one: update wordtie"),
        (
            {"kind": "word2vec"},
            "a word2vec model, not a language_model model: open it with `wordtie vectors` or `wordtie similarity`",
        ),
        ({"kind": "table"}, "holds a table model, not a language_model model: open it with a newer wordtie"),
        ({"settings": {"model": {"heads": 8}}}, "update wordtie"),
        ({"settings": {"model": {"hidden": 9}}}, "does not fit config.json"),
    ],
)
def test_models_that_are_not_ours_to_open(run: Path, changes: dict[str, object], says: str, capsys: Capture) -> None:
    sealed_anew(run, **changes)
    assert says in refused(["predict", "run", "w1"], capsys)


def test_a_language_model_is_not_opened_as_word2vec(run: Path) -> None:
    with pytest.raises(RunFolderError, match=r"holds a language_model model, not a word2vec .*: .* `wordtie evaluate`"):
        read_model(run, "word2vec")


def test_newer_folders_and_checkpoints(run: Path, capsys: Capture) -> None:
    manifest = json.loads((run / "manifest.json").read_text())
    (run / "manifest.json").write_text(json.dumps({**manifest, "version": 3}))
    assert "newer than this wordtie: update wordtie" in refused(["predict", "run", "w1"], capsys)
    tensors, record = checkpoint.load(run / CHECKPOINT)
    checkpoint.save(run / CHECKPOINT, tensors, {**record, "position": {**record["position"], "device": 7}})
    assert "'device'): update wordtie" in refused(train("--resume"), capsys)
    with safe_open(run / CHECKPOINT, framework="pt") as file:
        metadata = file.metadata()
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    save_file(tensors, run / CHECKPOINT, metadata={**metadata, "version": "2"})
    assert "newer wordtie" in refused(train("--resume"), capsys)


def test_other_settings_and_other_text_are_not_gone_on_with(run: Path, capsys: Capture) -> None:
    err = refused(train("--resume", "--training.lr", "0.5"), capsys)
    assert "started with other training.lr (1.0, now 0.5): resume with --config" in err
    both = refused(train("--resume", "--training.lr", "0.5", "--model.hidden", "9"), capsys)
    assert "model.hidden (8, now 9), training.lr (1.0, now 0.5): resume" in both
    nowhere = ["train", "nowhere", "--out", "run", "--resume", "--model.hidden", "9"]
    assert "started with other" in refused(nowhere, capsys), "before a text is looked for"
    assert cli.main(["train", "--config", "run/settings.yaml", "--out", "run", "--resume"]) == 0
    assert "model.hidden (8, now 9)" in refused(train("--resume", "--model.hidden", "9"), capsys)
    with (run.parent / "text" / "valid.txt").open("a") as file:
        file.write("w1 w2\n")
    err = refused(train("--resume"), capsys)
    assert "text of valid (SHA-256 " in err
    assert "give it its text again" in err
    assert "started with other model.hidden (8, now 9): resume" in refused(
        train("--resume", "--model.hidden", "9"), capsys
    )
    assert cli.main(["predict", "run", "w1"]) == 0


def test_an_existing_run_is_kept(run: Path, capsys: Capture) -> None:
    assert "--resume continues it, --overwrite replaces it" in refused(train(), capsys)
    err = refused(train("--overwrite", "--training.streams", "9999"), capsys, code=3)
    assert "too few for 9999 streams" in err
    assert cli.main(["predict", "run", "w1"]) == 0  # what cannot be trained does not cost the old run


def test_one_process_at_a_time(run: Path, capsys: Capture) -> None:
    with (run / ".lock").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        assert "another process is training it" in refused(train("--resume"), capsys)


def test_a_run_of_another_kind_is_not_resumed(run: Path, capsys: Capture) -> None:
    assert cli.main(["ngram", "text", "--out", "run", "--overwrite"]) == 0
    assert "no checkpoints/last.safetensors to resume from" in refused(train("--resume"), capsys)


def test_metrics_that_were_lost_are_not_made_up(run: Path) -> None:
    (run / "metrics.jsonl").unlink()
    assert cli.main(train("--resume", "--training.epochs", "2")) == 0
    assert [json.loads(line)["epoch"] for line in (run / "metrics.jsonl").read_text().splitlines()] == [2]


def test_who_trained_it_is_not_made_up(run: Path) -> None:
    (run / "sessions.jsonl").unlink()
    (run / "config.json").write_text("{")
    assert cli.main(train("--resume", "--training.epochs", "2")) == 0
    assert [json.loads(line)["epoch"] for line in (run / "sessions.jsonl").read_text().splitlines()] == [2]


def test_what_a_killed_process_was_writing_goes(run: Path) -> None:
    data = prepare(read_settings(json.loads((run / "config.json").read_text()), run).data).train
    assert isinstance(data, np.memmap)
    prepared = Path(str(data.filename)).parent
    left = [run / ".model-a", run / ".sessions.jsonl-a", run / ".result.json-a"]
    left += [run / "checkpoints/.last.safetensors-a", prepared / ".prepare-a"]
    for folder in left:
        folder.mkdir()
    assert cli.main(train("--resume", "--training.epochs", "2")) == 0
    assert [folder for folder in left if folder.exists()] == []


def test_a_finished_run_that_is_gone_on_with_is_not_computed_anew(run: Path, capsys: Capture) -> None:
    """What trained it stays what did, whatever the command is given on again."""
    other = "the run so far in of old: its result differs"

    def trained_by() -> tuple[str, bytes, bytes]:
        precision = json.loads((run / "result.json").read_text())["precision"]
        return precision, (run / "sessions.jsonl").read_bytes(), (run / "model.safetensors").read_bytes()

    tensors, record = checkpoint.load(run / CHECKPOINT)
    checkpoint.save(run / CHECKPOINT, tensors, {**record, "position": {**record["position"], "precisions": ["of old"]}})
    _, *before = trained_by()
    assert cli.main(train("--resume", "--training.epochs", "1")) == 0
    assert trained_by() == ("of old", *before)
    assert other not in capsys.readouterr().err
    assert cli.main(train("--resume", "--training.epochs", "2")) == 0
    assert trained_by()[0].startswith("of old, ")
    assert other in capsys.readouterr().err
    assert len(trained_by()[1].splitlines()) == 2


def test_what_a_checkpoint_was_begun_with_counts(run: Path, capsys: Capture) -> None:
    """settings.yaml may be that of the run before, where `--overwrite` was killed."""
    (run / "settings.yaml").write_text((run / "settings.yaml").read_text().replace("hidden: 8", "hidden: 9"))
    assert "model.hidden (8, now 9)" in refused(train("--resume", "--model.hidden", "9"), capsys)
    assert cli.main(train("--resume", "--training.epochs", "2")) == 0


def test_a_text_that_is_cut_otherwise_by_now_is_not_the_models(run: Path) -> None:
    model = load(run)
    assert is_of(model, prepare(model.settings.data))
    rule = replace(model.tokenizer.tokenisation, pattern="[a-z]+|[0-9]+")
    other = replace(model, tokenizer=Tokenizer(rule, model.tokenizer.vocabulary))
    assert not is_of(other, prepare(model.settings.data))


def test_a_run_is_not_gone_on_with_over_other_words(run: Path) -> None:
    """Of the same text and settings, which another version may cut into other words."""
    settings = read_settings(json.loads((run / "config.json").read_text()), run)
    data = prepare(settings.data)
    before, words = identity(settings, data), Vocabulary([*data.vocabulary.words[:-1], "bird"])
    other = replace(data, tokenizer=Tokenizer(data.tokenizer.tokenisation, words))
    assert difference(before, identity(settings, data)) == ""
    assert difference(before, identity(settings, other)).startswith("words, which another tokenisation made")
    assert difference({name: value for name, value in before.items() if name != "words"}, before) == ""
    assert "train another with --out" in str(incompatible_run(run, difference(before, identity(settings, other))))


def test_who_only_looks_turns_nobody_away(tmp_path: Path) -> None:
    looking = (tmp_path / LOCK).open("w")
    assert hold(looking)
    threading.Timer(0.05, looking.close).start()
    with run_folder.locked(tmp_path):
        assert is_locked(tmp_path)


def test_a_child_that_was_forked_meanwhile_holds_nothing(tmp_path: Path) -> None:
    with run_folder.locked(tmp_path):
        child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(20,))
        child.start()
    try:
        assert not is_locked(tmp_path)
    finally:
        child.kill()
        child.join()


def test_weights_and_words_are_of_one_model(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where another is put in its place between the check and the reading."""
    whole = sealed.read_model_files

    def then_replaced(folder: Path) -> dict[str, Any]:
        contents = whole(folder)
        (folder / "tokenizer.json").write_text("{}")
        return contents

    monkeypatch.setattr(run_folder, "read_model_files", then_replaced)
    assert len(read_model(run, "language_model")[2].vocabulary) > 2


def test_whoever_may_read_the_model_may_go_on_with_it(run: Path) -> None:
    modes = {(run / name).stat().st_mode for name in (*MODEL_FILES, CHECKPOINT, "metrics.jsonl")}
    assert len(modes) == 1


def test_a_mixture_of_pipes_and_deep_json_is_none(tmp_path: Path) -> None:
    """A folder from somebody else neither blocks nor breaks whoever looks whether it is a mixture."""
    (tmp_path / "mixture").mkdir()
    os.mkfifo(tmp_path / "mixture" / CONFIG)
    assert not is_mixture_of(tmp_path / "mixture", tmp_path)
    (tmp_path / "mixture" / CONFIG).unlink()
    (tmp_path / "mixture" / CONFIG).write_text("[" * 200_000)
    assert not is_mixture_of(tmp_path / "mixture", tmp_path)
