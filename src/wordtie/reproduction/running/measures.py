"""Measures of a row's trained model besides perplexity."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor

from wordtie.config import Settings
from wordtie.data.prepare import prepare
from wordtie.data.token_file import PreparedData
from wordtie.errors import DataError, RunFolderError
from wordtie.evaluation.perplexity import evaluate
from wordtie.evaluation.sampled import evaluate_sampled
from wordtie.evaluation.word_mass import TextMass, text_mass
from wordtie.inference.loading import load
from wordtie.models.language_model import LanguageModel
from wordtie.noise.noisy_forward import Noise, build_noise
from wordtie.reproduction.papers.inan_2017_table_4 import PHRASES
from wordtie.runs import checkpoint
from wordtie.runs.layout import CHECKPOINT
from wordtie.runs.result import read_result
from wordtie.runs.run_folder import read_language_model
from wordtie.training.precision import resolve_device
from wordtie.vectors.agreement import agreement_of
from wordtie.vectors.benchmarks import standard
from wordtie.vectors.extraction import sides, vectors_of
from wordtie.vectors.similarity import read_benchmark, similarity_of
from wordtie.vectors.subspace import Subspaces, compare_subspaces

T = TypeVar("T")


def predictions(folder: Path) -> dict[str, list[list[Any]]]:
    """Return the network's ten most likely words after each phrase of inan-2017's Table 4, with probabilities."""
    model = load(folder, part="network")
    return {
        phrase: [[word, round(float(probability), 6)] for word, probability in model.predict(phrase, top=10)]
        for phrase in PHRASES
    }


def subspace(folder: Path) -> dict[str, float]:
    """Return the distance between the spaces of input and output vectors (inan-2017, Figure 1)."""
    return {"distance": round(spaces(folder).distance, 6)}


def spaces(folder: Path) -> Subspaces:
    """Compare the spaces of input and output vectors after the last epoch.

    Raises `RunFolderError` for a model with one word matrix.
    """
    tensors = of_last_epoch(folder)
    names = [f"{side}.weight" for side in ("embedding", "head")]
    if not set(names) <= set(tensors):
        raise RunFolderError(f"{folder}: its model has one word matrix: there is nothing to compare")
    return compare_subspaces(*(tensors[name].float().cpu().numpy() for name in names))


def of_last_epoch(folder: Path) -> dict[str, Tensor]:
    """Return the tensors of a run's network after the last epoch, for experiments that fit the training text.

    The exported model is the best on the validation text. Raises `RunFolderError` if there is no checkpoint.
    """
    tensors, _ = checkpoint.load(folder / CHECKPOINT)
    return {name.removeprefix("model."): each for name, each in tensors.items() if name.startswith("model.")}


def similarity(folder: Path) -> dict[str, dict[str, float]]:
    """Return Spearman's rho of each side's vectors with human judgements; empty if the benchmarks are missing.

    Once they are available, the same command measures the finished run.
    """
    try:
        benchmarks = {name: read_benchmark(path) for name, path in standard().items()}
    except DataError as error:
        print(f"word similarity is not measured: {error}", file=sys.stderr)
        return {}
    return {
        side: {title: round(similarity_of(vectors, each).rho, 4) for title, each in benchmarks.items()}
        for side, vectors in sides(folder).items()
    }


def input_output_agreement(folder: Path) -> dict[str, float]:
    """Return Spearman's rho between the cosines of all pairs of words under input and output vectors (untied)."""
    return {"rho": round(agreement_of(vectors_of(folder, "input"), vectors_of(folder, "output")).rho, 4)}


def agreement_with_small(folder: Path) -> dict[str, Any]:
    """Return the agreement of the tied vectors with those of the untied model `small` of the same table and seed.

    Empty if `small` has not been trained; once it has, the same command measures this run again.
    """
    small, weights = _small(folder)
    if weights is None:
        print(f"agreement is not measured: it takes {small}, which is not trained to its end", file=sys.stderr)
        return {}
    tied = vectors_of(folder)
    return {
        **{f"{side}~tied": {"rho": round(agreement_of(vectors_of(small, side), tied).rho, 4)}
           for side in ("input", "output")},
        "small_weights_sha256": weights,
    }  # fmt: skip


def _small(folder: Path) -> tuple[Path, str | None]:
    """Return the run folder of `small` beside a run, and the SHA-256 of its weights; None until it has finished."""
    small = folder.with_name(f"small.{folder.name.partition('.')[2]}")
    result = read_result(small)
    return small, None if result is None or result.stopped == "max_time" else result.weights_sha256


def repetition(folder: Path) -> dict[str, float]:
    """Return the mean probability of repeating the current word in the test text, in % (press-wolf-2017, section 3).

    `elsewhere`: where another word follows. `found`: how often it is repeated. Empty if the text is missing.
    """
    found = _test_mass(folder, "repetition")
    if found is None:
        return {}
    kinds = {"repeated": found.predicted, "repeated elsewhere": found.elsewhere, "found": found.found}
    return {name: round(100 * (each.repeat or 0.0), 4) for name, each in kinds.items()}


def mass(folder: Path) -> dict[str, float]:
    """Return the mean probability of `<unk>`, and of the 50 most frequent words together, over those tokens of the test
    text that are something else, in % (inan-2017, section 6.4). Empty if the text is missing.
    """
    found = _test_mass(folder, "the mass of frequent words")
    if found is None:
        return {}
    return {name: round(100 * getattr(found.elsewhere, name), 4) for name in ("unk", "frequent")}


def _test_mass(folder: Path, what: str) -> TextMass | None:
    """Return the masses of a run's network over its test text; None, with a message, if the text is missing."""
    data = _if_there(lambda: prepare(read_language_model(folder).settings.data), what)
    return None if data is None else text_mass(load(folder, part="network").model, data.test)


def _if_there(read: Callable[[], T], what: str) -> T | None:
    """Return what is read; None, with a message that says what is not measured, if the text is missing."""
    try:
        return read()
    except DataError as error:
        print(f"{what} is not measured: {error}", file=sys.stderr)
        return None


def sampling(folder: Path) -> dict[str, float]:
    """Return the validation perplexity with twenty samples of the noise per prediction (kong-2019, section 5.4).

    The trained vectors are sampled, whatever the run predicts with. Empty if the text is missing.
    """
    found = _if_there(lambda: as_trained(folder), "sampling")
    if found is None:
        return {}
    model, settings, data = found
    noise = build_noise(settings.noise, data, resolve_device("auto"))
    return {"valid perplexity": round(sampled_perplexity(model, noise, data, settings.training.steps), 4)}


def sampled_perplexity(model: LanguageModel, noise: Noise, data: PreparedData, steps: int) -> float:
    """Return the validation perplexity of the trained vectors with twenty samples of the noise, read as in training."""
    return evaluate_sampled(model, noise, data.valid, data.vocabulary.eos_id, steps, samples=20).perplexity


def mode(folder: Path) -> dict[str, float]:
    """Return the perplexities with the trained vectors themselves, whatever the run predicts with: the mode of the
    noise (kong-2019, section 4.1). Empty if the text is missing.
    """
    found = _if_there(lambda: as_trained(folder), "prediction with the mode")
    if found is None:
        return {}
    model, _, data = found
    texts = {"valid": data.valid, "test": data.test}
    return {
        f"{split} perplexity": round(evaluate(model, ids, data.vocabulary.eos_id).perplexity, 4)
        for split, ids in texts.items()
    }


def as_trained(folder: Path) -> tuple[LanguageModel, Settings, PreparedData]:
    """Return a run's network with the vectors that were trained, on a GPU if there is one, its settings and its text.

    Raises `RunFolderError` if there is no such run, and `DataError` if its text is missing.
    """
    saved = read_language_model(folder)
    settings = saved.settings
    data = prepare(settings.data)
    model = LanguageModel(settings.model, len(data.vocabulary))
    model.load_state_dict(build_noise(settings.noise, data, torch.device("cpu")).for_training(saved.tensors))
    model.use(settings.training.fused)
    return model.to(resolve_device("auto")), settings, data


MEASURES: dict[str, Callable[[Path], Any]] = {
    "predictions": predictions,
    "subspace": subspace,
    "similarity": similarity,
    "agreement": input_output_agreement,
    "agreement_with_small": agreement_with_small,
    "sampling": sampling,
    "mode": mode,
    "repetition": repetition,
    "mass": mass,
}
"""Measures by the names that rows use; what they return is written to the ledger, so it must be plain JSON."""


def is_measured(name: str, found: Any, folder: Path) -> bool:
    """Whether a measure in a run's entry is present and up to date: measured on the models that are there now."""
    if not found or name != "agreement_with_small":
        return bool(found)
    _, weights = _small(folder)
    return weights in (None, found["small_weights_sha256"])
