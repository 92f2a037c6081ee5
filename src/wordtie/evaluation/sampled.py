"""Sampling at prediction: the log-likelihood averaged over draws of the noise (Kong et al. 2019, section 5.4).

For comparison only: the paper found that it gives worse results. The draws are read side by side, as streams of one and
the same text, each with its state carried over; a window is as long as in training, because words are drawn again
for each.

Shapes: T steps, S samples, N = T * S.
"""

from __future__ import annotations

from dataclasses import replace

import torch

from wordtie.data.batches import Ids, batches
from wordtie.evaluation.perplexity import Score
from wordtie.losses.loss import CrossEntropy, Scoring
from wordtie.models.language_model import LanguageModel
from wordtie.models.network import SCORES_AT_ONCE, evaluating
from wordtie.noise.noisy_forward import Noise


def evaluate_sampled(
    model: LanguageModel, noise: Noise, ids: Ids, eos_id: int, steps: int, samples: int, seed: int = 1
) -> Score:
    """Score a text of word ids, (N,): nats averaged over the samples. Leaves PyTorch's random numbers as they were."""
    total = 0.0
    with evaluating(model) as device, torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        state = model.initial_state(samples)
        for inputs_T1, targets_T1 in batches(ids, 1, steps, eos_id=eos_id, drop=False):
            inputs_TS = torch.from_numpy(inputs_T1).to(device).repeat(1, samples)
            targets_TS = torch.from_numpy(targets_T1).to(device).repeat(1, samples)
            scoring, state = noise.forward(model, inputs_TS, targets_TS, state)
            total += _nats(scoring)
    return Score(total / samples, len(ids))


def _nats(scoring: Scoring) -> float:
    """Return the nats of all tokens, computed in pieces of rows that fit `SCORES_AT_ONCE`."""
    loss, rows, total = CrossEntropy(), max(1, SCORES_AT_ONCE // len(scoring.output_VE)), 0.0
    for first in range(0, len(scoring.targets_N), rows):
        here = slice(first, first + rows)
        drawn = None if scoring.drawn_NE is None else scoring.drawn_NE[here]
        piece = replace(scoring, query_NE=scoring.query_NE[here], targets_N=scoring.targets_N[here], drawn_NE=drawn)
        total += float(loss.forward(piece).cross_entropy)
    return total
