"""`wordtie export arpa`: a model as an ARPA file."""

from __future__ import annotations

from wordtie.commands._shared import Parser, add_export, add_part, print_json, print_tsv, seed, whole_number

HELP = """\
Write an ARPA file, which KenLM, decoders of speech and translation, and wordtie itself open.

An n-gram model is written as it is, or pruned (--ngrams), which works better where its training text is at hand. Of a
network or a mixture, the file is an approximation: what the model expects on average after the last words, for the
n-grams of its training text and of text that it writes itself. This takes minutes, and prints the perplexities of the
model without recent words, of the approximation, and of counted n-grams of its size.

examples:
  wordtie export arpa runs/novel-ngram novel.arpa
  wordtie export arpa runs/novel novel.arpa.gz --ngrams 500000
"""


def main(argv: list[str]) -> None:
    """Write the file, and print how good it is."""
    parser = Parser("export arpa", HELP)
    parser.add_argument("--ngrams", type=whole_number, metavar="N", help="keep at most N, the most valuable")
    parser.add_argument("--order", type=whole_number, default=4, metavar="N", help="of an approximation (4)")
    parser.add_argument("--sampled", type=int, default=500_000, metavar="N", help="words the model writes (500000)")
    parser.add_argument("--places", type=whole_number, metavar="N", help="ask the model at N places of the text")
    parser.add_argument("--seed", type=seed, default=1, metavar="N", help="of the text that the model writes (1)")
    add_export(parser, "the file to write, named .arpa or .arpa.gz")
    add_part(parser)
    arguments = parser.parse_args(argv)

    from wordtie.console import StageProgress
    from wordtie.export.arpa import export_arpa
    from wordtie.export.ngram_approximation import Approximation

    settings = Approximation(arguments.order, arguments.ngrams, arguments.sampled, arguments.seed, arguments.places)
    written = export_arpa(arguments.run, arguments.out, settings, arguments.part, arguments.overwrite, StageProgress())
    compared = [vars(each) for each in written.compared]
    if arguments.json:
        print_json({"file": str(written.file), "ngrams": written.ngrams, "perplexity": compared})
        return
    print(f"{written.file}\t{written.ngrams:,} n-grams")
    if compared:
        print_tsv(list(compared[0]), compared)
