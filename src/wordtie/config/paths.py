"""Paths of files and folders that settings, commands or calls name, and the folders in which data are looked for."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from wordtie.errors import SaveError, SettingsError, require


def path_of(name: str | Path) -> Path:
    """Return the path of this name; `~` is the home folder, which a shell does not expand in `--out=~/runs/novel`.

    Raises `SettingsError` for a name that no file or folder can have.
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


def is_same_file(out: str | Path, read: str | Path) -> bool:
    """Return whether both name the same existing file or folder; `-` names none."""
    try:
        return path_of(out).samefile(path_of(read))
    except OSError:
        return False


def data_folders() -> list[Path]:
    """Return the folders in which data may be found by name: `$WORDTIE_DATA`, if it is set."""
    own = os.environ.get("WORDTIE_DATA")
    return [Path(own)] if own else []


def cache_folder() -> Path:
    """Return the folder for downloads: `$XDG_CACHE_HOME/wordtie`, usually `~/.cache/wordtie`. Raises `SaveError`."""
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "wordtie"
    except RuntimeError as error:
        raise SaveError("there is no home folder to keep a cache in: say where with XDG_CACHE_HOME") from error


def is_arpa(path: str | Path) -> bool:
    """Return whether a path names an ARPA file, by its ending."""
    return str(path).endswith((".arpa", ".arpa.gz"))
