"""The guard before the application: who may ask, how much, and how long an answer may take.

Plain ASGI, because every request passes here. The whole body is read before the application is called: it is small
(`MOST_BYTES`), and a client that sends it slowly then delays nobody else.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import json
import time
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any, TypeAlias

from wordtie.serve.observe import Metrics, log, place_of
from wordtie.serve.schemas import MOST_BYTES

Message: TypeAlias = MutableMapping[str, Any]
Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = [
    (b"content-security-policy", CONTENT_SECURITY_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
]
OPEN = {"/", "/health", "/ready", "/openapi.json"}
"""Paths that need no token, besides the files of the page: they reveal nothing about models or texts."""
FILES = "/page/"
SECONDS_FOR_BODY = 10.0
MOST_DISCARDED = 16 * MOST_BYTES
"""Maximum bytes that are read and discarded of a body that is too long."""
TOO_LONG = f"the body has more than {MOST_BYTES:,} bytes"
CLOSE = [(b"connection", b"close")]
LEFT = 499
"""The status of a request whose client has left, in logs and metrics."""
UNKNOWN = "unknown path"
BUG = "a bug in wordtie: please report it, with the line of the log"


class Guard:
    """Wraps an application."""

    def __init__(self, app: App, metrics: Metrics, token: str | None, loopback: bool, seconds: float) -> None:
        """Require the `token`, if given, of requests. Without one, on a `loopback` address, refuse requests that a web
        page of another host makes under its own name (DNS rebinding). `seconds`: time limit of an answer."""
        self.app = app
        self.metrics = metrics
        self.token = token
        self.loopback = loopback
        self.seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        exchange = Exchange(self.metrics, scope, send)
        try:
            body = await self._admit(exchange, receive)
            if body is not None:
                await self._answer(exchange, body, receive)
        except asyncio.CancelledError:
            exchange.status = exchange.status or LEFT
            raise
        finally:
            exchange.note()

    async def _admit(self, exchange: Exchange, receive: Receive) -> bytes | None:
        """Return the body; None if the request has been refused."""
        headers, path = exchange.headers, str(exchange.scope["path"])
        if self.token is None and self.loopback and not is_loopback(_host(headers.get(b"host", b""))):
            await exchange.refuse(403, "this server answers to localhost alone: start it with --host and a token")
            return None
        if self.token is not None and not (path in OPEN or path.startswith(FILES)):
            given = headers.get(b"authorization", b"")
            if not hmac.compare_digest(given, b"Bearer " + self.token.encode()):
                more = [(b"www-authenticate", b"Bearer")]
                await exchange.refuse(401, "send the server's token: Authorization: Bearer TOKEN", more)
                return None
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or int(length[:20]) > MOST_DISCARDED:
            await exchange.refuse(413, TOO_LONG, CLOSE)
            return None
        return await self._body(exchange, receive)

    async def _body(self, exchange: Exchange, receive: Receive) -> bytes | None:
        """Read the body; None if it is refused. One a little too long is read to its end, when clients read answers."""
        body, size, more = bytearray(), 0, True
        try:
            async with asyncio.timeout(SECONDS_FOR_BODY):
                while more and size <= MOST_DISCARDED:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        exchange.status = LEFT
                        return None
                    more = message.get("more_body", False)
                    size += len(message.get("body", b""))
                    body += message.get("body", b"") if size <= MOST_BYTES else b""
        except TimeoutError:
            await exchange.refuse(408, "the body did not arrive in time", CLOSE)
            return None
        if size > MOST_BYTES:
            await exchange.refuse(413, TOO_LONG, CLOSE)
            return None
        return bytes(body)

    async def _answer(self, exchange: Exchange, body: bytes, receive: Receive) -> None:
        """Call the application, for at most `seconds`, and no longer than the client waits."""
        given = False
        left = asyncio.ensure_future(receive())  # the next message: the client has left, or its answer is complete

        async def replay() -> Message:
            nonlocal given
            if given:
                return await asyncio.shield(left)
            given = True
            return {"type": "http.request", "body": body, "more_body": False}

        async def call() -> None:
            await self.app(exchange.scope, replay, exchange.send)

        answer = asyncio.ensure_future(call())
        try:
            async with asyncio.timeout(self.seconds):
                await asyncio.wait([answer, left], return_when=asyncio.FIRST_COMPLETED)
                if answer.done() or exchange.ended:
                    await answer
                else:
                    exchange.status = exchange.status or LEFT
        except TimeoutError:
            answer.cancel()
            await asyncio.wait([answer])
            await exchange.refuse(503, f"no answer within {self.seconds:g} seconds", [(b"retry-after", b"5")])
        except Exception as error:
            log("bug", 40, **place_of(error))
            await exchange.refuse(500, BUG)
        finally:  # whoever computes for it stops
            left.cancel()
            answer.cancel()


class Exchange:
    """A request and the answer to it."""

    def __init__(self, metrics: Metrics, scope: Scope, send: Send) -> None:
        self.metrics = metrics
        self.scope = scope
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        self.started = time.monotonic()
        self.status = 0
        self.ended = False
        self._send = send

    async def send(self, message: Message) -> None:
        """Pass a part of the answer on."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            own = {name.lower() for name, _ in message.get("headers", [])}
            message["headers"] = [*message.get("headers", []), *(pair for pair in HEADERS if pair[0] not in own)]
        elif message["type"] == "http.response.body":
            self.ended = not message.get("more_body", False)
        await self._send(message)

    async def refuse(self, status: int, detail: str, more: list[tuple[bytes, bytes]] | None = None) -> None:
        """Answer with an error. An answer that has begun is cut off: the connection closes before its end."""
        if self.status:
            self.status = status
            return
        body = json.dumps({"detail": detail}).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *(more or [])]
        with suppress(OSError):
            await self.send({"type": "http.response.start", "status": status, "headers": headers})
            await self.send({"type": "http.response.body", "body": body})

    def note(self) -> None:
        """Count and log the request."""
        route = self.scope.get("route")
        path = self.scope["path"]
        operation = getattr(route, "path", None) or (
            path if path in OPEN else FILES if path.startswith(FILES) else None
        )
        self.metrics.request(operation or UNKNOWN, _method(self.scope["method"]), self.status, self.started)


def _method(name: str) -> str:
    return name if name in ("GET", "POST", "HEAD", "OPTIONS", "PUT", "DELETE", "PATCH") else "other"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the host."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _host(header: bytes) -> str:
    """Return the host's name without the port."""
    name = header.decode("latin-1").lower()
    return name[1:].partition("]")[0] if name.startswith("[") else name.partition(":")[0]
