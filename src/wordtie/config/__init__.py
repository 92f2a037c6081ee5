"""Every setting and its one default; a section a file.

Frozen dataclasses, no torch import: the command line, the recipes and the run folder's
`settings.yaml` are all views of `Settings`. Each class refuses, on construction, what makes no sense,
so that a bad combination stops before any data is read.
"""

from __future__ import annotations

import dataclasses
import reprlib
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from wordtie.config import translation
from wordtie.config.checks import check_sections
from wordtie.config.data import DataSettings as DataSettings
from wordtie.config.loss import LossSettings as LossSettings
from wordtie.config.model import ModelSettings as ModelSettings
from wordtie.config.noise import NoiseSettings as NoiseSettings
from wordtie.config.renamed import with_current_names
from wordtie.config.training import MAY_CHANGE_ON_RESUME as MAY_CHANGE_ON_RESUME
from wordtie.config.training import RUNTIME_ONLY as RUNTIME_ONLY
from wordtie.config.training import TrainingSettings as TrainingSettings
from wordtie.config.training import parse_time as parse_time
from wordtie.config.translation import BitextSettings as BitextSettings
from wordtie.config.translation import TranslationSettings as TranslationSettings
from wordtie.errors import require

SECTIONS: dict[str, type] = {
    "data": DataSettings,
    "model": ModelSettings,
    "loss": LossSettings,
    "noise": NoiseSettings,
    "training": TrainingSettings,
}


@dataclass(frozen=True)
class Settings:
    """Everything that decides what a run computes."""

    data: DataSettings = field(default_factory=DataSettings)
    model: ModelSettings = field(default_factory=ModelSettings)
    loss: LossSettings = field(default_factory=LossSettings)
    noise: NoiseSettings = field(default_factory=NoiseSettings)
    training: TrainingSettings = field(default_factory=TrainingSettings)

    def __post_init__(self) -> None:
        check_sections(self, SECTIONS)
        blocked = self._needs_every_row()
        require(
            not self.training.sparse_updates or blocked is None,
            f"training.sparse_updates: {blocked} reaches every row of the word matrix at every step: change it, or "
            "leave training.sparse_updates out",
        )
        require(
            not self.noise.smooths or self.model.head != "untied" or self.noise.output_draw == "none",
            "variational smoothing draws input and output vectors from one matrix: set model.head to tied, "
            "noise.output_draw to none, or noise.scheme to data_noising",
        )
        require(
            not self.noise.noises_inputs_alone
            or self.noise.replaces_all_words_alike
            or self.noise.predicts_with != "mean"
            or self.model.head == "untied",
            "noise.prediction mean: only what is read is noised, each word at its own gamma, and then neither a shared "
            "matrix nor the first layer can hold the mean: leave it out, noise both sides, or set noise.kind to "
            "linear_interpolation",
        )
        require(
            self.noise.noises_inputs_alone or self.noise.predicts_with != "mean" or self.model.head != "untied",
            "noise.prediction mean: both sides are noised, and of two matrices only the input's has its mean folded "
            "in: take another one, or set model.head to tied",
        )

    def _needs_every_row(self) -> str | None:
        """Return the setting that makes an update reach every row of the word matrices; None if there is none."""
        found = {
            "loss.softmax full": self.loss.softmax == "full",
            f"training.optimiser {self.training.optimiser}": self.training.optimiser in ("rmsprop", "adadelta"),
            "training.weight_decay": self.training.weight_decay > 0,
            "noise.l2": self.noise.l2 > 0,
            "noise.output_vector_dropout": self.noise.output_vector_dropout > 0,
            "noise.output_draw all": self.noise.smooths and self.noise.output_draw == "all",
        }
        return next((name for name, needed in found.items() if needed), None)

    @property
    def has_sparse_updates(self) -> bool:
        """`training.sparse_updates`, with the default resolved."""
        given = self.training.sparse_updates
        return self._needs_every_row() is None if given is None else given


AnySettings: TypeAlias = Settings | TranslationSettings
"""Settings of a model of any kind that the trainer trains."""
S = TypeVar("S", bound=Settings | TranslationSettings)
TRANSLATION_SECTIONS = translation.SECTIONS
SECTIONS_OF: dict[type, dict[str, type]] = {Settings: SECTIONS, TranslationSettings: TRANSLATION_SECTIONS}


def to_dict(settings: AnySettings) -> dict[str, dict[str, Any]]:
    """Return plain values, as `config.json` and `settings.yaml` hold them."""
    return {section: plain_values(getattr(settings, section)) for section in SECTIONS_OF[type(settings)]}


def resolved(settings: AnySettings) -> dict[str, dict[str, Any]]:
    """Return `to_dict` with defaults that depend on other settings filled in: equal values compute the same."""
    values = to_dict(settings)
    values["loss"]["gamma"] = settings.loss.weight
    if isinstance(settings, TranslationSettings):
        return values
    values["noise"]["prediction"] = settings.noise.predicts_with
    values["training"]["sparse_updates"] = settings.has_sparse_updates
    return values


def plain_values(section: Any) -> dict[str, Any]:
    """Return the fields of one section of settings as JSON and YAML hold them: a tuple is a list."""
    values = dataclasses.asdict(section)
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def from_dict(values: dict[str, Any]) -> Settings:
    """Make settings from a dictionary: the inverse of `to_dict`, for files of earlier versions, too.

    Raises `SettingsError` for an unknown name or a wrong type.
    """
    return settings_from_dict(values, Settings)


def settings_from_dict(values: dict[str, Any], made: type[S]) -> S:
    """Make settings of the kind `made` from a dictionary, as `from_dict` does. Raises `SettingsError`."""
    require(isinstance(values, dict), f"the settings must be sections by name, got {reprlib.repr(values)}")
    values = with_current_names(values)
    sections: dict[str, Any] = {}
    for section, kind in SECTIONS_OF[made].items():
        given = values.get(section, {})
        require(isinstance(given, dict), f"{section} must be settings by name, got {reprlib.repr(given)}")
        unknown = {str(name) for name in given} - {known.name for known in dataclasses.fields(kind)}
        require(not unknown, f"unknown setting {section}.{min(unknown, default='')}: from a newer version?")
        tuples = {name: tuple(value) for name, value in given.items() if isinstance(value, list)}
        sections[section] = kind(**{**given, **tuples})
    unknown_sections = {str(name) for name in values} - set(sections)
    require(not unknown_sections, f"unknown section {min(unknown_sections, default='')}: from a newer version?")
    return made(**sections)
