"""A language model in numpy alone, as a `NextWordModel`: for short inputs, which are read before torch is imported.

The equations are those of `wordtie.nn` and `wordtie.heads`, without dropout; the parameters are those of
`LanguageModel`, by the same names. Scores agree with those of `wordtie.models.network` to float32 rounding.

Shapes: T steps, B streams, N tokens, V words, E embedding size, H units, G gate rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordtie.config import ModelSettings
from wordtie.data.batches import PADDING, Ids
from wordtie.data.vocabulary import Vocabulary
from wordtie.models.next_word import SMALLEST_LOG_P, Floats, Nats

Array: TypeAlias = NDArray[np.float32]
LayerState: TypeAlias = tuple[Array, ...]
"""(h,), or (h, c) of an LSTM, each (B, H)."""
CoreState: TypeAlias = tuple[LayerState, ...]
"""One state per layer."""
Parameters: TypeAlias = Mapping[str, Array]
Cell: TypeAlias = Callable[[Parameters, Array, LayerState], LayerState]
"""One step of a layer: (its parameters, the projected input (B, G), its state) -> its next state."""

SCORES_AT_ONCE = 2_000_000
"""Scores (tokens x vocabulary) in memory at a time."""


def sigmoid(x: Array) -> Array:
    """Return 1 / (1 + e^-x), by the hyperbolic tangent, which does not overflow."""
    half: Array = 0.5 * np.tanh(0.5 * x) + np.float32(0.5)
    return half


def lstm(layer: Parameters, projected_BG: Array, state: LayerState) -> LayerState:
    """One step of `wordtie.nn.lstm`."""
    hidden, cell = state
    i, f, g, o = np.split(projected_BG + hidden @ layer["recurrent_weight"].T, 4, axis=1)
    cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(cell), cell


def gru(layer: Parameters, projected_BG: Array, state: LayerState) -> LayerState:
    """One step of `wordtie.nn.gru`."""
    (hidden,) = state
    r, z, n = np.split(projected_BG, 3, axis=1)
    from_r, from_z, from_n = np.split(hidden @ layer["recurrent_weight"].T, 3, axis=1)
    candidate = np.tanh(n + sigmoid(r + from_r) * (from_n + layer["recurrent_bias"]))
    z = sigmoid(z + from_z)
    return ((1 - z) * candidate + z * hidden,)


def rnn(layer: Parameters, projected_BG: Array, state: LayerState) -> LayerState:
    """One step of `wordtie.nn.rnn`."""
    return (np.tanh(projected_BG + state[0] @ layer["recurrent_weight"].T),)


def rhn(layer: Parameters, projected_BG: Array, state: LayerState) -> LayerState:
    """One step of `wordtie.nn.rhn`, with coupled gates if there are the rows of two."""
    (s,) = state
    gates = projected_BG.shape[1] // s.shape[1]
    for level, (weight, bias) in enumerate(zip(layer["recurrent_weight"], layer["bias"], strict=True)):
        scores_BG = s @ weight.T + bias
        if level == 0:
            scores_BG = scores_BG + projected_BG
        h, transform, *carry = np.split(scores_BG, gates, axis=1)
        transform = sigmoid(transform)
        s = np.tanh(h) * transform + s * (sigmoid(carry[0]) if carry else 1 - transform)
    return (s,)


CELLS: dict[str, Cell] = {"gru": gru, "lstm": lstm, "rhn": rhn, "rnn": rnn}
"""Cells by `model.core`."""
GATES = {"gru": 3, "lstm": 4, "rnn": 1}
STATE_PARTS = {"lstm": 2}


def parameter_shapes(settings: ModelSettings, words: int) -> dict[str, tuple[int, ...]]:
    """Return the name and shape of each parameter of a `LanguageModel`."""
    hidden, size = settings.hidden, settings.embedding_size
    shapes: dict[str, tuple[int, ...]] = {"embedding.weight": (words, size)}
    for number in range(settings.layers):
        inputs, layer = size if number == 0 else hidden, f"core.layers.{number}."
        gates = (2 if settings.coupled_gates else 3) if settings.core == "rhn" else GATES[settings.core]
        levels = (settings.depth,) if settings.core == "rhn" else ()
        shapes[f"{layer}input_weight"] = (gates * hidden, inputs)
        shapes[f"{layer}recurrent_weight"] = (*levels, gates * hidden, hidden)
        shapes[f"{layer}bias"] = (*levels, gates * hidden)
        if settings.core == "gru":
            shapes[f"{layer}recurrent_bias"] = (hidden,)
    if settings.head == "untied":
        shapes["head.weight"] = (words, size if settings.has_projection else hidden)
    if settings.has_output_bias:
        shapes["head.bias"] = (words,)
    if settings.has_projection:
        shapes["head.projection.weight"] = (hidden, size)
    if settings.projection_bias:
        shapes["head.projection.bias"] = (size,)
    return shapes


@dataclass(frozen=True)
class NumpyState:
    """What streams have read: the core's state before their last word, and that word, which is read when its successor
    is asked for."""

    core: CoreState
    last_B: NDArray[np.int64]


class NumpyNetwork:
    """A language model and its vocabulary."""

    def __init__(self, settings: ModelSettings, parameters: Parameters, vocabulary: Vocabulary) -> None:
        """Take parameters that have `parameter_shapes`."""
        self.settings = settings
        self.vocabulary = vocabulary
        self.parameters = parameters
        self.word_matrix_VE = parameters["embedding.weight"]
        self.output_matrix_VE = parameters.get("head.weight", self.word_matrix_VE)
        prefixes = [f"core.layers.{number}." for number in range(settings.layers)]
        self._layers = [
            {name.removeprefix(prefix): array for name, array in parameters.items() if name.startswith(prefix)}
            for prefix in prefixes
        ]
        self._last: tuple[NumpyState, tuple[Array, CoreState]] | None = None

    def parameter_count(self) -> int:
        """Return the number of trained parameters."""
        return sum(array.size for array in self.parameters.values())

    def initial_state(self, streams: int) -> NumpyState:
        """Return the state of streams whose last word is `<eos>`, and which have read nothing before."""
        zeros = np.zeros((streams, self.settings.hidden), np.float32)
        parts = STATE_PARTS.get(self.settings.core, 1)
        core = ((zeros,) * parts,) * self.settings.layers
        return NumpyState(core, np.full(streams, self.vocabulary.eos_id, np.int64))

    def score(self, ids_TB: Ids, state: NumpyState, entropy: bool = False) -> tuple[Nats, Nats | None, NumpyState]:
        """Return (log p of each id, entropies if asked, the state after them); 0 where the id is `PADDING`."""
        query_NE, state = self._read(ids_TB, state)
        return *self._scores(ids_TB, query_NE, entropy), state

    def score_with_queries(self, ids_TB: Ids, state: NumpyState) -> tuple[Nats, Array, NumpyState]:
        """Return (log p of each id, like `score`; the vector from which it is predicted, (T, B, E); the state after
        them), in one pass over the ids."""
        query_NE, state = self._read(ids_TB, state)
        return self._scores(ids_TB, query_NE)[0], query_NE.reshape(*ids_TB.shape, query_NE.shape[1]), state

    def _scores(self, ids_TB: Ids, query_NE: Array, entropy: bool = False) -> tuple[Nats, Nats | None]:
        """Return (log p of each id, entropies if asked), from the queries of all."""
        there_TB = ids_TB != PADDING
        log_p_TB, entropy_TB = np.zeros(ids_TB.shape), np.zeros(ids_TB.shape) if entropy else None
        query_NE, targets_N = query_NE[there_TB.reshape(-1)], ids_TB[there_TB]
        log_p_N, entropy_N = np.zeros(len(targets_N)), np.zeros(len(targets_N))
        rows = max(1, SCORES_AT_ONCE // len(self.vocabulary))
        for first in range(0, len(targets_N), rows):
            here = slice(first, first + rows)
            log_p_NV = self._log_p(query_NE[here])
            log_p_N[here] = log_p_NV[np.arange(len(log_p_NV)), targets_N[here]]
            if entropy:
                entropy_N[here] = -(np.exp(log_p_NV) * log_p_NV).sum(1)  # pairwise: einsum's sum is less exact
        log_p_TB[there_TB] = log_p_N
        if entropy_TB is not None:
            entropy_TB[there_TB] = entropy_N
        return log_p_TB, entropy_TB

    def distributions(self, ids_TB: Ids, state: NumpyState) -> tuple[Floats, NumpyState]:
        """Return (p of every word before each id is read, (T, B, V); the state after them)."""
        query_NE, state = self._read(ids_TB, state)
        log_p_NV: Floats = self._log_p(query_NE)
        if len(log_p_NV) and log_p_NV.min() < SMALLEST_LOG_P:
            log_p_NV = log_p_NV.astype(np.float64)
        p_NV = np.exp(log_p_NV)
        return p_NV.reshape(*ids_TB.shape, len(self.vocabulary)), state

    def next(self, state: NumpyState) -> Array:
        """Return log p of every word, (B, V)."""
        return self._log_p(self._after_last(state)[0])

    def advance(self, ids_TB: Ids, state: NumpyState) -> NumpyState:
        """Return the state after these words."""
        return self._read(ids_TB, state)[1]

    def select(self, state: NumpyState, streams: Sequence[int] | NDArray[np.intp]) -> NumpyState:
        """Return the state of these streams."""
        index = np.asarray(streams, np.intp)
        return NumpyState(tuple(tuple(part[index] for part in layer) for layer in state.core), state.last_B[index])

    def queries(self, ids_TB: Ids, state: NumpyState) -> tuple[Array, NumpyState]:
        """Return (the vector from which each id is predicted, (T, B, E); the state after them)."""
        query_NE, state = self._read(ids_TB, state)
        return query_NE.reshape(*ids_TB.shape, query_NE.shape[1]), state

    def _read(self, ids_TB: Ids, state: NumpyState) -> tuple[Array, NumpyState]:
        """Return (queries (N, E) that predict each id, the state after them). The last id is not read yet."""
        if not len(ids_TB):
            return self.output_matrix_VE[:0], state
        words_TB = np.where(ids_TB == PADDING, self.vocabulary.eos_id, ids_TB).astype(np.int64)
        query_NE, core = self._after_last(state)
        if len(words_TB) > 1:
            rest_NE, core = self._forward(words_TB[:-1], core)
            query_NE = np.concatenate([query_NE, rest_NE])
        return query_NE, NumpyState(core, words_TB[-1])

    def _after_last(self, state: NumpyState) -> tuple[Array, CoreState]:
        """Return the query (B, E) and the core's state after the last word. They are kept, because `next` is often
        followed by another call from the same state."""
        last = self._last  # taken once: several threads may ask
        if last is None or last[0] is not state:
            self._last = last = state, self._forward(state.last_B[None], state.core)
        return last[1]

    def _forward(self, ids_TB: NDArray[np.int64], core: CoreState) -> tuple[Array, CoreState]:
        """Return queries (N, E) after each word, and the core's state after the last."""
        outputs_TBH, new_core = self.word_matrix_VE[ids_TB], []
        cell = CELLS[self.settings.core]
        for layer, layer_state in zip(self._layers, core, strict=True):
            projected_TBG = outputs_TBH @ layer["input_weight"].T
            if layer["bias"].ndim == 1:  # that of an rhn is added at each of its levels
                projected_TBG += layer["bias"]
            steps = []
            for projected_BG in projected_TBG:
                layer_state = cell(layer, projected_BG, layer_state)
                steps.append(layer_state[0])
            outputs_TBH = np.stack(steps)
            new_core.append(layer_state)
        query_NE = outputs_TBH.reshape(-1, outputs_TBH.shape[-1])
        if "head.projection.weight" in self.parameters:
            query_NE = query_NE @ self.parameters["head.projection.weight"]
        if "head.projection.bias" in self.parameters:
            query_NE = query_NE + self.parameters["head.projection.bias"]
        return query_NE, tuple(new_core)

    def _log_p(self, query_NE: Array) -> Array:
        """Return log p of every word, (N, V)."""
        scores_NV: Array = query_NE @ self.output_matrix_VE.T
        if "head.bias" in self.parameters:
            scores_NV += self.parameters["head.bias"]
        scores_NV -= scores_NV.max(1, keepdims=True)
        scores_NV -= np.log(np.exp(scores_NV).sum(1, keepdims=True))
        return scores_NV
