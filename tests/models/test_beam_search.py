"""Beam search against all translations there are, and whatever else is in the batch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.reference import translation as literal
from wordtie.config.translation import Seq2SeqSettings
from wordtie.errors import SettingsError
from wordtie.models import beam_search
from wordtie.models.beam_search import Search, translate_ids
from wordtie.models.seq2seq import Seq2Seq
from wordtie.nn.conditional_gru import Source

EOS, WORDS = 1, 4
SOURCES = [[2, 3, 0], [3], [], [0, 0, 2, 3, 3]]


@pytest.fixture
def model() -> Seq2Seq:
    torch.manual_seed(3)
    made = Seq2Seq(Seq2SeqSettings(hidden=5, embedding=4), WORDS, WORDS).double()
    for parameter in made.parameters():
        torch.nn.init.uniform_(parameter, -1.5, 1.5)
    return made.requires_grad_(False)


@pytest.mark.parametrize("power", [0.0, 1.0])
def test_a_wide_beam_finds_what_exhaustive_search_finds(model: Seq2Seq, power: float) -> None:
    longest = 4
    search = Search(beam=90, power=power, max_length=longest)
    for source, found in zip(SOURCES, translate_ids(model, SOURCES, EOS, EOS, search), strict=True):
        if not source:
            continue
        every = literal.every_translation([*source, EOS], EOS, longest, dict(model.named_parameters()))
        assert len(found) == len(every) == 1 + 3 + 9 + 27
        assert {tuple(each.ids): round(each.log_p, 9) for each in found} == {t: round(p, 9) for t, p in every.items()}
        best = max(every, key=lambda target: every[target] / (len(target) + 1) ** power)
        assert tuple(found[0].ids) == best
        assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)


def literal_beam(model: Seq2Seq, source: list[int], beam: int, power: float, longest: int) -> list[tuple[int, ...]]:
    """The finished translations, best first: a list of extensions a step, sorted."""
    alive: list[tuple[list[int], float]] = [([], 0.0)]
    finished: list[tuple[list[int], float]] = []
    for length in range(1, longest + 1):
        options = []
        for target, total in alive:
            log_p = literal.log_distributions([*source, EOS], [EOS, *target], dict(model.named_parameters()))[-1]
            words = [EOS] if length == longest else range(WORDS)
            options += [([*target, word], total + float(log_p[word])) for word in words]
        options = sorted(options, key=lambda each: -each[1])[: 2 * beam]
        finished += [each for each in options[:beam] if each[0][-1] == EOS]
        alive = [each for each in options if each[0][-1] != EOS][:beam]
        if len(finished) >= beam:
            break
    finished = sorted(finished[:beam], key=lambda each: -each[1] / len(each[0]) ** power)
    return [tuple(target[:-1]) for target, _ in finished]


@pytest.mark.parametrize("power", [0.0, 1.0])
@pytest.mark.parametrize("beam", [2, 3, 5])
def test_a_narrow_beam_finds_what_a_list_of_extensions_finds(model: Seq2Seq, beam: int, power: float) -> None:
    longest = 7
    for source, found in zip(
        SOURCES, translate_ids(model, SOURCES, EOS, EOS, Search(beam, power, longest)), strict=True
    ):
        if source:
            assert [tuple(each.ids) for each in found] == literal_beam(model, source, beam, power, longest)


def test_long_lines_are_translated_by_themselves(model: Seq2Seq, monkeypatch: pytest.MonkeyPatch) -> None:
    """How many sentences are encoded together is bounded by the longest, and the translations are the same."""
    together = []
    encode = Seq2Seq.encode

    def counted(self: Seq2Seq, source_SB: torch.Tensor, lengths_B: torch.Tensor) -> Source:
        together.append(tuple(source_SB.shape))
        return encode(self, source_SB, lengths_B)

    monkeypatch.setattr(Seq2Seq, "encode", counted)
    expected = translate_ids(model, SOURCES, EOS, EOS, Search(2))
    monkeypatch.setattr(beam_search, "POSITIONS", 12)
    found = translate_ids(model, SOURCES, EOS, EOS, Search(2))
    assert together == [(6, 3), (6, 1), (4, 1), (2, 1)]
    assert [[each.ids for each in some] for some in found] == [[each.ids for each in some] for some in expected]


def test_a_model_without_finite_scores_translates_to_nothing(model: Seq2Seq) -> None:
    model.readout.weight.fill_(float("nan"))
    ((found,),) = translate_ids(model, [[2, 3]], EOS, EOS, Search(1))
    assert (found.ids, found.score) == ([], -np.inf)


def test_a_beam_of_one_takes_the_likeliest_word_each_time(model: Seq2Seq) -> None:
    source = SOURCES[0]
    target: list[int] = []
    while len(target) < 2 * len(source) + 9:
        log_p = literal.log_distributions([*source, EOS], [EOS, *target], dict(model.named_parameters()))[-1]
        if int(log_p.argmax()) == EOS:
            break
        target.append(int(log_p.argmax()))
    ((found,),) = translate_ids(model, [source], EOS, EOS, Search(1))
    assert found.ids == target
    assert found.log_p == pytest.approx(
        -float(literal.nats([*source, EOS], target, EOS, dict(model.named_parameters())))
    )


def test_what_else_is_in_the_batch_changes_nothing(model: Seq2Seq) -> None:
    search = Search(beam=3, attention=True)
    together = translate_ids(model, SOURCES, EOS, EOS, search)
    backwards = translate_ids(model, SOURCES[::-1], EOS, EOS, search)[::-1]
    alone = [translate_ids(model, [source], EOS, EOS, search)[0] for source in SOURCES]
    for one, two, three in zip(together, backwards, alone, strict=True):
        assert [each.ids for each in one] == [each.ids for each in two] == [each.ids for each in three]
        for a, b in zip(one, three, strict=True):
            assert a.log_p == pytest.approx(b.log_p)
            if a.attention_TS is not None and b.attention_TS is not None:
                np.testing.assert_allclose(a.attention_TS, b.attention_TS, atol=1e-6)


@pytest.mark.parametrize("rows", [4, 8, 12])
def test_sentences_that_take_the_place_of_others_change_nothing(
    model: Seq2Seq, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sentences of many lengths, which begin while others are in the middle of theirs."""
    draw = np.random.default_rng(1)
    sentences = [draw.choice([0, 2, 3], size=draw.integers(0, 9)).tolist() for _ in range(23)]
    search, steps = Search(beam=2, attention=True), []
    together = translate_ids(model, sentences, EOS, EOS, search)
    step = Seq2Seq.step

    def counted(self: Seq2Seq, words: torch.Tensor, hidden: torch.Tensor, source: Source) -> object:
        steps.append(len(words))
        return step(self, words, hidden, source)

    monkeypatch.setattr(Seq2Seq, "step", counted)
    monkeypatch.setattr(beam_search, "ROWS", rows)
    found = translate_ids(model, sentences, EOS, EOS, search)
    assert max(steps) <= rows
    assert len(set(steps)) > 1
    for one, other in zip(together, found, strict=True):
        assert [each.ids for each in one] == [each.ids for each in other]
        for a, b in zip(one, other, strict=True):
            assert a.log_p == pytest.approx(b.log_p)
            if a.attention_TS is not None and b.attention_TS is not None:
                np.testing.assert_allclose(a.attention_TS, b.attention_TS, atol=1e-6)


def test_attention_is_over_the_source_with_its_end(model: Seq2Seq) -> None:
    found = translate_ids(model, SOURCES, EOS, EOS, Search(2, attention=True))
    for source, best in zip(SOURCES, found, strict=True):
        if source:
            weights = best[0].attention_TS
            assert weights is not None
            assert weights.shape == (len(best[0].ids) + 1, len(source) + 1)
            np.testing.assert_allclose(weights.sum(1), 1, atol=1e-6)


def test_a_sentence_without_words_has_the_empty_translation(model: Seq2Seq) -> None:
    assert [each.ids for each in translate_ids(model, [[]], EOS, EOS, Search(4))[0]] == [[]]
    (((empty,)),) = translate_ids(model, [[]], EOS, EOS, Search(4, attention=True))
    assert empty.attention_TS is not None
    assert empty.attention_TS.tolist() == [[1.0]], "<eos> to <eos>"
    assert translate_ids(model, [], EOS, EOS, Search(4)) == []


def test_no_translation_is_longer_than_allowed(model: Seq2Seq) -> None:
    with torch.no_grad():
        assert model.head.bias is not None
        model.head.bias[EOS] = -50
    found = translate_ids(model, SOURCES, EOS, EOS, replace(Search(2), max_length=6))
    assert max(len(each.ids) for best in found for each in best) == 5


def test_training_mode_is_left_as_it_was(model: Seq2Seq) -> None:
    model.train()
    translate_ids(model, SOURCES, EOS, EOS, Search(2))
    assert model.training


@pytest.mark.parametrize("wrong", [{"beam": 0}, {"max_length": 0}])
def test_a_search_that_means_nothing_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(SettingsError, match=r"at least 1|>= 1"):
        Search(**wrong)  # type: ignore[arg-type]
