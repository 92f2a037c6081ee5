"""numba is optional, is imported late, and its machine code is found again by the next process."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.kernels.conftest import needs_numba
from wordtie.kernels import backend
from wordtie.kernels.softmax.loss import Pull, softmax_loss

WITHOUT_NUMBA = """
import sys
import torch
from wordtie.kernels.lstm.layer import FastLayer
from wordtie.kernels.softmax.loss import Pull, softmax_loss
from wordtie.nn.lstm import LSTM
core = LSTM(3, 3, 1)
core.run_layer = FastLayer(torch.float32)
for parameter in core.parameters():
    torch.nn.init.normal_(parameter)
state = core.initial_state(2)
with torch.no_grad():
    core(torch.randn(4, 2, 3), state)
assert "numba" not in sys.modules, "prediction waits for numba"
sys.modules["numba"] = None  # any import of it fails
query, _ = core(torch.randn(4, 2, 3), state)
words = torch.randn(5, 3, requires_grad=True)
targets = torch.tensor([0, 1, 2, 3, 4, 0, 1, 2])
for precision in (torch.float32, torch.bfloat16):
    total, _ = softmax_loss(query.flatten(0, 1), words, None, targets, words, Pull(20.0, 0.6, True), precision)
    total.backward(retain_graph=True)
assert words.grad.isfinite().all()
"""

CACHED = """
import torch
from wordtie.kernels.softmax import row_kernels
from wordtie.kernels.softmax.loss import Pull, softmax_loss
words = torch.randn(5, 3)
for pull in (None, Pull(20.0, 0.6, True)):
    softmax_loss(torch.randn(2, 3), words, None, torch.tensor([0, 1]), words, pull, torch.float32)
for kernel in (row_kernels.augmented_rows, row_kernels.cross_entropy_rows):
    assert kernel.stats.cache_hits and not kernel.stats.cache_misses, kernel.stats
"""


def run(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True)


def test_everything_works_without_numba() -> None:
    run(WITHOUT_NUMBA)


@needs_numba
def test_machine_code_is_found_again() -> None:
    words = torch.randn(5, 3)
    for pull in (None, Pull(20.0, 0.6, True)):
        softmax_loss(torch.randn(2, 3), words, None, torch.tensor([0, 1]), words, pull, torch.float32)
    run(CACHED)


@pytest.mark.parametrize(
    "body", ["raise OSError('libllvmlite.so')", "raise SystemError('numpy')", "class config: DISABLE_JIT = 1"]
)
def test_a_broken_numba_counts_as_none(body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "numba.py").write_text(body)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    assert backend.have_numba.__wrapped__() is False


def test_no_numba_counts_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)
    assert backend.have_numba.__wrapped__() is False


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_parts_cover_everything_once(count: int, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    seen: list[int] = []
    backend.in_parts(lambda begin, end: seen.extend(range(begin, end)), count)
    assert sorted(seen) == list(range(count))


def test_an_error_in_a_part_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)

    def work(begin: int, end: int) -> None:
        if begin:
            raise ValueError("here")

    with pytest.raises(ValueError, match="here"):
        backend.in_parts(work, 4)


@needs_numba
def test_machine_code_is_kept_by_the_content_of_all_kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change in a file that others inline from is a change of theirs."""
    from wordtie.kernels import numba_math
    from wordtie.kernels.softmax import row_kernels

    assert numba_math.digest() in str(row_kernels.cross_entropy_rows.stats.cache_path)  # type: ignore[attr-defined]
    shutil.copytree(Path(numba_math.__file__).parent, tmp_path, dirs_exist_ok=True)
    monkeypatch.setattr(numba_math, "__file__", str(tmp_path / "numba_math.py"))
    assert numba_math.digest.__wrapped__() == numba_math.digest()
    (tmp_path / "lstm" / "small_product.py").write_text("changed")
    assert numba_math.digest.__wrapped__() != numba_math.digest()


@needs_numba
def test_machine_code_that_cannot_be_kept_by_content_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the folder of the source, where numba would keep it, nothing tells it from that of another version."""
    from wordtie.kernels import numba_math

    (tmp_path / "file").touch()
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path / "file" / "below"))
    made = numba_math.compiled(lambda x: x + 1)
    assert made(1) == 2
    assert made.stats.cache_path is None  # type: ignore[attr-defined]
