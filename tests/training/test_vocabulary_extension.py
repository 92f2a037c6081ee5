"""What new words start from."""

from __future__ import annotations

import pytest
import torch

from wordtie.training.vocabulary_extension import character_ngrams, extend, new_biases, new_rows

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
