"""Settings of the training."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from wordtie.config.checks import check_seed, check_types
from wordtie.errors import require


@dataclass(frozen=True)
class TrainingSettings:
    """Settings of the training. Losses are summed over time and averaged over streams."""

    optimiser: Literal["sgd", "adam", "rmsprop", "adadelta"] = "sgd"
    """Optimiser: `sgd`, `adam`, `rmsprop` or `adadelta`. `sgd` is plain, as in most of the papers. `adadelta` is that
    of Zeiler 2012, with which attention models of translation were trained."""
    lr: float = 1.0
    """Learning rate; `adam` and `rmsprop` want 0.001 to 0.003. With `sgd` it refers to the loss summed over the `steps`
    and averaged over the `streams`. The steps of `adam` and `rmsprop` do not depend on the scale of the loss."""
    word_rate: float = 1.0
    """Learning rate of the word matrices as a multiple of `lr`. With `adam` and little time, 10 learns faster."""
    schedule: Literal["epoch", "plateau", "cosine"] = "epoch"
    """Learning rate schedule: `decay` per `epoch` or on a `plateau`, or a `cosine`. `epoch`: at the start of every
    epoch after `decay_after`. `plateau`: after every validation that brought no better perplexity (PyTorch's example:
    decay 0.25). `cosine`: from step to step, to zero at the end of all `tokens` or `epochs`, lr * (1 + cos(pi * share
    done)) / 2."""
    warmup: int = 0
    """Steps over which the rate rises to `lr`, in equal parts. They count as steps of the schedule."""
    decay: float = 0.9
    """Factor on the learning rate, applied as `schedule` says. In inan-2017 it is 0.9, in Zaremba's small model 0.5 and
    in his large one 1 / 1.15."""
    decay_after: int = 5
    """Epochs at the initial rate, for the schedule `epoch`."""
    beta1: float = 0.9
    """Adam's decay of the mean gradient."""
    beta2: float | None = None
    """Decay of the mean squared gradient. None: Adam 0.999, RMSprop 0.99, Adadelta 0.95."""
    sparse_updates: bool | None = None
    """Update only the rows of word matrices that a window used. They then have no mean gradient (`beta1`).
    None: if it can be done, that is with loss.softmax sampled, with sgd or adam, and neither
    weight_decay, noise.l2 nor noise.output_vector_dropout, which need every row."""
    weight_decay: float = 0.0
    """lambda: lambda times each parameter is added to its gradient after clipping. This is the gradient of lambda / 2 *
    |p|^2. `noise.l2` is the penalty that is clipped with the rest."""
    average_patience: int = 0
    """Epochs without progress before weights are averaged (NT-ASGD: 5; 0: never). AWD-LSTM's rule: once an epoch's
    validation perplexity is above the best of those more than this many epochs before it, the mean of the weights of
    all steps since is measured and exported. Meant for sgd."""
    start_from: str | None = None
    """Run folder whose weights this run starts from. The small models of inan-2017 did so (footnote 4). Parameters and
    vocabulary must be the same, dropout may differ; the schedule starts from the beginning."""
    new_words: Literal["spelling", "mean"] = "spelling"
    """Initial rows of added words: `spelling` or `mean`. `spelling`: from the rows of old words that are spelt alike;
    `mean`: the mean of all rows. `data.extends` adds words."""
    rehearsal: float = 0.5
    """Share of the training tokens that are of the earlier text, with `data.extends`."""
    max_forgetting: float | None = 0.03
    """Largest increase of the network's perplexity on an earlier validation text, as a share of it. If the text is
    rehearsed and gets worse than that, the weights are moved back towards those of `start_from`. None: no limit."""
    epochs: int = 50
    """Maximum number of passes over the training text."""
    tokens: int | None = None
    """Train on this many tokens, instead of `epochs`. The last pass over the text may end before the text does."""
    validations: int | None = None
    """Validate this often, evenly spread over the training and at its end. None: after each epoch, and at the end."""
    measured_tokens: int | None = None
    """Validate and measure on about this many tokens of each text, in whole sentences. None: on all of it. They are
    ten stretches, spread over the text."""
    patience: int = 5
    """Stop after this many validations (epochs) without a better perplexity (0: never)."""
    keep: Literal["best", "last"] = "best"
    """Model to export and measure: the `best` on the validation text, or the `last`. Recipes with a set number of
    epochs have the last (Zaremba et al. 2014)."""
    clip: float = 5.0
    """Largest global norm of the gradient of the loss (0: no clipping). The loss is scaled as for `lr`."""
    streams: int = 20
    """B: contiguous streams of text trained side by side (the batch size)."""
    steps: int = 35
    """T: steps of truncated back-propagation through time."""
    reset_state: bool = False
    """Read a window that begins with `<eos>` from a zero state, as a sentence by itself is. Otherwise the state is
    always carried over, and a model hardly ever learns how a text begins."""
    seed: int = 1
    """Seed of all random numbers. The same seed on the same machine gives bit-identical results on the CPU."""
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    """Precision of matrix products while training: `auto`, `fp32` or `bf16`. `auto` takes bf16 if the machine has
    instructions for it, and rounds each product to bf16. An LSTM's recurrent product then has its operands rounded to
    bf16 on a CPU with AMX and numba, and to TF32 on a GPU; elsewhere it is in fp32. Weights, running sums and softmax
    statistics stay in fp32; evaluation is always fp32."""
    fused: bool = True
    """Use the fast kernels; false runs the readable formulas."""
    threads: int | None = None
    """CPU threads. None: PyTorch's choice."""
    device: str = "auto"
    """Device to train on: `auto`, `cpu`, `cuda`, or one of several GPUs, `cuda:1`."""
    max_time: str | float | None = None
    """Stop training cleanly after this long: `90s`, `9m`, `2h`. Counting n-grams and mixing them in comes after it. The
    same command with `--resume` continues."""
    checkpoint_every: int = 500
    """Windows between checkpoints. Each epoch's end has one too."""

    def __post_init__(self) -> None:
        check_types(self, "training")
        for name in ("epochs", "streams", "steps", "checkpoint_every"):
            value = getattr(self, name)
            require(value >= 1, f"training.{name} must be at least 1, got {value}")
        check_seed(self.seed, "training.seed")
        require(
            re.fullmatch(r"auto|cpu|cuda(:\d{1,3})?", self.device) is not None,
            f"training.device must be auto, cpu, cuda or cuda:1, got {self.device!r}",
        )
        require(self.lr > 0, f"training.lr must be positive, got {self.lr}")
        require(
            self.optimiser in ("sgd", "adadelta") or self.lr <= LARGEST_OF_ADAPTIVE,
            f"training.lr {self.lr:g} is a rate for sgd; {self.optimiser} moves each parameter by about the rate "
            "itself: set training.lr to 0.001 or so",
        )
        require(self.word_rate > 0, f"training.word_rate must be positive, got {self.word_rate}")
        require(0 <= self.rehearsal < 1, f"training.rehearsal is a share and must be in [0, 1), got {self.rehearsal}")
        forgetting = self.max_forgetting
        require(
            forgetting is None or forgetting > 0, f"training.max_forgetting must be positive or none, got {forgetting}"
        )
        require(0 < self.decay <= 1, f"training.decay must be in (0, 1], got {self.decay}")
        for name in ("tokens", "validations", "measured_tokens"):
            value = getattr(self, name)
            require(value is None or value >= 1, f"training.{name} must be at least 1, got {value}")
        for name in ("decay_after", "patience", "clip", "weight_decay", "average_patience", "warmup"):
            value = getattr(self, name)
            require(value >= 0, f"training.{name} must not be negative, got {value}")
        for name in ("beta1", "beta2"):
            value = getattr(self, name)
            require(value is None or 0 <= value < 1, f"training.{name} must be in [0, 1), got {value}")
        if self.max_time is not None:
            parse_time(self.max_time)
        few = self.threads is None or 1 <= self.threads <= 1024
        require(few, f"training.threads must be from 1 to 1024, got {self.threads}")


RUNTIME_ONLY = ("max_time", "threads", "checkpoint_every")
"""Training settings that decide when and where a run computes, not its result."""
LARGEST_OF_ADAPTIVE = 0.1
"""The largest rate of adam or rmsprop: a model does not learn with a rate for sgd."""
MAY_CHANGE_ON_RESUME = ("epochs", "patience", *RUNTIME_ONLY)
"""Training settings that may change when a run resumes: those of runtime, and how long it trains."""


def parse_time(time: str | float, name: str = "training.max_time") -> float:
    """Return the seconds of `90s`, `9m`, `2h` or `1h30m`; a number alone is seconds. Raises `SettingsError`."""
    number = r"(\d+(?:\.\d+)?)"
    match = re.fullmatch(rf"(?:{number}h)?(?:{number}m)?(?:{number}s)?|{number}", str(time).strip())
    parts = match.groups() if match else ()
    seconds = sum(float(part or 0) * unit for part, unit in zip(parts, (3600, 60, 1, 1), strict=False))
    require(seconds > 0, f"{name} must be a time such as 90s, 9m or 1h30m, got {str(time)!r}")
    return seconds
