"""`wordtie baseline`: the perplexities of counted models, on the same ids that a model is trained on."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from wordtie.commands._settings import OTHER_SECTIONS, another_of_its_name
from wordtie.commands._shared import UsageError, print_json
from wordtie.config import DataSettings
from wordtie.config.ngram import LONGEST
from wordtie.config.options import SettingsParser
from wordtie.console import say

if TYPE_CHECKING:
    from wordtie.ngrams.baselines import Baselines

HELP = """\
Measure a corpus with unigrams and Kneser-Ney n-grams.

examples:
  wordtie baseline ptb
  wordtie baseline novel.txt --order 3 --lowercase
  wordtie baseline --config runs/ptb/settings.yaml --split valid --json

Both are counted on the training text and measured on the test text. Text, vocabulary and token counts
are those of `wordtie train` with the same data settings, so perplexities can be compared. Kneser-Ney is
the modified, interpolated form; its contexts do not cross sentences."""

USAGE = "[CORPUS] [--SETTING VALUE ...] [--config RECIPE] [--order 5] [--split test] [--json]"
COMMON = ("tokenisation", "lowercase", "sentences", "vocabulary_size", "min_count", "vocabulary_from", "data.split")
"""The settings that `--help` shows."""


def main(argv: list[str]) -> None:
    """Prepare the text, fit, measure and print."""
    parser = SettingsParser("baseline", HELP, USAGE, {"data": DataSettings}, COMMON, OTHER_SECTIONS)
    parser.add_argument("--order", type=int, default=5, help="Words in the longest n-gram.")
    parser.add_argument("--split", choices=["valid", "test"], default="test", help="The text to measure.")
    parser.add_argument("--json", action="store_true", help="Print the result as JSON.")
    parsed = parser.parse_args(argv)
    data: DataSettings = parser.made()["data"]
    parser.require_text()

    from wordtie.ngrams.baselines import measure_baselines

    if not 1 <= parsed.order <= LONGEST:
        raise UsageError(f"--order must be from 1 to {LONGEST}, got {parsed.order}")
    say(another_of_its_name(data.corpus))
    result = measure_baselines(data, parsed.order, parsed.split)
    if parsed.json:
        print_json(dataclasses.asdict(result))
    else:
        print(summary(result))


def summary(result: Baselines) -> str:
    """Format the perplexities, with what they are over."""
    return "\n".join(
        [
            *(f"{name:22} perplexity {value:.2f}" for name, value in result.perplexity.items()),
            f"over {result.tokens:,} tokens of {result.corpus} ({result.split}), {result.oov:,} of them "
            f"out of the vocabulary of {result.vocabulary_size:,} words",
            f"<unk>: {result.unk_policy}",
            f"<eos>: {result.eos_policy}",
        ]
    )
