"""Settings of the text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from wordtie.config.checks import check_types
from wordtie.errors import require

TEXT_OF_IMPORTED = "the training text of"
"""Beginning of `corpus` of an imported model, which comes without a text."""


@dataclass(frozen=True)
class DataSettings:
    """The text, and how it becomes word ids."""

    corpus: str = "sotu"
    """The text: a name from `wordtie corpora`, a folder with three files, or one file. The folder has train.txt,
    valid.txt and test.txt; one file is split by `split`."""
    tokenisation: Literal["auto", "space", "words"] = "auto"
    """Rule that splits lines into words: `auto`, `space` or `words`. `space`: already tokenised, split at white space.
    `words`: words, numbers and punctuation of raw text. `auto`: what the catalogue states for a named corpus, else
    `space` if the text looks tokenised."""
    lowercase: bool = False
    """Fold case before words are split. The choice is stored in tokenizer.json, so scoring does the same."""
    sentences: bool = True
    """One sentence per line, each closed by `<eos>`. False: running text, in which line ends are white space."""
    vocabulary_size: int | None = None
    """Keep only the most frequent words, `<unk>` and `<eos>` included. None: every word that `min_count` keeps."""
    min_count: int | None = None
    """Words seen fewer times in the training text become `<unk>`. The model learns `<unk>` from them. None: 1 if there
    is a vocabulary size, or `<unk>` in the text; else 2, so that unknown words are learnt. `wordtie word2vec`: 5."""
    vocabulary_from: Literal["train", "all"] = "train"
    """Build the vocabulary from the training text (`train`) or every split (`all`). Some published recipes did the
    latter; the run records it."""
    extends: str | None = None
    """Run folder whose words keep their ids; new words of the training text follow. The text is split into words as
    that run's was. `wordtie train --start-from RUN --extend-vocabulary` sets it."""
    split: tuple[float, float, float] = (0.9, 0.05, 0.05)
    """Shares of training, validation and test text if one file is split."""

    def __post_init__(self) -> None:
        check_types(self, "data")
        size = self.vocabulary_size
        require(size is None or size >= 3, f"data.vocabulary_size must be at least 3, got {size}")
        require(
            self.min_count is None or self.min_count >= 1, f"data.min_count must be at least 1, got {self.min_count}"
        )
        require(
            len(self.split) == 3 and all(share > 0 for share in self.split) and abs(sum(self.split) - 1) < 1e-6,
            f"data.split must be three positive shares that sum to 1, got {self.split}",
        )
