"""One line of a published table: what it is called, what it says, and the settings that should give it again.

A row's settings are written as changes to the defaults of `wordtie.config`, by dotted name, as on the command line of
`wordtie train`: `{"data.corpus": "ptb", "model.head": "tied"}`. A row may need a setting that this version does not
have; it is listed all the same, and says what it waits for.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

from wordtie.config import Settings, SettingsError, from_dict, to_dict
from wordtie.text.catalogue import CATALOGUE

Changes: TypeAlias = Mapping[str, Any]
Kind: TypeAlias = Literal["train", "kneser_ney", "drawn", "other"]
"""`train`: a model. `kneser_ney`: n-grams. `drawn`: a figure or table made from other rows' results. `other`: not made
by training a language model from settings; such a row says why it is not run."""


@dataclass(frozen=True)
class Published:
    """The numbers a paper prints. Perplexities, unless they stand in `values`."""

    valid: float | None = None
    test: float | None = None
    train: float | None = None
    parameters: float | None = None
    """As printed, so rounded: 2.65e6."""
    values: Mapping[str, float] = field(default_factory=dict)
    """Numbers of another kind, by name; the more the better (Spearman's rho, BLEU)."""


@dataclass(frozen=True)
class Row:
    """One line of a table, or one figure."""

    name: str
    """paper/table/row; a group of rows is what begins alike."""
    label: str
    published: Published
    changes: Changes = field(default_factory=dict)
    kind: Kind = "train"
    needs: Literal["cpu", "gpu"] = "cpu"
    """`gpu`: days on a CPU; runs there only if named in full."""
    not_run: str = ""
    """Why nothing here could run it: another paper's number, a text that is not public, a part not built yet."""
    second_session: Changes = field(default_factory=dict)
    """What changes where the row is trained once more from its first result, with the schedule started anew, because
    that fell short of the published validation perplexity (inan-2017, footnote 4). The better of the two on validation
    stands. Empty: one session is all."""
    measures: tuple[str, ...] = ()
    """What else is measured of the trained model: names in `wordtie.report.measures`."""
    drawn_from: tuple[str, ...] = ()
    """Rows whose results this one shows."""
    shows: tuple[str, ...] = ()
    """Where the numbers to hold against `published.values` stand in the entry of the row that this one is drawn from,
    as ("measures", "similarity", "input")."""
    note: str = ""
    """What a reader should know of the settings: which of them the paper leaves open, and what was taken."""

    def settings(self, seed: int = 1, more: Changes | None = None) -> Settings:
        """The whole configuration, with `more` changes. Raises `SettingsError` for a setting that is not known."""
        if missing := self.missing():
            raise SettingsError(f"{self.name}: needs {', '.join(missing)}, which this version does not have")
        values = to_dict(Settings())
        for name, value in {**self.changes, "training.seed": seed, **(more or {})}.items():
            section, _, setting = name.partition(".")
            values[section][setting] = value
        return from_dict(values)

    def missing(self) -> list[str]:
        """Settings, values of them, and corpora that this version does not know."""
        found = [name for name, value in self.changes.items() if not _known(name, value)]
        corpus = self.changes.get("data.corpus", "sotu")
        return found if corpus in CATALOGUE or "/" in corpus else [*found, f"the corpus {corpus}"]


def _known(name: str, value: object) -> bool:
    """Whether `Settings` has the dotted name, and its type allows the value."""
    section, _, setting = name.partition(".")
    kind = get_type_hints(Settings).get(section)
    if kind is None or setting not in {each.name for each in dataclasses.fields(kind)}:
        return False
    return _allows(get_type_hints(kind)[setting], value)


def _allows(hint: Any, value: object) -> bool:
    """Whether a `Literal` (in a union or not) holds the value; other types are left to the settings themselves."""
    if get_origin(hint) in (Union, types.UnionType):
        return any(_allows(part, value) for part in get_args(hint))
    if get_origin(hint) is Literal:
        return value in get_args(hint)
    return not (isinstance(value, str) and hint in (bool, int, float, type(None)))


def cited(table: str, label_and_test: Mapping[str, Published]) -> dict[str, Row]:
    """Rows that a table takes from other papers."""
    rows = {}
    for label, published in label_and_test.items():
        words = "".join(letter if letter.isalnum() else " " for letter in label.lower()).split()
        name = f"{table}/cited-{'-'.join(words)}"
        rows[name] = Row(name, label, published, kind="other", not_run="cited there from another paper")
    return rows


def table_of(*rows: Row) -> dict[str, Row]:
    """The rows by their names."""
    return {row.name: row for row in rows}
