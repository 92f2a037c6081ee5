"""Settings of the noise: which words are replaced during training, and what predicts in the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from wordtie.config.checks import check_types
from wordtie.errors import require


@dataclass(frozen=True)
class NoiseSettings:
    """Data noising (Xie et al. 2017) and variational smoothing (Kong et al. 2019)."""

    kind: Literal["none", "blank", "linear_interpolation", "absolute_discounting", "kneser_ney"] = "none"
    """Rule by which words are replaced at random during training. `blank` puts `<unk>`, `linear_interpolation` draws
    words by their frequency in the text, both at gamma. With the others, a word is replaced more often if more
    different words follow it. `absolute_discounting` draws words by their frequency in the text, `kneser_ney` by how
    many different words they follow."""
    scheme: Literal["data_noising", "variational_smoothing"] = "variational_smoothing"
    """Replace tokens (`data_noising`) or word vectors (`variational_smoothing`). `data_noising` decides token by token.
    `variational_smoothing` draws a word matrix for each stream and window, one for reading and one for scoring, so that
    a word is replaced everywhere in the window or nowhere."""
    elementwise: bool = False
    """Replace each coordinate of a word vector on its own (variational smoothing only)."""
    output_draw: Literal["own", "with_input", "none", "shared", "all"] = "own"
    """Output rows that are drawn: those of targets, alone or with the input, none, or all. `own`: each
    target at its own gamma_i, whatever was read (kong-2019, equations 4 and 5). `with_input`: exactly the targets
    before which the word read was replaced (its section 4.2). `none`: only the input is smoothed (its section 4.1 and
    footnote 6). `shared`: a target has the row with which the same word is read: one draw of both matrices (its
    footnote 2). `all`: all words are drawn, so that those of the normaliser are noised too, once per window for all
    streams. For variational smoothing."""
    drawn_for: Literal["sequence", "token"] = "sequence"
    """Draw a word's vector once for a `sequence` or for each `token` (kong-2019, section 4.1). A sequence is a
    stream's window. For variational smoothing."""
    gamma: float = 0.2
    """Share of words that is replaced, before the kind's own factor (kong-2019: 0.1 to 0.4)."""
    l2: float = 0.0
    """lambda: lambda / 2 times the squared weights is added to the loss. Biases are left out. The loss is summed over
    `steps` and averaged over `streams` (kong-2019: 1e-4, 1e-3). Variational smoothing weighs word vectors by
    `l2_form`."""
    l2_form: Literal["exact", "printed"] = "exact"
    """L2 of smoothed word vectors: `exact` or as `printed`. `exact`: what the variational distribution of the word
    matrix gives, counted once if the matrix is shared. `printed`: the formula of kong-2019, with its sign corrected."""
    prediction: Literal["mean", "mode", "sampling"] | None = None
    """Word vectors that predict: `mean`, `mode` or `sampling`. `mean`: the means of their distributions, folded into
    the exported model: into the word matrix, or into the first layer if only the input is noised and the matrix is
    shared, which takes a kind with one gamma for all words. `mode`: the clean model. `sampling`: the clean model, and
    the figures at the end average `samples` draws. None: mean if input and output are both smoothed, else mode."""
    samples: int = 20
    """Draws over which `sampling` averages the log-likelihood."""
    input_vector_dropout: float = 0.0
    """Share of the coordinates of input vectors that is dropped. One mask per word, stream and window."""
    output_vector_dropout: float = 0.0
    """Share of the coordinates of output vectors that is dropped. One mask of all words per window."""

    def __post_init__(self) -> None:
        check_types(self, "noise")
        require(0 <= self.gamma <= 1, f"noise.gamma is a probability and must be in [0, 1], got {self.gamma}")
        require(self.l2 >= 0, f"noise.l2 must not be negative, got {self.l2}")
        require(self.samples >= 1, f"noise.samples must be at least 1, got {self.samples}")
        for name in ("input_vector_dropout", "output_vector_dropout"):
            value = getattr(self, name)
            require(0 <= value < 1, f"noise.{name} is a dropout rate and must be in [0, 1), got {value}")
        smoothing = self.scheme == "variational_smoothing"
        require(
            not self.elementwise or self.kind in ("linear_interpolation", "absolute_discounting", "kneser_ney"),
            "noise.elementwise needs a distribution to draw words from: set noise.kind to linear_interpolation, "
            f"absolute_discounting or kneser_ney, got {self.kind}",
        )
        require(
            not self.elementwise or smoothing,
            "noise.elementwise makes vectors of many words, which data noising cannot: set noise.scheme to "
            "variational_smoothing",
        )
        require(
            self.output_draw == "own" or self.smooths,
            f"noise.output_draw {self.output_draw} is for variational smoothing: set noise.kind, and noise.scheme to "
            "variational_smoothing",
        )
        require(
            self.drawn_for == "sequence" or self.smooths,
            f"noise.drawn_for {self.drawn_for} is for variational smoothing: set noise.kind, and noise.scheme to "
            "variational_smoothing",
        )
        require(
            not (self.elementwise and self.output_draw == "shared"),
            "noise.output_draw shared draws whole rows: set noise.elementwise to false",
        )
        require(
            not (self.output_draw == "shared" and self.drawn_for == "token"),
            "noise.output_draw shared needs a sequence in which a word is read and predicted: set noise.drawn_for to "
            "sequence",
        )
        require(
            self.kind != "blank" or not smoothing,
            "noise.kind blank has no distribution to smooth with: set noise.scheme to data_noising",
        )
        require(
            self.kind != "none" or self.prediction in (None, "mode"),
            f"noise.prediction {self.prediction} needs a noise.kind",
        )

    @property
    def smooths(self) -> bool:
        """Whether word vectors are drawn."""
        return self.kind != "none" and self.scheme == "variational_smoothing"

    @property
    def noises_inputs_alone(self) -> bool:
        """Whether words are noised where they are read, but not as targets: data noising, except for `kneser_ney`."""
        if self.smooths:
            return self.output_draw == "none"
        return self.kind not in ("none", "kneser_ney")

    @property
    def replaces_all_words_alike(self) -> bool:
        """Whether gamma_i is gamma for every word."""
        return self.kind in ("blank", "linear_interpolation")

    @property
    def predicts_with(self) -> Literal["mean", "mode", "sampling"]:
        """`prediction`, with the default resolved."""
        return self.prediction or self.chooses_with

    @property
    def chooses_with(self) -> Literal["mean", "mode"]:
        """Mode in which validation between epochs predicts; `sampling` is only for the model that is chosen by it."""
        if self.prediction in ("mean", "mode"):
            return self.prediction
        return "mean" if self.smooths and not self.noises_inputs_alone else "mode"
