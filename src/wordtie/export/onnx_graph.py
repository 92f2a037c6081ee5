"""A language model as an ONNX graph, made by hand with `onnx.helper`.

Two graphs of the same model:

    step     word (B,), state -> log_p (B, V), state        one more word; the state starts as zeros, the word as <eos>
    nll      x (N, L), x_lens (N,) -> nll (N,)               whole sentences, as icefall and sherpa-onnx ask for them

The word matrix is stored once. In 8 bits every matrix W is stored with a scale for each of its rows,

    W_rc ≈ s_r (q_rc - 128),  s_r = max_c |W_rc| / 127,  q_rc = 128 + round(W_rc / s_r).

Those of the core are turned into fp32 when a file is opened. The word matrix stays as it is: vectors are looked up in
it, and it is multiplied by the query in whole numbers, for which the query is rounded in the same way. Unsigned numbers
are multiplied exactly on every CPU; the product of signed ones saturates on some.

Shapes: B streams, N sentences, L their longest, V words, E embedding size, H units, R x C a matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from wordtie.config import ModelSettings
from wordtie.errors import require
from wordtie.models.numpy_network import STATE_PARTS

OPSET, IR_VERSION = 17, 8
"""Versions of 2022, which runtimes on phones support."""
ZERO = 128
"""Stored value of 0."""
LARGEST = 127
MOST_BYTES = 2**31 - 2**20
"""Bytes of parameters; protobuf limits a message to 2 GiB, and the graph takes some."""
Name: TypeAlias = str
"""Name of a value in the graph."""
LayerState: TypeAlias = tuple[Name, ...]
Parameters: TypeAlias = Mapping[str, NDArray[np.float32]]


def quantise(matrix_RC: NDArray[np.float32]) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """Return (q, s) of a matrix: (R, C) and (R,). A row 1.0, -0.5 becomes 255, 64; zeros become 128."""
    largest_R = np.abs(matrix_RC).max(1)
    scale_R = np.where(largest_R > 0, largest_R / LARGEST, 1.0).astype(np.float32)
    return (ZERO + np.rint(matrix_RC / scale_R[:, None])).astype(np.uint8), scale_R


class Graph:
    """Nodes and constants as they are added; a graph inside another one has its own nodes and the outer's constants."""

    def __init__(self, outer: Graph | None = None) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[Name, onnx.TensorProto] = {} if outer is None else outer.constants
        self._names: list[None] = [] if outer is None else outer._names

    def constant(self, array: NDArray[Any], name: Name = "") -> Name:
        """Store a value and return its name; the same name is stored once."""
        name = name or self._fresh("constant")
        if name not in self.constants:
            self.constants[name] = numpy_helper.from_array(np.ascontiguousarray(array), name)
        return name

    def add(self, kind: str, *inputs: Name, **attributes: Any) -> Name:
        """Add an operator and return the name of its output."""
        return self.add_several(kind, *inputs, outputs=1, **attributes)[0]

    def add_several(self, kind: str, *inputs: Name, outputs: int, **attributes: Any) -> list[Name]:
        """Add an operator and return the names of its outputs."""
        names = [self._fresh(kind.lower()) for _ in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, **attributes))
        return names

    def named(self, value: Name, name: Name) -> None:
        """Give a value the name that users of the graph know."""
        self.nodes.append(helper.make_node("Identity", [value], [name]))

    def number(self, value: float) -> Name:
        """Store an fp32 constant without dimensions, and return its name."""
        return self.constant(np.array(value, np.float32), f"number {value:g}")

    def axes(self, *axes: int) -> Name:
        """Store a list of axes, and return its name."""
        return self.constant(np.array(axes, np.int64), f"axes {axes}")

    def _fresh(self, stem: str) -> Name:
        self._names.append(None)
        return f"{stem} {len(self._names)}"


class Network:
    """The operators of a model, over constants that belong to the outermost graph."""

    def __init__(self, graph: Graph, settings: ModelSettings, parameters: Parameters, eight_bits: bool) -> None:
        self.settings = settings
        self.parameters = parameters
        self.eight_bits = eight_bits
        self._fp32 = {name: self._matrices(graph, name) for name in parameters if name not in WORD_MATRICES}
        """Names of parameters in fp32, one for each matrix of a stack of them."""

    def state_names(self) -> list[Name]:
        """Return the names of the parts of the state, layer by layer."""
        parts = ("hidden", "cell")[: STATE_PARTS.get(self.settings.core, 1)]
        return [f"{part}_{layer}" for layer in range(self.settings.layers) for part in parts]

    def query(self, graph: Graph, word_B: Name, state: Sequence[Name]) -> tuple[Name, list[Name]]:
        """Return (the vector (B, E) from which the word after this one is predicted, the state after it)."""
        outputs_BH, after = self._vectors(graph, word_B), list[Name]()
        parts = STATE_PARTS.get(self.settings.core, 1)
        for layer in range(self.settings.layers):
            of_layer = tuple(state[layer * parts : (layer + 1) * parts])
            new = CELLS[self.settings.core](self, graph, f"core.layers.{layer}.", outputs_BH, of_layer)
            outputs_BH = new[0]
            after += new
        if "head.projection.weight" in self.parameters:
            bias = [self.fp32("head.projection.bias")] if "head.projection.bias" in self.parameters else []
            outputs_BH = graph.add("Gemm", outputs_BH, self.fp32("head.projection.weight"), *bias)
        return outputs_BH, after

    def log_p(self, graph: Graph, query_BE: Name) -> Name:
        """Return log p of every word, (B, V)."""
        name = "head.weight" if "head.weight" in self.parameters else "embedding.weight"
        matrix_VE = self.parameters[name]
        bias = [self.fp32("head.bias")] if "head.bias" in self.parameters else []
        if not self.eight_bits:
            scores_BV = graph.add("Gemm", query_BE, graph.constant(matrix_VE, name), *bias, transB=1)
            return graph.add("LogSoftmax", scores_BV, axis=1)
        stored_EV, scale_V = self._stored(graph, name)
        largest_B1 = graph.add("ReduceMax", graph.add("Abs", query_BE), axes=[1], keepdims=1)
        scale_B1 = graph.add("Div", graph.add("Max", largest_B1, graph.number(1e-12)), graph.number(LARGEST))
        rounded_BE = graph.add("Add", graph.add("Round", graph.add("Div", query_BE, scale_B1)), graph.number(ZERO))
        rounded_BE = graph.add("Cast", rounded_BE, to=TensorProto.UINT8)
        zero = graph.constant(np.array(ZERO, np.uint8), "zero")
        product_BV = graph.add("MatMulInteger", rounded_BE, stored_EV, zero, zero)
        scores_BV = graph.add("Mul", graph.add("Cast", product_BV, to=TensorProto.FLOAT), scale_V)
        scores_BV = graph.add("Mul", scores_BV, scale_B1)
        for each in bias:
            scores_BV = graph.add("Add", scores_BV, each)
        return graph.add("LogSoftmax", scores_BV, axis=1)

    def fp32(self, name: str, number: int = 0) -> Name:
        """Return the name of a parameter, or of a matrix of a stack of them, in fp32."""
        return self._fp32[name][number]

    def affine(self, graph: Graph, vectors: Name, weight: Name, bias: Name | None = None) -> Name:
        """Return vectors @ weight.T + bias."""
        return graph.add("Gemm", vectors, weight, *([] if bias is None else [bias]), transB=1)

    def _vectors(self, graph: Graph, word_B: Name) -> Name:
        """Return the word vectors, (B, E)."""
        name = "embedding.weight"
        if not self.eight_bits:
            return graph.add("Gather", graph.constant(self.parameters[name], name), word_B)
        stored_EV, scale_V = self._stored(graph, name)
        rows_BE = graph.add("Transpose", graph.add("Gather", stored_EV, word_B, axis=1), perm=[1, 0])
        rows_BE = graph.add("Sub", graph.add("Cast", rows_BE, to=TensorProto.FLOAT), graph.number(ZERO))
        scale_B1 = graph.add("Unsqueeze", graph.add("Gather", scale_V, word_B), graph.axes(1))
        return graph.add("Mul", rows_BE, scale_B1)

    def _stored(self, graph: Graph, name: str) -> tuple[Name, Name]:
        """Return a word matrix, transposed because the product in whole numbers needs it so, and its scales."""
        if name in graph.constants:
            return name, f"{name}.scale"
        q_VE, scale_V = quantise(self.parameters[name])
        return graph.constant(q_VE.T, name), graph.constant(scale_V, f"{name}.scale")

    def _matrices(self, graph: Graph, name: str) -> list[Name]:
        array = self.parameters[name]
        if array.ndim == 1:
            return [graph.constant(array, name)]
        if name.endswith(".bias"):  # of an rhn, one for each of its levels
            return [graph.constant(row, f"{name}.{number}") for number, row in enumerate(array)]
        stack = array if array.ndim == 3 else array[None]
        return [self._matrix(graph, matrix, f"{name}.{number}") for number, matrix in enumerate(stack)]

    def _matrix(self, graph: Graph, matrix_RC: NDArray[np.float32], name: Name) -> Name:
        if not self.eight_bits:
            return graph.constant(matrix_RC, name)
        q_RC, scale_R = quantise(matrix_RC)
        whole = graph.add("Cast", graph.constant(q_RC, name), to=TensorProto.FLOAT)
        scale_R1 = graph.constant(scale_R[:, None], f"{name}.scale")
        return graph.add("Mul", graph.add("Sub", whole, graph.number(ZERO)), scale_R1)


WORD_MATRICES = ("embedding.weight", "head.weight")
Cell: TypeAlias = Callable[[Network, Graph, str, Name, LayerState], LayerState]


def lstm(network: Network, graph: Graph, layer: str, inputs: Name, state: LayerState) -> LayerState:
    """Add a step of `wordtie.nn.lstm`."""
    hidden, cell = state
    projected = network.affine(graph, inputs, network.fp32(f"{layer}input_weight"), network.fp32(f"{layer}bias"))
    recurrent = network.affine(graph, hidden, network.fp32(f"{layer}recurrent_weight"))
    i, f, g, o = graph.add_several("Split", graph.add("Add", projected, recurrent), axis=1, outputs=4)
    kept = graph.add("Mul", graph.add("Sigmoid", f), cell)
    new = graph.add("Mul", graph.add("Sigmoid", i), graph.add("Tanh", g))
    cell = graph.add("Add", kept, new)
    return graph.add("Mul", graph.add("Sigmoid", o), graph.add("Tanh", cell)), cell


def gru(network: Network, graph: Graph, layer: str, inputs: Name, state: LayerState) -> LayerState:
    """Add a step of `wordtie.nn.gru`."""
    (hidden,) = state
    projected = network.affine(graph, inputs, network.fp32(f"{layer}input_weight"), network.fp32(f"{layer}bias"))
    recurrent = network.affine(graph, hidden, network.fp32(f"{layer}recurrent_weight"))
    r, z, n = graph.add_several("Split", projected, axis=1, outputs=3)
    from_r, from_z, from_n = graph.add_several("Split", recurrent, axis=1, outputs=3)
    r, z = (graph.add("Sigmoid", graph.add("Add", *pair)) for pair in ((r, from_r), (z, from_z)))
    from_n = graph.add("Add", from_n, network.fp32(f"{layer}recurrent_bias"))
    candidate = graph.add("Tanh", graph.add("Add", n, graph.add("Mul", r, from_n)))
    new = graph.add("Mul", graph.add("Sub", graph.number(1), z), candidate)
    return (graph.add("Add", new, graph.add("Mul", z, hidden)),)


def rnn(network: Network, graph: Graph, layer: str, inputs: Name, state: LayerState) -> LayerState:
    """Add a step of `wordtie.nn.rnn`."""
    projected = network.affine(graph, inputs, network.fp32(f"{layer}input_weight"), network.fp32(f"{layer}bias"))
    recurrent = network.affine(graph, state[0], network.fp32(f"{layer}recurrent_weight"))
    return (graph.add("Tanh", graph.add("Add", projected, recurrent)),)


def rhn(network: Network, graph: Graph, layer: str, inputs: Name, state: LayerState) -> LayerState:
    """Add a step of `wordtie.nn.rhn`."""
    (s,) = state
    settings = network.settings
    for level in range(settings.depth):
        weight, bias = network.fp32(f"{layer}recurrent_weight", level), network.fp32(f"{layer}bias", level)
        scores = network.affine(graph, s, weight, bias)
        if level == 0:
            scores = graph.add("Add", scores, network.affine(graph, inputs, network.fp32(f"{layer}input_weight")))
        h, transform, *carry = graph.add_several("Split", scores, axis=1, outputs=2 if settings.coupled_gates else 3)
        transform = graph.add("Sigmoid", transform)
        kept = graph.add("Sigmoid", carry[0]) if carry else graph.add("Sub", graph.number(1), transform)
        s = graph.add("Add", graph.add("Mul", graph.add("Tanh", h), transform), graph.add("Mul", s, kept))
    return (s,)


CELLS: dict[str, Cell] = {"gru": gru, "lstm": lstm, "rhn": rhn, "rnn": rnn}
"""Functions that add a step of a cell, by `model.core`."""


def step_model(settings: ModelSettings, parameters: Parameters, eight_bits: bool = False) -> onnx.ModelProto:
    """Make the graph from `word`, `hidden_0`, `cell_0`, ... to `log_p`, `next_hidden_0`, `next_cell_0`, ..."""
    graph = Graph()
    network = Network(graph, settings, parameters, eight_bits)
    names = network.state_names()
    query_BE, after = network.query(graph, "word", names)
    graph.named(network.log_p(graph, query_BE), "log_p")
    for name, value in zip(names, after, strict=True):
        graph.named(value, f"next_{name}")
    words, hidden = len(parameters["embedding.weight"]), settings.hidden
    state = [value_info(name, TensorProto.FLOAT, ["B", hidden]) for name in names]
    inputs = [value_info("word", TensorProto.INT64, ["B"]), *state]
    outputs = [value_info("log_p", TensorProto.FLOAT, ["B", words])]
    outputs += [value_info(f"next_{name}", TensorProto.FLOAT, ["B", hidden]) for name in names]
    return _model(graph, "step", inputs, outputs)


def nll_model(
    settings: ModelSettings, parameters: Parameters, eos_id: int, eight_bits: bool = False, *, sentences: bool = True
) -> onnx.ModelProto:
    """Make the graph from `x` and `x_lens` to `nll`: -log p of each sentence and of the `<eos>` after it, in nats.

    A model of running text, not of `sentences`, hardly ever saw `<eos>`: then it is left out.
    """
    graph = Graph()
    network = Network(graph, settings, parameters, eight_bits)
    eos = graph.constant(np.array([eos_id], np.int64), "eos_id")
    words_LN = graph.add("Transpose", "x", perm=[1, 0])
    batch = graph.add("Shape", "x_lens")
    one_1N = graph.add("Expand", graph.add("Unsqueeze", eos, graph.axes(0)), _shape(graph, 1, batch))
    before_SN = graph.add("Concat", one_1N, words_LN, axis=0)
    after_SN = graph.add("Concat", words_LN, one_1N, axis=0)
    steps = graph.add("Gather", graph.add("Shape", before_SN), graph.constant(np.array(0, np.int64), "first"))
    ends = [graph.constant(np.array(each, np.int64), f"whole {each}") for each in (0, 1)]
    position_S1 = graph.add("Unsqueeze", graph.add("Range", ends[0], steps, ends[1]), graph.axes(1))
    there_SN = graph.add("LessOrEqual", position_S1, "x_lens")
    inside_SN = graph.add("Less", position_S1, "x_lens")
    after_SN = graph.add("Where", inside_SN, after_SN, eos)  # at the end, and whatever pads the rest
    before_SN = graph.add("Where", there_SN, before_SN, eos)
    weight_SN = graph.add("Cast", there_SN if sentences else inside_SN, to=TensorProto.FLOAT)
    zeros = graph.add("Expand", graph.number(0), _shape(graph, batch, settings.hidden))
    total_N = graph.add("Expand", graph.number(0), batch)
    names = network.state_names()
    body = _sentence_step(graph, network, names)
    given = [*[zeros] * len(names), total_N, before_SN, after_SN, weight_SN]
    *_, total_N = graph.add_several("Scan", *given, body=body, num_scan_inputs=3, outputs=len(names) + 1)
    graph.named(total_N, "nll")
    inputs = [value_info("x", TensorProto.INT64, ["N", "L"]), value_info("x_lens", TensorProto.INT64, ["N"])]
    return _model(graph, "nll", inputs, [value_info("nll", TensorProto.FLOAT, ["N"])])


def _sentence_step(outer: Graph, network: Network, names: Sequence[Name]) -> onnx.GraphProto:
    """Make the graph from state, sum so far, a word, the word after it and whether that counts, to state and sum."""
    graph = Graph(outer)
    query, after = network.query(graph, "word", names)
    log_p = network.log_p(graph, query)
    picked = graph.add("GatherElements", log_p, graph.add("Unsqueeze", "target", graph.axes(1)), axis=1)
    picked = graph.add("Mul", graph.add("Squeeze", picked, graph.axes(1)), "weight")
    for name, value in zip(names, after, strict=True):
        graph.named(value, f"next_{name}")
    graph.named(graph.add("Sub", "total", picked), "next_total")
    state = [value_info(name, TensorProto.FLOAT, None) for name in (*names, "total")]
    words = [value_info(name, TensorProto.INT64, None) for name in ("word", "target")]
    outputs = [value_info(f"next_{name}", TensorProto.FLOAT, None) for name in (*names, "total")]
    inputs = [*state, *words, value_info("weight", TensorProto.FLOAT, None)]
    return helper.make_graph(graph.nodes, "sentence step", inputs, outputs)


def _shape(graph: Graph, *sizes: int | Name) -> Name:
    """Return a shape made of numbers and of one-element lists."""
    parts = [graph.axes(size) if isinstance(size, int) else size for size in sizes]
    return graph.add("Concat", *parts, axis=0)


def value_info(name: Name, kind: int, shape: Sequence[int | str] | None) -> onnx.ValueInfoProto:
    """Describe an input or output."""
    return helper.make_tensor_value_info(name, kind, shape)


def _model(
    graph: Graph, name: str, inputs: Sequence[onnx.ValueInfoProto], outputs: Sequence[onnx.ValueInfoProto]
) -> onnx.ModelProto:
    size = sum(len(each.raw_data) for each in graph.constants.values())
    fits = f"the model has {size / 2**30:.1f} GiB, and an ONNX file holds 2: add --eight-bits, or train a smaller one"
    require(size < MOST_BYTES, fits)
    made = helper.make_graph(graph.nodes, name, inputs, outputs, list(graph.constants.values()))
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="wordtie")
    model.ir_version = IR_VERSION
    onnx.checker.check_model(model)
    return model
