"""Where a file or folder lies that settings, a command or a call names."""

from __future__ import annotations

import os
from pathlib import Path

from wordtie.errors import require


def path_of(name: str | Path) -> Path:
    """The file or folder of this name; `~` is one's home, which a shell leaves as it is in `--out=~/runs/novel`.

    Raises `SettingsError` for what is no name.
    """
    require(isinstance(name, str | os.PathLike), f"give the path of a file or folder, got a {type(name).__name__}")
    try:
        return Path(name).expanduser()
    except RuntimeError:  # nobody's home: a name with a tilde
        return Path(name)
