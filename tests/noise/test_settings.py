"""Settings of the noise that mean nothing stop before anything is read."""

from typing import Any

import pytest

from wordtie.config import ModelSettings, NoiseSettings, Settings, from_dict, resolved, to_dict
from wordtie.errors import SettingsError


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"gamma": 1.1}, "in \\[0, 1\\]"),
        ({"gamma": -0.1}, "in \\[0, 1\\]"),
        ({"gamma": float("nan")}, r"must be a number \(3\.4e\+38 at most\), got nan"),
        ({"l2": -1e-4}, "l2 must not be negative"),
        ({"samples": 0}, "at least 1"),
        ({"input_vector_dropout": 1.0}, "dropout rate"),
        ({"output_vector_dropout": -0.5}, "dropout rate"),
        ({"elementwise": True}, "needs a distribution"),
        ({"elementwise": True, "kind": "blank", "scheme": "data_noising"}, "needs a distribution"),
        ({"elementwise": True, "kind": "kneser_ney", "scheme": "data_noising"}, "data noising cannot"),
        ({"output_draw": "with_input"}, "for variational smoothing"),
        ({"output_draw": "none"}, "for variational smoothing"),
        ({"drawn_for": "token"}, "for variational smoothing"),
        ({"output_draw": "shared", "kind": "kneser_ney", "elementwise": True}, "draws whole rows"),
        ({"output_draw": "shared", "kind": "kneser_ney", "drawn_for": "token"}, "needs a sequence"),
        ({"output_draw": "with_input", "kind": "kneser_ney", "scheme": "data_noising"}, "for variational smoothing"),
        ({"kind": "blank"}, "no distribution to smooth with"),
        ({"prediction": "mean"}, "needs a noise.kind"),
        ({"prediction": "sampling"}, "needs a noise.kind"),
    ],
)
def test_refuses(values: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        NoiseSettings(**values)


def test_smoothing_needs_one_matrix() -> None:
    untied = ModelSettings(head="untied")
    with pytest.raises(SettingsError, match="one matrix"):
        Settings(model=untied, noise=NoiseSettings(kind="kneser_ney"))
    Settings(model=untied, noise=NoiseSettings(kind="kneser_ney", scheme="data_noising"))


@pytest.mark.parametrize(
    "noise",
    [
        {"kind": "absolute_discounting", "scheme": "data_noising"},
        {"kind": "absolute_discounting", "output_draw": "none"},
        {"kind": "kneser_ney", "output_draw": "none"},
    ],
)
def test_nothing_holds_the_mean_of_inputs_alone_where_each_word_has_its_own_gamma(noise: dict[str, Any]) -> None:
    mean = NoiseSettings(**noise, prediction="mean")
    with pytest.raises(SettingsError, match="neither a shared matrix nor the first layer can hold the mean"):
        Settings(noise=mean)
    Settings(model=ModelSettings(head="untied"), noise=mean)


@pytest.mark.parametrize(
    "noise",
    [
        {"kind": "blank", "scheme": "data_noising"},
        {"kind": "linear_interpolation", "scheme": "data_noising"},
        {"kind": "linear_interpolation", "output_draw": "none"},
    ],
)
def test_the_first_layer_holds_the_mean_of_inputs_alone_with_one_gamma(noise: dict[str, Any]) -> None:
    assert Settings(noise=NoiseSettings(**noise, prediction="mean")).noise.predicts_with == "mean"


PREDICTIONS: tuple[dict[str, Any], ...] = ({}, {"prediction": "mode"}, {"prediction": "mean"})


def test_a_prediction_left_out_is_the_same_configuration_as_the_one_it_stands_for() -> None:
    alone: dict[str, Any] = {"kind": "linear_interpolation", "output_draw": "none"}
    left_out, mode, mean = (resolved(Settings(noise=NoiseSettings(**alone, **more))) for more in PREDICTIONS)
    assert left_out == mode != mean


@pytest.mark.parametrize(
    ("values", "predicts", "chooses"),
    [
        ({}, "mode", "mode"),
        ({"kind": "kneser_ney"}, "mean", "mean"),
        ({"kind": "kneser_ney", "prediction": "mode"}, "mode", "mode"),
        ({"kind": "kneser_ney", "scheme": "data_noising"}, "mode", "mode"),
        ({"kind": "kneser_ney", "scheme": "data_noising", "prediction": "mean"}, "mean", "mean"),
        ({"kind": "kneser_ney", "scheme": "data_noising", "prediction": "sampling"}, "sampling", "mode"),
        ({"kind": "kneser_ney", "prediction": "sampling"}, "sampling", "mean"),
        ({"kind": "linear_interpolation", "output_draw": "none"}, "mode", "mode"),
        ({"kind": "linear_interpolation", "output_draw": "none", "prediction": "mean"}, "mean", "mean"),
    ],
)
def test_what_predicts_and_what_epochs_are_chosen_by(values: dict[str, Any], predicts: str, chooses: str) -> None:
    settings = NoiseSettings(**values)
    assert (settings.predicts_with, settings.chooses_with) == (predicts, chooses)


def test_settings_from_before_there_was_noise() -> None:
    values = to_dict(Settings())
    del values["noise"]
    assert from_dict(values) == Settings()
