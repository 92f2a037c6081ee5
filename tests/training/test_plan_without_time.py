"""Plans without a time: what is fitted to the text, and what the command says of it."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
import yaml

import wordtie
from tests.commands import Capture
from wordtie import cli
from wordtie.config import NoiseSettings, to_dict
from wordtie.config.keywords import settings_from
from wordtie.errors import SettingsError
from wordtie.training import plan as planning
from wordtie.training import recipe
from wordtie.training.plan import fitted_to_length
from wordtie.training.recipe import dropout_for, streams_for
from wordtie.training.rehearsal import read_texts


def test_a_short_text_is_read_with_noise_without_a_time_too(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = settings_from(text, streams=32)
    words = len(read_texts(settings.data).own.train)
    for short, gamma in ((words, 0.0), (words + 1, 0.3)):  # read 20 times
        limits = ((short, ((20.0, 0.1), (math.inf, 0.3))), (math.inf, ((20.1, 0.0), (math.inf, 0.1))))
        monkeypatch.setattr(recipe, "NOISES", limits)
        fitted = fitted_to_length(settings, ["data.corpus"]).settings
        expected = NoiseSettings("kneser_ney", "data_noising", gamma=gamma) if gamma else NoiseSettings()
        assert fitted.noise == expected
    assert fitted.training.streams == streams_for(words)["training.streams"]
    kept = fitted_to_length(settings, ["data.corpus", "noise.l2", "training.streams"]).settings
    assert kept.noise == settings.noise
    assert kept.training.streams == 32


def test_the_shorter_a_text_the_more_is_dropped(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = len(read_texts(settings_from(text).data).own.train)
    found = []
    for parameters in (0.01, 1.0, 100.0):
        monkeypatch.setattr(planning, "parameters_of", lambda *_, each=parameters: each * words)
        fitted = wordtie.plan(text).settings.model
        assert fitted.input_dropout == fitted.hidden_dropout == dropout_for(20, parameters)["model.hidden_dropout"]
        found.append(fitted.hidden_dropout)
    assert found == [0.0, 0.3, 0.5]
    assert wordtie.plan(text, hidden_dropout=0.2).settings.model.hidden_dropout == 0.2


def test_a_plan_without_a_time_is_what_the_command_does_without_one(text: Path, capsys: Capture) -> None:
    plan = wordtie.plan(text, hidden=16)
    assert cli.main(["train", str(text), "--hidden", "16", "--print-config"]) == 0
    shown = capsys.readouterr()
    values = yaml.safe_load(shown.out)
    assert values.pop("ngram") == {"order": plan.ngram}
    assert values == yaml.safe_load(yaml.safe_dump(to_dict(plan.settings)))
    assert shown.err.splitlines() == list(plan.reasons)
    first, second, third = plan.reasons
    words = len(read_texts(plan.settings.data).own.train)
    assert (
        first == f"plan: at most 50 epochs of {words:,} words, until the validation perplexity has not improved "
        "for 3 epochs"
    )
    assert re.fullmatch(rf"plan: 1 layer of 16 units, dropout 0\.\d and noise 0\.3 for {words:,} words", second)
    assert third.endswith("; a validation an epoch; a 5-gram model and recent words are mixed in")


def test_a_plan_without_a_time_describes_what_is_given(text: Path) -> None:
    assert wordtie.plan(text, patience=0, epochs=7).reasons[0].startswith("plan: 7 epochs of ")
    assert "improved" not in wordtie.plan(text, epochs=3).reasons[0]
    often = wordtie.plan(text, validations=20, patience=1)
    assert often.reasons[0].endswith("has not improved for 1 validation")
    assert "; 20 validations; " in often.reasons[2]
    once = wordtie.plan(text, ngram="none", tokens=len(read_texts(often.settings.data).own.train))
    assert once.reasons[0].endswith(" tokens, 1 epoch as given")
    assert once.settings.noise == NoiseSettings(), "a text that is read once needs no noise"
    assert once.reasons[2].endswith("; no n-gram model")
    assert once.ngram is None


def test_n_grams_too_large_for_memory_are_left_out_without_a_time_too(
    text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wordtie.ngrams.memory.machine_memory", lambda: 1)
    plan = wordtie.plan(text)
    assert plan.ngram is None
    assert "no n-gram model: to count it takes too long, or too much memory" in plan.reasons[2]
    with pytest.raises(SettingsError, match="counting 5-grams of"):
        wordtie.plan(text, ngram=5)


def test_a_run_that_is_late_is_noted(text: Path, tmp_path: Path, capsys: Capture) -> None:
    """Which `--tokens` given beside the time can make it."""
    command = ["train", str(text), "--hidden", "8", "--ngram", "none", "--out", str(tmp_path / "run"), "--time"]
    assert cli.main([*command, "0.1s", "--tokens", "2000"]) == 0
    assert re.search(r"note: this took \d+ s, more than --time 0.1s: other work", capsys.readouterr().err)
    assert cli.main([*command, "10m", "--tokens", "2000", "--overwrite"]) == 0
    assert "more than --time" not in capsys.readouterr().err


def test_the_command_fits_a_run_without_a_time_to_its_text(text: Path, tmp_path: Path, capsys: Capture) -> None:
    assert cli.main(["train", str(text), "--print-config"]) == 0
    recipe = capsys.readouterr().out
    assert "kind: kneser_ney" in recipe
    assert "scheme: data_noising" in recipe
    file = tmp_path / "recipe.yaml"
    file.write_text(recipe.replace("kind: kneser_ney", "kind: none"))
    assert cli.main(["train", "--config", str(file), "--print-config"]) == 0
    assert "kneser_ney" not in capsys.readouterr().out, "a recipe is taken as it is"
    assert cli.main(["train", "--print-config"]) == 0, "without a text there is nothing to fit to"
