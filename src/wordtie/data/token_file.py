"""Text once, ids ever after: each split as a memory-mapped array, beside the tokenizer that made it.

`prepare` reads a corpus once, with only its distinct words in memory: words are written as numbers in order of first
occurrence, then the vocabulary is chosen from their counts and the numbers are replaced by ids. A prepared folder holds
`train.ids`, `valid.ids` and `test.ids` (numpy's .npy format, int32, so that `np.load(..., mmap_mode="r")` opens them),
`tokenizer.json`, and `data.json`, written last, which says what was read and counted.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import tokenize
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordtie.config import DataSettings
from wordtie.config.paths import path_of
from wordtie.data.batches import spread
from wordtie.data.corpus import SPLITS, Corpus, SplitReader, find_corpus
from wordtie.data.encoding import Ids, TextStats, WordNumbers
from wordtie.data.tokenisation import UNK_POLICY, Tokenisation, usual
from wordtie.data.tokenizer import Tokenizer
from wordtie.data.vocabulary import EOS, UNK, Vocabulary
from wordtie.errors import DataError, RunFolderError
from wordtie.storage.atomic import replace_files, saving
from wordtie.storage.strict_json import conform, parse

OnProgress: TypeAlias = Callable[[str, int, int], None]
"""Callback that takes the stage, how much of it is done, and the total."""
Counts: TypeAlias = NDArray[np.int64]

VERSION = 4
"""Version of the prepared folder and of the catalogue's splits; a folder of another version is prepared again."""
_TOKENIZER, _INFO = "tokenizer.json", "data.json"
_CHUNK = 1 << 20
"""Ids in memory at a time, once the text is read."""


@dataclass(frozen=True)
class Policy:
    """The choices that determine what a perplexity over these ids means."""

    tokenisation: str
    lowercase: bool
    min_count: int
    """Least number of occurrences of a word in the vocabulary."""
    sentences: bool
    vocabulary: str
    unk: str
    eos: str


@dataclass(frozen=True)
class MadeFrom:
    """What determines the ids."""

    settings: dict[str, Any]
    """The data settings, as plain values."""
    tokenisation: str
    files: dict[str, list[int]]
    """Each file's size, times of change (`tar` keeps the first) and inode number, by its path."""


@dataclass(frozen=True)
class PreparedInfo:
    """`data.json`: what was read and counted."""

    version: int
    corpus: str
    vocabulary_size: int
    distinct_words: int
    policy: Policy
    splits: dict[str, TextStats]
    made_from: MadeFrom

    @classmethod
    def read(cls, path: Path) -> PreparedInfo:
        """Read the file. Raises `OSError` or `ValueError`."""
        values = parse(path.read_bytes())
        if isinstance(values, dict) and values.get("version", VERSION) != VERSION:
            raise ValueError(f"version {values['version']}, not {VERSION}")
        conform(values, cls)
        fields = dict(values)
        policy, made_from = Policy(**fields.pop("policy")), MadeFrom(**fields.pop("made_from"))
        splits = {split: TextStats(**stats) for split, stats in fields.pop("splits").items()}
        return cls(**fields, policy=policy, splits=splits, made_from=made_from)


@dataclass(frozen=True)
class PreparedData:
    """A corpus as ids, (N,) int32 each, memory-mapped and read-only."""

    train: Ids
    valid: Ids
    test: Ids
    tokenizer: Tokenizer
    info: PreparedInfo

    @property
    def vocabulary(self) -> Vocabulary:
        """The tokenizer's vocabulary."""
        return self.tokenizer.vocabulary

    @property
    def texts(self) -> dict[str, str]:
        """SHA-256 of the text of each split."""
        return {split: stats.sha256 for split, stats in self.info.splits.items()}

    def measured(self, split: str, tokens: int | None) -> NDArray[np.integer[Any]]:
        """Return about `tokens` tokens of a split, spread over it; all for None."""
        ids: Ids = getattr(self, split)
        return spread(ids, tokens, eos_id=self.tokenizer.sentence_end)


def write_token_files(
    settings: DataSettings,
    folder: Path,
    progress: OnProgress | None = None,
    download: bool = True,
    rule: Tokenisation | None = None,
) -> PreparedData:
    """Read the corpus of the settings into `folder`, or reuse what is there if neither it nor they have changed.

    `progress` is called with `read train` and the like, in bytes of text (with a total of 0 if it is not known, as for
    compressed files), and with `write train` and the like, in ids. `download`: get a named corpus that is not here.
    `rule`: that of a model of this text, which another Python may have made; it is used if the settings ask for it.
    Raises `DataError` for a text that cannot be used, `SaveError` if the folder cannot be written: prepared data that
    was there before is then left unchanged.
    """
    base = None if settings.extends is None else _base(settings, settings.extends)
    corpus = find_corpus(settings, download)
    tokenisation = Tokenisation(corpus.tokenisation, settings.lowercase, settings.sentences)
    if rule is not None and usual(rule) == tokenisation:
        tokenisation = rule
    if base is not None:
        corpus, tokenisation = replace(corpus, tokenisation=base.tokenisation.kind), base.tokenisation
    made_from = _made_from(settings, corpus, base)
    try:
        data = open_prepared(folder)
        if data.info.made_from == made_from and data.tokenizer.tokenisation == tokenisation:
            return data
    except RunFolderError:
        pass
    with saving(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".prepare-", dir=folder) as stage:
            names = _write_all(Path(stage), corpus, settings, tokenisation, made_from, progress or _silent, base)
            if _made_from(settings, corpus, base) != made_from:
                raise DataError(f"{settings.corpus}: was changed while it was read: try again")
            replace_files(Path(stage), folder, names)
    return open_prepared(folder)


def open_prepared(folder: Path) -> PreparedData:
    """Open what `prepare` wrote. Raises `RunFolderError` if something is missing or damaged."""
    try:
        info = PreparedInfo.read(folder / _INFO)
        train, valid, test = (np.lib.format.open_memmap(folder / f"{split}.ids", mode="r") for split in SPLITS)
        for split, ids in zip(SPLITS, (train, valid, test), strict=True):
            if ids.dtype != np.int32 or ids.shape != (info.splits[split].tokens,):
                raise ValueError(f"{split}.ids is not as long as it says")
    except (OSError, ValueError, KeyError, TypeError, tokenize.TokenError) as error:  # the last of .npy headers
        reason = " ".join(str(error).split())
        raise RunFolderError(f"{folder}: not prepared data, or damaged ({reason}): prepare it again") from error
    return PreparedData(train, valid, test, Tokenizer.load(folder / _TOKENIZER), info)


def _silent(stage: str, done: int, total: int) -> None:
    """Report nothing."""


def _base(settings: DataSettings, run: str) -> Tokenizer:
    """Load the tokenizer whose words the text extends. Raises `RunFolderError`, or `DataError` if settings differ."""
    base = Tokenizer.load(path_of(run) / _TOKENIZER)
    rule = base.tokenisation
    of_base = {"tokenisation": rule.kind, "lowercase": rule.lowercase, "sentences": rule.sentences}
    for name, value in of_base.items():
        asked = getattr(settings, name)
        if asked not in (value, "auto"):
            raise DataError(f"{run}: was trained with data.{name} {value}, got {asked}: leave it out, or give {value}")
    return base


def _made_from(settings: DataSettings, corpus: Corpus, base: Tokenizer | None) -> MadeFrom:
    files = {}
    for path in sorted({source.path for sources in corpus.splits.values() for source in sources}):
        try:
            stat = path.stat()
        except OSError as error:
            raise DataError(f"{path}: cannot be read: {error.strerror}") from error
        files[str(path.absolute())] = [stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino]
    asked: dict[str, Any] = json.loads(json.dumps(asdict(settings)))
    if base is not None:  # the run may have been replaced since
        asked["extends"] = hashlib.sha256(base.json.encode()).hexdigest()
    return MadeFrom(asked, corpus.tokenisation, files)


def _write_all(
    stage: Path,
    corpus: Corpus,
    settings: DataSettings,
    tokenisation: Tokenisation,
    made_from: MadeFrom,
    progress: OnProgress,
    base: Tokenizer | None,
) -> list[str]:
    """Write everything that a prepared folder holds into `stage`; return the names, `data.json` last."""
    numbers = WordNumbers()
    readers = {split: SplitReader(corpus.splits[split], settings.sentences) for split in SPLITS}
    for split, reader in readers.items():
        _write_numbers(stage / split, reader, tokenisation, numbers, partial(progress, f"read {split}"))
    words = numbers.words
    counts = {split: _count(stage / split, len(words)) for split in SPLITS}
    basis = counts["train"] if settings.vocabulary_from == "train" else np.sum(list(counts.values()), axis=0)
    seen = {word: count for word, count in zip(words, basis.tolist(), strict=True) if count}
    number = words.index(UNK) if UNK in words else None
    unks = {split: 0 if number is None else int(counts[split][number]) for split in SPLITS}
    least = _least_count(settings, seen, unks["train"] > 0)
    make = Vocabulary.from_counts if base is None else base.vocabulary.extended
    tokenizer = Tokenizer(tokenisation, make(seen, settings.vocabulary_size, least))
    id_of_number = tokenizer.vocabulary.encode(words)
    stats = {}
    for split, reader in readers.items():
        _write_ids(stage / f"{split}.ids", stage / split, id_of_number, partial(progress, f"write {split}"))
        of_id = np.bincount(id_of_number, counts[split], len(tokenizer.vocabulary)).astype(int).tolist()
        unk = unks[split]
        oov, eos = of_id[tokenizer.vocabulary.unk_id] - unk, of_id[tokenizer.vocabulary.eos_id]
        stats[split] = TextStats(sum(of_id), oov, unk, eos, reader.bytes, reader.sha256)
    tokenizer.save(stage / _TOKENIZER)
    distinct, policy = len(seen.keys() | {UNK, EOS}), _policy(settings, tokenisation, least)
    info = PreparedInfo(VERSION, corpus.name, len(tokenizer.vocabulary), distinct, policy, stats, made_from)
    (stage / _INFO).write_text(json.dumps(asdict(info), indent=2) + "\n", encoding="utf-8")
    return [_TOKENIZER, *(f"{split}.ids" for split in SPLITS), _INFO]


def _least_count(settings: DataSettings, seen: Mapping[str, int], has_unk: bool) -> int:
    """Return `data.min_count`; if it is left out, 2 if `<unk>` could not be learnt otherwise, else 1."""
    if settings.min_count is not None:
        return settings.min_count
    learnt = settings.vocabulary_size is not None or has_unk
    return 1 if learnt or max((count for word, count in seen.items() if word != EOS), default=0) < 2 else 2


def _policy(settings: DataSettings, tokenisation: Tokenisation, least: int) -> Policy:
    texts = "the training text" if settings.vocabulary_from == "train" else "all splits"
    often = f" that come {least} times or more" if least > 1 else ""
    return Policy(
        tokenisation=tokenisation.kind,
        lowercase=tokenisation.lowercase,
        min_count=least,
        sentences=tokenisation.sentences,
        vocabulary=f"words of {texts}{often}, numbered by falling count",
        unk=UNK_POLICY,
        eos=tokenisation.eos_policy,
    )


def _write_numbers(
    path: Path,
    reader: SplitReader,
    tokenisation: Tokenisation,
    numbers: WordNumbers,
    progress: Callable[[int, int], None],
) -> None:
    """Read a split, and write its words as numbers in order of first occurrence, raw int32."""
    total = reader.total_bytes()
    with path.open("wb") as handle:
        for block in reader:
            handle.write(numbers(tokenisation.tokens(block)).data)
            progress(reader.bytes, total)


def _number_chunks(path: Path) -> Iterator[Ids]:
    with path.open("rb") as handle:
        while data := handle.read(4 * _CHUNK):
            yield np.frombuffer(data, np.int32)


def _count(path: Path, words: int) -> Counts:
    """Count the occurrences of each word number, (words,)."""
    return sum((np.bincount(chunk, minlength=words) for chunk in _number_chunks(path)), np.zeros(words, np.int64))


def _write_ids(path: Path, numbers: Path, id_of_number: Ids, progress: Callable[[int, int], None]) -> None:
    """Replace the word numbers by ids: write an .npy file of int32, (N,), and remove the file of numbers."""
    total = numbers.stat().st_size // 4
    done = 0
    with path.open("wb") as handle:
        header = {"descr": "<i4", "fortran_order": False, "shape": (total,)}
        np.lib.format.write_array_header_1_0(handle, header)
        for chunk in _number_chunks(numbers):
            handle.write(id_of_number[chunk].data)
            done += len(chunk)
            progress(done, total)
    numbers.unlink()
