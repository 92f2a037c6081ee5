"""Imported networks score as the programs' own model, which `tests.reference.rnn_model` has from PyTorch's parts."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import wordtie
from tests.checkpoints.checkpoint_files import FORMS, WORDS, saved, small_model
from tests.reference.rnn_model import RNNModel, log_probabilities
from wordtie.checkpoints.importing import import_checkpoint
from wordtie.checkpoints.network import ImportedNetwork, read_network
from wordtie.checkpoints.torch_file import open_torch_file
from wordtie.errors import DataError
from wordtie.models.language_model import LanguageModel

SENTENCES = ["the cat sat on the mat", "dog", "the unknown dog sat on <unk>", "sat sat sat sat sat"]


def network_of(path: Path) -> ImportedNetwork:
    with open_torch_file(path) as file:
        return read_network(file)


def ids_of(sentence: str) -> list[int]:
    words = ["<eos>", *sentence.split(), "<eos>"]
    return [WORDS.index(word if word in WORDS else "<unk>") for word in words]


def imported(path: Path) -> wordtie.LoadedModel:
    """The model of a checkpoint, through its run folder."""
    vocabulary = path.with_name("vocab.txt")
    vocabulary.write_text("\n".join(WORDS))
    run = import_checkpoint(path, vocabulary, path.with_name("run"))
    return wordtie.load(run.folder)


def assert_same_scores(model: RNNModel, loaded: wordtie.LoadedModel) -> None:
    for sentence in SENTENCES:
        expected = log_probabilities(model, ids_of(sentence))
        found = [-each.surprisal_bits * math.log(2) for each in loaded.surprisal(sentence)]
        assert found == pytest.approx(expected, abs=2e-6)
        assert loaded.score([sentence])[0] * math.log(2) == pytest.approx(-sum(expected), abs=1e-5)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("tied", [False, True], ids=["untied", "tied"])
@pytest.mark.parametrize("rnn_type", ["LSTM", "GRU", "RNN_TANH"])
def test_scores_are_those_of_the_original(rnn_type: str, tied: bool, form: str, tmp_path: Path) -> None:
    model = small_model(rnn_type, tied)
    path = saved(model, tmp_path / "model.pt", form)
    if rnn_type == "RNN_TANH" and "state dict" in form:
        with pytest.raises(DataError, match="does not say whether its RNN has tanh or relu: save the whole model"):
            network_of(path)
        return
    loaded = imported(path)
    assert_same_scores(model, loaded)
    assert loaded.network.settings.head == ("tied" if tied else "untied")
    own = sum(parameter.numel() for parameter in model.parameters())
    twice = {"LSTM": 4 * 6, "GRU": 2 * 6, "RNN_TANH": 6}[rnn_type] * 2  # their biases are added up
    assert loaded.network.parameter_count() == own - twice


@pytest.mark.parametrize("layers", [1, 3])
def test_layers_of_any_number(layers: int, tmp_path: Path) -> None:
    model = small_model(layers=layers)
    loaded = imported(saved(model, tmp_path / "model.pt"))
    assert_same_scores(model, loaded)
    assert loaded.network.settings.layers == layers


def test_a_small_change_of_any_parameter_is_seen(tmp_path: Path) -> None:
    """None is left out, or read from another's place."""
    for name, _ in small_model("GRU").named_parameters():
        model = small_model("GRU")
        before = log_probabilities(model, ids_of(SENTENCES[0]))
        with torch.no_grad():
            dict(model.named_parameters())[name].mul_(1.5)
        folder = tmp_path / name
        folder.mkdir()
        assert log_probabilities(model, ids_of(SENTENCES[0])) != pytest.approx(before, abs=1e-3)
        assert_same_scores(model, imported(saved(model, folder / "model.pt")))


def without_biases(model: RNNModel) -> RNNModel:
    """As in the first version of word_language_model; here the decoder has none, either."""
    model.rnn = nn.LSTM(4, 6, 2, bias=False)
    model.decoder = nn.Linear(6, len(WORDS), bias=False)
    return model


def in_parts(model: RNNModel) -> RNNModel:
    """As cuDNN leaves the weights of layers: views of one storage."""
    whole = torch.cat([parameter.detach().flatten() for parameter in model.rnn.parameters()])
    at = 0
    for parameter in model.rnn.parameters():
        parameter.data = whole[at : at + parameter.numel()].view(parameter.shape)
        at += parameter.numel()
    return model


def of_doubles(model: RNNModel) -> RNNModel:
    return model.double()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("change", [without_biases, in_parts, of_doubles])
def test_models_that_differ_in_how_they_are_stored(
    change: Callable[[RNNModel], RNNModel], form: str, tmp_path: Path
) -> None:
    torch.manual_seed(4)
    model = change(small_model())
    assert_same_scores(model, imported(saved(model, tmp_path / "model.pt", form)))


@pytest.mark.parametrize("form", FORMS)
def test_a_model_of_several_gpus_is_unwrapped(form: str, tmp_path: Path) -> None:
    model = small_model()
    assert_same_scores(model, imported(saved(nn.DataParallel(model), tmp_path / "model.pt", form)))


@pytest.mark.parametrize("name", ["state_dict", "model_state_dict", "model"])
def test_parameters_may_have_other_things_beside_them(name: str, tmp_path: Path) -> None:
    model = small_model()
    torch.save({"epoch": 3, name: model.state_dict(), "loss": [4.5, None]}, tmp_path / "model.pt")
    assert_same_scores(model, imported(tmp_path / "model.pt"))


def test_matrices_that_are_equal_are_stored_once(tmp_path: Path) -> None:
    """A tied model whose tensors were copied one by one, to the CPU say, before they were saved."""
    model = small_model(tied=True)
    copies = OrderedDict((name, tensor.clone()) for name, tensor in model.state_dict().items())
    torch.save(copies, tmp_path / "model.pt")
    network = network_of(tmp_path / "model.pt")
    assert network.settings.head == "tied"
    assert "head.weight" not in network.tensors


def test_tensors_are_those_of_a_model_with_these_settings(tmp_path: Path) -> None:
    for number, (rnn_type, tied) in enumerate([("LSTM", True), ("GRU", False), ("RNN_TANH", False)]):
        network = network_of(saved(small_model(rnn_type, tied), tmp_path / f"{number}.pt"))
        expected = LanguageModel(network.settings, len(WORDS)).state_dict()
        assert {name: tensor.shape for name, tensor in network.tensors.items()} == {
            name: tensor.shape for name, tensor in expected.items()
        }
        assert (network.settings.dropout, network.settings.hidden_dropout) == ("zaremba", 0.2)


def changed(name: str, change: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda state: {**state, name: change(state[name])}


def without(name: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda state: {each: tensor for each, tensor in state.items() if each != name}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (without("encoder.weight"), "has no matrix encoder.weight"),
        (without("rnn.weight_ih_l1"), "has no parameter rnn.weight_ih_l1"),
        (without("decoder.weight"), "has no parameter decoder.weight"),
        (changed("decoder.weight", lambda tensor: tensor[:-1]), "decoder.weight is 7 x 6, not 8 x 6"),
        (changed("rnn.bias_ih_l0", lambda tensor: tensor[:5]), "rnn.bias_ih_l0 is 5, not 24"),
        (changed("rnn.weight_hh_l0", lambda tensor: tensor[:12]), r"of an unknown kind \(12 rows of 6\)"),
        (changed("encoder.weight", lambda tensor: tensor[0]), "has no matrix encoder.weight"),
        (changed("encoder.weight", lambda tensor: tensor.long()), "encoder.weight is of whole numbers"),
        (changed("decoder.bias", lambda tensor: tensor / 0), "head.bias has a number that is infinite"),
        (lambda state: {**state, "encoder.weight": 3}, "has no matrix encoder.weight"),
        (lambda state: {**state, "decoder.extra": torch.zeros(1)}, "has a parameter 'decoder.extra'"),
        (lambda state: {**state, "rnn.weight_ih_l0_reverse": torch.zeros(1)}, "rnn.weight_ih_l0_reverse"),
        (lambda state: {**state, "rnn.weight_hr_l0": torch.zeros(1)}, "rnn.weight_hr_l0"),
        (lambda state: [state], "holds a list, not a model.RNNModel"),
        (lambda state: {}, "has no matrix encoder.weight"),
    ],
)
def test_other_parameters_are_refused(
    change: Callable[[dict[str, Any]], dict[str, Any]], says: str, tmp_path: Path
) -> None:
    torch.save(change(dict(small_model().state_dict())), tmp_path / "model.pt")
    with pytest.raises(DataError, match=rf"model\.pt: .*{says}") as caught:
        network_of(tmp_path / "model.pt")
    assert "\n" not in str(caught.value)


def use_cache(model: RNNModel) -> None:
    vars(model)["use_cache"] = True


def bidirectional(model: RNNModel) -> None:
    model.rnn = nn.LSTM(4, 3, 2, bidirectional=True)


def batch_first(model: RNNModel) -> None:
    model.rnn.batch_first = True


def max_norm(model: RNNModel) -> None:
    model.encoder.max_norm = 1.0


def another_part(model: RNNModel) -> None:
    model.proj = nn.Linear(6, 6)


def part_of_parts(model: RNNModel) -> None:
    model.drop = nn.Dropout(0.1)
    model.drop.inner = nn.Dropout(0.1)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (use_cache, "has use_cache, which wordtie's models have not"),
        (bidirectional, "has bidirectional, which wordtie's models have not"),
        (batch_first, "has batch_first, which wordtie's models have not"),
        (max_norm, "has max_norm, which wordtie's models have not"),
        (another_part, "has a parameter 'proj.bias', which no model.RNNModel has"),
        (part_of_parts, "its part 'drop' is no module that wordtie knows"),
    ],
)
def test_other_models_are_refused(change: Callable[[RNNModel], None], says: str, tmp_path: Path) -> None:
    model = small_model()
    change(model)
    with pytest.raises(DataError, match=rf"model\.pt: {says}"):
        network_of(saved(model, tmp_path / "model.pt"))


def test_a_cell_that_we_do_not_have_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has layers of RNN_RELU; wordtie has LSTM, GRU and RNN_TANH"):
        network_of(saved(small_model("RNN_RELU"), tmp_path / "model.pt"))
