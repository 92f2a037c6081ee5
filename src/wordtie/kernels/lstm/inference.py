"""The fast twin of an LSTM layer that only reads: no gradient, no masks, float32 on the CPU.

torch's own `lstm` takes all steps in one call, which oneDNN runs with the recurrent weights packed once: a third of the
time of a step-by-step loop for one stream, whose recurrent product is a matrix by a vector. Always in the parameters'
float32, whatever precision is trained in, and without waiting for numba when only a few words are read.

Shapes: T steps, B streams, E input size, H units, gate rows i, f, g, o, as torch has them.
"""

from __future__ import annotations

import torch
from torch import Tensor

from wordtie.nn.lstm import LSTMWeights


def read_layer(
    layer: LSTMWeights, inputs_TBE: Tensor, state: tuple[Tensor, Tensor]
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """Return h of each step, (T, B, H), and the last (h, c)."""
    hidden_1BH, cell_1BH = state[0][None], state[1][None]
    weights = [layer.input_weight, layer.recurrent_weight, layer.bias, torch.zeros_like(layer.bias)]
    outputs = []
    for piece in inputs_TBE.split(_powers_of_two(len(inputs_TBE))):
        output, hidden_1BH, cell_1BH = torch.lstm(
            piece, (hidden_1BH, cell_1BH), weights, True, 1, 0.0, False, False, False
        )
        outputs.append(output)
    return torch.cat(outputs), (hidden_1BH[0], cell_1BH[0])


def _powers_of_two(steps: int) -> list[int]:
    """Return powers of two whose sum is `steps`: oneDNN keeps code, half a megabyte, for every length it has seen.

    >>> _powers_of_two(13)
    [8, 4, 1]
    """
    return [1 << bit for bit in reversed(range(steps.bit_length())) if steps >> bit & 1]
