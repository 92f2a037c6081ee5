"""Sampled softmax against its definition: candidates, value and gradient, and that its normaliser is unbiased."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from tests.reference.losses import literal_loss
from tests.reference.sampled_softmax import slow_inclusion, slow_sampled, weights
from wordtie.config import LossSettings
from wordtie.losses.build import build_loss
from wordtie.losses.loss import Scoring
from wordtie.losses.sampled import CandidateSampler, SampledLoss

COUNTS = torch.tensor([40, 0, 17, 5, 9, 1, 3, 2, 1, 1, 22])
WORDS = len(COUNTS)
FORMS = pytest.mark.parametrize("fused", [False, True], ids=["readable", "fused"])


class Fixed(CandidateSampler):
    """Always the same draw."""

    def __init__(self, weight: dict[int, float]) -> None:
        self.words, self.weights = torch.tensor(list(weight)), torch.tensor(list(weight.values()))

    def draw(self) -> tuple[Tensor, Tensor]:
        return self.words, self.weights.log()


def sampled(fused: bool, sampler: CandidateSampler, sparse: bool = False, **settings: object) -> SampledLoss:
    made = build_loss(LossSettings(**{"kind": "cross_entropy", **settings}), fused, torch.float32)  # type: ignore[arg-type]
    return SampledLoss(made, sampler, sparse)


def leaf(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64).float().requires_grad_()


@FORMS
@pytest.mark.parametrize("bias", [False, True], ids=["no-bias", "bias"])
@pytest.mark.parametrize("tokens", [1, 2, 7])
@pytest.mark.parametrize(
    "drawn",
    [{0: 1.0, 3: 2.5, 10: 0.25}, {word: 0.5 + word for word in range(WORDS)}, {5: 3.0}],
    ids=["some", "all", "one"],
)
def test_value_and_gradient_are_the_definitions(drawn: dict[int, float], tokens: int, bias: bool, fused: bool) -> None:
    torch.manual_seed(tokens)
    query, output, offset = leaf(tokens, 3), leaf(WORDS, 3), leaf(WORDS)
    targets = torch.tensor([10, 3, 3, 0, 7, 10, 1][:tokens])  # some of them are drawn, some are not, some come twice
    loss = sampled(fused, Fixed(drawn)).forward(Scoring(query, output, offset if bias else None, targets, output))
    loss.total.backward()
    slow = slow_sampled(
        query.tolist(), output.tolist(), offset.tolist() if bias else [0.0] * WORDS, targets.tolist(), drawn
    )
    assert loss.tokens == tokens
    assert loss.total.item() == pytest.approx(slow.total, rel=1e-5, abs=1e-6)
    assert loss.cross_entropy.item() == pytest.approx(slow.total, rel=1e-5, abs=1e-6)
    found = [query.grad, output.grad, offset.grad] if bias else [query.grad, output.grad]
    for one, other in zip(found, (slow.d_query, slow.d_output, slow.d_bias), strict=False):
        assert one is not None
        torch.testing.assert_close(one, torch.tensor(other), rtol=1e-5, atol=1e-5)


@FORMS
def test_a_word_that_is_drawn_and_a_target_counts_once_as_the_target(fused: bool) -> None:
    query, output, targets = leaf(2, 3), leaf(WORDS, 3), torch.tensor([4, 9])
    hit, none = {4: 7.0, 6: 2.0}, {6: 2.0}
    scoring = Scoring(query, output, None, targets, output)
    found, expected = (sampled(fused, Fixed(drawn)).forward(scoring).total for drawn in (hit, none))
    assert found.item() == expected.item()


@FORMS
def test_with_as_many_samples_as_words_it_is_the_full_softmax(fused: bool) -> None:
    query, output, offset, targets = leaf(5, 3), leaf(WORDS, 3), leaf(WORDS), torch.tensor([4, 9, 4, 0, 1])
    scoring = Scoring(query, output, offset, targets, output)
    found = sampled(fused, CandidateSampler(COUNTS, WORDS, 0.75)).forward(scoring)
    full = build_loss(LossSettings("cross_entropy"), fused, torch.float32).forward(scoring)
    assert found.total.item() == pytest.approx(full.total.item(), rel=1e-6)
    for one, other in zip(*(torch.autograd.grad(loss.total, (query, output, offset)) for loss in (found, full)),
                          strict=True):  # fmt: skip
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("power", [0.0, 0.5, 0.75, 1.0])
@pytest.mark.parametrize("samples", [1, 2, 4, 7, WORDS - 1, WORDS, WORDS + 5])
def test_how_often_a_word_is_expected(samples: int, power: float) -> None:
    expected = slow_inclusion(COUNTS.tolist(), samples, power)
    sampler = CandidateSampler(COUNTS, samples, power)
    assert sampler.expected_V.tolist() == pytest.approx(expected, rel=1e-9)
    assert sampler.expected_V.sum().item() == pytest.approx(min(samples, WORDS))


@pytest.mark.parametrize("samples", [1, 4, 7])
def test_words_are_drawn_as_often_as_expected(samples: int) -> None:
    """The mean of (times drawn / times expected) is one for every word, so that the normaliser is unbiased."""
    torch.manual_seed(1)
    sampler, draws = CandidateSampler(COUNTS, samples, 0.75), 4_000
    total, squares = torch.zeros(WORDS, dtype=torch.float64), torch.zeros(WORDS, dtype=torch.float64)
    for _ in range(draws):
        words, log_weight = sampler.draw()
        assert len(words.unique()) == len(words)
        weight = log_weight.double().exp()
        total[words] += weight
        squares[words] += weight.square()
    mean = total / draws
    error = ((squares / draws - mean.square()).clamp(min=0) / draws).sqrt()
    assert ((mean - 1).abs() <= 5 * error + 1e-6).all()


def test_the_normaliser_and_its_gradient_are_unbiased() -> None:
    """Over many draws the mean of Z' is Z for each token, targets among the candidates included, and so is dZ'."""
    torch.manual_seed(2)
    score_NV = torch.randn(3, WORDS, dtype=torch.float64)
    targets, draws = [4, 9, 9], 4_000
    sampler = CandidateSampler(COUNTS, 4, 0.75)
    found = torch.zeros(draws, 3, dtype=torch.float64)
    for number in range(draws):
        words, log_weight = sampler.draw()
        weight = weights(targets, dict(zip(words.tolist(), log_weight.double().exp().tolist(), strict=True)))
        share = torch.zeros(WORDS, dtype=torch.float64)
        share[list(weight)] = torch.tensor(list(weight.values()), dtype=torch.float64)
        found[number] = (score_NV.exp() * share).sum(1)
    exact = score_NV.exp().sum(1)
    assert ((found.mean(0) - exact).abs() <= 5 * found.std(0) / draws**0.5).all()


@FORMS
@pytest.mark.parametrize("through", [True, False, "entropy"])
@pytest.mark.parametrize("tied", [False, True], ids=["untied", "tied"])
def test_an_augmented_loss_is_restricted_to_the_candidates(tied: bool, through: bool | str, fused: bool) -> None:
    """Its divergence is that over the candidates' rows, without weights; those weigh in the cross-entropy alone."""
    torch.manual_seed(3)
    drawn = {0: 1.0, 3: 2.5, 8: 0.25}
    query, output, offset = leaf(4, 3), leaf(WORDS, 3), leaf(WORDS)
    words = output if tied else leaf(WORDS, 3)
    targets = torch.tensor([10, 3, 7, 10])
    loss = sampled(
        fused, Fixed(drawn), kind="augmented", temperature=3.0, gamma=0.7, gradient_through_target=through
    ).forward(Scoring(query, output, offset, targets, words))  # fmt: skip
    weight = weights(targets.tolist(), drawn)
    rows, places = list(weight), torch.tensor([list(weight).index(target) for target in targets.tolist()])
    bias = offset[rows] + torch.tensor(list(weight.values())).log()
    total, nats = literal_loss(query, output[rows], bias, places, words[rows], 3.0, 0.7, through)
    assert loss.total.item() == pytest.approx(total.item(), rel=1e-5)
    assert loss.cross_entropy.item() == pytest.approx(nats.item(), rel=1e-5)
    leaves = [query, output, offset, *([] if tied else [words])]
    for one, other in zip(*(torch.autograd.grad(each, leaves, materialize_grads=True)
                            for each in (loss.total, total)), strict=True):  # fmt: skip
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


@FORMS
@pytest.mark.parametrize("tied", [False, True], ids=["untied", "tied"])
def test_a_sparse_gradient_has_the_candidates_rows_and_the_same_numbers(tied: bool, fused: bool) -> None:
    query, output, targets = leaf(4, 3), leaf(WORDS, 3), torch.tensor([10, 3, 7, 10])
    words = output if tied else leaf(WORDS, 3)
    drawn = {0: 1.0, 3: 2.5, 8: 0.25}
    scoring, leaves = Scoring(query, output, None, targets, words), [output, *([] if tied else [words])]
    dense, sparse = (
        torch.autograd.grad(sampled(fused, Fixed(drawn), is_sparse, kind="augmented").forward(scoring).total, leaves)
        for is_sparse in (False, True)
    )
    for one, other in zip(dense, sparse, strict=True):
        assert other.is_sparse
        assert set(other.coalesce().indices()[0].tolist()) == {0, 3, 7, 8, 10}
        torch.testing.assert_close(one, other.to_dense())


@FORMS
def test_vectors_drawn_for_the_targets_stand_for_their_rows(fused: bool) -> None:
    """Variational smoothing: as in the full softmax, the target's own score alone comes from its drawn vector."""
    torch.manual_seed(4)
    query, output, drawn = leaf(4, 3), leaf(WORDS, 3), leaf(4, 3)
    targets = torch.tensor([10, 3, 7, 10])
    every = dict.fromkeys(range(WORDS), 1.0)
    found = sampled(fused, Fixed(every)).forward(Scoring(query, output, None, targets, output, drawn))
    full = build_loss(LossSettings("cross_entropy"), fused, torch.float32)(query, output, None, targets, output, drawn)
    assert found.total.item() == pytest.approx(full.total.item(), rel=1e-5)
    for one, other in zip(*(torch.autograd.grad(loss.total, (query, output, drawn)) for loss in (found, full)),
                          strict=True):  # fmt: skip
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)


def test_the_seed_decides_the_draws() -> None:
    sampler = CandidateSampler(COUNTS, 4, 0.75)
    draws = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        draws.append([sampler.draw()[0].tolist() for _ in range(10)])
    assert draws[0] == draws[1] != draws[2]
