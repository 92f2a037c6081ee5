"""Openers for `open(path, mode, opener=...)`: regular files only, and files that wordtie writes never through a link.

A run folder may come from somebody else. A `.lock` there that is a symbolic link would otherwise lead a plain `open`
to any file of the user's, and a named pipe in place of a file would block the open forever.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


def regular_file(path: str, flags: int) -> int:
    """Open a regular file, through a symbolic link too. Raises `OSError` for a device, a pipe or a socket."""
    try:
        # O_NONBLOCK lets the open of a named pipe return; it has no effect on a regular file
        descriptor = os.open(path, flags | os.O_NONBLOCK, 0o666)
    except OSError as error:
        if error.errno == errno.ENXIO:  # a pipe that nobody reads, or a socket
            raise OSError(errno.EINVAL, "not a regular file", path) from error
        raise
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        if stat.S_ISDIR(mode):
            raise OSError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        raise OSError(errno.EINVAL, "not a regular file", path)
    return descriptor


def read_regular(path: Path) -> bytes:
    """Read the content of a regular file. Raises `OSError`."""
    with open(path, "rb", opener=regular_file) as file:
        return file.read()


def own_file(path: str, flags: int) -> int:
    """Open a file that wordtie itself writes, as `regular_file` does. Raises `OSError` for a symbolic link, too."""
    try:
        return regular_file(path, flags | os.O_NOFOLLOW)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, "a symbolic link; remove it", path) from error
        raise
