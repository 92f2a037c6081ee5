"""Open a run folder and use the model in it.

model = wordtie.load("runs/ptb")
model.surprisal("the cat sat on the mat")
model.predict("the federal reserve")
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import torch

from wordtie.config import Settings
from wordtie.config.paths import path_of
from wordtie.data.tokenizer import Tokenizer
from wordtie.errors import RunFolderError
from wordtie.inference import generate, predict, surprisal
from wordtie.inference.evaluate import EvaluationResult, evaluate_file
from wordtie.models.language_model import LanguageModel
from wordtie.runs.layout import MODEL
from wordtie.runs.run_folder import read_language_model


@dataclass(frozen=True)
class LoadedModel:
    """A language model with its tokenizer, in evaluation mode, fp32."""

    model: LanguageModel
    tokenizer: Tokenizer
    settings: Settings
    texts: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of the text of each split that it was trained and measured with, as far as the folder says."""

    def __repr__(self) -> str:
        kind, size = f"{self.settings.model.head} {self.settings.model.core}", self.model.parameter_count()
        return f"LoadedModel({kind}, {size:,} parameters, {len(self.tokenizer.vocabulary):,} words)"

    def surprisal(self, text: str, reset: surprisal.Reset = "line") -> list[surprisal.WordSurprisal]:
        """One record a word: see `wordtie.inference.surprisal`."""
        return list(surprisal.surprisal(self.model, self.tokenizer, predict.lines_of(text), reset))

    def predict(self, text: str, top: int = 10, words_only: bool = False) -> list[tuple[str, float]]:
        """The `top` likeliest next words of a phrase, with probabilities; `words_only`: no `<unk>`, no `<eos>`."""
        return predict.predict(self.model, self.tokenizer, text, top, words_only)

    def generate(self, prompt: str = "", words: int = 50, temperature: float = 1.0, seed: int | None = None) -> str:
        """Text that goes on from the prompt, sampled word by word."""
        return generate.generate(self.model, self.tokenizer, prompt, words, temperature, seed)

    def evaluate(self, file: str | Path | IO[Any]) -> EvaluationResult:
        """Perplexity of a text file, given by its path or open, every token predicted once."""
        return evaluate_file(self.model, self.tokenizer, file)


def load(run: str | Path) -> LoadedModel:
    """Open a run folder. Raises `RunFolderError` where it is incomplete, damaged or from a newer version."""
    folder = path_of(run)
    saved = read_language_model(folder)
    with torch.device("meta"):
        model = LanguageModel(saved.settings.model, len(saved.tokenizer.vocabulary))
    try:
        model.load_state_dict(saved.tensors, assign=True)
    except RuntimeError as error:
        raise RunFolderError(f"{folder / MODEL}: does not fit config.json: take both from a copy") from error
    model.requires_grad_(False)
    return LoadedModel(model.use(fused=True).eval(), saved.tokenizer, saved.settings, saved.texts)
