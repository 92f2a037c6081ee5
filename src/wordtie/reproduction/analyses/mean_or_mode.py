"""What a model trained with noise predicts best with: mean or mode, of what it reads and of what it scores with.

    python -m wordtie.reproduction.analyses.mean_or_mode RUN [RUN ...] > results/search/NAME.tsv

Kong et al. (2019) predict with the mean of both matrices. Each line has a run's validation perplexity with the vectors
as trained (`mode`), with the mean of the input vectors alone, of the output vectors alone, and of both (`mean`), and
with twenty samples of the noise (`samples`, section 5.4). A tied matrix becomes two where they differ. What the run
itself predicts with has no part in it, nor does the test text.

Shapes: V words, E embedding size.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from wordtie.errors import SettingsError
from wordtie.evaluation.perplexity import evaluate
from wordtie.exits import exit_code_of
from wordtie.models.language_model import LanguageModel
from wordtie.noise.noisy_forward import MATRIX, OUTPUT_MATRIX, build_noise
from wordtie.noise.smoothed_prediction import fold_mean
from wordtie.reproduction.running.measures import as_trained, sampled_perplexity

WAYS = {
    "mode": (False, False),
    "mean of inputs": (True, False),
    "mean of outputs": (False, True),
    "mean": (True, True),
}
"""Whether the vectors read, and those that score, are means."""
SAMPLES = "samples"


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table.

    Raises `RunFolderError` if there is no such run, `DataError` if its text is missing, and `SettingsError` if it was
    trained without noise or has a map between its layers and the output.
    """
    parser = argparse.ArgumentParser(
        "python -m wordtie.reproduction.analyses.mean_or_mode",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("run", nargs="+", type=Path, help="run folders of language models trained with noise")
    writer = csv.writer(sys.stdout, delimiter="\t", lineterminator="\n")
    folders = parser.parse_args(argv).run
    writer.writerow(["trial", *WAYS, SAMPLES])
    for folder in folders:
        writer.writerow([folder.name, *(f"{perplexity:.4f}" for perplexity in perplexities(folder))])


def perplexities(folder: Path) -> list[float]:
    """Return a run's validation perplexity in each of `WAYS`, and with samples."""
    model, settings, data = as_trained(folder)
    noise = build_noise(settings.noise, data, model.embedding.weight.device)
    proposal = noise.proposal
    if proposal is None:
        raise SettingsError(f"{folder}: was trained without noise, so its mean is its mode")
    if settings.model.has_projection:
        raise SettingsError(f"{folder}: has a map before the output, which this comparison leaves out")
    sampled = sampled_perplexity(model, noise, data, settings.training.steps)
    trained = model.state_dict()
    read_VE, scoring_VE = trained[MATRIX], trained.get(OUTPUT_MATRIX, trained[MATRIX])
    two = replace(settings.model, head="untied", output_bias=settings.model.has_output_bias)
    model = LanguageModel(two, len(data.vocabulary)).to(read_VE.device).use(settings.training.fused)
    means = [fold_mean(matrix_VE, proposal) for matrix_VE in (read_VE, scoring_VE)]
    found = []
    for reads_mean, scores_with_mean in WAYS.values():
        read = means[0] if reads_mean else read_VE
        scoring = means[1] if scores_with_mean else scoring_VE
        model.load_state_dict({**trained, MATRIX: read, OUTPUT_MATRIX: scoring})
        found.append(evaluate(model, data.valid, data.vocabulary.eos_id).perplexity)
    return [*found, sampled]


if __name__ == "__main__":
    sys.exit(exit_code_of(main))
