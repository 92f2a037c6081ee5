"""The corpus of a run as ids, prepared once in the cache and shared by the runs that read it alike."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

from wordtie.config import DataSettings, plain_values
from wordtie.config.paths import cache_folder, path_of
from wordtie.console import StageProgress, waiting
from wordtie.data.catalogue import CATALOGUE
from wordtie.data.token_file import PreparedData, write_token_files
from wordtie.data.tokenisation import Tokenisation, usual
from wordtie.errors import SaveError
from wordtie.storage.atomic import remove_leftovers
from wordtie.storage.lock import open_lock


def prepare(settings: DataSettings, download: bool = True, rule: Tokenisation | None = None) -> PreparedData:
    """Return the corpus as ids, from the cache if it is there; runs with the same data settings share it.

    `download`: get a named corpus that is not on this machine; otherwise it raises `DataError`. `rule`: that of a model
    of this text, which a Python with other tables of letters may have made; it is used if the settings ask for it.
    """
    corpus = settings.corpus
    where = corpus if corpus in CATALOGUE else os.path.realpath(path_of(corpus))
    of_another = [] if rule is None or rule == usual(rule) else [rule.pattern]
    key = hashlib.sha256(json.dumps([plain_values(settings), where, *of_another]).encode()).hexdigest()[:16]
    name = os.fsencode(Path(corpus).name.removesuffix(".txt"))[:60].decode(errors="ignore")  # readable in a listing
    folder = cache_folder() / "prepared" / f"{name}-{key}"
    try:
        with _one_at_a_time(folder):
            return write_token_files(settings, folder, StageProgress(), download, rule)
    except SaveError as error:
        raise SaveError(f"{error}; the variable XDG_CACHE_HOME says where the cache lies") from error


@contextlib.contextmanager
def _one_at_a_time(folder: Path) -> Iterator[None]:
    """Wait while another process prepares the same text. A cache that cannot be locked is used without a lock."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            folder.parent.mkdir(parents=True, exist_ok=True)
            handle = stack.enter_context(open_lock(folder.with_name(f".{folder.name}.lock")))
            with waiting("waiting for another process that prepares this text"):
                fcntl.flock(handle, fcntl.LOCK_EX)
            remove_leftovers(folder, ".prepare-")
        yield
