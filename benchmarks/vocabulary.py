"""Building the vocabulary and the ids of 23M words: IMDb's reviews where they are at hand, else made-up text.

The goals are absolute, so the alternative of each row is its own goal: 10 MB of text a second, 1 GB of memory for the
whole process, PyTorch's libraries included.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from benchmarks.harness import Claim, Effort, Measurement, spread
from benchmarks.memory import in_fresh_process, peak
from benchmarks.steps import zipf_ids
from wordtie.config import DataSettings
from wordtie.data.catalogue import locate
from wordtie.data.token_file import write_token_files
from wordtie.errors import DataError

GOAL_BYTES_PER_SECOND = 10e6
GOAL_BYTES = 1e9
LINE = 25
"""Words a line of made-up text."""
BLOCK = 1_000_000


@dataclass(frozen=True)
class Preparation:
    """What one call of `prepare` came to."""

    text: str
    text_bytes: int
    tokens: int
    seconds: float
    peak: int


def write_text(path: Path, words: int) -> None:
    """Made-up text with Zipf's law over 300,000 words, in lines."""
    with path.open("w", encoding="utf-8") as handle:
        for seed, start in enumerate(range(0, words, BLOCK)):
            drawn = [f"w{word:x}" for word in zipf_ids(min(BLOCK, words - start), 300_000, seed)]
            handle.writelines(" ".join(drawn[n : n + LINE]) + "\n" for n in range(0, len(drawn), LINE))


def corpus(folder: Path, quick: bool) -> str:
    """The name or the folder of the text to read."""
    if not quick:
        try:
            locate("imdb")
        except DataError:
            pass
        else:
            return "imdb"
    words = 1_000_000 if quick else 23_000_000
    for split, share in (("train", 0.9), ("valid", 0.05), ("test", 0.05)):
        write_text(folder / f"{split}.txt", int(words * share))
    return str(folder)


def prepare_once(name: str, folder: str) -> Preparation:
    """In the process whose memory is looked at."""
    start = time.perf_counter()
    data = write_token_files(DataSettings(corpus=name), Path(folder))
    seconds = time.perf_counter() - start
    splits = data.info.splits.values()
    return Preparation(
        text=Path(name).name if name == "imdb" else "made-up text",
        text_bytes=sum(split.bytes for split in splits),
        tokens=sum(split.tokens for split in splits),
        seconds=seconds,
        peak=peak(),
    )


@cache
def preparations(quick: bool) -> list[Preparation]:
    """For both claims."""
    found = []
    with tempfile.TemporaryDirectory() as text:
        name = corpus(Path(text), quick)
        for _ in range(1 if quick else 3):
            with tempfile.TemporaryDirectory() as out:
                found.append(in_fresh_process(prepare_once, name, out))
    return found


def measure_speed(effort: Effort) -> Measurement:
    """Bytes of (decompressed) text a second."""
    found = preparations(effort.quick)
    rates = [each.text_bytes / each.seconds for each in found]
    rate, first = statistics.median(rates), found[0]
    size = first.text_bytes
    return Measurement(
        ratio=rate / GOAL_BYTES_PER_SECOND,
        spread=spread(rates),
        alternative=GOAL_BYTES_PER_SECOND / 1e6,
        ours=rate / 1e6,
        unit="MB/s",
        note=f"{first.text}: {first.tokens:,} tokens, {size / 1e6:.0f} MB in {size / rate:.1f} s",
    )


def measure_memory(effort: Effort) -> Measurement:
    """Peak of the whole process."""
    found = preparations(effort.quick)
    peaks = [float(each.peak) for each in found]
    return Measurement(
        ratio=GOAL_BYTES / statistics.median(peaks),
        spread=spread(peaks),
        alternative=GOAL_BYTES / 1e6,
        ours=statistics.median(peaks) / 1e6,
        unit="MB",
        note=f"{found[0].text}: {found[0].tokens:,} tokens",
    )


WHAT = "building vocabulary and ids of 23M words or more"
CLAIMS = (
    Claim("vocabulary", f"{WHAT}, against 10 MB of text a second", 1.0, measure_speed),
    Claim("vocabulary-memory", f"{WHAT}, peak memory of the process, against 1 GB", 1.0, measure_memory),
)
