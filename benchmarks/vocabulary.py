"""Building the vocabulary and the ids of 23M words: IMDb's reviews where they are at hand, else made-up text.

The goals are absolute, so the alternative of each row is its own goal: 10 MB of text a second, 1 GB of memory for the
whole process, PyTorch's libraries included.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from benchmarks.harness import Claim, Effort, Measurement
from benchmarks.memory import in_fresh_process, peak
from benchmarks.steps import zipf_ids
from wordtie.config import DataSettings
from wordtie.errors import DataError
from wordtie.text.catalogue import locate
from wordtie.text.token_file import prepare

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
    data = prepare(DataSettings(corpus=name), Path(folder))
    seconds = time.perf_counter() - start
    splits = data.info["splits"].values()
    return Preparation(
        text=Path(name).name if name == "imdb" else "made-up text",
        text_bytes=sum(split["bytes"] for split in splits),
        tokens=sum(split["tokens"] for split in splits),
        seconds=seconds,
        peak=peak(),
    )


@cache
def preparation(quick: bool) -> Preparation:
    """Once for both claims."""
    with tempfile.TemporaryDirectory() as text, tempfile.TemporaryDirectory() as out:
        return in_fresh_process(prepare_once, corpus(Path(text), quick), out)


def measure_speed(effort: Effort) -> Measurement:
    """Bytes of (decompressed) text a second."""
    found = preparation(effort.quick)
    rate = found.text_bytes / found.seconds
    return Measurement(
        ratio=rate / GOAL_BYTES_PER_SECOND,
        spread=0.0,
        alternative=GOAL_BYTES_PER_SECOND / 1e6,
        ours=rate / 1e6,
        unit="MB/s",
        note=f"{found.text}: {found.tokens:,} tokens, {found.text_bytes / 1e6:.0f} MB in {found.seconds:.1f} s",
    )


def measure_memory(effort: Effort) -> Measurement:
    """Peak of the whole process."""
    found = preparation(effort.quick)
    return Measurement(
        ratio=GOAL_BYTES / found.peak,
        spread=0.0,
        alternative=GOAL_BYTES / 1e6,
        ours=found.peak / 1e6,
        unit="MB",
        note=f"{found.text}: {found.tokens:,} tokens",
    )


CLAIMS = (
    Claim("vocabulary", "building vocabulary and ids of 23M words, against 10 MB of text a second", 1.0, measure_speed),
    Claim("vocabulary-memory", "the same, peak memory of the process against 1 GB", 1.0, measure_memory),
)
