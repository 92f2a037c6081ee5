"""Mix the models of several run folders into one, with weights fitted on validation text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from wordtie.data.batches import Ids
from wordtie.data.encoding import EncodedText
from wordtie.errors import RunFolderError, require
from wordtie.evaluation.perplexity import evaluate_blocks
from wordtie.inference.loading import load
from wordtie.inference.training_corpus import training_corpus
from wordtie.models.mixture import fit_mixture
from wordtie.runs import layout, run_folder
from wordtie.runs.mixture_run import MIXED, write_mixture
from wordtie.runs.ready import run_path
from wordtie.runs.result import RunResult


@dataclass(frozen=True)
class MixtureResult(RunResult):
    """A mixture, and how well it and its parts predict the text that its weights were fitted on."""

    parts: Sequence[str]
    """The run folders."""
    weights: Sequence[Sequence[float]]
    """A row for each class of contexts, or one: the weight of each part."""
    valid_tokens: int
    valid_perplexity: float
    part_perplexities: Sequence[float]


def mix(
    runs: Sequence[str | Path], out: str | Path, text: str | Path | None = None, mode: run_folder.Mode = "new"
) -> MixtureResult:
    """Write a run folder that mixes the models of these; it holds copies of them.

    The weights are fitted on `text`, or else on the validation text of the first run's corpus. Raises `RunFolderError`
    for models of different words, for a mixture among them, and if a run is there already and `mode` is not
    `overwrite`; `DataError` for a text that cannot be used.
    """
    require(len(runs) >= 2, "a mixture needs at least two run folders")
    require(mode != "resume", "a mixture is fitted in one go: use mode overwrite")
    folders = [run_path(run) for run in runs]
    models = [load(each, MIXED) for each in folders]
    for each, model in zip(folders, models, strict=True):
        if model.tokenizer != models[0].tokenizer:
            raise RunFolderError(f"{each}: has other words than {folders[0]}: mix models of one vocabulary")
    tokenizer = models[0].tokenizer
    if text is None:
        hint = "name a text to fit the weights on"
        blocks: Iterable[Ids] = [training_corpus(models[0], folders[0], ["valid"], hint=hint).valid]
    else:
        blocks = list(EncodedText(text, tokenizer))
    with run_folder.folder_for_training(out, mode, can_resume=False) as folder:
        mixture = fit_mixture([model.model for model in models], blocks)
        write_mixture(folder, folders, mixture, tokenizer)
        if mode == "overwrite":
            run_folder.clear(folder, but=(*layout.MODEL_FILES, layout.PARTS))
        score, *of_parts = (evaluate_blocks(model, blocks) for model in (mixture, *mixture.parts))
        result = MixtureResult(
            folder=folder,
            parts=[str(each) for each in folders],
            weights=mixture.weights_RP.tolist(),
            valid_tokens=score.tokens,
            valid_perplexity=score.perplexity,
            part_perplexities=[each.perplexity for each in of_parts],
        )
        result.save()
    return result
