"""Files that `torch.save` writes: a pickle, and beside it the numbers of its tensors.

Since PyTorch 1.6 a file is a zip archive with a member for each storage. Before, it was five pickles, one after
another, and then the storages in the order that the last pickle gives; PyTorch 0.4 and 1.0 wrote that form. Both are
read here without `torch.load`, whose `weights_only` form refuses whole models, and whose other form runs what the file
says. Tensors of a GPU are read as any others. No more numbers are read than the file has bytes.
"""

from __future__ import annotations

import io
import mmap
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import torch
from torch import Tensor

from wordtie.checkpoints.pickles import ForbiddenNameError, Readable, Record, checked_key, read_pickle
from wordtie.errors import DataError
from wordtie.storage.atomic import mapped
from wordtie.storage.opening import regular_file

MAGIC, PROTOCOL = 0x1950A86A20F9469CFC6C, 1001
"""The first two pickles of the older form."""
ZIP = b"PK\x03\x04"
"""First bytes of the newer form."""
TYPES = {
    "Float": torch.float32,
    "Double": torch.float64,
    "Half": torch.float16,
    "BFloat16": torch.bfloat16,
    "Long": torch.int64,
    "Int": torch.int32,
    "Short": torch.int16,
    "Char": torch.int8,
    "Byte": torch.uint8,
    "Bool": torch.bool,
}
STORAGES = {f"{place}.{name}Storage": dtype for place in ("torch", "torch.cuda") for name, dtype in TYPES.items()}
MOST_DIMENSIONS = 8
"""Most dimensions of a tensor; those of a model have one or two."""
LONGEST_ID = 6
"""Most parts of a persistent id, in either form."""
MODEL = "model.RNNModel"
"""The class of the models of all three programs."""
PARALLEL = "torch.nn.parallel.data_parallel.DataParallel"
"""The class that wraps a model that was trained on several GPUs."""
DICTIONARY = "data.Dictionary"
"""The class of a vocabulary that neural-complexity stores as `.bin`."""
MODULES = ("dropout.Dropout", "sparse.Embedding", "linear.Linear", "rnn.LSTM", "rnn.GRU", "rnn.RNN")
BACKEND = "torch.nn.backends.thnn._get_thnn_function_backend"
CLASSES = frozenset({MODEL, PARALLEL, DICTIONARY, *(f"torch.nn.modules.{name}" for name in MODULES), *STORAGES})
"""Classes whose instances become records. Of storages, a file has only the names."""


@dataclass(frozen=True)
class Storage:
    """Numbers in a row that a file holds under a key, or a part of them."""

    key: str
    dtype: torch.dtype
    length: int
    """Number of elements of the whole storage."""
    first: int = 0


@dataclass(frozen=True)
class StoredTensor:
    """A tensor whose numbers have not been read."""

    storage: Storage
    offset: int
    size: tuple[int, ...]
    stride: tuple[int, ...]

    @property
    def numbers(self) -> int:
        """Number of elements."""
        product = 1
        for each in self.size:
            product *= each
        return product

    @property
    def last(self) -> int:
        """Index of the last element in the whole storage."""
        steps = (stride * (size - 1) for size, stride in zip(self.size, self.stride, strict=True))
        return self.storage.first + self.offset + sum(steps)


class TorchFile:
    """The content of a file, with its tensors read when they are asked for."""

    def __init__(self, path: Path, root: Any, content: Callable[[Storage], bytes], size: int) -> None:
        self.path = path
        self.root = root
        """Records, dictionaries, lists, numbers, names, and `StoredTensor`s."""
        self._content = content
        self._left = size
        self._storages: dict[tuple[str, torch.dtype], Tensor] = {}

    def tensor(self, stored: StoredTensor) -> Tensor:
        """Read a tensor as fp32. Raises `DataError`, also if all that were asked for have more bytes than the file."""
        self._left -= stored.numbers * stored.storage.dtype.itemsize
        if self._left < 0:
            raise DataError(f"{self.path}: its tensors have more numbers than the file: is it a checkpoint?")
        key = (stored.storage.key, stored.storage.dtype)
        with _sound(self.path):
            if key not in self._storages:
                self._storages[key] = torch.frombuffer(bytearray(self._content(stored.storage)), dtype=key[1])
            whole = self._storages[key]
            if stored.last >= len(whole):
                raise ValueError("a tensor goes beyond its storage")
        first = stored.storage.first + stored.offset
        return whole.as_strided(stored.size, stored.stride, first).to(torch.float32, copy=True).contiguous()


@contextmanager
def open_torch_file(path: Path) -> Iterator[TorchFile]:
    """Read the pickle; tensors can be asked for while the file is open.

    Raises `DataError` for a file that `torch.save` did not write, that is damaged, or that names something that none of
    the models needs.
    """
    try:
        with open(path, "rb", opener=regular_file) as file:
            content = mapped(file)
            with _sound(path):
                if content[:4] == ZIP:
                    root, read = _archive(file, len(content))
                elif isinstance(content, mmap.mmap):
                    root, read = _sequence(content)
                else:
                    raise ValueError("it is empty")
            yield TorchFile(path, root, read, len(content))
    except FileNotFoundError as error:
        raise DataError(f"{path}: there is no such file; check the path") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error


@contextmanager
def _sound(path: Path) -> Iterator[None]:
    """Turn errors while a file is read into a `DataError`."""
    try:
        yield
    except ForbiddenNameError as error:
        raise DataError(
            f"{path}: names {ascii(error.name)[1:-1]:.100}, which none of these models needs and which could run "
            "code: nothing was run; save the model's state_dict() and import that"
        ) from error
    except (ValueError, KeyError, TypeError, RuntimeError, EOFError, OverflowError, zipfile.BadZipFile) as error:
        what = ascii(" ".join(str(error).split()))[1:-1]
        raise DataError(f"{path}: not a file of torch.save, or damaged ({what:.100}): fetch it again") from error


def _archive(file: IO[bytes], size: int) -> tuple[Any, Callable[[Storage], bytes]]:
    """Read the newer form."""
    archive = zipfile.ZipFile(file)
    members = {each.filename: each for each in archive.infolist()}
    if any(each.compress_type != zipfile.ZIP_STORED for each in members.values()):
        raise ValueError("a member is compressed")
    if sum(each.file_size for each in archive.infolist()) > size:
        raise ValueError("its members are larger than the file")
    pickles = [name for name in members if name.count("/") == 1 and name.endswith("/data.pkl")]
    if len(pickles) != 1:
        raise ValueError("no data.pkl")
    folder = pickles[0].removesuffix("data.pkl")
    if f"{folder}byteorder" in members and archive.read(f"{folder}byteorder") != b"little":
        raise ValueError("its numbers are not little-endian")

    def content(storage: Storage) -> bytes:
        member = members[f"{folder}data/{storage.key}"]
        if member.file_size != storage.length * storage.dtype.itemsize:
            raise ValueError(f"storage {storage.key} has another size than it says")
        return archive.read(member)

    return _read(io.BytesIO(archive.read(pickles[0]))), content


def _sequence(file: mmap.mmap) -> tuple[Any, Callable[[Storage], bytes]]:
    """Read the older form."""
    if _read(file) != MAGIC or _read(file) != PROTOCOL:
        raise ValueError("no torch magic number")
    system = _read(file)
    if not (isinstance(system, dict) and system.get("little_endian") is True):
        raise ValueError("its numbers are not little-endian")
    lengths: dict[str, Storage] = {}
    root = _read(file, lengths)
    keys = _read(file)
    if not (isinstance(keys, list) and all(isinstance(key, str) for key in keys) and sorted(keys) == sorted(lengths)):
        raise ValueError("its list of storages is not that of its tensors")
    places: dict[str, tuple[int, int]] = {}
    for key in keys:
        length = int.from_bytes(file.read(8), "little", signed=True)
        start = file.tell()
        end = start + lengths[key].length * lengths[key].dtype.itemsize
        if length != lengths[key].length or end > len(file):
            raise ValueError(f"storage {key} has another size than it says, or is cut short")
        places[key] = (start, end)
        file.seek(end)

    def content(storage: Storage) -> bytes:
        start, end = places[storage.key]
        return file[start:end]

    return root, content


def _read(file: Readable, storages: dict[str, Storage] | None = None) -> Any:
    """Read a pickle; the storages that it names are added to `storages`."""
    return read_pickle(file, CLASSES, CALLS, lambda saved: _outside(saved, {} if storages is None else storages))


def _outside(saved: Any, storages: dict[str, Storage]) -> Any:
    """Return what a persistent id denotes: a storage, or in the older form a class, whose source text follows."""
    if not isinstance(saved, tuple) or len(saved) > LONGEST_ID:  # what is long would be copied each time it is named
        raise ValueError("a persistent id of an unknown kind")
    if saved[0] == "module":
        return saved[1]
    kind, name, key, _, length, *view = saved
    if kind != "storage" or name.path not in STORAGES or not isinstance(key, str):
        raise ValueError("a persistent id of an unknown kind")
    whole = Storage(key, STORAGES[name.path], _count(length))
    if storages.setdefault(key, whole) != whole:
        raise ValueError(f"storage {key} has two sizes or types")
    return replace(whole, first=_count(view[0][1])) if view and view[0] is not None else whole


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 1 << 62:
        raise ValueError("a size or place that is none")
    return value


def _tensor(arguments: tuple[Any, ...]) -> StoredTensor:
    """Replace `_rebuild_tensor(storage, offset, size, stride, …)`. Raises `ValueError` for one beyond its storage."""
    storage, offset, size, stride = arguments[:4]
    if not isinstance(storage, Storage) or len(size) != len(stride) or len(size) > MOST_DIMENSIONS:
        raise ValueError("a tensor without a storage, or with too many dimensions")
    tensor = StoredTensor(storage, _count(offset), tuple(map(_count, size)), tuple(map(_count, stride)))
    if not 0 < tensor.numbers <= storage.length or tensor.last >= storage.length:
        raise ValueError("a tensor goes beyond its storage")
    return tensor


def _parameter(arguments: tuple[Any, ...]) -> StoredTensor:
    """Replace `Parameter(tensor, …)`."""
    tensor = arguments[0]
    if not isinstance(tensor, StoredTensor):
        raise ValueError("a parameter without a tensor")
    return tensor


def _ordered(arguments: tuple[Any, ...]) -> dict[Any, Any]:
    """Replace `OrderedDict()`, or that of a list of pairs (Python 2). The list is emptied: it may be named again."""
    pairs: list[Any] = arguments[0] if arguments else []
    made = {checked_key(key): value for key, value in pairs}
    pairs.clear()
    return made


def _set(arguments: tuple[Any, ...]) -> list[Any]:
    """Replace `set()`, or that of a list."""
    return arguments[0] if arguments and isinstance(arguments[0], list) else []


def _backend(arguments: tuple[Any, ...]) -> Record:
    """Replace the backend that every module of PyTorch before 1.2 has."""
    return Record(BACKEND)


CALLS = {
    "collections.OrderedDict": _ordered,
    "__builtin__.set": _set,
    "builtins.set": _set,
    "torch._utils._rebuild_tensor": _tensor,
    "torch._utils._rebuild_tensor_v2": _tensor,
    "torch._utils._rebuild_parameter": _parameter,
    "torch.nn.parameter.Parameter": _parameter,
    BACKEND: _backend,
}
"""Functions that a model may name, and what is made in their place."""
