"""Settings that were set and change nothing, because another one leaves them unused.

They are not refused: a recipe whose loss or noise is replaced may keep the numbers of the old one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from wordtie.config import Settings, TranslationSettings
from wordtie.config.loss import AUGMENTED
from wordtie.config.paths import path_of

Condition = Callable[[Settings], bool]


def _loss_is(*kinds: str) -> tuple[Condition, str]:
    return lambda s: s.loss.kind in kinds, "loss.kind {loss.kind}"


def _some_place_is_left_to_it(settings: Settings) -> bool:
    """Return whether `hidden_dropout` applies to a place that has no share of its own."""
    model = settings.model
    own = [model.output_dropout]
    if model.layers > 1:
        own.append(model.between_dropout)
    if model.dropout == "gal":
        own.append(model.recurrent_dropout)
    return model.dropout == "inan" or None in own


USED: dict[str, tuple[Condition, str]] = {
    **dict.fromkeys(("noise.scheme", "noise.gamma"), (lambda s: s.noise.kind != "none", "noise.kind none")),
    "noise.samples": (lambda s: s.noise.predicts_with == "sampling", "a noise.prediction that is not sampling"),
    "noise.l2_form": (lambda s: s.noise.smooths and s.noise.l2 > 0, "no variational smoothing, or noise.l2 0"),
    "loss.temperature": _loss_is("augmented", "interpolated"),
    "loss.gamma": _loss_is(*AUGMENTED),
    "loss.form": _loss_is(*AUGMENTED),
    **dict.fromkeys(("loss.samples", "loss.power"), (lambda s: s.loss.softmax == "sampled", "loss.softmax full")),
    "loss.beta": _loss_is("interpolated"),
    "loss.gradient_through_target": _loss_is(*AUGMENTED, "interpolated"),
    "model.projection_form": (lambda s: s.model.projection_penalty > 0, "model.projection_penalty 0"),
    "model.between_dropout": (lambda s: s.model.layers > 1, "model.layers 1"),
    "model.hidden_dropout": (_some_place_is_left_to_it, "a share of its own for each place"),
    "model.forget_bias": (lambda s: s.model.core == "lstm", "a core that is no lstm"),
    **dict.fromkeys(
        ("model.depth", "model.coupled_gates", "model.transform_bias"),
        (lambda s: s.model.core == "rhn", "a core that is no rhn"),
    ),
    "data.split": (lambda s: path_of(s.data.corpus).is_file(), "a text whose parts are given"),
    "training.decay_after": (lambda s: s.training.schedule == "epoch", "training.schedule {training.schedule}"),
    "training.decay": (lambda s: s.training.schedule != "cosine", "training.schedule cosine"),
    "training.rehearsal": (lambda s: s.data.extends is not None, "no --extend-vocabulary"),
    "training.max_forgetting": (
        lambda s: s.data.extends is not None and s.training.start_from is not None and s.training.rehearsal > 0,
        "no --extend-vocabulary, or with --rehearsal 0",
    ),
    "training.new_words": (
        lambda s: s.data.extends is not None and s.training.start_from is not None,
        "no --extend-vocabulary",
    ),
    "training.epochs": (lambda s: s.training.tokens is None, "training.tokens"),
    "model.bias_init": (lambda s: s.model.has_output_bias, "no output bias"),
    "training.beta1": (lambda s: s.training.optimiser == "adam", "an optimiser that is not adam"),
    "training.beta2": (lambda s: s.training.optimiser != "sgd", "training.optimiser sgd"),
}
"""`section.name` to the condition under which it is used, and to what otherwise leaves it unused."""
AT_THE_START: dict[str, tuple[Condition, str]] = dict.fromkeys(
    ("model.init", "model.core_init", "model.bias_init", "model.forget_bias", "model.transform_bias"),
    (lambda s: s.training.start_from is None, "training.start_from, whose parameters are taken over"),
)
"""The same for settings that shape only the parameters that a run starts with."""


COLUMNS = ("source_column", "target_column")


def unused(section: str, settings: object, why: Mapping[str, str]) -> list[str]:
    """Return a line for each unused setting of a section that differs from its default; `why` has the unused ones."""
    defaults = type(settings)()
    differing = [name for name in why if getattr(settings, name) != getattr(defaults, name)]
    return [f"{section}.{name} {getattr(settings, name)} has no effect with {why[name]}" for name in differing]


def unused_settings(settings: Settings) -> list[str]:
    """Return a line for each setting that differs from its default and is not used."""
    uses = [*AT_THE_START.items(), *USED.items()]
    reasons = {name: why for name, (is_used, why) in uses if not is_used(settings)}  # one for each: the last
    found = []
    for name, why in reasons.items():
        section, _, field = name.partition(".")
        found += unused(
            section, getattr(settings, section), {field: why.format(loss=settings.loss, training=settings.training)}
        )
    return found


def unused_translation_settings(settings: TranslationSettings, is_split: bool) -> list[str]:
    """Return the same for a translation model. `is_split`: whether its pairs are those of a table, which is split."""
    loss, noise, training, data = settings.loss, settings.noise, settings.training, settings.data
    path = path_of(data.corpus)
    reasons = {
        "loss": dict.fromkeys(("samples", "power"), "loss.softmax full")
        | {
            name: f"loss.kind {loss.kind}"
            for name, kinds in {
                "temperature": ("augmented", "interpolated"),
                "gamma": AUGMENTED,
                "form": AUGMENTED,
                "beta": ("interpolated",),
                "gradient_through_target": (*AUGMENTED, "interpolated"),
            }.items()
            if loss.kind not in kinds
        },
        "noise": dict.fromkeys(("gamma", "side"), "noise.kind none") if noise.kind == "none" else {},
        "data": {
            **({} if data.units == "words" else {"min_count": f"data.units {data.units}"}),
            **({} if is_split else {"split": "a text whose parts are given"}),
            **({} if path.is_file() else dict.fromkeys(COLUMNS, "a corpus that is no TSV file of yours")),
        },
        "training": {
            **({} if training.tokens is None else {"epochs": "training.tokens"}),
            **({} if training.schedule == "epoch" else {"decay_after": f"training.schedule {training.schedule}"}),
            **({"decay": "training.schedule cosine"} if training.schedule == "cosine" else {}),
            **({} if training.optimiser == "adam" else {"beta1": "an optimiser that is not adam"}),
            **({"beta2": "training.optimiser sgd"} if training.optimiser == "sgd" else {}),
        },
    }
    return [line for section, why in reasons.items() for line in unused(section, getattr(settings, section), why)]
