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
    """Output matrix: `tied`, `tied_linear` (by a linear map) or `untied`. `tied` is the word matrix itself (RE of
    inan-2017, WT of press-wolf-2017). `tied_linear` frees `hidden` and `embedding` from each other (gulordava-2018;
    with a penalty it is WT + PR of press-wolf-2017). `untied` has a second matrix."""
    core: Literal["lstm", "gru", "rnn", "rhn"] = "lstm"
    """The recurrent cell: `lstm`, `gru`, `rnn` or `rhn`. `rhn` is the recurrent highway network of Zilly et al.
    2016."""
    hidden: int = 200
    """H: units per layer."""
    embedding: int | None = None
    """E: size of a word vector. None: the same as `hidden`."""
    layers: int = 2
    """Recurrent layers on top of each other."""
    depth: int = 10
    """Highway layers that an `rhn` passes through at each step."""
    coupled_gates: bool = True
    """Set the carry gate of an `rhn` to one minus its transform gate."""
    output_bias: bool | None = None
    """Add a bias per word to the output. None: not if tied (inan-2017), yes if untied, and yes if tied by a linear map,
    which would otherwise have to learn word frequencies (press-wolf-2017 has the bias, and so has PyTorch's example,
    from which gulordava-2018 starts)."""
    projection: bool = False
    """Put a linear map before the matrix of an `untied` head (PR of press-wolf-2017)."""
    projection_bias: bool = False
    """Add a bias to the linear map. The code that press-wolf-2017 released has one, the papers print none."""
    projection_penalty: float = 0.0
    """lambda: weight of the penalty on the linear map (press-wolf-2017: 0.15). It is weighed against the loss summed
    over a window's tokens."""
    projection_form: Literal["squared_norm", "norm"] = "squared_norm"
    """Form of `projection_penalty`: `squared_norm` or `norm`. `squared_norm` is lambda / 2 * |P|^2, P the map, as the
    authors released it; `norm` is lambda * |P|, as the paper prints it."""
    dropout: Literal["inan", "gal", "zaremba"] = "inan"
    """Dropout masks for a layer's h: `inan`, `gal` or `zaremba`. `inan`: one mask per stream and window, the same for
    the next step and the next layer. `gal`: one mask per stream and window for the next step, another for the next
    layer. `zaremba`: a new mask at every step, for the next layer only."""
    input_dropout: float = 0.0
    """Share of layer 1's input vectors that is dropped. Masks live as long as `dropout` says. Small tied models learn
    faster without it at first, and end better with it."""
    hidden_dropout: float = 0.3
    """Share of each layer's h that is dropped for next step, layer or head."""
    recurrent_dropout: float | None = None
    """Share of h that is dropped for the next step (`gal`). None: the same as `hidden_dropout`."""
    between_dropout: float | None = None
    """Share of h that is dropped for the next layer (`gal`, `zaremba`). None: the same as `hidden_dropout`."""
    output_dropout: float | None = None
    """Share of h that is dropped for the head (`gal`, `zaremba`). None: the same as `hidden_dropout`."""
    candidate_dropout: float = 0.0
    """Share of the cell's candidate update that is dropped, with a new mask at each step. The method of Semeniuta et
    al. 2016."""
    word_dropout: float = 0.0
    """Share of words that are read as zero, everywhere in a stream's window. The method of Gal 2016."""
    weight_drop: float = 0.0
    """Share of the recurrent weights that is dropped, with a new mask for each window. The method of AWD-LSTM (Merity
    et al. 2018)."""
    init: float = 0.1
    """Parameters start uniform in (-init, init)."""
    core_init: float | None = None
    """The same bound as `init`, for all but the word matrices. None: `init`. PyTorch's example has 1 / sqrt(hidden)."""
    bias_init: Literal["zero", "unigram"] = "zero"
    """Initial output bias: `zero` or the log `unigram` distribution. With the latter, the model knows word frequencies
    before its first step."""
    forget_bias: float = 0.0
    """Number added to the initial bias of an `lstm`'s forget gate."""
    transform_bias: float = -2.0
    """Number added to the initial biases of an `rhn`'s transform gates."""
    unit_rows: bool = False
    """Keep every row of the word matrix at norm 1 (inan-2017, section 6.2)."""

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
            require(fits, f"model.{name} is a dropout rate and must be in [0, 1), got {value}")
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
