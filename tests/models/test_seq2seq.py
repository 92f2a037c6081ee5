"""The translation model: its probabilities and gradients against the literal reference, padding, ties, memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from tests.reference import translation as literal
from tests.reference.naive_translation import NaiveTranslation
from wordtie.config import LossSettings
from wordtie.config.translation import Seq2SeqSettings
from wordtie.data.pair_batches import pad_pairs
from wordtie.losses.build import build_loss
from wordtie.losses.loss import CrossEntropy
from wordtie.models.beam_search import Search, translate_ids
from wordtie.models.seq2seq import SentencePairs, Seq2Seq
from wordtie.training.translation import as_tensors

WORDS, EOS = 9, 1
SOURCE = [[3, 4, 5, 6], [2], [7, 8, 2]]
TARGET = [[4, 4], [8, 7, 6, 5, 4], []]
SETTINGS = Seq2SeqSettings(hidden=4, embedding=3, attention=5, word_dropout=0, encoder_dropout=0, output_dropout=0)
VARIANTS = {
    "none": replace(SETTINGS, tying="none", readout=2),
    "decoder": replace(SETTINGS, tying="decoder"),
    "three_way": replace(SETTINGS, tying="three_way"),
    "linear_map": replace(SETTINGS, tying="three_way", linear_map=True, readout=6, output_bias=False),
}


def made(settings: Seq2SeqSettings, dtype: torch.dtype = torch.float64) -> Seq2Seq:
    torch.manual_seed(1)
    model = Seq2Seq(settings, WORDS, WORDS)
    for parameter in model.parameters():  # biases too, so that none is left untested
        torch.nn.init.uniform_(parameter, -0.7, 0.7)
    return model.to(dtype)


def pairs(source: list[list[int]] = SOURCE, target: list[list[int]] = TARGET) -> SentencePairs:
    return as_tensors(pad_pairs(source, target, EOS, EOS), torch.device("cpu"))


def gradients(model: Seq2Seq, nats: Tensor) -> dict[str, Tensor]:
    model.zero_grad()
    nats.backward()
    return {name: parameter.grad.clone() for name, parameter in model.named_parameters() if parameter.grad is not None}


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("variant", VARIANTS)
def test_nats_and_gradients_are_those_of_the_reference(variant: str, fused: bool) -> None:
    model = made(VARIANTS[variant]).use(fused)
    ours = CrossEntropy().forward(model(pairs()))
    assert ours.tokens == sum(len(target) + 1 for target in TARGET)
    found = gradients(model, ours.total)
    weights = dict(model.named_parameters())
    wanted = sum(literal.nats([*s, EOS], t, EOS, weights) for s, t in zip(SOURCE, TARGET, strict=True))
    assert isinstance(wanted, Tensor)
    torch.testing.assert_close(ours.cross_entropy, wanted)
    for name, gradient in gradients(model, wanted).items():
        torch.testing.assert_close(found[name], gradient, msg=name)
    assert set(found) == set(weights)


def test_the_fast_twin_in_float32_is_the_readable_one() -> None:
    """Where numba does attention's work."""
    model = made(VARIANTS["three_way"], torch.float32)
    found = {
        fused: gradients(model, CrossEntropy().forward(model.use(fused)(pairs())).total) for fused in (False, True)
    }
    for name, gradient in found[False].items():
        torch.testing.assert_close(found[True][name], gradient, atol=1e-5, rtol=1e-4, msg=name)


def test_the_plain_model_of_the_benchmark_is_the_same_model() -> None:
    """What `benchmarks.translation` compares with computes what ours does, and finds the same translations."""
    model = made(replace(SETTINGS, tying="none", attention=None), torch.float32).eval()
    plain, batch = NaiveTranslation.like(model), pairs()
    targets = batch.targets_TB.masked_fill(~batch.present_TB, -100)
    nats = plain.loss(batch.source_SB, batch.source_lengths_B, batch.inputs_TB, targets, -100)
    torch.testing.assert_close(nats, CrossEntropy().forward(model(batch)).total)
    for beam, longest in ((1, 7), (2, 7), (3, 4)):
        found = translate_ids(model, SOURCE, EOS, EOS, Search(beam, max_length=longest))
        for sentence, best in zip(SOURCE, found, strict=True):
            assert plain.search(torch.tensor([*sentence, EOS]), beam, EOS, longest) == best[0].ids


def test_a_step_of_the_fast_twin_is_the_readable_one() -> None:
    """In both dtypes, with two states of each sentence; where gradients are asked for, the readable form serves."""
    for dtype, tolerance in ((torch.float64, 1e-12), (torch.float32, 1e-5)):
        model, batch = made(VARIANTS["decoder"], dtype), pairs()
        source = model.encode(batch.source_SB, batch.source_lengths_B)
        words, hidden = torch.tensor([3, 4, 5, 6, 7, 8]), torch.randn(6, 4, dtype=dtype)
        wanted = model.use(False).step(words, hidden, source)
        with torch.no_grad():
            found = model.use(True).step(words, hidden, source)
        for one, other in zip(found, wanted, strict=True):
            torch.testing.assert_close(one, other, atol=tolerance, rtol=0)
        assert model.step(words, hidden, source)[0].requires_grad


@pytest.mark.parametrize("fused", [False, True])
def test_padding_and_neighbours_change_no_score(fused: bool) -> None:
    model = made(VARIANTS["three_way"]).use(fused)
    together = CrossEntropy().forward(model(pairs())).total
    alone = sum(CrossEntropy().forward(model(pairs([s], [t]))).total for s, t in zip(SOURCE, TARGET, strict=True))
    torch.testing.assert_close(together, alone)
    padded = pairs()
    longer = SentencePairs(
        *(torch.cat([part, torch.full((3, 3), 5)]) if part.dim() == 2 else part for part in vars(padded).values())
    )
    scoring = model(longer)
    torch.testing.assert_close(CrossEntropy().forward(scoring).total, together)


def test_padding_has_no_gradient() -> None:
    model = made(VARIANTS["none"]).use(fused=True)
    found = gradients(model, CrossEntropy().forward(model(pairs([[3, 4, 5], [2]], [[4], [5]]))).total)
    untouched = [6, 7, 8]
    assert model.source_embedding is not None
    assert not found["source_embedding.weight"][untouched].any()


def test_one_owner_of_the_matrix() -> None:
    sizes = {name: made(settings).parameter_count() for name, settings in VARIANTS.items()}
    matrix = WORDS * SETTINGS.embedding
    assert sizes["decoder"] - sizes["three_way"] == matrix
    names = set(made(VARIANTS["three_way"]).state_dict())
    assert [name for name in names if "embedding" in name] == ["embedding.weight"]
    assert "head.weight" not in names
    model = made(VARIANTS["three_way"])
    assert model.output_matrix is model.embedding.weight
    assert model.source_matrix is model.embedding


def test_two_vocabularies_are_not_one() -> None:
    with pytest.raises(ValueError, match="three-way tying of 5 source words and 6"):
        Seq2Seq(VARIANTS["three_way"], 5, 6)


def test_dropout_is_drawn_while_training_alone() -> None:
    model = made(replace(VARIANTS["three_way"], word_dropout=0.5, encoder_dropout=0.5, output_dropout=0.5))
    trained = [float(CrossEntropy().forward(model.train()(pairs())).total.detach()) for _ in range(2)]
    used = [float(CrossEntropy().forward(model.eval()(pairs())).total.detach()) for _ in range(2)]
    assert trained[0] != trained[1]
    assert used[0] == used[1]


class Largest(TorchDispatchMode):
    """Notes the size of the largest tensor that any operation makes."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.numbers = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        if isinstance(result, Tensor):
            self.numbers = max(self.numbers, result.numel())
        return result


@pytest.mark.parametrize("training", [True, False])
def test_the_output_layer_does_not_hold_all_scores(training: bool) -> None:
    words, sentences, length = 20_000, 60, 19
    torch.manual_seed(1)
    model = Seq2Seq(Seq2SeqSettings(hidden=4, embedding=4), words, words).use(fused=True)
    batch = pairs([[2] * 3] * sentences, [[3] * length] * sentences)
    loss = build_loss(LossSettings(kind="cross_entropy"), fused=True, precision=torch.float32)
    with Largest() as largest, torch.set_grad_enabled(training):
        total = loss.forward(model(batch)).total
        if training:
            total.backward()
    assert largest.numbers < sentences * (length + 1) * words / 2
