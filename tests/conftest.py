"""What tests of whole commands start from."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from tests.tiny_run import write_text
from wordtie.config.paths import cache_folder

# one place for the machine code of the kernels and for matplotlib's fonts, wherever a test has its other caches
KEPT = Path(__file__).parents[1] / ".pytest_cache"
os.environ.setdefault("NUMBA_CACHE_DIR", str(KEPT / "kernels"))
os.environ.setdefault("MPLCONFIGDIR", str(KEPT / "matplotlib"))
# a shell that starts the tests in the background lets them ignore SIGINT, and so would every command that they start
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# tests in several processes at once have a core each
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.fixture(autouse=True, scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A cache of the tests' own: texts of a few words have no place among those of whoever runs them."""
    if "WORDTIE_DATA" not in os.environ:
        os.environ["WORDTIE_DATA"] = str(cache_folder())  # where downloads are, so that they serve all the same
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder and a cache that are the test's alone."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """A text of made-up words."""
    return write_text(tmp_path / "text")


@pytest.fixture
def set_threads() -> Iterator[Callable[[int], None]]:
    """Sets torch's number of threads; after the test it is as before."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)
