"""The fast twins of `wordtie.losses`: loss and gradients in one pass, never holding N x V scores.

Cross-entropy needs, per token, p - onehot with p = softmax(W q + b). The augmented loss (Inan, Khosravi &
Socher 2017, equations 3.1-3.7) adds gamma * (softmax(W q / tau) - y), y = softmax(L u / tau), and, where
gradient flows through y, gives the similarity scores s = L u / tau of a target word with c tokens

    ds = gamma * tau * y * (r - y . r),    r = c * s - sum over its tokens of W q / tau

(the log-normalisers cancel); with the cross-entropy between y and the prediction in place of the divergence, r has no
c * s; where the gradient flows through the entropy of y alone, r = c * s. y depends on the target word alone, so
tokens are sorted by target and every chunk holds some tokens and the words they aim at. Scores of both come from one
matrix product, become their own gradients in place, row by row in cache, and go back through two more products.

Shapes: N tokens, V words, E embedding size, M distinct targets of a chunk.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from wordtie.kernels.backend import numba_serves, refuse_second_derivatives
from wordtie.kernels.products import add_product, product
from wordtie.kernels.softmax import rows_torch
from wordtie.kernels.softmax.drawn_targets import DrawnTargets

CHUNK_ELEMENTS = 7_200_000
"""Scores held at a time: 720 rows of a 10,000-word vocabulary, the papers' window of 20 x 35 tokens at once."""
FEWEST_ROWS = 256
"""Minimum rows of scores held at a time: a chunk reads and writes the whole gradient of the matrix."""
WORDS_AT_A_TIME = 16_384
"""Words per block of a chunk's gradient: a block stays in cache until it is added."""


@dataclass(frozen=True)
class Pull:
    """What the augmented loss adds; None in its place means cross-entropy alone."""

    temperature: float
    gamma: float
    through_target: bool | Literal["entropy"]
    """Whether gradient flows through the similar words, or through their entropy alone."""
    form: Literal["kl", "cross_entropy"] = "kl"
    """The divergence, or the cross-entropy between similar words and prediction."""
    biased: bool = False
    """Whether the output bias is part of the prediction that is compared with the similar words."""


def _rows_for(operand: Tensor, precision: torch.dtype) -> Any:
    """Return the module that does the row work for such operands."""
    if precision in (torch.float32, torch.bfloat16) and numba_serves(operand):
        from wordtie.kernels.softmax import rows_numba

        return rows_numba
    return rows_torch


def _distinct(targets_N: Tensor) -> tuple[Tensor, Tensor]:
    """Return (M target words, index of each token's target among them), from sorted targets.

    On a GPU, each token has a word of its own: a little more work, but shapes that do not wait for the data.
    """
    if targets_N.is_cuda:
        return targets_N, torch.arange(len(targets_N), device=targets_N.device)
    words, word_of_N = targets_N.unique_consecutive(return_inverse=True)
    return words, word_of_N


def _add_in_blocks(d_matrix: Tensor, rows: Tensor, vectors: Tensor, first: bool = False) -> None:
    """Add rows.T @ vectors to `d_matrix`; `first`: overwrite what it held."""
    for d_block, columns in zip(d_matrix.split(WORDS_AT_A_TIME), rows.split(WORDS_AT_A_TIME, dim=1), strict=True):
        add_product(d_block, columns.T, vectors, overwrite=first)


class _Chunks:
    """The work of one call: holds the operands and the gradients that are being summed."""

    def __init__(
        self, query: Tensor, output: Tensor, bias: Tensor | None, words: Tensor, tied: bool, precision: torch.dtype,
        drawn: Tensor | None,
    ) -> None:  # fmt: skip
        self.output = output.to(precision)
        self.words = self.output if tied else words.to(precision)
        self.tied = tied
        self.bias = bias
        self.query = query.to(precision)
        self.kernels = _rows_for(query, precision)
        self.d_query = torch.empty_like(query)
        self.d_output = torch.empty_like(output) if len(query) else torch.zeros_like(output)
        self.d_words = self.d_output if tied else torch.zeros_like(words)
        self.d_bias = None if bias is None else torch.zeros_like(bias)
        self.nats = torch.zeros((), dtype=torch.float64, device=query.device)
        self.divergence = torch.zeros_like(self.nats)
        self.drawn = None if drawn is None else DrawnTargets(self.query.to(drawn.dtype), drawn)
        self.d_drawn: Tensor | None = None

    def cross_entropy(self, here: slice, targets: Tensor) -> None:
        rows = product(self.query[here], self.output.T)
        if self.drawn is not None:
            self.drawn.put(rows, targets, here)
        nats, predicted = self.kernels.cross_entropy_rows(rows, self.bias, targets)
        self.nats += nats
        if self.d_bias is not None:
            self.d_bias += predicted
        if self.drawn is not None:
            self.drawn.take(rows, targets, here)
        self.collect(rows, here)

    def augmented(self, here: slice, targets: Tensor, pull: Pull) -> None:
        tokens = len(targets)
        distinct, word_of_N = _distinct(targets)
        vectors = self.words[distinct]
        operands = torch.cat([self.query[here], vectors]) if self.tied else self.query[here]
        if self.tied:
            rows = product(operands, self.output.T)
        else:
            rows = operands.new_empty(tokens + len(distinct), len(self.output))
            add_product(rows[:tokens], operands, self.output.T, overwrite=True)
            add_product(rows[tokens:], vectors, self.words.T, overwrite=True)
        if self.drawn is not None:
            self.drawn.put(rows, targets, here)
        nats, divergence, predicted = self.kernels.augmented_rows(
            rows, self.bias, targets, word_of_N, pull.temperature, pull.gamma, pull.form == "kl", pull.biased,
            pull.through_target == "entropy",
        )  # fmt: skip
        self.nats += nats
        self.divergence += divergence
        if self.d_bias is not None:
            self.d_bias += predicted
        if self.drawn is not None:
            self.drawn.take(rows, targets, here)
        if self.tied and pull.through_target:
            back = product(rows, self.output)
            self.d_query[here] = back[:tokens]
            _add_in_blocks(self.d_output, rows, operands, here.start == 0)
            self.d_words.index_add_(0, distinct, back[tokens:].to(self.d_words.dtype))
            return
        self.collect(rows[:tokens], here)
        if pull.through_target:
            word_rows = rows[tokens:]
            _add_in_blocks(self.d_words, word_rows, vectors)
            self.d_words.index_add_(0, distinct, product(word_rows, self.words).to(self.d_words.dtype))

    def collect(self, rows: Tensor, here: slice) -> None:
        self.d_query[here] = product(rows, self.output)
        _add_in_blocks(self.d_output, rows, self.query[here], here.start == 0)

    def targets_themselves(self, targets: Tensor) -> None:
        """Add the -1 of p - onehot, in fp32: rounding p - 1 to bf16 would lose the information in p."""
        if self.drawn is not None:
            self.d_drawn = self.drawn.add_gradient(self.d_query)
        else:
            self.d_query -= self.output[targets]
            self.d_output.index_add_(0, targets, self.query.to(self.d_output.dtype), alpha=-1)
        if self.d_bias is not None:
            self.d_bias.index_add_(0, targets, self.d_bias.new_ones(len(targets)), alpha=-1)


def _bounds(tokens: int, words: int, augmented: bool) -> list[slice]:
    """Split the tokens into even pieces, whose rows of scores stay within `CHUNK_ELEMENTS`, or are `FEWEST_ROWS`.

    If they are `augmented`, a row for each distinct target is added.
    """
    rows = max(FEWEST_ROWS, CHUNK_ELEMENTS // words)
    chunk = max(1, rows * 2 // 3) if augmented else rows
    pieces = -(-tokens // chunk)
    return [slice(tokens * piece // pieces, tokens * (piece + 1) // pieces) for piece in range(pieces)]


def _scaled(gradient: Tensor | None, factor: Tensor) -> Tensor | None:
    """Return factor * gradient: in place, unless the graph is kept and may ask for it again."""
    if gradient is None:
        return None
    kept = getattr(torch._C._autograd, "_get_current_graph_task_keep_graph", lambda: True)
    return gradient * factor if kept() else gradient.mul_(factor)


class SoftmaxLossFunction(torch.autograd.Function):
    """Returns (total, cross-entropy); only the total carries gradient."""

    @staticmethod
    def forward(
        ctx: Any,
        query: Tensor,
        output: Tensor,
        bias: Tensor | None,
        targets: Tensor,
        words: Tensor | None,
        pull: Pull | None,
        precision: torch.dtype,
        drawn: Tensor | None,
    ) -> tuple[Tensor, Tensor]:
        """`words` None: the similarities come from `output` itself (tied), or there are none (`pull` None)."""
        order = targets.argsort(stable=True)
        targets = targets[order]
        work = _Chunks(
            query[order], output, bias, output if words is None else words, words is None, precision,
            None if drawn is None else drawn[order],
        )  # fmt: skip
        for here in _bounds(len(targets), len(output), pull is not None):
            if pull is None:
                work.cross_entropy(here, targets[here])
            else:
                work.augmented(here, targets[here], pull)
        work.targets_themselves(targets)
        d_query = torch.empty_like(work.d_query)
        d_query[order] = work.d_query
        d_words, d_drawn = None if work.tied else work.d_words, None
        if work.d_drawn is not None:
            d_drawn = torch.empty_like(work.d_drawn)
            d_drawn[order] = work.d_drawn
        ctx.save_for_backward(d_query, work.d_output, work.d_bias, d_words, d_drawn)
        total = work.nats + (pull.gamma * pull.temperature * work.divergence if pull else 0.0)
        nats = work.nats.to(query.dtype)
        ctx.mark_non_differentiable(nats)
        return total.to(query.dtype), nats

    @staticmethod
    def backward(ctx: Any, d_total: Tensor, d_nats: Tensor) -> Any:
        """Return gradients in the order of `forward`'s arguments."""
        refuse_second_derivatives()
        d_query, d_output, d_bias, d_words, d_drawn = (_scaled(gradient, d_total) for gradient in ctx.saved_tensors)
        return d_query, d_output, d_bias, None, d_words, None, None, d_drawn


def softmax_loss(
    query: Tensor,
    output: Tensor,
    bias: Tensor | None,
    targets: Tensor,
    words: Tensor,
    pull: Pull | None,
    precision: torch.dtype,
    drawn: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Return (total, cross-entropy), summed nats. `words is output` means tied; `drawn` (N, E) replaces targets' rows.

    A score or vector that is not finite gives NaN, and so does a bias, unless it is -inf where plain torch serves.
    """
    separate = None if words is output or pull is None else words
    total, nats = SoftmaxLossFunction.apply(query, output, bias, targets, separate, pull, precision, drawn)  # type: ignore[no-untyped-call]
    return total, nats
