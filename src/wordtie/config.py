"""Every setting and its one default.

Frozen dataclasses, no torch import: the command line, the recipes and the run folder's
`settings.yaml` are all views of `Settings`. Each class refuses, on construction, what makes no sense,
so that a bad combination stops before any data is read.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass, field
from typing import Any, Literal

from wordtie.config_noise import NoiseSettings as NoiseSettings
from wordtie.errors import SettingsError as SettingsError
from wordtie.errors import require as _require


@dataclass(frozen=True)
class DataSettings:
    """Which text, and how it becomes word ids."""

    corpus: str = "sotu"
    """A catalogue name (`wordtie corpora` lists them), a folder with train/valid/test.txt, or one text file."""
    tokenisation: Literal["auto", "space", "words"] = "auto"
    """`space`: already tokenised, split at white space. `words`: words, numbers and punctuation of raw text.
    `auto`: what the catalogue states for a named corpus, else `space` where the text looks tokenised."""
    lowercase: bool = False
    """Fold case before anything else; stored in tokenizer.json, so scoring does the same."""
    sentences: bool = True
    """One sentence a line, each closed by `<eos>`. False: running text, line ends are white space."""
    vocabulary_size: int | None = None
    """Keep the most frequent words, `<unk>` and `<eos>` included. None keeps every word of `min_count`."""
    min_count: int = 1
    """Words seen fewer times in the training text become `<unk>`."""
    vocabulary_from: Literal["train", "all"] = "train"
    """`all` builds the vocabulary over every split, as some published recipes did; recorded in the run."""
    split: tuple[float, float, float] = (0.9, 0.05, 0.05)
    """Train/valid/test shares where one file is to be split."""

    def __post_init__(self) -> None:
        size = self.vocabulary_size
        _require(size is None or size >= 3, f"data.vocabulary_size must be at least 3, got {size}")
        _require(self.min_count >= 1, f"data.min_count must be at least 1, got {self.min_count}")
        _require(
            len(self.split) == 3 and all(share > 0 for share in self.split) and abs(sum(self.split) - 1) < 1e-6,
            f"data.split must be three positive shares that sum to 1, got {self.split}",
        )


@dataclass(frozen=True)
class ModelSettings:
    """The language model: word matrix, recurrent core, head."""

    head: Literal["untied", "tied"] = "tied"
    """`tied`: the word matrix is also the classifier (RE). `untied`: a second matrix."""
    hidden: int = 200
    """H: units a layer."""
    embedding: int | None = None
    """E: size of a word vector. None: as many as `hidden`."""
    layers: int = 2
    output_bias: bool | None = None
    """A bias per word on the output. None: no when tied (inan-2017), yes when untied."""
    input_dropout: float = 0.3
    """Share of a layer-1 input vector that is dropped, one mask per stream and window."""
    hidden_dropout: float = 0.3
    """Share of each layer's h that is dropped, one mask per stream and window: where h recurs and where
    it feeds the next layer or the head."""
    init: float = 0.1
    """Parameters start uniform in (-init, init)."""
    forget_bias: float = 0.0
    """Added to the forget gate's bias at the start."""

    def __post_init__(self) -> None:
        _require(self.hidden >= 1, f"model.hidden must be at least 1, got {self.hidden}")
        _require(self.embedding is None or self.embedding >= 1, f"model.embedding must be >= 1, got {self.embedding}")
        _require(self.layers >= 1, f"model.layers must be at least 1, got {self.layers}")
        for name in ("input_dropout", "hidden_dropout"):
            value = getattr(self, name)
            _require(0 <= value < 1, f"model.{name} is the share dropped and must be in [0, 1), got {value}")
        _require(self.init > 0, f"model.init must be positive, got {self.init}")
        _require(
            self.head != "tied" or self.embedding_size == self.hidden,
            f"a tied head needs model.embedding = model.hidden, got {self.embedding_size} and {self.hidden}",
        )

    @property
    def embedding_size(self) -> int:
        """E, with the default resolved."""
        return self.hidden if self.embedding is None else self.embedding

    @property
    def has_output_bias(self) -> bool:
        """Whether the output has a bias, with the default resolved."""
        return self.head == "untied" if self.output_bias is None else self.output_bias


@dataclass(frozen=True)
class LossSettings:
    """Cross-entropy, or cross-entropy plus the augmented loss."""

    kind: Literal["cross_entropy", "augmented"] = "augmented"
    temperature: float = 20.0
    """tau: how far similarity spreads (inan-2017: 20)."""
    gamma: float = 0.65
    """Weight of the pull towards similar words (inan-2017: 0.5 to 0.8 on PTB, 1.0 to 1.5 on WikiText-2)."""
    gradient_through_target: bool = True
    """Let the similarity estimate itself learn from this loss, as the 2016 report does."""

    def __post_init__(self) -> None:
        _require(self.temperature > 0, f"loss.temperature must be positive, got {self.temperature}")
        _require(self.gamma >= 0, f"loss.gamma must not be negative, got {self.gamma}")


@dataclass(frozen=True)
class TrainingSettings:
    """How the parameters are found. Losses are summed over time and averaged over streams."""

    optimiser: Literal["sgd", "adam"] = "sgd"
    lr: float = 1.0
    """Learning rate; refers to the loss summed over the `steps` and averaged over the `streams`."""
    decay: float = 0.9
    """The rate is multiplied by this at the start of every epoch after `decay_after`."""
    decay_after: int = 5
    epochs: int = 50
    """At most this many passes over the training text."""
    patience: int = 5
    """Stop after this many epochs without a better validation perplexity. 0: never."""
    clip: float = 5.0
    """Global gradient norm, of the loss as scaled above. 0: no clipping."""
    streams: int = 20
    """B: contiguous streams trained side by side."""
    steps: int = 35
    """T: steps of truncated back-propagation through time."""
    seed: int = 1
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    """Precision of matrix products while training; `auto` takes bf16 where the machine has instructions
    for it. Master weights, sums and softmax statistics stay in fp32; evaluation is always fp32."""
    fused: bool = True
    """Use the fast twins in `wordtie.kernels`; false runs the readable formulas."""
    threads: int | None = None
    """CPU threads; None leaves PyTorch's choice."""
    device: str = "auto"
    """`auto`, `cpu` or `cuda`."""
    max_time: str | None = None
    """Stop cleanly after this long (`90s`, `9m`, `2h`); the same command with `--resume` goes on."""
    checkpoint_every: int = 500
    """Windows between checkpoints; each epoch's end has one too."""

    def __post_init__(self) -> None:
        for name in ("epochs", "streams", "steps", "checkpoint_every"):
            value = getattr(self, name)
            _require(value >= 1, f"training.{name} must be at least 1, got {value}")
        _require(self.lr > 0, f"training.lr must be positive, got {self.lr}")
        _require(0 < self.decay <= 1, f"training.decay must be in (0, 1], got {self.decay}")
        for name in ("decay_after", "patience", "clip"):
            value = getattr(self, name)
            _require(value >= 0, f"training.{name} must not be negative, got {value}")
        if self.max_time is not None:
            parse_time(self.max_time)
        _require(self.threads is None or self.threads >= 1, f"training.threads must be >= 1, got {self.threads}")


MAY_CHANGE_ON_RESUME = ("epochs", "patience", "max_time", "threads", "checkpoint_every")
"""Training settings that decide when and where a run computes, not what."""


@dataclass(frozen=True)
class Settings:
    """Everything that decides what a run computes."""

    data: DataSettings = field(default_factory=DataSettings)
    model: ModelSettings = field(default_factory=ModelSettings)
    loss: LossSettings = field(default_factory=LossSettings)
    noise: NoiseSettings = field(default_factory=NoiseSettings)
    training: TrainingSettings = field(default_factory=TrainingSettings)

    def __post_init__(self) -> None:
        _require(
            not self.noise.smooths or self.model.head != "untied",
            "variational smoothing draws input and output vectors from one matrix: set model.head to tied, or "
            "noise.scheme to data_noising",
        )


def to_dict(settings: Settings) -> dict[str, dict[str, Any]]:
    """Plain values, as `config.json` and `settings.yaml` hold them."""
    return {section: _plain(values) for section, values in dataclasses.asdict(settings).items()}


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def from_dict(values: dict[str, Any]) -> Settings:
    """The inverse of `to_dict`. Raises `SettingsError` for a name that this version does not know."""
    sections: dict[str, Any] = {}
    for section in dataclasses.fields(Settings):
        kind = type(getattr(Settings(), section.name))
        given = dict(values.get(section.name, {}))
        unknown = set(given) - {known.name for known in dataclasses.fields(kind)}
        _require(not unknown, f"unknown setting {section.name}.{min(unknown, default='')}: from a newer version?")
        if "split" in given:
            given["split"] = tuple(given["split"])
        sections[section.name] = kind(**given)
    unknown_sections = set(values) - set(sections)
    _require(not unknown_sections, f"unknown section {min(unknown_sections, default='')}: from a newer version?")
    return Settings(**sections)


def parse_time(text: str) -> float:
    """Seconds of `90s`, `9m`, `2h` or `1h30m`; a bare number is seconds. Raises `SettingsError`."""
    match = re.fullmatch(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s?)?", text.strip())
    seconds = (
        sum(float(part or 0) * unit for part, unit in zip(match.groups(), (3600, 60, 1), strict=True)) if match else 0
    )
    _require(seconds > 0, f"training.max_time must be a time such as 90s, 9m or 1h30m, got {text!r}")
    return seconds
