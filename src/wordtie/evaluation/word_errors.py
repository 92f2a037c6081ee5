"""Word errors: the fewest words to substitute, insert and delete between a text and its reference (Levenshtein 1966).

word error rate = word errors of all texts / words of all references
"""

from __future__ import annotations

from collections.abc import Sequence


def word_errors(words: Sequence[str], reference: Sequence[str]) -> int:
    """Return the word errors of one text, in time len(words) x len(reference).

    >>> word_errors("the cat sat on mat".split(), "a cat sat on the mat".split())
    2
    """
    fewest = list(range(len(reference) + 1))
    for read, word in enumerate(words, 1):
        diagonal, fewest[0] = fewest[0], read
        for place, expected in enumerate(reference, 1):
            substituted = diagonal + (word != expected)
            diagonal = fewest[place]
            fewest[place] = min(substituted, diagonal + 1, fewest[place - 1] + 1)
    return fewest[-1]
