"""The mean of variational smoothing, folded into the word matrix or into the first layer, and the inverse.

Kong et al. (2019) predict with the mean of q rather than its mode (section 4.1):

    mean(e_i) = (1 - gamma_i) e_i + gamma_i m,        m = sum_v K_v e_v,

one product for the whole matrix, done once when a model is frozen. It is undone by

    e_i = (mean(e_i) - gamma_i m) / (1 - gamma_i),    m = sum_i w_i mean(e_i) / (1 + sum_i w_i gamma_i),
                                                      w_i = K_i / (1 - gamma_i),

which needs every gamma_i below one.

A word matrix that also scores must keep its rows if only what is read is noised. With one gamma for all words (linear
interpolation), the first layer can take the mean instead, because it is affine in its input:

    W mean(e_i) + b = (1 - gamma) W e_i + (b + gamma W m).

Shapes: V words, E embedding size, G rows of the first layer's input weight.
"""

from __future__ import annotations

from torch import Tensor

from wordtie.noise.proposals import Proposal


def fold_mean(matrix_VE: Tensor, proposal: Proposal) -> Tensor:
    """Return the matrix of means, in the matrix's precision; sums are in float64."""
    mean_E = proposal.share_V @ matrix_VE.double()
    gamma_V1 = proposal.gamma_V[:, None]
    return ((1 - gamma_V1) * matrix_VE + gamma_V1 * mean_E).to(matrix_VE.dtype)


def unfold_mean(means_VE: Tensor, proposal: Proposal) -> Tensor:
    """Invert `fold_mean`, up to rounding. Raises `ValueError` if some gamma_i is one."""
    if bool((proposal.gamma_V >= 1).any()):
        raise ValueError("a word that is always replaced leaves nothing of its vector in the mean")
    kept_V = 1 - proposal.gamma_V
    weight_V = proposal.share_V / kept_V
    mean_E = (weight_V @ means_VE.double()) / (1 + (weight_V * proposal.gamma_V).sum())
    unfolded_VE = (means_VE - proposal.gamma_V[:, None] * mean_E) / kept_V[:, None]
    return unfolded_VE.to(means_VE.dtype)


def fold_mean_into_layer(
    weight_GE: Tensor, bias: Tensor, matrix_VE: Tensor, proposal: Proposal
) -> tuple[Tensor, Tensor]:
    """Return input weight and bias of a first layer that reads clean vectors as means; sums are in float64.

    `bias` is (G,), or (D, G) of a highway network of depth D, whose input enters at the first level alone.
    Raises `ValueError` if gamma_i is not the same for all words.
    """
    gamma = _shared_gamma(proposal)
    weight = weight_GE.double()
    shift_G = gamma * (weight @ (proposal.share_V @ matrix_VE.double()))
    return ((1 - gamma) * weight).to(weight_GE.dtype), _shifted(bias, shift_G)


def unfold_mean_from_layer(
    weight_GE: Tensor, bias: Tensor, matrix_VE: Tensor, proposal: Proposal
) -> tuple[Tensor, Tensor]:
    """Invert `fold_mean_into_layer`, up to rounding. Raises `ValueError` if gamma is one."""
    gamma = _shared_gamma(proposal)
    if gamma >= 1:
        raise ValueError("a word that is always replaced leaves nothing of its vector in the mean")
    weight = weight_GE.double() / (1 - gamma)
    shift_G = gamma * (weight @ (proposal.share_V @ matrix_VE.double()))
    return weight.to(weight_GE.dtype), _shifted(bias, -shift_G)


def _shifted(bias: Tensor, shift_G: Tensor) -> Tensor:
    shifted = bias.double().clone()
    shifted.view(-1, len(shift_G))[0] += shift_G
    return shifted.to(bias.dtype)


def _shared_gamma(proposal: Proposal) -> float:
    gamma = float(proposal.gamma_V[0])
    if bool((proposal.gamma_V != gamma).any()):
        raise ValueError("words are replaced at different rates, so one layer cannot hold the mean of all")
    return gamma
