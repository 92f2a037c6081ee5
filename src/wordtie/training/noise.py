"""The noise of a run: its settings, and the proposal that the counts of the training text give."""

from __future__ import annotations

import torch

from wordtie.config import NoiseSettings
from wordtie.models.noisy_reading import Noise
from wordtie.noise.ngram_counts import neighbour_counts
from wordtie.noise.proposals import build_proposal
from wordtie.text.token_file import PreparedData


def build_noise(settings: NoiseSettings, data: PreparedData, device: torch.device) -> Noise:
    """Count the training text, only where words are to be replaced. Raises `DataError` for too short a one."""
    if settings.kind == "none":
        return Noise(settings)
    counts = neighbour_counts(data.train, len(data.vocabulary))
    return Noise(settings, build_proposal(settings, counts, data.vocabulary.unk_id).to(device))
