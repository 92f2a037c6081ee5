"""The fused losses, in each of their forms, against their definitions: value and gradient."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from tests.kernels.conftest import needs_numba
from tests.reference.losses import literal_loss
from wordtie.kernels import backend
from wordtie.kernels.softmax import loss
from wordtie.kernels.softmax.loss import Pull


@dataclass(frozen=True)
class Case:
    tokens: int = 7
    words: int = 11
    size: int = 3
    tied: bool = True
    bias: bool = False
    pull: Pull | None = None
    distinct: int | None = None
    """Targets come from so many words."""
    hidden: int | None = None
    """Size of query and output vectors where it is not that of the input vectors."""

    def operands(self, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor, Tensor | None, Tensor, Tensor]:
        """query, output, bias, targets, words; `words is output` where tied."""
        generator = torch.Generator().manual_seed(self.tokens * self.words)

        def randn(*shape: int) -> Tensor:
            return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype).requires_grad_()

        hidden = self.hidden or self.size
        output = randn(self.words, hidden)
        words = output if self.tied else randn(self.words, self.size)
        targets = torch.randint(self.distinct or self.words, (self.tokens,), generator=generator)
        return randn(self.tokens, hidden), output, randn(self.words) if self.bias else None, targets, words


def gradients(total: Tensor, *leaves: Tensor | None) -> list[Tensor]:
    """In the order of the leaves; zeros where one takes no part."""
    wanted = [leaf for leaf in leaves if leaf is not None]
    found = torch.autograd.grad(2.5 * total, wanted, allow_unused=True)
    return [torch.zeros_like(leaf) if g is None else g for leaf, g in zip(wanted, found, strict=True)]


def fused(case: Case, precision: torch.dtype, dtype: torch.dtype = torch.float32) -> list[Tensor]:
    """total, cross-entropy, gradients."""
    query, output, bias, targets, words = case.operands(dtype)
    total, nats = loss.softmax_loss(query, output, bias, targets, words, case.pull, precision)
    return [total.detach(), nats, *gradients(total, query, output, bias, None if case.tied else words)]


def literal(case: Case) -> list[Tensor]:
    """The same from the definition, in float64."""
    query, output, bias, targets, words = case.operands(torch.float64)
    pull = case.pull or Pull(1.0, 0.0, False)
    total, nats = literal_loss(
        query, output, bias, targets, words,
        pull.temperature, pull.gamma, pull.through_target, pull.form, pull.biased,
    )  # fmt: skip
    return [total.detach(), nats.detach(), *gradients(total, query, output, bias, None if case.tied else words)]


def assert_close(found: list[Tensor], expected: list[Tensor], tolerance: float) -> None:
    """Relative to each array's largest entry: a small entry is the difference of large ones."""
    for one, other in zip(found, expected, strict=True):
        scale = max(1.0, other.abs().max().item()) if other.numel() else 1.0
        torch.testing.assert_close(one.to(other.dtype), other, rtol=0, atol=tolerance * scale)


PULLS = [None, Pull(20.0, 0.65, True), Pull(20.0, 0.65, False), Pull(3.0, 1.5, True), Pull(20.0, 0.0, True)]
CROSS = [Pull(20.0, 0.65, True, "cross_entropy"), Pull(1.0, 0.3, True, "cross_entropy")]
ENTROPY = [Pull(20.0, 0.65, "entropy"), Pull(3.0, 1.5, "entropy"), Pull(3.0, 1.5, "entropy", "cross_entropy")]
OF_2016 = Pull(1.0, 0.3, True, biased=True)


@pytest.mark.parametrize(
    "pull",
    [*PULLS, *CROSS, *ENTROPY, OF_2016],
    ids=["ce", "20", "20-fixed", "3", "gamma0", "20-ce", "1-ce", "20-entropy", "3-entropy", "3-entropy-ce", "2016"],
)
@pytest.mark.parametrize("bias", [False, True], ids=["no-bias", "bias"])
@pytest.mark.parametrize("tied", [False, True], ids=["untied", "tied"])
def test_equals_the_definition(form: str, tied: bool, bias: bool, pull: Pull | None) -> None:
    case = Case(tied=tied, bias=bias, pull=pull)
    assert_close(fused(case, torch.float32), literal(case), 3e-6)


SHAPES = {
    "one token": Case(tokens=1),
    "two words": Case(words=2, tokens=5),
    "one token, two words, size 1": Case(tokens=1, words=2, size=1),
    "one distinct target": Case(tokens=9, distinct=1),
    "repeated targets": Case(tokens=40, distinct=3),
    "more words than a vector register": Case(tokens=5, words=75, size=13),
}


@pytest.mark.parametrize("pull", [None, Pull(20.0, 0.65, True)], ids=["ce", "augmented"])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_odd_shapes(form: str, shape: Case, pull: Pull | None) -> None:
    for bias in (False, True):
        case = Case(shape.tokens, shape.words, shape.size, True, bias, pull, shape.distinct)
        assert_close(fused(case, torch.float32), literal(case), 3e-6)


@pytest.mark.parametrize(
    "pull", [None, Pull(3.0, 0.5, True), OF_2016], ids=["cross-entropy", "augmented", "augmented-2016"]
)
def test_a_bias_learns_in_fp32_whatever_the_products(pull: Pull | None) -> None:
    """Its gradient is a sum over all tokens, and adds up to 0; rounded to bfloat16 it would by far not."""
    torch.manual_seed(1)
    query, output, bias = torch.randn(700, 8), torch.randn(1000, 8), torch.zeros(1000, requires_grad=True)
    total, _ = loss.softmax_loss(query, output, bias, torch.randint(1000, (700,)), output, pull, torch.bfloat16)
    (gradient,) = torch.autograd.grad(total, bias)
    assert abs(float(gradient.double().sum())) < 2e-3
    assert float(gradient.abs().sum()) > 100


@pytest.mark.parametrize(("precision", "tolerance"), [(torch.float32, 3e-6), (torch.bfloat16, 1e-2)], ids=str)
@pytest.mark.parametrize("pull", [*PULLS[1:3], ENTROPY[0]], ids=["tau20", "tau20-fixed", "tau20-entropy"])
@pytest.mark.parametrize("hidden", [2, 24])
def test_input_vectors_of_another_size(
    form: str, hidden: int, pull: Pull, precision: torch.dtype, tolerance: float
) -> None:
    """The untied head with E below and above H: L is (V, E) and W is (V, H)."""
    for bias in (False, True):
        case = Case(tokens=60, words=50, size=16, tied=False, bias=bias, pull=pull, distinct=9, hidden=hidden)
        assert_close(fused(case, precision), literal(case), tolerance)


@pytest.mark.parametrize(("precision", "tolerance"), [(torch.float32, 3e-6), (torch.bfloat16, 1e-2)], ids=str)
@pytest.mark.parametrize("rows", [1, 3, 7])
@pytest.mark.parametrize("tied", [False, True], ids=["untied", "tied"])
@pytest.mark.parametrize("pull", [None, Pull(20.0, 0.65, True)], ids=["ce", "augmented"])
def test_chunks_do_not_show(
    form: str, pull: Pull | None, tied: bool, rows: int, precision: torch.dtype, tolerance: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Chunk borders fall between tokens of one target too, and blocks of words end before the vocabulary does."""
    case = Case(tokens=17, distinct=2, pull=pull, bias=True, tied=tied)
    expected = literal(case)
    monkeypatch.setattr(loss, "CHUNK_ELEMENTS", 1)
    monkeypatch.setattr(loss, "FEWEST_ROWS", rows)
    monkeypatch.setattr(loss, "WORDS_AT_A_TIME", 4)
    assert_close(fused(case, precision), expected, tolerance)


def test_a_large_vocabulary_is_not_cut_to_pieces() -> None:
    """Every chunk reads and writes the gradient of the whole matrix, (V, E): fifty of them took five times as long."""
    for augmented, small, large in ((False, 1, 3), (True, 2, 5)):
        assert len(loss._bounds(700, 10_000, augmented)) == small
        assert len(loss._bounds(700, 267_735, augmented)) == large


@pytest.mark.parametrize("tied", [False, True], ids=["untied", "tied"])
@pytest.mark.parametrize("pull", [None, Pull(20.0, 0.65, True), CROSS[0]], ids=["ce", "augmented", "cross"])
def test_bf16_is_near(form: str, pull: Pull | None, tied: bool) -> None:
    """bfloat16 holds 8 bits: scores of size 3 are off by 0.01, gradients by 1 in 100 of their largest entry."""
    case = Case(tokens=60, words=50, size=16, tied=tied, bias=True, pull=pull)
    assert case.operands()[0].abs().max() > 2
    assert_close(fused(case, torch.bfloat16), literal(case), 1e-2)


@needs_numba
@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("pull", "tolerance"), [(Pull(20.0, 0.65, True), 2e-6), (OF_2016, 2e-5)], ids=["2017", "2016"])
def test_the_two_forms_agree(
    pull: Pull, tolerance: float, precision: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the same rounded scores they differ by sums' order alone, and where a bfloat16 falls the other way.

    At temperature 1 a similar word's gradient is a small difference of large scores.
    """
    case = Case(tokens=30, words=40, size=8, bias=True, pull=pull)
    with_numba = fused(case, precision)
    monkeypatch.setattr(backend, "have_numba", lambda: False)
    assert_close(with_numba, fused(case, precision), tolerance if precision == torch.float32 else 3e-3)


@pytest.mark.parametrize(
    "pull", [None, Pull(20.0, 0.65, True), Pull(2.0, 0.65, True), OF_2016], ids=["ce", "tau20", "tau2", "2016"]
)
@pytest.mark.parametrize("tied", [False, True], ids=["untied", "tied"])
def test_gradients_in_float64(pull: Pull | None, tied: bool) -> None:
    """`gradcheck`: numerical differences of the fused function itself; it also runs backward twice."""
    query, output, bias, targets, words = Case(4, 5, 2, tied, True, pull).operands(torch.float64)

    def total(query: Tensor, output: Tensor, bias: Tensor, words: Tensor) -> Tensor:
        words = output if tied else words
        return loss.softmax_loss(query, output, bias, targets, words, pull, torch.float64)[0]

    assert bias is not None
    others = words.detach().clone().requires_grad_(not tied)
    assert torch.autograd.gradcheck(total, [query, output, bias, others])


def test_a_kept_graph_gives_the_same_gradient_again(form: str) -> None:
    query, output, bias, targets, words = Case(pull=PULLS[1]).operands()
    total, _ = loss.softmax_loss(query, output, bias, targets, words, PULLS[1], torch.float32)
    first = torch.autograd.grad(3 * total, (query, output), retain_graph=True)
    kept = [gradient.clone() for gradient in first]
    second = torch.autograd.grad(3 * total, (query, output))
    assert all(map(torch.equal, kept, second))
    assert all(map(torch.equal, kept, first))


def test_only_the_total_is_differentiable(form: str) -> None:
    query, output, bias, targets, words = Case().operands()
    total, nats = loss.softmax_loss(query, output, bias, targets, words, None, torch.float32)
    assert total.requires_grad
    assert not nats.requires_grad


def test_a_second_derivative_is_refused(form: str) -> None:
    """It would silently leave out what the first derivative, which is ready made, owes to the query."""
    query, output, bias, targets, words = Case().operands()
    total, _ = loss.softmax_loss(query, output, bias, targets, words, None, torch.float32)
    with pytest.raises(RuntimeError, match="readable form"):
        torch.autograd.grad(total, query, create_graph=True)


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("pull", PULLS[:2], ids=["ce", "augmented"])
@pytest.mark.parametrize("bias", [False, True], ids=["no-bias", "bias"])
def test_extreme_scores(form: str, bias: bool, pull: Pull | None, precision: torch.dtype) -> None:
    """Scores of 0, 1e4 and -1e4 (a target at either end), and a row whose scores are all equal."""
    output = torch.tensor([[1.0], [-1.0], [0.0], [0.0]], requires_grad=True)
    query = torch.tensor([[1e4], [1e4], [-1e4], [0.0]], requires_grad=True)
    offset = torch.tensor([5.0, -5.0, 100.0, -100.0]) if bias else None
    targets = torch.tensor([0, 1, 2, 3])
    words = torch.tensor([[0.5], [-100.0], [0.0], [100.0]], requires_grad=True)
    total, nats = loss.softmax_loss(query, output, offset, targets, words, pull, precision)
    found = gradients(total, query, output, words)
    operands = [t.to(precision).double().detach().requires_grad_() for t in (query, output, words)]
    wide = None if offset is None else offset.double()
    setting = pull or Pull(1.0, 0.0, False)
    expected, expected_nats = literal_loss(
        operands[0], operands[1], wide, targets, operands[2], setting.temperature, setting.gamma
    )  # fmt: skip
    assert_close([total.detach(), nats], [expected.detach(), expected_nats.detach()], 1e-6)
    assert_close(found, gradients(expected, *operands), 1e-5 if precision == torch.float32 else 1e-2)


@pytest.mark.parametrize("bad", [float("nan"), -float("nan"), float("inf"), -float("inf")], ids=str)
@pytest.mark.parametrize("where", ["query", "output", "bias", "words"])
@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(
    "pull", [None, PULLS[1], PULLS[3], CROSS[0], OF_2016], ids=["ce", "tau20", "tau3", "cross", "2016"]
)
def test_what_is_not_finite_shows(form: str, pull: Pull | None, precision: torch.dtype, where: str, bad: float) -> None:
    """Divergence is noticed by a loss that is not finite: a NaN anywhere must reach it."""
    for row in (0, 10):  # the first word is a target, the last is not
        query, output, bias, targets, words = Case(words=50, tied=False, bias=True, distinct=9).operands()
        place = {"query": query, "output": output, "bias": bias, "words": words}[where]
        assert place is not None
        with torch.no_grad():
            place[min(row, len(place) - 1)] = bad
        total, nats = loss.softmax_loss(
            query, output, bias if where == "bias" else None, targets, words, pull, precision
        )  # fmt: skip
        if where == "words":
            assert pull is None or not total.isfinite()
        elif where != "bias" or bad != -float("inf") or row == 0:  # a bias of -inf rules a word out, which is sound
            assert not total.isfinite()
            assert not nats.isfinite()


@needs_numba
@pytest.mark.parametrize("pull", [None, PULLS[1], OF_2016], ids=["ce", "tau20", "2016"])
def test_a_lone_score_of_minus_infinity_shows_in_the_compiled_form(pull: Pull | None) -> None:
    """Of a word that is no target: no maximum tells of it."""
    query, output, bias, targets, words = Case(words=50, bias=True, distinct=9, pull=pull).operands()
    assert bias is not None
    with torch.no_grad():
        bias[40] = -float("inf")
    total, nats = loss.softmax_loss(query, output, bias, targets, words, pull, torch.float32)
    assert total.isnan()
    assert nats.isnan()
    assert all(gradient.isnan().any() for gradient in gradients(total, query, output, bias))


def test_threads_do_not_change_a_bit(set_threads: Callable[[int], None]) -> None:
    """Of the row work; torch's own products may add up in another order, so they stay out of this."""
    from wordtie.kernels.softmax.loss import _rows_for

    case = Case(tokens=23, words=500)
    targets = case.operands()[3].sort().values
    distinct, word_of_N = targets.unique_consecutive(return_inverse=True)
    rows = torch.randn(len(targets) + len(distinct), case.words)
    kernels = _rows_for(rows, torch.float32)
    results = []
    for threads in (1, 2, 3):
        set_threads(threads)
        here = rows.clone()
        nats, divergence, _ = kernels.augmented_rows(here, None, targets, word_of_N, 20.0, 0.65, True, False, False)
        results.append((nats, divergence, here))
    assert all(torch.equal(a, b) for other in results[1:] for a, b in zip(results[0], other, strict=True))


def test_a_gpu_gives_each_token_a_word_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Same result without looking for repeated targets, so that shapes do not depend on the data."""
    case = Case(tokens=12, distinct=2, pull=PULLS[1], bias=True)
    expected = literal(case)
    monkeypatch.setattr(backend, "have_numba", lambda: False)
    monkeypatch.setattr(loss, "_distinct", lambda targets: (targets, torch.arange(len(targets))))
    assert_close(fused(case, torch.float32), expected, 3e-6)


def test_no_token_at_all(form: str) -> None:
    query, output, bias, targets, words = Case(tokens=0, bias=True).operands()
    total, nats = loss.softmax_loss(query, output, bias, targets, words, PULLS[1], torch.float32)
    assert total.item() == nats.item() == 0
    assert all((g == 0).all() for g in gradients(total, query, output, bias))
