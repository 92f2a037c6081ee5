"""Sentence pairs: where they are found, how they are split, and what is refused with file, line and fix."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tests.parallel_text import write_pairs
from wordtie.config import BitextSettings
from wordtie.config.paths import data_folders
from wordtie.data.bitext import PARALLEL, columns_read, read_bitext
from wordtie.data.pair_batches import batch_order, by_length, pad
from wordtie.data.subword_overlap import overlap
from wordtie.data.subwords import SubwordPair, Subwords
from wordtie.errors import DataError


def words(corpus: Path, **more: object) -> BitextSettings:
    return BitextSettings(corpus=str(corpus), units="words", min_count=1, **more)  # type: ignore[arg-type]


def tsv(path: Path, count: int = 300) -> Path:
    """Each source sentence has three translations, and each third target sentence belongs to two sources."""
    lines = [f"s{n} x\tt{n} y{k if n % 3 else 0}\tnote" for n in range(count) for k in range(3)]
    lines += [f"s{n} z\tt{n} y0" for n in range(0, count, 3)]
    data = "".join(f"{line}\n" for line in lines).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.mark.parametrize("name", ["pairs.tsv", "pairs.txt.gz"])
def test_no_sentence_of_another_part_is_trained_on(name: str, tmp_path: Path) -> None:
    data = read_bitext(words(tsv(tmp_path / name), split=(0.6, 0.2, 0.2)))
    other = [data.valid, data.test]
    for side in ("source_lines", "target_lines"):
        trained = set(getattr(data.train, side))
        assert trained
        assert not trained & {line for split in other for line in getattr(split, side)}
    assert not set(data.valid.source_lines) & set(data.test.source_lines)
    assert data.repeated > 0
    assert len(data.train) + len(data.valid) + len(data.test) + data.repeated == 1000


def test_case_and_white_space_make_no_other_sentence(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    lines = [f"s {n}\tt  {n}\nS   {n} \t T {n}" for n in range(200)]
    path.write_text("".join(f"{line}\n" for line in lines))
    data = read_bitext(words(path, split=(0.6, 0.2, 0.2)))
    assert data.repeated == 0
    for part in (data.train, data.valid, data.test):
        numbers = [line.split()[1] for line in part.source_lines]
        assert numbers[::2] == numbers[1::2]


def test_the_columns_that_are_read_are_named(tmp_path: Path) -> None:
    data = read_bitext(words(tsv(tmp_path / "pairs.tsv"), source="nl", target="en", source_column=2, target_column=1))
    assert columns_read(data) == ["column 2 is read as nl, column 1 is read as en"]
    assert columns_read(read_bitext(words(write_pairs(tmp_path / "text")))) == []


def test_compressed_files_of_a_folder(tmp_path: Path) -> None:
    folder = write_pairs(tmp_path / "text")
    plain = read_bitext(words(folder))
    for name in ("train.en", "test.de"):
        (folder / f"{name}.gz").write_bytes(gzip.compress((folder / name).read_bytes()))
        (folder / name).unlink()
    assert read_bitext(words(folder)).texts == plain.texts


def test_columns_of_a_table(tmp_path: Path) -> None:
    data = read_bitext(words(tsv(tmp_path / "pairs.tsv"), source_column=2, target_column=1))
    assert data.test.source_lines[0].startswith("t")
    assert data.test.target_lines[0].startswith("s")


def test_a_folder(tmp_path: Path) -> None:
    data = read_bitext(words(write_pairs(tmp_path / "text", reverse=True)))
    assert (len(data.train), len(data.valid), len(data.test)) == (600, 40, 40)
    assert data.valid.source[3] == data.valid.target[3] == [], "a blank line of another part stays"
    tokens = sum(len(line.split()) + 1 for line in data.train.target_lines)
    assert data.train.target_tokens == tokens
    assert data.tokenisation == "space"


def test_long_and_empty_pairs_are_left_out_of_training_alone(tmp_path: Path) -> None:
    folder = write_pairs(tmp_path / "text")
    for language in ("en", "de"):
        with (folder / f"train.{language}").open("a") as file:
            file.write("\n" + "a " * 5 + "\n")
    data = read_bitext(words(folder, max_length=4))
    assert data.too_long > 1
    assert max(map(len, data.train.source)) == 4
    assert max(map(len, data.valid.source)) == 5


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda folder: (folder / "train.de").unlink(), "has no train.en with its .de beside it"),
        (lambda folder: (folder / "train.de").write_text("a\n"), "train.de: has 1 lines, but train.en has 600"),
        (lambda folder: (folder / "valid.de").write_bytes(b"a\xff\n" * 40), r"valid.de, line 1: not UTF-8"),
        (lambda folder: [(folder / f"train.{s}").write_text("\n") for s in ("en", "de")], "no words to learn"),
    ],
)
def test_folders_that_cannot_be_used(spoil: object, message: str, tmp_path: Path) -> None:
    folder = write_pairs(tmp_path / "text")
    spoil(folder)  # type: ignore[operator]
    with pytest.raises(DataError, match=message):
        read_bitext(words(folder))


@pytest.mark.parametrize(("units", "unit"), [("words", "words"), ("joint_bpe", "subwords")])
def test_a_text_without_pairs_to_train_on(units: str, unit: str, tmp_path: Path) -> None:
    """Each of its pairs has an empty side."""
    folder = write_pairs(tmp_path / "text")
    (folder / "train.en").write_text("a b\n\n")
    (folder / "train.de").write_text("\na b\n")
    with pytest.raises(DataError, match=f"no training pair has from 1 to 100 {unit} a side"):
        read_bitext(BitextSettings(str(folder), units=units, min_count=1))  # type: ignore[arg-type]


def test_tables_that_cannot_be_used(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("a\tb\nc\n")
    with pytest.raises(DataError, match=r"pairs.tsv, line 2: has 1 columns, but column 2 is needed"):
        read_bitext(words(path))
    path.write_text("a\tb\n")
    with pytest.raises(DataError, match="too few pairs for a"):
        read_bitext(words(path))
    with pytest.raises(DataError, match="no such file or folder, nor a parallel corpus by name"):
        read_bitext(words(tmp_path / "nothing"))


def test_languages_that_a_named_corpus_lacks() -> None:
    if not any((root / "tatoeba-deu-eng").is_dir() for root in data_folders()):
        pytest.skip("tatoeba-deu-eng is not on this machine")
    with pytest.raises(DataError, match="tatoeba-deu-eng: has no language fr: give en or de"):
        read_bitext(BitextSettings("tatoeba-deu-eng", target="fr"))


@pytest.mark.parametrize("name", PARALLEL)
def test_a_named_corpus_that_is_not_here(name: str, monkeypatch: pytest.MonkeyPatch, own_folder: Path) -> None:
    monkeypatch.setenv("WORDTIE_DATA", str(own_folder))
    with pytest.raises(DataError, match=f"{name}: not on this machine: put .* into"):
        read_bitext(BitextSettings(name))


RAW = ["The cat's hat, isn't it?", "  Two   dogs (small)  ", "", "日本 <eos> and <unk>"]


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    folder = tmp_path / "raw"
    folder.mkdir()
    for split in ("train", "valid", "test"):
        for language in ("en", "de"):
            (folder / f"{split}.{language}").write_text("".join(f"{line}\n" for line in RAW * 3))
    return folder


def test_subwords_give_the_line_back(raw: Path) -> None:
    data = read_bitext(BitextSettings(str(raw), vocabulary_size=120, tokenisation="words"))
    side = data.tokenizer.target
    for line, ids in zip(RAW, side.encode(RAW), strict=True):
        assert side.join(side.pieces(ids)) == " ".join(line.split())
        assert side.vocabulary.eos_id not in ids
    assert data.tokenizer.is_joint
    assert not side.is_words
    assert any(piece == "," for piece in side.vocabulary.words), "punctuation is split off raw text"


def test_lower_case_and_unknown_letters(raw: Path) -> None:
    side = read_bitext(BitextSettings(str(raw), vocabulary_size=60, lowercase=True)).tokenizer.target
    assert side.encode(["THE CAT"]) == side.encode(["the cat"])
    assert side.vocabulary.unk_id in side.encode(["the Ж"])[0]


def test_words_that_spell_the_end_of_a_sentence_are_unknown(raw: Path) -> None:
    side = read_bitext(words(raw)).tokenizer.source
    assert side.is_words
    (ids,) = side.encode(["and <eos> and"])
    assert ids[1] == side.vocabulary.unk_id


@pytest.mark.parametrize("units", ["joint_bpe", "separate_bpe", "words"])
def test_tokenizers_are_saved_and_read_back(units: str, raw: Path, tmp_path: Path) -> None:
    made = read_bitext(BitextSettings(str(raw), units=units, vocabulary_size=40, min_count=1)).tokenizer  # type: ignore[arg-type]
    made.save(tmp_path / "tokenizer.json")
    found = SubwordPair.from_bytes((tmp_path / "tokenizer.json").read_bytes())
    assert (found.source, found.target) == (made.source, made.target)
    assert found.is_joint == (units == "joint_bpe")
    if units == "joint_bpe":
        from tokenizers import Tokenizer

        theirs = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
        assert theirs.encode(RAW[0]).ids == made.source.encode(RAW[:1])[0]


def test_what_is_no_tokenizer_is_refused() -> None:
    for wrong in (b"[]", b"{}", b'{"source": 1, "target": 2}', b"{"):
        with pytest.raises(ValueError, match=r"."):
            SubwordPair.from_bytes(wrong)
    with pytest.raises(ValueError, match=r"."):
        Subwords.from_json("{}")


def test_the_subwords_that_languages_share(tmp_path: Path) -> None:
    folder = tmp_path / "text"
    folder.mkdir()
    for split in ("train", "valid", "test"):
        (folder / f"{split}.en").write_text("a b c\n" * 5)
        (folder / f"{split}.de").write_text("b c d e\n" * 5)
    for units in ("joint_bpe", "words"):
        data = read_bitext(BitextSettings(str(folder), units=units, vocabulary_size=20, min_count=1))
        found = overlap(data)
        assert (found.source_only, found.target_only, found.both) == (1, 2, 2)


def test_batches_are_of_like_length_and_the_same_again() -> None:
    source = [[0] * (n % 13 + 1) for n in range(500)]
    target = [[0] * (n % 13 + 2) for n in range(500)]
    order = batch_order(source, target, 20, seed=1, epoch=3)
    assert sorted(np_id for batch in order for np_id in batch.tolist()) == list(range(500))
    again, other = batch_order(source, target, 20, 1, 3), batch_order(source, target, 20, 1, 4)
    assert [batch.tolist() for batch in again] == [batch.tolist() for batch in order]
    assert [batch.tolist() for batch in other] != [batch.tolist() for batch in order]
    padded = sum(len(batch) * max(len(target[n]) for n in batch) for batch in order)
    assert padded < 1.1 * sum(map(len, target))


def test_padding_and_sorting() -> None:
    ids, lengths = pad([[5], [], [6, 7]], eos_id=1)
    assert ids.T.tolist() == [[5, 1], [1, 1], [6, 7]]
    assert lengths.tolist() == [1, 1, 2]
    assert list(by_length([[1], [1, 2], [1]], 2)) == [[1, 0], [2]]


def test_a_script_with_many_characters_has_no_more_subwords_than_asked_for(tmp_path: Path) -> None:
    folder = tmp_path / "text"
    folder.mkdir()
    for split in ("train", "valid", "test"):
        for language in ("en", "zh"):
            lines = ["".join(chr(0x4E00 + 7 * line + place) for place in range(9)) for line in range(40)]
            (folder / f"{split}.{language}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    side = read_bitext(BitextSettings(str(folder), target="zh", vocabulary_size=100)).tokenizer.target
    assert len(side.vocabulary) == 100


def test_a_dotted_capital_i_is_i_in_lower_case(raw: Path) -> None:
    side = read_bitext(BitextSettings(str(raw), vocabulary_size=60, lowercase=True)).tokenizer.target
    assert side.encode(["İS"]) == side.encode(["is"])
