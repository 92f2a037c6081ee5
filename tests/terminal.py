"""A terminal to look at what is shown on one."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from contextlib import suppress


def on_terminal(code: str, columns: int) -> str:
    """What Python `code` writes to stderr where that is a terminal so wide, and 24 lines high, with its controls."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in ("LINES", "COLUMNS")}
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stderr=theirs, env={**environment, "TERM": "xterm"}) as process:
        os.close(theirs)
        printed = b""
        with suppress(OSError):  # which is how a terminal says that nobody writes to it any more
            while more := os.read(ours, 65536):  # a few thousand bytes at most, whatever there is
                printed += more
    os.close(ours)
    assert process.returncode == 0
    return printed.decode()
