"""Which form of the row and cell work is used: numba's on the CPU in float32, else plain torch in the same chunks.

numba is optional (the extra `fast`) and takes most of a second to import, so it is looked for when such work is first
done, for a gradient or in a beam search, not before.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import torch
from torch import Tensor


@cache
def have_numba() -> bool:
    """Whether numba can be imported and compiles; a broken installation counts as none, whatever it raises."""
    try:
        from numba import config
    except Exception:
        return False
    settings: Any = config  # whose stubs do not know its settings
    return not settings.DISABLE_JIT


def numba_serves(operand: Tensor) -> bool:
    """Whether numba's form can work on tensors such as this one."""
    return operand.device.type == "cpu" and operand.dtype == torch.float32 and have_numba()


def tiles_serve() -> bool:
    """Whether numba can use the processor's tile registers (AMX): see `wordtie.kernels.lstm.tile_product`.

    Also asks the system for them, for all threads of this process.
    """
    return have_numba() and _tiles_are_there()


@cache
def _tiles_are_there() -> bool:
    """Whether the processor has them, the system lets this process use them, and numba compiles for them."""
    allowed = (getattr(torch.cpu, name, bool) for name in ("_is_amx_tile_supported", "_init_amx"))  # not public
    if not all(ask() for ask in allowed):
        return False
    from numba.core.registry import cpu_target

    target: Any = cpu_target
    features = target.target_context.codegen().magic_tuple()[2].split(",")
    return {"+amx-tile", "+amx-bf16"} <= set(features)


def refuse_second_derivatives() -> None:
    """Refuse to differentiate a hand-written backward pass, which would silently leave out terms.

    Raises `RuntimeError` under `create_graph=True`.
    """
    if torch.is_grad_enabled():
        raise RuntimeError("a fast twin gives first derivatives alone: take the readable form (fused=False) for others")


@cache
def _pool(process: int, threads: int) -> ThreadPoolExecutor:
    """Return a pool that is kept between calls; a forked child makes its own, as it lacks its parent's threads."""
    return ThreadPoolExecutor(threads, thread_name_prefix="wordtie-rows")


def in_parts(work: Callable[[int, int], None], count: int) -> None:
    """Run `work(begin, end)` over parts of `range(count)`, on as many threads as torch uses.

    `work` should release the GIL; what item n computes must not depend on the other items, so that the
    result is the same for any number of threads.
    """
    parts = min(torch.get_num_threads(), count)
    bounds = [count * part // parts for part in range(parts + 1)] if parts else [0]
    rest = [_pool(os.getpid(), parts - 1).submit(work, *bounds[part : part + 2]) for part in range(1, parts)]
    if parts:
        work(*bounds[:2])
    for future in rest:
        future.result()
