"""Open a run folder and use the model in it.

model = wordtie.load("runs/ptb")
model.surprisal("the cat sat on the mat")
model.predict("the federal reserve")
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from wordtie.config import DataSettings, Settings
from wordtie.config.ngram import NgramSettings
from wordtie.config.paths import is_arpa, path_of
from wordtie.console import say
from wordtie.data.tokenizer import Tokenizer
from wordtie.errors import RunFolderError, SettingsError, require
from wordtie.inference import predict
from wordtie.models.next_word import NextWordModel
from wordtie.runs.layout import CHECKPOINT, CONFIG, INVOCATIONS, MANIFEST, MIXTURE_FOLDER, MODEL, NGRAMS, PARTS, RESULT
from wordtie.runs.ready import run_path
from wordtie.runs.run_folder import (
    LANGUAGE_MODEL,
    MIXTURE,
    NGRAM,
    StoredModel,
    is_mixture_of,
    open_stored,
    understand_language_model,
)

if TYPE_CHECKING:  # each is imported when it is used: a few words are read in less time than torch is imported
    from wordtie.inference.coloured_surprisal import SurprisalList
    from wordtie.inference.evaluate import EvaluationResult
    from wordtie.inference.regions import Region
    from wordtie.inference.surprisal import Reset
    from wordtie.models.language_model import LanguageModel


ROUNDING = 0.01
"""Largest difference from 1 of a sum of probabilities that an ARPA file gives with few digits."""


@dataclass(frozen=True)
class LoadedModel:
    """A model with its tokenizer, ready for use."""

    model: NextWordModel[Any]
    tokenizer: Tokenizer
    settings: Settings | NgramSettings
    texts: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of the text of each split that the model was trained and measured on, as far as the folder says."""
    folder: Path | None = None
    """Run folder that the model was loaded from."""

    def __repr__(self) -> str:
        return f"LoadedModel({_about(self.model)}, {len(self.tokenizer.vocabulary):,} words)"

    @property
    def network(self) -> LanguageModel:
        """The network itself, in evaluation mode and fp32.

        Raises `RunFolderError` if there is none, or several, or the model was opened `without_torch`.
        """
        from wordtie.models.network import Network

        parts = self._parts
        networks = [part for part in parts if isinstance(part, Network)]
        if len(networks) != 1:
            where = "" if self.folder is None else f"{self.folder / CONFIG}: "
            what = "several networks" if networks else "no network"
            if self.is_in_numpy:
                raise RunFolderError(f"{where}was opened without torch, which is needed here: leave without_torch out")
            raise RunFolderError(f"{where}holds {what}, and one is needed here: take the run of a language model")
        return networks[0].network

    @property
    def is_in_numpy(self) -> bool:
        """Whether a network computes in numpy, as in a model that was opened `without_torch`."""
        from wordtie.models.numpy_network import NumpyNetwork

        return any(isinstance(part, NumpyNetwork) for part in self._parts)

    @property
    def _parts(self) -> Sequence[NextWordModel[Any]]:
        """Parts of a mixture, or the model itself."""
        from wordtie.models.mixture import Mixture

        return self.model.parts if isinstance(self.model, Mixture) else (self.model,)

    def surprisal(self, text: str, reset: Reset = "line") -> SurprisalList:
        """Return one record per word: see `wordtie.inference.surprisal`. A notebook shows the list as coloured text."""
        from wordtie.inference.coloured_surprisal import SurprisalList
        from wordtie.inference.surprisal import surprisal

        return SurprisalList(surprisal(self.model, self.tokenizer, predict.lines_of(text), reset))

    def regions(self, text: str, reset: Reset = "line", mark: str | None = None) -> list[Region]:
        """Return one record per word as shown, or per stretch between marks: see `wordtie.inference.regions`.

        Log frequencies are not included; `wordtie.inference.regions.region_rows` includes them.
        """
        from wordtie.inference.regions import ShownLine, regions

        lines = [ShownLine.of(line, mark) for line in predict.lines_of(text)]
        return [region for line in regions(self, lines, reset) for region in line]

    def score(self, sentences: Sequence[str]) -> list[float]:
        """Return the surprisal of each sentence, in bits: see `wordtie.inference.score`."""
        from wordtie.inference.score import score

        return score(self.model, self.tokenizer, sentences)

    def predict(
        self, text: str, top: int = 10, words_only: bool = False, blocked: Collection[str] = ()
    ) -> list[tuple[str, float]]:
        """Return the `top` likeliest next words of a phrase, with probabilities; `words_only`: no `<unk>`, no `<eos>`.

        If the text ends in `|`, the word before it is still being typed, and its completions are returned. Words in
        `blocked`, in any case, are left out.
        """
        return predict.predict(self.model, self.tokenizer, text, top, words_only, blocked)

    def start(self) -> Any:
        """Return the state at the start of a text, for `step` and `next_words`."""
        return self.model.initial_state(1)

    def step(self, word: str, state: Any) -> Any:
        """Return the state after one more word, or several; the state that is passed in is not changed."""
        return predict.step(self.model, self.tokenizer, word, state)

    def next_words(
        self, state: Any, prefix: str = "", top: int = 10, words_only: bool = False, blocked: Collection[str] = ()
    ) -> list[tuple[str, float]]:
        """Return the `top` likeliest next words in a state, with probabilities; with a prefix, those beginning with it.

        >>> model = load("en")
        >>> state = model.step("the president of the", model.start())
        >>> [word for word, _ in model.next_words(state, prefix="unit", top=2)]
        ['united', 'unitary']
        """
        return predict.next_words(self.model, self.tokenizer, state, prefix, top, words_only, blocked)

    def generate(self, prompt: str = "", words: int = 50, temperature: float = 1.0, seed: int | None = None) -> str:
        """Return the prompt, continued by words that are sampled one by one."""
        from wordtie.inference.generate import generate

        return generate(self.model, self.tokenizer, prompt, words, temperature, seed)

    def evaluate(self, file: str | Path | IO[Any], hits: Sequence[int] = ()) -> EvaluationResult:
        """Compute the perplexity of a text file, given by its path or open, every token predicted once; `hits`: numbers
        k for which to measure how often the next word is among the k likeliest."""
        from wordtie.inference.evaluate import evaluate_file

        return evaluate_file(self.model, self.tokenizer, file, hits)


def _about(model: NextWordModel[Any]) -> str:
    from wordtie.models.mixture import Mixture
    from wordtie.models.network import Network
    from wordtie.models.numpy_network import NumpyNetwork
    from wordtie.models.recent_words import AdaptiveMixture
    from wordtie.ngrams.model import NgramModel

    if isinstance(model, Network):
        settings = model.network.settings
        return f"{settings.head} {settings.core}, {model.network.parameter_count():,} parameters"
    if isinstance(model, NumpyNetwork):
        return f"{model.settings.head} {model.settings.core}, {model.parameter_count():,} parameters, in numpy"
    if isinstance(model, NgramModel):
        return f"{model.trie.order}-gram, {model.trie.ngrams:,} n-grams"
    if isinstance(model, Mixture):
        recent = ", and recent words" if isinstance(model, AdaptiveMixture) else ""
        return f"mixture of {' and '.join(map(_about, model.parts))}{recent}"
    return type(model).__name__


Part: TypeAlias = Literal["network", "ngram", "without-recent"]
"""Part of a network mixed with n-grams and recent words that is opened instead of the whole mixture."""


UNMIXED_RUN = "has no n-gram model mixed in: leave out --part, or train with --ngram 5"


@dataclass(frozen=True)
class _How:
    """Form in which a model is opened; see `load`."""

    without_torch: bool
    copied: bool


def load(
    run: str | Path,
    part: Part | None = None,
    *,
    kinds: Sequence[str] = (),
    without_torch: bool = False,
    copied: bool = False,
) -> LoadedModel:
    """Open a run folder, a model that comes with wordtie (`en`), or an ARPA file.

    A language model that was mixed with n-grams is opened as the mixture, or as one `part` of it: the `network`, the
    `ngram` model, or the mixture `without-recent` words. `kinds`: open only these kinds of models; any if empty.
    `without_torch`: a network computes in numpy, whose scores are the same to 1e-5 nats, and torch is not imported,
    which takes longer than reading a few words. `copied`: n-grams are read into memory, not mapped, so that writing to
    the file does not change them. Raises `RunFolderError` if the folder is incomplete, damaged, from a newer version
    or of another kind, and `DataError` for an ARPA file that cannot be read.
    """
    require(part is None or part in get_args(Part), f"part is one of {', '.join(get_args(Part))}, got {part!r}")
    if is_arpa(run):
        return _arpa(path_of(run), kinds, part)
    folder, how = run_path(run), _How(without_torch, copied)
    mixture = folder / MIXTURE_FOLDER
    if part == "without-recent":  # opens the mixture as such, with its notes
        from wordtie.models.recent_words import without_recent_words

        if not is_mixture_of(mixture, folder) and not (folder / PARTS).is_dir() and (folder / CONFIG).exists():
            raise RunFolderError(f"{folder}: {UNMIXED_RUN}")
        loaded = load(folder, kinds=[MIXTURE], without_torch=without_torch, copied=copied)
        return replace(loaded, model=without_recent_words(loaded.model), folder=folder)
    _tell_of_another_run(folder)
    if part == "ngram":
        if not is_mixture_of(mixture, folder):
            raise RunFolderError(f"{folder}: {UNMIXED_RUN}")
        loaded = _loaded(open_stored(folder / NGRAMS, NGRAM), how)
    elif part is None and MIXTURE in (kinds or _LOADERS) and is_mixture_of(mixture, folder):
        loaded = _loaded(open_stored(mixture, MIXTURE), how)
    else:
        stored = open_stored(folder, *(kinds or _LOADERS))
        if part and stored.kind != LANGUAGE_MODEL:
            raise RunFolderError(f"{folder}: is not a network with n-grams mixed in: leave out --part")
        if part is None and stored.kind == LANGUAGE_MODEL and MIXTURE in (kinds or _LOADERS):
            _tell_of_mixing(folder)
        return _loaded(stored, how)
    return replace(loaded, folder=folder)


def _tell_of_another_run(folder: Path) -> None:
    """Print a note if the model is that of an earlier run, which a run without a model so far was to replace."""
    if (folder / CHECKPOINT).exists() and (folder / MANIFEST).exists() and not (folder / RESULT).exists():
        from wordtie.runs.metrics import read_metrics

        with suppress(RunFolderError):  # damaged metrics are no reason not to use a model
            if not any("valid_perplexity" in line for line in read_metrics(folder)):
                say([f"{folder}: this is the model of an earlier run; the one that replaces it has none yet"])


def _tell_of_mixing(folder: Path) -> None:
    """Print a note if the run was stopped before n-grams were mixed in: its predictions will change."""
    if (folder / INVOCATIONS).exists():
        from wordtie.runs.provenance import UNMIXED, ngram_due

        say([f"{folder}: this is the network alone, {UNMIXED}"] if ngram_due(folder) else [])


def _loaded(stored: StoredModel, how: _How) -> LoadedModel:
    return _LOADERS[stored.kind](stored, how)


def _network(stored: StoredModel, how: _How) -> LoadedModel:
    if how.without_torch:
        from wordtie.models.numpy_network import NumpyNetwork
        from wordtie.runs.arrays import language_model_arrays

        if (found := language_model_arrays(stored)) is not None:
            in_numpy = NumpyNetwork(found.settings.model, found.arrays, stored.tokenizer.vocabulary)
            return LoadedModel(in_numpy, stored.tokenizer, found.settings, found.texts, stored.folder)

    import torch

    from wordtie.models.language_model import LanguageModel
    from wordtie.models.network import Network

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


def _ngrams(stored: StoredModel, how: _How) -> LoadedModel:
    """Open an n-gram model, which never needs torch."""
    from wordtie.ngrams.model import NgramModel
    from wordtie.runs.ngram_run import understand_ngrams

    saved = understand_ngrams(replace(stored, content=bytes(stored.content)) if how.copied else stored)
    model = NgramModel(saved.tokenizer.vocabulary, saved.trie)
    return LoadedModel(model, saved.tokenizer, saved.settings, saved.texts, stored.folder)


def _mixture(stored: StoredModel, how: _How) -> LoadedModel:
    """Open a mixture, with the settings and texts of its first part."""
    from wordtie.models.recent_words import mixture_of
    from wordtie.runs.mixture_run import understand_mixture

    saved = understand_mixture(stored)
    parts = [_loaded(part, how) for part in saved.parts]
    try:
        model = mixture_of([part.model for part in parts], saved.weights_RP, saved.recent)
    except SettingsError as error:
        raise RunFolderError(f"{stored.folder / MODEL}: {error}: restore it from a copy") from error
    return LoadedModel(model, stored.tokenizer, parts[0].settings, parts[0].texts, stored.folder)


def _arpa(path: Path, kinds: Sequence[str], part: Part | None) -> LoadedModel:
    """Open an ARPA file, which does not say what text it was estimated from."""
    if part or NGRAM not in (kinds or _LOADERS):
        what = "leave out --part" if part else "give the run folder of one"
        raise RunFolderError(f"{path}: an ARPA file has no network: {what}")
    from wordtie.ngrams.arpa import read_arpa
    from wordtie.ngrams.model import NgramModel

    trie, tokenizer = read_arpa(path)
    total = float(trie.unigram.sum())
    if abs(total - 1) > ROUNDING:
        say([f"{path}: the probabilities of its words sum to {total:.3g}, not to 1: its figures are not comparable"])
    settings = NgramSettings(DataSettings(str(path)), trie.order)
    return LoadedModel(NgramModel(tokenizer.vocabulary, trie), tokenizer, settings, {}, path)


_LOADERS: dict[str, Callable[[StoredModel, _How], LoadedModel]] = {
    LANGUAGE_MODEL: _network,
    NGRAM: _ngrams,
    MIXTURE: _mixture,
}
"""Kind of model to the function that opens it."""
