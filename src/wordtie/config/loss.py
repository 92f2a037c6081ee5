"""Settings of the loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from wordtie.config.checks import check_types
from wordtie.errors import require

AUGMENTED = ("augmented", "augmented_2016")
"""The kinds that have a `form`."""


@dataclass(frozen=True)
class LossSettings:
    """Cross-entropy, or cross-entropy plus one of the augmented losses."""

    kind: Literal["cross_entropy", "augmented", "augmented_2016", "interpolated"] = "augmented"
    """The loss: cross-entropy, alone or with a pull towards similar words. `augmented`: that of inan-2017.
    `augmented_2016`: that of the report before it, without a temperature and with the output bias in the prediction.
    `interpolated`: inan-2017's equation 6.1, beta * tau^2 * V * divergence + (1 - beta) * cross-entropy."""
    temperature: float = 20.0
    """tau: how far similarity spreads (inan-2017: 20). `augmented_2016` does not use it."""
    gamma: float | None = None
    """Weight of the pull towards similar words. In inan-2017 0.5 to 0.8 on PTB, 1.0 to 1.5 on WikiText-2. For
    `augmented_2016` this is its alpha (0.15 to 0.35). None: 0.65, for `augmented_2016` 0.3."""
    form: Literal["kl", "cross_entropy"] = "kl"
    """Distance between prediction and similar words: `kl` or `cross_entropy`. KL(similar || prediction), or the
    cross-entropy between them, which leaves out the entropy of the similar words."""
    beta: float = 0.5
    """Share of the divergence in `interpolated`."""
    gradient_through_target: bool | Literal["entropy"] = True
    """Let the similarity estimate learn from this loss, as the 2016 report implies for KL. `entropy`: from its entropy
    alone, as in the code that the authors of inan-2017 released; `form` cross_entropy has none."""

    softmax: Literal["full", "sampled"] = "full"
    """Words that a training step normalises over: all (`full`) or a sample (`sampled`). A sample has the window's
    targets and some other words, so that a step does not cost more for a larger vocabulary. Measures use all words."""
    samples: int = 512
    """Words in a window's sample, on average. More of them come closer to the full softmax, and cost more."""
    full_at_end: float = 0.0
    """Share of the training, at its end, in which a `sampled` softmax is over all words. This takes longer, and a model
    that has seen the exact normaliser last predicts better."""
    power: float = 0.75
    """Exponent of the counts by which words are drawn: count ** power. 1: by their frequency in the training text, 0:
    all with the same probability."""
    label_smoothing: float = 0.0
    """Share of the target's probability that is spread evenly over all words (Szegedy et al. 2016). Perplexities of the
    training text leave it out."""

    def __post_init__(self) -> None:
        check_types(self, "loss")
        require(self.samples >= 1, f"loss.samples must be at least 1, got {self.samples}")
        require(
            0 <= self.full_at_end <= 1, f"loss.full_at_end is a share and must be in [0, 1], got {self.full_at_end}"
        )
        require(
            self.full_at_end == 0 or self.softmax == "sampled",
            "loss.full_at_end: the softmax is full all the time: set loss.softmax to sampled",
        )
        require(0 <= self.power <= 1, f"loss.power must be in [0, 1], got {self.power}")
        require(
            self.softmax == "full" or self.kind != "augmented_2016",
            "loss.softmax sampled: augmented_2016 compares the whole prediction with the similar words: set loss.kind "
            "to augmented",
        )
        require(
            self.softmax == "full" or self.kind != "interpolated",
            "loss.softmax sampled: interpolated weighs the divergence by the number of all words: set loss.kind to "
            "augmented",
        )
        require(
            0 <= self.label_smoothing < 1,
            f"loss.label_smoothing is a share and must be in [0, 1), got {self.label_smoothing}",
        )
        require(
            self.label_smoothing == 0 or (self.softmax == "full" and self.kind != "interpolated"),
            "loss.label_smoothing is over all words, beside the cross-entropy: set loss.softmax to full, and loss.kind "
            "to cross_entropy or augmented",
        )
        require(self.temperature > 0, f"loss.temperature must be positive, got {self.temperature}")
        require(self.weight >= 0, f"loss.gamma must not be negative, got {self.gamma}")
        require(0 <= self.beta <= 1, f"loss.beta is a share and must be in [0, 1], got {self.beta}")
        require(
            self.gradient_through_target != "entropy" or self.form == "kl" or self.kind not in AUGMENTED,
            f"loss.gradient_through_target entropy: loss.form {self.form} has no entropy in it: take form kl, or "
            "gradient_through_target false",
        )

    @property
    def weight(self) -> float:
        """`gamma`, or its default if it is not given."""
        return (0.3 if self.kind == "augmented_2016" else 0.65) if self.gamma is None else self.gamma
