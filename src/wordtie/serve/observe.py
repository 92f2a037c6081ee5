"""Logs and metrics of a server. No word of a user's text is in either.

A log line is a JSON object on stderr. A request is identified by its route, not by its path, which a client chooses; an
unexpected error by its type and its place in the code, not by its message, which may quote the text.
"""

from __future__ import annotations

import json
import logging
import sys
import time
import traceback
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

LOGGER = logging.getLogger("wordtie.serve")


class JsonLines(logging.Formatter):
    """One JSON object per line: time, level, event, and further values."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        values = {"time": _utc(record.created), "level": record.levelname.lower()}
        values |= {"event": record.getMessage(), **getattr(record, "values", {})}
        if record.exc_info and record.exc_info[1] is not None:
            values |= place_of(record.exc_info[1])
        return json.dumps(values, ensure_ascii=False)


def log_to_stderr() -> None:
    """Send the log lines of this server and of uvicorn to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name in ("wordtie.serve", "uvicorn.error", "asyncio"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.INFO if name == "wordtie.serve" else logging.WARNING)


def log(event: str, level: int = logging.INFO, **values: object) -> None:
    """Write a log line."""
    LOGGER.log(level, event, extra={"values": values})


def place_of(error: BaseException) -> dict[str, str]:
    """Return the type of an error, and where it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f"{frames[-1].filename.rpartition('site-packages/')[2]}:{frames[-1].lineno}" if frames else ""
    return {"error": type(error).__name__, "where": where}


class Metrics:
    """Counters in the format of Prometheus; one object per server."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "wordtie_requests", "Requests answered.", ["operation", "status"], registry=self.registry
        )
        self.seconds = Histogram(
            "wordtie_request_seconds",
            "From the first byte of a request to the last of its answer.",
            ["operation"],
            registry=self.registry,
            buckets=(0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30),
        )
        self.batch = Histogram(
            "wordtie_batch_size",
            "Texts or contexts computed together.",
            ["model", "kind"],
            registry=self.registry,
            buckets=(1, 2, 4, 8, 16, 32, 64, 128, 256),
        )
        self.waiting = Gauge("wordtie_waiting", "Requests in the queue.", ["model"], registry=self.registry)
        self.replaced = Counter("wordtie_models_replaced", "Models opened again.", ["model"], registry=self.registry)

    def text(self) -> bytes:
        """Return all metrics, in the text format of Prometheus."""
        return generate_latest(self.registry)

    def request(self, operation: str, method: str, status: int, started: float, **values: Any) -> None:
        """Count and log an answer."""
        seconds = time.monotonic() - started
        self.requests.labels(operation, str(status)).inc()
        self.seconds.labels(operation).observe(seconds)
        level = logging.WARNING if status >= 500 else logging.INFO
        log("request", level, operation=operation, method=method, status=status, ms=round(1e3 * seconds, 2), **values)


def _utc(seconds: float) -> str:
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    return f"{whole}.{int(seconds % 1 * 1000):03}Z"
