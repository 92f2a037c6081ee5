"""The mean of variational smoothing, folded into the word matrix, and its way back.

Kong et al. (2019) predict with the mean of q rather than its mode (section 4.1):

    mean(e_i) = (1 - gamma_i) e_i + gamma_i m,        m = sum_v K_v e_v,

one product for the whole matrix, done once when a model is frozen. It is undone by

    e_i = (mean(e_i) - gamma_i m) / (1 - gamma_i),    m = sum_i w_i mean(e_i) / (1 + sum_i w_i gamma_i),
                                                      w_i = K_i / (1 - gamma_i),

which needs every gamma_i below one.

Shapes: V words, E embedding size.
"""

from __future__ import annotations

from torch import Tensor

from wordtie.noise.proposals import Proposal


def fold_mean(matrix_VE: Tensor, proposal: Proposal) -> Tensor:
    """The matrix of means, in the matrix's precision; sums are in float64."""
    mean_E = proposal.share_V @ matrix_VE.double()
    gamma_V1 = proposal.gamma_V[:, None]
    return ((1 - gamma_V1) * matrix_VE + gamma_V1 * mean_E).to(matrix_VE.dtype)


def unfold_mean(means_VE: Tensor, proposal: Proposal) -> Tensor:
    """The inverse of `fold_mean`, up to rounding. Raises `ValueError` where some gamma_i is one."""
    if bool((proposal.gamma_V >= 1).any()):
        raise ValueError("a word that is always replaced leaves nothing of its vector in the mean")
    kept_V = 1 - proposal.gamma_V
    weight_V = proposal.share_V / kept_V
    mean_E = (weight_V @ means_VE.double()) / (1 + (weight_V * proposal.gamma_V).sum())
    unfolded_VE = (means_VE - proposal.gamma_V[:, None] * mean_E) / kept_V[:, None]
    return unfolded_VE.to(means_VE.dtype)
