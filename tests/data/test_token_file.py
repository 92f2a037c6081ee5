"""Prepared data: what it holds, when it is made anew, and what a full disk leaves."""

import dataclasses
import fcntl
import json
import os
import resource
import signal
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wordtie.config import DataSettings
from wordtie.console import waiting
from wordtie.data import prepare as preparing
from wordtie.data import token_file, tokenisation
from wordtie.data.encoding import encode_file
from wordtie.data.prepare import prepare
from wordtie.data.token_file import VERSION, open_prepared, write_token_files
from wordtie.data.tokenizer import Tokenizer
from wordtie.errors import DataError, RunFolderError, SaveError

NPY = b"\x93NUMPY\x01\x00v\x00{'descr': '<i4', 'fo"


@pytest.fixture
def text(tmp_path: Path) -> Path:
    folder = tmp_path / "text"
    folder.mkdir()
    (folder / "train.txt").write_text("the cat <unk>\nthe cat sat\n")
    (folder / "valid.txt").write_text("the dog sat\n\n")
    (folder / "test.txt").write_text("dog <unk> dog")
    return folder


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out" / "data"


def test_ids_tokenizer_and_counts(text: Path, out: Path) -> None:
    stages = []
    data = write_token_files(DataSettings(corpus=str(text)), out, lambda *progress: stages.append(progress))
    assert data.vocabulary.words == ("<eos>", "cat", "the", "<unk>", "sat")
    assert data.train.tolist() == [2, 1, 3, 0, 2, 1, 4, 0]
    assert data.valid.tolist() == [2, 3, 4, 0, 0]
    assert data.test.tolist() == [3, 3, 3, 0]
    assert data.train.dtype == np.int32
    assert isinstance(data.train, np.memmap)
    counts = {split: [of.tokens, of.oov, of.unk, of.eos] for split, of in data.info.splits.items()}
    assert counts == {"train": [8, 0, 1, 2], "valid": [5, 1, 0, 2], "test": [4, 2, 1, 1]}
    assert (data.info.vocabulary_size, data.info.distinct_words) == (5, 5)
    assert sorted(path.name for path in out.iterdir()) == [
        "data.json", "test.ids", "tokenizer.json", "train.ids", "valid.ids"
    ]  # fmt: skip
    assert stages == [
        ("read train", 26, 26), ("read valid", 13, 13), ("read test", 13, 13), ("read test", 13, 13),
        ("write train", 8, 8), ("write valid", 5, 5), ("write test", 4, 4),
    ]  # fmt: skip
    for split, ids in (("train", data.train), ("valid", data.valid), ("test", data.test)):
        again, stats = encode_file(text / f"{split}.txt", Tokenizer.load(out / "tokenizer.json"))
        assert again.tolist() == ids.tolist()
        assert stats == data.info.splits[split]


@pytest.mark.parametrize(
    ("train", "settings", "known"),
    [
        ("the cat\nthe dog\n", {}, {"the"}),
        ("the cat\nthe dog\n", {"min_count": 1}, {"the", "cat", "dog"}),
        ("the cat\nthe dog\n", {"vocabulary_size": 4}, {"the", "cat"}),
        ("the cat\nthe <unk>\n", {}, {"the", "cat"}),
        ("the\ncat\n", {}, {"the", "cat"}),
    ],
    ids=["raw", "given", "a size", "has <unk>", "no word twice"],
)
def test_a_text_without_unk_has_it_from_rare_words(
    train: str, settings: dict[str, Any], known: set[str], text: Path, out: Path
) -> None:
    (text / "train.txt").write_text(train)
    data = write_token_files(DataSettings(str(text), **settings), out)
    assert set(data.vocabulary.words) == known | {"<unk>", "<eos>"}
    assert ("2 times or more" in data.info.policy.vocabulary) == (known == {"the"})


def test_vocabulary_settings(text: Path, out: Path) -> None:
    of_all = write_token_files(DataSettings(corpus=str(text), vocabulary_from="all"), out)
    assert "dog" in of_all.vocabulary
    assert of_all.info.splits["test"].oov == 0
    assert "all splits" in of_all.info.policy.vocabulary
    small = write_token_files(DataSettings(corpus=str(text), vocabulary_size=4), out)
    assert small.vocabulary.words == ("<eos>", "<unk>", "cat", "the")
    train = small.info.splits["train"]
    assert (train.oov, train.unk, train.tokens) == (1, 1, 8)
    with pytest.raises(DataError, match=r"6 is larger than the text, which has 5 distinct words"):
        write_token_files(DataSettings(corpus=str(text), vocabulary_size=6), out)
    assert open_prepared(out).info == small.info


def test_an_unk_that_is_not_in_the_training_text_teaches_nothing(text: Path, out: Path) -> None:
    (text / "train.txt").write_text("a b\na b\n")
    (text / "valid.txt").write_text("c d <unk>\n")
    data = write_token_files(DataSettings(str(text), vocabulary_from="all"), out)
    assert data.info.policy.min_count == 2


def test_running_text(text: Path, out: Path) -> None:
    data = write_token_files(DataSettings(corpus=str(text), sentences=False), out)
    assert data.tokenizer.decode(data.train) == ["the", "cat", "<unk>", "the", "cat", "sat", "<eos>"]
    assert not data.tokenizer.sentences


def test_same_again_unless_something_changed(text: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = DataSettings(corpus=str(text))
    readings: list[Path] = []

    def counting(stage: Path, *how: Any) -> list[str]:
        readings.append(stage)
        return write_all(stage, *how)

    write_all = token_file._write_all
    monkeypatch.setattr(token_file, "_write_all", counting)
    first = write_token_files(settings, out)
    assert write_token_files(settings, out).info == first.info
    assert len(readings) == 1
    write_token_files(dataclasses.replace(settings, lowercase=True), out)
    assert len(readings) == 2
    write_token_files(settings, out)
    (text / "test.txt").write_text("the\n")
    assert write_token_files(settings, out).test.tolist() == [2, 0]
    assert len(readings) == 4
    (out / "train.ids").write_bytes((out / "train.ids").read_bytes()[:-4])
    assert write_token_files(settings, out).train.tolist() == first.train.tolist()
    assert len(readings) == 5
    monkeypatch.setattr(tokenisation, "SPACE_PATTERN", "[^ ]+")  # as a later version may have it
    assert write_token_files(settings, out).tokenizer.tokenisation.pattern == "[^ ]+"
    assert len(readings) == 6


def test_a_text_changed_in_its_place_is_read_anew_though_size_and_time_are_as_before(text: Path, out: Path) -> None:
    """As `rsync --inplace` and editors that keep a file's time leave it."""
    settings, path = DataSettings(corpus=str(text)), text / "test.txt"
    path.write_text("cat\n")
    before, times = write_token_files(settings, out), path.stat()
    path.write_text("sat\n")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    after = write_token_files(settings, out)
    assert [data.tokenizer.decode(data.test) for data in (before, after)] == [["cat", "<eos>"], ["sat", "<eos>"]]


@pytest.mark.parametrize("name", ["data.json", "train.ids", "tokenizer.json"])
@pytest.mark.parametrize("content", [None, b"", b"{}", NPY, NPY + b" " * 200])
def test_damaged_folders(text: Path, out: Path, name: str, content: bytes | None) -> None:
    write_token_files(DataSettings(corpus=str(text)), out)
    (out / name).unlink()
    if content is not None:
        (out / name).write_bytes(content)
    with pytest.raises(RunFolderError, match=r"^[^\n]*(damaged|cannot be read)[^\n]*$"):
        open_prepared(out)
    assert len(write_token_files(DataSettings(corpus=str(text)), out).train) == 8


def test_an_older_version_is_made_anew(text: Path, out: Path) -> None:
    write_token_files(DataSettings(corpus=str(text)), out)
    info = json.loads((out / "data.json").read_text())
    (out / "data.json").write_text(json.dumps(info | {"version": 0}))
    with pytest.raises(RunFolderError, match=f"version 0, not {VERSION}"):
        open_prepared(out)
    assert dataclasses.asdict(write_token_files(DataSettings(corpus=str(text)), out).info) == info


def test_a_full_disk_leaves_what_was_there(text: Path, out: Path) -> None:
    """The largest file that this process may write stands in for the disk: writing more fails, as ENOSPC does."""
    settings = DataSettings(corpus=str(text))
    before = write_token_files(settings, out).train.tolist()
    (text / "train.txt").write_text("more words than there is room for\n" * 1000)
    names = sorted(out.iterdir())
    old_limit, old_action = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        for limit in (0, 1000, 20_000, 32_100):
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, old_limit[1]))
            with pytest.raises(SaveError, match=r"cannot be written .*what was there before is untouched"):
                write_token_files(settings, out)
            assert sorted(out.iterdir()) == names
            assert open_prepared(out).train.tolist() == before
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old_limit)
        signal.signal(signal.SIGXFSZ, old_action)
    assert len(write_token_files(settings, out).train) == 8000


def test_a_folder_that_cannot_be_made(text: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SaveError, match="cannot be written"):
        write_token_files(DataSettings(corpus=str(text)), tmp_path / "file" / "data")


PEAK = """
import resource, sys
from pathlib import Path
from wordtie.config import DataSettings
from wordtie.data.token_file import write_token_files
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
split = (.8, .1, .1)
data = [
    write_token_files(DataSettings(corpus=name, split=split), Path(name + ".out")) and peak()
    for name in sys.argv[1:]
]
print(*data)
"""


def test_memory_does_not_grow_with_the_text(tmp_path: Path) -> None:
    """Eight times the text, and no more than a block's worth of memory more."""
    line = "some words of no great variety , said again and again .\n"
    for name, lines in (("small", 60_000), ("large", 480_000)):
        (tmp_path / name).write_text(line * lines)
    files = [str(tmp_path / "small"), str(tmp_path / "large")]
    run = subprocess.run([sys.executable, "-c", PEAK, *files], capture_output=True, text=True, check=True)
    small, large = map(int, run.stdout.split())
    assert large - small < 10, f"{small} MB, then {large} MB, of a text of 27 MB"


@pytest.mark.parametrize("moment", ["read train", "write train"])
def test_a_text_that_is_replaced_while_it_is_read_is_refused(moment: str, text: Path, out: Path) -> None:
    """Its parts would be those of two texts, and nothing would ever notice."""
    before = write_token_files(DataSettings(corpus=str(text)), out)

    def replaced(stage: str, done: int, total: int) -> None:
        if stage == moment:
            with (text / "train.txt").open("a") as file:
                file.write("one more line\n")

    settings = DataSettings(corpus=str(text), lowercase=True)
    with pytest.raises(DataError, match="was changed while it was read: try again"):
        write_token_files(settings, out, replaced)
    assert open_prepared(out).info.made_from == before.info.made_from
    again = write_token_files(settings, out)
    assert "one" in again.vocabulary.words


def test_waiting_for_another_process_is_said(
    text: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(text.parent / "cache"))
    settings = DataSettings(corpus=str(text))
    prepare(settings)
    (lock,) = (text.parent / "cache").rglob(".text-*.lock")
    monkeypatch.setattr(preparing, "waiting", partial(waiting, after=0.05))
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        threading.Timer(0.5, fcntl.flock, (held, fcntl.LOCK_UN)).start()
        prepare(settings)
    assert "waiting for another process that prepares this text" in capsys.readouterr().err


def test_a_text_is_read_by_the_rule_of_its_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another Python has other tables of letters, and would split the same text into other words."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for split in ("train", "valid", "test"):
        (tmp_path / f"{split}.txt").write_text("a né b.\nb a né.\n" * 20)
    settings = DataSettings(corpus=str(tmp_path), tokenisation="words")
    usual = prepare(settings)
    pattern = usual.tokenizer.tokenisation.pattern.replace("\u00d8-\u00f6", "\u00d8-\u00e8\u00ea-\u00f6")
    rule = tokenisation.Tokenisation("words", pattern=pattern)
    other = prepare(settings, rule=rule)
    assert "né" in usual.vocabulary.words
    assert "né" not in other.vocabulary.words
    assert other.tokenizer.tokenisation == rule
    assert prepare(settings).tokenizer == usual.tokenizer
    asked = dataclasses.replace(settings, lowercase=True)
    assert prepare(asked, rule=rule).tokenizer.tokenisation == tokenisation.Tokenisation("words", lowercase=True), (
        "of other settings"
    )


def test_links_that_were_exchanged_are_another_text(tmp_path: Path, out: Path) -> None:
    """The folds of a cross-validation: the same three files in other places."""
    fold = tmp_path / "fold"
    fold.mkdir()
    for number in range(3):
        (tmp_path / f"part{number}").write_text(f"word{number}\n" * 9)

    def link(first: int) -> None:
        for number, split in enumerate(("train", "valid", "test")):
            (fold / f"{split}.txt").unlink(missing_ok=True)
            (fold / f"{split}.txt").symlink_to(tmp_path / f"part{(first + number) % 3}")

    for first in range(3):
        link(first)
        found = write_token_files(DataSettings(corpus=str(fold)), out)
        assert f"word{first}" in found.vocabulary.words
