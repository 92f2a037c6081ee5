"""`wordtie ngram`: an n-gram model of a text, in a run folder."""

from __future__ import annotations

from wordtie.commands._settings import OTHER_SECTIONS, another_of_its_name, default_folder
from wordtie.commands._shared import print_json
from wordtie.config import DataSettings
from wordtie.config.ngram import NgramSettings
from wordtie.config.options import SettingsParser
from wordtie.console import say

HELP = """\
Train an n-gram model of a text, in seconds.

examples:
  wordtie ngram ptb
  wordtie ngram novel.txt --order 3 --out runs/novel-3-gram
  wordtie ngram novel.txt --minimum-counts 1 1 2     drop n-grams of three or more words with a count of 1

CORPUS is what `wordtie train` takes. Every command that opens a language model opens the run folder."""

USAGE = "[CORPUS] [--SETTING VALUE ...] [--config RECIPE] [--order 5] [--out RUN] [--overwrite]"
COMMON = ("tokenisation", "lowercase", "sentences", "vocabulary_size", "min_count", "vocabulary_from", "data.split")
"""The settings that `--help` shows."""


def main(argv: list[str]) -> None:
    """Parse, train, and print what came out."""
    parser = SettingsParser("ngram", HELP, USAGE, {"data": DataSettings}, COMMON, OTHER_SECTIONS)
    parser.add_argument("--order", type=int, help="Words in the longest n-gram (5).")
    parser.add_argument(
        "--minimum-counts",
        type=int,
        nargs="+",
        metavar="N",
        help="Drop n-grams with smaller counts, for each order from 1; the last number holds for all higher orders. "
        "The count of all but the longest is Kneser and Ney's: how many different words come before them.",
    )
    parser.add_argument("--out", metavar="RUN", help="The run folder; runs/CORPUS-ngram if not given.")
    parser.add_argument("--overwrite", action="store_true", help="Replace the run folder if there is one.")
    parser.add_argument("--json", action="store_true", help="Print the result as JSON.")
    parsed = parser.parse_args(argv)
    counts = None if parsed.minimum_counts is None else tuple(parsed.minimum_counts)
    recipe = {name: parser.value(f"ngram.{name}") for name in ("order", "minimum_counts")}
    typed = {"order": parsed.order, "minimum_counts": counts}
    chosen = {name: value for given in (recipe, typed) for name, value in given.items() if value is not None}
    settings = NgramSettings(parser.made()["data"], **chosen)
    parser.require_text()
    corpus = settings.data.corpus
    say(another_of_its_name(corpus))

    from wordtie.evaluation.format_perplexity import format_perplexity
    from wordtie.training.ngrams import train_ngrams

    out = default_folder(corpus, "-ngram") if parsed.out is None else parsed.out
    result = train_ngrams(settings, out, mode="overwrite" if parsed.overwrite else "new")
    if parsed.json:
        print_json(result.as_json())
        return
    print(f"run folder             {result.folder}")
    print(f"n-grams                {result.ngrams:,} in {result.bytes / 1e6:.1f} MB, counted in {result.seconds:.1f} s")
    print(f"validation perplexity  {format_perplexity(result.valid_perplexity)} over {result.valid_tokens:,} tokens")
    print(f"test perplexity        {format_perplexity(result.test_perplexity)} over {result.test_tokens:,} tokens")
