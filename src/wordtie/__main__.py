"""`python -m wordtie` and the `wordtie` script.

While Python loads this package and while it ends, SIGINT and SIGTERM end the process at once: an exception raised
there would print a stack of imports, or be raised through C++ code that aborts.
"""

import os
import signal
import sys
from typing import NoReturn


def _end(number: int, frame: object) -> NoReturn:
    os._exit(128 + number)


_BEFORE = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
_OURS = [number for number, handler in _BEFORE.items() if handler in (signal.SIG_DFL, signal.default_int_handler)]
"""A signal that is ignored stays so."""


def main() -> int:
    """Run the command that the arguments name; return its exit code."""
    for number in _OURS:
        signal.signal(number, _end)
    from wordtie import cli

    for number in _OURS:
        signal.signal(number, _BEFORE[number])
    code = cli.main()
    for number in _OURS:
        signal.signal(number, _end)
    return code


if __name__ == "__main__":
    sys.exit(main())
