"""Time contenders side by side: A B A B ... in one process, so that a busy machine troubles all of them alike.

The ratio of a claim is the median over the rounds of (alternative / ours), each pair measured one after the other;
its spread is the distance between the quartiles of those ratios over their median. The floor of a step is its
multiply-adds over the machine's matrix rate, which is one more contender of the same rounds.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import torch

from wordtie.kernels.products import product, serves

PROBE_SIZE = 1536
"""Rows and columns of the matrix product that measures the machine: large enough to reach its rate."""

Contenders = Mapping[str, Callable[[], object]]
Timings = dict[str, list[float]]
"""Seconds of each round, by contender."""


class UnavailableError(Exception):
    """The claim cannot be measured here; the message says why."""


@dataclass(frozen=True)
class Effort:
    """How much time a measurement may take."""

    rounds: int = 15
    quick: bool = False
    """Few rounds and small data: shows that a claim runs, not what it is worth."""


@dataclass(frozen=True)
class Measurement:
    """What came out. `ratio` is how many times better than the alternative, for memory too."""

    ratio: float
    spread: float | None
    """None where it was measured once."""
    alternative: float
    """What the alternative took, or the goal where that is the alternative; median, in `unit`."""
    ours: float
    unit: str
    measured_over_floor: float | None = None
    """None where a floor means nothing."""
    note: str = ""
    details: Mapping[str, float] = field(default_factory=dict)
    """What else was measured, with the unit in the name; saved, not printed."""


@dataclass(frozen=True)
class Claim:
    """`ratio >= goal`, and how to find out."""

    name: str
    what: str
    goal: float | None
    """None: reported without a goal."""
    measure: Callable[[Effort], Measurement]


def alternate(
    contenders: Contenders, rounds: int, warm_up: int = 2, clock: Callable[[], float] = time.perf_counter
) -> Timings:
    """Run every contender once a round, in turn; the first `warm_up` rounds are not counted."""
    timings: Timings = {name: [] for name in contenders}
    for round_number in range(-warm_up, rounds):
        for name, run in contenders.items():
            start = clock()
            run()
            if round_number >= 0:
                timings[name].append(clock() - start)
    return timings


def ratios(alternative: Sequence[float], ours: Sequence[float]) -> list[float]:
    """How many times better, round by round.

    >>> ratios([6.0, 8.0], [2.0, 2.0])
    [3.0, 4.0]
    """
    return [a / b for a, b in zip(alternative, ours, strict=True)]


def spread(values: Sequence[float]) -> float | None:
    """Distance between the quartiles over the median; None of a single value.

    >>> spread([1.0, 2.0, 3.0, 4.0, 5.0])
    0.6666666666666666
    """
    if len(values) < 2:
        return None
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return (high - low) / middle


@dataclass(frozen=True)
class MatrixProbe:
    """One square matrix product in the dtype of the step, by the library that is faster on this machine."""

    dtype: torch.dtype
    device: str = "cpu"
    size: int = PROBE_SIZE

    @property
    def multiply_adds(self) -> float:
        """Of one call."""
        return float(self.size) ** 3

    def contender(self) -> Callable[[], object]:
        """What `alternate` calls."""
        a, b = (torch.randn(self.size, self.size, device=self.device).to(self.dtype) for _ in range(2))
        if serves(a):
            return lambda: product(a, b)
        out = torch.empty_like(a)
        return lambda: torch.mm(a, b, out=out)

    def rate(self, seconds: Sequence[float]) -> float:
        """Multiply-adds a second."""
        return self.multiply_adds / statistics.median(seconds)


def over_floor(seconds: Sequence[float], multiply_adds: float, rate: float) -> float:
    """Median seconds over those that the multiply-adds alone would take.

    >>> over_floor([3.0], multiply_adds=8e9, rate=4e9)
    1.5
    """
    return statistics.median(seconds) / (multiply_adds / rate)


def compare(
    alternative: Callable[[], object],
    ours: Callable[[], object],
    multiply_adds: float | None,
    probe: MatrixProbe,
    rounds: int,
    note: str = "",
    clock: Callable[[], float] = time.perf_counter,
) -> Measurement:
    """Alternate the two and the probe, and put the figures together; without `multiply_adds` there is no floor."""
    contenders = {"alternative": alternative, "ours": ours, "probe": probe.contender()}
    if probe.device != "cpu":
        contenders = {name: _to_the_end(run) for name, run in contenders.items()}
    timings = alternate(contenders, rounds, clock=clock)
    values = ratios(timings["alternative"], timings["ours"])
    rate = probe.rate(timings["probe"])
    details = {"multiply_adds_per_s": rate, "rounds": rounds}
    if multiply_adds is not None:
        details |= {"floor_ms": 1e3 * multiply_adds / rate, "multiply_adds": multiply_adds}
    return Measurement(
        ratio=statistics.median(values),
        spread=spread(values),
        alternative=1e3 * statistics.median(timings["alternative"]),
        ours=1e3 * statistics.median(timings["ours"]),
        unit="ms",
        measured_over_floor=None if multiply_adds is None else over_floor(timings["ours"], multiply_adds, rate),
        note=note,
        details=details,
    )


def _to_the_end(run: Callable[[], object]) -> Callable[[], object]:
    """A GPU's work is queued: wait for it, so that the clock sees all of it."""

    def run_to_the_end() -> object:
        result = run()
        torch.cuda.synchronize()
        return result

    return run_to_the_end
