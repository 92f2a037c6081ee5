"""The texts that earlier runs were trained on: read again beside a new text, so that a model keeps what it knows.

A run that extends the vocabulary of another keeps the ids of all old words, so the earlier texts need not be encoded
again. Of the streams that a window reads, a share reads the earlier texts and the rest the new one: the earlier ids lie
behind those of the new text, and streams are contiguous parts of the whole (`wordtie.data.batches`). Every epoch reads
other stretches of an earlier text that is longer than its share.

Shapes: N words of a text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from wordtie.config import DataSettings, ModelSettings, Settings, plain_values
from wordtie.config.model import SHARES
from wordtie.config.paths import is_same_file, path_of
from wordtie.config.unused_settings import AT_THE_START
from wordtie.console import say
from wordtie.data.batches import Ids, spread
from wordtie.data.prepare import prepare
from wordtie.data.token_file import PreparedData
from wordtie.data.vocabulary import Vocabulary
from wordtie.errors import DataError, RunFolderError, require
from wordtie.evaluation.earlier_words import evaluate_earlier_words
from wordtie.models.language_model import LanguageModel
from wordtie.models.network import Network
from wordtie.models.next_word import NextWordModel
from wordtie.runs.compatibility import recorded_settings
from wordtie.runs.ready import run_path
from wordtie.runs.result import TrainingResult, read_result
from wordtie.runs.run_folder import (
    LANGUAGE_MODEL,
    MIXTURE,
    SavedModel,
    open_stored,
    read_language_model,
    understand_language_model,
)

OF_DROPOUT = frozenset(f"model.{name}" for name in ("dropout", *SHARES))
"""Dropout settings: they follow the text, so an earlier run's are not taken over."""


@dataclass(frozen=True)
class EarlierText:
    """The text of a run whose vocabulary is extended."""

    run: str
    data: PreparedData
    measured_tokens: int | None
    """Setting of the run: about how much of its test text it was measured on; None: all of it."""
    result: TrainingResult | None
    """Result of the run; None if its folder has none, or if its test text has changed since."""
    at_most: int | None = None
    """About how many tokens of the test text to measure, if there is no time for more."""

    def within(self, most: int | None) -> EarlierText:
        """Return the text with at most about this many tokens of its test text to measure; None: no limit."""
        return self if most is None or len(self.test) <= most else replace(self, at_most=most)

    @property
    def test(self) -> Ids:
        """The test text, or the part of it that the run was measured on or that there is time for."""
        if self.at_most is not None:
            return self.data.measured("test", self.at_most)
        if self.result is None:
            return self.data.test
        test = self.data.measured("test", self.measured_tokens)
        same = len(test) == self.result.test_tokens  # earlier versions of wordtie cut stretches within sentences
        return test if same else spread(self.data.test, self.result.test_tokens)

    def perplexity(self, model: NextWordModel[Any]) -> float:
        """Compute the test perplexity of a model over this run's words and others, as if it had this run's alone."""
        return evaluate_earlier_words(model, self.test, len(self.data.vocabulary)).perplexity

    @property
    def figures(self) -> dict[str, Any]:
        """The run, its corpus and test tokens, and its own test perplexities if its result is known."""
        result = self.result
        found = {"run": self.run, "corpus": self.data.info.corpus, "tokens": len(self.test)}
        if result is None:
            return found
        if self.at_most is not None:
            try:
                return found | {"network_before": self.perplexity(self._network_before())}
            except RunFolderError as error:  # it was moved while the new one was trained, which is not lost for that
                say([f"{error}: how much of its text was forgotten is not known"])
                return found
        mixed = {} if result.mixture is None else {"mixture_before": result.mixture["test_perplexity"]}
        return found | {"network_before": result.test_perplexity} | mixed

    def _network_before(self) -> Network:
        """Read the network of the run. Raises `RunFolderError` if it is gone, or was trained again on other words."""
        folder = run_path(self.run)
        saved = read_language_model(folder)
        check_words(self.data.vocabulary, saved, folder)
        model = LanguageModel(saved.settings.model, len(saved.tokenizer.vocabulary))
        model.load_state_dict(saved.tensors)
        return Network(model, saved.tokenizer.vocabulary)


@dataclass(frozen=True)
class Texts:
    """What a run reads: its own text, and those of the runs whose vocabulary it extends, the latest first."""

    own: PreparedData
    earlier: Sequence[EarlierText] = ()
    missing: Sequence[str] = ()
    """Why earlier texts cannot be read, one line each."""

    def for_training(self, rehearsal: float) -> PreparedData:
        """Return the data with a training text of which earlier texts are a share of `rehearsal`, if they suffice."""
        if not self._share_to_read(rehearsal):
            return self.own
        return self._trained_on(self.of_epoch(1, rehearsal))

    def too_short(self, rehearsal: float) -> list[str]:
        """Return a note if the earlier texts are too short for a share of `rehearsal`: they are not repeated."""
        earlier = sum(len(each.data.train) for each in self.earlier)
        share = earlier / (earlier + len(self.own.train))
        if not earlier or share > rehearsal - LEAST_LACKING:
            return []
        runs = " and ".join(each.run for each in self.earlier)
        of_all = f"only {100 * share:.0f} % of the training tokens, not {100 * rehearsal:.0f} %"
        return [f"the text of {runs} is {of_all}: there is no more of it, and it is not repeated"]

    def by_epoch(self, rehearsal: float) -> Callable[[int], Ids] | None:
        """Return `of_epoch` of this share; None if every epoch reads the same, `for_training`."""
        return partial(self.of_epoch, rehearsal=rehearsal) if 0 < self._share_to_read(rehearsal) < 1 else None

    def of_epoch(self, epoch: int, rehearsal: float) -> Ids:
        """Return the training text of an epoch, which is as long as that of any other.

        Of an earlier text that is not read as a whole, each epoch reads the stretches that follow those of the epoch
        before: a model that reads the same ones again and again memorises them and forgets the rest.
        """
        share = self._share_to_read(rehearsal)
        earlier = [_stretches(each.data.train, round(share * len(each.data.train)), epoch) for each in self.earlier]
        return np.concatenate([self.own.train, *earlier])

    def _share_to_read(self, rehearsal: float) -> float:
        return _share(rehearsal, len(self.own.train), [each.data.train for each in self.earlier])

    def for_weights(self, rehearsal: float, own: int) -> list[Ids]:
        """Return as much of the earlier validation texts as makes a share of `rehearsal` beside `own` tokens of the new
        one: weights that are fitted on the new one alone forget, too."""
        share = _share(rehearsal, own, [each.data.valid for each in self.earlier])
        pieces = [each.data.measured("valid", round(share * len(each.data.valid))) for each in self.earlier]
        return [ids_N for ids_N in pieces if len(ids_N)]

    def within(self, most: int | None) -> Texts:
        """Return the texts with at most about this many tokens of each earlier test text to measure; None: no limit."""
        return replace(self, earlier=[each.within(most) for each in self.earlier])

    def without_figures(self) -> Texts:
        """Return the texts without the results of the earlier runs, which are of other models by now."""
        return replace(self, earlier=[replace(each, result=None) for each in self.earlier])

    @property
    def tokens_to_count(self) -> int:
        """Number of training tokens of `for_counting`, found without concatenating the texts."""
        return len(self.own.train) + sum(len(each.data.train) for each in self.earlier)

    def for_counting(self) -> PreparedData:
        """Return the data with all training texts concatenated: n-gram counts forget nothing."""
        if not self.earlier:
            return self.own
        return self._trained_on(np.concatenate([self.own.train, *(each.data.train for each in self.earlier)]))

    def _trained_on(self, train: Ids) -> PreparedData:
        """Return the data with this training text, of which earlier texts are parts, named `earlier 1` and so on."""
        stats = dict(self.own.info.splits)
        for number, each in enumerate(self.earlier, 1):
            stats[f"earlier {number}"] = each.data.info.splits["train"]
        return replace(self.own, train=train.astype(np.int32, copy=False), info=replace(self.own.info, splits=stats))


def _share(rehearsal: float, own: int, earlier: Sequence[Ids]) -> float:
    """Return the share of each earlier text to read, so that together they are `rehearsal` of all, if they suffice."""
    return min(1.0, rehearsal / (1 - rehearsal) * own / max(1, sum(map(len, earlier)))) if earlier else 0.0


def _stretches(ids_N: Ids, tokens: int, epoch: int) -> Ids:
    """Return `tokens` tokens of a text, those of the next epoch behind those of the one before, round and round."""
    if tokens >= len(ids_N):
        return ids_N
    return spread(np.roll(ids_N, -(epoch - 1) * math.ceil(tokens / PIECES)), tokens, PIECES)


LEAST_LACKING = 0.05
"""Share of the training tokens of which earlier texts lack less without a note."""
PIECES = 32
"""Stretches that are read of an earlier text if not all of it is: usually as many as there are streams."""


def read_texts(settings: DataSettings, download: bool = True) -> Texts:
    """Read the text of the settings and, if it extends a vocabulary, the texts of the earlier runs, as far as possible.

    `download`: get named corpora that are not on this machine.
    Raises `RunFolderError` for runs that extend each other.
    """
    own = prepare(settings, download)
    earlier: list[EarlierText] = []
    missing: list[str] = []
    for run, folder, saved in extended_runs(settings.extends):
        try:
            if isinstance(saved, RunFolderError):
                raise saved
            check_words(own.vocabulary, saved, folder)
            text = text_of(saved, folder, download)
            result = None
            if text.texts["test"] == saved.texts.get("test"):
                with suppress(RunFolderError):  # its figures are not needed to rehearse
                    result = read_result(folder)
            earlier.append(EarlierText(run, text, saved.settings.training.measured_tokens, result))
        except (DataError, RunFolderError) as error:
            missing.append(f"the text of {run} cannot be read: {error}")
    return Texts(own, earlier, missing)


def extended_runs(run: str | None) -> Iterator[tuple[str, Path, SavedModel | RunFolderError]]:
    """Yield the run, the one that it extends, and so on: its name, its folder, and its model or why it cannot be read.

    Raises `RunFolderError` for runs that extend each other.
    """
    seen: set[Path] = set()
    while run is not None:
        folder = run_path(run)
        if folder.resolve() in seen:
            raise RunFolderError(f"{folder}: extends itself, as its settings.yaml has it (data.extends)")
        seen.add(folder.resolve())
        try:
            saved = read_language_model(folder)
        except RunFolderError as error:
            yield run, folder, error
            return
        yield run, folder, saved
        run = saved.settings.data.extends


def check_words(vocabulary: Vocabulary, saved: SavedModel, folder: Path) -> None:
    """Raise `RunFolderError` unless a vocabulary begins with the words of an earlier run, so that ids mean the same."""
    words = saved.tokenizer.vocabulary.words
    if vocabulary.words[: len(words)] != words:
        raise RunFolderError(f"{folder} has other words than when it was extended: it was trained again since")


def check_other_folder(settings: Settings, out: Path) -> None:
    """Raise `RunFolderError` if a run would overwrite one that it extends, which it reads until it ends, or one that
    this extends."""
    if any(is_same_file(out, folder) for _, folder, _ in extended_runs(settings.data.extends)):
        raise RunFolderError(f"{out}: a run cannot replace one that it extends: give another --out")


def with_earlier_texts(result: TrainingResult, texts: Texts, model: NextWordModel[Any]) -> TrainingResult:
    """Add the perplexities of the earlier test texts, before and after, to the result; save and return it.

    The tokens are those of the earlier run: a word that it did not know is still `<unk>`.
    """
    if not texts.earlier:
        return result
    found = [each.figures | {"network": each.perplexity(model)} for each in texts.earlier]
    result = replace(result, earlier=found)
    result.save()
    return result


def of_the_start(named: Mapping[str, Any], extend: bool, resumed: Path | None = None) -> dict[str, Any]:
    """Return the settings that a run with these keyword arguments shares with the one that it starts from, by full
    name: the model without its dropout and its start; to extend its vocabulary, the tokenisation, too.

    A run that is `resumed` has them itself, whatever became of the other one. They are none if it does not start from a
    run, or if the arguments have a whole model, unless it is to `extend` the run's. Raises `SettingsError` if it has
    nothing to extend, `RunFolderError` if that is not a run of a language model.
    """
    run = named.get("start_from") or named.get("training.start_from")
    require(run is not None or not extend, "extend_vocabulary adds words to an earlier run's: name it as start_from")
    if run is None or ("model" in named and not extend):
        return {}
    if resumed is not None and not extend and (before := recorded_settings(resumed)):
        return sizes(before.model)
    folder = run_path(run)
    saved = read_starting_model(folder)
    kept = sizes(saved.settings.model)
    if not extend:
        return kept
    rule = saved.tokenizer.tokenisation
    cut = {"tokenisation": rule.kind, "lowercase": rule.lowercase, "sentences": rule.sentences}
    extended = run if path_of(run) == folder else str(folder)
    return {"data.extends": extended, **{f"data.{name}": value for name, value in cut.items()}, **kept}


def read_starting_model(folder: Path) -> SavedModel:
    """Read the language model that a run starts from. Raises `RunFolderError`."""
    stored = open_stored(folder, LANGUAGE_MODEL, MIXTURE)
    if stored.kind == MIXTURE:
        raise RunFolderError(f"{folder}: training.start_from holds a mixture: start from one of the runs that it is of")
    return understand_language_model(stored)


def sizes(model: ModelSettings) -> dict[str, Any]:
    """Return the settings of a model, by full name, without its dropout and its start."""
    named = {f"model.{name}": value for name, value in plain_values(model).items()}
    return {name: value for name, value in named.items() if name not in OF_DROPOUT and name not in AT_THE_START}


def text_of(saved: SavedModel, folder: Path, download: bool = True) -> PreparedData:
    """Read the text that a run was trained on. Raises `DataError` if it has changed since, or cannot be read."""
    data = prepare(saved.settings.data, download, saved.tokenizer.tokenisation)
    if data.texts["train"] != saved.texts.get("train"):
        raise DataError(f"{saved.settings.data.corpus} has changed since {folder} was trained")
    if data.tokenizer != saved.tokenizer:
        other = saved.settings.data.extends or saved.settings.data.corpus
        raise DataError(f"{other} has other words than when {folder} was trained")
    return data
