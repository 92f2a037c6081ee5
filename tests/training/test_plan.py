"""Plans for a time: what is timed, and that the command keeps to what was planned."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Sized
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import wordtie
from tests.commands import Capture
from wordtie import cli
from wordtie.config import DataSettings, Settings, TrainingSettings
from wordtie.config.keywords import settings_from
from wordtie.config.recommended import RECOMMENDED
from wordtie.data.prepare import prepare
from wordtie.errors import RunFolderError, SaveError, SettingsError
from wordtie.models import memory
from wordtie.models.mixture import Mixture
from wordtie.training import plan as planning
from wordtie.training import recipe, time_budget
from wordtie.training import timings as timing
from wordtie.training.plan import make_plan, with_fewer_threads
from wordtie.training.recipe import REFERENCE
from wordtie.training.rehearsal import read_texts
from wordtie.training.step import train_step
from wordtie.training.timings import Counting, Timings

FAST = Timings(window=0.05, validation=1e-5, measuring=3e-5)


def test_a_plan_for_python(text: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    settings = wordtie.plan(str(text), 3, hidden=200).settings
    assert settings.model.hidden == 200, "the default of the dataclass, but given"
    assert settings.training.schedule == "cosine"
    assert settings.training.tokens


def test_n_grams_that_take_too_long_are_left_out(text: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    settings = Settings(data=wordtie.DataSettings(corpus=str(text)))
    monkeypatch.setattr(planning, "SHARE_OF_NGRAMS", 0.0)
    plan = make_plan(settings, [], 3)
    assert plan.ngram is None
    assert "no n-gram model" in plan.reasons[2]


def test_one_validation_is_none_of_several(text: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    settings = Settings(data=wordtie.DataSettings(corpus=str(text)))
    for number, says in ((1, "; 1 validation; "), (2, "; 2 validations; ")):
        asked = replace(settings, training=replace(settings.training, tokens=90_000, validations=number))
        assert says in make_plan(asked, ["training.tokens", "training.validations"], 3).reasons[2]


def test_the_command_plans_trains_and_resumes_the_same_plan(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    command = ["train", str(text), "--time", "4s", "--hidden", "8", "--out", "run"]
    assert cli.main([*command, "--max-time", "0.001s"]) == 0
    assert capsys.readouterr().err.count("plan: ") == 3
    before = (tmp_path / "run" / "settings.yaml").read_text().replace("max_time: 0.001s", "max_time: null")
    (tmp_path / "run" / "settings.yaml").unlink()  # killed between its first checkpoint and this
    started = time.monotonic()
    assert cli.main([*command, "--resume"]) == 0
    assert time.monotonic() - started < 60
    assert (tmp_path / "run" / "settings.yaml").read_text() == before
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert result["stopped"] == "finished"
    assert result["mixture"]["valid_perplexity"] <= min(result["valid_perplexity"], result["ngram"]["valid_perplexity"])
    capsys.readouterr()
    assert cli.main(["train", str(text), "--out", "run", "--resume", "--epochs", "100"]) == 2
    assert "--epochs changes nothing here: run was planned for" in capsys.readouterr().err


def test_print_config_prints_the_whole_plan(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert cli.main(["train", str(text), "--time", "3s", "--hidden", "8", "--print-config"]) == 0
    printed = capsys.readouterr().out
    (tmp_path / "recipe.yaml").write_text(printed)
    assert cli.main(["train", "--config", str(tmp_path / "recipe.yaml"), "--print-config"]) == 0
    assert capsys.readouterr().out == printed


@pytest.mark.parametrize("order", ["3", "none"])
def test_a_recipe_keeps_the_order_of_the_n_grams(text: Path, order: str, tmp_path: Path, capsys: Capture) -> None:
    recipe = tmp_path / "recipe.yaml"
    assert cli.main(["train", str(text), "--ngram", order, "--print-config"]) == 0
    recipe.write_text(capsys.readouterr().out)
    assert cli.main(["train", "--config", str(recipe), "--print-config"]) == 0
    assert capsys.readouterr().out == recipe.read_text()
    assert cli.main(["train", "--config", str(recipe), "--ngram", "2", "--print-config"]) == 0
    assert "ngram:\n  order: 2\n" in capsys.readouterr().out
    recipe.write_text("ngram:\n  order: 0\n")
    assert cli.main(["train", "--config", str(recipe), "--print-config"]) == 2
    assert f"{recipe}, line 2: ngram.order must be none or a whole number from 1 to" in capsys.readouterr().err


def test_the_settings_of_a_run_are_a_recipe_that_keeps_its_order(text: Path, tmp_path: Path, capsys: Capture) -> None:
    run = tmp_path / "run"
    small = ["--hidden", "8", "--epochs", "1", "--streams", "4", "--steps", "7", "--threads", "1"]
    assert cli.main(["train", str(text), "--ngram", "none", *small, "--out", str(run)]) == 0
    capsys.readouterr()
    assert cli.main(["train", "--config", str(run / "settings.yaml"), "--seed", "2", "--print-config"]) == 0
    assert "ngram:\n  order: null\n" in capsys.readouterr().out
    assert cli.main(["train", "--config", str(run / "settings.yaml"), "--out", str(run), "--resume"]) == 0
    again = ["train", "--config", str(run / "settings.yaml"), "--out", str(run), "--resume", "--time", "3s"]
    assert cli.main(again) == 2
    assert "--time plans a new run" in capsys.readouterr().err


@pytest.mark.parametrize("order", ["3", "none"])
def test_other_commands_read_the_recipe_of_a_training_with_or_without_n_grams(
    text: Path, order: str, tmp_path: Path, capsys: Capture
) -> None:
    recipe = tmp_path / "recipe.yaml"
    assert cli.main(["train", str(text), "--ngram", order, "--print-config"]) == 0
    recipe.write_text(capsys.readouterr().out)
    for command in (["baseline"], ["ngram", "--out", str(tmp_path / "counts")], ["word2vec", "--print-config"]):
        assert cli.main([*command, "--config", str(recipe)]) == 0, command
    assert wordtie.load(tmp_path / "counts").model.trie.order == (5 if order == "none" else 3)  # type: ignore[attr-defined]


def test_a_recipe_that_says_how_long_to_train_is_refused_with_a_time(
    text: Path, tmp_path: Path, capsys: Capture
) -> None:
    recipe = tmp_path / "recipe.yaml"
    assert cli.main(["train", str(text), "--print-config"]) == 0
    recipe.write_text(capsys.readouterr().out)
    assert cli.main(["train", "--config", str(recipe), "--time", "3s"]) == 2
    assert f"{recipe}, line " in (err := capsys.readouterr().err)
    assert "the recipe has training.epochs 50, and --time plans it" in err
    with_tokens = ["--config", str(recipe), "--time", "3s", "--tokens", "1000", "--print-config"]
    assert cli.main(["train", str(text), *with_tokens]) == 0
    assert "tokens: 1000\n" in capsys.readouterr().out
    recipe.write_text("model:\n  hidden: 8\n")
    assert cli.main(["train", str(text), "--config", str(recipe), "--time", "3s", "--print-config"]) == 0
    assert "hidden: 8\n" in capsys.readouterr().out


def test_a_model_that_takes_too_much_memory_is_not_planned(
    text: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The size that there is time for does not fit, and the one that was timed first does."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(recipe, "SIZES", ((float("inf"), 600),))
    monkeypatch.setattr(recipe, "LARGEST", 600)
    monkeypatch.setattr(time_budget, "LARGEST", 600)
    monkeypatch.setattr(time_budget, "time_model", lambda *_, mixed: replace(FAST, window=0.001))
    settings = Settings(data=DataSettings(corpus=str(text)))
    assert make_plan(settings, [], 100).settings.model.hidden == 600
    parameters = memory.parameters_of(recipe.with_recipe(settings, [], recipe.size(500)), 100)
    monkeypatch.setattr(memory, "machine_memory", lambda: 5 * 4 * parameters)
    assert make_plan(settings, [], 100).settings.model.hidden == REFERENCE


def test_the_earlier_texts_take_their_part_of_measuring() -> None:
    timings = Timings(0.05, 1e-4, 1e-4)
    own = recipe.Lengths(10_000, 1_000, 1_000, 100)
    assert recipe.measured_tokens(own, 1.0, timings) is None
    measured = recipe.measured_tokens(replace(own, earlier=(100_000, 20_000)), 10.0, timings)
    assert measured is not None
    assert measured * (1e-4 + 2e-4 + 2 * recipe.READ_AGAIN * 1e-4) == pytest.approx(10.0, rel=1e-3)


@pytest.mark.parametrize("arguments", [["--time", "soon"], ["--time", "2m", "--like", "inan-2017/table-1/ptb-small"]])
def test_times_and_rows_that_make_no_sense(arguments: list[str], capsys: Capture) -> None:
    assert cli.main(["train", "sotu", *arguments]) == 2
    assert "--time" in capsys.readouterr().err


def test_threads_are_as_many_as_are_fastest(set_threads: Callable[[int], None]) -> None:
    """A machine on which four threads are busy: a window takes longer with all of them."""
    set_threads(8)
    seconds = {8: 9.0, 4: 3.0, 2: 2.0, 1: 4.0}

    def timed() -> Timings:
        return Timings(seconds[torch.get_num_threads()], 1.0, 1.0)

    assert with_fewer_threads(timed(), timed, lambda: True) == (2, Timings(2.0, 1.0, 1.0))
    assert torch.get_num_threads() == 2
    seconds[1] = 1.0
    assert with_fewer_threads(timed(), timed, lambda: True) == (1, Timings(1.0, 1.0, 1.0))
    assert with_fewer_threads(timed(), timed, lambda: True) == (None, Timings(1.0, 1.0, 1.0))
    set_threads(8)
    assert with_fewer_threads(timed(), timed, lambda: False) == (None, Timings(9.0, 1.0, 1.0))
    seconds[4] = 8.9  # no more than chance
    assert with_fewer_threads(timed(), timed, lambda: True) == (None, Timings(9.0, 1.0, 1.0))


def test_a_part_of_the_texts_is_measured(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    small = ["--hidden", "8", "--tokens", "2000", "--out", "run", "--measured_tokens", "30"]
    assert cli.main(["train", str(text), *small]) == 0
    printed = capsys.readouterr().out
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    data = prepare(DataSettings(corpus=str(text)))
    valid, test = (len(data.measured(split, 30)) for split in ("valid", "test"))
    assert 20 < valid <= 30
    assert (result["valid_tokens"], result["test_tokens"]) == (valid, test)
    assert (result["ngram"]["test_tokens"], result["mixture"]["valid_tokens"]) == (test, valid)
    length = result["text"]["test_length"]
    assert length > 30
    assert f"over {test} of {length} tokens" in printed
    assert cli.main(["evaluate", "run", str(text / "test.txt"), "--json", "--part", "network"]) == 0
    assert json.loads(capsys.readouterr().out)["tokens"] == length


def test_a_slow_machine_is_timed_once(text: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A vocabulary so large that one timing takes more than planning may."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    asked = []

    def slow(*arguments: object, mixed: bool) -> Timings:
        assert mixed
        asked.append(arguments)
        time.sleep(0.5)
        return FAST

    monkeypatch.setattr(time_budget, "time_model", slow)
    plan = make_plan(Settings(data=wordtie.DataSettings(corpus=str(text))), [], 3)
    assert len(asked) == 1
    assert plan.settings.model.hidden == REFERENCE, "of another size the speed is not known"


@pytest.mark.parametrize(("compiling", "timings"), [(0.35, 3), (0.0, 1)])
def test_time_to_compile_leaves_none_of_the_other_timings_out(
    text: Path, compiling: float, timings: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A first run compiles kernels in its first timing; the others do not take as long."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    asked = []

    def slow(*_: object, mixed: bool) -> Timings:
        asked.append(mixed)
        time.sleep(0.4 if len(asked) == 1 else 0.05)
        return replace(FAST, compiling=compiling)

    monkeypatch.setattr(time_budget, "time_model", slow)
    settings = settings_from(text)
    data = read_texts(settings.data).for_training(0.5)
    stopwatch = time_budget.Stopwatch(data, 0.3, mixed=True)
    while len(asked) < 3 and stopwatch.has_time():
        stopwatch.time(settings)
    assert len(asked) == timings


def test_the_time_to_compile_is_measured(text: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    settings = settings_from(text, hidden=8)
    data = read_texts(settings.data).for_training(0.5)
    _, warm = (timing.time_model(settings, data, 0.01) for _ in range(2))
    steps: list[object] = []

    def compiles_first(*arguments: Any) -> object:
        steps.append(arguments)
        time.sleep(0.5 if len(steps) == 1 else 0)
        return train_step(*arguments)

    monkeypatch.setattr(timing, "train_step", compiles_first)
    cold = timing.time_model(settings, data, 0.01)
    assert warm.compiling < 0.4 < cold.compiling < 1.0
    assert cold.window < 0.4


def test_what_is_timed_last_is_what_is_trained(text: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Dropout, noise and streams cost time, too. More streams take fewer steps, so the tokens may call for fewer."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    timed: list[Settings] = []

    def time_model(settings: Settings, *_: object, mixed: bool) -> Timings:
        timed.append(settings)
        window = settings.training.streams * settings.training.steps
        return replace(FAST, window=0.0001 * window * (1 + len(timed)), tokens=window)

    monkeypatch.setattr(time_budget, "time_model", time_model)
    monkeypatch.setattr("wordtie.training.recipe.STREAMS", ((30_000, 2), (float("inf"), 4)))
    for seconds in range(5, 40, 3):
        timed.clear()
        plan = make_plan(settings_from(text), ["training.threads"], seconds).settings
        last = timed[-1]
        assert (last.training.streams, last.model.hidden) == (plan.training.streams, plan.model.hidden)
        assert len(timed) == 2
        assert (last.model.hidden_dropout, last.noise.kind) == (plan.model.hidden_dropout, plan.noise.kind)


@pytest.mark.parametrize(
    ("given", "seconds", "units"),
    [
        ([], 100, 48),
        ([], 25, 32),
        (["model.hidden"], 100, 32),
        (["training.tokens"], 100, 32),
    ],
    ids=["time to spare", "no time for so many", "units given", "tokens given"],
)
def test_time_that_is_left_buys_a_larger_model(
    text: Path,
    given: list[str],
    seconds: float,
    units: int,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: Capture,
) -> None:
    """Forty epochs take 16 s with the most units of the recipe, and twice as long with more."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(recipe, "SIZES", ((float("inf"), 32),))
    monkeypatch.setattr(time_budget, "LARGEST", 48)
    monkeypatch.setattr(recipe, "LARGEST", 48)
    monkeypatch.setattr(planning, "time_counting", lambda *_: Counting())
    words = len(read_texts(DataSettings(corpus=str(text))).own.train)

    def time_model(settings: Settings, *_: object, mixed: bool) -> Timings:
        tokens = settings.training.streams * settings.training.steps
        a_word = 16 / recipe.MOST_EPOCHS / words * (2 if settings.model.hidden == 48 else 1)
        return Timings(a_word * tokens, 1e-6, 1e-6, tokens=tokens)

    monkeypatch.setattr(time_budget, "time_model", time_model)
    settings = settings_from(text, hidden=32, tokens=words) if "training.tokens" in given else settings_from(text)
    plan = make_plan(replace(settings, model=replace(settings.model, hidden=32)), given, seconds)
    assert plan.settings.model.hidden == units
    assert plan.settings.model.embedding == units // 2
    assert ("40 are enough" in plan.reasons[0]) == ("training.tokens" not in given)


def test_tokens_that_are_given_are_planned_like_others(
    text: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(time_budget, "time_model", lambda *_, mixed: FAST)
    training = make_plan(settings_from(text, tokens=100_000), ["training.tokens"], 10).settings.training
    assert (training.tokens, training.schedule, training.patience) == (100_000, "cosine", 0)


def test_time_is_kept_to_choose_how_much_recent_words_count(
    text: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With a machine on which that takes a second of each ten, and n-grams or none."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("wordtie.training.recipe.MOST_EPOCHS", 10**6)
    monkeypatch.setattr(planning, "time_counting", lambda *_: Counting())
    monkeypatch.setattr(
        time_budget, "time_model", lambda *_, mixed: replace(FAST, window=0.001, remembering=10.0 if mixed else 0.0)
    )
    settings = Settings(data=wordtie.DataSettings(corpus=str(text)))
    mixed, alone = (make_plan(settings, [], 100, ngram=ngram).settings.training.tokens for ngram in (5, None))
    assert mixed
    assert alone
    assert mixed == pytest.approx(0.9 * alone, rel=0.02)


def test_the_time_of_recent_words_is_measured(text: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    asked = []

    def slow(parts: object, recent: object, ids: Sized, query_NE: Sized) -> None:
        assert len(query_NE) == len(ids)
        asked.append(len(ids))
        time.sleep(0.2)

    monkeypatch.setattr(timing, "text_shares", slow)
    settings = Settings(data=wordtie.DataSettings(corpus=str(text)))
    data = read_texts(settings.data).for_training(0.5)
    alone, mixed = (timing.time_model(settings, data, 0.01, mixed=each) for each in (False, True))
    a_word = 0.2 / asked[0]
    assert mixed.measuring >= a_word > alone.measuring
    assert mixed.remembering == pytest.approx(8 * len(data.valid) * a_word, rel=0.2)
    assert alone.remembering == 0.0


def test_a_run_that_is_there_is_refused_before_planning(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "manifest.json").write_text("{}")
    assert cli.main(["train", str(text), "--time", "1h", "--out", "run"]) == 4
    assert capsys.readouterr().err == "wordtie: error: run: holds a run already: --overwrite replaces it\n"


@pytest.mark.parametrize("time", [["--time", "1h"], []])
def test_a_folder_that_cannot_be_made_is_refused_before_planning(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture, time: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    (text / "train.txt").unlink()  # which would be told if it were read before
    assert cli.main(["train", str(text), *time, "--out", "file/run"]) == SaveError.exit_code
    assert "file/run: cannot be written (Not a directory)" in capsys.readouterr().err


def test_a_start_with_other_words_is_refused_before_the_machine_is_timed(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings_from(text, hidden=8, epochs=1)
    wordtie.train(settings, tmp_path / "run")
    (text / "train.txt").write_text("other words\n" * 99)
    monkeypatch.setattr(planning, "exclusive_training", None)
    with pytest.raises(RunFolderError, match="has another vocabulary"):
        wordtie.plan(text, 3600, start_from=str(tmp_path / "run"))


def test_a_setting_that_is_given_as_the_recipe_has_it_changes_nothing(text: Path, capsys: Capture) -> None:
    def planned(*more: str) -> str:
        assert cli.main(["train", str(text), *more, "--print-config"]) == 0
        return capsys.readouterr().out

    usual = planned()
    for given in (("--optimiser", "adam"), ("--hidden", "320"), ("--head", "tied_linear"), ("--schedule", "plateau")):
        assert planned(*given) == usual
    assert planned("--loss.kind", "cross_entropy") == usual
    assert planned("--hidden", "200") != usual


def test_a_resumed_run_keeps_its_plan_of_n_grams(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    command = ["train", str(text), "--time", "4s", "--hidden", "8", "--out", "run"]
    with monkeypatch.context() as patch:
        patch.setattr(planning, "SHARE_OF_NGRAMS", 0.0)
        assert cli.main([*command, "--max-time", "0.001s"]) == 0
    assert cli.main([*command, "--resume"]) == 0
    assert not (tmp_path / "run" / "ngram").exists()
    assert cli.main([*command, "--resume", "--ngram", "2"]) == 0
    assert json.loads((tmp_path / "run" / "result.json").read_text())["ngram"]["order"] == 2
    capsys.readouterr()
    assert cli.main([*command[:2], "--out", "run", "--resume", "--time", "10h"]) == 0
    assert "run continues as planned, for " in capsys.readouterr().err
    assert cli.main([*command[:2], "--out", "run", "--resume", "--time", "soon"]) == 2
    assert "--time" in capsys.readouterr().err


def test_epochs_that_are_planned_have_an_effect(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    command = ["train", str(text), "--time", "4s", "--epochs", "3", "--hidden", "8", "--out", "run"]
    assert cli.main([*command, "--max-time", "0.001s"]) == 0
    said = capsys.readouterr().err
    assert "3 epochs as given" in said
    assert "no effect" not in said
    assert cli.main([*command, "--resume"]) == 0
    assert json.loads((tmp_path / "run" / "result.json").read_text())["epochs_trained"] == 3


def test_a_plan_for_python_keeps_time_for_the_n_grams_of_train(
    text: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("wordtie.training.recipe.MOST_EPOCHS", 10**6)
    monkeypatch.setattr(time_budget, "time_model", lambda *_, mixed: FAST)
    monkeypatch.setattr(planning, "time_counting", lambda *_: Counting(50.0))
    with_ngrams, alone = (wordtie.plan(text, 100, ngram=each).settings.training.tokens for each in (5, "none"))
    assert with_ngrams
    assert alone
    assert with_ngrams == pytest.approx(0.45 * alone, rel=0.1)


def test_a_plan_takes_each_setting_of_the_recipe(text: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Given alone, some make no sense with the papers' defaults for the others."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(time_budget, "time_model", lambda *_, mixed: FAST)
    monkeypatch.setattr(planning, "time_counting", lambda *_: Counting(0.1))
    values = {**RECOMMENDED, "loss.full_at_end": 0.1, "training.sparse_updates": True}
    for name, value in values.items():
        for seconds in (10, "10s", None):
            section, _, setting = name.partition(".")
            assert getattr(getattr(wordtie.plan(text, seconds, **{name: value}).settings, section), setting) == value


def test_the_command_plans_with_a_setting_that_the_recipe_has(text: Path, capsys: Capture) -> None:
    command = ["train", str(text), "--time", "5s", "--hidden", "8", "--print-config"]
    for options in (["--optimiser", "adam"], ["--loss.full_at_end", "0.1"], ["--sparse_updates", "true"]):
        assert cli.main([*command, *options]) == 0
        assert "loss:" in capsys.readouterr().out
    assert cli.main(["train", str(text), "--time", "5s", "--hidden", "1", "--print-config"]) == 0


def test_a_planned_run_is_resumed_from_python_as_it_was_planned(
    text: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Although another plan has other tokens, and with the n-grams of the plan."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    kept: dict[str, Any] = {"hidden": 8, "threads": 1, "epochs": 3, "streams": 2, "steps": 4}
    first = wordtie.plan(text, 100, ngram=2, **kept)
    assert str(first).splitlines() == list(first.reasons)
    whole = wordtie.train(first, "whole")
    assert isinstance(wordtie.load("whole").model, Mixture)
    assert wordtie.train(first, "run", max_time="0.001s").stopped == "max_time"
    other = replace(first, settings=settings_from(first.settings, tokens=17, hidden=12), ngram=3)
    again = wordtie.train(other, "run", mode="resume", max_time=None)
    assert again.weights_sha256 == whole.weights_sha256
    assert again.mixture == whole.mixture
    assert wordtie.train(first, "run", mode="resume", ngram="none").mixture is None
    with pytest.raises(SettingsError, match=r"ngram\.order must be a whole number, got"):
        wordtie.train(first, "other", ngram="5")  # type: ignore[arg-type]
    assert not Path("other").exists()


def test_a_time_is_refused_where_it_would_change_nothing(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    command = ["train", str(text), "--hidden", "8", "--out", "run"]
    assert cli.main([*command, "--epochs", "1", "--max-time", "0.001s"]) == 0
    assert cli.main([*command, "--resume", "--time", "4s"]) == 2
    assert "--time plans a new run: run was begun without" in capsys.readouterr().err
    assert cli.main(["train", str(text), "--time", "", "--out", "other"]) == 2


def test_a_plan_says_how_long_given_settings_take(text: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(time_budget, "time_model", lambda *_, mixed: replace(FAST, tokens=1000))
    settings = Settings(data=wordtie.DataSettings(corpus=str(text)), training=TrainingSettings(tokens=2_000_000))
    line = make_plan(settings, ["training.tokens"], 10).reasons[0]
    assert "2,000,000 tokens" in line
    assert re.search(r"epochs as given: about 100 s, and \d s for the rest, more than the 10 s given, ", line)
    settings = settings_from(settings, tokens=None, epochs=1000, streams=1)
    first, _, third = make_plan(settings, ["training.epochs", "training.streams"], 36_000).reasons
    assert re.search(r" tokens, 1,000 epochs as given: about \d+ of 36,000 s, ", first)
    assert re.search(r" and 1 stream of \d+ steps for so many tokens, ", third)


def test_a_plan_says_how_long_its_n_grams_take(text: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Those that were asked for, which take more than the time given."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(time_budget, "time_model", lambda *_, mixed: FAST)
    monkeypatch.setattr(planning, "time_counting", lambda *_: Counting(500.0))
    line = make_plan(settings_from(text), [], 100, keep_ngram=True).reasons[0]
    assert re.search(r"about 1 s, and 5\d\d s for the rest, more than the 100 s given, ", line)
    monkeypatch.setattr(planning, "time_counting", lambda *_: Counting(20.0))
    for ngram in (5, None):
        assert " of 100 s, " in make_plan(settings_from(text), [], 100, ngram=ngram).reasons[0]


def test_n_grams_that_are_asked_for_must_fit_into_memory(
    text: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Which is found before anything is timed."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("wordtie.ngrams.memory.machine_memory", lambda: 1000)
    monkeypatch.delattr(planning, "time_counting")
    with pytest.raises(SettingsError, match="counting 5-grams"):
        wordtie.plan(text, 100, ngram=5)
    monkeypatch.setattr(time_budget, "time_model", lambda *_, mixed: FAST)
    assert wordtie.plan(text, 100).ngram is None


@pytest.mark.parametrize(("head", "embedding"), [("tied_linear", 24), ("tied", 48), ("untied", 48)])
def test_the_larger_model_has_word_vectors_that_suit_its_head(head: str, embedding: int) -> None:
    given = ["model.head"]
    largest = recipe.SIZES[-1][1]
    chosen = recipe.with_recipe(settings_from("a", head=head), given, recipe.size(largest))
    tokens = recipe.tokens_of(recipe.MOST_EPOCHS, 100_000, chosen)
    found = recipe.larger(settings_from(chosen, tokens=tokens), given, 100_000)
    assert found is not None
    assert found.model.hidden == recipe.LARGEST
    assert found.model.embedding_size == embedding * recipe.LARGEST // 48


@pytest.mark.parametrize("hidden", [255, REFERENCE, 400])
@pytest.mark.parametrize("seconds", [1, 1000])
def test_word_vectors_are_half_as_long_as_the_units_that_are_given(
    text: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, hidden: int, seconds: int
) -> None:
    """What is timed is what is trained, whether or not there is time for another timing."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    timed = []

    def time_model(settings: Settings, *_: object, mixed: bool) -> Timings:
        timed.append(settings.model)
        return FAST

    monkeypatch.setattr(time_budget, "time_model", time_model)
    plan = make_plan(settings_from(text, hidden=hidden), ["model.hidden"], seconds)
    assert (plan.settings.model.hidden, plan.settings.model.embedding) == (hidden, hidden // 2)
    assert {(each.hidden, each.embedding) for each in timed} == {(hidden, hidden // 2)}


@pytest.mark.parametrize("lacking", ["time", "memory"])
def test_n_grams_are_left_out_of_a_plan_unless_they_are_asked_for(
    text: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, lacking: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(time_budget, "time_model", lambda *_, mixed: FAST)
    if lacking == "time":
        monkeypatch.setattr(planning, "time_counting", lambda *_: Counting(50.0))
    else:
        monkeypatch.setattr(planning, "ngrams_fit", lambda *_: False)
    settings = settings_from(text)
    plan = make_plan(settings, [], 100)
    assert plan.ngram is None
    assert "no n-gram model: to count it takes too long, or too much memory; --ngram 5 does it" in plan.reasons[2]
    assert make_plan(settings, [], 100, keep_ngram=True).ngram == 5


def test_validations_that_are_given_are_kept_and_take_their_time(
    text: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Capture
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert cli.main(["train", str(text), "--time", "3s", "--validations", "3", "--hidden", "8", "--print-config"]) == 0
    assert "  validations: 3\n" in capsys.readouterr().out
    monkeypatch.setattr("wordtie.training.recipe.MOST_EPOCHS", 10**6)
    monkeypatch.setattr(planning, "time_counting", lambda *_: Counting())
    words = len(read_texts(DataSettings(corpus=str(text))).own.valid)
    monkeypatch.setattr(time_budget, "time_model", lambda *_, mixed: Timings(0.001, 1 / words, 1e-9))
    few, many = (
        make_plan(settings_from(text, validations=number), ["training.validations"], 100).settings.training
        for number in (1, 51)
    )
    assert (few.validations, many.validations) == (1, 51)
    assert few.tokens
    assert many.tokens
    assert many.tokens == pytest.approx(0.48 * few.tokens, rel=0.05), "51 of a second each, in place of one"


def test_what_does_not_fit_into_memory_is_refused_before_it_is_timed(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert cli.main(["train", str(text), "--time", "3s", "--hidden", "100000", "--out", str(tmp_path / "run")]) == 2
    assert "parameters needs" in capsys.readouterr().err
