"""The recipe for a budget: what is chosen from lengths and timings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest

from wordtie.config import LossSettings, NoiseSettings, Settings, TrainingSettings
from wordtie.config.keywords import settings_from
from wordtie.config.recommended import RECOMMENDED
from wordtie.training.recipe import FEWEST_WINDOWS, MOST_EPOCHS, Lengths, choose, measuring_seconds
from wordtie.training.schedule import budget_of
from wordtie.training.timings import Timings

FAST = Timings(window=0.05, validation=1e-5, measuring=3e-5)
LENGTHS = Lengths(2_000_000, 100_000, 100_000, 10_000)


def planned_seconds(settings: Settings, timings: Timings) -> float:
    training = settings.training
    assert training.tokens
    assert training.validations
    once, at_the_end = measuring_seconds(LENGTHS, training.measured_tokens, timings)
    return (
        timings.seconds_of(training.tokens, settings.loss.full_at_end) + (training.validations - 1) * once + at_the_end
    )


@pytest.mark.parametrize("seconds", [30.0, 120.0, 600.0, 3600.0])
def test_the_time_is_used_and_kept(seconds: float) -> None:
    chosen = choose(Settings(), [], LENGTHS, seconds, 0.1 * seconds, FAST)
    assert 0.9 * seconds < planned_seconds(chosen, FAST) <= seconds
    assert chosen.training.validations
    once, at_the_end = measuring_seconds(LENGTHS, chosen.training.measured_tokens, FAST)
    assert (chosen.training.validations - 1) * once + at_the_end <= 0.1 * seconds
    assert (chosen.training.measured_tokens is None) == (seconds >= 120), "7 s for all tokens"


def test_more_time_gives_a_larger_model_and_more_dropout() -> None:
    plans = [choose(Settings(), [], LENGTHS, seconds, 10, FAST) for seconds in (20, 100, 1000, 10_000)]
    assert [each.model.hidden for each in plans] == sorted({each.model.hidden for each in plans})
    assert [each.model.hidden_dropout for each in plans] == sorted(each.model.hidden_dropout for each in plans)
    assert plans[0].model.hidden_dropout == 0.0


def test_the_longer_the_training_the_slower_the_words() -> None:
    def word_rate(tokens: int, **optimiser: str) -> float:
        settings = settings_from(Settings(), **{"training.tokens": tokens, **optimiser})
        given = ["training.tokens", *optimiser]
        return choose(settings, given, LENGTHS, 100, 10, FAST).training.word_rate

    assert word_rate(2_000_000) > word_rate(6_000_000) > word_rate(11_000_000) > 1
    assert word_rate(2_000_000, **{"training.optimiser": "sgd"}) == TrainingSettings.word_rate, "chosen with the rate"


def test_few_steps_need_a_high_rate() -> None:
    def rate(tokens: int, words: int, given: Mapping[str, Any] = MappingProxyType({})) -> float:
        values = {"training.tokens": tokens, **given}
        settings = settings_from(Settings(), **values)
        return choose(settings, values.keys(), replace(LENGTHS, train=words), 100, 10, FAST).training.lr

    usual = RECOMMENDED["training.lr"]
    long = 1_000_000
    assert rate(100_000, long) > rate(500_000, long) > rate(1_000_000, long) == usual
    assert rate(100_000, 20_000) == usual, "a text that is read often"
    assert rate(100_000, long, {"training.start_from": "run"}) == usual, "a model that is trained already"
    assert rate(100_000, long, {"training.lr": 0.004}) == 0.004
    assert rate(100_000, long, {"training.optimiser": "sgd"}) == TrainingSettings.lr


def test_a_large_vocabulary_needs_a_large_sample() -> None:
    def samples(vocabulary: int, *given: str) -> int:
        lengths = Lengths(2_000_000, 100_000, 100_000, vocabulary)
        return choose(Settings(), given, lengths, 100, 10, FAST).loss.samples

    assert samples(1_000) <= samples(10_000) < samples(33_000) <= samples(100_000) == samples(500_000)
    assert samples(33_000, "loss.samples") == samples(500_000, "loss.softmax") == LossSettings.samples


def test_a_large_model_of_a_small_text_needs_more_dropout() -> None:
    """Read as often, a model with more parameters for each word of the text overfits sooner."""

    def dropout(words: int, vocabulary: int) -> float:
        settings = Settings(training=TrainingSettings(tokens=5 * words))
        lengths = Lengths(words, 100_000, 100_000, vocabulary)
        return choose(settings, ["training.tokens"], lengths, 100, 10, FAST).model.hidden_dropout

    assert dropout(2_000_000, 1_000) < dropout(2_000_000, 10_000) < dropout(2_000_000, 60_000)
    assert dropout(2_000_000, 10_000) < dropout(200_000, 10_000)


def test_a_text_that_is_read_often_is_read_with_noise() -> None:
    def noise(words: int, *given: str) -> NoiseSettings:
        return choose(Settings(), given, Lengths(words, 100_000, 100_000, 10_000), 100, 10, FAST).noise

    assert noise(2_000_000) == NoiseSettings()
    some, much = noise(150_000), noise(20_000)
    assert {(each.kind, each.scheme) for each in (some, much)} == {("kneser_ney", "data_noising")}
    assert 0 < some.gamma < much.gamma
    assert noise(20_000, "noise.l2") == NoiseSettings(), "whoever chooses the noise chooses it whole"


@pytest.mark.parametrize(("words", "gamma"), [(199_999, 0.3), (200_000, 0.1), (500_000, 0.1)])
def test_a_text_of_many_words_takes_little_noise_however_often_it_is_read(words: int, gamma: float) -> None:
    settings = Settings(training=TrainingSettings(tokens=20 * words))
    lengths = Lengths(words, 100_000, 100_000, 10_000)
    assert choose(settings, ["training.tokens"], lengths, 100, 10, FAST).noise.gamma == gamma


@pytest.mark.parametrize(("words", "gamma"), [(199_999, 0.1), (200_000, 0.1), (499_999, 0.1), (500_000, 0.0)])
def test_a_text_of_few_words_takes_noise_if_it_is_read_seven_times(words: int, gamma: float) -> None:
    settings = Settings(training=TrainingSettings(tokens=7 * words))
    lengths = Lengths(words, 100_000, 100_000, 10_000)
    noise = choose(settings, ["training.tokens"], lengths, 100, 10, FAST).noise
    assert noise == (NoiseSettings("kneser_ney", "data_noising", gamma=gamma) if gamma else NoiseSettings())


def test_how_much_noise_can_be_chosen_alone() -> None:
    def noise(words: int, gamma: float) -> NoiseSettings:
        settings = Settings(noise=NoiseSettings(gamma=gamma))
        return choose(settings, ["noise.gamma"], Lengths(words, 100_000, 100_000, 10_000), 100, 10, FAST).noise

    assert noise(20_000, 0.15) == NoiseSettings("kneser_ney", "data_noising", gamma=0.15)
    assert noise(20_000, 0.0).kind == "none"
    assert noise(2_000_000, 0.15).kind == "none"


@pytest.mark.parametrize("share", [0.0, 0.2])
def test_a_full_softmax_at_the_end_takes_its_time(share: float) -> None:
    timings = replace(FAST, full_window=4 * FAST.window)
    settings = Settings(loss=LossSettings("cross_entropy", softmax="sampled", full_at_end=share))
    chosen = choose(settings, ["loss.full_at_end"], LENGTHS, 600.0, 60.0, timings)
    assert chosen.loss.full_at_end == share
    without = choose(Settings(), [], LENGTHS, 600.0, 60.0, FAST).training.tokens
    assert without
    assert chosen.training.tokens == pytest.approx(without / (1 + 3 * share), rel=0.001)


def test_whoever_chooses_another_loss_chooses_its_sample() -> None:
    for kind, samples in (("augmented", LossSettings.samples), ("cross_entropy", 2000)):
        settings = Settings(loss=LossSettings(kind, softmax="sampled"))  # type: ignore[arg-type]
        chosen = choose(settings, ["loss.softmax", "loss.kind"], LENGTHS, 600.0, 60.0, FAST)
        assert chosen.loss.samples == samples


def test_a_short_text_is_not_read_forever_and_has_few_streams() -> None:
    chosen = choose(Settings(), [], Lengths(100, 10, 10, 50), 3600, 360, FAST)
    assert chosen.training.tokens == MOST_EPOCHS * 100
    assert chosen.training.streams == 1


def test_whole_epochs_end_with_the_text() -> None:
    """Words that fill no stream are not read."""
    chosen = choose(Settings(), [], Lengths(1003, 10, 10, 50), 3600, 360, FAST).training
    assert chosen.streams == 7
    assert chosen.tokens == MOST_EPOCHS * 1001
    assert budget_of(chosen, windows_per_epoch=5, tokens_per_epoch=1001).windows == MOST_EPOCHS * 5


def test_no_time_left_still_trains_some_steps() -> None:
    chosen = choose(Settings(), [], LENGTHS, 1.0, 0.1, FAST)
    assert chosen.training.tokens == FEWEST_WINDOWS * 32 * 32


def test_what_was_given_is_kept() -> None:
    settings = Settings(training=TrainingSettings(lr=0.01, optimiser="adam", epochs=2))
    chosen = choose(settings, ["training.lr", "training.epochs"], Lengths(1000, 10, 10, 100), 60, 6, FAST)
    assert (chosen.training.lr, chosen.training.tokens) == (0.01, 2 * 994)
    sgd = choose(Settings(), ["training.optimiser"], Lengths(1000, 10, 10, 100), 60, 6, FAST)
    assert sgd.training.lr == TrainingSettings().lr, "the recipe's rate is one of adam"


def test_a_model_that_takes_long_to_write_is_validated_less_often() -> None:
    quick, slow = (choose(Settings(), [], LENGTHS, 600, 60, replace(FAST, saving=each)) for each in (0.0, 60.0))
    assert quick.training.validations == 10
    assert slow.training.validations == 1
    assert quick.training.tokens
    assert slow.training.tokens
    assert slow.training.tokens * FAST.window / 1024 < 600 - 60


def test_more_time_gives_more_streams() -> None:
    """And steps are timed with those: their tokens count, not their number."""
    short, long_ = (choose(Settings(), [], LENGTHS, seconds, 10, FAST).training for seconds in (100, 1000))
    assert (short.streams, long_.streams) == (32, 64)
    timings = replace(FAST, window=0.1, tokens=2048)
    assert choose(Settings(), [], LENGTHS, 1000, 10, timings).training.tokens == pytest.approx(long_.tokens, rel=0.001)
