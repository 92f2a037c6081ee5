"""Variational smoothing: which rows represent which words in a window (Kong et al. 2019, sections 4.1 to 4.3).

Each sequence, which is one stream in one window, has a word matrix of its own, drawn from

    q(e_i) = (1 - gamma_i) N(e_i, 0) + gamma_i sum_v K_v N(e_v, 0)          (equations 2 and 4)

so that where one "a" reads as "d", every "a" of the sequence does. Only rows that the window needs are drawn: those of
its distinct words. The input and the output matrix are two draws from the one tied base; on the output side only the
row of the target is drawn, at its own gamma_i or, as Kneser-Ney data noising does, where the word read before it was
replaced: the paper's equations say the one, its account of the training the other. With `size`, each of the E
coordinates of a drawn row has a source word of its own (equation 6, element-wise smoothing): there, replaced ones are
found as points of a Poisson process of rate -log(1 - gamma_i), which hits a coordinate with probability gamma_i,
independently of all others, at a cost in proportion to how many are replaced.

Nothing here knows the matrix: `wordtie.nn.drawn_rows` puts the rows together.

Shapes: K sides (input, output), T steps, B streams, M distinct words of all sequences, R replaced coordinates,
P distinct pairs of a word and the next, E embedding size.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from wordtie.nn.drawn_rows import RowDraw, distinct_words, single_tokens
from wordtie.noise.proposals import Proposal

MOST_GAMMA = 1 - 1e-9
"""Largest gamma_i at which the rate of the Poisson process stays finite."""


def rows_of(ids_KTB: Tensor, vocabulary_size: int, tokens: bool) -> RowDraw:
    """Return the rows to draw: those of each sequence's distinct words, or of all `tokens`."""
    return single_tokens(ids_KTB) if tokens else distinct_words(ids_KTB, vocabulary_size)


def smooth_words(rows: RowDraw, proposal: Proposal) -> RowDraw:
    """Replace whole rows, each at its word's gamma_i."""
    return replace(rows, words_M=proposal.replace(rows.words_M)[0])


def smooth_shared(inputs_TB: Tensor, targets_TB: Tensor, vocabulary_size: int, proposal: Proposal) -> RowDraw:
    """Replace whole rows, and give a target the same source as the same word read in its sequence (footnote 2)."""
    sides_KTB = torch.stack([inputs_TB, targets_TB])
    rows = distinct_words(sides_KTB, vocabulary_size)
    both = distinct_words(sides_KTB.flatten(0, 1)[None], vocabulary_size)
    place_M = torch.empty_like(rows.words_M)
    place_M[rows.row_KTB.flatten()] = both.row_KTB.flatten()
    return replace(rows, words_M=proposal.replace(both.words_M)[0][place_M])


def smooth_pairs(
    inputs_TB: Tensor, targets_TB: Tensor, vocabulary_size: int, proposal: Proposal, tokens: bool = False
) -> RowDraw:
    """Replace the words read, each at its gamma_i, and the targets of those that were replaced (section 4.2, training).

    A target that is replaced has the same drawn row everywhere in its sequence; with `tokens`, each token has its own.
    """
    rows = rows_of(torch.stack([inputs_TB, targets_TB, targets_TB]), vocabulary_size, tokens)
    read_M, kept_M, drawn_M = rows.words_M.tensor_split([rows.first_side, (rows.first_side + len(rows.words_M)) // 2])
    read_M, replaced_M = proposal.replace(read_M)
    read_TB, kept_TB, drawn_TB = rows.row_KTB
    target_TB = torch.where(replaced_M[read_TB], drawn_TB, kept_TB)
    words_M = torch.cat([read_M, kept_M, proposal.draw(drawn_M)])
    return replace(rows, words_M=words_M, row_KTB=torch.stack([read_TB, target_TB]))


def smooth_elements(rows: RowDraw, proposal: Proposal, size: int) -> RowDraw:
    """Replace coordinates, each at its word's gamma_i and from a word of its own."""
    gamma_M = proposal.gamma_V[rows.words_M].clamp(max=MOST_GAMMA)
    points_M = torch.poisson(-torch.log1p(-gamma_M) * size).long()
    start_M = torch.arange(len(points_M), device=points_M.device) * size
    row_start = start_M.repeat_interleave(points_M)
    hit = torch.zeros(len(points_M) * size, dtype=torch.bool, device=points_M.device)
    hit[row_start + torch.randint(size, row_start.shape, device=row_start.device)] = True
    places_R = hit.nonzero()[:, 0]
    return replace(rows, places_R=places_R, sources_R=proposal.draw(places_R))


def smooth_element_pairs(
    inputs_TB: Tensor, targets_TB: Tensor, vocabulary_size: int, proposal: Proposal, size: int, tokens: bool = False
) -> RowDraw:
    """`smooth_pairs`, coordinate by coordinate: a target's are replaced where those of the word before it are.

    A target has the same drawn row wherever the same word comes before it in its sequence.
    """
    read = smooth_elements(rows_of(inputs_TB[None], vocabulary_size, tokens), proposal, size)
    assert read.places_R is not None
    assert read.sources_R is not None
    keys_P, pair_TB = (read.row_KTB[0] * vocabulary_size + targets_TB).unique(return_inverse=True)
    row_P, rows = keys_P // vocabulary_size, len(read.words_M)
    start = torch.searchsorted(read.places_R, torch.arange(rows + 1, device=row_P.device) * size)
    count_P = (start[1:] - start[:-1])[row_P]
    place = torch.arange(int(count_P.sum()), device=row_P.device)
    place += (start[row_P] - count_P.cumsum(0) + count_P).repeat_interleave(count_P)
    pairs = torch.arange(rows, rows + len(keys_P), device=row_P.device).repeat_interleave(count_P)
    written_R = pairs * size + read.places_R[place] % size
    return RowDraw(
        torch.cat([read.words_M, keys_P % vocabulary_size]),
        torch.stack([read.row_KTB[0], rows + pair_TB]),
        read.first_side,
        torch.cat([read.places_R, written_R]),
        torch.cat([read.sources_R, proposal.draw(written_R)]),
    )
