"""What an entry replaced: earlier results of its row, seed and text, from other weights.

Whoever trains a row again has seen how the first training came out, its test perplexity included. So an entry keeps the
numbers that it replaced, and the tables show them beside its own.
"""

from __future__ import annotations

import hashlib
from typing import Any

from wordtie.reproduction.ledger.record import EARLIER, Entry, stages_of

KEPT = ("valid_perplexity", "test_perplexity", "weights_sha256", "code_version")


def with_earlier(entry: Entry, before: Entry, content: bytes) -> Entry:
    """The entry with what `before`, the entry in its place with this file content, has of it.

    A result of another text is not comparable and is dropped.
    """
    kept = {name: value for name, value in entry.items() if name != EARLIER}
    if before.get("data") != entry.get("data"):
        return kept
    earlier = list(before.get(EARLIER, []))
    if before["weights_sha256"] != entry["weights_sha256"]:
        earlier.append(numbers(before, content))
    return {**kept, EARLIER: earlier} if earlier else kept


def numbers(entry: Entry, content: bytes) -> dict[str, Any]:
    """What is kept of a result that is replaced; `blob` is the name that git has for its file."""
    epochs = [stage["epochs"] for stage in stages_of(entry)]
    return {**{name: entry[name] for name in KEPT}, "epochs": epochs, "blob": git_blob(content)}


def git_blob(content: bytes) -> str:
    """The object name of a file with this content, in a repository with SHA-1."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
