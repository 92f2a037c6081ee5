"""Values that `wordtie train TEXT` takes for settings that are not given: the recommended recipe.

The defaults of the dataclasses are those of the papers, on which the rows of `wordtie reproduce` are based. The recipe
learns most of a text in the minutes that a person waits; `wordtie.training.plan` fits it to text, machine and time. It
was chosen on the validation texts of Penn Treebank, the State of the Union and WikiText-2.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

_ADAM = {
    "training.lr": 0.003,
    "training.word_rate": 10.0,
    "training.beta1": 0.8,
    "training.warmup": 50,
    "training.clip": 32.0,
    "training.streams": 32,
    "training.steps": 32,
    "training.schedule": "plateau",
    "training.decay": 0.3,
    "training.patience": 3,
}
"""Settings that belong to the optimiser: another one needs other rates and clipping."""
_DROPOUT = {"model.input_dropout": 0.3, "model.hidden_dropout": 0.3}
"""Settings that belong to the masks that `model.dropout` chooses."""

RECOMMENDED: dict[str, Any] = {
    "model.head": "tied_linear",
    "model.hidden": 320,
    "model.embedding": 160,
    "model.layers": 1,
    "model.bias_init": "unigram",
    "model.forget_bias": 1.0,
    "model.dropout": "zaremba",
    **_DROPOUT,
    "loss.kind": "cross_entropy",
    "loss.softmax": "sampled",
    "loss.samples": 1024,
    "loss.full_at_end": 0.0,
    "training.optimiser": "adam",
    **_ADAM,
}
"""`section.name` to value; without a time, training stops when validation no longer improves."""

ADAPTING_RATE = 0.001
"""Learning rate of Adam for a model that extends another; benchmarks/adapting.py compares it with the recipe's."""

BUDGET = (
    "training.tokens", "training.validations", "training.measured_tokens", "training.threads",
    "noise.kind", "noise.scheme", "noise.gamma",
)  # fmt: skip
"""Settings that a plan for a time sets in addition."""
_TOGETHER: dict[str, Collection[str]] = {
    "training.optimiser": _ADAM,
    "model.dropout": _DROPOUT,
    "model.head": ("model.embedding", "model.bias_init"),
    "model.hidden": ("model.embedding",),
    "model.core": ("model.forget_bias",),
    "loss.kind": ("loss.softmax", "loss.samples", "loss.full_at_end"),
    "loss.softmax": ("loss.samples", "loss.full_at_end"),
    "training.schedule": ("training.decay", "training.patience", "training.warmup"),
    "training.tokens": ("training.schedule", "training.decay", "training.patience"),
    "training.start_from": ("model.bias_init", "model.forget_bias"),
}
"""Setting to those that were chosen with it: the recipe does not set them if it is given another value."""


def rate_to_extend(given: Mapping[str, Any]) -> dict[str, float]:
    """Return the learning rate for a model that extends another; none if it is given, or for another optimiser.

    >>> rate_to_extend({}), rate_to_extend({"training.optimiser": "sgd"})
    ({'training.lr': 0.001}, {})
    """
    adam = RECOMMENDED["training.optimiser"]
    own = "training.lr" in given or given.get("training.optimiser", adam) != adam
    return {} if own else {"training.lr": ADAPTING_RATE}


def recommended(given: Mapping[str, Any], chosen: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the recipe's values for settings that were not given. `chosen`: values that a plan has in their place.

    >>> "training.lr" in recommended({"training.optimiser": "sgd"}), "training.lr" in recommended({"model.hidden": 400})
    (False, True)
    >>> "training.lr" in recommended({"training.optimiser": "adam"})
    True
    """
    planned = RECOMMENDED | dict(chosen or {})
    other = (name for name, value in given.items() if name not in RECOMMENDED or value != planned[name])
    left = {*given, *(name for each in other for name in _TOGETHER.get(each, ()))}
    return {name: value for name, value in RECOMMENDED.items() if name not in left}
