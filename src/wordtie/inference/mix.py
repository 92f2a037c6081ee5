"""Mix the models of several run folders into one, with weights fitted on validation text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from wordtie.config.paths import is_arpa, is_same_file
from wordtie.console import say, waiting
from wordtie.data.batches import Ids
from wordtie.data.encoding import encode_file
from wordtie.errors import DataError, RunFolderError, require
from wordtie.evaluation.perplexity import Score
from wordtie.inference.loading import LoadedModel, load
from wordtie.inference.training_corpus import of_other_texts, training_corpus
from wordtie.models.mixture import log_probabilities
from wordtie.models.next_word import Nats
from wordtie.models.recent_words import best_adaptive_mixture, recent_words_of
from wordtie.runs import layout, run_folder
from wordtie.runs.layout import MIXTURE_FOLDER, MODEL, NGRAMS, PARTS, TOKENIZER
from wordtie.runs.mixture_run import MIXED, name_of, write_mixture
from wordtie.runs.ready import run_path
from wordtie.runs.result import RunResult
from wordtie.runs.run_folder import is_mixture_of
from wordtie.storage.atomic import file_sha256


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
    text_sha256: str | None = None
    """SHA-256 of the text that the weights were fitted on; None in mixtures of earlier versions."""


def mix(
    runs: Sequence[str | Path],
    out: str | Path,
    text: str | Path | None = None,
    mode: run_folder.Mode = "new",
    recent_words: bool = True,
) -> MixtureResult:
    """Write a run folder that mixes the models of these; it holds copies of them.

    The weights are fitted on `text`, or else on the validation text of the first run's corpus. With `recent_words`, the
    mixture also expects the last words again, if words recur in that text. The n-grams that training has mixed into a
    run are a part of their own; those that several runs have in common, as seeds do, are one part. Raises
    `RunFolderError` for models with different tokenizers, for a mixture or an ARPA file among them, for a run that is
    trained further meanwhile, and if a run is there already and `mode` is not `overwrite`; `DataError` for a text that
    cannot be used, or that one of the models was trained on.
    """
    require(len(runs) >= 2, "a mixture needs at least two run folders")
    require(mode != "resume", "a mixture is fitted in one go: use mode overwrite")
    folders = _with_ngrams(_folders(runs, out))
    opened = [name_of(each) for each in folders]
    models = _of_one_vocabulary(folders)
    tokenizer = models[0].tokenizer
    ids_N, sha256 = _text_for_weights(folders, models, text)
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
            text_sha256=sha256,
            valid_tokens=len(ids_N),
            valid_perplexity=_perplexity(fitted.log_p_N),
            part_perplexities=[_perplexity(of_part_N) for of_part_N in log_p_NP.T],
            without_recent_perplexity=_perplexity(fitted.log_m_N) if recent_words_of(fitted.mixture) else None,
        )
        result.save()
    return result


def _of_one_vocabulary(folders: Sequence[Path]) -> list[LoadedModel]:
    """Load the models. Raises `RunFolderError` if their tokenizers differ."""
    for each in folders:
        if (each / PARTS).is_dir():
            raise RunFolderError(
                f"{each}: holds a mixture model, which is no part of another: mix the runs that it is of"
            )
    models = [load(each, kinds=MIXED) for each in folders]
    for each, model in zip(folders, models, strict=True):
        if model.tokenizer != models[0].tokenizer:
            raise RunFolderError(f"{each}: has other words than {folders[0]}: mix models of one vocabulary")
    return models


def _text_for_weights(
    folders: Sequence[Path], models: Sequence[LoadedModel], text: str | Path | None
) -> tuple[Ids, str]:
    """Return the text that weights are fitted on, (N,), and its SHA-256.

    Raises `DataError` if a model was trained on it, or it cannot be read.
    """
    if text is None:
        hint = "give a --text to fit the weights on"
        data = training_corpus(models[0], folders[0], ["valid"], hint=hint, download=True)
        ids_N, sha256 = np.asarray(data.valid), data.texts["valid"]
        advice = "give a --text that no run was trained on"
        say(of_other_texts(dict(zip(map(str, folders), models, strict=True)), "valid", sha256, advice))
    else:
        ids_N, stats = encode_file(text, models[0].tokenizer)
        sha256 = stats.sha256
    for each, model in zip(folders, models, strict=True):
        if any(each_sha256 == sha256 for split, each_sha256 in model.texts.items() if split not in ("valid", "test")):
            raise DataError(
                f"{each}: was trained on the text that weights are fitted on, so that its weight would be too large: "
                "give a --text that no run was trained on"
            )
    return ids_N, sha256


def _folders(runs: Sequence[str | Path], out: str | Path) -> list[Path]:
    """Return the paths of the run folders. Raises `SettingsError` for one given twice, `RunFolderError` for ARPA."""
    folders = [run_path(run) for run in runs]
    require(len({each.resolve() for each in folders}) == len(folders), "the same run is named twice: name each once")
    for each in filter(is_arpa, folders):
        raise RunFolderError(f"{each}: a mixture holds copies of run folders: give the one that the ARPA file is of")
    if any(is_same_file(out, each) for each in folders):
        raise RunFolderError(f"{out}: is one of the runs to mix, which would be replaced: give another --out")
    return folders


def _with_ngrams(folders: Sequence[Path]) -> list[Path]:
    """Add the folders of the n-grams that are mixed into these runs, none of the same content twice."""
    found, known = list(folders), {_content_of(each) for each in folders}
    for each in folders:
        ngrams = each / NGRAMS
        if is_mixture_of(each / MIXTURE_FOLDER, each) and (content := _content_of(ngrams)) not in known:
            found.append(ngrams)
            known.add(content)
    return found


def _content_of(folder: Path) -> tuple[str, ...]:
    """Return the SHA-256 of a model and of its words: not of its settings, which name texts by their paths.

    It is empty if there is nothing, which is noticed when the folder is opened.
    """
    try:
        return tuple(file_sha256(folder / name) for name in (MODEL, TOKENIZER))
    except OSError:
        return ()


def _perplexity(log_p_N: Nats) -> float:
    return Score(-float(log_p_N.sum()), len(log_p_N)).perplexity
