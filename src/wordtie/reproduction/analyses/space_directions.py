"""Along which directions the spaces of input and output vectors differ, and how large the hidden state is along them.

    python -m wordtie.reproduction.analyses.space_directions RUN > results/search/NAME.tsv

The distance of Inan, Khosravi & Socher (2017, appendix B) counts all directions of the output matrix W alike. This
table shows each on its own: with W = sum_i s_i u_i v_i^T, its singular value decomposition, a line has `singular
value` s_i, largest first; `outside`, the norm of the part of u_i that lies outside the space of the input vectors, from
0 to 1; and `hidden`, the root mean square of h v_i over the training text. The squares of `outside` have the square of
the distance as their mean. The run is measured after its last epoch, as for Figure 1.

Shapes: V words, E and H vector sizes, N tokens, K directions (the rank of W).
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch

from wordtie.data.batches import batches
from wordtie.data.token_file import PreparedData
from wordtie.errors import SettingsError
from wordtie.exits import exit_code_of
from wordtie.models.language_model import LanguageModel
from wordtie.models.network import evaluating
from wordtie.reproduction.running.measures import as_trained, of_last_epoch
from wordtie.vectors.subspace import Doubles, orthonormal_basis

TOKENS_AT_ONCE = 1_000


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table.

    Raises `RunFolderError` if there is no such run, `DataError` if its text is missing, and `SettingsError` if it has
    one word matrix.
    """
    parser = argparse.ArgumentParser(
        "python -m wordtie.reproduction.analyses.space_directions",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("run", type=Path, help="run folder of a language model with two word matrices")
    folder = parser.parse_args(argv).run
    model, settings, data = as_trained(folder)
    if settings.model.head != "untied":
        raise SettingsError(f"{folder}: has one word matrix, so there are no two spaces to compare")
    model.load_state_dict(of_last_epoch(folder))
    writer = csv.writer(sys.stdout, delimiter="\t", lineterminator="\n")
    writer.writerow(["direction", "singular value", "outside", "hidden"])
    for direction, figures in enumerate(directions(model, data), start=1):
        writer.writerow([direction, *(f"{figure:.4g}" for figure in figures)])


def directions(model: LanguageModel, data: PreparedData) -> Iterator[tuple[float, float, float]]:
    """Yield (singular value, outside, hidden) of each direction, the largest singular value first."""
    input_VE, output_VH = (
        each.detach().double().cpu().numpy() for each in (model.embedding.weight, model.output_matrix)
    )
    words_VK, size_K, hidden_KH = np.linalg.svd(output_VH, full_matrices=False)
    basis_VE = orthonormal_basis(input_VE)
    outside_K = np.linalg.norm(words_VK - basis_VE @ (basis_VE.T @ words_VK), axis=0)
    moment_HH = hidden_moment(model, data)
    squares_K = np.einsum("kh,hg,kg->k", hidden_KH, moment_HH, hidden_KH)
    yield from zip(size_K.tolist(), outside_K.tolist(), np.sqrt(squares_K).tolist(), strict=True)


def hidden_moment(model: LanguageModel, data: PreparedData) -> Doubles:
    """Return the mean of h h^T over the training text, read as one stream, (H, H)."""
    size = model.output_matrix.shape[1]
    total_HH = torch.zeros(size, size, dtype=torch.float64)
    with evaluating(model) as device:
        state = model.initial_state(1)
        for inputs_T1, _ in batches(data.train, 1, TOKENS_AT_ONCE, eos_id=data.vocabulary.eos_id, drop=False):
            hidden_TH, state = model(torch.from_numpy(inputs_T1).to(device), state)
            hidden_TH = hidden_TH.double().cpu()
            total_HH += hidden_TH.T @ hidden_TH
    moment_HH: Doubles = (total_HH / len(data.train)).numpy()
    return moment_HH


if __name__ == "__main__":
    sys.exit(exit_code_of(main))
