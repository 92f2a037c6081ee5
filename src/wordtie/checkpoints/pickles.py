"""Read a pickle as data.

A pickle is a program: `pickle.load` imports what it names, and calls it. This module reads the same instructions and
imports and calls nothing. A name must be in a table that the caller gives, and what it makes is one of our own objects:
a `Record` for an instance of a class, or what a function of the table builds from plain values. Anything else is
refused.

Time and memory grow with the size of the file. Nothing is copied that a pickle can name again and again. Nothing is
hashed, printed or compared that may be a tuple of tuples: if each is used twice, the time doubles with every level.
Dictionaries therefore have names or numbers as keys.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

Build: TypeAlias = Callable[[tuple[Any, ...]], Any]
"""Function from the arguments of a call to its result."""


class Readable(Protocol):
    """A binary file, or one that is mapped into memory: `read` takes no memory for bytes that are not there."""

    def read(self, size: int | None = ..., /) -> bytes:
        """Read the next bytes, at most `size`."""

    def readline(self) -> bytes:
        """Read the next bytes up to a line end."""


class ForbiddenNameError(ValueError):
    """A pickle names something that is not in the table."""

    def __init__(self, name: str) -> None:
        super().__init__(f"names {name}")
        self.name = name


@dataclass(frozen=True)
class Name:
    """A class or function that a pickle names, as `module.name`; it is not imported."""

    path: str


@dataclass(eq=False)
class Record:
    """An instance as a pickle describes it: its class and its attributes."""

    path: str
    state: dict[str, Any] = field(default_factory=dict)


class _Mark:
    """A mark on the stack where the items of a list or tuple begin."""


CONSTANTS = {
    *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
    *("STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8"),
    *("SHORT_BINBYTES", "BINBYTES", "BINBYTES8"),
}
"""Instructions that push their argument."""
FRESH: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_TUPLE": tuple,
    "EMPTY_LIST": list,
    "EMPTY_SET": list,
    "EMPTY_DICT": dict,
}
"""Instructions that push a new value. A set becomes a list: nothing is looked up in it."""


def read_pickle(
    file: Readable, classes: frozenset[str], calls: Mapping[str, Build], persistent: Callable[[Any], Any]
) -> Any:
    """Return what the pickle that begins here holds; the file is then at the end of the pickle.

    `classes`: those whose instances become records. `calls`: functions that may be called, and what takes their place.
    `persistent`: function from the id of something outside the pickle to what it denotes. Raises `ForbiddenNameError`
    for any other name, `ValueError` for a pickle that is cut short or that does something else.
    """
    machine = _Machine(classes, calls, persistent)
    try:
        for instruction, argument, _ in pickletools.genops(file):  # type: ignore[arg-type]
            if instruction.name == "STOP":
                return machine.pop()
            machine.step(instruction.name, argument)
    except ForbiddenNameError:
        raise
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError(f"is not a whole pickle ({' '.join(str(error).split()):.100})") from error
    raise ValueError("is not a whole pickle")


class _Machine:
    """The stack that the instructions work on, and the values that they have stored for later."""

    def __init__(self, classes: frozenset[str], calls: Mapping[str, Build], persistent: Callable[[Any], Any]) -> None:
        self.classes = classes
        self.calls = calls
        self.persistent = persistent
        self.stack: list[Any] = []
        self.noted: dict[int, Any] = {}

    def step(self, name: str, argument: Any) -> None:
        """Execute one instruction. Raises `ValueError` for one that no checkpoint has."""
        if name in CONSTANTS:
            self.stack.append(argument)
        elif name in FRESH:
            self.stack.append(FRESH[name]())
        elif name in _HANDLERS:
            _HANDLERS[name](self, argument)
        else:
            raise ValueError(f"has the instruction {name}")

    def pop(self) -> Any:
        """Pop the top of the stack."""
        found = self.stack.pop()
        if isinstance(found, _Mark):
            raise ValueError("nothing between marks")
        return found

    def pop_items(self) -> list[Any]:
        """Pop the items above the last mark, and the mark."""
        items = []
        while not isinstance(item := self.stack.pop(), _Mark):
            items.append(item)
        return items[::-1]

    def name(self, module: Any, name: Any) -> None:
        """Push a name, if it is in the table."""
        if type(module) is not str or type(name) is not str:  # a tuple of tuples is short, and printed it is not
            raise ValueError("a name that is none")
        path = f"{module}.{name}"
        if path not in self.classes and path not in self.calls:
            raise ForbiddenNameError(path)
        self.stack.append(Name(path))

    def call(self) -> None:
        """Push the result of a function of the table, in place of the function and its arguments."""
        arguments, function = self.pop(), self.pop()
        if not isinstance(function, Name) or not isinstance(arguments, tuple):
            raise ValueError("a call of something that is no function")
        if function.path not in self.calls:
            raise ValueError(f"a call of {function.path}")
        self.stack.append(self.calls[function.path](arguments))

    def instance(self, arguments: int) -> None:
        """Push a record for an instance of a class of the table; the `arguments` values of its call are dropped."""
        for _ in range(arguments):
            self.pop()
        of = self.pop()
        if not isinstance(of, Name) or of.path not in self.classes:
            raise ValueError("an instance of something that is no class")
        self.stack.append(Record(of.path))

    def build(self) -> None:
        """Give a record its attributes; those of anything else are dropped."""
        state = self.pop()
        target = self.stack[-1]
        if isinstance(target, Record) and isinstance(state, dict):
            target.state = state

    def set_items(self, items: list[Any]) -> None:
        """Put keys and values, which alternate, into the dictionary below them."""
        target = self.stack[-1]
        if not isinstance(target, dict):
            raise ValueError("items of something that is no dictionary")
        for key, value in zip(items[::2], items[1::2], strict=True):
            target[checked_key(key)] = value

    def extend(self, items: list[Any]) -> None:
        """Append items to the list below them."""
        target = self.stack[-1]
        if not isinstance(target, list):
            raise ValueError("items of something that is no list")
        target.extend(items)

    def note(self, number: int | None) -> None:
        """Store the top of the stack under a number, the next one if none is given."""
        if isinstance(self.stack[-1], _Mark):
            raise ValueError("a mark is kept")
        self.noted[len(self.noted) if number is None else number] = self.stack[-1]


def checked_key(key: Any) -> str | int:
    """Return the key of a dictionary. Raises `ValueError` for one that is neither a name nor a number of 64 bits."""
    if not (isinstance(key, str) or (isinstance(key, int) and abs(key) < 1 << 63)):
        raise ValueError(f"a key of type {type(key).__name__}")
    return key


def _collect(machine: _Machine, made: Callable[[list[Any]], Any]) -> None:
    machine.stack.append(made(machine.pop_items()))


def _tuple(machine: _Machine, length: int) -> None:
    items = [machine.pop() for _ in range(length)]
    machine.stack.append(tuple(items[::-1]))


def _dict(machine: _Machine) -> None:
    items = machine.pop_items()
    machine.stack.append({})
    machine.set_items(items)


def _stack_global(machine: _Machine) -> None:
    name, module = machine.pop(), machine.pop()
    machine.name(module, name)


def _name_of_line(machine: _Machine, line: str) -> None:
    """Push a name; `genops` gives module and name with a blank between them."""
    module, _, name = line.partition(" ")
    machine.name(module, name)


def _nothing(machine: _Machine, argument: Any) -> None:
    """Ignore the protocol number and frames, which say how the bytes are laid out."""


_HANDLERS: dict[str, Callable[[_Machine, Any], None]] = {
    "PROTO": _nothing,
    "FRAME": _nothing,
    "MARK": lambda machine, _: machine.stack.append(_Mark()),
    "POP": lambda machine, _: machine.stack.pop() and None,
    "POP_MARK": lambda machine, _: _ignore(machine.pop_items()),
    "DUP": lambda machine, _: machine.stack.append(machine.stack[-1]),
    "TUPLE1": lambda machine, _: _tuple(machine, 1),
    "TUPLE2": lambda machine, _: _tuple(machine, 2),
    "TUPLE3": lambda machine, _: _tuple(machine, 3),
    "TUPLE": lambda machine, _: _collect(machine, tuple),
    "LIST": lambda machine, _: _collect(machine, list),
    "FROZENSET": lambda machine, _: _collect(machine, list),
    "DICT": lambda machine, _: _dict(machine),
    "APPEND": lambda machine, _: machine.extend([machine.pop()]),
    "APPENDS": lambda machine, _: machine.extend(machine.pop_items()),
    "ADDITEMS": lambda machine, _: machine.extend(machine.pop_items()),
    "SETITEM": lambda machine, _: machine.set_items([machine.pop(), machine.pop()][::-1]),
    "SETITEMS": lambda machine, _: machine.set_items(machine.pop_items()),
    "PUT": lambda machine, number: machine.note(number),
    "BINPUT": lambda machine, number: machine.note(number),
    "LONG_BINPUT": lambda machine, number: machine.note(number),
    "MEMOIZE": lambda machine, _: machine.note(None),
    "GET": lambda machine, number: machine.stack.append(machine.noted[number]),
    "BINGET": lambda machine, number: machine.stack.append(machine.noted[number]),
    "LONG_BINGET": lambda machine, number: machine.stack.append(machine.noted[number]),
    "GLOBAL": _name_of_line,
    "INST": _name_of_line,
    "STACK_GLOBAL": lambda machine, _: _stack_global(machine),
    "REDUCE": lambda machine, _: machine.call(),
    "NEWOBJ": lambda machine, _: machine.instance(1),
    "NEWOBJ_EX": lambda machine, _: machine.instance(2),
    "BUILD": lambda machine, _: machine.build(),
    "BINPERSID": lambda machine, _: machine.stack.append(machine.persistent(machine.pop())),
}
"""All other instructions of a checkpoint."""


def _ignore(items: list[Any]) -> None:
    """Drop what was taken off the stack."""
