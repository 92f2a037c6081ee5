"""A model read with noise: nothing changes without it, the mean comes and goes, sampling averages."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from wordtie.config import ModelSettings, NoiseSettings
from wordtie.evaluation.perplexity import evaluate
from wordtie.evaluation.sampled import evaluate_sampled
from wordtie.losses.loss import CrossEntropy
from wordtie.models.language_model import LanguageModel
from wordtie.noise.noisy_forward import MATRIX, Noise
from wordtie.noise.proposals import Proposal
from wordtie.noise.smoothed_l2 import l2_coefficients
from wordtie.noise.smoothed_prediction import fold_mean

V, T, B, H = 11, 6, 3, 4
PROPOSAL = Proposal.from_weights(np.linspace(0.1, 0.9, V), np.arange(1.0, V + 1))
SMOOTHING = NoiseSettings(kind="kneser_ney")


def model(**settings: Any) -> LanguageModel:
    torch.manual_seed(1)
    return LanguageModel(ModelSettings(hidden=H, layers=1, init=0.5, **settings), V)


def window() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(2)
    ids = torch.randint(V, (2, T, B), generator=generator)
    return ids[0], ids[1]


def test_without_noise_the_numbers_are_the_models() -> None:
    inputs, targets = window()
    one = model()
    state = one.initial_state(B)
    torch.manual_seed(3)
    expected, _ = one(inputs, state)
    after = torch.get_rng_state()
    torch.manual_seed(3)
    read, _ = Noise(NoiseSettings()).forward(one, inputs, targets, state)
    assert torch.equal(read.query_NE, expected)
    assert torch.equal(torch.get_rng_state(), after)
    assert read.output_VE is one.embedding.weight
    assert read.drawn_NE is None


@pytest.mark.parametrize(
    ("draw", "elementwise"),
    [("own", False), ("own", True), ("with_input", False), ("with_input", True), ("shared", False)],
)
@pytest.mark.parametrize("drawn_for", ["sequence", "token"])
def test_smoothing_of_nothing_reads_as_the_model(elementwise: bool, draw: Any, drawn_for: Any) -> None:
    if draw == "shared" and drawn_for == "token":
        pytest.skip("no sequence to share in")
    inputs, targets = window()
    one = model(input_dropout=0.0, hidden_dropout=0.0)
    nothing = Proposal.from_weights(np.zeros(V), np.ones(V))
    settings = replace(SMOOTHING, elementwise=elementwise, output_draw=draw, drawn_for=drawn_for)
    noise = Noise(settings, nothing)
    read, _ = noise.forward(one, inputs, targets, one.initial_state(B))
    assert torch.equal(read.query_NE, one(inputs, one.initial_state(B))[0])
    assert read.drawn_NE is not None
    assert torch.equal(read.drawn_NE, one.embedding.weight[targets.flatten()])


@pytest.mark.parametrize(
    "settings",
    [
        SMOOTHING,
        replace(SMOOTHING, output_draw="with_input", input_vector_dropout=0.5),
        replace(SMOOTHING, output_draw="with_input", elementwise=True, input_vector_dropout=0.5),
        replace(SMOOTHING, output_draw="shared", input_vector_dropout=0.5),
        replace(SMOOTHING, output_draw="all", input_vector_dropout=0.5, output_vector_dropout=0.5),
        replace(SMOOTHING, output_draw="all", elementwise=True, output_vector_dropout=0.5),
        replace(SMOOTHING, output_draw="with_input", drawn_for="token", input_vector_dropout=0.5),
        replace(SMOOTHING, elementwise=True),
        replace(SMOOTHING, output_draw="none", input_vector_dropout=0.5),
        replace(SMOOTHING, elementwise=True, input_vector_dropout=0.5, output_vector_dropout=0.5),
        replace(SMOOTHING, scheme="data_noising", input_vector_dropout=0.5),
        NoiseSettings(input_vector_dropout=0.5, output_vector_dropout=0.5),
    ],
    ids=[
        "words",
        "pairs",
        "pairs of elements",
        "one draw for both sides",
        "all of the output",
        "all elements of the output",
        "tokens",
        "elements",
        "inputs alone",
        "elements and dropout",
        "data noising and dropout",
        "dropout",
    ],
)
def test_every_kind_trains(settings: NoiseSettings) -> None:
    inputs, targets = window()
    one = model()
    noise = Noise(replace(settings, l2=0.1), PROPOSAL if settings.kind != "none" else None)
    read, _ = noise.forward(one.train(), inputs, targets, one.initial_state(B))
    loss = CrossEntropy().forward(read)
    loss.total.backward()
    noise.add_l2_gradient(one)
    assert all(parameter.grad is not None and parameter.grad.isfinite().all() for parameter in one.parameters())


@pytest.mark.parametrize("elementwise", [False, True])
def test_targets_keep_their_rows_where_only_inputs_are_smoothed(elementwise: bool) -> None:
    inputs, targets = window()
    one = model(input_dropout=0.0, hidden_dropout=0.0)
    noise = Noise(replace(SMOOTHING, output_draw="none", elementwise=elementwise), PROPOSAL)
    torch.manual_seed(4)
    read, _ = noise.forward(one, inputs, targets, one.initial_state(B))
    assert read.drawn_NE is None
    assert read.output_VE is one.embedding.weight
    assert not torch.equal(read.query_NE, one(inputs, one.initial_state(B))[0]), "inputs are drawn"
    torch.manual_seed(4)
    both = Noise(replace(SMOOTHING, elementwise=elementwise), PROPOSAL)
    assert both.forward(one, inputs, targets, one.initial_state(B))[0].drawn_NE is not None


@pytest.mark.parametrize("drawn_for", ["sequence", "token"])
def test_a_word_has_one_mask_however_often_it_is_drawn(drawn_for: Any) -> None:
    one = model().train()
    settings = replace(SMOOTHING, drawn_for=drawn_for, input_vector_dropout=0.5)
    noise = Noise(settings, Proposal.from_weights(np.zeros(V), np.ones(V)))
    inputs = torch.tensor([[3, 4], [5, 4], [3, 4]])
    rows = noise._rows(one, inputs, inputs)
    assert rows is not None
    vectors_TBE = noise._vectors(one, rows, inputs)[0]
    assert torch.equal(vectors_TBE[0], vectors_TBE[2])
    dropped = vectors_TBE == 0
    assert dropped.any()
    assert not dropped.all()


def test_all_words_of_the_output_are_drawn() -> None:
    """Against a matrix that is put together row by row."""
    inputs, targets = window()
    one = model(input_dropout=0.0, hidden_dropout=0.0)
    always = Proposal.from_weights(np.array([0.0, *[1.0] * (V - 1)]), np.eye(V)[2])
    settings = replace(SMOOTHING, output_draw="all", output_vector_dropout=0.5)
    read, _ = Noise(settings, always).forward(one, inputs, targets, one.initial_state(B))
    matrix_VE = one.embedding.weight
    expected_VE = torch.stack([matrix_VE[0], *[matrix_VE[2]] * (V - 1)])
    kept_VE = read.output_VE != 0
    assert torch.equal(read.output_VE[kept_VE], (2 * expected_VE)[kept_VE])
    assert not torch.equal(kept_VE[1], kept_VE[2]), "each word has a mask of its own, whatever it is replaced by"
    assert read.drawn_NE is None
    read.output_VE.sum().backward()
    assert matrix_VE.grad is not None
    assert matrix_VE.grad[2].abs().sum() > matrix_VE.grad[0].abs().sum() > 0
    assert float(matrix_VE.grad[1].abs().sum()) == 0


def test_elements_of_all_words_of_the_output_are_drawn() -> None:
    """Each at its word's gamma_i and apart from the others of its row; the gradient goes to where it came from."""
    inputs, targets = window()
    one = model(input_dropout=0.0, hidden_dropout=0.0)
    settings = replace(SMOOTHING, output_draw="all", elementwise=True)
    noise = Noise(settings, Proposal.from_weights(PROPOSAL.gamma_V.numpy(), np.eye(V)[2]))
    matrix_VE = one.embedding.weight
    replaced_VE, draws = torch.zeros(V, H), 4000
    torch.manual_seed(5)
    for _ in range(draws):
        read, _ = noise.forward(one, inputs, targets, one.initial_state(B))
        from_two_VE = read.output_VE == matrix_VE[2]
        assert torch.equal(torch.where(from_two_VE, matrix_VE[2], matrix_VE), read.output_VE)
        replaced_VE += from_two_VE
    replaced_VE[2] = PROPOSAL.gamma_V[2] * draws  # its own vector is what it is replaced by
    share_VE = PROPOSAL.gamma_V[:, None].expand(V, H).float()
    torch.testing.assert_close(replaced_VE / draws, share_VE, atol=5 * (0.25 / draws) ** 0.5, rtol=0)
    from_two_VE[2] = True
    assert not torch.equal(from_two_VE.all(1), from_two_VE.any(1)), "coordinates of a row are drawn apart"
    expected_VE = (~from_two_VE).float()
    expected_VE[2] = from_two_VE.sum(0)
    read.output_VE.sum().backward()
    assert matrix_VE.grad is not None
    torch.testing.assert_close(matrix_VE.grad, expected_VE)


def test_the_mask_of_the_output_is_the_targets_too() -> None:
    inputs, targets = window()
    one = model()
    read, _ = Noise(replace(SMOOTHING, output_vector_dropout=0.5), PROPOSAL).forward(
        one, inputs, targets, one.initial_state(B)
    )
    assert read.drawn_NE is not None
    assert torch.equal(read.drawn_NE == 0, (read.output_VE == 0)[read.targets_N])


@pytest.mark.parametrize("draw", ["with_input", "own"])
@pytest.mark.parametrize("elementwise", [False, True])
def test_the_mask_of_the_input_is_not_the_targets(draw: Any, elementwise: bool) -> None:
    inputs, targets = window()
    settings = replace(SMOOTHING, input_vector_dropout=0.5, elementwise=elementwise, output_draw=draw)
    one = model()
    read, _ = Noise(settings, PROPOSAL).forward(one, inputs, targets, one.initial_state(B))
    assert read.drawn_NE is not None
    assert (read.drawn_NE != 0).all()


def test_kneser_ney_data_noising_replaces_targets_only_while_training() -> None:
    inputs, targets = window()
    noise = Noise(replace(SMOOTHING, scheme="data_noising"), PROPOSAL)
    torch.manual_seed(4)
    assert not torch.equal(
        noise.forward(model().train(), inputs, targets, model().initial_state(B))[0].targets_N, targets.flatten()
    )
    assert torch.equal(
        noise.forward(model().eval(), inputs, targets, model().initial_state(B))[0].targets_N, targets.flatten()
    )


def test_l2_leaves_biases_alone() -> None:
    one = model(core="rhn", depth=2)
    for parameter in one.parameters():
        parameter.grad = torch.zeros_like(parameter)
    Noise(NoiseSettings(l2=0.3)).add_l2_gradient(one)
    for name, parameter in one.named_parameters():
        assert parameter.grad is not None
        assert parameter.grad.any() != name.endswith("bias")


@pytest.mark.parametrize("form", ["exact", "printed"])
def test_l2_is_the_gradient_of_its_penalty(form: Any) -> None:
    one = model()
    for parameter in one.parameters():
        parameter.grad = torch.zeros_like(parameter)
    Noise(replace(SMOOTHING, l2=0.3, l2_form=form), PROPOSAL).add_l2_gradient(one)
    weights_V = l2_coefficients(PROPOSAL, form).float()
    penalty = torch.zeros(())
    for name, parameter in one.named_parameters():
        if parameter.ndim > 1:
            squares = parameter.square().sum(1)
            penalty = penalty + 0.15 * ((weights_V * squares) if name == MATRIX else squares).sum()
    expected = dict(zip([name for name, p in one.named_parameters() if p.ndim > 1], torch.autograd.grad(
        penalty, [p for p in one.parameters() if p.ndim > 1]), strict=True))  # fmt: skip
    for name, parameter in one.named_parameters():
        assert parameter.grad is not None
        torch.testing.assert_close(parameter.grad, expected.get(name, torch.zeros_like(parameter)))


def test_the_mean_is_folded_in_and_out_again_to_the_bit() -> None:
    one, noise = model(), Noise(SMOOTHING, PROPOSAL)
    before = {name: tensor.clone() for name, tensor in one.state_dict().items()}
    with noise.frozen(one):
        folded = {name: tensor.clone() for name, tensor in one.state_dict().items()}
        assert torch.equal(one.output_matrix, folded[MATRIX]), "one matrix, so the output has its mean too"
    assert torch.equal(folded[MATRIX], fold_mean(before[MATRIX], PROPOSAL))
    assert all(torch.equal(tensor, before[name]) for name, tensor in one.state_dict().items())
    assert torch.equal(noise.for_prediction(before)[MATRIX], folded[MATRIX])
    torch.testing.assert_close(noise.for_training(folded)[MATRIX], before[MATRIX])


@pytest.mark.parametrize("prediction", ["mode", "sampling"])
def test_other_predictions_fold_nothing(prediction: Any) -> None:
    one, noise = model(), Noise(replace(SMOOTHING, prediction=prediction), PROPOSAL)
    assert torch.equal(noise.for_prediction(one.state_dict())[MATRIX], one.embedding.weight)


IDS = np.random.default_rng(1).integers(V, size=50)


def test_samples_of_nothing_are_the_clean_model() -> None:
    noise = Noise(SMOOTHING, Proposal.from_weights(np.zeros(V), np.ones(V)))
    sampled = evaluate_sampled(model(), noise, IDS, 0, steps=7, samples=3)
    clean = evaluate(model(), IDS, 0)
    assert sampled.nats == pytest.approx(clean.nats, rel=1e-5)
    assert sampled.tokens == clean.tokens


def test_sampling_averages_the_nats_of_single_windows() -> None:
    """Over one word there is one row to draw on either side: the expectation can be written out."""
    one, noise = model(), Noise(SMOOTHING, PROPOSAL)
    sampled = evaluate_sampled(one, noise, IDS[:1], 0, steps=5, samples=20_000)
    matrix, target, gamma, share = one.embedding.weight.detach(), int(IDS[0]), PROPOSAL.gamma_V, PROPOSAL.share_V
    expected = 0.0
    one.eval()
    for read in range(V):
        query = one.forward_vectors(matrix[read].view(1, 1, H), one.initial_state(1), torch.tensor([[read]]))[
            0
        ].detach()
        p_read = gamma[0] * share[read] + (1 - gamma[0]) * (read == 0)
        for written in range(V):
            p_written = gamma[target] * share[written] + (1 - gamma[target]) * (written == target)
            loss = CrossEntropy()(query, matrix, None, torch.tensor([target]), matrix, matrix[written][None])
            expected += float(p_read * p_written * loss.total)
    assert sampled.nats == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("scores", [1, 5 * V, 1_000_000])
@pytest.mark.parametrize("draw", ["own", "none"])
def test_samples_score_with_the_rows_that_they_draw(draw: Any, scores: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every word is always replaced by word 3, so that nothing is left to chance; in pieces of any size."""
    monkeypatch.setattr("wordtie.evaluation.sampled.SCORES_AT_ONCE", scores)
    one, always = model(), Proposal.from_weights(np.ones(V), np.eye(V)[3])
    noise = Noise(replace(SMOOTHING, output_draw=draw), always)
    sampled = evaluate_sampled(one, noise, IDS, 0, steps=7, samples=2)
    one.eval()
    with torch.no_grad():
        matrix = one.embedding.weight
        query, _ = one.forward_vectors(
            matrix[3].expand(len(IDS), 1, H), one.initial_state(1), torch.full((len(IDS), 1), 3)
        )
        drawn = None if draw == "none" else matrix[3].expand(len(IDS), H)
        expected = CrossEntropy()(query, matrix, one.head.bias, torch.from_numpy(IDS), matrix, drawn)
    assert sampled.nats == pytest.approx(float(expected.total), rel=1e-5)


def test_sampling_leaves_the_random_numbers_alone() -> None:
    noise, network = Noise(replace(SMOOTHING, elementwise=True), PROPOSAL), model()
    before = torch.get_rng_state()
    first = evaluate_sampled(network, noise, IDS, 0, steps=7, samples=4).nats
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(99)
    before = torch.get_rng_state()
    assert evaluate_sampled(network, noise, IDS, 0, steps=7, samples=4).nats == first
    assert torch.equal(torch.get_rng_state(), before)
