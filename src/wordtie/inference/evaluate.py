"""Perplexity of a text file under a model, with the counts and the policies that it depends on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, TypeAlias

from wordtie.data.batches import Ids
from wordtie.data.encoding import EncodedText, TextStats
from wordtie.data.token_file import PreparedData
from wordtie.data.tokenisation import UNK_POLICY
from wordtie.data.tokenizer import Tokenizer
from wordtie.errors import require
from wordtie.evaluation.paired import score_units
from wordtie.evaluation.perplexity import Score, evaluate_blocks
from wordtie.inference.training_corpus import training_corpus
from wordtie.models.next_word import NextWordModel

if TYPE_CHECKING:
    from wordtie.inference.loading import LoadedModel


@dataclass(frozen=True)
class EvaluationResult:
    """A perplexity, with the counts and policies without which it means nothing."""

    perplexity: float
    nats: float
    tokens: int
    """Number of tokens, `<eos>` included; none is dropped."""
    oov: int
    """Words not in the vocabulary, scored as `<unk>`."""
    unk: int
    """Occurrences of `<unk>` in the text itself."""
    eos: int
    unk_policy: str
    eos_policy: str
    sha256: str
    """SHA-256 of the text, after decompression."""
    hits: Mapping[int, float] | None = None
    """Share of tokens that are among the k likeliest words, by k; None if it was not asked for."""

    def as_json(self) -> dict[str, Any]:
        """Return plain values, with `hits` only if they were measured."""
        values = asdict(self)
        return values if self.hits is not None else {name: values[name] for name in values if name != "hits"}


Progress: TypeAlias = Callable[[str, int, int], None]
"""Callback that takes the name of the work, how much of it is done, and the total (0: not known)."""
BLOCK = 1 << 14
"""Tokens of a prepared text between two calls of the progress callback."""


def evaluate_file(
    model: NextWordModel[Any],
    tokenizer: Tokenizer,
    source: str | Path | IO[Any],
    hits: Sequence[int] = (),
    progress: Progress | None = None,
) -> EvaluationResult:
    """Evaluate a text as one stream: the state is carried over, the first word predicted from `<eos>`.

    The text is scored as it is read, so that memory does not grow with its length. `hits`: numbers k for which to
    measure how often the next word is among the k likeliest (`wordtie.evaluation.hits`). Raises `DataError` for a text
    that cannot be read, and `SettingsError` for a text in place of the name of its file.
    """
    text = open_text(source, tokenizer)
    score, shares = _measured(model, with_progress(text, progress), hits)
    return result_of_text(score, text, tokenizer, shares)


def evaluate_split(
    model: LoadedModel,
    run: str | Path,
    split: Literal["valid", "test"] = "test",
    hits: Sequence[int] = (),
    progress: Progress | None = None,
) -> EvaluationResult:
    """Evaluate a split of the corpus that the model in the folder `run` was trained on.

    Raises `RunFolderError` if the text has changed since, `DataError` if it cannot be read.
    """
    data = training_corpus(model, run, [split], hint="name a FILE to measure", download=True)
    score, shares = _measured(model.model, split_blocks(data, split, progress), hits)
    return result_of_split(score, data, split, shares)


def _measured(
    model: NextWordModel[Any], blocks: Iterable[Ids], hits: Sequence[int]
) -> tuple[Score, Mapping[int, float] | None]:
    """Return the score, and for each k of `hits` the share of tokens that are among the k likeliest."""
    if not hits:
        return evaluate_blocks(model, blocks), None
    found = score_units([model], blocks, eos_id=None, among=hits)
    return found.score(0), found.shares(0, hits)


def open_text(source: str | Path | IO[Any], tokenizer: Tokenizer) -> EncodedText:
    """Open a text, to be read once. Raises `SettingsError` for a text in place of the name of its file."""
    is_text = isinstance(source, str) and "\n" in source and not is_file(source)
    require(not is_text, "give the path of a file, or io.StringIO(text) for a text")
    return EncodedText(source, tokenizer)


def is_file(name: str) -> bool:
    """Return whether the path exists; a string that cannot be a path does not."""
    try:
        return Path(name).exists()
    except (OSError, ValueError):
        return False


def with_progress(text: EncodedText, progress: Progress | None) -> Iterator[Ids]:
    """Yield the ids of a text, and call `progress` with the bytes that have been read and their total."""
    total = text.total_bytes  # now: the file may be removed while it is read
    for ids in text:
        yield ids
        if progress is not None:
            progress("evaluated", text.stats.bytes, total)


def split_blocks(data: PreparedData, split: Literal["valid", "test"], progress: Progress | None) -> Iterator[Ids]:
    """Yield the ids of a prepared text in blocks, and call `progress` with the tokens that are done and their total."""
    ids = data.test if split == "test" else data.valid
    for first in range(0, len(ids), BLOCK):
        yield ids[first : first + BLOCK]
        if progress is not None:
            progress("evaluated", min(first + BLOCK, len(ids)), len(ids))


def result_of_text(
    score: Score, text: EncodedText, tokenizer: Tokenizer, hits: Mapping[int, float] | None = None
) -> EvaluationResult:
    """Return a score with the counts of its text, which has been read to its end."""
    return _result(score, text.stats, UNK_POLICY, tokenizer.tokenisation.eos_policy, hits)


def result_of_split(
    score: Score, data: PreparedData, split: str, hits: Mapping[int, float] | None = None
) -> EvaluationResult:
    """Return a score with the counts of a prepared text."""
    return _result(score, data.info.splits[split], data.info.policy.unk, data.info.policy.eos, hits)


def _result(
    score: Score, stats: TextStats, unk_policy: str, eos_policy: str, hits: Mapping[int, float] | None
) -> EvaluationResult:
    return EvaluationResult(
        perplexity=score.perplexity,
        nats=score.nats,
        tokens=score.tokens,
        oov=stats.oov,
        unk=stats.unk,
        eos=stats.eos,
        unk_policy=unk_policy,
        eos_policy=eos_policy,
        sha256=stats.sha256,
        hits=hits,
    )
