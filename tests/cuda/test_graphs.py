"""Work that is recorded as a CUDA graph gives what the same work gives when it is not."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import NoReturn

import pytest
import torch
from torch import Tensor

from wordtie.kernels import cuda_graphs
from wordtie.kernels.cuda_graphs import MOST_COUNTED, MOST_RECORDED, OFTEN, Recording, Work, forget, run


def add_squares(total: Tensor, added: Tensor, missing: Tensor | None) -> None:
    assert missing is None
    for row in added:
        total += row * row


WORK = Work(add_squares, read=(0, 1, 2), written=(0,))


def added_up(seed: int, size: int = 1000) -> tuple[Tensor, Tensor]:
    """What the work gives, and what it should."""
    rows = torch.randn(5, size, generator=torch.Generator().manual_seed(seed)).cuda()
    total = torch.full((size,), float(seed), device="cuda")
    expected = (total.double() + (rows.double() ** 2).sum(0)).float()
    run(WORK, (total, rows, None))
    return total, expected


def recorded() -> int:
    return len(cuda_graphs._recorded)


def test_every_time_counts_the_recorded_ones_too() -> None:
    for seed in range(OFTEN + 5):
        found, expected = added_up(seed)
        torch.testing.assert_close(found, expected)
        assert recorded() == (seed >= OFTEN)


def test_shapes_that_change_are_told_apart() -> None:
    for seed in range(MOST_COUNTED + 20):
        found, expected = added_up(seed, size=10 + seed)
        torch.testing.assert_close(found, expected)
    assert recorded() == 0
    assert len(cuda_graphs._counted) == MOST_COUNTED


def test_no_more_is_recorded_than_is_kept_until_all_is_forgotten() -> None:
    for size in range(10, 10 + MOST_RECORDED + 2):
        for seed in range(OFTEN + 2):
            found, expected = added_up(seed, size)
            torch.testing.assert_close(found, expected)
    assert recorded() == MOST_RECORDED
    forget()
    assert recorded() == 0
    test_every_time_counts_the_recorded_ones_too()


def test_where_recording_fails_the_work_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> NoReturn:
        raise torch.OutOfMemoryError

    monkeypatch.setattr(Recording, "__init__", fails)
    for seed in range(OFTEN + 5):
        found, expected = added_up(seed)
        torch.testing.assert_close(found, expected)


def test_what_was_recorded_for_inference_serves_training() -> None:
    with torch.inference_mode():
        test_every_time_counts_the_recorded_ones_too()
    found, expected = added_up(1)
    torch.testing.assert_close(found, expected)


def test_streams_do_not_share_memory() -> None:
    streams = [torch.cuda.Stream() for _ in range(2)]
    for seed in range(OFTEN + 20):
        found = []
        for number, stream in enumerate(streams):
            with torch.cuda.stream(stream):
                found.append(added_up(2 * seed + number, size=1_000_000))
        torch.cuda.synchronize()
        for one, expected in found:
            torch.testing.assert_close(one, expected)
    assert recorded() == 2


def test_threads_take_turns() -> None:
    with ThreadPoolExecutor(4) as pool:
        for found, expected in pool.map(added_up, range(200)):
            torch.testing.assert_close(found, expected)


def test_within_a_recording_of_somebody_else_the_work_is_recorded_there() -> None:
    total, rows = torch.zeros(10, device="cuda"), torch.ones(5, 10, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run(WORK, (total, rows, None))
    graph.replay()
    torch.cuda.synchronize()
    assert total.tolist() == [5.0] * 10
    assert not recorded()
