"""Attention and the conditional GRU against the literal reference, value and gradient."""

from __future__ import annotations

import pytest
import torch

from tests.reference import translation as literal
from wordtie.kernels.decoder import run_decoder
from wordtie.nn.attention import AdditiveAttention
from wordtie.nn.conditional_gru import ConditionalGRU, Source

B, S, T, E, H, D, A = 3, 4, 5, 2, 3, 4, 5
LENGTHS = torch.tensor([4, 1, 3])


def source() -> Source:
    torch.manual_seed(2)
    parts = [torch.randn(B, S, D), torch.randn(B, S, A), torch.randn(B, H)]
    annotations, keys, initial = (part.double().requires_grad_() for part in parts)
    return Source(annotations, keys, torch.arange(S) < LENGTHS[:, None], initial)


def weights_of(module: torch.nn.Module, name: str) -> dict[str, torch.Tensor]:
    torch.manual_seed(1)
    for parameter in module.double().parameters():
        torch.nn.init.uniform_(parameter, -0.8, 0.8)
    return {f"{name}.{key}": parameter for key, parameter in module.named_parameters()}


def test_attention() -> None:
    module = AdditiveAttention(D, H, A)
    weights, hidden = weights_of(module, "a"), torch.randn(B, H, dtype=torch.float64)
    annotations = source().annotations_BSD
    contexts, shares = module(hidden, module.keys(annotations), annotations, source().present_BS)
    found = torch.autograd.grad(contexts.square().sum(), list(weights.values()), retain_graph=True)
    wanted = []
    for b, length in enumerate(LENGTHS.tolist()):
        context, expected = literal.attention(hidden[b], list(annotations[b, :length]), weights, "a")
        torch.testing.assert_close(shares[b, :length], torch.stack(expected))
        assert not shares[b, length:].any()
        wanted.append(context)
    torch.testing.assert_close(contexts, torch.stack(wanted))
    expected_gradients = torch.autograd.grad(torch.stack(wanted).square().sum(), list(weights.values()))
    torch.testing.assert_close(found, expected_gradients)


@pytest.mark.parametrize("fused", [False, True])
def test_the_conditional_gru(fused: bool) -> None:
    module = ConditionalGRU(E, H, D, A)
    weights, given = weights_of(module, "d"), source()
    vectors = torch.randn(T, B, E, dtype=torch.float64, requires_grad=True)
    hidden, contexts = run_decoder(module, vectors, given) if fused else module(vectors, given)[:2]
    mixed = torch.randn(T, B, H + D, dtype=torch.float64)
    learnt = [*(each for name, each in weights.items() if ".key_" not in name), vectors, given.annotations_BSD,
              given.keys_BSA, given.initial_BH]  # fmt: skip
    found = torch.autograd.grad((torch.cat([hidden, contexts], 2) * mixed).sum(), learnt)
    total = torch.zeros((), dtype=torch.float64)
    for b, length in enumerate(LENGTHS.tolist()):
        h = given.initial_BH[b]
        for t in range(T):
            searching = literal.gru(vectors[t, b], h, weights, "d.first")
            query = weights["d.attention.query_weight"] @ searching
            scores = [weights["d.attention.score"] @ torch.tanh(key + query) for key in given.keys_BSA[b, :length]]
            shares = torch.stack(scores).exp()
            context = (shares / shares.sum()) @ given.annotations_BSD[b, :length]
            h = literal.gru(context, searching, weights, "d.second")
            torch.testing.assert_close(hidden[t, b], h)
            torch.testing.assert_close(contexts[t, b], context)
            total = total + (torch.cat([h, context]) * mixed[t, b]).sum()
    torch.testing.assert_close(found, torch.autograd.grad(total, learnt))


def test_the_fast_twin_has_no_second_derivative() -> None:
    module, given = ConditionalGRU(E, H, D, A).double(), source()
    hidden, _ = run_decoder(module, torch.randn(T, B, E, dtype=torch.float64, requires_grad=True), given)
    with pytest.raises(RuntimeError, match="first derivatives alone"):
        torch.autograd.grad(hidden.sum(), given.initial_BH, create_graph=True)
