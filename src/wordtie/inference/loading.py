"""Open a run folder and use the model in it.

model = wordtie.load("runs/ptb")
model.surprisal("the cat sat on the mat")
model.predict("the federal reserve")
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias

import torch

from wordtie.config import DataSettings, Settings
from wordtie.config.ngram import NgramSettings
from wordtie.config.paths import is_arpa, path_of
from wordtie.data.tokenizer import Tokenizer
from wordtie.errors import RunFolderError, SettingsError
from wordtie.inference import generate, predict, regions, score, surprisal
from wordtie.inference.evaluate import EvaluationResult, evaluate_file
from wordtie.inference.regions import Region, ShownLine
from wordtie.inference.surprisal import Reset, WordSurprisal
from wordtie.models.language_model import LanguageModel
from wordtie.models.mixture import Mixture
from wordtie.models.network import Network
from wordtie.models.next_word import NextWordModel
from wordtie.models.recent_words import AdaptiveMixture, mixture_of
from wordtie.ngrams.arpa import read_arpa
from wordtie.ngrams.model import NgramModel
from wordtie.runs.layout import CONFIG, MIXTURE_FOLDER, MODEL, NGRAMS
from wordtie.runs.mixture_run import is_mixture_of, understand_mixture
from wordtie.runs.ngram_run import understand_ngrams
from wordtie.runs.ready import run_path
from wordtie.runs.run_folder import (
    LANGUAGE_MODEL,
    MIXTURE,
    NGRAM,
    StoredModel,
    open_stored,
    understand_language_model,
)


@dataclass(frozen=True)
class LoadedModel:
    """A model with its tokenizer, ready for use."""

    model: NextWordModel[Any]
    tokenizer: Tokenizer
    settings: Settings | NgramSettings
    texts: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of the text of each split that it was trained and measured with, as far as the folder says."""
    folder: Path | None = None
    """The run folder that it is from."""

    def __repr__(self) -> str:
        return f"LoadedModel({_about(self.model)}, {len(self.tokenizer.vocabulary):,} words)"

    @property
    def network(self) -> LanguageModel:
        """The network itself, in evaluation mode and fp32. Raises `RunFolderError` if there is none, or several."""
        parts = self.model.parts if isinstance(self.model, Mixture) else (self.model,)
        networks = [part for part in parts if isinstance(part, Network)]
        if len(networks) != 1:
            where = "" if self.folder is None else f"{self.folder / CONFIG}: "
            what = "several networks" if networks else "no network"
            raise RunFolderError(f"{where}holds {what}, and one is needed here: take the run of a language model")
        return networks[0].network

    def surprisal(self, text: str, reset: Reset = "line") -> list[WordSurprisal]:
        """One record a word: see `wordtie.inference.surprisal`."""
        return list(surprisal.surprisal(self.model, self.tokenizer, predict.lines_of(text), reset))

    def regions(self, text: str, reset: Reset = "line", mark: str | None = None) -> list[Region]:
        """One record a word as shown, or a stretch between marks: see `wordtie.inference.regions`.

        Without log frequencies; `wordtie.inference.regions.region_rows` takes them.
        """
        lines = [ShownLine.of(line, mark) for line in predict.lines_of(text)]
        return [region for line in regions.regions(self, lines, reset) for region in line]

    def score(self, sentences: Sequence[str]) -> list[float]:
        """Bits of each sentence: see `wordtie.inference.score`."""
        return score.score(self.model, self.tokenizer, sentences)

    def predict(self, text: str, top: int = 10, words_only: bool = False) -> list[tuple[str, float]]:
        """The `top` likeliest next words of a phrase, with probabilities; `words_only`: no `<unk>`, no `<eos>`."""
        return predict.predict(self.model, self.tokenizer, text, top, words_only)

    def generate(self, prompt: str = "", words: int = 50, temperature: float = 1.0, seed: int | None = None) -> str:
        """Text that continues the prompt, sampled word by word."""
        return generate.generate(self.model, self.tokenizer, prompt, words, temperature, seed)

    def evaluate(self, file: str | Path | IO[Any], hits: Sequence[int] = ()) -> EvaluationResult:
        """Perplexity of a text file, given by its path or open, every token predicted once; `hits`: for these k, how
        often the next word is among the k likeliest."""
        return evaluate_file(self.model, self.tokenizer, file, hits)


def _about(model: NextWordModel[Any]) -> str:
    if isinstance(model, Network):
        settings = model.network.settings
        return f"{settings.head} {settings.core}, {model.network.parameter_count():,} parameters"
    if isinstance(model, NgramModel):
        return f"{model.trie.order}-gram, {model.trie.ngrams:,} n-grams"
    if isinstance(model, Mixture):
        recent = ", and recent words" if isinstance(model, AdaptiveMixture) else ""
        return f"mixture of {' and '.join(map(_about, model.parts))}{recent}"
    return type(model).__name__


Part: TypeAlias = Literal["network", "ngram"]
"""What a run folder of a network and an n-gram model is opened as, instead of the mixture of both."""


def load(run: str | Path, kinds: Sequence[str] = (), part: Part | None = None) -> LoadedModel:
    """Open a run folder, of one of these kinds or of any, a model that comes with wordtie (`en`), or an ARPA file.

    A language model that was mixed with n-grams is opened as the mixture, if this is one of the kinds and no `part` is
    named. Raises `RunFolderError` if it is incomplete, damaged, from a newer version or of another kind. Raises
    `DataError` for an ARPA file that cannot be read.
    """
    if is_arpa(run):
        return _arpa(path_of(run), kinds, part)
    folder = run_path(run)
    mixture = folder / MIXTURE_FOLDER
    if part == "ngram":
        if not is_mixture_of(mixture, folder):
            raise RunFolderError(f"{folder}: has no n-gram model mixed in: leave out --part, or train with --ngram 5")
        loaded = _loaded(open_stored(folder / NGRAMS, NGRAM))
    elif part is None and MIXTURE in (kinds or _LOADERS) and is_mixture_of(mixture, folder):
        loaded = _loaded(open_stored(mixture, MIXTURE))
    else:
        stored = open_stored(folder, *(kinds or _LOADERS))
        if part and stored.kind != LANGUAGE_MODEL:
            raise RunFolderError(f"{folder}: is not a network with n-grams mixed in: leave out --part")
        return _loaded(stored)
    return replace(loaded, folder=folder)


def _loaded(stored: StoredModel) -> LoadedModel:
    return _LOADERS[stored.kind](stored)


def _network(stored: StoredModel) -> LoadedModel:
    saved = understand_language_model(stored)
    with torch.device("meta"):
        model = LanguageModel(saved.settings.model, len(saved.tokenizer.vocabulary))
    try:
        model.load_state_dict(saved.tensors, assign=True)
    except RuntimeError as error:
        raise RunFolderError(f"{stored.folder / MODEL}: does not fit config.json: restore both from a copy") from error
    model.requires_grad_(False)
    network = Network(model.use(fused=True).eval(), saved.tokenizer.vocabulary)
    return LoadedModel(network, saved.tokenizer, saved.settings, saved.texts, stored.folder)


def _ngrams(stored: StoredModel) -> LoadedModel:
    saved = understand_ngrams(stored)
    model = NgramModel(saved.tokenizer.vocabulary, saved.trie)
    return LoadedModel(model, saved.tokenizer, saved.settings, saved.texts, stored.folder)


def _mixture(stored: StoredModel) -> LoadedModel:
    """With the settings and texts of its first part."""
    saved = understand_mixture(stored)
    parts = [_loaded(part) for part in saved.parts]
    try:
        model = mixture_of([part.model for part in parts], saved.weights_RP, saved.recent)
    except SettingsError as error:
        raise RunFolderError(f"{stored.folder / MODEL}: {error}: restore it from a copy") from error
    return LoadedModel(model, stored.tokenizer, parts[0].settings, parts[0].texts, stored.folder)


def _arpa(path: Path, kinds: Sequence[str], part: Part | None) -> LoadedModel:
    """An ARPA file says nothing of the text that it is of."""
    if part or NGRAM not in (kinds or _LOADERS):
        what = "leave out --part" if part else "give the run folder of one"
        raise RunFolderError(f"{path}: an ARPA file has no network: {what}")
    trie, tokenizer = read_arpa(path)
    settings = NgramSettings(DataSettings(str(path)), trie.order)
    return LoadedModel(NgramModel(tokenizer.vocabulary, trie), tokenizer, settings, {}, path)


_LOADERS: dict[str, Callable[[StoredModel], LoadedModel]] = {
    LANGUAGE_MODEL: _network,
    NGRAM: _ngrams,
    MIXTURE: _mixture,
}
"""Kind of model to what opens it."""
