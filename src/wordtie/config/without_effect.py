"""Settings that were set and change nothing, because another one leaves them unused.

They are not refused: a recipe whose loss or noise is replaced may keep the numbers of the old one.
"""

from __future__ import annotations

from collections.abc import Callable

from wordtie.config import Settings

Condition = Callable[[Settings], bool]

USED: dict[str, tuple[Condition, str]] = {
    **dict.fromkeys(("noise.scheme", "noise.gamma"), (lambda s: s.noise.kind != "none", "noise.kind none")),
    **dict.fromkeys(
        ("loss.temperature", "loss.gamma", "loss.form", "loss.beta", "loss.gradient_through_target"),
        (lambda s: s.loss.kind != "cross_entropy", "loss.kind cross_entropy"),
    ),
    "model.forget_bias": (lambda s: s.model.core == "lstm", "a core that is no lstm"),
    **dict.fromkeys(
        ("model.depth", "model.coupled_gates", "model.transform_bias"),
        (lambda s: s.model.core == "rhn", "a core that is no rhn"),
    ),
    "training.decay_after": (lambda s: s.training.schedule == "epoch", "training.schedule plateau"),
    "training.beta1": (lambda s: s.training.optimiser == "adam", "an optimiser that is not adam"),
    "training.beta2": (lambda s: s.training.optimiser != "sgd", "training.optimiser sgd"),
}
"""`section.name` to when it is used, and what leaves it unused."""


def without_effect(settings: Settings) -> list[str]:
    """A line for each setting that differs from its default and is not used."""
    defaults = Settings()
    found = []
    for name, (is_used, why) in USED.items():
        section, field = name.split(".")
        value = getattr(getattr(settings, section), field)
        if value != getattr(getattr(defaults, section), field) and not is_used(settings):
            found.append(f"{name} {value} has no effect with {why}")
    return found
