"""One line of a published table: its name, its numbers, and the settings that should reproduce it.

A row's settings are written as changes to the defaults of `wordtie.config`, by dotted name, as on the command line of
`wordtie train`: `{"data.corpus": "ptb", "model.head": "tied"}`. A row that cannot be run is listed too, and says why.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeAlias

from wordtie.config import (
    AnySettings,
    DataSettings,
    Settings,
    TranslationSettings,
    from_dict,
    plain_values,
    settings_from_dict,
    to_dict,
)
from wordtie.errors import require
from wordtie.word2vec.settings import Word2VecSettings

Changes: TypeAlias = Mapping[str, Any]
Kind: TypeAlias = Literal["train", "translation", "word2vec", "kneser_ney", "drawn", "other"]
"""`train`: a language model. `translation`: a translation model. `word2vec`: word vectors. `kneser_ney`: n-grams.
`drawn`: a figure or table made from other rows' results. `other`: not made by training a model from settings; such a
row says why it is not run."""
RUN: tuple[Kind, ...] = ("train", "translation", "word2vec", "kneser_ney")
"""Kinds of rows that `wordtie reproduce run` runs."""
BASELINE = "-baseline"
"""Suffix of the name of the row that others with the same languages are compared with."""


@dataclass(frozen=True)
class VectorSettings:
    """The configuration of a row that trains word vectors."""

    data: DataSettings
    word2vec: Word2VecSettings

    def resolved(self) -> dict[str, dict[str, Any]]:
        """Return plain values, with defaults that depend on other settings filled in."""
        word2vec = self.word2vec
        filled_in = {"alpha": word2vec.rate, "cbow_mean": word2vec.mean}
        return {"data": plain_values(self.data), "word2vec": plain_values(word2vec) | filled_in}

    @classmethod
    def from_dict(cls, values: Mapping[str, Mapping[str, Any]]) -> VectorSettings:
        """Invert `resolved`. Raises `SettingsError` for an unknown setting."""
        unknown = set(values["word2vec"]) - {each.name for each in fields(Word2VecSettings)}
        require(not unknown, f"unknown setting word2vec.{min(unknown, default='')}: from a newer version?")
        data = from_dict({"data": dict(values["data"])}).data
        return cls(data, Word2VecSettings(**{"workers": 1, **values["word2vec"]}))


RowSettings: TypeAlias = AnySettings | VectorSettings


@dataclass(frozen=True)
class Published:
    """The numbers that a paper prints: perplexities, except those in `values`."""

    valid: float | None = None
    test: float | None = None
    train: float | None = None
    parameters: float | None = None
    """Number of parameters as printed, so rounded: 2.65e6."""
    values: Mapping[str, float] = field(default_factory=dict)
    """Numbers other than perplexities, by name."""
    better: Literal["more", "less", "neither"] = "more"
    """Better direction of `values`: higher (Spearman's rho with human judgements, BLEU), lower, or nearer."""


@dataclass(frozen=True)
class Row:
    """One line of a table, or one figure."""

    name: str
    """paper/table/row; rows whose names begin alike form a group."""
    label: str
    published: Published
    changes: Changes = field(default_factory=dict)
    kind: Kind = "train"
    needs: Literal["cpu", "gpu"] = "cpu"
    """`gpu`: days on a CPU; runs there only if named in full."""
    not_run: str = ""
    """Why it cannot be run here: another paper's number, a text that is not public, a part not built yet."""
    later_stages: tuple[Changes, ...] = ()
    """Changes of each later stage: while the result falls short of the published validation perplexity, the row is
    trained once more from it, with the schedule from its beginning (inan-2017, footnote 4). There are no more stages
    than these, even if the last one falls short. The result is the best of all on validation. Empty: there is only one
    stage."""
    measures: tuple[str, ...] = ()
    """What else is measured on the trained model: names in `wordtie.reproduction.running.measures`."""
    drawn_from: tuple[str, ...] = ()
    """Rows whose results this one shows."""
    shows: tuple[str, ...] = ()
    """Keys that lead to the numbers that it shows in place of perplexities, in its own entry or that of the row that it
    is drawn from, as ("measures", "similarity", "input"): those named in `published.values`, or all if none is."""
    with_perplexities: bool = False
    """Whether its perplexities are shown, too, beside those numbers."""
    stands_in: bool = False
    """Whether its text is not the paper's, which is not available, or its size is not: the published numbers are shown,
    but nothing is compared with them."""
    note: str = ""
    """What readers should know about the settings: which of them the paper leaves open, and what was chosen."""

    @property
    def shows_perplexities(self) -> bool:
        """Whether the perplexities of its model are its numbers, or some of them."""
        return self.with_perplexities or not self.shows

    @property
    def stages(self) -> tuple[Changes, ...]:
        """Changes of each stage that the row may have; none for the first."""
        return ({}, *self.later_stages)

    @property
    def paper(self) -> str:
        """Name of the paper, as `inan-2017`."""
        return self.name.split("/")[0]

    @property
    def table(self) -> str:
        """Name of the paper and the table, as `inan-2017/table-1`."""
        return "/".join(self.name.split("/")[:2])

    @property
    def short_name(self) -> str:
        """Name of the row within its table."""
        return self.name.split("/", 2)[2]

    def settings(self, seed: int = 1, more: Changes | None = None) -> Settings:
        """Return the whole configuration, with `more` changes. Raises `SettingsError` for an unknown setting."""
        values = to_dict(Settings())
        values["data"]["min_count"] = 1  # the papers keep every word, or the most frequent ones
        for name, value in {**self.changes, "training.seed": seed, **(more or {})}.items():
            section, _, setting = name.partition(".")
            values.setdefault(section, {})[setting] = value
        return from_dict(values)


def settings_of(row: Row, seed: int = 1) -> RowSettings:
    """Return the whole configuration of a row of any kind. Raises `SettingsError` for an unknown setting."""
    if row.kind == "word2vec":
        return vector_settings(row, seed)
    return translation_settings(row, seed) if row.kind == "translation" else row.settings(seed)


def vector_settings(row: Row, seed: int = 1) -> VectorSettings:
    """Return the configuration of a row that trains word vectors, in one thread: the same seed gives the same bits."""
    values: dict[str, dict[str, Any]] = {"data": {}, "word2vec": {}}
    for name, value in {**row.changes, "word2vec.seed": seed}.items():
        section, _, setting = name.partition(".")
        values.setdefault(section, {})[setting] = value
    return VectorSettings.from_dict(values)


def translation_settings(row: Row, seed: int = 1) -> TranslationSettings:
    """Return the configuration of a row that trains a translation model."""
    values = to_dict(TranslationSettings())
    for name, value in {**row.changes, "training.seed": seed}.items():
        section, _, setting = name.partition(".")
        values.setdefault(section, {})[setting] = value
    return settings_from_dict(values, TranslationSettings)


def cited(table: str, label_and_test: Mapping[str, Published]) -> dict[str, Row]:
    """Return the rows that a table cites from other papers."""
    rows = {}
    for label, published in label_and_test.items():
        words = "".join(letter if letter.isalnum() else " " for letter in label.lower()).split()
        name = f"{table}/cited-{'-'.join(words)}"
        rows[name] = Row(name, label, published, kind="other", not_run="cited there from another paper")
    return rows


def table_of(*rows: Row) -> dict[str, Row]:
    """Return the rows by name."""
    return {row.name: row for row in rows}


def baseline_of(name: str) -> str:
    """Return the row that a row of this name is compared with, of the same text and languages; empty for a baseline.

    >>> baseline_of("paper/table-8/multi30k-en-de-decoder-wt")
    'paper/table-8/multi30k-en-de-baseline'
    """
    text_and_languages = re.match(r".*/\w+-[a-z]{2}-[a-z]{2}(?=-)", name)
    return "" if name.endswith(BASELINE) or not text_and_languages else f"{text_and_languages[0]}{BASELINE}"
