"""Perplexity of a text file under a model, with the counts and the policies that it depends on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

from wordtie.data.encoding import EncodedText
from wordtie.data.tokenisation import UNK_POLICY
from wordtie.data.tokenizer import Tokenizer
from wordtie.errors import require
from wordtie.evaluation.perplexity import evaluate_blocks
from wordtie.inference.training_corpus import training_corpus
from wordtie.models.next_word import NextWordModel

if TYPE_CHECKING:
    from wordtie.inference.loading import LoadedModel


@dataclass(frozen=True)
class EvaluationResult:
    """A perplexity means nothing without what it was counted over."""

    perplexity: float
    nats: float
    tokens: int
    """All of them, `<eos>` included; none is dropped."""
    oov: int
    """Words not in the vocabulary, scored as `<unk>`."""
    unk: int
    """`<unk>` in the text itself."""
    eos: int
    unk_policy: str
    eos_policy: str
    sha256: str
    """Of the text."""


def evaluate_file(model: NextWordModel[Any], tokenizer: Tokenizer, source: str | Path | IO[Any]) -> EvaluationResult:
    """One stream, state carried over, the first word predicted from `<eos>`. Raises `DataError`.

    The text is scored as it is read, so that one of any length needs the same memory. Raises `SettingsError` for a
    text in place of its file's name.
    """
    require(
        not isinstance(source, str) or "\n" not in source, "give the path of a file, or io.StringIO(text) for a text"
    )
    text = EncodedText(source, tokenizer)
    score = evaluate_blocks(model, text)
    stats = text.stats
    return EvaluationResult(
        perplexity=score.perplexity,
        nats=score.nats,
        tokens=score.tokens,
        oov=stats.oov,
        unk=stats.unk,
        eos=stats.eos,
        unk_policy=UNK_POLICY,
        eos_policy=tokenizer.tokenisation.eos_policy,
        sha256=stats.sha256,
    )


def evaluate_split(model: LoadedModel, run: str | Path, split: Literal["valid", "test"] = "test") -> EvaluationResult:
    """A text of the corpus that the model in the folder `run` was trained on.

    Raises `RunFolderError` if the text has changed since, `DataError` if it cannot be read.
    """
    data = training_corpus(model, run, [split], hint="name a FILE to measure")
    counts, policy = data.info.splits[split], data.info.policy
    score = evaluate_blocks(model.model, [data.test if split == "test" else data.valid])
    return EvaluationResult(
        perplexity=score.perplexity,
        nats=score.nats,
        tokens=score.tokens,
        oov=counts.oov,
        unk=counts.unk,
        eos=counts.eos,
        unk_policy=policy.unk,
        eos_policy=policy.eos,
        sha256=counts.sha256,
    )
