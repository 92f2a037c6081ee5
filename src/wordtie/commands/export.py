"""`wordtie export`: a model in a form that other tools open."""

from __future__ import annotations

from wordtie.commands._shared import Parser, UsageError, add_part, print_json, print_tsv, seed, whole_number
from wordtie.errors import did_you_mean

HELP = """\
Write a model in a form that other tools open.

  wordtie export hf RUN OUT      a folder for Hugging Face Transformers
  wordtie export arpa RUN OUT    an ARPA file, for KenLM and decoders

Each form has its own --help.

examples:
  wordtie export hf runs/novel exported/novel
  wordtie export hf runs/novel exported/novel --with-code
  wordtie export arpa runs/novel-ngram novel.arpa
"""

HF_HELP = """\
Write a folder that AutoModelForCausalLM and AutoTokenizer of Hugging Face Transformers open.

After `import wordtie` they open it as any other. With --with-code the folder holds the model's code too, and opens
with trust_remote_code=True where wordtie is not installed. Of a mixture, the network alone is exported.

examples:
  wordtie export hf runs/novel exported/novel
  wordtie export hf runs/novel exported/novel --with-code --overwrite
"""

ARPA_HELP = """\
Write an ARPA file, which KenLM, decoders of speech and translation, and wordtie itself open.

An n-gram model is written as it is. Of a network or a mixture, the file is an approximation: what the model expects
on average after the last words, for the n-grams of its training text and of text that it writes itself. This takes
minutes, and prints the perplexities of the model, of the approximation, and of counted n-grams of its size.

examples:
  wordtie export arpa runs/novel-ngram novel.arpa
  wordtie export arpa runs/novel novel.arpa.gz --ngrams 500000
"""


def main(argv: list[str]) -> None:
    """Hand on to the form."""
    form, *rest = argv or ["--help"]
    if form in FORMS:
        FORMS[form](rest)
        return
    parser = Parser("export", HELP, usage="wordtie export FORM RUN OUT [OPTION ...]")
    if form.startswith("-"):
        parser.parse_args([form])
    raise UsageError(f"no form `{form}`{did_you_mean(form, FORMS)}; see `wordtie export --help`")


def export_hf(argv: list[str]) -> None:
    """Write the folder, and print what is in it."""
    parser = Parser("export hf", HF_HELP)
    parser.add_argument("run", metavar="RUN", help="the run folder of a trained model")
    parser.add_argument("out", metavar="OUT", help="the folder to write")
    parser.add_argument("--with-code", action="store_true", help="put the model's code beside it")
    parser.add_argument("--overwrite", action="store_true", help="replace an earlier export")
    parser.add_argument("--json", action="store_true", help="print a JSON object")
    arguments = parser.parse_args(argv)

    from wordtie.console import say
    from wordtie.export.transformers_folder import write_transformers_folder

    written = write_transformers_folder(arguments.run, arguments.out, arguments.with_code, arguments.overwrite)
    if written.left_out:
        say([f"{written.folder} holds the network of {arguments.run} without {written.left_out}: its scores differ"])
    if arguments.json:
        print_json({"folder": str(written.folder), "files": written.files, "parameters": written.parameters})
        return
    for name in written.files:
        print(written.folder / name)


def export_arpa(argv: list[str]) -> None:
    """Write the file, and print how good it is."""
    parser = Parser("export arpa", ARPA_HELP)
    parser.add_argument("run", metavar="RUN", help="the run folder of a trained model")
    parser.add_argument("out", metavar="OUT", help="the file to write, named .arpa or .arpa.gz")
    parser.add_argument("--ngrams", type=whole_number, metavar="N", help="keep so many at most, the most valuable")
    parser.add_argument("--order", type=whole_number, default=4, metavar="N", help="of an approximation (4)")
    parser.add_argument("--sampled", type=int, default=500_000, metavar="N", help="words the model writes (500000)")
    parser.add_argument("--places", type=whole_number, metavar="N", help="ask the model at so many places of the text")
    parser.add_argument("--seed", type=seed, default=1, metavar="N", help="of the text that the model writes (1)")
    parser.add_argument("--overwrite", action="store_true", help="replace an earlier export")
    parser.add_argument("--json", action="store_true", help="print a JSON object")
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


FORMS = {"hf": export_hf, "arpa": export_arpa}
