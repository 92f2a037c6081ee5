"""Pickles read as data: plain values are those of `pickle.loads`; nothing that a pickle names is imported or called."""

from __future__ import annotations

import builtins
import collections
import functools
import io
import os
import pickle
import struct
import sys
import time
import tracemalloc
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from wordtie.checkpoints.pickles import ForbiddenNameError, Record, read_pickle

CLASSES = frozenset({"model.RNNModel"})
CALLS: dict[str, Callable[[tuple[Any, ...]], Any]] = {
    "collections.OrderedDict": lambda arguments: dict(*arguments),
    "tests.tuple": lambda arguments: arguments,
}


def read(data: bytes) -> Any:
    def persistent(saved: Any) -> Any:
        return ("outside", saved)

    return read_pickle(io.BytesIO(data), CLASSES, CALLS, persistent)


VALUES: dict[str, Any] = {
    "numbers": [0, 1, 255, 256, 65536, -1, -(2**31), 2**31, 2**63, -(2**70), 2**2100, 0.5, -1e300],
    "constants": [None, True, False],
    "text": ["", "wörd", "\u20ac", "😀", "a" * 300, "line\nend", "back\\slash", "tab\t"],
    "nested": [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), [[], [1]], {"a": {"b": (1, [2])}, 3: 4}],
    "long": [list(range(3000)), {str(number): number for number in range(3000)}],
}


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("name", VALUES)
def test_plain_values_are_those_of_pickle(name: str, protocol: int) -> None:
    assert read(pickle.dumps(VALUES[name], protocol)) == VALUES[name]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_what_is_shared_stays_shared(protocol: int) -> None:
    inner = [1]
    first, second = read(pickle.dumps([inner, inner], protocol))
    assert first is second
    inner.append(inner)  # type: ignore[arg-type]
    loop = read(pickle.dumps(inner, protocol))
    assert loop[1] is loop


def test_several_pickles_in_a_file_are_read_one_by_one() -> None:
    file = io.BytesIO(pickle.dumps([1], 2) + pickle.dumps("two", 2) + b"rest")
    assert [read_pickle(file, CLASSES, CALLS, list) for _ in range(2)] == [[1], "two"]
    assert file.read() == b"rest"


class RNNModel:
    """Pickled as `model.RNNModel`."""

    def __init__(self) -> None:
        self.size = 3
        self.more = collections.OrderedDict(b=1, a=2)


RNNModel.__module__ = "model"


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_an_instance_becomes_a_record(protocol: int, monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("model")
    module.RNNModel = RNNModel  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "model", module)
    data = pickle.dumps(RNNModel(), protocol)
    monkeypatch.delitem(sys.modules, "model")
    record = read(data)
    assert isinstance(record, Record)
    assert (record.path, record.state) == ("model.RNNModel", {"size": 3, "more": {"b": 1, "a": 2}})
    assert list(record.state["more"]) == ["b", "a"]
    assert "model" not in sys.modules


class Evil:
    """What a pickle of it calls."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.called = (function, arguments)

    def __reduce__(self) -> Any:
        return self.called


MARKER = "ran"
EVIL = {
    "posix.system": Evil(os.system, f"touch {MARKER}"),
    "builtins.eval": Evil(eval, f"open({MARKER!r}, 'w')"),
    "builtins.exec": Evil(exec, f"open({MARKER!r}, 'w')"),
    "builtins.open": Evil(open, MARKER, "w"),
    "builtins.getattr": Evil(getattr, Evil(getattr, "text", "join"), "__self__"),
    "builtins.__import__": Evil(builtins.__import__, "os"),
    "functools.partial": Evil(functools.partial, os.system, f"touch {MARKER}"),
    "torch.serialization.load": Evil(torch.load, MARKER),
    "torch.storage._load_from_bytes": Evil(torch.storage._load_from_bytes, b"cos\nsystem\n"),
    "types.SimpleNamespace": Evil(types.SimpleNamespace),
}


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("name", EVIL)
def test_other_names_are_refused_and_nothing_runs(
    name: str, protocol: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    data = pickle.dumps({"weights": [EVIL[name]]}, protocol)
    with pytest.raises(ForbiddenNameError):
        read(data)
    assert not (tmp_path / MARKER).exists()


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"cos\nsystem\n(S'touch ran'\ntR.", "os.system"),
        (b"(S'touch ran'\nios\nsystem\n.", "os.system"),
        (b"\x80\x04\x8c\x05torch\x8c\x04load\x93.", "torch.load"),
        (b"\x80\x04\x8c\x02os\x8c\x0bpath.system\x93.", "os.path.system"),
        (b"cmodel\nRNNModel.__init__.__globals__\n.", "model.RNNModel.__init__.__globals__"),
    ],
    ids=["GLOBAL", "INST", "STACK_GLOBAL", "dotted", "attributes of a known class"],
)
def test_names_are_refused_however_they_are_given(data: bytes, name: str) -> None:
    with pytest.raises(ForbiddenNameError) as caught:
        read(data)
    assert caught.value.name == name


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "exhausted"),
        (b"\x80\x02]q\x00", "exhausted"),
        (b".", "pop from empty"),
        (b"0.", "pop from empty"),
        (b"(.", "nothing between marks"),
        (b"Nt.", "pop from empty"),
        (b"h\x05.", "5"),
        (b"\x82\x01.", "EXT1"),
        (b"P1\n.", "PERSID"),
        (b"NN\x81.", "no class"),
        (b"cmodel\nRNNModel\n)R.", "a call of model.RNNModel"),
        (b"N)R.", "no function"),
        (b"ctests\ntuple\n)\x81.", "no class"),
        (b"NNa.", "no list"),
        (b"NNNs.", "no dictionary"),
        (b"}(NNu.", "a key of type NoneType"),
        (b"}(Nu.", "."),
        (b"\x80\x04\x8c\xffshort.", "expected 255 bytes"),
        (b"\xff.", "unknown"),
        (b"L" + b"9" * 5000 + b"L\n.", "4300"),
        (b"I1x\n.", "invalid literal"),
    ],
)
def test_what_is_no_whole_pickle_is_a_value_error(data: bytes, says: str) -> None:
    with pytest.raises(ValueError, match=f"is not a whole pickle .*{says}"):
        read(data)


@pytest.mark.parametrize(
    "data",
    [
        b"\x8d" + struct.pack("<Q", 1 << 40) + b"x.",
        b"\x8e" + struct.pack("<Q", 1 << 62) + b"x.",
        b"X" + struct.pack("<I", (1 << 32) - 1) + b"x.",
        b"\x8b" + struct.pack("<i", (1 << 31) - 1) + b"\x01.",
    ],
    ids=["text of a terabyte", "bytes", "text of 4 GB", "number of 2 GB"],
)
def test_sizes_beyond_the_file_are_refused_without_taking_memory(data: bytes) -> None:
    with pytest.raises(ValueError, match="is not a whole pickle"):
        read(data)


def test_a_far_place_in_the_memo_takes_no_memory() -> None:
    assert read(b"]r\xff\xff\xff\xff0j\xff\xff\xff\xff.") == []


def test_tuples_of_tuples_are_no_keys() -> None:
    """The hash of these takes 2^60 steps."""
    pairs = b"".join(b"h%ch%c\x86q%c0" % (number, number, number + 1) for number in range(60))
    started = time.monotonic()
    with pytest.raises(ValueError, match="a key of type tuple"):
        read(b"\x80\x02)q\x000" + pairs + b"}(h\x3cNu.")
    assert time.monotonic() - started < 5


def test_a_name_is_text() -> None:
    """A tuple of tuples, 40 deep, has few bytes and would be printed in 2^40."""
    started = time.monotonic()
    for module in (b"]", b")" + 40 * b"2\x86"):
        with pytest.raises(ValueError, match="a name that is none"):
            read(b"\x80\x04" + module + b"\x8c\x04load\x93.")
    assert time.monotonic() - started < 5


def test_what_is_named_again_and_again_takes_no_more_memory() -> None:
    """20,000 records that have the same 5,000 attributes: copies would fill 4 GB."""
    attributes = b"}(" + b"".join(b"I%d\nN" % number for number in range(5_000)) + b"uq\x000"
    record = b"cmodel\nRNNModel\n)\x81h\x00b"
    tracemalloc.start()
    found = read(attributes + b"](" + record * 20_000 + b"e.")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(found) == 20_000
    assert peak < 40_000_000


def test_deep_nesting_does_not_exhaust_the_stack() -> None:
    depth = 200_000
    found = read(b"]" * depth + b"a" * (depth - 1) + b".")
    assert isinstance(found, list)
    while found:
        (found,) = found


def test_attributes_are_given_to_records_only() -> None:
    """`pickle` sets those of classes and functions, too."""
    assert read(b"cmodel\nRNNModel\n}S'__setstate__'\nNsb.").path == "model.RNNModel"
    assert not hasattr(Record, "__setstate__")
    assert read(b"]}S'extend'\nNsb.") == []
    assert read(b"cmodel\nRNNModel\n)\x81}S'__class__'\nNsb.").state == {"__class__": None}
