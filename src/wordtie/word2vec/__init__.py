"""word2vec: skip-gram or CBOW with negative sampling, untied, tied, or tied with a linear map.

from wordtie import vectors, word2vec
result = word2vec.train("novel.txt", "runs/novel-word2vec", vector_size=100, head="tied")
vectors.open_vectors("runs/novel-word2vec").neighbours("sea")
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wordtie.lazy import lazily

if TYPE_CHECKING:
    from wordtie.word2vec.run import Word2VecResult, train
    from wordtie.word2vec.settings import Word2VecSettings

_HOME = {
    "Word2VecResult": "wordtie.word2vec.run",
    "Word2VecSettings": "wordtie.word2vec.settings",
    "train": "wordtie.word2vec.run",
}

__all__ = ["Word2VecResult", "Word2VecSettings", "train"]

if not TYPE_CHECKING:
    __getattr__ = lazily(__name__, _HOME)
