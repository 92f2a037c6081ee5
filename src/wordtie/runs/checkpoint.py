"""Checkpoints: everything a run needs to resume, in one file that is either complete or not there.

A checkpoint is a safetensors file: tensors by name, and in its header a JSON record and the SHA-256 of both.
It is written beside its place, flushed to disk and renamed. Nothing is ever unpickled.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from wordtie.errors import RunFolderError
from wordtie.storage.atomic import apply_umask, atomic_write
from wordtie.storage.opening import regular_file
from wordtie.storage.strict_json import conform, parse

VERSION = 1
HINT = "restore it from a copy, or train again"
UNREADABLE = (OSError, SafetensorError, ValueError, KeyError, TypeError, RuntimeError, OverflowError)
"""Exceptions that safetensors raises for a file, and torch for types and sizes that safetensors leaves to it."""


def tensors_sha256(tensors: dict[str, Tensor]) -> str:
    """Compute the SHA-256 over names, shapes, types and bytes, in the order of the names."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name].detach().cpu().contiguous()
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}\n".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().tobytes() if tensor.numel() else b"")
    return digest.hexdigest()


def save(path: Path, tensors: dict[str, Tensor], record: dict[str, Any]) -> None:
    """Write a checkpoint. Raises `SaveError`, and then leaves the earlier file as it was."""
    text = json.dumps(record)
    metadata = {
        "version": str(VERSION),
        "record": text,
        "record_sha256": _text_sha256(text),
        "sha256": tensors_sha256(tensors),
    }
    with atomic_write(path) as new:
        save_tensors(tensors, new, metadata)


def save_tensors(tensors: dict[str, Tensor], path: Path, metadata: dict[str, str]) -> None:
    """Write a safetensors file. Raises `OSError`, also where safetensors raises its own error, as for a full disk."""
    whole = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    try:
        save_file(whole, path, metadata=metadata)
        apply_umask(path)
    except SafetensorError as error:
        raise OSError(str(error)) from error


def load(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read tensors and record. Raises `RunFolderError` for a file that is missing, damaged or from a newer version."""
    try:
        os.close(regular_file(str(path), os.O_RDONLY))  # safetensors would wait for a named pipe to be written
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            # a copy: where in the file a tensor lies decides how products with it round
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
    except UNREADABLE as error:
        raise RunFolderError(f"{path}: missing or damaged ({error}): {HINT}") from error
    found = _record(path, metadata)
    if metadata.get("sha256") != tensors_sha256(tensors):
        raise RunFolderError(f"{path}: damaged, its content is not what was saved: {HINT}")
    return tensors, found


def record(path: Path) -> dict[str, Any]:
    """Read the record alone, without the tensors. Raises `RunFolderError` as `load` does."""
    try:
        os.close(regular_file(str(path), os.O_RDONLY))  # safetensors would wait for a named pipe to be written
        with safe_open(path, framework="pt") as file:
            return _record(path, file.metadata() or {})
    except UNREADABLE as error:
        raise RunFolderError(f"{path}: missing or damaged ({error}): {HINT}") from error


def _record(path: Path, metadata: dict[str, str]) -> dict[str, Any]:
    try:
        version, text, sha256 = parse(metadata["version"]), metadata["record"], metadata["record_sha256"]
        conform(version, int, "version")
    except (ValueError, KeyError) as error:
        raise RunFolderError(f"{path}: missing or damaged ({error}): {HINT}") from error
    if version > VERSION:
        raise RunFolderError(f"{path}: written by a newer wordtie: update wordtie to go on from it")
    if version < 1 or sha256 != _text_sha256(text):
        raise RunFolderError(f"{path}: damaged, its content is not what was saved: {HINT}")
    try:
        return conform(parse(text, infinity=True), dict[str, Any])
    except ValueError as error:
        raise RunFolderError(f"{path}: damaged ({error}): {HINT}") from error


@contextmanager
def wrap_record_errors(path: Path) -> Iterator[None]:
    """Turn errors from interpreting a record into a `RunFolderError`: it is not what this version writes."""
    try:
        yield
    except (ValueError, KeyError, TypeError) as error:
        raise RunFolderError(f"{path}: cannot be resumed ({error}): update wordtie, or train again") from error


def _text_sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
