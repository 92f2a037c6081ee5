"""Where a file or folder lies that settings, a command or a call names, and where data are looked for."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from wordtie.errors import SaveError, SettingsError, require


def path_of(name: str | Path) -> Path:
    """The file or folder of this name; `~` is one's home, which a shell leaves as it is in `--out=~/runs/novel`.

    Raises `SettingsError` for what can be no name.
    """
    require(isinstance(name, str | os.PathLike), f"give the path of a file or folder, got a {type(name).__name__}")
    try:
        path = Path(name).expanduser()
    except RuntimeError:  # nobody's home: a name with a tilde
        path = Path(name)
    require("\0" not in str(path), f"{name!r}: no file or folder can have this name")
    try:
        os.fsencode(path)
        path.exists()
    except UnicodeEncodeError as error:  # half a surrogate pair, which only Python or YAML can write
        raise SettingsError(f"{str(name)!a}: no file or folder can have this name") from error
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise SettingsError(f"{str(name)[:40]}...: too long for a file's name: is it a text?") from error
    return path


def data_folders() -> list[Path]:
    """Where data may lie that are asked for by name: `$WORDTIE_DATA`, where it is set."""
    own = os.environ.get("WORDTIE_DATA")
    return [Path(own)] if own else []


def cache_folder() -> Path:
    """Where downloads go: `$XDG_CACHE_HOME/wordtie`, usually `~/.cache/wordtie`. Raises `SaveError`."""
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "wordtie"
    except RuntimeError as error:
        raise SaveError("there is no home folder to keep a cache in: say where with XDG_CACHE_HOME") from error


def is_arpa(path: str | Path) -> bool:
    """Whether a name is that of an n-gram model in an ARPA file."""
    return str(path).endswith((".arpa", ".arpa.gz"))
