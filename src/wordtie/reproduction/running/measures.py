"""What else a row measures of its trained model, beside perplexity."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from wordtie.data.prepare import prepare
from wordtie.errors import DataError, RunFolderError
from wordtie.evaluation.sampled import evaluate_sampled
from wordtie.evaluation.word_mass import TextMass, text_mass
from wordtie.inference.loading import load
from wordtie.models.language_model import LanguageModel
from wordtie.noise.noisy_forward import build_noise
from wordtie.reproduction.papers.inan_2017_table_4 import PHRASES
from wordtie.runs import checkpoint
from wordtie.runs.layout import CHECKPOINT
from wordtie.runs.result import read_result
from wordtie.runs.run_folder import read_language_model
from wordtie.vectors.agreement import agreement_of
from wordtie.vectors.benchmarks import standard
from wordtie.vectors.extraction import sides, vectors_of
from wordtie.vectors.similarity import read_benchmark, similarity_of
from wordtie.vectors.subspace import Subspaces, compare_subspaces


def predictions(folder: Path) -> dict[str, list[list[Any]]]:
    """The ten words that the network finds likeliest after each phrase of inan-2017's Table 4, with probabilities."""
    model = load(folder, part="network")
    return {
        phrase: [[word, round(float(probability), 6)] for word, probability in model.predict(phrase, top=10)]
        for phrase in PHRASES
    }


def subspace(folder: Path) -> dict[str, float]:
    """Distance of the spaces of input and output vectors (inan-2017, Figure 1)."""
    return {"distance": round(spaces(folder).distance, 6)}


def spaces(folder: Path) -> Subspaces:
    """Input and output vectors after the last epoch, compared.

    Not of the exported model: that is the best on the validation text, and this experiment fits the training text.
    Raises `RunFolderError` for a model of one matrix.
    """
    tensors, _ = checkpoint.load(folder / CHECKPOINT)
    names = [f"model.{side}.weight" for side in ("embedding", "head")]
    if not set(names) <= set(tensors):
        raise RunFolderError(f"{folder}: its model has one word matrix: there is nothing to compare")
    return compare_subspaces(*(tensors[name].float().cpu().numpy() for name in names))


def similarity(folder: Path) -> dict[str, dict[str, float]]:
    """Spearman's rho of each side's vectors with human judgements; nothing where the benchmarks are not here.

    Once they are, the same command measures the finished run.
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
    """Spearman's rho between the similarities of all pairs of words under input and output vectors (untied)."""
    return {"rho": round(agreement_of(vectors_of(folder, "input"), vectors_of(folder, "output")).rho, 4)}


def agreement_with_small(folder: Path) -> dict[str, Any]:
    """The same between the tied vectors and those of the untied model `small`, of the same table and seed.

    Nothing where that has not been trained; once it has, the same command measures this run again.
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
    """The run of `small` beside a run, and the SHA-256 of its weights; None while it is not finished."""
    small = folder.with_name(f"small.{folder.name.partition('.')[2]}")
    result = read_result(small)
    return small, None if result is None or result.stopped == "max_time" else result.weights_sha256


def repetition(folder: Path) -> dict[str, float]:
    """Mean probability of the word read last, before each token of the test text, in % (press-wolf-2017, section 3).

    `elsewhere` is where another word came, `found` how often the same one did. Nothing where the text is not here.
    """
    found = _test_mass(folder, "repetition")
    if found is None:
        return {}
    kinds = {"repeated": found.predicted, "repeated elsewhere": found.elsewhere, "found": found.found}
    return {name: round(100 * (each.repeat or 0.0), 4) for name, each in kinds.items()}


def mass(folder: Path) -> dict[str, float]:
    """Mean probability of `<unk>` and of the 50 most frequent words together, before each token of the test text where
    something else came, in % (inan-2017, section 6.4). Nothing where the text is not here.
    """
    found = _test_mass(folder, "the mass of frequent words")
    if found is None:
        return {}
    return {name: round(100 * getattr(found.elsewhere, name), 4) for name in ("unk", "frequent")}


def _test_mass(folder: Path, what: str) -> TextMass | None:
    """Of the network of a run; None where the text is not here, with a line that says so."""
    settings = read_language_model(folder).settings
    try:
        data = prepare(settings.data)
    except DataError as error:
        print(f"{what} is not measured: {error}", file=sys.stderr)
        return None
    return text_mass(load(folder, part="network").model, data.test)


def sampling(folder: Path) -> dict[str, float]:
    """Validation perplexity where each word is predicted by twenty draws of the noise (kong-2019, section 5.4).

    The draws are of the vectors that were trained, whatever the run predicts with. Nothing where the text is not here.
    """
    saved = read_language_model(folder)
    settings = saved.settings
    try:
        data = prepare(settings.data)
    except DataError as error:
        print(f"sampling is not measured: {error}", file=sys.stderr)
        return {}
    noise = build_noise(replace(settings.noise, prediction="sampling", samples=20), data, torch.device("cpu"))
    model = LanguageModel(settings.model, len(data.vocabulary))
    model.load_state_dict(build_noise(settings.noise, data, torch.device("cpu")).for_training(saved.tensors))
    model.use(settings.training.fused)
    eos_id, steps = data.vocabulary.eos_id, settings.training.steps
    score = evaluate_sampled(model, noise, data.valid, eos_id, steps, noise.settings.samples)
    return {"valid perplexity": round(score.perplexity, 4)}


MEASURES: dict[str, Callable[[Path], Any]] = {
    "predictions": predictions,
    "subspace": subspace,
    "similarity": similarity,
    "agreement": input_output_agreement,
    "agreement_with_small": agreement_with_small,
    "sampling": sampling,
    "repetition": repetition,
    "mass": mass,
}
"""By the names that rows use; what they return goes into the ledger as it is, so it must be plain JSON."""


def is_measured(name: str, found: Any, folder: Path) -> bool:
    """Whether a measure that a run's entry has stands: it is there, and of the models that are there now."""
    if not found or name != "agreement_with_small":
        return bool(found)
    _, weights = _small(folder)
    return weights in (None, found["small_weights_sha256"])
