"""The `wordtie` command: a subcommand is a file in `wordtie.commands`, imported only when it is called.

What goes wrong becomes one line on stderr and an exit code (`EXIT_CODES`); `--debug` shows the traceback too.
"""

from __future__ import annotations

import contextlib
import difflib
import errno
import importlib
import os
import re
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from wordtie import __version__
from wordtie.errors import NOT_ALLOWED, SaveError, WordtieError
from wordtie.training.stop_signals import leaving_by_signals

COMMANDS: dict[str, str] = {
    "train": "train a language model on a text",
    "evaluate": "measure the perplexity of a text under a trained model",
    "surprisal": "print the surprisal of every word of a text",
    "predict": "list the likeliest next words of a phrase",
    "generate": "write text, one sampled word after another",
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
"""Name and one line of help; the code is in `wordtie.commands.<name>`, with a `main(argv)`."""

EXIT_CODES: dict[int, str] = {
    0: "done",
    1: "a bug in wordtie: please report it, with the output of --debug",
    2: "a mistaken argument or setting, a package that is not installed, or too little memory",
    3: "a text or data file that cannot be used as it is",
    4: "a run folder that is incomplete, damaged, from a newer version, or already there",
    5: "training diverged; `wordtie train` keeps the run's last good model",
    6: "a file could not be read or written; what was there before is untouched",
    7: "some runs of `wordtie reproduce` failed; the others stand",
    129: "lost the connection (SIGHUP); `wordtie train` has saved a checkpoint",
    130: "interrupted (Ctrl-C)",
    141: "whoever read the output stopped reading",
    143: "asked to stop (SIGTERM); `wordtie train` has saved a checkpoint",
}


NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What the system says where a disk, or what one may have of it, is full."""
NO_MEMORY = """\
error: not enough memory: take a smaller model (--model.hidden, or --word2vec.vector_size), vocabulary \
(--data.vocabulary_size) or window (--training.streams, --training.steps)"""


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


SPINS = "2000"
"""How often torch's threads look for more work before they sleep: by default they hold a core for milliseconds after
each product, which the kernels' own threads wait for. Read when torch is loaded."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; data goes to stdout, messages to stderr."""
    os.environ.setdefault("GOMP_SPINCOUNT", SPINS)
    arguments = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in arguments
    if debug:
        arguments.remove("--debug")
    if sys.stderr is None:  # closed: messages go nowhere, and not among the data
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    if sys.stdout is None:
        return _report("error: standard output is closed", SaveError.exit_code, debug)
    if hasattr(sys.stdout, "reconfigure"):  # whatever the locale: words are in any script
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        code = _exit_code_of(arguments)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        _silence_stdout()
        return 141
    except KeyboardInterrupt:
        return _report("interrupted", 130, debug)
    except WordtieError as error:
        return _report(f"error: {_one_line(error)}", error.exit_code, debug)
    except ImportError as error:
        if (error.name or "wordtie").partition(".")[0] == "wordtie":
            return _report_bug(error, debug)
        return _report(f"error: this needs a package that is not installed: pip install {error.name}", 2, debug)
    except OSError as error:
        if error.errno in NO_ROOM:
            _silence_stdout()
            return _report(f"error: could not write: {_one_line(error)}", SaveError.exit_code, debug)
        if error.errno in NOT_ALLOWED and error.filename is not None:
            return _report(f"error: {error.filename}: {error.strerror}", SaveError.exit_code, debug)
        return _report_bug(error, debug)
    except Exception as error:
        return _report(NO_MEMORY, 2, debug) if _is_out_of_memory(error) else _report_bug(error, debug)


def _is_out_of_memory(error: Exception) -> bool:
    """Of Python, of torch on a card, or of torch on the CPU, which has no kind of error for it.

    A size that torch cannot even count is more than there is, too.
    """
    said = "allocate memory|out of memory|[Oo]verflow when unpacking|size calculation overflow|multiplication overflow"
    of_torch = isinstance(error, (RuntimeError, TypeError)) and re.search(said, str(error))
    return isinstance(error, MemoryError) or bool(of_torch)


def _exit_code_of(arguments: list[str]) -> int:
    """Run what the arguments ask for; `argparse` and signals leave by `SystemExit`, which is an exit code too."""
    try:
        with leaving_by_signals():
            _run(arguments)
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else 0
    return 0


def _run(arguments: list[str]) -> None:
    name, *rest = arguments or ["--help"]
    if name in ("--help", "-h", "help"):
        print(usage())
    elif name == "--version":
        print(f"wordtie {__version__}")
    elif name in COMMANDS:
        importlib.import_module(f"wordtie.commands.{name}").main(rest)
    else:
        near = difflib.get_close_matches(name, COMMANDS, n=1, cutoff=0.5)
        hint = f"did you mean `wordtie {near[0]}`?" if near else "`wordtie --help` lists what there is"
        raise WordtieError(f"no command `{name}`; {hint}")


def _report(message: str, code: int, debug: bool) -> int:
    if debug:
        traceback.print_exc()
    with contextlib.suppress(OSError):  # stderr may lie on the disk that is full; the exit code says it, too
        print(f"wordtie: {message}", file=sys.stderr)
    return code


def _report_bug(error: Exception, debug: bool) -> int:
    hint = "" if debug else " (--debug shows where)"
    return _report(f"bug: {type(error).__name__}: {_one_line(error)}{hint}", 1, debug)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def _silence_stdout() -> None:
    """Nobody reads stdout any more: let the flush at exit go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
