"""`wordtie serve` under load: 64 clients, `en`, and the same server without batching beside it in the same rounds.

Each client keeps one connection and asks again as soon as it has its answer: half the time for the surprisal of a
sentence of 5 to 15 words, half the time for the ten likeliest next words after one. Both servers are processes of
their own; the clients are one process of asyncio, on the same cores. Every answer is compared with the library's,
computed offline before; one that differs, or an error, ends the measurement. In each round the alternative is given a
quarter of the requests.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import random
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import torch

import wordtie
from benchmarks.harness import Claim, Effort, Measurement, ratios, spread

CLIENTS = 64
REQUESTS = 10_000
"""Of the server with batching, in all rounds."""
SENTENCES = 400
GOAL = 4.0
TOLERANCE = 1e-3
"""Of bits and probabilities, relative: sums in another order."""


@dataclass(frozen=True)
class Question:
    """A request and what the library answers: bits of all words, or the likeliest word and its probability."""

    request: bytes
    word: str
    value: float

    def check(self, answer: bytes) -> None:
        """Raise `AssertionError` for any other answer."""
        words = json.loads(answer)["words"]
        if self.word:
            likely = {row["word"]: row["probability"] for row in words}
            assert math.isclose(likely[self.word], self.value, rel_tol=TOLERANCE), (self, words)
        else:
            bits = sum(row["surprisal_bits"] for row in words)
            assert math.isclose(bits, self.value, rel_tol=TOLERANCE), (self, words)


@dataclass
class Load:
    """What a round found."""

    seconds: float = 0.0
    cpu_seconds: float = 0.0
    """Of the server's process."""
    latencies: list[float] = field(default_factory=list)
    answers: list[tuple[Question, bytes]] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """Requests a second."""
        return len(self.latencies) / self.seconds


def questions() -> list[Question]:
    """About sentences of frequent words, no two alike."""
    model = wordtie.load("en")
    generator = random.Random(1)
    known = [word for word in model.tokenizer.vocabulary.words[:5000] if word.isalpha()]
    found = []
    for _ in range(SENTENCES):
        text = " ".join(generator.choices(known, k=generator.randint(5, 15)))
        bits = sum(record.surprisal_bits for record in model.surprisal(text))
        found.append(Question(_request("/surprisal", text), "", bits))
        found.append(Question(_request("/predict", text), *model.predict(text, 1)[0]))
    return found


def _request(path: str, text: str) -> bytes:
    body = json.dumps({"text": text}).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    return head.encode() + b"\r\n\r\n" + body


@dataclass(frozen=True)
class Server:
    """A process that answers."""

    port: int
    process: subprocess.Popen[bytes]

    def cpu_seconds(self) -> float:
        """That it has used, in all its threads."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def server(batch: int) -> Iterator[Server]:
    """A server that computes so many requests together."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "wordtie", "serve", "en", "--port", str(port), "--batch", str(batch)]
    environment = {**os.environ, "OMP_NUM_THREADS": str(torch.get_num_threads())}  # as if so many cores were there
    process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 120
        while not _answers(port):
            assert process.poll() is None, "the server has ended"
            assert time.monotonic() < deadline, "the server does not get ready"
            time.sleep(0.1)
        yield Server(port, process)
    finally:
        process.terminate()
        process.wait(60)


def _answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port)):
            return True
    except OSError:
        return False


async def _client(port: int, asked: Iterator[Question], found: Load) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for question in asked:
        begun = time.perf_counter()
        writer.write(question.request)
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        status, length = head.split(" ", 2)[1], int(head.split("content-length: ")[1].split("\r\n")[0])
        body = await reader.readexactly(length)
        found.latencies.append(time.perf_counter() - begun)
        assert status == "200", (status, body)
        found.answers.append((question, body))
    writer.close()
    await writer.wait_closed()


def load(asking: Server, asked: Sequence[Question]) -> Load:
    """All questions, by all clients."""
    found, shared = Load(), iter(asked)

    async def all_clients() -> None:
        await asyncio.gather(*(_client(asking.port, shared, found) for _ in range(CLIENTS)))

    begun, cpu_begun = time.perf_counter(), asking.cpu_seconds()
    asyncio.run(all_clients())
    found.seconds, found.cpu_seconds = time.perf_counter() - begun, asking.cpu_seconds() - cpu_begun
    for question, answer in found.answers:
        question.check(answer)
    return found


def measure(effort: Effort) -> Measurement:
    """Rounds of both servers in turn."""
    rounds = 2 if effort.quick else 20
    count = 256 if effort.quick else REQUESTS // rounds
    pool, generator = questions(), random.Random(2)
    ours, alternative = [], []
    with server(CLIENTS) as batching, server(1) as single:
        for each in (batching, single):
            load(each, generator.choices(pool, k=CLIENTS))  # the first requests meet cold code
        for _ in range(rounds):
            alternative.append(load(single, generator.choices(pool, k=count // 4)))
            ours.append(load(batching, generator.choices(pool, k=count)))
    rates = [each.rate for each in ours]
    others = [each.rate for each in alternative]
    found = ratios(rates, others)
    p50, p99 = _percentiles(ours)
    other_p50, other_p99 = _percentiles(alternative)
    cpu, other_cpu = _cpu_ms(ours), _cpu_ms(alternative)
    return Measurement(
        ratio=statistics.median(found),
        spread=spread(found),
        alternative=statistics.median(others),
        ours=statistics.median(rates),
        unit="requests/s",
        note=f"p50 {p50:,.0f} ms, p99 {p99:,.0f} ms; without batching {other_p50:,.0f} and {other_p99:,.0f} ms; "
        f"processor time of a request {cpu:.1f} ms against {other_cpu:.1f} ms ({other_cpu / cpu:.1f}×)",
        details={"requests": sum(len(each.latencies) for each in ours), "clients": CLIENTS, "p50_ms": p50,
                 "p99_ms": p99, "alternative_p50_ms": other_p50, "alternative_p99_ms": other_p99,
                 "cpu_ms": cpu, "alternative_cpu_ms": other_cpu},
    )  # fmt: skip


def _cpu_ms(loads: Sequence[Load]) -> float:
    """Milliseconds of the server's processor time for a request: what a busy machine changes least."""
    return 1e3 * sum(each.cpu_seconds for each in loads) / sum(len(each.latencies) for each in loads)


def _percentiles(loads: Sequence[Load]) -> tuple[float, float]:
    """Of the milliseconds until an answer."""
    cuts = statistics.quantiles([1e3 * each for found in loads for each in found.latencies], n=100)
    return cuts[49], cuts[98]


CLAIMS = (
    Claim(
        "serving",
        f"`wordtie serve en`: requests a second of {CLIENTS} clients, against the same server without batching",
        GOAL,
        measure,
    ),
)
