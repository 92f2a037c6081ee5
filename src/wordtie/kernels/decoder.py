"""The fast twins of the conditional GRU (`wordtie.nn.conditional_gru.ConditionalGRU`): `forward` as one autograd node,
and `step`, which has no gradient.

The words of the target are known while training, so only what depends on the decoder's state is inside the loop over
time: the recurrent products, attention, and the second update's product with the context. Every weight's gradient is
one product after the loop. Attention's tanh, (B, S, A) numbers per step, is recomputed in the backward pass, so that
memory does not grow with T times S.

Shapes: T steps, B sentences, S source positions, E word vector, H units, D annotation, A units of attention.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from wordtie.kernels import attention_torch
from wordtie.kernels.backend import numba_serves, refuse_second_derivatives
from wordtie.kernels.gru import step_backward, step_forward
from wordtie.kernels.products import product
from wordtie.nn.conditional_gru import ConditionalGRU, Source


def _attention_for(operand: Tensor) -> Any:
    """Return the module for attention's work on (B, S, A) numbers."""
    if numba_serves(operand):
        from wordtie.kernels import attention_numba

        return attention_numba
    return attention_torch


class DecoderFunction(torch.autograd.Function):
    """All steps, from the source's first state on."""

    @staticmethod
    def forward(
        ctx: Any, rows: Tensor, initial: Tensor, keys: Tensor, annotations: Tensor, absent: Tensor, first: Tensor,
        first_bias: Tensor, query: Tensor, score: Tensor, context: Tensor, context_bias: Tensor, second: Tensor,
        second_bias: Tensor,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        """`rows` (T, B, 3H): the first update's input products. Returns h (T, B, H) and c (T, B, D)."""
        steps, streams, units = len(rows), len(initial), initial.shape[1]
        attention, rows = _attention_for(rows), rows.clone()
        hidden, searching = rows.new_empty(steps + 1, streams, units), rows.new_empty(steps, streams, units)
        inner, inner_2 = torch.empty_like(searching), torch.empty_like(searching)
        rows_2, contexts = torch.empty_like(rows), rows.new_empty(steps, streams, annotations.shape[2])
        weights, queries = rows.new_empty(steps, streams, keys.shape[1]), rows.new_empty(steps, streams, len(score))
        recurrent, both = torch.empty_like(rows[0]), torch.cat([query, second])
        hidden[0] = initial
        for t in range(steps):
            torch.mm(hidden[t], first.T, out=recurrent)
            step_forward(rows[t], recurrent, first_bias, inner[t], hidden[t], searching[t])
            asked = searching[t] @ both.T
            queries[t] = asked[:, : len(score)]
            scores = attention.scores(keys, queries[t], score).masked_fill_(absent, -torch.inf)
            torch.softmax(scores, 1, out=weights[t])
            torch.bmm(weights[t][:, None], annotations, out=contexts[t][:, None])
            torch.addmm(context_bias, contexts[t], context.T, out=rows_2[t])
            step_forward(rows_2[t], asked[:, len(score) :], second_bias, inner_2[t], searching[t], hidden[t + 1])
        ctx.save_for_backward(
            keys, annotations, first, query, score, context, second, rows, rows_2, hidden, searching, inner, inner_2,
            contexts, weights, queries,
        )  # fmt: skip
        return hidden[1:], contexts

    @staticmethod
    def backward(ctx: Any, d_hidden: Tensor, d_contexts: Tensor) -> Any:
        """Return gradients in the order of `forward`'s arguments."""
        refuse_second_derivatives()
        (keys, annotations, first, query, score, context, second, rows, rows_2, hidden, searching, inner, inner_2,
         contexts, weights, queries) = ctx.saved_tensors  # fmt: skip
        steps, streams, units = searching.shape
        attention = _attention_for(rows)
        d_rows, d_first, d_rows_2 = (torch.empty_like(rows) for _ in range(3))
        d_asked = rows.new_empty(steps, streams, len(score) + 3 * units)
        d_context = d_contexts.clone()
        d_keys, d_score, both = torch.zeros_like(keys), torch.zeros_like(score), torch.cat([query, second])
        d_next = torch.zeros_like(hidden[0])
        for t in range(steps - 1, -1, -1):
            d_second = d_asked[t][:, len(score) :]
            d_next = step_backward(d_next + d_hidden[t], rows_2[t], inner_2[t], searching[t], d_rows_2[t], d_second)
            d_context[t].addmm_(d_rows_2[t], context)
            d_weights = torch.bmm(annotations, d_context[t][:, :, None])[:, :, 0]
            d_scores = weights[t] * (d_weights - (weights[t] * d_weights).sum(1, keepdim=True))
            d_asked[t][:, : len(score)] = attention.backward(keys, queries[t], score, d_scores, d_keys, d_score)
            d_next.addmm_(d_asked[t], both)
            d_next = step_backward(d_next, rows[t], inner[t], hidden[t], d_rows[t], d_first[t])
            d_next.addmm_(d_first[t], first)
        d_annotations = torch.bmm(weights.permute(1, 2, 0), d_context.transpose(0, 1))
        flat_2, recurrent, asked = d_rows_2.flatten(0, 1), d_first.flatten(0, 1), d_asked.flatten(0, 1)
        d_both = product(asked.T, searching.flatten(0, 1))
        return (
            d_rows, d_next, d_keys, d_annotations, None, product(recurrent.T, hidden[:-1].flatten(0, 1)),
            recurrent[:, 2 * units :].sum(0), d_both[: len(score)], d_score, product(flat_2.T, contexts.flatten(0, 1)),
            flat_2.sum(0), d_both[len(score) :], asked[:, len(score) + 2 * units :].sum(0),
        )  # fmt: skip


def run_decoder(decoder: ConditionalGRU, vectors_TBE: Tensor, source: Source) -> tuple[Tensor, Tensor]:
    """Return state (T, B, H) and context (T, B, D) of every step, with words that are known."""
    first, second, attention = decoder.first, decoder.second, decoder.attention
    rows = torch.nn.functional.linear(vectors_TBE, first.input_weight, first.bias)
    hidden_TBH, contexts_TBD = DecoderFunction.apply(  # type: ignore[no-untyped-call]
        rows, source.initial_BH, source.keys_BSA, source.annotations_BSD, ~source.present_BS, first.recurrent_weight,
        first.recurrent_bias, attention.query_weight, attention.score, second.input_weight, second.bias,
        second.recurrent_weight, second.recurrent_bias,
    )  # fmt: skip
    return hidden_TBH, contexts_TBD


def decoder_step(
    decoder: ConditionalGRU, vectors_BE: Tensor, hidden_BH: Tensor, source: Source
) -> tuple[Tensor, Tensor, Tensor]:
    """Decode one word: return (state (B, H), context (B, D), weights (B, S)). If the source has fewer sentences, each
    has equally many consecutive states. Only without gradients."""
    first, second, attention = decoder.first, decoder.second, decoder.attention
    linear = torch.nn.functional.linear
    inner_BH, searching_BH, after_BH = (torch.empty_like(hidden_BH) for _ in range(3))
    rows_BG = linear(vectors_BE, first.input_weight, first.bias)
    recurrent_BG = linear(hidden_BH, first.recurrent_weight)
    step_forward(rows_BG, recurrent_BG, first.recurrent_bias, inner_BH, hidden_BH, searching_BH)
    query_BA = linear(searching_BH, attention.query_weight)
    scores_BS = _attention_for(query_BA).scores(source.keys_BSA, query_BA, attention.score)
    scores_BkS = scores_BS.view(len(source.keys_BSA), -1, scores_BS.shape[1])
    weights_BkS = scores_BkS.masked_fill_(~source.present_BS[:, None], -torch.inf).softmax(2)
    context_BD = torch.bmm(weights_BkS, source.annotations_BSD).flatten(0, 1)
    rows_BG = linear(context_BD, second.input_weight, second.bias)
    recurrent_BG = linear(searching_BH, second.recurrent_weight)
    step_forward(rows_BG, recurrent_BG, second.recurrent_bias, inner_BH, searching_BH, after_BH)
    return after_BH, context_BD, weights_BkS.flatten(0, 1)
