"""Word vectors: take them out of a model, read and write files, and measure what they know.

from wordtie import vectors
tied = vectors.open_vectors("runs/ptb")              # a run folder, RUN:SIDE, or a vectors file
tied.neighbours("market", top=5)
vectors.write_vectors(tied, "ptb.txt", "text")
vectors.judge([tied], [vectors.read_benchmark("pairs.tsv")]).similarity
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wordtie.lazy import lazily

if TYPE_CHECKING:
    from wordtie.vectors.agreement import agreement_of
    from wordtie.vectors.extraction import open_vectors, sides, vectors_of
    from wordtie.vectors.files import read_vectors, write_vectors
    from wordtie.vectors.judgement import judge
    from wordtie.vectors.map import write_page
    from wordtie.vectors.similarity import Benchmark, read_benchmark, similarity_of
    from wordtie.vectors.subspace import compare_spaces, compare_subspaces
    from wordtie.vectors.word_vectors import WordVectors

_HOME = {
    "Benchmark": "wordtie.vectors.similarity",
    "WordVectors": "wordtie.vectors.word_vectors",
    "agreement_of": "wordtie.vectors.agreement",
    "compare_spaces": "wordtie.vectors.subspace",
    "compare_subspaces": "wordtie.vectors.subspace",
    "judge": "wordtie.vectors.judgement",
    "open_vectors": "wordtie.vectors.extraction",
    "read_benchmark": "wordtie.vectors.similarity",
    "read_vectors": "wordtie.vectors.files",
    "sides": "wordtie.vectors.extraction",
    "similarity_of": "wordtie.vectors.similarity",
    "vectors_of": "wordtie.vectors.extraction",
    "write_page": "wordtie.vectors.map",
    "write_vectors": "wordtie.vectors.files",
}

__all__ = [
    "Benchmark",
    "WordVectors",
    "agreement_of",
    "compare_spaces",
    "compare_subspaces",
    "judge",
    "open_vectors",
    "read_benchmark",
    "read_vectors",
    "sides",
    "similarity_of",
    "vectors_of",
    "write_page",
    "write_vectors",
]

if not TYPE_CHECKING:
    __getattr__ = lazily(__name__, _HOME)
