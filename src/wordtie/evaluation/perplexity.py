"""Perplexity: sum nats, count tokens, divide once.

Every token of the text is predicted exactly once, the first from `<eos>`, with the state carried over the
whole text. With more than one stream the text is cut into as many pieces, each of which starts from an
empty state: quicker, a little worse, and meant for choosing between epochs; figures to quote use one.

Shapes: N tokens, T steps, B streams, V words.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordtie.data.batches import PADDING, Ids, batches, side_by_side
from wordtie.models.next_word import NextWordModel

if TYPE_CHECKING:  # a `NextWordModel` is measured without torch
    import torch
    from torch import Tensor

    from wordtie.models.language_model import LanguageModel

TOKENS_AT_ONCE = 1024
"""Tokens of a window; the softmax takes them in smaller pieces."""
VALUES_OF_A_STEP = 4_000_000
"""Numbers of the distributions of texts that are read side by side, at one step."""
Bits: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Score:
    """Summed nats over `tokens` tokens."""

    nats: float
    tokens: int

    @property
    def perplexity(self) -> float:
        """exp(nats / tokens)."""
        return math.exp(min(self.nats / self.tokens, 700.0))

    def figures(self, split: str) -> dict[str, Any]:
        """Return perplexity, nats and tokens of a split, by the names that results have.

        >>> Score(6.9, 3).figures("test")
        {'test_perplexity': 9.974182454814724, 'test_nats': 6.9, 'test_tokens': 3}
        """
        return {f"{split}_perplexity": self.perplexity, f"{split}_nats": self.nats, f"{split}_tokens": self.tokens}


def queries(
    model: LanguageModel, ids: Ids, eos_id: int, streams: int, device: torch.device
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield (query_NE, targets_N) window by window, state carried over; targets past a stream's end are `PADDING`."""
    import torch

    steps = max(1, TOKENS_AT_ONCE // streams)
    state = model.initial_state(streams)
    for inputs_TB, targets_TB in batches(ids, streams, steps, eos_id=eos_id, drop=False):
        query, state = model(torch.from_numpy(inputs_TB).to(device), state)
        yield query, torch.from_numpy(targets_TB).flatten().to(device)


def evaluate(
    model: LanguageModel,
    ids: Ids,
    eos_id: int,
    streams: int = 1,
    log_p: list[Tensor] | None = None,
    kept: list[Tensor] | None = None,
) -> Score:
    """Score a text of word ids, (N,). Over one stream, log p of each token is added to `log_p`, and the vector from
    which it is predicted to `kept`, piece by piece."""
    import torch
    import torch.nn.functional as F

    from wordtie.models.network import LogProbabilities, evaluating

    total, tokens, log_probabilities = 0.0, 0, LogProbabilities(model)
    with evaluating(model) as device:
        for query, targets in queries(model, ids, eos_id, min(streams, len(ids)), device):
            pieces = []
            for log_p_NV, here in log_probabilities(query, targets):
                total += float(F.nll_loss(log_p_NV, here, ignore_index=PADDING, reduction="sum"))
                if log_p is not None:
                    pieces.append(log_p_NV.gather(1, here[:, None])[:, 0].cpu())
            if log_p is not None:  # a tensor a window: one for each piece, of few tokens, would take more than they do
                log_p.append(torch.cat(pieces))
            tokens += int((targets != PADDING).sum())
            if kept is not None:
                kept.append(query.cpu())
    return Score(total, tokens)


def evaluate_blocks(model: NextWordModel[Any], blocks: Iterable[Ids]) -> Score:
    """Score a text that comes block by block, as one stream, in the memory of one block."""
    total, tokens, state = 0.0, 0, model.initial_state(1)
    for window in _windows(blocks, TOKENS_AT_ONCE):
        log_p_T1, _, state = model.score(window[:, None], state)
        total -= float(log_p_T1.sum())
        tokens += len(window)
    return Score(total, tokens)


class Reader:
    """One stream, read piece by piece: the state is carried from one piece to the next.

    In pieces of any size the same words have the same scores (to float rounding), in the memory of one piece.
    """

    def __init__(self, model: NextWordModel[Any]) -> None:
        self.model = model
        self.start()

    def start(self) -> None:
        """Start another text: an empty state, and `<eos>` before the first word."""
        self.state = self.model.initial_state(1)

    def __call__(self, ids: Ids) -> Iterator[tuple[Bits, Bits]]:
        """Yield surprisal and entropy of the prediction of each of the stream's next tokens, in bits, in pieces."""
        for first in range(0, len(ids), TOKENS_AT_ONCE):
            piece = np.asarray(ids[first : first + TOKENS_AT_ONCE])
            log_p_T1, entropy_T1, self.state = self.model.score(piece[:, None], self.state, entropy=True)
            assert entropy_T1 is not None
            yield log_p_T1[:, 0] / -math.log(2), entropy_T1[:, 0] / math.log(2)

    def apart(self, texts: Sequence[Ids]) -> Iterator[tuple[Bits, Bits]]:
        """Score short, independent texts side by side: yield what each has alone (to float rounding).

        The stream itself stays where it is. At least one text is required, and none may be empty.
        """
        most = max(1, VALUES_OF_A_STEP // len(self.model.vocabulary))
        for first in range(0, len(texts), most):
            together = texts[first : first + most]
            ids_TB = side_by_side(together)
            log_p_TB, entropy_TB, _ = self.model.score(ids_TB, self.model.initial_state(ids_TB.shape[1]), entropy=True)
            assert entropy_TB is not None
            for number, ids in enumerate(together):
                yield log_p_TB[: len(ids), number] / -math.log(2), entropy_TB[: len(ids), number] / math.log(2)


def _windows(blocks: Iterable[Ids], size: int) -> Iterator[Ids]:
    """Yield the same ids in pieces of `size`, the last one shorter."""
    rest = np.empty(0, np.int32)
    for block in blocks:
        ids = np.concatenate([rest, block])
        whole = len(ids) - len(ids) % size
        for first in range(0, whole, size):
            yield ids[first : first + size]
        rest = ids[whole:]
    if len(rest):
        yield rest
