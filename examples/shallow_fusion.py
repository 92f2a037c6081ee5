"""Shallow fusion: a CTC prefix beam search that asks a language model about each word as it ends.

    python examples/shallow_fusion.py en "the president of the united states"

The model may be a network, an n-gram model, a mixture or an ARPA file: only `NextWordModel` is used. A hypothesis that
ends a word selects its state from that of the words before (`select`), and reads the word (`score`). Hypotheses that
differ in frames but not in words share both.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from emissions import BLANK, LABELS, greedy, made_up_emissions
from numpy.typing import NDArray

import wordtie
from wordtie.data.vocabulary import EOS
from wordtie.inference.loading import LoadedModel

Words = tuple[str, ...]


UNKNOWN = -10.0
"""Added for a word outside the vocabulary, and for the beginning of one, as pyctcdecode does by default."""


class WordScores:
    """Log p of the words of hypotheses, each sequence of words asked for once."""

    def __init__(self, loaded: LoadedModel) -> None:
        self.model, self.vocabulary = loaded.model, loaded.tokenizer.vocabulary
        self.states: dict[Words, Any] = {(): self.model.initial_state(1)}
        self.log_p: dict[Words, float] = {(): 0.0}
        self.beginnings = {word[:size] for word in self.vocabulary.words for size in range(len(word) + 1)}

    def read(self, hypotheses: Iterable[Words]) -> None:
        """Score hypotheses that are one word longer than known ones; those of one parent are read side by side."""
        children = defaultdict(list)
        for words in dict.fromkeys(hypotheses):
            if words not in self.log_p:
                children[words[:-1]].append(words)
        for parent, longer in children.items():
            ids_1B = self.vocabulary.encode(words[-1] for words in longer)[None]
            side_by_side = self.model.select(self.states[parent], [0] * len(longer))
            log_p_1B, _, after = self.model.score(ids_1B, side_by_side)
            for number, words in enumerate(longer):
                unknown = 0.0 if words[-1] in self.vocabulary else UNKNOWN
                self.states[words] = self.model.select(after, [number])
                self.log_p[words] = self.log_p[parent] + float(log_p_1B[0, number]) + unknown


def beam_search(
    log_p_TC: NDArray[np.float64], scores: WordScores, lm_weight: float = 0.6, word_weight: float = 1.0, beam: int = 64
) -> str:
    """The best text of an emission matrix by log p of the frames + `lm_weight` log p of the words + `word_weight` each.

    A hypothesis has two log-probabilities: that of all paths of frames that end in a blank, and of those that do not.
    """
    beams: dict[str, tuple[float, float]] = {"": (0.0, -np.inf)}

    def total(text: str, words: Words) -> float:
        frames = float(np.logaddexp(*beams[text]))
        return frames + lm_weight * scores.log_p[words] + word_weight * len(words)

    def so_far(text: str) -> float:
        begun = text.rpartition(" ")[2]
        return total(text, complete(text)) + (0.0 if begun in scores.beginnings else lm_weight * UNKNOWN)

    for log_p_C in log_p_TC:
        beams = extended(beams, log_p_C)
        scores.read(complete(text) for text in beams)
        beams = {text: beams[text] for text in sorted(beams, key=so_far, reverse=True)[:beam]}
    ends = {text: (*text.split(), EOS) for text in beams}
    for cut in range(-1, 1):  # the last word, then the end of the sentence
        scores.read(words[: len(words) + cut] for words in ends.values())
    return max(beams, key=lambda text: total(text, ends[text])).strip()


def complete(text: str) -> Words:
    """The words that a hypothesis has ended: the last one may go on."""
    return tuple(text.split() if text.endswith(" ") else text.split()[:-1])


def extended(beams: dict[str, tuple[float, float]], log_p_C: NDArray[np.float64]) -> dict[str, tuple[float, float]]:
    """All hypotheses after one more frame (Hannun et al. 2014, algorithm 1); unlikely labels are left out."""
    found: defaultdict[str, list[float]] = defaultdict(lambda: [-np.inf, -np.inf])
    for text, (blank, other) in beams.items():
        for ends_in_blank, longer, log_p in _steps(text, blank, other, log_p_C):
            found[longer][0 if ends_in_blank else 1] = np.logaddexp(found[longer][0 if ends_in_blank else 1], log_p)
    return {text: (blank, other) for text, (blank, other) in found.items()}


def _steps(
    text: str, blank: float, other: float, log_p_C: NDArray[np.float64], least: float = -5.0
) -> Iterator[tuple[bool, str, float]]:
    for number in np.flatnonzero(log_p_C > least):
        label, log_p = LABELS[number], float(log_p_C[number])
        if label == BLANK:
            yield True, text, np.logaddexp(blank, other) + log_p
        elif text.endswith(label):
            yield False, text, other + log_p
            yield False, text + label, blank + log_p
        elif label != " " or (text and not text.endswith(" ")):
            yield False, text + label, np.logaddexp(blank, other) + log_p


def main(run: str, text: str) -> None:
    """Print what is heard without and with the model."""
    log_p_TC = made_up_emissions(text)
    print(f"without a model   {greedy(log_p_TC)}")
    print(f"with {run:12} {beam_search(log_p_TC, WordScores(wordtie.load(run)))}")


if __name__ == "__main__":
    main(*sys.argv[1:])
