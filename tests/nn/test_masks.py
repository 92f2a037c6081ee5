"""What is dropped where: which masks are shared, how long they live, and how much they drop."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from wordtie.config import ModelSettings
from wordtie.models.language_model import LanguageModel
from wordtie.nn.build import build_dropouts
from wordtie.nn.dropout import word_mask
from wordtie.nn.masks import Dropouts, Masks, draw_masks

T, B, E, H = 6, 40, 30, 20
WEIGHT = torch.zeros(4 * H, H)


def drawn(dropouts: Dropouts) -> Masks:
    torch.manual_seed(1)
    return draw_masks(dropouts, torch.zeros(T, B, E), [(H, 1, WEIGHT), (H, 1, WEIGHT)])


def share_dropped(mask: Tensor | None) -> float:
    """Of a mask whose other entries are 1 / (share kept)."""
    assert mask is not None
    dropped = float((mask == 0).float().mean())
    torch.testing.assert_close(mask[mask != 0], torch.full_like(mask[mask != 0], float(mask.max())))
    return dropped


def settings(**changes: object) -> Dropouts:
    return build_dropouts(ModelSettings(**changes))  # type: ignore[arg-type]


def test_inan_shares_one_mask_a_layer() -> None:
    masks = drawn(settings(input_dropout=0.2, hidden_dropout=0.5))
    first, second = masks.layers
    assert first.recurrent is first.output is not None
    assert first.output.shape == (B, H)
    assert second.output is not None
    assert not torch.equal(first.output, second.output)
    assert share_dropped(masks.input) == pytest.approx(0.2, abs=0.05)
    assert share_dropped(first.output) == pytest.approx(0.5, abs=0.05)
    assert float(first.output.max()) == pytest.approx(2)


def test_gal_has_masks_of_their_own() -> None:
    masks = drawn(
        settings(dropout="gal", input_dropout=0.2, recurrent_dropout=0.3, between_dropout=0.4, output_dropout=0.7)
    )
    shares = [(share_dropped(each.recurrent), share_dropped(each.output)) for each in masks.layers]
    assert shares == [pytest.approx((0.3, 0.4), abs=0.05), pytest.approx((0.3, 0.7), abs=0.05)]


def test_gal_takes_the_hidden_share_where_none_is_given() -> None:
    assert settings(dropout="gal", hidden_dropout=0.6, output_dropout=0.1) == Dropouts("gal", 0.0, 0.6, 0.6, 0.1)


def test_zaremba_drops_anew_at_every_step_and_never_what_recurs() -> None:
    masks = drawn(settings(dropout="zaremba", input_dropout=0.65, hidden_dropout=0.65))
    assert masks.input is not None
    assert masks.input.shape == (T, B, E)
    for layer in masks.layers:
        assert layer.recurrent is None
        assert layer.output is not None
        assert layer.output.shape == (T, B, H)
        assert not torch.equal(layer.output[0], layer.output[1])
        assert share_dropped(layer.output) == pytest.approx(0.65, abs=0.03)


def test_candidates_are_dropped_anew_at_every_step_and_weights_for_the_window() -> None:
    layer = drawn(Dropouts(candidate=0.2, weights=0.5)).layers[0]
    assert layer.candidate is not None
    assert layer.weights is not None
    assert layer.candidate.shape == (T, B, H)
    assert not torch.equal(layer.candidate[0], layer.candidate[1])
    assert share_dropped(layer.candidate) == pytest.approx(0.2, abs=0.03)
    assert layer.weights.shape == WEIGHT.shape
    assert share_dropped(layer.weights) == pytest.approx(0.5, abs=0.05)


def test_nothing_is_drawn_where_nothing_is_dropped() -> None:
    """So that the random numbers of a run do not depend on methods that it does not use."""
    before = torch.get_rng_state()
    draw_masks(Dropouts("gal"), torch.zeros(T, B, E), [(H, 1, WEIGHT)])
    assert torch.equal(torch.get_rng_state(), before)


def test_a_dropped_word_is_dropped_wherever_it_stands_in_a_stream() -> None:
    ids = torch.randint(5, (50, B))
    mask = word_mask(ids, 5, 0.25, torch.zeros(()))
    assert mask is not None
    dropped = []
    for stream in range(B):
        for word in range(5):
            entries = mask[:, stream, 0][ids[:, stream] == word]
            assert len(set(entries.tolist())) == 1
            dropped.append(float(entries[0]) == 0)
    assert sum(dropped) / len(dropped) == pytest.approx(0.25, abs=0.1)
    assert float(mask.max()) == pytest.approx(4 / 3)


def test_words_are_read_as_zero_while_training_alone() -> None:
    model = LanguageModel(ModelSettings(hidden=4, input_dropout=0, hidden_dropout=0, word_dropout=0.9), 50)
    ids = torch.arange(50)[:, None]
    model.eval()
    clean = model(ids, model.initial_state(1))[0]
    torch.testing.assert_close(clean, model(ids, model.initial_state(1))[0])
    model.train()
    assert not torch.allclose(clean, model(ids, model.initial_state(1))[0])
