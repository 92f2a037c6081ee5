"""Settings of the model: word matrix, recurrent core, head, and what is dropped where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from wordtie.config.checks import check_types
from wordtie.errors import require

SHARES = (
    "input_dropout",
    "hidden_dropout",
    "recurrent_dropout",
    "between_dropout",
    "output_dropout",
    "candidate_dropout",
    "word_dropout",
    "weight_drop",
)


MOST_LAYERS = 1000


@dataclass(frozen=True)
class ModelSettings:
    """The language model: word matrix, recurrent core, head."""

    head: Literal["untied", "tied", "tied_linear"] = "tied"
    """`tied`: the word matrix is also the classifier (RE, WT). `tied_linear`: the same after a linear map L, so that
    `hidden` and `embedding` are free (gulordava-2018; with a penalty it is WT + PR of press-wolf-2017). `untied`: a
    second matrix."""
    core: Literal["lstm", "gru", "rnn", "rhn"] = "lstm"
    """The recurrent cell. `rhn`: the recurrent highway network of Zilly et al. 2016."""
    hidden: int = 200
    """H: units a layer."""
    embedding: int | None = None
    """E: size of a word vector. None: as many as `hidden`."""
    layers: int = 2
    """Recurrent layers on top of each other."""
    depth: int = 10
    """Highway layers that an `rhn` passes through at each step."""
    coupled_gates: bool = True
    """The carry gate of an `rhn` is one minus its transform gate."""
    output_bias: bool | None = None
    """A bias per word on the output. None: no when tied (inan-2017), yes when untied, and when tied by a linear map,
    through which what is frequent would be learnt else (press-wolf-2017 has it, and PyTorch's example,
    from which gulordava-2018 starts)."""
    projection: bool = False
    """PR of press-wolf-2017: an `untied` head has a linear map before its matrix, too."""
    projection_bias: bool = False
    """The map has a bias, added to the query: the code that press-wolf-2017 released has one, the papers print none."""
    projection_penalty: float = 0.0
    """lambda: weight of the map's penalty (press-wolf-2017: 0.15), against the loss summed over a window's tokens."""
    projection_form: Literal["squared_norm", "norm"] = "squared_norm"
    """The penalty: `squared_norm` is lambda / 2 * |P|^2, P the map, as the authors released it; `norm` is lambda * |P|,
    as the paper prints it."""
    dropout: Literal["inan", "gal", "zaremba"] = "inan"
    """Where a layer's h is dropped. `inan`: one mask per stream and window, for what recurs and what goes up alike.
    `gal`: the same, with masks of their own for what recurs and for what goes up. `zaremba`: a new mask at every step,
    for what goes up alone."""
    input_dropout: float = 0.0
    """Share of a layer-1 input vector that is dropped; masks live as long as `dropout` says. Small tied models
    learn faster without at first, and end better with it."""
    hidden_dropout: float = 0.3
    """Share of each layer's h that is dropped, where it recurs and where it feeds the next layer or the head."""
    recurrent_dropout: float | None = None
    """Share of h that is dropped where it recurs (`gal`). None: as `hidden_dropout`."""
    between_dropout: float | None = None
    """Share of h that is dropped where it feeds the next layer (`gal`, `zaremba`). None: as `hidden_dropout`."""
    output_dropout: float | None = None
    """Share of h that is dropped where it feeds the head (`gal`, `zaremba`). None: as `hidden_dropout`."""
    candidate_dropout: float = 0.0
    """Share of the cell's candidate update that is dropped, anew at every step (Semeniuta et al. 2016)."""
    word_dropout: float = 0.0
    """Share of words that are read as zero: a word in a stream's window everywhere, or nowhere (Gal 2016)."""
    weight_drop: float = 0.0
    """Share of the recurrent weights that is dropped, anew for each window (AWD-LSTM, Merity et al. 2018)."""
    init: float = 0.1
    """Parameters start uniform in (-init, init)."""
    core_init: float | None = None
    """The same for everything but the word matrices, where it differs: 1 / sqrt(hidden) in PyTorch's example."""
    forget_bias: float = 0.0
    """Added to the forget gate's bias of an `lstm` at the start."""
    transform_bias: float = -2.0
    """Added to the transform gates' biases of an `rhn` at the start."""
    unit_rows: bool = False
    """Hold every row of the word matrix at norm 1 (inan-2017, section 6.2)."""

    def __post_init__(self) -> None:
        check_types(self, "model")
        for name in ("hidden", "layers", "depth"):
            require(getattr(self, name) >= 1, f"model.{name} must be at least 1, got {getattr(self, name)}")
        for name in ("layers", "depth"):  # a module each: what has many more is never built
            value = getattr(self, name)
            require(value <= MOST_LAYERS, f"model.{name} must be at most {MOST_LAYERS}, got {value}")
        require(self.embedding is None or self.embedding >= 1, f"model.embedding must be >= 1, got {self.embedding}")
        for name in SHARES:
            value = getattr(self, name)
            fits = value is None or 0 <= value < 1
            require(fits, f"model.{name} is the share dropped and must be in [0, 1), got {value}")
        for name in ("init", "core_init"):
            value = getattr(self, name)
            require(value is None or value > 0, f"model.{name} must be positive, got {value}")
        self._check_head()
        self._check_dropout()

    def _check_head(self) -> None:
        require(
            self.head != "tied" or self.embedding_size == self.hidden,
            f"a tied head needs model.embedding = model.hidden, got {self.embedding_size} and {self.hidden}: "
            "set model.head to tied_linear",
        )
        require(
            self.head == "untied" or not self.projection,
            "model.projection is for the untied head: set model.head to tied_linear to have one when tied",
        )
        require(
            not self.projection_bias or self.has_projection,
            f"model.projection_bias needs a linear map: {self._to_have_a_map}",
        )
        require(self.projection_penalty >= 0, f"model.projection_penalty must be >= 0, got {self.projection_penalty}")
        require(
            self.projection_penalty == 0 or self.has_projection,
            f"model.projection_penalty needs a linear map: {self._to_have_a_map}",
        )

    def _check_dropout(self) -> None:
        for name in ("recurrent_dropout", "between_dropout", "output_dropout"):
            require(
                self.dropout != "inan" or getattr(self, name) is None,
                f"model.{name} needs masks of its own: set model.dropout to gal",
            )
        require(
            self.dropout != "zaremba" or not self.recurrent_dropout,
            "model.recurrent_dropout: zaremba's dropout leaves alone what recurs: set model.dropout to gal",
        )
        require(
            self.candidate_dropout == 0 or self.core != "rnn",
            "model.candidate_dropout needs a gate beside the candidate, which a plain rnn has not: take another core",
        )

    @property
    def embedding_size(self) -> int:
        """E, with the default resolved."""
        return self.hidden if self.embedding is None else self.embedding

    @property
    def has_output_bias(self) -> bool:
        """Whether the output has a bias, with the default resolved."""
        return self.head != "tied" if self.output_bias is None else self.output_bias

    @property
    def _to_have_a_map(self) -> str:
        return "set model.head to tied_linear" if self.head == "tied" else "set model.projection"

    @property
    def has_projection(self) -> bool:
        """Whether a linear map stands between the core and the output matrix."""
        return self.projection or self.head == "tied_linear"
