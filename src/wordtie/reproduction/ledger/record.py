"""The contents of a ledger entry: the types of its fields, and the keys whose names are older than today's terms.

Files keep the keys that they were written with; everything else here says *stage* for a training that starts from an
earlier result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypedDict, cast

STAGES: Final = "sessions"
"""The key of a row's stages, first to last; an entry of one stage has none."""
DIVERGED: Final = "later_session_diverged"
"""The key of the changes of a later stage that diverged."""
EARLIER: Final = "earlier"
"""The key of the results that an entry replaced, oldest first."""
STAGE_SUFFIX: Final = ".session-"
"""Separator between the name of a row's run folder and the number of a later stage."""


class Curve(TypedDict):
    """Perplexity at each validation, usually after each epoch."""

    train: list[float]
    valid: list[float]


class EarlierResult(TypedDict):
    """The numbers that are kept of a replaced result."""

    valid_perplexity: float
    test_perplexity: float
    weights_sha256: str
    code_version: str
    epochs: list[int]
    """Number of epochs of each stage."""
    blob: str
    """Git object name of the replaced file."""


class Scores(TypedDict):
    """Perplexity over `<eos>` and all other tokens, and what it was computed from."""

    valid_perplexity: float
    valid_nats: float
    valid_tokens: int
    test_perplexity: float
    test_nats: float
    test_tokens: int


class Training(TypedDict, total=False):
    """The course of a training stage, and the software and machines that computed it."""

    code_version: str
    torch: str
    python: str
    machine: dict[str, Any]
    code_versions: list[str]
    """Versions of the code, if there were several."""
    machines: list[dict[str, Any]]
    """Machines, if there were several."""
    precision: str
    epochs: int
    best_epoch: int
    seconds: float
    parameters: int
    weights_sha256: str
    curve: Curve
    started_from: str
    """SHA-256 of the weights of the stage before."""
    changed: dict[str, Any]
    """The settings that differ from the row's."""


class Stage(Scores, Training):
    """The numbers of one training stage, and the software and machines that computed it."""


class _Run(TypedDict):
    row: str
    seed: int
    configuration: dict[str, dict[str, Any]]


class About(_Run, total=False):
    """The run that the numbers belong to."""

    label: str
    data: dict[str, str]
    """The corpus, and the SHA-256 of each split's text."""


class _More(TypedDict, total=False):
    sessions: list[Stage]
    later_session_diverged: dict[str, Any]
    earlier: list[EarlierResult]
    measures: dict[str, Any]
    """Measures besides perplexity, by the names that rows use."""


class Entry(About, Stage, _More):
    """The result of a row and a seed: the numbers of its best stage, and all its stages.

    An entry of an earlier version may lack what is not needed to read its scores.
    """


class VectorEntry(About, Training, _More):
    """The result of a row that trains word vectors: like an `Entry`, without perplexities."""

    losses: list[float]
    """Loss of each epoch, in nats per prediction."""


def has_scores(entry: Entry) -> bool:
    """Whether an entry has perplexities; one of word vectors has none."""
    return "word2vec" not in entry["configuration"]


def stages_of(entry: Entry) -> Sequence[Stage]:
    """Return the stages of a run, first to last; for a single stage, the entry itself."""
    return entry.get(STAGES) or [entry]


def entry_of(about: About, stage: Stage) -> Entry:
    """Return the entry of a run with the numbers of its best stage."""
    return cast(Entry, {**about, **stage})


def score_of(scores: Scores, split: str) -> float:
    """Return the perplexity of the `valid` or the `test` text."""
    return scores["valid_perplexity"] if split == "valid" else scores["test_perplexity"]
