"""The `wordtie` command: a subcommand is a file in `wordtie.commands`, imported only when it is called.

`wordtie.exits` makes one line and an exit code of what goes wrong; `--debug` shows the traceback too.
"""

from __future__ import annotations

import importlib
import keyword
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from wordtie import __version__
from wordtie.errors import WordtieError
from wordtie.exits import EXIT_CODES, exit_code_of

COMMANDS: dict[str, str] = {
    "train": "train a language model on a text",
    "ngram": "train an n-gram model of a text, in seconds",
    "mix": "mix trained models into one",
    "import": "make a run folder of a model that another program trained",
    "runs": "list runs with their state, perplexity, parameters, time, and settings",
    "curves": "draw the curves of runs, finished or in training",
    "evaluate": "measure the perplexity of a text under trained models",
    "surprisal": "print the surprisal of every word of a text",
    "pairs": "measure how often a model prefers the grammatical sentence of a minimal pair",
    "reading-times": "measure what surprisal adds to a regression of reading times",
    "predict": "list the likeliest next words of a phrase",
    "translate": "translate lines, or train a model that does",
    "rescore": "score or rank the hypotheses of n-best lists, of speech or translation",
    "generate": "write text, one sampled word after another",
    "serve": "answer over HTTP, and show a page in the browser",
    "export": "write a model in a form that other tools open",
    "corpora": "list the corpora known by name",
    "word2vec": "train word vectors: skip-gram or CBOW, untied, tied, or tied with a linear map",
    "vectors": "take the word vectors out of a model: files, neighbours, analogies, a picture",
    "similarity": "judge word vectors by what people find similar",
    "subspace": "measure how far apart the spaces of two word matrices are",
    "compare": "list what models expect after the same phrases, side by side",
    "baseline": "measure a corpus with unigrams and Kneser-Ney n-grams",
    "reproduce": "train the rows of the papers' tables, and list how they stand",
    "bench": "measure the claims of speed and memory",
}
"""Name and one line of help; the code is in the module that `module_of` names, with a `main(argv)`."""


def module_of(name: str) -> str:
    """`wordtie.commands.<name>`, with `_` for `-`, and `_` after a keyword: `import_`."""
    return f"wordtie.commands.{name.replace('-', '_')}{'_' if keyword.iskeyword(name) else ''}"


def usage() -> str:
    """The text of `wordtie --help`."""
    width = max(map(len, COMMANDS))
    return "\n".join(
        [
            "usage: wordtie [--debug] COMMAND [ARGUMENT ...]",
            "",
            "Compact word-level language models whose input and output share one word matrix.",
            "",
            "commands:",
            *(f"  {name:{width}}  {line}" for name, line in COMMANDS.items()),
            "",
            "`wordtie COMMAND --help` explains a command, with examples.",
            "",
            "options:",
            "  --help     show this text",
            "  --version  show the version",
            "  --debug    show the traceback of an error",
            "",
            "exit codes:",
            *(f"  {code:3}  {meaning}" for code, meaning in EXIT_CODES.items()),
        ]
    )


OPTIONS = ("--help", "--version", "--debug")
SPINS = "2000"
"""How often torch's threads look for more work before they sleep: by default they hold a core for milliseconds after
each product, which the kernels' own threads wait for. Read when torch is loaded."""

KEPT_PRIMITIVES = "64"
"""Of how many shapes of products oneDNN keeps its code: by default of a thousand, megabytes each, which trainings on
sentences of all lengths reach. To make one takes little time. Read when torch is loaded."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; data goes to stdout, messages to stderr."""
    os.environ.setdefault("GOMP_SPINCOUNT", SPINS)
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", KEPT_PRIMITIVES)
    arguments = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in arguments
    if debug:
        arguments.remove("--debug")
    if sys.stderr is None:  # closed: messages go nowhere, and not among the data
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    if hasattr(sys.stdout, "reconfigure"):  # whatever the locale: words are in any script
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    return exit_code_of(lambda: _run(arguments), debug)


def _run(arguments: list[str]) -> None:
    name, *rest = arguments or ["--help"]
    if name in ("--help", "-h", "help"):
        print(usage())
    elif name == "--version":
        print(f"wordtie {__version__}")
    elif name in COMMANDS:
        from wordtie.training.stop_signals import leaving_by_signals  # `--help` needs none of it

        with leaving_by_signals():
            importlib.import_module(module_of(name)).main(rest)
    else:
        import difflib

        what, known = ("option", OPTIONS) if name.startswith("-") else ("command", COMMANDS)
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
        hint = f"did you mean `wordtie {near[0]}`?" if near else "`wordtie --help` lists what there is"
        raise WordtieError(f"no {what} `{name}`; {hint}")
