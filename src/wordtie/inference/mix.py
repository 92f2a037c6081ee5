"""Mix the models of several run folders into one, with weights fitted on validation text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from wordtie.config.paths import is_arpa, is_same_file
from wordtie.console import waiting
from wordtie.data.encoding import EncodedText
from wordtie.errors import RunFolderError, require
from wordtie.evaluation.perplexity import Score
from wordtie.inference.loading import LoadedModel, load
from wordtie.inference.training_corpus import training_corpus
from wordtie.models.mixture import log_probabilities
from wordtie.models.next_word import Nats
from wordtie.models.recent_words import best_adaptive_mixture, recent_words_of
from wordtie.runs import layout, run_folder
from wordtie.runs.layout import MIXTURE_FOLDER
from wordtie.runs.mixture_run import MIXED, name_of, write_mixture
from wordtie.runs.ready import run_path
from wordtie.runs.result import RunResult
from wordtie.runs.run_folder import is_mixture_of


@dataclass(frozen=True)
class MixtureResult(RunResult):
    """A mixture, and how well it and its parts predict the text that its weights were fitted on."""

    parts: Sequence[str]
    """The run folders."""
    weights: Sequence[Sequence[float]]
    """Weight of each part: a row for each class of contexts, or a single row."""
    valid_tokens: int
    valid_perplexity: float
    part_perplexities: Sequence[float]
    without_recent_perplexity: float | None = None
    """Perplexity of the mixture without recent words; None if it has none."""
    networks_alone: Sequence[str] = ()
    """Run folders that have n-grams mixed in, which are left out of this mixture."""


def mix(
    runs: Sequence[str | Path],
    out: str | Path,
    text: str | Path | None = None,
    mode: run_folder.Mode = "new",
    recent_words: bool = True,
) -> MixtureResult:
    """Write a run folder that mixes the models of these; it holds copies of them.

    The weights are fitted on `text`, or else on the validation text of the first run's corpus. With `recent_words`, the
    mixture also expects the last words again, if words recur in that text. Of a run that has n-grams mixed in, only the
    network is taken. Raises `RunFolderError` for models with different tokenizers, for a mixture or an ARPA file among
    them, for a run that is trained further meanwhile, and if a run is there already and `mode` is not `overwrite`;
    `DataError` for a text that cannot be used.
    """
    require(len(runs) >= 2, "a mixture needs at least two run folders")
    require(mode != "resume", "a mixture is fitted in one go: use mode overwrite")
    folders = _folders(runs, out)
    opened = [name_of(each) for each in folders]
    models = _of_one_vocabulary(folders)
    tokenizer = models[0].tokenizer
    if text is None:
        hint = "name a text to fit the weights on"
        ids_N = np.asarray(training_corpus(models[0], folders[0], ["valid"], hint=hint, download=True).valid)
    else:
        ids_N = np.concatenate(list(EncodedText(text, tokenizer)))
    with run_folder.folder_for_training(out, mode, can_resume=False) as folder:
        parts = [model.model for model in models]
        with waiting("fitting the weights"):
            log_p_NP, class_N = log_probabilities(parts, [ids_N])
            fitted = best_adaptive_mixture(parts, ids_N, log_p_NP, class_N, recent_words=recent_words)
        write_mixture(folder, folders, fitted.mixture, tokenizer, opened)
        if mode == "overwrite":
            run_folder.clear(folder, but=(*layout.MODEL_FILES, layout.PARTS))
            run_folder.remove_mixture(folder)
        result = MixtureResult(
            folder=folder,
            parts=[str(each) for each in folders],
            weights=fitted.mixture.weights_RP.tolist(),
            valid_tokens=len(ids_N),
            valid_perplexity=_perplexity(fitted.log_p_N),
            part_perplexities=[_perplexity(of_part_N) for of_part_N in log_p_NP.T],
            without_recent_perplexity=_perplexity(fitted.log_m_N) if recent_words_of(fitted.mixture) else None,
            networks_alone=[str(each) for each in folders if is_mixture_of(each / MIXTURE_FOLDER, each)],
        )
        result.save()
    return result


def _of_one_vocabulary(folders: Sequence[Path]) -> list[LoadedModel]:
    """Load the models. Raises `RunFolderError` if their tokenizers differ."""
    models = [load(each, kinds=MIXED) for each in folders]
    for each, model in zip(folders, models, strict=True):
        if model.tokenizer != models[0].tokenizer:
            raise RunFolderError(f"{each}: has other words than {folders[0]}: mix models of one vocabulary")
    return models


def _folders(runs: Sequence[str | Path], out: str | Path) -> list[Path]:
    """Return the paths of the run folders. Raises `RunFolderError` for an ARPA file."""
    folders = [run_path(run) for run in runs]
    for each in filter(is_arpa, folders):
        raise RunFolderError(f"{each}: a mixture holds copies of run folders: give the one that the ARPA file is of")
    if any(is_same_file(out, each) for each in folders):
        raise RunFolderError(f"{out}: is one of the runs to mix, which would be replaced: give another --out")
    return folders


def _perplexity(log_p_N: Nats) -> float:
    return Score(-float(log_p_N.sum()), len(log_p_N)).perplexity
