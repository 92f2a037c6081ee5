"""Every setting and its one default; a section a file.

Frozen dataclasses, no torch import: the command line, the recipes and the run folder's
`settings.yaml` are all views of `Settings`. Each class refuses, on construction, what makes no sense,
so that a bad combination stops before any data is read.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from wordtie.config.data import DataSettings as DataSettings
from wordtie.config.loss import LossSettings as LossSettings
from wordtie.config.model import ModelSettings as ModelSettings
from wordtie.config.noise import NoiseSettings as NoiseSettings
from wordtie.config.renamed import with_current_names
from wordtie.config.training import MAY_CHANGE_ON_RESUME as MAY_CHANGE_ON_RESUME
from wordtie.config.training import RUNTIME_ONLY as RUNTIME_ONLY
from wordtie.config.training import TrainingSettings as TrainingSettings
from wordtie.config.training import parse_time as parse_time
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
        for section, kind in SECTIONS.items():
            given = getattr(self, section)
            require(type(given) is kind, f"{section} must be made with {kind.__name__}, got {given!r:.80}")
        require(
            not self.noise.smooths or self.model.head != "untied" or self.noise.output_draw == "none",
            "variational smoothing draws input and output vectors from one matrix: set model.head to tied, "
            "noise.output_draw to none, or noise.scheme to data_noising",
        )
        require(
            not self.noise.noises_inputs_alone or self.noise.predicts_with != "mean" or self.model.head == "untied",
            "noise.prediction mean: what is read is noised and what is predicted is not, and a shared matrix has one "
            "mean for both: leave it out, or noise both sides",
        )
        require(
            self.noise.noises_inputs_alone or self.noise.predicts_with != "mean" or self.model.head != "untied",
            "noise.prediction mean: both sides are noised, and of two matrices only the input's has its mean folded "
            "in: take another one, or set model.head to tied",
        )


def to_dict(settings: Settings) -> dict[str, dict[str, Any]]:
    """Plain values, as `config.json` and `settings.yaml` hold them."""
    return {section: plain_values(getattr(settings, section)) for section in SECTIONS}


def resolved(settings: Settings) -> dict[str, dict[str, Any]]:
    """As `to_dict`, with the gamma that stands where none was given: what computes alike is alike."""
    values = to_dict(settings)
    values["loss"]["gamma"] = settings.loss.weight
    return values


def plain_values(section: Any) -> dict[str, Any]:
    """The fields of one section of settings as JSON and YAML hold them: a tuple is a list."""
    values = dataclasses.asdict(section)
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def from_dict(values: dict[str, Any]) -> Settings:
    """The inverse of `to_dict`, for files of earlier versions too. Raises `SettingsError` for an unknown name."""
    values = with_current_names(values)
    sections: dict[str, Any] = {}
    for section, kind in SECTIONS.items():
        given = dict(values.get(section, {}))
        unknown = set(given) - {known.name for known in dataclasses.fields(kind)}
        require(not unknown, f"unknown setting {section}.{min(unknown, default='')}: from a newer version?")
        if "split" in given:
            given["split"] = tuple(given["split"])
        sections[section] = kind(**given)
    unknown_sections = set(values) - set(sections)
    require(not unknown_sections, f"unknown section {min(unknown_sections, default='')}: from a newer version?")
    return Settings(**sections)
