"""Sentence pairs: find them, read them, split them, learn their subwords, and encode them.

A parallel corpus is a folder whose files have the languages as suffixes (`train.en`, `train.de`, `valid.en`, ...), a
TSV file that is split here, or a name of `PARALLEL`. The files of a pair have the same number of lines, and line n of
one is the translation of line n of the other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from wordtie.config.paths import cache_folder, data_folders, path_of
from wordtie.config.translation import BitextSettings
from wordtie.data.checksums import check_files
from wordtie.data.download import CorpusFile
from wordtie.data.reading import Source, byte_blocks, decoded, opened
from wordtie.data.subwords import SubwordPair, learn_subwords
from wordtie.data.tokenisation import Kind, looks_like
from wordtie.errors import DataError

Lines: TypeAlias = list[str]
SPLITS = ("train", "valid", "test")
NAMES = {"train": ("train",), "valid": ("valid", "val", "dev"), "test": ("test", "test_2016_flickr")}
"""Names that the files of a split may have, before the language."""
SAMPLE = 1000
"""Target sentences from which to guess whether a text is tokenised."""


@dataclass(frozen=True)
class Parallel:
    """A parallel corpus with a name."""

    title: str
    licence: str
    files: tuple[CorpusFile, ...]
    columns: Mapping[str, int] = field(default_factory=dict)
    """Column of each language in a TSV file, from 1; empty for other files."""


PARALLEL: Mapping[str, Parallel] = {
    "multi30k": Parallel(
        "Multi30k, task 1 (Elliott et al. 2016), lower-cased and tokenised: 29,000 image descriptions",
        "free for research; Flickr30k's terms",
        (
            CorpusFile("train.en", "08925f8e0572bcd5a006702fc5fe20e2d77c6917d4eebd576fc20de6693c2119"),
            CorpusFile("train.de", "cb5a23529b65ec2061f1dc446192a9c37382b63cc75f81a0be59d34894b3a505"),
            CorpusFile("val.en", "46573ce391ae227f1c72f873392436a20ef18e0a6d518098cfbd70b77c8572ec"),
            CorpusFile("val.de", "97232bd273eceb7207f689527386a97e4be2616b18ada47576bdaf96c8ae1f00"),
            CorpusFile("test_2016_flickr.en", "5b7f32627cf99eced828311b955dae9800bb52bc8b91cf8b6526829e605b29d2"),
            CorpusFile("test_2016_flickr.de", "c6a33d39d48f9f510de147651316cd9d918e09ad0219df734a2f16b6baccacc4"),
        ),
    ),
    "tatoeba-deu-eng": Parallel(
        "Tatoeba, English and German (manythings.org/anki), 169,197 sentence pairs",
        "CC BY 2.0 FR",
        (CorpusFile("deu.txt.gz", "68896194e44bad35684537d6882de5af1e6442ea42f9612433e4b8bf22136e7d"),),
        {"en": 1, "de": 2},
    ),
}
"""Parallel corpora by name, looked for in `$WORDTIE_DATA` and in the cache folder."""


@dataclass(frozen=True)
class Split:
    """The pairs of one part of the text."""

    source_lines: Lines
    target_lines: Lines
    source: list[list[int]]
    """Ids of each line, without `<eos>`."""
    target: list[list[int]]

    def __len__(self) -> int:
        return len(self.source)

    @property
    def target_tokens(self) -> int:
        """Number of target tokens that a perplexity is over, with an `<eos>` for each sentence."""
        return sum(map(len, self.target)) + len(self.target)


@dataclass(frozen=True)
class Bitext:
    """A parallel corpus as ids."""

    train: Split
    valid: Split
    test: Split
    tokenizer: SubwordPair
    tokenisation: Kind
    texts: dict[str, str]
    """SHA-256 of the pairs of each split, as read."""
    too_long: int
    """Training pairs that were left out for their length, or because a side is empty."""
    repeated: int
    """Training pairs of a TSV file that were left out because their target sentence is in another part."""
    columns: Mapping[str, int] = field(default_factory=dict)
    """Column of each language in a TSV file, from 1; empty for other text."""


def read_bitext(settings: BitextSettings) -> Bitext:
    """Read, split, learn subwords and encode. Raises `DataError` for pairs that cannot be used."""
    pairs, repeated, columns = _pairs(settings)
    texts = {split: _sha256(*lines) for split, lines in pairs.items()}
    sample = "\n".join(pairs["train"][1][:SAMPLE])
    kind = looks_like(sample) if settings.tokenisation == "auto" else settings.tokenisation
    tokenizer = _learnt(settings, *pairs["train"], kind)
    splits = {
        split: Split(*lines, tokenizer.source.encode(lines[0]), tokenizer.target.encode(lines[1]))
        for split, lines in pairs.items()
    }
    kept = _short_enough(splits["train"], settings.max_length)
    if not len(kept):
        unit = "words" if settings.units == "words" else "subwords"
        raise DataError(f"{settings.corpus}: no training pair has from 1 to {settings.max_length} {unit} a side")
    too_long = len(splits["train"]) - len(kept)
    return Bitext(kept, splits["valid"], splits["test"], tokenizer, kind, texts, too_long, repeated, columns)


def _learnt(settings: BitextSettings, source: Lines, target: Lines, kind: Kind) -> SubwordPair:
    if settings.units == "joint_bpe":
        joint = learn_subwords(settings, [*source, *target], kind)
        return SubwordPair(joint, joint)
    return SubwordPair(*(learn_subwords(settings, lines, kind) for lines in (source, target)))


def _short_enough(split: Split, most: int) -> Split:
    kept = [
        n
        for n, pair in enumerate(zip(split.source, split.target, strict=True))
        if all(0 < len(s) <= most for s in pair)
    ]
    parts = (split.source_lines, split.target_lines, split.source, split.target)
    return Split(*([part[n] for n in kept] for part in parts))  # type: ignore[arg-type]


def _sha256(source: Lines, target: Lines) -> str:
    digest = hashlib.sha256()
    for pair in zip(source, target, strict=True):
        digest.update("\t".join(pair).encode() + b"\n")
    return digest.hexdigest()


def _pairs(settings: BitextSettings) -> tuple[dict[str, tuple[Lines, Lines]], int, Mapping[str, int]]:
    """Return the lines of each split, the number of training pairs that were left out because their target sentence is
    in another part, and the columns of a TSV file."""
    name, path = settings.corpus, path_of(settings.corpus)
    columns: Mapping[str, int] = {
        settings.source: settings.source_column,
        settings.target: settings.target_column,
    }
    if name in PARALLEL and not path.exists():
        entry, folder = PARALLEL[name], locate_parallel(name)
        if not entry.columns:
            return {split: _files(folder, split, settings) for split in SPLITS}, 0, {}
        for language in (settings.source, settings.target):
            if language not in entry.columns:
                raise DataError(f"{name}: has no language {language}: give {' or '.join(entry.columns)}")
        path = folder / entry.files[0].name
        columns = {language: entry.columns[language] for language in columns}
    if path.is_dir():
        return {split: _files(path, split, settings) for split in SPLITS}, 0, {}
    if not path.is_file():
        raise DataError(f"{name}: no such file or folder, nor a parallel corpus by name ({', '.join(PARALLEL)})")
    return *_split(_tsv(path, (columns[settings.source], columns[settings.target])), settings, path), columns


def locate_parallel(name: str) -> Path:
    """Return the folder of a parallel corpus. Raises `DataError` if it is not on this machine, and its subclass
    `UnusableFileError` for a file that is not the known one."""
    entry = PARALLEL[name]
    for root in (*data_folders(), cache_folder()):
        if all((root / name / file.name).is_file() for file in entry.files):
            check_files(root / name, entry.files)
            return root / name
    files = ", ".join(file.name for file in entry.files)
    raise DataError(f"{name}: not on this machine: put {files} into $WORDTIE_DATA/{name}")


def _files(folder: Path, split: str, settings: BitextSettings) -> tuple[Lines, Lines]:
    for name in NAMES[split]:
        paths = [_plain_or_gz(folder / f"{name}.{language}") for language in (settings.source, settings.target)]
        if all(path.is_file() for path in paths):
            source, target = ([line for _, line in numbered_lines(path)] for path in paths)
            if len(source) != len(target):
                raise DataError(
                    f"{paths[1]}: has {len(target):,} lines, but {paths[0].name} has {len(source):,}: line n of one "
                    "must be the translation of line n of the other"
                )
            if not source:
                raise DataError(f"{paths[0]}: has no lines; give a file with sentences")
            return source, target
    wanted = " or ".join(f"{name}.{settings.source}" for name in NAMES[split])
    raise DataError(f"{folder}: has no {wanted} with its .{settings.target} beside it")


def _plain_or_gz(path: Path) -> Path:
    packed = path.with_name(f"{path.name}.gz")
    return packed if packed.is_file() and not path.is_file() else path


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a UTF-8 file, plain or .gz, with their numbers. Raises `DataError`."""
    with opened(Source(path)) as handle:
        number = 0
        for first, data in byte_blocks(handle, str(path), hint="cut it into shorter lines"):
            for line in decoded(data, str(path), first, begins=first == 1).removesuffix("\n").split("\n"):
                number += 1
                yield number, line


def _tsv(path: Path, columns: tuple[int, int]) -> tuple[Lines, Lines]:
    source, target = [], []
    for number, line in numbered_lines(path):
        cells = line.split("\t")
        if len(cells) < max(columns):
            raise DataError(f"{path}, line {number}: has {len(cells)} columns, but column {max(columns)} is needed")
        source.append(cells[columns[0] - 1].strip())
        target.append(cells[columns[1] - 1].strip())
    return source, target


def _split(
    lines: tuple[Lines, Lines], settings: BitextSettings, path: Path
) -> tuple[dict[str, tuple[Lines, Lines]], int]:
    """Split pairs by a hash of the source sentence: its translations are in one part, the same one on every machine.

    Sentences that differ only in case or white space count as the same.
    """
    found: dict[str, tuple[Lines, Lines]] = {split: ([], []) for split in SPLITS}
    for source, target in zip(*lines, strict=True):
        share = int.from_bytes(hashlib.sha256(_folded(source).encode()).digest()[:6], "big") / 2**48
        split = "train" if share < settings.split[0] else "valid" if share < sum(settings.split[:2]) else "test"
        found[split][0].append(source)
        found[split][1].append(target)
    elsewhere = {_folded(target) for split in ("valid", "test") for target in found[split][1]}
    kept = [pair for pair in zip(*found["train"], strict=True) if _folded(pair[1]) not in elsewhere]
    repeated = len(found["train"][0]) - len(kept)
    found["train"] = ([source for source, _ in kept], [target for _, target in kept])
    for split, (left, _) in found.items():
        if not left:
            raise DataError(f"{path}: has too few pairs for a {split} part: give more, or change data.split")
    return found, repeated


def _folded(sentence: str) -> str:
    return " ".join(sentence.split()).casefold()


def columns_read(data: Bitext) -> list[str]:
    """Return a note on the languages that the columns of a TSV file are read as; none for other text."""
    found = [f"column {column} is read as {language}" for language, column in data.columns.items()]
    return [", ".join(found)] if found else []
