"""Locks on files that others may remove."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

from wordtie.storage.lock import held, release


def test_one_holds_it_at_a_time(tmp_path: Path) -> None:
    first = held(tmp_path / ".lock")
    assert first is not None
    assert held(tmp_path / ".lock", seconds=0.05) is None
    release(first)
    second = held(tmp_path / ".lock")
    assert second is not None
    first.close()
    second.close()


def test_a_lock_whose_file_was_removed_is_made_again(tmp_path: Path) -> None:
    """By a process that failed to begin a run, and took the empty folder away while another waited for it."""
    path = tmp_path / "run" / ".lock"
    path.parent.mkdir()
    first = held(path)
    assert first is not None

    def leave() -> None:
        time.sleep(0.1)
        path.unlink()
        path.parent.rmdir()
        release(first)

    thread = threading.Thread(target=leave)
    thread.start()
    second = held(path, seconds=20)
    thread.join()
    assert second is not None
    assert os.path.samestat(os.fstat(second.fileno()), path.stat())
    assert held(path) is None
    first.close()
    second.close()
