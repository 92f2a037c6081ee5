"""Settings as keyword arguments of `wordtie.train`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import wordtie
from wordtie.config import BitextSettings, DataSettings, ModelSettings, Settings, TrainingSettings
from wordtie.config.keywords import settings_from, translation_settings_from
from wordtie.errors import SettingsError


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        ({}, Settings()),
        ({"hidden": 400}, Settings(model=ModelSettings(hidden=400))),
        (
            {"nhid": 400, "batch_size": 8},
            Settings(model=ModelSettings(hidden=400), training=TrainingSettings(streams=8)),
        ),
        ({"model.hidden": 400}, Settings(model=ModelSettings(hidden=400))),
        ({"tied": False}, Settings(model=ModelSettings(head="untied"))),
        ({"model": ModelSettings(hidden=9), "layers": 1}, Settings(model=ModelSettings(hidden=9, layers=1))),
        ({"split": [0.8, 0.1, 0.1]}, Settings(data=DataSettings(split=(0.8, 0.1, 0.1)))),
        (
            {"head": "tied_linear", "embedding": 5},
            Settings(model=ModelSettings(head="tied_linear", embedding=5)),
        ),
    ],
)
def test_names(named: dict[str, Any], expected: Settings) -> None:
    found = settings_from("sotu", **named)
    assert found == expected
    assert settings_from(Settings(), **named) == expected


def test_the_text_is_a_name_or_a_path() -> None:
    assert settings_from(Path("texts/novel.txt")).data.corpus == "texts/novel.txt"
    assert settings_from(Path("ptb")).data.corpus == "./ptb", "a folder, not the corpus of that name"
    given = Settings(data=DataSettings("novel.txt"), model=ModelSettings(hidden=7))
    assert settings_from(given) == given


def test_a_section_of_data_is_of_the_text_that_is_named() -> None:
    short = settings_from("novel.txt", data=DataSettings(vocabulary_size=99))
    assert short.data == DataSettings("novel.txt", vocabulary_size=99)
    same = settings_from("novel.txt", data=DataSettings("novel.txt", vocabulary_size=99))
    assert same == short
    with pytest.raises(SettingsError, match=r"two texts are named, novel\.txt and ptb: give one of them"):
        settings_from("novel.txt", data=DataSettings("ptb"))
    assert settings_from(Settings(), data=DataSettings("ptb")).data.corpus == "ptb"
    translated = translation_settings_from("texts", data=BitextSettings(source="fr", target="en")).data
    assert (translated.corpus, translated.source) == ("texts", "fr")


@pytest.mark.parametrize(
    ("named", "says"),
    [
        ({"hiden": 3}, "unknown setting hiden; did you mean hidden?"),
        ({"gamma": 0.4}, "gamma is the name of several settings: give loss.gamma or noise.gamma"),
        ({"hidden": "many"}, "model.hidden must be a whole number, got 'many'"),
        (
            {"dropout": 0.3},
            "model.dropout must be one of inan, gal, zaremba, got 0.3; rates are hidden_dropout",
        ),
        ({"tied": "yes"}, "tied must be true or false, got 'yes'"),
        ({"model": DataSettings()}, "model must be made with ModelSettings"),
        ({"embedding": 5}, "a tied head needs"),
    ],
)
def test_errors(named: dict[str, Any], says: str) -> None:
    with pytest.raises(SettingsError) as refused:
        settings_from("sotu", **named)
    assert says in str(refused.value)


@pytest.mark.parametrize("text", [3, None, {"corpus": "sotu"}])
def test_what_is_no_text(text: Any) -> None:
    with pytest.raises(SettingsError, match=r"give the name or path of a text, or Settings\(\.\.\.\), got a"):
        settings_from(text)


def test_a_model_is_trained_in_one_line(tmp_path: Path) -> None:
    text = tmp_path / "novel.txt"
    text.write_text("the cat sat on the mat\nthe dog sat on the cat\n" * 60)
    result = wordtie.train(text, tmp_path / "run", hidden=6, epochs=1, batch_size=2, bptt=5, threads=1)
    assert result.epochs == 1
    assert wordtie.load(tmp_path / "run").network.settings.hidden == 6
    with pytest.raises(SettingsError, match="unknown setting hiden; did you mean hidden"):
        wordtie.train(text, tmp_path / "other", hiden=6)
    assert not (tmp_path / "other").exists()
