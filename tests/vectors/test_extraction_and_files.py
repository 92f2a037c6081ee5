"""Word vectors: in and out of files, out of run folders, neighbours and analogies."""

from __future__ import annotations

import gzip
import json
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from wordtie import cli
from wordtie.config import ModelSettings
from wordtie.data.tokenisation import Tokenisation
from wordtie.data.tokenizer import Tokenizer
from wordtie.data.vocabulary import Vocabulary
from wordtie.errors import DataError, RunFolderError, SaveError
from wordtie.models.language_model import LanguageModel
from wordtie.runs.run_folder import write_model
from wordtie.vectors.extraction import open_vectors, sides, vectors_of
from wordtie.vectors.files import Format, read_vectors, write_vectors
from wordtie.vectors.word_vectors import WordVectors

WORDS = ["the", "König", "queen", "10"]
FORMATS: list[Format] = ["text", "binary", "npy"]


def some(counts: bool = True) -> WordVectors:
    matrix = np.random.default_rng(1).normal(size=(4, 3)).astype(np.float32)
    return WordVectors(WORDS, matrix, [9, 5, 2, 1] if counts else None)


def run_folder(path: Path, kind: str = "word2vec", tied: bool = False) -> Path:
    words = ("the", "<eos>", "cat", "<unk>")
    tensors = {"embedding.weight": torch.arange(8.0).reshape(4, 2)}
    if not tied:
        tensors["head.weight"] = -torch.arange(8.0).reshape(4, 2)
    settings: dict[str, Any] = {"word2vec": {"vector_size": 2}}
    if kind == "word2vec":
        tensors["counts"] = torch.tensor([7, 0, 3, 0])
    else:
        settings = {"model": {"hidden": 2}}
        tensors = {**LanguageModel(ModelSettings(hidden=2), len(words)).state_dict(), **tensors}
    config = {"words": len(words), "settings": settings}
    write_model(path, kind, config, tensors, Tokenizer(Tokenisation("space"), Vocabulary(words)))
    return path


def test_files_and_folders_are_named_by_str_or_path(tmp_path: Path) -> None:
    run = run_folder(tmp_path / "run")
    for name in (str, Path):
        assert list(vectors_of(name(run)).words) == list(open_vectors(name(run)).words) == ["the", "cat"]
        assert [*sides(name(run))] == ["input", "output"]
        assert write_vectors(some(), name(tmp_path / "v"), "text")[0] == tmp_path / "v"
        assert read_vectors(name(tmp_path / "v")).name == open_vectors(name(tmp_path / "v")).name == str(tmp_path / "v")
    np.testing.assert_array_equal(open_vectors(f"{run}:output").matrix_VE, vectors_of(str(run), "output").matrix_VE)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("counts", [True, False], ids=["counts", "no counts"])
def test_what_is_written_is_read(form: Format, counts: bool, tmp_path: Path) -> None:
    path = tmp_path / ("v.npy" if form == "npy" else "v")
    written = write_vectors(some(counts), path, form)
    assert written[0] == path
    assert len(written) == (2 if counts or form == "npy" else 1)
    back = read_vectors(path)
    assert list(back.words) == WORDS
    np.testing.assert_array_equal(back.matrix_VE, some().matrix_VE)
    assert back.counts == ([9, 5, 2, 1] if counts else None)


@pytest.mark.parametrize(("form", "word"), [("text", "New York"), ("binary", "New York"), ("npy", "a\nb"), ("npy", "")])
def test_a_word_that_the_format_cannot_hold_is_refused(form: Format, word: str, tmp_path: Path) -> None:
    vectors = WordVectors(["the", word], np.eye(2, dtype=np.float32), [2, 1])
    with pytest.raises(DataError, match=f"cannot be written as {form}"):
        write_vectors(vectors, tmp_path / "v.npy", form)
    assert not any(tmp_path.iterdir())
    odd = WordVectors(["a\u2028b", "c\x85d"], np.eye(2, dtype=np.float32), [2, 1])
    write_vectors(odd, tmp_path / "odd.npy", "npy")
    assert list(read_vectors(tmp_path / "odd.npy").words) == odd.words
    if word == "New York":
        write_vectors(vectors, tmp_path / "v.npy", "npy")
        assert list(read_vectors(tmp_path / "v.npy").words) == ["the", "New York"]


@pytest.mark.parametrize("form", ["text", "binary"])
def test_gensim_reads_them_and_we_read_gensims(form: Format, tmp_path: Path) -> None:
    models = pytest.importorskip("gensim.models")
    path = tmp_path / "v"
    binary = form == "binary"
    write_vectors(some(), path, form)
    found = models.KeyedVectors.load_word2vec_format(path, fvocab=f"{path}.vocab", binary=binary)
    assert found.index_to_key == WORDS
    np.testing.assert_array_equal(found.vectors, some().matrix_VE)
    assert [found.get_vecattr(word, "count") for word in WORDS] == [9, 5, 2, 1]
    found.save_word2vec_format(tmp_path / "theirs", binary=binary)
    back = read_vectors(tmp_path / "theirs")
    assert list(back.words) == WORDS
    np.testing.assert_allclose(back.matrix_VE, some().matrix_VE, rtol=1e-5)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"2 3\na 1 2 3\nb 1 2\n", "line 3: 2 numbers, but line 1 promises 3"),
        (b"2 3\na 1 2 3\nb 1 2 3 4\n", "line 3: 4 numbers"),
        (b"a 1 2 3\nb 1 2 3\n", "line 1: must be the number of words and the vector size"),
        (b"", "line 1: must be"),
        (b"0 3\n", "line 1: must be"),
        (b"3 3\na 1 2 3\nb 1 2 3\n", "2 rows, but line 1 promises 3"),
        (b"1 3\na 1 2 3\nb 1 2 3\n", "line 3: more rows than the 1"),
        (b"2 3\na 1 2 3\na 1 2 3\n", "'a' comes twice"),
        (b"2 3\na 1 2 3\nb 1 nan 3\n", "line 3: the vector of 'b' has NaN"),
        (b"2 3\na 1 2 3\nb 1 2e3e 3\n", "line 3: could not convert"),
        (b"99999999 300\na 1 2\n", "more than the file can hold"),
        (b"1 300000000000000000\na 1 2\n", "more than the file can hold"),
        (b"2 2\nthe 0.1 0,2\nof 0.3 0.4\n", "line 2: could not convert .*'0,2'; a row is a word without blanks and"),
        (b"1 2\nNew York 0.1 0.2\n", "line 2: could not convert .*'York'"),
        ("1 2\nder Käse 0.1 0.2\n".encode(), "line 2: could not convert .*'Käse'"),
        (b"2 3\n" + b"a " + np.arange(3, dtype="<f4").tobytes(), "cut off"),
        (b"2 3\n" + b"a " + np.full(3, np.nan, "<f4").tobytes() + b"b " + bytes(12), "'a' has numbers that are NaN"),
        (b"1 3\n" + b"a " + np.arange(3, dtype="<f4").tobytes() + b"b " + bytes(12), "has more than the"),
    ],
)
def test_a_bad_file_is_named_in_one_line(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.vec"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message) as error:
        read_vectors(path)
    assert str(path) in str(error.value)


def test_a_line_end_within_a_binary_number_is_none(tmp_path: Path) -> None:
    path = tmp_path / "v.bin"
    numbers = np.frombuffer(b"\n\x00\x80?12\n?", "<f4")
    path.write_bytes(b"1 2\na " + numbers.tobytes())
    np.testing.assert_array_equal(read_vectors(path).matrix_VE, [numbers])


@pytest.mark.parametrize("form", ["text", "binary"])
def test_packed_files_and_a_byte_order_mark(form: Format, tmp_path: Path) -> None:
    write_vectors(some(), tmp_path / "v", form)
    content = b"\xef\xbb\xbf" + (tmp_path / "v").read_bytes()
    (tmp_path / "v").write_bytes(content)
    (tmp_path / "v.gz").write_bytes(gzip.compress(content))
    for name in ("v", "v.gz"):
        back = read_vectors(tmp_path / name)
        assert list(back.words) == WORDS
        np.testing.assert_array_equal(back.matrix_VE, some().matrix_VE)
    (tmp_path / "v.gz").write_bytes(gzip.compress(content)[:-9])
    with pytest.raises(DataError, match=r"v\.gz: a damaged gzip file"):
        read_vectors(tmp_path / "v.gz")


def test_a_packed_file_may_be_much_smaller_than_its_numbers(tmp_path: Path) -> None:
    path = tmp_path / "v.txt.gz"
    path.write_bytes(gzip.compress(b"1 9999\na" + b" 0" * 9999 + b"\n"))
    assert read_vectors(path).matrix_VE.shape == (1, 9999)
    path.write_bytes(gzip.compress(b"99999999 300\na 1 2\n"))
    with pytest.raises(DataError, match="more than the file can hold"):
        read_vectors(path)


def test_a_bad_npy_is_named(tmp_path: Path) -> None:
    path = tmp_path / "bad.npy"
    np.save(path, np.ones((2, 3)))
    whole = path.read_bytes()
    not_archives = (b"PK\x03\x04" + bytes(40), whole.replace(b"(2, 3)", b"(2, a)"), whole.replace(b"(2, 3)", b"2, 3) "))
    for content in (b"no", b"", whole.replace(b"}", b" "), *not_archives):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"not an \.npy file"):
            read_vectors(path)
    with path.open("wb") as file:
        np.savez(file, np.eye(3))
    with pytest.raises(DataError, match="an archive of arrays"):
        read_vectors(path)
    np.save(path, np.arange(6))
    with pytest.raises(DataError, match="must be a matrix of floats"):
        read_vectors(path)
    np.save(path, np.ones((2, 3)))
    with pytest.raises(DataError, match=r"bad\.npy\.vocab: missing"):
        read_vectors(path)
    Path(f"{path}.vocab").write_text("a 1\n")
    with pytest.raises(DataError, match="1 words for 2 rows"):
        read_vectors(path)
    Path(f"{path}.vocab").write_text("a 1\nb\n")
    with pytest.raises(DataError, match="line 2: must be a word"):
        read_vectors(path)
    Path(f"{path}.vocab").write_bytes(b"a 1\ncaf\xe9 1\n")
    with pytest.raises(
        DataError, match=r"npy\.vocab, line 2: not UTF-8; convert it with `iconv -f windows-1252 -t utf-8`"
    ):
        read_vectors(path)


def test_counts_of_other_vectors_are_not_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "v.txt"
    write_vectors(some(), path, "text")
    with pytest.raises(SaveError, match=r"v\.txt\.vocab: holds counts of other vectors"):
        write_vectors(some(counts=False), path, "text")
    assert read_vectors(path).counts == some().counts, "what was there is still there"


def test_blank_lines_at_the_end_are_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "v.txt"
    path.write_text("1 2\na 1 2\n\n \n")
    assert list(read_vectors(path).words) == ["a"]


def test_sides_of_a_model(tmp_path: Path) -> None:
    run = run_folder(tmp_path / "run")
    first, second = sides(run).values()
    assert list(first.words) == ["the", "cat"]
    assert first.counts == [7, 3]
    assert first.matrix_VE.tolist() == [[0, 1], [4, 5]]
    assert second.matrix_VE.tolist() == [[0, -1], [-4, -5]]
    np.testing.assert_array_equal(open_vectors(f"{run}:output").matrix_VE, second.matrix_VE)
    with pytest.raises(DataError, match="is not tied"):
        vectors_of(run, "tied")
    tied = run_folder(tmp_path / "tied", "language_model", tied=True)
    (only,) = sides(tied).values()
    assert only.counts is None
    assert list(only.words) == ["the", "<eos>", "cat", "<unk>"]
    np.testing.assert_array_equal(vectors_of(tied, "output").matrix_VE, only.matrix_VE)


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such vectors file or run folder"):
        open_vectors(str(tmp_path / "gone"))
    with pytest.raises(RunFolderError, match="no run folder"):
        open_vectors(str(tmp_path))
    with pytest.raises(RunFolderError, match="has no word vectors: take the run of a network"):
        open_vectors(str(run_folder(tmp_path / "run", kind="table")))


@pytest.mark.parametrize("scale", [1e20, 1, 1e-25])
def test_likeness_does_not_depend_on_length(scale: float) -> None:
    vectors = WordVectors(["a", "b"], np.array([[1, 2], [2, 1]], np.float32) * np.float32(scale))
    assert vectors.neighbours("a", 1)[0][1] == pytest.approx(0.8)


def test_neighbours_and_analogies() -> None:
    words = ["king", "Queen", "man", "woman", "zero"]
    matrix = np.array([[1, 0, 1], [0, 1, 1], [1, 0, 0], [0, 1, 0], [0, 0, 0]], np.float32)
    vectors = WordVectors(words, matrix)
    assert vectors.neighbours("king", 1)[0][0] == "man"
    assert vectors.neighbours("king", 1)[0][1] == pytest.approx(0.5**0.5)
    assert vectors.analogy("man", "king", "woman", 1)[0][0] == "Queen"
    assert vectors.neighbours("queen", 1)[0][0] == "woman"  # without regard to case, where that is the only one
    assert len(vectors.neighbours("king", 99)) == 4
    assert [word for word, _ in vectors.analogy("man", "king", "woman", 2)] == ["Queen", "zero"]
    with pytest.raises(DataError, match="has no vector of 'prince'"):
        vectors.neighbours("prince")
    with pytest.raises(DataError, match=r"'womman': did you mean 'woman'\?"):
        vectors.neighbours("womman")


def test_a_word_is_found_as_it_is_written_or_else_the_most_frequent_that_differs_in_case() -> None:
    vectors = WordVectors(["US", "Us", "us"], np.eye(3, dtype=np.float32))
    assert [vectors.row(word) for word in ("us", "Us", "uS", "them")] == [2, 1, 0, None]


def test_a_word_is_found_in_any_unicode_form() -> None:
    composed, decomposed = (unicodedata.normalize(form, "élève") for form in ("NFC", "NFD"))
    for written in (composed, decomposed):
        vectors = WordVectors(["le", written], np.eye(2, dtype=np.float32))
        assert [vectors.row(word) for word in (composed, decomposed, decomposed.upper(), "eleve")] == [1, 1, 1, None]
        assert vectors.neighbours(decomposed) == [("le", 0.0)]
    both = WordVectors([composed, decomposed], np.eye(2, dtype=np.float32))
    assert [both.row(word) for word in (composed, decomposed)] == [0, 1]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_folder(tmp_path / "run")

    def out(*arguments: str) -> str:
        assert cli.main(["vectors", *arguments]) == 0
        return capsys.readouterr().out

    assert out("run") == "run.vectors.txt\nrun.vectors.txt.vocab\n"
    assert Path("run.vectors.txt").read_text() == "2 2\nthe 0 1\ncat 4 5\n"
    assert Path("run.vectors.txt.vocab").read_text() == "the 7\ncat 3\n"
    assert cli.main(["vectors", "run"]) == SaveError.exit_code
    assert "run.vectors.txt: is there already: name the file with --out" in capsys.readouterr().err
    assert out("run", "--side", "output", "--format", "binary") == "run.vectors.bin\nrun.vectors.bin.vocab\n"
    assert out("run.vectors.txt", "--neighbours", "the").splitlines() == ["word\tcosine", "cat\t0.780869"]
    found: Any = json.loads(out("run", "--analogy", "the", "the", "the", "--json"))
    assert [each["word"] for each in found] == ["cat"]
    assert out("run", "--picture", "map.html", "--words", "the") == "map.html\n"
    assert cli.main(["vectors", "run.vectors.txt", "--side", "input"]) == 2
    assert "--side is for run folders" in capsys.readouterr().err
    assert out("run", "--out", "named.npy") == "named.npy\nnamed.npy.vocab\n"
    assert np.load("named.npy").tolist() == [[0, 1], [4, 5]]
    assert out("run", "--out", "named.bin") == "named.bin\nnamed.bin.vocab\n"
    assert Path("named.bin").read_bytes().startswith(b"2 2\nthe \x00\x00")
    assert out("run:output") == "run-output.vectors.txt\nrun-output.vectors.txt.vocab\n"
    monkeypatch.chdir("run")
    assert out(".", "--format", "npy") == "run.vectors.npy\nrun.vectors.npy.vocab\n"
    monkeypatch.chdir("..")
    for wrong, message in [
        (["gone", "--side", "input"], "gone: no run folder"),
        (["run", "--words", "the"], "--words is for the picture"),
        (["run", "--neighbours", "the", "--out", "file"], "--out is for a vectors file"),
        (["run", "--analogy", "the", "cat", "the", "--out", "file"], "--out is for a vectors file"),
        (["run", "--picture", "map.html", "--out", "file"], "--out is for a vectors file"),
        (["run", "--neighbours", ""], "--neighbours is empty: name a word"),
        (["run", "--picture", ""], "--picture is empty: name an HTML file"),
        (["run", "--neighbours", "the", "--format", "npy"], "--format is for a vectors file"),
        (["run", "--out", ""], "--out is empty: name a file"),
        (["run", "--out", "v.bin.gz"], "v.bin.gz: a vectors file is written plain: leave out .gz"),
        (["run", "--format", "text", "--out", "v.npy"], "v.npy: the ending .npy is for --format npy"),
        (["run", "--format", "npy", "--out", "v.txt"], "v.txt: a file of --format npy must end in .npy"),
    ]:
        assert cli.main(["vectors", *wrong]) > 0
        assert message in capsys.readouterr().err
