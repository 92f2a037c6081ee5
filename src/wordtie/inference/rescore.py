"""Rescore n-best lists: the score of each hypothesis under a language model, and the order that follows from it.

    total = score + L log p(hypothesis) + W words + U unknown words

with the score of the system that wrote the list, log p in nats, and weights L, W and U. A hypothesis is scored from an
empty context up to `<eos>`, if the model was trained on sentences. Nothing is carried from one list to the next, and
neither is the memory of recent words that a mixture may have: its words are those of the hypothesis itself. With
`context` "best", each list continues the best hypothesis of the list before, as in a conversation.

Prefixes are shared and many lists are scored side by side (`wordtie.models.prefix_sharing`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from wordtie.data.batches import Ids
from wordtie.data.nbest import NBestList, Ranked, RankedList
from wordtie.data.reading import pieces
from wordtie.data.tokenizer import Tokenizer
from wordtie.data.vocabulary import EOS, UNK
from wordtie.errors import require
from wordtie.models.next_word import Nats
from wordtie.models.prefix_sharing import TOKENS_AT_ONCE, log_p_of_texts

if TYPE_CHECKING:
    from wordtie.inference.loading import LoadedModel

Case: TypeAlias = Literal["keep", "lower", "upper"]
Punctuation: TypeAlias = Literal["keep", "drop"]
Unknown: TypeAlias = Literal["score", "skip"]
Context: TypeAlias = Literal["none", "best"]

HYPOTHESES_AT_ONCE = 2000
"""Hypotheses after which the lists read so far are scored, side by side; a list is never divided."""
CHARACTERS_AT_ONCE = 2_000_000
"""Characters of hypotheses after which the lists read so far are scored."""
TEXTS_AFTER_A_CONTEXT = 128
"""Hypotheses scored side by side after a context: each needs its own memory of recent words."""


@dataclass(frozen=True)
class Reading:
    """Settings of how the model reads a hypothesis. The hypothesis is written unchanged."""

    case: Case = "keep"
    """Case folding before the model's own tokenizer, which folds case, too, if the training text was folded."""
    punctuation: Punctuation = "keep"
    """`drop`: leave out words without a letter or a digit, for recognisers that write none."""
    unknown: Unknown = "score"
    """A word outside the vocabulary adds log p(`<unk>`), or nothing (`skip`). It is read as `<unk>` either way."""
    context: Context = "none"
    """What a list continues: nothing, or the best hypothesis of the list before it."""

    def __post_init__(self) -> None:
        for name, kind in (("case", Case), ("punctuation", Punctuation), ("unknown", Unknown), ("context", Context)):
            known = get_args(kind)
            require(getattr(self, name) in known, f"{name} must be {' or '.join(known)}, got {getattr(self, name)!r}")

    def ids(self, tokenizer: Tokenizer, text: str) -> Ids:
        """Return the ids of a hypothesis, with `<eos>` if the model has one at the end of a sentence."""
        if self.case != "keep":
            text = text.lower() if self.case == "lower" else text.upper()
        found = [tokenizer.vocabulary.encode(self._kept(tokenizer.words(piece))) for piece in pieces(text)]
        if tokenizer.sentences:
            found.append(tokenizer.vocabulary.encode([EOS]))
        return np.concatenate(found) if found else np.zeros(0, np.int32)

    def words(self, text: str) -> list[str]:
        """Return the words to compare with a reference: split at white space, in lower case unless `case` is `keep`."""
        return list(self._kept((text if self.case == "keep" else text.lower()).split()))

    def _kept(self, words: Sequence[str]) -> Iterable[str]:
        if self.punctuation == "keep":
            return words
        return (word for word in words if word == UNK or any(map(str.isalnum, word)))


@dataclass(frozen=True)
class Weights:
    """Weights of the sum that hypotheses are ranked by; the weight of the score in the list is 1."""

    lm: float = 0.5
    """Weight of log p."""
    word: float = 0.0
    """Weight of each word, split at white space: above 0 favours longer hypotheses."""
    unknown: float = 0.0
    """Weight of each word outside the vocabulary: below 0 favours fewer of them."""

    def of(self, scored: ScoredList) -> Nats:
        """Compute the total of each hypothesis, (H,)."""
        return scored.score_H + self.lm * scored.log_p_H + self.word * scored.words_H + self.unknown * scored.unknown_H


@dataclass(frozen=True)
class ScoredList:
    """A list with the values that its hypotheses are ranked by, (H,) each."""

    nbest: NBestList
    score_H: Nats
    log_p_H: Nats
    words_H: Nats
    unknown_H: Nats

    def unranked(self) -> RankedList:
        """Return the hypotheses in the order of the list."""
        pairs = zip(self.nbest.hypotheses, self.log_p_H.tolist(), strict=True)
        return RankedList(self.nbest, [Ranked(hypothesis, log_p) for hypothesis, log_p in pairs])

    def ranked(self, weights: Weights) -> RankedList:
        """Return the hypotheses, best first; those with equal totals stay in the order of the list."""
        total_H, order = weights.of(self), self.unranked().order
        return RankedList(
            self.nbest,
            [replace(order[number], total=float(total_H[number])) for number in np.argsort(-total_H, kind="stable")],
        )


def score_lists(
    loaded: LoadedModel, lists: Iterable[NBestList], reading: Reading | None = None, weights: Weights | None = None
) -> Iterator[ScoredList]:
    """Score lists as they come, some of them side by side. `weights` say which hypothesis is the context of the next
    list, if lists have a context; without them it is the first.
    """
    reading = reading or Reading()
    if reading.context == "best":
        yield from _in_context(loaded, lists, reading, weights)
        return
    together: list[NBestList] = []
    hypotheses = characters = 0
    for each in lists:
        together.append(each)
        hypotheses += max(1, len(each.hypotheses))  # lists without any are not held without end
        characters += sum(len(hypothesis.text) for hypothesis in each.hypotheses)
        if hypotheses >= HYPOTHESES_AT_ONCE or characters >= CHARACTERS_AT_ONCE:
            yield from _side_by_side(loaded, together, reading)
            together, hypotheses, characters = [], 0, 0
    yield from _side_by_side(loaded, together, reading)


def _side_by_side(loaded: LoadedModel, lists: Sequence[NBestList], reading: Reading) -> Iterator[ScoredList]:
    ids = [[reading.ids(loaded.tokenizer, each.text) for each in nbest.hypotheses] for nbest in lists]
    uncounted = _uncounted(loaded, reading)
    log_p = log_p_of_texts(loaded.model, [text for of_list in ids for text in of_list], None, uncounted)
    first = 0
    for nbest, of_list in zip(lists, ids, strict=True):
        yield _scored(loaded, nbest, of_list, log_p[first : first + len(of_list)])
        first += len(of_list)


def _in_context(
    loaded: LoadedModel, lists: Iterable[NBestList], reading: Reading, weights: Weights | None
) -> Iterator[ScoredList]:
    state: Any = loaded.model.initial_state(1)
    for nbest in lists:
        ids = [reading.ids(loaded.tokenizer, each.text) for each in nbest.hypotheses]
        log_p = log_p_of_texts(loaded.model, ids, state, _uncounted(loaded, reading), TEXTS_AFTER_A_CONTEXT)
        scored = _scored(loaded, nbest, ids, log_p)
        yield scored
        if ids:
            best = 0 if weights is None else int(weights.of(scored).argmax())
            for first in range(0, len(ids[best]), TOKENS_AT_ONCE):
                state = loaded.model.advance(ids[best][first : first + TOKENS_AT_ONCE, None].astype(np.int64), state)


def _scored(loaded: LoadedModel, nbest: NBestList, ids: Sequence[Ids], log_p_H: Nats) -> ScoredList:
    unk_id = loaded.tokenizer.vocabulary.unk_id
    return ScoredList(
        nbest,
        np.array([each.score for each in nbest.hypotheses], np.float64),
        np.asarray(log_p_H, np.float64),
        np.array([len(each.text.split()) for each in nbest.hypotheses], np.float64),
        np.array([np.count_nonzero(text == unk_id) for text in ids], np.float64),
    )


def _uncounted(loaded: LoadedModel, reading: Reading) -> int | None:
    return loaded.tokenizer.vocabulary.unk_id if reading.unknown == "skip" else None
