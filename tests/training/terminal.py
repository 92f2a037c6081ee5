"""A terminal to look at what is shown on one."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios


def on_terminal(code: str, columns: int) -> str:
    """What Python `code` writes to stderr where that is a terminal so wide, and 24 lines high, with its controls."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in ("LINES", "COLUMNS")}
    subprocess.run([sys.executable, "-c", code], stderr=theirs, check=True, env={**environment, "TERM": "xterm"})
    os.close(theirs)
    printed = os.read(ours, 65536).decode()
    os.close(ours)
    return printed
