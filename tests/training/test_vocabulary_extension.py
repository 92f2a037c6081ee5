"""What new words start from."""

from __future__ import annotations

import pytest
import torch

from wordtie.models.language_model import UNTRAINED_BIAS
from wordtie.training.vocabulary_extension import NewWords, character_ngrams, extend, lacks_unk, new_biases, new_rows

OLD = ["<unk>", "<eos>", "walk", "walked", "house", "houses"]
NEW = ["walks", "housed", "xyz"]


def rows() -> torch.Tensor:
    torch.manual_seed(1)
    return torch.randn(len(OLD), 4)


def literal(word: str, weight_VE: torch.Tensor) -> torch.Tensor:
    """The formula of the module, n-gram by n-gram."""
    total, weights = torch.zeros(4), 0.0
    for gram in character_ngrams(word):
        holders = [number for number, old in enumerate(OLD) if number > 1 and gram in set(character_ngrams(old))]
        if holders:
            total += weight_VE[holders].mean(0) / len(holders)
            weights += 1 / len(holders)
    return total / weights if weights else weight_VE.mean(0)


def test_rows_come_from_words_of_like_spelling() -> None:
    weight_VE = rows()
    found = new_rows(weight_VE, OLD + NEW, "spelling")
    torch.testing.assert_close(found, torch.stack([literal(word, weight_VE) for word in NEW]))
    torch.testing.assert_close(found[2], weight_VE.mean(0))
    torch.testing.assert_close(new_rows(weight_VE, OLD + NEW, "mean"), weight_VE.mean(0).repeat(3, 1))


def test_biases_come_from_words_as_frequent() -> None:
    bias_V = torch.tensor([-1.0, -2.0, -3.0, -5.0])
    count_V = torch.tensor([1000, 900, 9, 8, 14, 1, 100_000])
    assert new_biases(bias_V, count_V).tolist() == [-4.0, -4.0, -1.5]


@pytest.mark.parametrize("untied", [False, True])
def test_every_tensor_with_a_row_a_word_grows(untied: bool) -> None:
    tensors = {"embedding.weight": rows(), "head.bias": torch.zeros(len(OLD)), "core.weight": torch.ones(3)}
    if untied:
        tensors["head.weight"] = 2 * rows()
    found = extend(tensors, OLD + NEW, torch.ones(len(OLD + NEW)), "spelling")
    for name, before in tensors.items():
        assert torch.equal(found[name][: len(before)], before)
        assert len(found[name]) == len(before) + (0 if name == "core.weight" else len(NEW))
    if untied:
        torch.testing.assert_close(found["head.weight"], 2 * found["embedding.weight"])


@pytest.mark.parametrize("how", ["spelling", "mean"])
def test_an_unk_that_the_model_lacks_is_a_new_word(how: NewWords) -> None:
    """It leaves the rows and biases of other new words alone, and has the mean row and the bias of its octave."""
    weight_VE, bias_V, lacked = rows(), torch.arange(6.0), OLD.index("<unk>")
    count_V = torch.tensor([9, 30, 8, 3, 30, 2, 8, 3, 1])
    full = {"embedding.weight": weight_VE, "head.bias": bias_V}
    without = {name: tensor.clone() for name, tensor in full.items()}
    without["embedding.weight"][lacked] = 0
    without["head.bias"][lacked] = UNTRAINED_BIAS
    assert lacks_unk(without, OLD)
    assert not lacks_unk(full, OLD)
    found = extend(without, OLD + NEW, count_V, how)
    known = [number for number in range(len(OLD)) if number != lacked]
    for name, tensor in found.items():
        assert torch.equal(tensor[known], full[name][known])
    mean_E = weight_VE[known].mean(0)
    torch.testing.assert_close(found["embedding.weight"][lacked], mean_E)
    torch.testing.assert_close(found["embedding.weight"][-1], mean_E)
    # octave 3 has `walk` alone, octave 1 `walked` and `houses`, and the nearest to octave 0 is that
    assert found["head.bias"][[lacked, 6, 7, 8]].tolist() == [2.0, 2.0, 4.0, 4.0]
