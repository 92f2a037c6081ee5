"""A network and n-grams of one text in one run folder."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest

import wordtie
from tests.commands import Capture
from wordtie import cli
from wordtie.config import DataSettings, LossSettings, ModelSettings, Settings, TrainingSettings
from wordtie.config.ngram import NgramSettings
from wordtie.errors import DivergedError, RunFolderError, SaveError, SettingsError
from wordtie.models.mixture import Mixture
from wordtie.ngrams import memory
from wordtie.runs import provenance, run_folder
from wordtie.runs.curves import read_state
from wordtie.runs.metrics import read_metrics
from wordtie.runs.provenance import UNMIXED
from wordtie.runs.result import read_result
from wordtie.training import run_writer, trainer
from wordtie.training import train as train_module
from wordtie.training.ngrams import train_ngrams
from wordtie.training.train import train


@pytest.fixture
def settings(text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(text.parent / "cache"))
    training = TrainingSettings(epochs=2, streams=4, steps=7, threads=1)
    loss = LossSettings(kind="cross_entropy")
    return Settings(DataSettings(corpus=str(text)), ModelSettings(hidden=8), loss, training=training)


def stopped(*_: object, **__: object) -> NoReturn:
    """Take the place of a function in which a training is stopped."""
    raise KeyboardInterrupt


def test_the_run_folder_opens_as_the_mixture_and_as_its_parts(settings: Settings, text: Path) -> None:
    result = train(settings, "run", ngram=3)
    assert result.ngram is not None
    assert result.mixture is not None
    assert result.mixture["valid_perplexity"] <= min(result.valid_perplexity, result.ngram["valid_perplexity"])
    of = {None: result.mixture, "network": result.as_json(), "ngram": result.ngram}
    for part, figures in of.items():
        model = wordtie.load("run", part=part)  # type: ignore[arg-type]
        for split in ("valid", "test"):
            perplexity = model.evaluate(text / f"{split}.txt").perplexity
            assert perplexity == pytest.approx(figures[f"{split}_perplexity"], rel=1e-5)
    assert isinstance(wordtie.load("run").model, Mixture)
    assert wordtie.load("run").network.parameter_count() == result.parameters
    assert read_result(Path("run")) == result


def test_the_network_is_that_of_a_run_without_n_grams(settings: Settings) -> None:
    assert train(settings, "mixed", ngram=3).weights_sha256 == train(settings, "alone").weights_sha256


def test_a_run_that_goes_on_drops_the_mixture_of_before(settings: Settings) -> None:
    train(settings, "run", ngram=3)
    shutil.copytree("run/mixture", "old")
    train(settings, "run", mode="resume", epochs=4, ngram="none")
    assert not Path("run/mixture").exists()
    shutil.copytree("old", "run/mixture")  # as while it trains further: of a network that is no longer there
    assert not isinstance(wordtie.load("run").model, Mixture)
    with pytest.raises(RunFolderError, match="no n-gram model mixed in: leave out --part, or train with --ngram 5"):
        wordtie.load("run", part="ngram")


def test_overwriting_leaves_nothing_of_the_mixture(settings: Settings) -> None:
    train(settings, "run", ngram=3)
    train(settings, "run", mode="overwrite")
    assert not Path("run/mixture").exists()
    assert not Path("run/ngram").exists()


def test_a_run_that_is_killed_before_its_first_window_keeps_its_order(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(provenance, "begin_invocation", stopped)
        with pytest.raises(KeyboardInterrupt):
            train(settings, "run", ngram=2)
    result = train(settings, "run", mode="resume")
    assert result.ngram is not None
    assert result.ngram["order"] == 2


def test_a_run_killed_while_it_replaces_another_lists_none_of_its_invocations(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    train(settings, "run")
    with monkeypatch.context() as patch:
        patch.setattr(run_folder, "clear", stopped)
        with pytest.raises(KeyboardInterrupt):
            train(settings, "run", mode="overwrite", lr=0.5)
    train(settings, "run", mode="resume", lr=0.5)
    assert len(provenance.invocations(Path("run"))) == 1
    train(settings, "run", mode="resume", lr=0.5, epochs=4)
    assert len(provenance.invocations(Path("run"))) == 2


def test_what_a_kill_left_while_mixing_is_removed(settings: Settings) -> None:
    train(settings, "run", ngram=2)
    left = Path("run/mixture/parts/.part-1")
    left.mkdir()
    train(settings, "run", mode="resume", ngram="none")
    assert not left.exists()


def test_a_finished_run_keeps_its_result_if_it_cannot_be_resumed(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = train(settings, "run")

    def full(*_: object) -> NoReturn:
        raise SaveError("no space left")

    for module, name in ((run_writer, "write_text"), (trainer.Trainer, "finish")):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, full)
            with pytest.raises(SaveError):
                train(settings, "run", mode="resume")
        assert read_result(Path("run")) == result


def test_a_mixture_stays_until_there_is_another_model_and_a_note_says_so(settings: Settings, capsys: Capture) -> None:
    note = "note: run: this is the model of an earlier run; the one that replaces it has none yet\n"
    train(settings, "run", ngram=3)
    capsys.readouterr()
    wordtie.load("run")
    assert capsys.readouterr().err == ""
    with pytest.raises(DivergedError):
        train(settings, "run", mode="overwrite", lr=1e38, clip=0.0)
    capsys.readouterr()
    assert isinstance(wordtie.load("run").model, Mixture)
    assert capsys.readouterr().err == note
    wordtie.load("run", "without-recent")
    assert capsys.readouterr().err == note
    train(settings, "run", mode="overwrite")
    capsys.readouterr()
    wordtie.load("run")
    assert capsys.readouterr().err == ""


def test_a_run_that_stops_before_its_first_export_is_not_taken_for_the_model_of_an_earlier_run(
    settings: Settings, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    train(settings, "run")

    def killed(*_: object) -> NoReturn:
        raise SaveError("no space left")

    monkeypatch.setattr(run_writer.RunWriter, "export", killed)
    with pytest.raises(SaveError):
        train(settings, "run", mode="overwrite")
    capsys.readouterr()
    wordtie.load("run")
    assert "this is the model of an earlier run" in capsys.readouterr().err


def test_a_run_without_n_grams_says_so_when_a_part_is_asked_for(settings: Settings, capsys: Capture) -> None:
    train(settings, "run")
    for part in ("without-recent", "ngram"):
        with pytest.raises(RunFolderError, match="has no n-gram model mixed in: leave out --part"):
            wordtie.load("run", part)
    (Path("run") / "manifest.json").unlink()
    (Path("run") / "result.json").unlink()
    capsys.readouterr()
    with pytest.raises(RunFolderError):
        wordtie.load("run")
    assert "earlier run" not in capsys.readouterr().err, "there is no model, of an earlier run or of this one"


def test_a_run_that_was_stopped_while_n_grams_are_mixed_in_says_so(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(train_module, "mix_with_ngrams", stopped)
        with pytest.raises(KeyboardInterrupt):
            train(settings, "run", ngram=3)
    assert "interrupted: run is trained, but n-grams are not mixed in yet" in capsys.readouterr().err
    assert read_state(Path("run")) == ("stopped", UNMIXED)
    assert not isinstance(wordtie.load("run").model, Mixture)
    assert "run: this is the network alone, n-grams are not mixed in yet" in capsys.readouterr().err
    for inner in ("ngram", "mixture"):
        Path("run", inner, ".model-killed").mkdir(parents=True)
    train(settings, "run", mode="resume")
    assert read_state(Path("run")) == ("finished", "")
    assert isinstance(wordtie.load("run").model, Mixture)
    assert not list(Path("run").glob("*/.model-*"))
    capsys.readouterr()
    train(settings, "run", mode="resume", ngram="none")
    assert read_state(Path("run")) == ("finished", ""), "none are to be mixed in any more"
    wordtie.load("run")
    assert "mixed in" not in capsys.readouterr().err


def test_a_part_is_that_of_the_mixture_if_another_is_not_finished(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others are counted, and the weights are being fitted when the run is stopped."""
    train(settings, "run", ngram=3)
    with monkeypatch.context() as patch:
        patch.setattr("wordtie.training.mixing.best_adaptive_mixture", stopped)
        with pytest.raises(KeyboardInterrupt):
            train(settings, "run", mode="resume", ngram=2)
    assert "3-gram" in repr(wordtie.load("run"))
    assert "3-gram" in repr(wordtie.load("run", part="ngram"))


def test_n_grams_that_do_not_fit_into_memory_are_refused_before_training(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "ngrams_fit", lambda tokens, order: False)
    with pytest.raises(SettingsError, match=r"counting 3-grams of [\d,]+ tokens needs .* take a smaller --ngram"):
        train(settings, "run", ngram=3)
    assert not Path("run").exists()
    train(settings, "run")


def test_parts_take_their_space_once(settings: Settings) -> None:
    train(settings, "run", ngram=3)
    assert Path("run/model.safetensors").stat().st_nlink == 2
    assert Path("run/ngram/model.safetensors").stat().st_nlink == 2


@pytest.mark.parametrize(
    "lines",
    [["a b"], ["the cat sat on the mat"] * 20, [f"w{2 * n} w{2 * n + 1}" for n in range(40)], ["word " * 100]],
    ids=["three tokens", "one sentence", "every word different", "one line"],
)
def test_tiny_texts_give_a_model_or_one_clear_line(
    lines: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    Path("text.txt").write_text("".join(f"{line}\n" for line in lines))
    for options in (["--time", "2s"], ["--epochs", "2"]):
        code = cli.main(["train", "text.txt", "--hidden", "8", "--overwrite", "--out", "run", *options])
        printed = capsys.readouterr()
        if code:
            assert "Traceback" not in printed.err
            assert printed.err.count("wordtie: error: ") == 1
        else:
            assert "mixture" in printed.out
            assert wordtie.load("run").surprisal("word")


def test_a_model_worse_than_word_frequencies_is_warned_of(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    bad = [
        "--hidden",
        "8",
        "--optimiser",
        "sgd",
        "--lr",
        "1e-6",
        "--epochs",
        "1",
        "--bias-init",
        "zero",
        "--out",
        "bad",
    ]
    assert cli.main(["train", str(text), "--ngram", "none", *bad]) == 0
    assert "worse than word frequencies alone" in capsys.readouterr().err


def test_like_takes_a_papers_row(capsys: Capture) -> None:
    from wordtie.reproduction.papers.registry import ROWS

    row = "inan-2017/table-1/ptb-small-real"
    assert cli.main(["train", "--like", row, "--seed", "7", "--print-config"]) == 0
    printed = capsys.readouterr().out
    assert "seed: 7" in printed
    assert f"lr: {ROWS[row].settings().training.lr}" in printed
    assert cli.main(["train", "--like", "inan-2017/table-1/ptb-smal-real"]) == 2
    assert f"did you mean {row}?" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["ngram", "mixture"])
def test_models_of_the_names_that_mixing_uses_are_not_replaced(settings: Settings, name: str) -> None:
    """Someone may keep an n-gram model in models/ngram, and give models as the folder of a run."""
    train_ngrams(NgramSettings(settings.data, order=2), f"models/{name}")
    before = {path: path.read_bytes() for path in Path("models").rglob("*") if path.is_file()}
    for ngram in (2, None):
        with pytest.raises(RunFolderError, match=f"has a {name}/manifest.json already: --overwrite replaces it"):
            train(settings, "models", ngram=ngram)
    assert before == {path: path.read_bytes() for path in Path("models").rglob("*") if path.is_file()}
    train(settings, "run", ngram=2)
    train(settings, "run", mode="overwrite", ngram=2)


def test_validations_that_are_spread_over_the_epochs_depend_on_their_number(settings: Settings) -> None:
    spread = replace(settings, training=replace(settings.training, epochs=2, validations=3))
    train(spread, "run")
    assert sum("valid_perplexity" in line for line in read_metrics(Path("run"))) == 3
    longer = replace(spread, training=replace(spread.training, epochs=4))
    with pytest.raises(RunFolderError, match=r"started with other training\.epochs \(2, now 4\)"):
        train(longer, "run", mode="resume")
