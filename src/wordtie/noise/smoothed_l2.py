"""The data-dependent L2 that variational smoothing implies (Kong et al. 2019, equation 3).

The divergence of q from a standard normal prior is, up to a constant, lambda / 2 times the sum over i of
sum_v theta_v^i ||e_v||^2, where theta_v^i is how much of the mixture of word i lies at v. Collected for each v:

    exact     (1 - gamma_v) + K_v sum_i gamma_i      the mixtures of equations 2 and 4, theta_v^i = gamma_i K_v
    printed   1 + (V - 2 + K_v) gamma_v              the paper's formula, its sign corrected; it takes theta_v^i = gamma

The exact one grows with how often v is drawn, as the paper's footnote 5 says.

Shapes: V words.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from wordtie.noise.proposals import Proposal


def l2_coefficients(proposal: Proposal, form: Literal["exact", "printed"]) -> Tensor:
    """Return the factors of lambda / 2 * ||e_v||^2, (V,) float64."""
    gamma_V, share_V = proposal.gamma_V, proposal.share_V
    if form == "exact":
        return (1 - gamma_V) + share_V * gamma_V.sum()
    return torch.ones_like(gamma_V) + (len(gamma_V) - 2 + share_V) * gamma_V
