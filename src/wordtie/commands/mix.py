"""`wordtie mix`: several models as one."""

from __future__ import annotations

from wordtie.commands._settings import default_folder
from wordtie.commands._shared import Parser, print_json

HELP = """\
Mix trained models into one.

Their probabilities are added with weights that are fitted on validation text. The models share one vocabulary: a
network and n-grams of one corpus, or runs of several seeds. N-grams that training has mixed into a run
are a part of their own, once for all runs that share them. On the validation text the mixture is never worse than
its parts. It includes a cache of recent words, if words recur in that text, with the states of the first
network: name the best one first. Every command that opens a language model opens the run folder, which
holds copies of the models.

examples:
  wordtie mix runs/ptb runs/ptb-ngram                               the result is runs/ptb-mixed
  wordtie mix runs/seed-1 runs/seed-2 --out runs/both               an ensemble of two seeds
  wordtie mix runs/novel runs/novel-ngram --text valid.txt --out runs/novel-mixed
"""


def main(argv: list[str]) -> None:
    """Fit the weights, write the run folder, and print both."""
    parser = Parser("mix", HELP)
    parser.add_argument("runs", metavar="RUN", nargs="+", help="run folders of trained models, two or more")
    parser.add_argument("--text", metavar="FILE", help="fit the weights on this text (the corpus's validation text)")
    parser.add_argument("--out", metavar="RUN", help="the run folder to write (runs/NAME-mixed, by the first run)")
    parser.add_argument("--no-recent-words", action="store_true", help="leave out the cache of recent words")
    parser.add_argument("--overwrite", action="store_true", help="replace the run folder if there is one")
    parser.add_argument("--json", action="store_true", help="print a JSON object")
    arguments = parser.parse_args(argv)

    from wordtie.evaluation.format_perplexity import format_perplexity
    from wordtie.inference.mix import mix
    from wordtie.runs.run_folder import Mode

    mode: Mode = "overwrite" if arguments.overwrite else "new"
    out = default_folder(arguments.runs[0], "-mixed") if arguments.out is None else arguments.out
    result = mix(arguments.runs, out, arguments.text, mode, recent_words=not arguments.no_recent_words)
    if arguments.json:
        print_json(result.as_json())
        return
    width = max(map(len, (*result.parts, str(result.folder))))
    for number, part in enumerate(result.parts):
        weights = " ".join(f"{row[number]:.2f}" for row in result.weights)
        perplexity = format_perplexity(result.part_perplexities[number])
        print(f"{part:{width}}  perplexity {perplexity}  weight {weights}")
    without = result.without_recent_perplexity
    shown = f", {format_perplexity(without)} without recent words" if without is not None else ""
    print(f"{result.folder!s:{width}}  perplexity {format_perplexity(result.valid_perplexity)}{shown}")
    print(f"over {result.valid_tokens:,} tokens of validation text")
    if len(result.weights) > 1:
        print("weights by how many of the last words the n-grams have seen together, from one on")
