"""Compare models of one vocabulary on one text: their perplexities, and whether differences are more than chance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

from wordtie.console import say
from wordtie.data.batches import Ids
from wordtie.data.tokenizer import Tokenizer
from wordtie.errors import RunFolderError
from wordtie.evaluation.paired import STRETCH, Difference, UnitScores, paired_bootstrap, score_units
from wordtie.inference.evaluate import (
    EvaluationResult,
    Progress,
    open_text,
    result_of_split,
    result_of_text,
    split_blocks,
    with_progress,
)
from wordtie.inference.training_corpus import of_other_texts, training_corpus

if TYPE_CHECKING:
    from wordtie.inference.loading import LoadedModel


@dataclass(frozen=True)
class ComparedRuns:
    """Results by the name of the model, and for each model but the first its difference from the first."""

    results: Mapping[str, EvaluationResult]
    differences: Mapping[str, Difference]
    unit: str
    """Unit that the bootstrap resamples: lines, or stretches of running text; for a long text, blocks of them."""

    def rows(self) -> list[dict[str, Any]]:
        """Return a table with a row for each model.

        Columns: run, perplexity, tokens, oov, hits@K for each K, and for the difference from the first model: bits,
        bits_low, bits_high per token, and ratio, ratio_low, ratio_high of the perplexities. The bounds are None for a
        text of fewer than ten units; all six are None for the first model.
        """
        return [self._row(name, result) for name, result in self.results.items()]

    def _row(self, name: str, result: EvaluationResult) -> dict[str, Any]:
        row = {"run": name, "perplexity": result.perplexity, "tokens": result.tokens, "oov": result.oov}
        row |= {f"hits@{first}": share for first, share in (result.hits or {}).items()}
        of = self.differences.get(name)
        row |= _with_bounds("bits", of.bits if of else None, of.bits_interval if of else None)
        return row | _with_bounds("ratio", of.ratio if of else None, of.ratio_interval if of else None)


def _with_bounds(name: str, value: float | None, interval: tuple[float, float] | None) -> dict[str, float | None]:
    """Return a value and the bounds of its interval by the names of their columns."""
    low, high = interval or (None, None)
    return {name: value, f"{name}_low": low, f"{name}_high": high}


def compare_on_file(
    models: Mapping[str, LoadedModel],
    source: str | Path | IO[Any],
    hits: Sequence[int] = (),
    progress: Progress | None = None,
) -> ComparedRuns:
    """Compare all models on a text file, which is read once.

    Raises `RunFolderError` for models with different tokenizers, `DataError` for a text that cannot be read.
    """
    tokenizer = _one_tokenizer(models)
    text = open_text(source, tokenizer)
    found = _scored(models, tokenizer, with_progress(text, progress), hits)
    results = {
        name: result_of_text(found.score(number), text, tokenizer, found.shares(number, hits))
        for number, name in enumerate(models)
    }
    return ComparedRuns(results, _differences(list(models), found), _unit(tokenizer))


def compare_on_split(
    models: Mapping[str, LoadedModel],
    split: Literal["valid", "test"] = "test",
    hits: Sequence[int] = (),
    progress: Progress | None = None,
) -> ComparedRuns:
    """Compare all models on a split of the corpus that the first was trained on; names are those of the run folders.

    Raises `RunFolderError` for models with different tokenizers, and if the text has changed since training.
    """
    tokenizer = _one_tokenizer(models)
    first, *_ = models
    data = training_corpus(models[first], first, [split], hint="name a FILE to measure", download=True)
    say(of_other_texts(models, split, data.texts[split], "name a FILE that no run was trained on"))
    found = _scored(models, tokenizer, split_blocks(data, split, progress), hits)
    results = {
        name: result_of_split(found.score(number), data, split, found.shares(number, hits))
        for number, name in enumerate(models)
    }
    return ComparedRuns(results, _differences(list(models), found), _unit(tokenizer))


def _one_tokenizer(models: Mapping[str, LoadedModel]) -> Tokenizer:
    """Return the common tokenizer. Raises `RunFolderError` if tokenizers differ: perplexities could not be compared."""
    (first, model), *others = models.items()
    for name, other in others:
        if other.tokenizer != model.tokenizer:
            sizes = " and ".join(f"{len(each.tokenizer.vocabulary):,}" for each in (other, model))
            raise RunFolderError(
                f"{name}: has other words than {first} ({sizes}), so that perplexities cannot be compared: train both "
                "on one text with the same vocabulary"
            )
    return model.tokenizer


def _scored(
    models: Mapping[str, LoadedModel], tokenizer: Tokenizer, blocks: Iterable[Ids], hits: Sequence[int]
) -> UnitScores:
    return score_units([each.model for each in models.values()], blocks, tokenizer.sentence_end, hits)


def _differences(names: Sequence[str], found: UnitScores) -> dict[str, Difference]:
    first_U, *others_U = found.nats_MU
    pairs = zip(names[1:], others_U, strict=True)
    return {name: paired_bootstrap(first_U, other_U, found.tokens_U) for name, other_U in pairs}


def _unit(tokenizer: Tokenizer) -> str:
    return "lines" if tokenizer.sentences else f"stretches of {STRETCH} tokens"
