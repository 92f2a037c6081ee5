"""How a program ends: what goes wrong becomes one line on stderr and an exit code (`EXIT_CODES`).

`debug` shows the traceback too.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import sys
import traceback
from collections.abc import Callable

from wordtie.errors import NOT_ALLOWED, SaveError, WordtieError

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
error: not enough memory: take a smaller model (--hidden, or --vector-size), vocabulary \
(--vocabulary-size) or window (--streams, --steps)"""


def exit_code_of(call: Callable[[], None], debug: bool = False) -> int:
    """Call it, and return what the process shall exit with; data goes to stdout, messages to stderr.

    `argparse` and signals leave by `SystemExit`, which is an exit code too.
    """
    if sys.stdout is None:
        return _report("error: standard output is closed", SaveError.exit_code, debug)
    try:
        code = _code_of(call)
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


def _code_of(call: Callable[[], None]) -> int:
    try:
        call()
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else 0
    return 0


def _is_out_of_memory(error: Exception) -> bool:
    """Of Python, of torch on a card, or of torch on the CPU, which has no kind of error for it.

    A size that torch cannot even count is more than there is, too.
    """
    said = "allocate memory|out of memory|[Oo]verflow when unpacking|size calculation overflow|multiplication overflow"
    of_torch = isinstance(error, (RuntimeError, TypeError)) and re.search(said, str(error))
    return isinstance(error, MemoryError) or bool(of_torch)


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
