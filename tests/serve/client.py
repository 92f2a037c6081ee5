"""A server in a thread of the tests' own process, and a client that sends what it is told to."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from wordtie.serve.server import ServeSettings, prepare


@dataclass(frozen=True)
class Answer:
    """Of the server."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Running:
    """Where a server answers."""

    url: str
    port: int
    host: str = "127.0.0.1"

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self.host, self.port, timeout=30)

    def post(self, path: str, **values: Any) -> Answer:
        return self.ask("POST", path, json.dumps(values).encode(), {"Content-Type": "application/json"})

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, None, headers)

    def ask(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Answer:
        connection = self.connect()
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, found, response.read())
        finally:
            connection.close()


@contextmanager
def running(runs: Sequence[str | Path], settings: ServeSettings | None = None) -> Iterator[Running]:
    """A server at a free port, for as long as it is needed."""
    prepared = prepare([str(run) for run in runs], replace(settings or ServeSettings(), port=0))
    thread = threading.Thread(target=prepared.run)
    thread.start()
    server = Running(prepared.url, prepared.listening.getsockname()[1])
    try:
        wait_until_ready(server)
        yield server
    finally:
        prepared.server.should_exit = True
        thread.join(20)
        prepared.listening.close()
        assert not thread.is_alive()


def wait_until_ready(server: Running) -> None:
    def is_ready() -> bool:
        try:
            return server.get("/ready").status == 200
        except OSError:
            return False

    wait_until(is_ready)


def wait_until(done: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.02)
