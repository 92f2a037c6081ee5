"""Settings of the text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from wordtie.config.checks import check_types
from wordtie.errors import require


@dataclass(frozen=True)
class DataSettings:
    """Which text, and how it becomes word ids."""

    corpus: str = "sotu"
    """A catalogue name (`wordtie corpora` lists them), a folder with train/valid/test.txt, or one text file."""
    tokenisation: Literal["auto", "space", "words"] = "auto"
    """`space`: already tokenised, split at white space. `words`: words, numbers and punctuation of raw text.
    `auto`: what the catalogue states for a named corpus, else `space` where the text looks tokenised."""
    lowercase: bool = False
    """Fold case before words are split; stored in tokenizer.json, so scoring does the same."""
    sentences: bool = True
    """One sentence a line, each closed by `<eos>`. False: running text, line ends are white space."""
    vocabulary_size: int | None = None
    """Keep the most frequent words, `<unk>` and `<eos>` included. None keeps every word of `min_count`."""
    min_count: int | None = None
    """Words seen fewer times in the training text become `<unk>`, which is learnt from them. None: 1 where there is a
    vocabulary size, or `<unk>` in the text; else 2, so that unknown words are learnt of. `wordtie word2vec`: 5."""
    vocabulary_from: Literal["train", "all"] = "train"
    """`all` builds the vocabulary over every split, as some published recipes did; recorded in the run."""
    split: tuple[float, float, float] = (0.9, 0.05, 0.05)
    """Train/valid/test shares where one file is to be split."""

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
