"""What else a row measures of its trained model, beside perplexity."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from wordtie.evaluation.subspace import subspace_distance
from wordtie.training import checkpoint
from wordtie.training.run_folder import CHECKPOINT
from wordtie.uses.open_run import load

PHRASES = {
    "information international said it believes that the complaints filed in": "federal",
    "oil company refineries ran flat out to prepare for a robust holiday driving season in july and": "august",
    "southmark said it plans to <unk> its <unk> to provide financial results as soon as its audit is": "completed",
    "merieux said the government 's minister of industry science and": "technology",
}
"""inan-2017, Table 4: phrases of the PTB test text, and the word that follows."""


def predictions(folder: Path) -> dict[str, list[list[Any]]]:
    """The ten likeliest next words of each phrase of inan-2017's Table 4, with their probabilities."""
    model = load(folder)
    return {
        phrase: [[word, round(float(probability), 6)] for word, probability in model.predict(phrase, top=10)]
        for phrase in PHRASES
    }


def subspace(folder: Path) -> dict[str, float]:
    """Distance of the spaces of input and output vectors after the last epoch (inan-2017, Figure 1).

    Not of the exported model: that is the best on the validation text, and this experiment fits the training text.
    """
    tensors, _ = checkpoint.load(folder / CHECKPOINT)
    matrices = (tensors[f"model.{name}.weight"].float().cpu().numpy() for name in ("embedding", "head"))
    return {"distance": round(subspace_distance(*matrices), 6)}


MEASURES: Mapping[str, Callable[[Path], Any]] = {"predictions": predictions, "subspace": subspace}
"""By the names that rows use; what they return goes into the ledger as it is, so it must be plain JSON."""
