"""`wordtie export`: a model in a form that other tools open."""

from __future__ import annotations

from wordtie.commands._shared import Parser, UsageError, add_export, print_json
from wordtie.errors import did_you_mean

HELP = """\
Write a model in a form that other tools open.

  wordtie export hf RUN OUT                      a folder for Hugging Face Transformers
  wordtie export onnx RUN OUT                    a file for ONNX Runtime, in fp32 or 8 bits
  wordtie export arpa RUN OUT                    an ARPA file, for KenLM and decoders
  wordtie export latinime RUN OUT --locale en    words and bigrams for the keyboard of Android (.combined)
  wordtie export keyman RUN OUT                  a word list for Keyman

Each form has its own --help.

examples:
  wordtie export hf runs/novel exported/novel
  wordtie export hf runs/novel exported/novel --with-code
  wordtie export onnx runs/novel novel.onnx --eight-bits
  wordtie export onnx runs/novel lm.onnx --nll
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


def main(argv: list[str]) -> None:
    """Hand the arguments to the form that they name."""
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
    parser.add_argument("--with-code", action="store_true", help="put the model's code beside it")
    add_export(parser, "the folder to write")
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


def export_onnx(argv: list[str]) -> None:
    """Write the file, and print what was written."""
    from wordtie.commands._export_onnx import main

    main(argv)


def export_latinime(argv: list[str]) -> None:
    """Write the file, and print its name."""
    from wordtie.commands._export_dictionary import latinime

    latinime(argv)


def export_keyman(argv: list[str]) -> None:
    """Write the file, and print its name."""
    from wordtie.commands._export_dictionary import keyman

    keyman(argv)


def export_arpa(argv: list[str]) -> None:
    """Write the file, and print how good it is."""
    from wordtie.commands._export_arpa import main

    main(argv)


FORMS = {
    "hf": export_hf,
    "onnx": export_onnx,
    "arpa": export_arpa,
    "latinime": export_latinime,
    "keyman": export_keyman,
}
