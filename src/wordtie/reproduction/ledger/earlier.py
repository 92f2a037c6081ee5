"""What an entry replaced: earlier results of its row, seed and text, from other weights.

Whoever trains a row again has seen how the first training came out, its test perplexity included. So an entry keeps the
numbers that it replaced, and the tables show them beside its own.
"""

from __future__ import annotations

import hashlib

from wordtie.reproduction.ledger.record import EARLIER, EarlierResult, Entry, stages_of


def with_earlier(entry: Entry, before: Entry, content: bytes) -> Entry:
    """Return the entry with the earlier results of `before`, the entry that it replaces, and with that result itself.

    `content` is the file content of `before`. A result of another text is not comparable and is dropped.
    """
    kept = entry.copy()
    kept.pop(EARLIER, None)
    if before.get("data") != entry.get("data"):
        return kept
    earlier = [*before.get(EARLIER, [])]
    if before["weights_sha256"] != entry["weights_sha256"]:
        earlier.append(numbers(before, content))
    if earlier:
        kept[EARLIER] = earlier
    return kept


def numbers(entry: Entry, content: bytes) -> EarlierResult:
    """Return the numbers to keep of a replaced result; `blob` is the Git object name of its file."""
    return {
        "valid_perplexity": entry["valid_perplexity"],
        "test_perplexity": entry["test_perplexity"],
        "weights_sha256": entry["weights_sha256"],
        "code_version": entry["code_version"],
        "epochs": [stage["epochs"] for stage in stages_of(entry)],
        "blob": git_blob(content),
    }


def git_blob(content: bytes) -> str:
    """Return the Git object name of a file with this content, in a SHA-1 repository."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
