"""`wordtie generate`: text, one sampled word after another."""

from __future__ import annotations

import argparse

from wordtie.commands._shared import Parser, add_part, seed, whole_number
from wordtie.console import say

HELP = """\
Write text, one sampled word after another.

examples:
  wordtie generate runs/ptb --prompt "the company said"
  wordtie generate runs/ptb --words 200 --temperature 0.7 --seed 1
"""


def main(argv: list[str]) -> None:
    """Print what the model writes."""
    parser = Parser("generate", HELP)
    parser.add_argument("run", metavar="RUN", help="a trained model: a run folder, an ARPA file, or `en`")
    parser.add_argument("--prompt", default="", help="the words to go on from (none: a sentence's start)")
    parser.add_argument("--words", type=whole_number, default=50, help="how many to write (50)")
    parser.add_argument("--temperature", type=_temperature, default=1.0, help="below 1: likelier words (1.0)")
    parser.add_argument("--seed", type=seed, help="the same seed writes the same text")
    add_part(parser)
    arguments = parser.parse_args(argv)

    from wordtie.data.input_warnings import of_phrases
    from wordtie.inference.loading import load

    model = load(arguments.run, part=arguments.part)
    say(of_phrases(model.tokenizer, [arguments.prompt]))
    print(model.generate(arguments.prompt, arguments.words, arguments.temperature, arguments.seed))


def _temperature(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a positive number, got {text}")
    return number
