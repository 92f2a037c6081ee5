"""Memory that this process can use."""

from __future__ import annotations

import os
import resource
from pathlib import Path

GROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
"""Files in which Linux states how much memory a container may use."""


def machine_memory() -> int:
    """Return the most bytes that this process can use: the least limit of machine, container and `ulimit -v`."""
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft != resource.RLIM_INFINITY:
        limits.append(soft)
    for path in GROUP_LIMITS:
        try:
            limits.append(int(Path(path).read_text(encoding="ascii")))
        except (OSError, ValueError):  # `max`: no limit
            continue
    return min(limits)
