"""Along which directions the spaces of input and output vectors differ, and how well the model fits along them.

    python -m wordtie.reproduction.analyses.space_directions RUN > results/search/NAME.tsv

The distance of Inan, Khosravi & Socher (2017, appendix B) counts all directions of the output matrix W alike. This
table shows each on its own: with W = sum_i s_i u_i v_i^T, its singular value decomposition, a line has

    singular value    s_i, largest first
    outside           norm of the part of u_i outside the space of the input vectors L, from 0 to 1
    hidden            root mean square of h v_i
    unexplained       mean of (c_i W h - c_i L e)^2 divided by the variance of c_i L e, with c_i = u_i - mean(u_i)

over the training text, where e is the input vector of the next word. At a high temperature, the augmented loss is the
squared difference of the scores W h and L e, up to a constant (its equation 4.3), so that `unexplained` is what remains
of it along u_i, as a share of what a constant would leave. The squares of `outside` have the square of the distance as
their mean. The run is measured after its last epoch, as for Figure 1.

Shapes: V words, E and H vector sizes, n tokens at once, K directions (the smallest of the sizes).
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from wordtie.data.token_file import PreparedData
from wordtie.errors import SettingsError
from wordtie.evaluation.perplexity import queries
from wordtie.exits import exit_code_of
from wordtie.models.language_model import LanguageModel
from wordtie.models.network import evaluating
from wordtie.reproduction.running.measures import as_trained, of_last_epoch
from wordtie.vectors.subspace import orthonormal_basis


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
    writer.writerow(["direction", "singular value", "outside", "hidden", "unexplained"])
    for direction, figures in enumerate(directions(model, data), start=1):
        writer.writerow([direction, *(f"{figure:.4g}" for figure in figures)])


def directions(model: LanguageModel, data: PreparedData) -> Iterator[tuple[float, ...]]:
    """Yield (singular value, outside, hidden, unexplained) of each direction, the largest singular value first."""
    input_VE, output_VH = (
        each.detach().double().cpu().numpy() for each in (model.embedding.weight, model.output_matrix)
    )
    words_VK, size_K, hidden_KH = np.linalg.svd(output_VH, full_matrices=False)
    basis_VE = orthonormal_basis(input_VE)
    outside_K = np.linalg.norm(words_VK - basis_VE @ (basis_VE.T @ words_VK), axis=0)
    centred_VK = words_VK - words_VK.mean(0)
    wanted_EK, scored_HK = input_VE.T @ centred_VK, output_VH.T @ centred_VK
    squares_K, errors_K, sum_K, wanted_squares_K = np.zeros((4, len(size_K)))
    with evaluating(model) as device:
        for query_nH, targets_n in queries(model, data.train, data.vocabulary.eos_id, 1, device):
            hidden_nH = query_nH.double().cpu().numpy()
            wanted_nK = input_VE[targets_n.cpu().numpy()] @ wanted_EK
            squares_K += np.square(hidden_nH @ hidden_KH.T).sum(0)
            errors_K += np.square(hidden_nH @ scored_HK - wanted_nK).sum(0)
            sum_K += wanted_nK.sum(0)
            wanted_squares_K += np.square(wanted_nK).sum(0)
    tokens = len(data.train)
    unexplained_K = errors_K / (wanted_squares_K - sum_K**2 / tokens)
    yield from zip(
        *(each.tolist() for each in (size_K, outside_K, np.sqrt(squares_K / tokens), unexplained_K)), strict=True
    )


if __name__ == "__main__":
    sys.exit(exit_code_of(main))
