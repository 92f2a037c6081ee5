"""The fast twins of `wordtie.losses`: loss and gradients in one pass, never holding N x V scores.

Cross-entropy needs, per token, p - onehot with p = softmax(W q + b). The augmented loss (Inan, Khosravi &
Socher 2017, equations 3.1-3.7) adds gamma * (softmax(W q / tau) - y), y = softmax(L u / tau), and, where
gradient flows through y, gives the similarity scores s = L u / tau of a target word with c tokens

    ds = alpha * y * (r - y . r),    r = c * s - sum over its tokens of W q / tau

(the log-normalisers cancel). y depends on the target word alone, so tokens are sorted by target and every
chunk holds some tokens and the words they aim at. Scores of both come from one matrix product, become
their own gradients in place, row by row in cache, and go back through two more products.

Shapes: N tokens, V words, E embedding size, M distinct targets of a chunk.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from wordtie.kernels import softmax_rows

CHUNK_ELEMENTS = 5_500_000
"""Scores held at a time: about 550 rows of a 10,000-word vocabulary."""


@dataclass(frozen=True)
class Pull:
    """What the augmented loss adds: None in its place means cross-entropy alone."""

    temperature: float
    gamma: float
    through_target: bool


def as_numpy(rows: Tensor) -> Any:
    """The tensor's memory as the row kernels take it: float32, or bfloat16 seen as uint16."""
    if rows.dtype == torch.bfloat16:
        return rows.view(torch.int16).numpy().view(np.uint16)
    return rows.numpy()


class _Chunks:
    """The work of one call: holds the operands and the gradients that are being summed."""

    def __init__(
        self, query: Tensor, output: Tensor, bias: Tensor | None, words: Tensor, tied: bool, precision: torch.dtype
    ) -> None:
        self.output = output.to(precision)
        self.words = self.output if tied else words.to(precision)
        self.tied = tied
        self.bias = None if bias is None else bias.numpy()
        self.no_bias = np.zeros(output.shape[0], np.float32) if bias is None else self.bias
        self.query = query.to(precision)
        self.d_query = torch.empty_like(query)
        self.d_output = torch.zeros_like(output)
        self.d_words = self.d_output if tied else torch.zeros_like(words)
        self.d_bias = None if bias is None else torch.zeros_like(bias)
        self.bf16 = precision == torch.bfloat16
        self.nats = 0.0
        self.divergence = 0.0
        self.drawn: Tensor | None = None
        self.d_drawn: Tensor | None = None

    def use_drawn(self, drawn: Tensor) -> None:
        """Score each target by its token's own vector instead of the target's row."""
        self.drawn = drawn
        self.d_drawn = torch.empty_like(drawn)

    def put_drawn(self, rows: Tensor, start: int, targets: Any) -> None:
        """The targets' scores, before the row kernels."""
        if self.drawn is not None:
            own = slice(start, start + len(targets))
            scores = (self.query[own] * self.drawn[own]).sum(1, keepdim=True)
            rows.scatter_(1, torch.from_numpy(targets)[:, None], scores.to(rows.dtype))

    def take_drawn(self, rows: Tensor, targets: Any) -> Tensor | None:
        """The targets' gradients, taken out of the rows after the row kernels: they are not the matrix's."""
        if self.drawn is None:
            return None
        own = torch.from_numpy(targets)[:, None]
        d_scores = rows.gather(1, own).to(self.drawn.dtype)
        rows.scatter_(1, own, 0)
        return d_scores

    def collect_drawn(self, d_scores: Tensor | None, start: int, stop: int) -> None:
        """Through the drawn vectors; after `d_query` of these tokens is there."""
        if self.drawn is not None and self.d_drawn is not None and d_scores is not None:
            d_scores = d_scores - 1  # of p - onehot, in fp32
            self.d_query[start:stop] += d_scores * self.drawn[start:stop]
            self.d_drawn[start:stop] = d_scores * self.query[start:stop]

    def cross_entropy(self, start: int, stop: int, targets: Any) -> None:
        rows = self.query[start:stop] @ self.output.T
        self.put_drawn(rows, start, targets)
        nats = np.empty(stop - start)
        kernel = softmax_rows.cross_entropy_rows_bf16 if self.bf16 else softmax_rows.cross_entropy_rows_fp32
        kernel(as_numpy(rows), self.no_bias, targets, nats)
        self.nats += nats.sum()
        if self.d_bias is not None:
            self.d_bias += rows.sum(0, dtype=torch.float32)
        d_drawn_scores = self.take_drawn(rows, targets)
        self.collect(rows, start, stop)
        self.collect_drawn(d_drawn_scores, start, stop)

    def augmented(self, start: int, stop: int, targets: Any, pull: Pull) -> None:
        tokens = stop - start
        distinct, first = np.unique(targets, return_index=True)
        first = np.append(first, tokens).astype(np.int64)
        distinct_ids = torch.from_numpy(distinct)
        vectors = self.words[distinct_ids]
        rows = vectors.new_empty(tokens + len(distinct), self.output.shape[0])
        operands = torch.cat([self.query[start:stop], vectors])
        if self.tied:
            torch.mm(operands, self.output.T, out=rows)
        else:
            torch.mm(operands[:tokens], self.output.T, out=rows[:tokens])
            torch.mm(vectors, self.words.T, out=rows[tokens:])
        self.put_drawn(rows[:tokens], start, targets)
        sums = np.empty((len(distinct), 2))
        predicted = np.zeros((len(distinct), 0 if self.d_bias is None else self.d_bias.numel()), np.float32)
        kernel = softmax_rows.augmented_rows_bf16 if self.bf16 else softmax_rows.augmented_rows_fp32
        kernel(
            as_numpy(rows),
            self.no_bias,
            targets,
            first,
            np.float32(1 / pull.temperature),
            np.float32(pull.gamma),
            pull.through_target,
            sums,
            predicted,
        )
        if self.d_bias is not None:
            self.d_bias += torch.from_numpy(predicted).sum(0)
        self.nats += sums[:, 0].sum()
        self.divergence += sums[:, 1].sum()
        d_drawn_scores = self.take_drawn(rows[:tokens], targets)
        if self.tied and pull.through_target:
            back = rows @ self.output
            self.d_query[start:stop] = back[:tokens]
            self.d_output += rows.T @ operands
            self.d_words.index_add_(0, distinct_ids, back[tokens:].to(self.d_words.dtype))
            self.collect_drawn(d_drawn_scores, start, stop)
            return
        self.collect(rows[:tokens], start, stop)
        self.collect_drawn(d_drawn_scores, start, stop)
        if pull.through_target:
            word_rows = rows[tokens:]
            self.d_words += word_rows.T @ vectors
            self.d_words.index_add_(0, distinct_ids, (word_rows @ self.words).to(self.d_words.dtype))

    def collect(self, rows: Tensor, start: int, stop: int) -> None:
        self.d_query[start:stop] = rows @ self.output
        self.d_output += rows.T @ self.query[start:stop]

    def targets_themselves(self, targets: Tensor) -> None:
        """The -1 of p - onehot, in fp32: rounding p - 1 to bf16 would lose what p says."""
        if self.drawn is None:  # else `collect_drawn` has done it
            self.d_query -= self.output[targets]
            self.d_output.index_add_(0, targets, self.query.to(self.d_output.dtype), alpha=-1)
        if self.d_bias is not None:
            self.d_bias -= torch.bincount(targets, minlength=self.d_bias.numel())


class SoftmaxLossFunction(torch.autograd.Function):
    """Returns (total, cross-entropy); only the total carries gradient."""

    @staticmethod
    def forward(  # type: ignore[override]
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
        """`words` None: the similarities come from `output` itself (tied)."""
        order = targets.argsort(stable=True)
        targets = targets[order]
        work = _Chunks(query[order], output, bias, output if words is None else words, words is None, precision)
        if drawn is not None:
            work.use_drawn(drawn[order])
        ids = targets.numpy()
        rows = max(1, CHUNK_ELEMENTS // output.shape[0])
        chunk = max(1, rows * 2 // 3) if pull else rows
        pieces = -(-len(ids) // chunk)
        bounds = np.linspace(0, len(ids), pieces + 1).astype(int)
        for start, stop in zip(bounds[:-1], bounds[1:], strict=True):
            if pull is None:
                work.cross_entropy(start, stop, ids[start:stop])
            else:
                work.augmented(start, stop, ids[start:stop], pull)
        work.targets_themselves(targets)
        d_query = torch.empty_like(work.d_query)
        d_query[order] = work.d_query
        d_drawn = None
        if work.d_drawn is not None:
            d_drawn = torch.empty_like(work.d_drawn)
            d_drawn[order] = work.d_drawn
        ctx.save_for_backward(d_query, work.d_output, work.d_bias, None if work.tied else work.d_words, d_drawn)
        total = work.nats + (pull.gamma * pull.temperature * work.divergence if pull else 0.0)
        return query.new_tensor(total), query.new_tensor(work.nats)

    @staticmethod
    def backward(ctx: Any, d_total: Tensor, d_nats: Tensor) -> Any:  # type: ignore[override]
        """Gradients in the order of `forward`'s arguments."""
        scaled = [None if g is None else g.mul_(d_total) for g in ctx.saved_tensors]
        return scaled[0], scaled[1], scaled[2], None, scaled[3], None, None, scaled[4]


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
    """(total, cross-entropy), summed nats. `words is output` means tied; `drawn` replaces the targets' own rows."""
    separate = None if words is output else words
    total, nats = SoftmaxLossFunction.apply(query, output, bias, targets, separate, pull, precision, drawn)
    return total, nats.detach()
