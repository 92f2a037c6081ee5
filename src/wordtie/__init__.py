"""wordtie: compact word-level language models whose input and output share one word matrix.

    import wordtie
    model = wordtie.load("runs/ptb")
    model.surprisal("the cat sat on the mat")

The names below are imported when first used, so that `import wordtie` stays light.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wordtie.lazy import after_import, lazily

__version__ = "0.1.0"

if TYPE_CHECKING:
    from wordtie.config import (
        DataSettings,
        LossSettings,
        ModelSettings,
        NoiseSettings,
        Settings,
        TrainingSettings,
        TranslationSettings,
    )
    from wordtie.errors import WordtieError
    from wordtie.inference.loading import LoadedModel, load
    from wordtie.inference.translation import load_translation
    from wordtie.runs.result import TrainingResult
    from wordtie.training.plan import plan
    from wordtie.training.train import train
    from wordtie.training.translation import train_translation

_HOME = {
    "DataSettings": "wordtie.config",
    "LoadedModel": "wordtie.inference.loading",
    "LossSettings": "wordtie.config",
    "ModelSettings": "wordtie.config",
    "NoiseSettings": "wordtie.config",
    "Settings": "wordtie.config",
    "TrainingResult": "wordtie.runs.result",
    "TrainingSettings": "wordtie.config",
    "TranslationSettings": "wordtie.config",
    "WordtieError": "wordtie.errors",
    "load": "wordtie.inference.loading",
    "load_translation": "wordtie.inference.translation",
    "plan": "wordtie.training.plan",
    "train": "wordtie.training.train",
    "train_translation": "wordtie.training.translation",
}

__all__ = [
    "DataSettings",
    "LoadedModel",
    "LossSettings",
    "ModelSettings",
    "NoiseSettings",
    "Settings",
    "TrainingResult",
    "TrainingSettings",
    "TranslationSettings",
    "WordtieError",
    "load",
    "load_translation",
    "plan",
    "train",
    "train_translation",
]


if not TYPE_CHECKING:  # to a type checker every name would be there
    __getattr__ = lazily(__name__, _HOME)

after_import("transformers", "wordtie.export.registration", "register")


def __dir__() -> list[str]:
    """What there is to use: no helpers of this file."""
    return [*__all__, "__version__"]
