"""Ways to damage the files of a run folder so that every checksum still fits.

A JSON file has each of its values replaced, one at a time, by values of other types and ranges, or removed. A
safetensors file has the same done to its header, and to each tensor what may happen to one.
"""

from __future__ import annotations

import copy
import hashlib
import json
import pickle
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load, save
from torch import Tensor

RAW = {
    "@digits": "9" * 5000,
    "@NaN": "NaN",
    "@Infinity": "Infinity",
    "@huge": "1e999",
    "@deep": "[" * 5000 + "]" * 5000,
}
"""Texts that stand for what `json.dumps` would not write."""
VALUES: list[Any] = [None, True, -1, 0, 2.5, 10**9, "", "\ud800", [], {"x": 1}]
MORE: list[Any] = [2**70, "x", {}, [[]], *RAW]
"""For the first places alone: a file that is not parsed is refused wherever in it the reason is."""
REMOVED = object()
MOST_OF_A_LEVEL = 6
"""Values of one object or list that are replaced, so that a vocabulary does not outnumber the rest."""

Mutation = tuple[str, bytes]
"""What was done, and the file's content after it."""


def dumped(value: Any) -> bytes:
    text = json.dumps(value)
    for name, raw in RAW.items():
        text = text.replace(f'"{name}"', raw)
    return text.encode()


def places(value: Any) -> Iterator[tuple[str | int, ...]]:
    """Where the values inside are, those inside of them included."""
    inside = list(value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else [])
    for key, each in inside[:MOST_OF_A_LEVEL] + inside[MOST_OF_A_LEVEL:][-2:]:
        yield (key,)
        yield from ((key, *rest) for rest in places(each))


def changed(value: Any, place: tuple[str | int, ...], new: Any) -> Any:
    """A copy with something else in that place, or nothing for `REMOVED`."""
    whole = copy.deepcopy(value)
    container = whole
    for key in place[:-1]:
        container = container[key]
    if new is REMOVED:
        del container[place[-1]]
    else:
        container[place[-1]] = new
    return whole


def json_values(value: Any) -> Iterator[tuple[str, Any]]:
    """The value with one of the values inside replaced or removed; all of it replaced."""
    for new in VALUES + MORE:
        yield f"all = {new!r}", new
    for number, place in enumerate(places(value)):
        for new in VALUES + (MORE if number < 4 else []):
            yield f"{place} = {new!r}", changed(value, place, new)
        yield f"{place} removed", changed(value, place, REMOVED)


def json_file(content: bytes) -> Iterator[Mutation]:
    for name, value in json_values(json.loads(content)):
        yield name, dumped(value)
    first = next(iter(json.loads(content)))
    yield "a key twice", content.replace(b"{", b'{"%s": 1,' % first.encode(), 1)
    yield "UTF-16", content.decode().encode("utf-16")
    yield "with a byte-order mark", b"\xef\xbb\xbf" + content


def any_file(content: bytes) -> Iterator[Mutation]:
    yield "empty", b""
    yield "a pickle", pickle.dumps({"version": 2, "kind": "language_model"})
    yield "zeros", bytes(len(content))
    yield "more at the end", content + b"}"
    for part in range(1, 8):
        yield f"cut after {part} eighths", content[: len(content) * part // 8]
    for place in range(0, len(content), max(1, len(content) // 24)):
        yield f"byte {place}", content[:place] + bytes([content[place] ^ 0x55]) + content[place + 1 :]


def safetensors_header(content: bytes) -> Iterator[Mutation]:
    """Each value in the header, and the length before it."""
    (length,) = struct.unpack("<Q", content[:8])
    header, data = json.loads(content[8 : 8 + length]), content[8 + length :]
    name = sorted(header)[-1]
    for what, entry in json_values(header[name]):
        text = dumped({**header, name: entry})
        yield f"{name} {what}", struct.pack("<Q", len(text)) + text + data
    for dtype in ("BOOL", "I8", "F8_E5M2", "F4", "F16", "BF16", "I32", "F64", "U64", "C64"):
        text = dumped({**header, name: {**header[name], "dtype": dtype}})
        yield f"{name} {dtype}", struct.pack("<Q", len(text)) + text + data
    for wrong in (0, 1, length - 1, length + 1, len(content), 2**32, 2**63, 2**64 - 1):
        yield f"header of {wrong}", struct.pack("<Q", wrong) + content[8:]


def tensors(found: dict[str, Tensor]) -> Iterator[tuple[str, dict[str, Tensor]]]:
    """One tensor that is missing, of another size or type, or has a number that is none; one too many."""
    for name, tensor in found.items():
        others = {other: each for other, each in found.items() if other != name}
        yield f"{name} missing", others
        yield f"{name} renamed", {**others, f"{name}x": tensor}
        yield f"{name} of more dimensions", {**found, name: tensor[None].clone()}
        for dtype in (torch.float16, torch.float64, torch.int64, torch.bool):
            if dtype != tensor.dtype:
                yield f"{name} as {dtype}", {**found, name: tensor.to(dtype)}
        if tensor.ndim:
            yield f"{name} one short", {**found, name: tensor[:-1].clone()}
            yield f"{name} none", {**found, name: tensor[:0].clone()}
        for number in (torch.nan, torch.inf, -torch.inf) if tensor.is_floating_point() else ():
            spoilt = tensor.clone()
            spoilt.view(-1)[-1:].fill_(number)
            yield f"{name} with {number}", {**found, name: spoilt}
    yield "one too many", {**found, "extra": torch.ones(1)}


def safetensors_file(content: bytes) -> Iterator[Mutation]:
    yield from safetensors_header(content)
    for name, changed_tensors in tensors(load(content)):
        yield name, save(changed_tensors, {"format": "pt"})


def sealed(folder: Path) -> None:
    """Write the manifest anew, for the files as they are."""
    names = ("config.json", "model.safetensors", "tokenizer.json")
    digests = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}
    (folder / "manifest.json").write_text(json.dumps({"version": 2, "sha256": digests}))
