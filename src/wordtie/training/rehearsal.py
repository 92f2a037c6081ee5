"""The texts that earlier runs were trained on: read again beside a new text, so that a model keeps what it knows.

A run that extends the vocabulary of another keeps the ids of all old words, so the earlier texts need not be encoded
again. Of the streams that a window reads, a share reads the earlier texts and the rest the new one: the earlier ids lie
behind those of the new text, and streams are contiguous parts of the whole (`wordtie.data.batches`).

Shapes: N words of a text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from wordtie.config import Settings, plain_values
from wordtie.config.model import SHARES
from wordtie.config.paths import path_of
from wordtie.config.unused_settings import AT_THE_START
from wordtie.data.batches import Ids, spread
from wordtie.data.prepare import prepare
from wordtie.data.token_file import PreparedData
from wordtie.errors import DataError, RunFolderError, require
from wordtie.evaluation.earlier_words import evaluate_earlier_words
from wordtie.models.next_word import NextWordModel
from wordtie.runs.ready import run_path
from wordtie.runs.result import TrainingResult, read_result
from wordtie.runs.run_folder import SavedModel, read_language_model

OF_DROPOUT = frozenset(f"model.{name}" for name in ("dropout", *SHARES))
"""Settings that say what is dropped, which follows the text."""


@dataclass(frozen=True)
class EarlierText:
    """The text of a run whose words are extended."""

    run: str
    data: PreparedData
    result: TrainingResult | None
    """Of the run, as far as its folder has it."""

    @property
    def test(self) -> Ids:
        """The test text, or what of it the run was measured on."""
        return spread(self.data.test, None if self.result is None else self.result.test_tokens)

    def perplexity(self, model: NextWordModel[Any]) -> float:
        """Of the test text under a model that has this run's words and more, as if it had no more."""
        return evaluate_earlier_words(model, self.test, len(self.data.vocabulary)).perplexity

    @property
    def figures(self) -> dict[str, Any]:
        """The run's own perplexities on its test text, if its result is known."""
        result = self.result
        found = {"run": self.run, "corpus": self.data.info.corpus, "tokens": len(self.test)}
        if result is None:
            return found
        mixed = {} if result.mixture is None else {"mixture_before": result.mixture["test_perplexity"]}
        return found | {"network_before": result.test_perplexity} | mixed


@dataclass(frozen=True)
class Texts:
    """What a run reads: its own text, and those of the runs whose words it extends, the last one first."""

    own: PreparedData
    earlier: Sequence[EarlierText] = ()
    missing: Sequence[str] = ()
    """Why an earlier text cannot be read, a line each."""

    def for_training(self, rehearsal: float) -> PreparedData:
        """The training text is the own one, and of the earlier ones as much as makes a share of `rehearsal`."""
        share = _share(rehearsal, len(self.own.train), [each.data.train for each in self.earlier])
        if not share:
            return self.own
        info = self.own.info
        pieces: list[Ids] = [self.own.train]
        stats = dict(info.splits)
        for number, each in enumerate(self.earlier, 1):
            ids_N = each.data.train
            pieces.append(spread(ids_N, round(share * len(ids_N)), PIECES))
            stats[f"earlier {number}"] = each.data.info.splits["train"]
        return replace(self.own, train=np.concatenate(pieces), info=replace(info, splits=stats))

    def for_weights(self, rehearsal: float, own: int) -> list[Ids]:
        """Of the earlier validation texts, what makes a share of `rehearsal` beside so many tokens of the own one:
        weights that are fitted on the own one alone forget, too."""
        share = _share(rehearsal, own, [each.data.valid for each in self.earlier])
        pieces = [spread(each.data.valid, round(share * len(each.data.valid))) for each in self.earlier]
        return [ids_N for ids_N in pieces if len(ids_N)]

    @property
    def tokens_to_count(self) -> int:
        """Of the training text of `for_counting`, which need not be put together for that."""
        return len(self.own.train) + sum(len(each.data.train) for each in self.earlier)

    def for_counting(self) -> PreparedData:
        """The training text is all of them: n-grams that were counted forget nothing."""
        train = [self.own.train, *(each.data.train for each in self.earlier)]
        return replace(self.own, train=np.concatenate(train)) if self.earlier else self.own


def _share(rehearsal: float, own: int, earlier: Sequence[Ids]) -> float:
    """What of each earlier text makes them `rehearsal` of all that is read, or comes closest."""
    return min(1.0, rehearsal / (1 - rehearsal) * own / max(1, sum(map(len, earlier)))) if earlier else 0.0


PIECES = 32
"""Of an earlier text that is not rehearsed whole: as many as there are streams, as a rule."""


def read_texts(settings: Settings) -> Texts:
    """The text of the settings, and if it extends a vocabulary, the texts of the runs before, if they are there.

    Raises `RunFolderError` for runs that extend each other.
    """
    own, run = prepare(settings.data), settings.data.extends
    earlier: list[EarlierText] = []
    missing: list[str] = []
    seen: set[Path] = set()
    while run is not None:
        folder = run_path(run)
        if folder.resolve() in seen:
            raise RunFolderError(f"{folder}: extends itself, as its settings.yaml has it (data.extends)")
        seen.add(folder.resolve())
        before, run = run, None
        try:
            saved = read_language_model(folder)
            run = saved.settings.data.extends
            earlier.append(EarlierText(before, text_of(saved, folder), read_result(folder)))
        except (DataError, RunFolderError) as error:
            missing.append(f"the text of {before} is not read again, so that the model may unlearn it: {error}")
    return Texts(own, earlier, missing)


def check_other_folder(settings: Settings, out: Path) -> None:
    """Raise `RunFolderError` if a run is to be written over the one that it extends, which it reads until it ends."""
    extended = settings.data.extends
    if extended is not None and run_path(extended).resolve() == out.resolve():
        raise RunFolderError(f"{out}: a run cannot replace the one that it extends: give another --out")


def with_earlier_texts(result: TrainingResult, texts: Texts, model: NextWordModel[Any]) -> TrainingResult:
    """The result with the perplexities of the earlier test texts before and after, which is saved.

    The tokens are those of the run before: a word that it did not know is `<unk>` still.
    """
    if not texts.earlier:
        return result
    found = [each.figures | {"network": each.perplexity(model)} for each in texts.earlier]
    result = replace(result, earlier=found)
    result.save()
    return result


def settings_to_extend(run: str | None) -> dict[str, Any]:
    """What a run has in common with the one whose words it extends, by full name: the model but for its dropout, and
    how text is cut into words.

    Raises `SettingsError` for none, `RunFolderError` for what is no run of a language model.
    """
    require(run is not None, "extend_vocabulary adds words to an earlier run's: name it as start_from")
    assert run is not None
    folder = run_path(run)
    saved = read_language_model(folder)
    model = {f"model.{name}": value for name, value in plain_values(saved.settings.model).items()}
    rule = saved.tokenizer.tokenisation
    cut = {"tokenisation": rule.kind, "lowercase": rule.lowercase, "sentences": rule.sentences}
    return {
        "data.extends": run if path_of(run) == folder else str(folder),
        **{f"data.{name}": value for name, value in cut.items()},
        **{name: value for name, value in model.items() if name not in OF_DROPOUT and name not in AT_THE_START},
    }


def text_of(saved: SavedModel, folder: Path) -> PreparedData:
    """The text that a run was trained on. Raises `DataError` if it has changed since, or cannot be read."""
    data = prepare(saved.settings.data)
    if data.tokenizer != saved.tokenizer or data.texts["train"] != saved.texts.get("train"):
        raise DataError(f"{saved.settings.data.corpus} has changed since {folder} was trained")
    return data
