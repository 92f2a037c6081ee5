"""Files of `torch.save` read without `torch.load`: the same numbers, from whole files only, and nothing else."""

from __future__ import annotations

import io
import os
import pickle
import random
import resource
import struct
import time
import tracemalloc
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.checkpoints.checkpoint_files import FORMS, file_content, saved, small_model
from tests.checkpoints.test_pickles import EVIL, MARKER
from wordtie.checkpoints.network import read_network
from wordtie.checkpoints.pickles import Record
from wordtie.checkpoints.torch_file import MAGIC, PROTOCOL, StoredTensor, _read, open_torch_file
from wordtie.errors import DataError

OLD = {"_use_new_zipfile_serialization": False}


def read(path: Path) -> Any:
    """What `torch.load` gives of tensors in dictionaries and lists."""
    with open_torch_file(path) as file:

        def made(value: Any) -> Any:
            if isinstance(value, StoredTensor):
                return file.tensor(value)
            if isinstance(value, dict):
                return {name: made(each) for name, each in value.items()}
            return [made(each) for each in value] if isinstance(value, list) else value

        return made(file.root)


def transposed() -> Tensor:
    return torch.arange(12.0).view(3, 4).T


@pytest.mark.parametrize("more", [{}, OLD], ids=["zip", "old"])
@pytest.mark.parametrize(
    "make",
    [
        transposed,
        lambda: torch.arange(10.0)[3:7],
        lambda: torch.arange(12.0).view(3, 4)[:, 1::2],
        lambda: torch.tensor(3.5),
        lambda: torch.randn(3, 2).double(),
        lambda: torch.randn(3, 2).half(),
        lambda: torch.randn(3, 2).bfloat16(),
        lambda: torch.arange(5),
        lambda: torch.nn.Parameter(torch.randn(2, 2)),
    ],
    ids=["transposed", "part", "steps", "one number", "double", "half", "bfloat16", "int64", "parameter"],
)
def test_tensors_are_those_of_torch(make: Callable[[], Tensor], more: dict[str, Any], tmp_path: Path) -> None:
    tensor = make()
    torch.save({"a": [tensor, tensor.detach()[None]]}, tmp_path / "file.pt", **more)
    first, second = read(tmp_path / "file.pt")["a"]
    assert first.dtype == torch.float32
    assert first.is_contiguous()
    assert torch.equal(first, tensor.detach().float())
    assert torch.equal(second[0], first)


@pytest.mark.parametrize("form", FORMS)
def test_a_model_is_read_as_records_and_its_class_is_not_imported(form: str, tmp_path: Path) -> None:
    model = small_model()
    with open_torch_file(saved(model, tmp_path / "model.pt", form)) as file:
        if "state dict" in form:
            assert list(file.root) == list(model.state_dict())
            return
        assert isinstance(file.root, Record)
        assert file.root.path == "model.RNNModel"
        assert file.root.state["rnn_type"] == "LSTM"
        parts = file.root.state["_modules"]
        assert [part.path.rpartition(".")[2] for part in parts.values()] == ["Dropout", "Embedding", "LSTM", "Linear"]
        found = file.tensor(parts["encoder"].state["_parameters"]["weight"])
    assert torch.equal(found, model.encoder.weight.detach())


def test_a_model_of_a_gpu_is_read_on_the_cpu(tmp_path: Path) -> None:
    """As its file differs: the place of storages, and before PyTorch 1.5 their class."""
    model = small_model()
    content = file_content(model, "PyTorch 0.3")
    place, storage = b"X\x03\x00\x00\x00cpu", b"ctorch\nFloatStorage\n"
    assert content.count(place) > 0 < content.count(storage)
    content = content.replace(place, b"X\x06\x00\x00\x00cuda:0").replace(storage, b"ctorch.cuda\nFloatStorage\n")
    (tmp_path / "gpu.pt").write_bytes(content)
    with open_torch_file(tmp_path / "gpu.pt") as file:
        tensors = read_network(file).tensors
    assert torch.equal(tensors["embedding.weight"], model.encoder.weight.detach())


def flattened(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """As cuDNN keeps the weights of recurrent layers: one behind the other in one storage."""
    whole, at, views = torch.cat([tensor.flatten() for tensor in state.values()]), 0, {}
    for name, tensor in state.items():
        views[name] = whole[at : at + tensor.numel()].view(tensor.shape)
        at += tensor.numel()
    return views


@pytest.mark.parametrize("more", [{}, OLD], ids=["zip", "old"])
def test_weights_that_share_a_storage_are_read(more: dict[str, Any], tmp_path: Path) -> None:
    state = small_model().state_dict()
    torch.save(flattened(state), tmp_path / "file.pt", **more)
    found = read(tmp_path / "file.pt")
    assert all(torch.equal(found[name], tensor) for name, tensor in state.items())


@pytest.mark.parametrize("more", [{}, OLD], ids=["zip", "old"])
@pytest.mark.parametrize("name", EVIL)
@pytest.mark.parametrize("where", ["alone", "in the model"])
def test_other_names_are_refused_in_one_line(
    where: str, name: str, more: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    content = EVIL[name] if where == "alone" else {**small_model().state_dict(), "hook": EVIL[name]}
    torch.save(content, "evil.pt", **more)
    with pytest.raises(DataError) as caught, open_torch_file(Path("evil.pt")):
        pass
    shown = {"builtins.open": "io.open"}.get(name, name.replace("builtins", "__builtin__"))
    assert str(caught.value).startswith(f"evil.pt: names {shown}, which none of these models needs")
    assert "\n" not in str(caught.value)
    assert not Path(MARKER).exists()


def test_a_hook_of_a_model_is_refused(tmp_path: Path) -> None:
    """Whatever function it is: it would be part of the model's computation."""
    model = small_model()
    model.rnn.register_forward_hook(print)
    with pytest.raises(DataError, match=r"model\.pt: names __builtin__\.print, "):
        read(saved(model, tmp_path / "model.pt"))


def test_a_name_with_strange_characters_does_not_reach_the_terminal(tmp_path: Path) -> None:
    name = "\x1b[2J\u202e" + "x" * 500
    content = b"\x80\x04\x8c\x02os" + b"X" + struct.pack("<I", len(name.encode())) + name.encode() + b"\x93."
    (tmp_path / "evil.pt").write_bytes(content)
    with pytest.raises(DataError) as caught, open_torch_file(tmp_path / "evil.pt"):
        pass
    assert str(caught.value).isascii()
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 400 + len(str(tmp_path))


def sequence(tensor: tuple[Any, ...], storage: tuple[Any, ...], numbers: bytes, count: int) -> bytes:
    """A file of the older form with one tensor, whose storage has `count` numbers, it says."""

    class Pickler(pickle.Pickler):
        def persistent_id(self, value: Any) -> Any:
            return storage if value is OUTSIDE else None

        def reducer_override(self, value: Any) -> Any:
            return (torch._utils._rebuild_tensor_v2, tensor) if value is TENSOR else NotImplemented

    buffer = io.BytesIO()
    for value in (MAGIC, PROTOCOL, {"little_endian": True}, TENSOR, [storage[2]]):
        Pickler(buffer, 2).dump(value)
    return buffer.getvalue() + struct.pack("<q", count) + numbers


class _Anything:
    def __repr__(self) -> str:
        """Without an address: test names must be the same in every process."""
        return "..."


OUTSIDE, TENSOR = _Anything(), _Anything()
NUMBERS = struct.pack("<4f", 1, 2, 3, 4)
STORAGE = ("storage", torch.FloatStorage, "1", "cpu", 4, None)
AROUND: tuple[Any, ...] = (False, OrderedDict())
BIG = 1 << 40
WHOLE: tuple[Any, ...] = (OUTSIDE, 0, (2, 2), (2, 1), *AROUND)


def test_the_hand_made_file_is_one(tmp_path: Path) -> None:
    (tmp_path / "file.pt").write_bytes(sequence(WHOLE, STORAGE, NUMBERS, 4))
    with open_torch_file(tmp_path / "file.pt") as file:
        assert file.tensor(file.root).tolist() == [[1, 2], [3, 4]]
    assert torch.load(tmp_path / "file.pt").tolist() == [[1, 2], [3, 4]]
    (tmp_path / "view.pt").write_bytes(
        sequence((OUTSIDE, 1, (2,), (1,), *AROUND), (*STORAGE[:5], ("2", 1, 3)), NUMBERS, 4)
    )
    with open_torch_file(tmp_path / "view.pt") as file:
        assert file.tensor(file.root).tolist() == [3, 4]


@pytest.mark.parametrize(
    ("tensor", "storage", "numbers", "count"),
    [
        (WHOLE, ("storage", torch.FloatStorage, "1", "cpu", BIG, None), NUMBERS, BIG),
        (WHOLE, STORAGE, NUMBERS[:-1], 4),
        (WHOLE, STORAGE, NUMBERS, 5),
        (WHOLE, STORAGE, NUMBERS, -4),
        ((OUTSIDE, 0, (BIG,), (0,), *AROUND), STORAGE, NUMBERS, 4),
        ((OUTSIDE, 0, (3, 2), (1, 1), *AROUND), STORAGE, NUMBERS, 4),
        ((OUTSIDE, 3, (2,), (1,), *AROUND), STORAGE, NUMBERS, 4),
        ((OUTSIDE, 0, (2,), (BIG,), *AROUND), STORAGE, NUMBERS, 4),
        ((OUTSIDE, -1, (2,), (1,), *AROUND), STORAGE, NUMBERS, 4),
        ((OUTSIDE, 3, (2,), (-1,), *AROUND), STORAGE, NUMBERS, 4),
        ((OUTSIDE, 0, (-2, -2), (2, 1), *AROUND), STORAGE, NUMBERS, 4),
        ((OUTSIDE, 0, (0,), (1,), *AROUND), STORAGE, NUMBERS, 4),
        ((OUTSIDE, 0, (2, 2), (2,), *AROUND), STORAGE, NUMBERS, 4),
        ((OUTSIDE, 0, (1,) * 9, (1,) * 9, *AROUND), STORAGE, NUMBERS, 4),
        ((OUTSIDE, 0, 4, 1, *AROUND), STORAGE, NUMBERS, 4),
        ((OUTSIDE, 0.0, (2,), (1,), *AROUND), STORAGE, NUMBERS, 4),
        (([1.0], 0, (1,), (1,), *AROUND), STORAGE, NUMBERS, 4),
        ((OUTSIDE, 0, (4,), (1,), *AROUND), (*STORAGE[:5], ("2", 1, 3)), NUMBERS, 4),
        (WHOLE, ("storage", torch.FloatStorage, 1, "cpu", 4, None), NUMBERS, 4),
        (WHOLE, ("module", "1", "1", "1", 4, None), NUMBERS, 4),
    ],
    ids=str,
)
def test_sizes_beyond_the_file_are_refused(
    tensor: tuple[Any, ...], storage: tuple[Any, ...], numbers: bytes, count: int, tmp_path: Path
) -> None:
    (tmp_path / "file.pt").write_bytes(sequence(tensor, storage, numbers, count))
    with (
        pytest.raises(DataError, match=r"file\.pt: not a file of torch\.save, or damaged \("),
        open_torch_file(tmp_path / "file.pt") as file,
    ):
        file.tensor(file.root)


def test_one_storage_is_not_read_a_thousand_times(tmp_path: Path) -> None:
    """A small file with many names for one large tensor would else fill the memory."""
    tensor = torch.zeros(1000)
    torch.save({str(number): tensor.view(1, -1)[:, : 900 + number] for number in range(100)}, tmp_path / "file.pt")
    with pytest.raises(DataError, match="its tensors have more numbers than the file"):
        read(tmp_path / "file.pt")


def rewritten(path: Path, change: Callable[[str, bytes], bytes], compression: int = zipfile.ZIP_STORED) -> Path:
    """A file of the newer form with other members."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, change(name, content))
    return path


@pytest.mark.parametrize(
    ("change", "compression", "says"),
    [
        (lambda name, content: content, zipfile.ZIP_DEFLATED, "a member is compressed"),
        (lambda name, content: content[:-4] if "/data/" in name else content, zipfile.ZIP_STORED, "another size"),
        (lambda name, content: b"big" if "byteorder" in name else content, zipfile.ZIP_STORED, "little-endian"),
        (lambda name, content: b"" if name.endswith("data.pkl") else content, zipfile.ZIP_STORED, "whole pickle"),
    ],
    ids=["compressed", "short storage", "big-endian", "no pickle"],
)
def test_archives_that_torch_does_not_write_are_refused(
    change: Callable[[str, bytes], bytes], compression: int, says: str, tmp_path: Path
) -> None:
    torch.save({"a": torch.zeros(3000)}, tmp_path / "file.pt")
    with pytest.raises(DataError, match=says):
        read(rewritten(tmp_path / "file.pt", change, compression))


def test_members_that_lie_on_each_other_are_refused(tmp_path: Path) -> None:
    """A directory that names one member a thousand times is larger, unpacked, than the file."""
    torch.save({"a": torch.zeros(30_000)}, tmp_path / "file.pt")
    content = (tmp_path / "file.pt").read_bytes()
    with zipfile.ZipFile(tmp_path / "file.pt") as archive:
        begins = archive.start_dir
        end = content.rindex(b"PK\x05\x06")
    entries = content[begins:end]
    entries = entries[: entries.index(b"PK\x06\x06")] if b"PK\x06\x06" in entries else entries
    count = entries.count(b"PK\x01\x02")
    many = entries * 50
    tail = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, count * 50, count * 50, len(many), begins, 0)
    (tmp_path / "file.pt").write_bytes(content[:begins] + many + tail)
    with pytest.raises(DataError, match="its members are larger than the file"):
        read(tmp_path / "file.pt")


@pytest.mark.parametrize(
    "content", [b"", b"PK\x03\x04", b"PK\x03\x04" + bytes(300), b"not a checkpoint", b"\x80\x02N."]
)
def test_other_files_are_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "file.pt").write_bytes(content)
    with pytest.raises(DataError, match=r"file\.pt: not a file of torch\.save, or damaged \("):
        read(tmp_path / "file.pt")


def head() -> bytes:
    """The first pickles of the older form."""
    return b"".join(pickle.dumps(value, 2) for value in (MAGIC, PROTOCOL, {"little_endian": True}))


def test_dictionaries_of_python_2_are_read(tmp_path: Path) -> None:
    """Made of a list of pairs."""
    pairs = b"](](U\x01bK\x01e](U\x01aK\x02ee"
    root = b"\x80\x02ccollections\nOrderedDict\n" + pairs + b"\x85R."
    (tmp_path / "file.pt").write_bytes(head() + root + pickle.dumps([], 2))
    with open_torch_file(tmp_path / "file.pt") as file:
        assert list(file.root.items()) == [("b", 1), ("a", 2)]
    assert list(torch.load(tmp_path / "file.pt").items()) == [("b", 1), ("a", 2)]


@pytest.mark.parametrize("name", [b"__builtin__\nset", b"collections\nOrderedDict"])
def test_calls_copy_no_list_twice(name: bytes) -> None:
    """10,000 sets or dictionaries of a list of 5,000 pairs."""
    pairs = b"](" + b"".join(b"](J%sK\x02e" % struct.pack("<i", number) for number in range(5_000)) + b"eq\x000"
    calls = (b"c" + name + b"\nh\x00\x85R") * 10_000
    tracemalloc.start()
    found = _read(io.BytesIO(b"\x80\x02" + pairs + b"](" + calls + b"e."))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(found) == 10_000
    assert peak < 40_000_000


NESTED = b")q\x000" + b"".join(b"h%ch%c\x86q%c0" % (number, number, number + 1) for number in range(60)) + b"h\x3c"
"""A tuple of tuples, of which all levels but the first are named twice: to print it takes 2^60 steps."""
PART = b"cmodel\nRNNModel\n)\x81}(U\x08_modules}U\x03rnnctorch.nn.modules.rnn\nLSTM\n)\x81}(U\x0b_parameters}U\x04mode"


@pytest.mark.parametrize(
    ("root", "keys"),
    [
        (b"N.", b"](" + NESTED + b"e."),
        (b"(U\x07storagectorch\nFloatStorage\nU\x011U\x03cpu" + NESTED + b"NtQ.", b"]."),
        (b"(" + NESTED + b"ctorch\nFloatStorage\nU\x011U\x03cpuK\x04NtQ.", b"]."),
        (PART + NESTED + b"ubsub.", b"]."),
    ],
    ids=["keys of storages", "length", "kind", "mode"],
)
def test_tuples_of_tuples_take_no_time(root: bytes, keys: bytes, tmp_path: Path) -> None:
    (tmp_path / "file.pt").write_bytes(head() + b"\x80\x02" + root + b"\x80\x02" + keys)
    started = time.monotonic()
    with pytest.raises(DataError), open_torch_file(tmp_path / "file.pt") as file:
        read_network(file)
    assert time.monotonic() - started < 5


def test_a_persistent_id_is_short() -> None:
    """One of five million parts would be copied each time it is named."""
    saved = b"(" + 1_000_000 * b"N" + b"tq\x00"
    with pytest.raises(ValueError, match="a persistent id of an unknown kind"):
        _read(io.BytesIO(b"\x80\x02" + saved + b"Q."))


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.pt: there is no such file"):
        read(tmp_path / "none.pt")
    with pytest.raises(DataError, match="cannot be read"):
        read(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match="not a regular file"):
        read(tmp_path / "pipe")


@pytest.mark.parametrize("form", FORMS)
def test_a_file_cut_short_is_refused_wherever_it_is(form: str, tmp_path: Path) -> None:
    content = file_content(small_model(layers=1), form)
    path = tmp_path / "file.pt"
    for length in [*range(0, len(content), 37), len(content) - 1]:
        path.write_bytes(content[:length])
        with pytest.raises(DataError), open_torch_file(path) as file:
            read_network(file)


@pytest.mark.parametrize("form", FORMS)
def test_a_damaged_file_is_refused_or_read_within_bounds(form: str, tmp_path: Path) -> None:
    """Whatever bytes are changed: an error that names the file, or a model; and never much memory."""
    content = file_content(small_model(layers=1), form)
    generator = random.Random(form)
    path, refused = tmp_path / "file.pt", 0
    for _ in range(300):
        damaged = bytearray(content)
        for _ in range(generator.choice([1, 1, 3, 10])):
            damaged[generator.randrange(len(content))] = generator.choice([0, 1, 0x28, 0x7F, 0xFF, ord("R")])
        path.write_bytes(damaged)
        try:
            with open_torch_file(path) as file:
                read_network(file)
        except DataError as error:
            refused += str(error).startswith(f"{path}: ")
    assert refused > 50
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 4_000_000
