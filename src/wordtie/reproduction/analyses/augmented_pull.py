"""How hard the augmented loss pulls, compared with the cross-entropy, at each temperature.

    python -m wordtie.reproduction.analyses.augmented_pull RUN > results/search/NAME.tsv

Over the first window of the run's validation text, with u the target's input vector, h the query, L and W the input
and output vectors (Inan, Khosravi & Socher 2017, equations 3.5 to 3.7): the gradient with respect to h is
W' (softmax(W h) - y) for the cross-entropy and, for the augmented loss with alpha = gamma tau and no gradient through
the target, gamma W' (softmax(W h / tau) - softmax(L u / tau)). `pull` is the mean norm of the second for gamma = 1 over
that of the first; `target` is the mean share that softmax(L u / tau) gives the target itself, and `nats` is the mean of
tau times the divergence: what gamma multiplies in the loss.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch.nn.functional as F
from torch import Tensor

from wordtie.evaluation.perplexity import queries
from wordtie.exits import exit_code_of
from wordtie.inference.loading import load
from wordtie.inference.training_corpus import training_corpus
from wordtie.models.language_model import LanguageModel
from wordtie.models.network import evaluating

TEMPERATURES = (1.0, 2.0, 3.0, 5.0, 10.0, 20.0)


@dataclass(frozen=True)
class PullStrength:
    """Means over the tokens, at one temperature."""

    temperature: float
    pull: float
    target: float
    nats: float


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table.

    Raises `RunFolderError` if there is no such run or its text has changed, `DataError` if its text is missing.
    """
    parser = argparse.ArgumentParser(
        "python -m wordtie.reproduction.analyses.augmented_pull",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("run", type=Path, help="run folder of a language model")
    folder = parser.parse_args(argv).run
    loaded = load(folder)
    data = training_corpus(loaded, folder, ["valid"])
    with evaluating(loaded.network) as device:
        query_NE, targets_N = next(queries(loaded.network, data.valid, data.vocabulary.eos_id, 1, device))
        writer = csv.writer(sys.stdout, delimiter="\t", lineterminator="\n")
        writer.writerow(PullStrength.__annotations__)
        for each in pulls(loaded.network, query_NE, targets_N):
            writer.writerow(f"{value:.4g}" for value in asdict(each).values())


def pulls(
    model: LanguageModel, query_NE: Tensor, targets_N: Tensor, temperatures: Sequence[float] = TEMPERATURES
) -> Iterator[PullStrength]:
    """Yield the pull at each temperature; an output bias enters the cross-entropy only (equation 3.1)."""
    words_VE, output_VE = model.embedding.weight, model.output_matrix
    scores_NV = query_NE @ output_VE.T
    similar_NV = words_VE[targets_N] @ words_VE.T
    off_NV = model.logits(query_NE).softmax(1) - F.one_hot(targets_N, len(words_VE))
    cross_entropy = (off_NV @ output_VE).norm(dim=1).mean()
    for temperature in temperatures:
        predicted, similar = (scores / temperature for scores in (scores_NV, similar_NV))
        pull = ((predicted.softmax(1) - similar.softmax(1)) @ output_VE).norm(dim=1).mean()
        divergence = F.kl_div(predicted.log_softmax(1), similar.softmax(1), reduction="batchmean")
        target = similar.softmax(1).gather(1, targets_N[:, None]).mean()
        yield PullStrength(temperature, float(pull / cross_entropy), float(target), float(temperature * divergence))


if __name__ == "__main__":
    sys.exit(exit_code_of(main))
