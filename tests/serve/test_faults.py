"""Clients that are slow or many, a server that is restarted under load: every answer is whole, and the right one."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import wordtie
from tests.serve.client import Running, running, wait_until, wait_until_ready
from tests.serve.conftest import Runs
from tests.serve.test_batcher import Held
from wordtie.inference.loading import LoadedModel
from wordtie.serve import guard, served, server
from wordtie.serve.observe import Metrics
from wordtie.serve.server import ServeSettings

WORDS = ["the", "cat", "sat", "on", "mat", "dog", "zebra"]


def texts(count: int) -> list[str]:
    generator = random.Random(count)
    return [" ".join(generator.choices(WORDS, k=generator.randint(1, 12))) for _ in range(count)]


def test_many_clients_at_once(server: Running, runs: Runs) -> None:
    """64 clients: no error, and what each gets is what the library says."""
    model = wordtie.load(runs.tied)
    asked = texts(320)
    bits = [sum(record.surprisal_bits for record in model.surprisal(text)) for text in asked]
    likeliest = [model.predict(text, 1)[0][0] for text in asked]

    def client(number: int) -> None:
        connection = server.connect()
        for at in range(number, len(asked), 64):
            for path, values in (("/surprisal", {}), ("/predict", {"top": 1})):
                body = json.dumps({"text": asked[at], "model": "tied", **values}).encode()
                connection.request("POST", path, body, {"Content-Type": "application/json"})
                response = connection.getresponse()
                answer = json.loads(response.read())
                assert response.status == 200, answer
                if path == "/surprisal":
                    assert sum(row["surprisal_bits"] for row in answer["words"]) == pytest.approx(bits[at], rel=1e-5)
                else:
                    assert answer["words"][0]["word"] == likeliest[at]
        connection.close()

    with ThreadPoolExecutor(64) as pool:
        list(pool.map(client, range(64)))


def test_a_full_queue_says_when_to_come_back(runs: Runs) -> None:
    with running([runs.tied], ServeSettings(queue=1, batch=1)) as server, ThreadPoolExecutor(32) as pool:
        answers = list(pool.map(lambda text: server.post("/surprisal", text=text), texts(96)))
    assert {answer.status for answer in answers} == {200, 503}
    refused = [answer for answer in answers if answer.status == 503]
    assert all(int(answer.headers["retry-after"]) >= 1 and "waiting" in answer.json["detail"] for answer in refused)


def test_an_answer_has_so_much_time(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a model that computes no more: what waits is told so, and a text that is cut off does not pass for whole."""
    opened: list[Held] = []

    def load(run: str, part: None, copied: bool) -> LoadedModel:
        loaded = wordtie.load(run)
        opened.append(Held(loaded))
        return replace(loaded, model=opened[0])

    monkeypatch.setattr(served, "load", load)
    with running([runs.ngram], ServeSettings(seconds=0.5)) as server:
        (held,) = opened
        answer = server.post("/predict", text="the cat")
        assert (answer.status, answer.json["detail"]) == (503, "no answer within 0.5 seconds")
        assert int(answer.headers["retry-after"]) >= 1
        held.go.set()
        assert server.post("/predict", text="the cat").status == 200
        held.free = held.asked + 3
        held.go.clear()
        with pytest.raises(http.client.IncompleteRead):
            server.post("/generate", prompt="the", words=1000)
        held.go.set()
        assert server.post("/predict", text="the cat").status == 200


def read_all(connection: socket.socket) -> bytes:
    connection.settimeout(20)
    found = b""
    while part := connection.recv(65_536):
        found += part
    return found


def test_slow_clients_are_let_go(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of headers that never end, of a body that does not come, and after an answer; others are served meanwhile."""
    monkeypatch.setattr(server, "SECONDS_FOR_HEADERS", 0.5)
    monkeypatch.setattr(guard, "SECONDS_FOR_BODY", 0.5)
    with running([runs.ngram]) as found:
        slow = [socket.create_connection((found.host, found.port)) for _ in range(40)]
        for number, each in enumerate(slow):
            if number % 2:
                each.sendall(b"POST /surprisal HTTP/1.1\r\nHost: localhost\r\nX-A: ")
            else:
                each.sendall(b"POST /surprisal HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50\r\n\r\n{")
        assert found.post("/surprisal", text="the cat").status == 200
        ends = [read_all(each) for each in slow]
        assert all(end == b"" for end in ends[1::2])
        assert all(end.startswith(b"HTTP/1.1 408") for end in ends[::2])
        again = socket.create_connection((found.host, found.port))
        again.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        wait_until(lambda: b"alive" in again.recv(65_536))
        again.sendall(b"GET /health HTTP/1.1\r\nHost")
        assert read_all(again) == b""
        for each in (*slow, again):
            each.close()


CHUNKED = b"POST /surprisal HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n0\r\nX-A: "


@pytest.mark.parametrize(
    ("begin", "answer"),
    [(b"GET /", b"HTTP/1.1 431"), (b"GET / HTTP/1.1\r\nX-A: ", b"HTTP/1.1 431"), (CHUNKED, b"HTTP/1.1 401")],
    ids=["address", "headers", "headers after the body"],
)
def test_headers_that_do_not_end_are_refused_before_they_fill_the_memory(
    begin: bytes, answer: bytes, runs: Runs
) -> None:
    """The server waits 10 seconds for them, in which a fast client sends gigabytes."""
    most = server.MOST_HEADER_BYTES
    with (
        running([runs.ngram], ServeSettings(token="a-token-of-some-length")) as found,
        socket.create_connection((found.host, found.port)) as client,
    ):
        for part in (begin, b"a" * (most - len(begin)), b"a" * (len(begin) + 1)):
            client.sendall(part)
            time.sleep(0.2)  # so that they are not read at once
        started = time.monotonic()
        assert read_all(client).startswith(answer)
        assert time.monotonic() - started < server.SECONDS_FOR_HEADERS / 2


def test_several_requests_of_one_connection_may_be_longer_than_the_headers_of_one(server: Running) -> None:
    asked = b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-A: " + b"a" * 50_000
    with socket.create_connection((server.host, server.port)) as client:
        client.sendall((asked + b"\r\n\r\n") * 4 + asked + b"\r\nConnection: close\r\n\r\n")
        assert read_all(client).count(b"HTTP/1.1 200") == 5


def test_a_client_that_reads_no_answer_is_let_go(
    runs: Runs, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Its answers are larger than what the system holds for it; one that reads on, slowly, gets them whole."""
    monkeypatch.setattr(server, "SECONDS_TO_READ", 0.5)
    body = json.dumps({"text": "the cat " * 2500}).encode()
    asked = b"POST /surprisal HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    asked += b"Connection: %b\r\n" + b"Content-Length: %d\r\n\r\n" % len(body) + body
    several = asked % b"keep-alive" * 15 + asked % b"close"
    with running([runs.ngram]) as found, socket.socket() as still:
        still.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        still.connect((found.host, found.port))
        still.sendall(several)
        with socket.create_connection((found.host, found.port)) as slow:
            slow.sendall(several)
            whole = 0
            for _ in range(10):
                time.sleep(0.1)
                whole += len(slow.recv(65_536))
            whole += len(read_all(slow))
        assert found.post("/surprisal", text="the cat").status == 200
        assert 0 < len(read_all(still)) < whole
    assert whole > 16 * 2500 * 2 * len('{"word":"the"}')
    assert not [vars(record)["values"] for record in caplog.records if record.message == "bug"]


def test_a_client_that_leaves(server: Running) -> None:
    """In the middle of a text that is being written: nothing is left of it, and others are served."""
    body = json.dumps({"words": 1000, "model": "tied"}).encode()
    for _ in range(5):
        connection = socket.create_connection((server.host, server.port))
        head = f"Host: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
        connection.sendall(f"POST /generate HTTP/1.1\r\n{head}\r\n\r\n".encode() + body)
        assert connection.recv(1000)
        connection.close()
    assert server.post("/surprisal", text="the cat", model="tied").status == 200


def test_nothing_is_computed_for_a_client_that_has_left() -> None:
    """Before its answer has begun, of a request without a stream, too."""
    cancelled: list[bool] = []

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    async def leave() -> float:
        sent: list[Any] = []
        before = guard.Guard(slow, Metrics(), None, loopback=True, seconds=30)
        messages = iter([{"type": "http.request", "body": b"{}", "more_body": False}, {"type": "http.disconnect"}])

        async def receive() -> Any:
            await asyncio.sleep(0.01)
            return next(messages)

        async def send(message: Any) -> None:
            sent.append(message)

        headers = [(b"host", b"localhost"), (b"content-length", b"2"), (b"content-type", b"application/json")]
        scope = {"type": "http", "method": "POST", "path": "/surprisal", "headers": headers}
        started = time.monotonic()
        await before(scope, receive, send)
        await asyncio.sleep(0)
        assert sent == []
        return time.monotonic() - started

    assert asyncio.run(leave()) < 10
    assert cancelled == [True]


def start(runs: Runs, port: int) -> subprocess.Popen[bytes]:
    source = Path(wordtie.__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"}
    environment.pop("WORDTIE_TOKEN", None)
    command = [sys.executable, "-m", "wordtie", "serve", str(runs.tied), "--port", str(port)]
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE)


def test_a_restart_under_load(runs: Runs) -> None:
    """SIGTERM ends it after it has answered. Clients see whole answers or none, and try again."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    found = Running("", port)
    first = start(runs, port)
    wait_until_ready(found)
    bits = sum(record.surprisal_bits for record in wordtie.load(runs.tied).surprisal("the cat sat"))
    done, counts = threading.Event(), [0] * 8
    wrong: list[object] = []

    def client(number: int) -> None:
        while not done.is_set():
            try:
                answer = found.post("/surprisal", text="the cat sat")
                total = sum(row["surprisal_bits"] for row in answer.json["words"]) if answer.status == 200 else bits
                if answer.status not in (200, 503) or total != pytest.approx(bits, rel=1e-5):
                    wrong.append(answer)
                counts[number] += answer.status == 200
            except (ConnectionError, http.client.RemoteDisconnected):
                time.sleep(0.05)
            except (http.client.HTTPException, ValueError) as error:
                wrong.append(error)

    threads = [threading.Thread(target=client, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    wait_until(lambda: min(counts) > 3)
    first.send_signal(signal.SIGTERM)
    assert first.wait(30) == 143
    before = list(counts)
    second = start(runs, port)
    wait_until(lambda: all(now > then + 3 for now, then in zip(counts, before, strict=True)))
    done.set()
    for thread in threads:
        thread.join()
    second.send_signal(signal.SIGTERM)
    for process in (first, second):
        assert process.stderr is not None
        with process.stderr as stream:
            log = stream.read().decode()
        assert process.wait(30) == 143
        assert log.startswith(f"wordtie: open http://127.0.0.1:{port}/\n")
        events = [json.loads(line)["event"] for line in log.splitlines()[1:] if line.startswith("{")]
        assert (events[0], events[-1]) == ("start", "stop")
        assert "Traceback" not in log
    assert wrong == []


def test_a_full_queue_refuses_to_write(runs: Runs) -> None:
    with running([runs.tied], ServeSettings(queue=1, batch=1)) as server, ThreadPoolExecutor(32) as pool:
        answers = list(
            pool.map(lambda seed: server.post("/generate", prompt="the cat", words=50, seed=seed), range(96))
        )
    assert {answer.status for answer in answers} == {200, 503}
    assert all(int(answer.headers["retry-after"]) >= 1 for answer in answers if answer.status == 503)
