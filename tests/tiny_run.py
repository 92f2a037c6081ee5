"""A text of made-up words, and the command that trains a tiny model on it."""

from __future__ import annotations

import random
from pathlib import Path

from wordtie.config import Settings, to_dict
from wordtie.config.recommended import RECOMMENDED

DEFAULTS = to_dict(Settings())
AS_IN_PAPERS = ["--ngram", "none", "--noise.kind", "none"]
"""The defaults of the settings in place of the recipe that the command takes for people."""
for name in RECOMMENDED:
    section, _, setting = name.partition(".")
    AS_IN_PAPERS += [f"--{name}", str(DEFAULTS[section][setting])]

TINY = [
    *AS_IN_PAPERS,
    *("--model.hidden", "8", "--training.epochs", "3", "--training.streams", "4", "--training.steps", "7"),
    *("--training.checkpoint_every", "1", "--training.threads", "1"),
]


def write_text(folder: Path) -> Path:
    """A folder with train.txt, valid.txt and test.txt; frequent words are frequent, as in a language."""
    generator = random.Random(1)
    words = [f"w{number}" for number in range(100)]
    weights = [1 / (number + 1) for number in range(100)]
    folder.mkdir()
    for split, lines in (("train", 200), ("valid", 20), ("test", 20)):
        sentences = (generator.choices(words, weights, k=generator.randint(1, 12)) for _ in range(lines))
        (folder / f"{split}.txt").write_text("".join(f"{' '.join(sentence)}\n" for sentence in sentences))
    return folder
