"""`wordtie` commands in processes of their own that can be killed, without importing PyTorch for each.

Python's fork server imports once, in a fresh process, and forks a child for each command; a child is a real process,
and what kills it is a real signal.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from wordtie import cli

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["torch._dynamo", "wordtie.training.train", "wordtie.commands.train", __name__])


def start(arguments: list[str], folder: Path, prepare: Callable[[], None] | None = None) -> ForkServerProcess:
    """Run `wordtie ARGUMENTS` in `folder`, which also holds the cache, and its output in `folder/output`.

    `prepare` is called in the child first; it must be a function that can be pickled.
    """
    process = _context.Process(target=_child, args=(arguments, str(folder), prepare))
    process.start()
    return process


def run(arguments: list[str], folder: Path, prepare: Callable[[], None] | None = None) -> tuple[int, str]:
    """Exit code, and all that was written to stdout and stderr."""
    process = start(arguments, folder, prepare)
    process.join()
    assert process.exitcode is not None
    return process.exitcode, (folder / "output").read_text()


def _child(arguments: list[str], folder: str, prepare: Callable[[], None] | None) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which tests started in the background inherit ignored
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    os.chdir(folder)
    os.environ["XDG_CACHE_HOME"] = str(Path(folder) / "cache")
    output = os.open("output", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    os.dup2(output, 1)
    os.dup2(output, 2)
    sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w", buffering=1)
    if prepare is not None:
        prepare()
    code = cli.main(arguments)
    sys.stdout.flush()
    os._exit(code)
