"""The parameters of an `RNNModel` as those of a `LanguageModel`.

The model of all three programs is the same: encoder, recurrent layers, decoder, and dropout that has no part in
prediction.

| theirs | ours |
| --- | --- |
| `encoder.weight` (V, E) | `embedding.weight` |
| `rnn.weight_ih_l0` (G·H, E or H) | `core.layers.0.input_weight` |
| `rnn.weight_hh_l0` (G·H, H) | `core.layers.0.recurrent_weight` |
| `rnn.bias_ih_l0`, `rnn.bias_hh_l0` (G·H) | their sum, `core.layers.0.bias` |
| `decoder.weight` (V, H) | `head.weight`, or nothing if it is that of the encoder |
| `decoder.bias` (V) | `head.bias` |

Gates come in the same order, i, f, g, o of an LSTM and r, z, n of a GRU. A GRU multiplies b_hn by r, so that one stays
apart as `recurrent_bias`. Layers without biases have biases of zero.

Shapes: V words, E embedding size, H units, G gates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import torch
from torch import Tensor

from wordtie.checkpoints.pickles import Record
from wordtie.checkpoints.torch_file import MODEL, PARALLEL, StoredTensor, TorchFile
from wordtie.config import ModelSettings
from wordtie.config.model import MOST_LAYERS
from wordtie.errors import DataError
from wordtie.runs.parameters import check_numbers

Core: TypeAlias = Literal["lstm", "gru", "rnn"]
MODES: dict[str, Core] = {"LSTM": "lstm", "GRU": "gru", "RNN_TANH": "rnn"}
"""Name of a cell in PyTorch's recurrent modules to our name."""
GATES: dict[Core, int] = {"lstm": 4, "gru": 3, "rnn": 1}
STATE_DICTS = ("state_dict", "model_state_dict", "model")
"""Keys that may hold the parameters in a dictionary that has other things, too."""


@dataclass(frozen=True)
class ImportedNetwork:
    """A network in the form of wordtie's language models."""

    settings: ModelSettings
    tensors: dict[str, Tensor]


@dataclass
class _Parts:
    """Parts of a model in a file: parameters by name, and what a whole model tells in addition."""

    parameters: dict[str, Any]
    mode: str | None = None
    dropout: float = 0.0


def read_network(file: TorchFile) -> ImportedNetwork:
    """Read the network of a file that holds a model or its `state_dict()`.

    Raises `DataError` for anything else, and for a model that wordtie's layers cannot express.
    """
    reader = _Reader(file, _parts(file.path, file.root))
    network = reader.network()
    try:
        check_numbers(network.tensors)
    except ValueError as error:
        raise DataError(f"{file.path}: {error}: take another checkpoint") from error
    return network


def _parts(path: Any, root: Any, wrapped: bool = False) -> _Parts:
    if isinstance(root, Record) and root.path == PARALLEL:
        root = _modules(root).get("module")
    if isinstance(root, Record) and root.path == MODEL:
        return _of_model(path, root)
    if isinstance(root, dict):
        root = next((root[name] for name in STATE_DICTS if isinstance(root.get(name), dict | Record)), root)
        if isinstance(root, Record) and not wrapped:
            return _parts(path, root, wrapped=True)
        if isinstance(root, Record):
            raise DataError(f"{path}: holds models within models, not a {MODEL} or its state_dict()")
        return _Parts({str(name).removeprefix("module."): value for name, value in root.items()})
    what = root.path if isinstance(root, Record) else f"a {type(root).__name__}"
    raise DataError(f"{path}: holds {what}, not a {MODEL} or its state_dict()")


def _modules(record: Record) -> dict[Any, Any]:
    found = record.state.get("_modules")
    return found if isinstance(found, dict) else {}


def _of_model(path: Any, model: Record) -> _Parts:
    """Return the parts of a model that was pickled whole. Raises `DataError`."""
    parameters: dict[str, Any] = {}
    modules = _modules(model)
    for name, module in modules.items():
        own = module.state.get("_parameters") if isinstance(module, Record) else None
        if not isinstance(own, dict) or _modules(module):
            raise DataError(f"{path}: its part {name!a:.40} is no module that wordtie knows")
        parameters |= {f"{name}.{each}": value for each, value in own.items() if value is not None}
    rnn, encoder, drop = (getattr(modules.get(name), "state", {}) for name in ("rnn", "encoder", "drop"))
    without = {
        "batch_first": rnn.get("batch_first"),
        "bidirectional": rnn.get("bidirectional"),
        "max_norm": encoder.get("max_norm"),
        "use_cache": model.state.get("use_cache"),
    }
    if used := [name for name, value in without.items() if value]:
        raise DataError(f"{path}: has {used[0]}, which wordtie's models have not: it cannot be imported")
    share = drop.get("p")
    dropout = share if isinstance(share, float) and 0 <= share < 1 else 0.0
    mode = rnn.get("mode")
    return _Parts(parameters, mode if isinstance(mode, str) else "", dropout)


class _Reader:
    """Takes the parameters of a model one by one."""

    def __init__(self, file: TorchFile, parts: _Parts) -> None:
        self.file = file
        self.parts = parts
        self.left = dict(parts.parameters)

    def network(self) -> ImportedNetwork:
        """Take all parameters, and return the network."""
        words, embedding = self.shape("encoder.weight", 2)
        rows, hidden = self.shape("rnn.weight_hh_l0", 2)
        core = self.core(rows, hidden)
        same = embedding == hidden and self.left.get("encoder.weight") == self.left.get("decoder.weight")
        tensors = {"embedding.weight": self.take("encoder.weight", words, embedding)}
        layers = 0
        while f"rnn.weight_hh_l{layers}" in self.left and layers < MOST_LAYERS:
            tensors |= self.layer(layers, core, hidden, embedding if layers == 0 else hidden)
            layers += 1
        if same:
            self.left.pop("decoder.weight")
        else:
            output_VH = self.take("decoder.weight", words, hidden)
            same = embedding == hidden and torch.equal(output_VH, tensors["embedding.weight"])
            if not same:
                tensors["head.weight"] = output_VH
        if bias := "decoder.bias" in self.left:
            tensors["head.bias"] = self.take("decoder.bias", words)
        if self.left:
            raise self.refusal(f"has a parameter {min(map(str, self.left))!a:.60}, which no {MODEL} has")
        settings = ModelSettings(
            head="tied" if same else "untied",
            core=core,
            hidden=hidden,
            embedding=embedding,
            layers=layers,
            output_bias=bias,
            dropout="zaremba",
            input_dropout=self.parts.dropout,
            hidden_dropout=self.parts.dropout,
        )
        return ImportedNetwork(settings, tensors)

    def core(self, rows: int, hidden: int) -> Core:
        """Return the kind of the recurrent layers, by name if there is one, else by the number of gates."""
        gates = {number * hidden: core for core, number in GATES.items()}
        mode = self.parts.mode
        if mode == "RNN_RELU":
            raise self.refusal("has layers of RNN_RELU; wordtie has LSTM, GRU and RNN_TANH: it cannot be imported")
        core = gates.get(rows) if mode is None else MODES.get(mode)
        if core is None or gates.get(rows) != core:
            raise self.refusal(f"has recurrent layers of an unknown kind ({rows} rows of {hidden})")
        if mode is None and core == "rnn":
            raise self.refusal("a state_dict() does not say whether its RNN has tanh or relu: save the whole model")
        return core

    def layer(self, number: int, core: Core, hidden: int, size: int) -> dict[str, Tensor]:
        """Take the parameters of a layer."""
        rows = GATES[core] * hidden
        tensors = {
            "input_weight": self.take(f"rnn.weight_ih_l{number}", rows, size),
            "recurrent_weight": self.take(f"rnn.weight_hh_l{number}", rows, hidden),
        }
        biases = [f"rnn.bias_{place}_l{number}" for place in ("ih", "hh")]
        first, second = (self.take(name, rows) if name in self.left else torch.zeros(rows) for name in biases)
        if core == "gru":
            apart = 2 * hidden
            tensors["bias"] = torch.cat([first[:apart] + second[:apart], first[apart:]])
            tensors["recurrent_bias"] = second[apart:].clone()
        else:
            tensors["bias"] = first + second
        return {f"core.layers.{number}.{name}": tensor for name, tensor in tensors.items()}

    def shape(self, name: str, dimensions: int) -> tuple[int, ...]:
        """Return the sizes of a parameter."""
        stored = self.left.get(name)
        if not isinstance(stored, StoredTensor) or len(stored.size) != dimensions:
            raise self.refusal(f"has no matrix {name}: it is no checkpoint of a {MODEL}")
        return stored.size

    def take(self, name: str, *size: int) -> Tensor:
        """Take a parameter of these sizes."""
        stored = self.left.pop(name, None)
        if not isinstance(stored, StoredTensor):
            raise self.refusal(f"has no parameter {name}: it is no checkpoint of a {MODEL}")
        if stored.size != size:
            raise self.refusal(f"{name} is {' x '.join(map(str, stored.size))}, not {' x '.join(map(str, size))}")
        if not stored.storage.dtype.is_floating_point:
            raise self.refusal(f"{name} is of whole numbers: 8-bit models cannot be imported")
        return self.file.tensor(stored)

    def refusal(self, what: str) -> DataError:
        """Return an error that names the file."""
        return DataError(f"{self.file.path}: {what}")
