"""How a program ends: what goes wrong becomes one line on stderr and an exit code (`EXIT_CODES`).

`debug` shows the traceback too.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from wordtie.errors import NOT_ALLOWED, SaveError, WordtieError

EXIT_CODES: dict[int, str] = {
    0: "done",
    1: "a bug in wordtie, or a fault of the GPU: please report it, with the output of --debug",
    2: "a mistaken argument or setting, a package that is not installed, or too little memory",
    3: "a text or data file that cannot be used as it is",
    4: "a run folder that is incomplete, damaged, from a newer version, or already there",
    5: "training diverged; `wordtie train` keeps the run's last good model",
    6: "a file could not be read or written, or is already there; what was there before is untouched",
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
    except (Exception, KeyboardInterrupt) as error:
        code = _code_of_error(error, debug)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:  # Python would try again as it ends, and exit with 120
            _silence(stream)
    return code


def _code_of_error(error: BaseException, debug: bool) -> int:
    """Report the error, and return its exit code."""
    if isinstance(error, BrokenPipeError):
        _silence(sys.stdout)
        return 141
    if isinstance(error, KeyboardInterrupt):
        return _report("interrupted", 130, debug)
    if isinstance(error, WordtieError):
        return _report(f"error: {_one_line(error)}", error.exit_code, debug)
    if _is_out_of_memory(error):
        return _report(NO_MEMORY, 2, debug)
    if isinstance(error, ImportError) and (error.name or "wordtie").partition(".")[0] != "wordtie":
        return _report(_import_failure(error), 2, debug)
    if isinstance(error, OSError) and error.errno in NO_ROOM:
        _silence(sys.stdout)
        return _report(f"error: could not write: {_one_line(error)}", SaveError.exit_code, debug)
    if isinstance(error, OSError) and error.errno in NOT_ALLOWED and error.filename is not None:
        return _report(f"error: {error.filename}: {error.strerror}", SaveError.exit_code, debug)
    return _report_bug(error, debug)


PACKAGES = {"yaml": "PyYAML", "jinja2": "Jinja2", "prometheus_client": "prometheus-client"}
"""Names to install by, where they differ from that of the module."""
EXTRAS = {
    "fast": {"numba"},
    "onnx": {"onnx", "onnxruntime"},
    "report": {"matplotlib"},
    "serve": {"fastapi", "httptools", "prometheus_client", "pydantic", "starlette", "uvicorn"},
    "transformers": {"transformers"},
    "translate": {"sacrebleu"},
    "vectors": {"gensim"},
}
"""Modules by the extra that brings them."""


def _import_failure(error: ImportError) -> str:
    """What to do about a package that is missing, or that is there and cannot be loaded."""
    if isinstance(error, ModuleNotFoundError):
        name = str(error.name).partition(".")[0]
        extra = next((f", or wordtie with its extra {extra}" for extra, names in EXTRAS.items() if name in names), "")
        return f"error: this needs a package that is not installed: pip install {PACKAGES.get(name, name)}{extra}"
    # an extension module is named without its package: safetensors/_safetensors_rust.abi3.so is `_safetensors_rust`
    package = Path(error.path or "").as_posix().rpartition("-packages/")[2].partition("/")[0] or error.name
    return f"error: the package {package} cannot be loaded ({_one_line(error)}): install it again"


def _code_of(call: Callable[[], None]) -> int:
    try:
        call()
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else 0
    return 0


MEMORY_MESSAGES = (
    "[Aa]llocate memory|out of memory|failed to map segment|can't start new thread"
    "|[Oo]verflow when unpacking|size calculation overflow|multiplication overflow"
)
"""What torch says where memory is short, for which it has no kind of error on the CPU, and the loader of libraries.
A size that torch cannot even count is more than there is, too."""


def _is_out_of_memory(error: BaseException) -> bool:
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
        return True
    kinds = (RuntimeError, TypeError, ImportError, OSError)
    return isinstance(error, kinds) and re.search(MEMORY_MESSAGES, str(error)) is not None


def _report(message: str, code: int, debug: bool) -> int:
    if debug:
        import traceback  # of use here alone, and slow to load

        traceback.print_exc()
    with contextlib.suppress(OSError):  # stderr may lie on the disk that is full; the exit code says it, too
        print(f"wordtie: {message}", file=sys.stderr)
    return code


GPU_FAULT = "CUDA error|cudaError"
"""What torch says where a GPU stopped computing, perhaps for another program."""


def _report_bug(error: BaseException, debug: bool) -> int:
    hint = "" if debug else " (--debug shows where)"
    if re.search(GPU_FAULT, str(error)):
        first = str(error).splitlines()[0]
        return _report(f"the GPU failed: {first}{hint}; with --resume, a training continues as last saved", 1, debug)
    return _report(f"bug: {type(error).__name__}: {_one_line(error)}{hint}", 1, debug)


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())


def _silence(stream: TextIO) -> None:
    """Nobody can read it any more: let the flush at exit go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
