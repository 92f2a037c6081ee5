"""Run the application: address, token, signals, and connections of slow clients.

SIGTERM and Ctrl-C stop the server: it accepts no more connections, answers what it has been asked, and exits.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from wordtie.console import tell
from wordtie.errors import SettingsError, UsageError, require
from wordtie.inference.loading import LoadedModel, Part
from wordtie.serve.app import create_app
from wordtie.serve.batcher import Batcher
from wordtie.serve.guard import is_loopback
from wordtie.serve.observe import Metrics, log, log_to_stderr
from wordtie.serve.served import Models, names_of

SECONDS_FOR_HEADERS = 10.0
SECONDS_IDLE = 30
MOST_HEADER_BYTES = 64 << 10
"""Maximum bytes of an address and its headers, which are read before anything can refuse the request."""
HEADERS_TOO_LONG = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
SECONDS_TO_READ = 30.0
"""Time limit for a client that reads no more of an answer than its network buffers hold."""
SHORTEST_TOKEN = 16
MOST_CONNECTIONS = 2048
SWITCH = 0.0005
"""Seconds after which a thread that computes lets another run Python: a model's thread asks often, and for little."""


@dataclass(frozen=True)
class ServeSettings:
    """Settings of a server."""

    host: str = "127.0.0.1"
    port: int = 8000
    """Port; 0: any that is free."""
    token: str | None = None
    """Token that requests must carry. None: none is needed on a loopback address; elsewhere, one is generated."""
    batch: int = 64
    """Maximum number of requests that are computed together."""
    queue: int = 1024
    """Maximum number of requests that may wait for a model."""
    seconds: float = 30.0
    """Time limit of an answer, in seconds."""
    watched: tuple[str, ...] = ()
    """Folders of runs whose curves the page shows."""
    part: Part | None = None
    """Part of each model that is opened, as in `load`; None: all of it."""

    def __post_init__(self) -> None:
        require(0 <= self.port <= 65535, f"the port must be from 0 to 65535, got {self.port}")
        require(self.batch >= 1, f"a batch has at least one request, got {self.batch}")
        require(self.queue >= 1, f"the queue has room for at least one request, got {self.queue}")
        require(0 < self.seconds <= 3600, f"the seconds for an answer must be above 0, at most 3600: {self.seconds}")
        require(self.token is None or is_token(self.token),
                f"a token is {SHORTEST_TOKEN} or more letters, digits, - or _")  # fmt: skip


@dataclass(frozen=True)
class Prepared:
    """A listening server with its models open."""

    server: uvicorn.Server
    listening: socket.socket
    url: str
    """Address to open in a browser, with the token."""

    def run(self) -> None:
        """Answer until a signal comes, or `server.should_exit`."""
        self.server.run(sockets=[self.listening])


def serve(runs: Sequence[str], settings: ServeSettings) -> None:
    """Open the models and answer until a signal comes. Raises `RunFolderError`, `SettingsError`, `UsageError`."""
    prepared = prepare(runs, settings)
    log_to_stderr()
    tell(f"wordtie: open {prepared.url}")
    log("start", port=prepared.listening.getsockname()[1], models=list(names_of(runs)))
    sys.setswitchinterval(SWITCH)
    try:
        prepared.run()
    finally:  # uvicorn raises the signal again that has stopped it
        log("stop")


def prepare(runs: Sequence[str], settings: ServeSettings) -> Prepared:
    """Open the models and listen. Raises `RunFolderError`, `SettingsError`, `UsageError`."""
    loopback = is_loopback(settings.host)
    token = settings.token or (None if loopback else secrets.token_urlsafe(24))
    metrics = Metrics()

    def batcher(name: str, loaded: LoadedModel) -> Batcher:
        return Batcher(loaded.model, settings.batch, settings.queue, partial(observe, metrics, name))

    for place in settings.watched:
        require(Path(place).is_dir(), f"{place}: no such folder of runs")
    with ExitStack() as stack:  # the address first: opening models takes longer
        listening = stack.enter_context(listen(settings.host, settings.port))
        models = Models(runs, batcher, settings.part)
        stack.pop_all()
    app = create_app(models, metrics, settings.watched, token, loopback, settings.seconds)
    url = address(settings.host, listening.getsockname()[1]) + ("" if token is None else f"#token={token}")
    config = uvicorn.Config(
        app,
        http=PatientProtocol,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_keep_alive=SECONDS_IDLE,
        timeout_graceful_shutdown=int(settings.seconds) + 1,
        limit_concurrency=MOST_CONNECTIONS,
    )
    return Prepared(uvicorn.Server(config), listening, url)


def observe(metrics: Metrics, name: str, kind: str, size: int) -> None:
    """Count a batch."""
    metrics.batch.labels(name, kind).observe(size)


def listen(host: str, port: int) -> socket.socket:
    """Open a socket at this address. Raises `UsageError` if that fails."""
    with ExitStack() as stack:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
            family, _, _, _, where = found[0]
            listening = stack.enter_context(socket.socket(family, socket.SOCK_STREAM))
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(where)
            listening.listen()  # now, so that a second server is refused before it loads its models
        except (OSError, UnicodeError) as error:  # a name like `a..b` cannot be encoded
            reason = f"cannot listen at {host}, port {port} ({getattr(error, 'strerror', None) or error})"
            raise UsageError(f"{reason}: choose another --host or --port") from error
        stack.pop_all()
    return listening


def is_token(text: str) -> bool:
    """Whether the text can be sent in a header and in a link, and is not easily guessed."""
    return len(text) >= SHORTEST_TOKEN and text.isascii() and all(c.isalnum() or c in "-_" for c in text)


def read_token(path: str | None) -> str | None:
    """Read the first line of the file; for None, WORDTIE_TOKEN. Raises `SettingsError`."""
    if path is None:
        return os.environ.get("WORDTIE_TOKEN") or None
    try:
        return Path(path).read_text(encoding="utf-8").strip().partition("\n")[0].strip()
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path}: no token can be read from it ({error})") from error


def address(host: str, port: int) -> str:
    """Return the address to open in a browser."""
    shown = "localhost" if host in ("0.0.0.0", "::", "") else f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}/"


class PatientProtocol(HttpToolsProtocol):
    """Closes connections of clients that send no request or read no answer in time. uvicorn waits for ever."""

    waiting: asyncio.TimerHandle | None = None
    """Timer of the wait for headers."""
    unread: asyncio.TimerHandle | None = None
    unparsed = 0
    """Bytes that came since the parser last passed something on: it collects those of headers without a limit."""
    asked: Sequence[RequestResponseCycle] = ()
    """Requests that are being answered or wait for it."""

    def connection_made(self, transport: Any) -> None:
        """Start the timer for headers."""
        super().connection_made(transport)
        self._look()

    def data_received(self, data: bytes) -> None:
        """Stop the timer for headers once they are complete; close the connection if they are too long."""
        self.unparsed += len(data)
        super().data_received(data)
        if self.unparsed > MOST_HEADER_BYTES and not self.transport.is_closing():
            if not self._is_asked:
                self.transport.write(HEADERS_TOO_LONG)
            self.transport.close()
        self._look()

    def on_headers_complete(self) -> None:
        """Note another request; a client may send several before it reads."""
        super().on_headers_complete()
        self.unparsed = 0
        known = (*self.asked, self.cycle)  # none, where the connection asks for another protocol at once
        self.asked = [each for each in known if each is not None and not each.response_complete]

    def on_body(self, body: bytes) -> None:
        """Note that the parser has passed on what it had."""
        super().on_body(body)
        self.unparsed = 0

    def on_message_complete(self) -> None:
        """Note that the parser has passed on what it had."""
        super().on_message_complete()
        self.unparsed = 0

    def pause_writing(self) -> None:
        """Start a timer, since the client's buffer is full. It aborts the connection: closing it would wait, too."""
        super().pause_writing()
        self.unread = self.loop.call_later(SECONDS_TO_READ, self.transport.abort)

    def resume_writing(self) -> None:
        """Stop the timer, since the client has read some."""
        super().resume_writing()
        if self.unread is not None:
            self.unread.cancel()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers, and mark the requests that are left as disconnected."""
        for timer in (self.waiting, self.unread):
            if timer is not None:
                timer.cancel()
        for each in self.asked:  # uvicorn tells only the last one, and the others would write to what is closed
            each.disconnected = True
        self.pipeline.clear()
        super().connection_lost(exc)

    @property
    def _is_asked(self) -> bool:
        """Whether a request is being answered."""
        return self.cycle is not None and not self.cycle.response_complete

    def _look(self) -> None:
        if self._is_asked and self.waiting is not None:
            self.waiting.cancel()
            self.waiting = None
        elif not self._is_asked and self.waiting is None:
            self.waiting = self.loop.call_later(SECONDS_FOR_HEADERS, self.transport.close)
