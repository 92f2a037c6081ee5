"""Text found and read: the published counts, the ways to split, and every kind of bad input."""

import gzip
import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from wordtie.config import DataSettings
from wordtie.data import reading
from wordtie.data.corpus import SplitReader, find_corpus
from wordtie.data.encoding import encode_file
from wordtie.data.reading import Source
from wordtie.data.tokenisation import Tokenisation
from wordtie.data.tokenizer import Tokenizer
from wordtie.data.vocabulary import Vocabulary
from wordtie.errors import DataError


def read(source: Source | Path, sentences: bool = True) -> str:
    return "".join(SplitReader([Source(source) if isinstance(source, Path) else source], sentences))


def three_files(folder: Path, text: str = "a b\n") -> Path:
    for split in ("train", "valid", "test"):
        (folder / f"{split}.txt").write_text(text)
    return folder


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "text.txt"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"a b\nc\n", "a b\nc\n"),
        (b"a b\n\n\nc", "a b\n\n\nc\n"),
        (b"a b\r\n\r\nc\r\n", "a b\n\nc\n"),
        (b"\xef\xbb\xbfa b\n", "a b\n"),
        (b"a b\n\xef\xbb\xbfc\n", "a b\n\ufeffc\n"),
        (b"word", "word\n"),
        (b"a\nb\rc\n", "a\nb\rc\n"),
    ],
    ids=[
        "plain",
        "blank lines, no last line end",
        "windows",
        "byte-order mark",
        "such a mark within",
        "one word",
        "stray \\r",
    ],
)
def test_each_line_end_is_a_sentence_end(path: Path, data: bytes, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_bytes(data)
    assert read(path) == text
    assert read(path, sentences=False).split() == text.split()
    assert read(path, sentences=False).count("\n") == 1  # the document's end
    for size in (1, 2, 3):
        monkeypatch.setattr(reading, "BLOCK", size)
        assert read(path) == text


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "no words in it; give"),
        (b"\n \r\n", "no words in it; give"),
        (b"ok\nalso\nbad \xff\n", "line 3: not UTF-8; convert"),
        ("ok\nlatin é\n".encode("latin-1"), "line 2: not UTF-8; convert"),
        (b"ok\n\nnul \0 here\n", "line 3: a NUL byte.*Give UTF-8"),
        ("wide".encode("utf-16"), "line 1: UTF-16; convert"),
        (bytes(range(256)) * 9, "line 1: a NUL byte: is it a binary file"),
        (b"0\r\0", "line 1: a NUL byte: is it a binary file"),
    ],
    ids=["empty", "blank", "not UTF-8", "Latin-1", "NUL", "UTF-16", "binary", "binary with \\r"],
)
@pytest.mark.parametrize("block", [2, 1 << 20])
def test_bad_bytes_are_named_by_line(
    path: Path, data: bytes, message: str, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "BLOCK", block)
    path.write_bytes(data)
    if message.startswith("line 1: UTF-16") and block == 2:
        message = "line 1"
    with pytest.raises(DataError, match=rf"^[^\n]*text\.txt[:,] .*{message}[^\n]*$"):
        read(path)


def test_a_line_of_50_megabytes(path: Path) -> None:
    path.write_bytes(b"ok\n" + b"word " * 10_000_000)
    with pytest.raises(DataError, match=r"line 2: is longer than 10 MB: put one sentence on a line, or set data.sent"):
        read(path)
    pieces = iter(SplitReader([Source(path)], sentences=False))
    assert max(len(piece) for piece in pieces) <= 2 * reading.BLOCK
    path.write_bytes(b"ok\n" + b"x" * 11_000_000 + b"\n")
    for sentences in (True, False):
        with pytest.raises(DataError, match=r"line 2: is .*longer than 10 MB|line 2: is one word of more than 10 MB"):
            read(path, sentences)


def test_missing_and_damaged_files(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.txt: there is no such file; check"):
        read(tmp_path / "none.txt")
    with pytest.raises(DataError, match="cannot be read: Is a directory"):
        read(tmp_path)
    whole = gzip.compress(b"some words\n" * 99)
    for damaged in (b"no gzip", whole[:-9], whole[:20] + b"\0\0\0" + whole[23:]):
        (tmp_path / "text.gz").write_bytes(damaged)
        with pytest.raises(DataError, match=r"text\.gz: a damaged gzip file .*fetch it again"):
            read(tmp_path / "text.gz")


def zipped(path: Path, **texts: str) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in texts.items():
            archive.writestr(f"texts/{name}.txt", text)
    return path


def test_the_only_text_of_an_archive(tmp_path: Path) -> None:
    path = zipped(tmp_path / "text.zip", text="a b\nc d\n" * 10)
    assert read(path) == "a b\nc d\n" * 10
    splits = find_corpus(DataSettings(corpus=str(path), split=(0.5, 0.25, 0.25))).splits
    assert [read(splits[split][0]) for split in ("train", "valid", "test")] == [
        "a b\nc d\n" * 5 + "a b\n",
        "c d\na b\nc d\na b\nc d\n",
        "a b\nc d\na b\nc d\n",
    ]


def test_an_archive_that_is_not_one_text(tmp_path: Path) -> None:
    path = tmp_path / "text.zip"
    with pytest.raises(DataError, match=r"text\.zip: has 2 files in it, not one text: unpack it"):
        read(zipped(path, one="a\n", two="b\n"))
    with pytest.raises(DataError, match="has 0 files in it"):
        read(zipped(path))
    whole = zipped(path, text="some words\n" * 99).read_bytes()
    for damaged in (b"no archive", whole[:-9], whole[:60] + bytes([whole[60] ^ 255]) + whole[61:]):
        path.write_bytes(damaged)
        with pytest.raises(DataError, match=r"text\.zip: a damaged zip file .*fetch it again"):
            read(path)
    local, central = whole.index(b"PK\3\4") + 6, whole.index(b"PK\1\2") + 8
    locked = bytearray(whole)
    locked[local] |= 1  # the bit that says that a password is needed
    locked[central] |= 1
    path.write_bytes(locked)
    with pytest.raises(DataError, match=r"text\.zip: cannot be unpacked \(.*password.*\): unpack it with"):
        read(path)


def test_a_folder_needs_all_three(tmp_path: Path) -> None:
    three_files(tmp_path)
    (tmp_path / "valid.txt").rename(tmp_path / "valid.txt.gz")
    (tmp_path / "valid.txt.gz").write_bytes(gzip.compress(b"c d\n"))
    assert read(find_corpus(DataSettings(corpus=str(tmp_path))).splits["valid"][0]) == "c d\n"

    (tmp_path / "test.txt").unlink()
    with pytest.raises(DataError, match=r"has no test\.txt; give a folder with train\.txt, valid\.txt and test\.txt"):
        find_corpus(DataSettings(corpus=str(tmp_path)))
    with pytest.raises(DataError, match=r"no such file or folder, nor a corpus .*ptb, wikitext-2"):
        find_corpus(DataSettings(corpus="nothing like it"))


def test_what_is_there_twice_or_leads_nowhere_is_refused(tmp_path: Path) -> None:
    for split in ("train", "valid", "test"):
        (tmp_path / f"{split}.txt").write_text("a b\n")
    settings = DataSettings(corpus=str(tmp_path))
    (tmp_path / "train.txt.gz").write_bytes(gzip.compress(b"new words\n"))
    with pytest.raises(DataError, match=r"has train\.txt and train\.txt\.gz: remove one"):
        find_corpus(settings)
    (tmp_path / "train.txt.gz").unlink()
    (tmp_path / "valid.txt").unlink()
    (tmp_path / "valid.txt").symlink_to("nowhere")
    with pytest.raises(DataError, match=r"valid\.txt: is a link to a file that is not there"):
        find_corpus(settings)


@pytest.mark.parametrize("suffix", [".txt", ".txt.gz"])
@pytest.mark.parametrize("sentences", [True, False])
def test_one_file_is_split_where_it_may_be(tmp_path: Path, suffix: str, sentences: bool) -> None:
    path = tmp_path / f"text{suffix}"
    lines = [f"line {number} of it" for number in range(100)]
    data = ("\n" if sentences else " ").join(lines).encode()
    path.write_bytes(gzip.compress(data) if suffix.endswith("gz") else data)
    settings = DataSettings(corpus=str(path), split=(0.8, 0.1, 0.1), sentences=sentences)
    parts = {split: read(sources[0], sentences) for split, sources in find_corpus(settings).splits.items()}
    assert "".join(parts.values()).split() == " ".join(lines).split()
    assert [round(len(part) / len(data), 1) for part in parts.values()] == [0.8, 0.1, 0.1]
    if sentences:
        assert "".join(parts.values()).splitlines() == lines


def test_errors_in_a_part_name_the_files_own_line(path: Path) -> None:
    path.write_bytes(b"some words\n" * 97 + b"bad \xff\n" + b"some words\n" * 2)
    source = find_corpus(DataSettings(corpus=str(path))).splits["test"][0]
    with pytest.raises(DataError, match="line 98"):
        read(source)


@pytest.mark.parametrize("text", ["one line\n", "two\nlines"])
def test_too_few_lines_to_split(path: Path, text: str) -> None:
    path.write_text(text)
    with pytest.raises(DataError, match="too few lines to split"):
        find_corpus(DataSettings(corpus=str(path)))


def test_lines_may_be_documents(path: Path) -> None:
    path.write_text("1\ta|b\n2\tc\n\n3\td|e\n")
    source = Source(path, clean=lambda line: line.partition("\t")[2].replace("|", "\n"), documents=True)
    assert read(source) == "a\nb\nc\nd\ne\n"
    assert read(source, sentences=False) == "a b\nc\nd e\n"
    every_other = Source(path, chosen=lambda number, line: number % 2 == 0, clean=source.clean, documents=True)
    assert read(every_other) == "a\nb\n"


def test_auto_takes_the_tokenisation_from_the_text(tmp_path: Path) -> None:
    three_files(tmp_path, "Raw text, that is.\n")
    assert find_corpus(DataSettings(corpus=str(tmp_path))).tokenisation == "words"
    assert find_corpus(DataSettings(corpus=str(tmp_path), tokenisation="space")).tokenisation == "space"


def test_a_new_file_or_stdin(path: Path) -> None:
    tokenizer = Tokenizer(Tokenisation("space"), Vocabulary(["<unk>", "<eos>", "a"]))
    path.write_text("a b <unk>\n\na\n")
    ids, stats = encode_file(path, tokenizer)
    assert ids.tolist() == [2, 0, 0, 1, 1, 2, 1]
    assert ids.dtype == np.int32
    assert (stats.tokens, stats.oov, stats.unk, stats.eos, stats.bytes) == (7, 1, 1, 3, 13)
    with path.open() as text, path.open("rb") as binary:
        for handle in (text, binary, io.StringIO(path.read_text()), io.BytesIO(path.read_bytes())):
            again, same = encode_file(handle, tokenizer)
            assert again.tolist() == ids.tolist()
            assert same == stats
    with pytest.raises(DataError, match="text: has no words"):
        encode_file(io.BytesIO(b""), tokenizer)
