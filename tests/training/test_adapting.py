"""A run on another text that has the words of both, and keeps what the first one knew."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import wordtie
from tests.commands import Capture, output
from tests.export.test_ngram_approximation import as_text
from wordtie import cli
from wordtie.commands.train import earlier_line, is_forgotten
from wordtie.config import ModelSettings, NoiseSettings
from wordtie.config.keywords import settings_from
from wordtie.config.recommended import ADAPTING_RATE
from wordtie.data.tokenizer import Tokenizer
from wordtie.errors import DataError, RunFolderError, SettingsError, UsageError
from wordtie.evaluation.perplexity import evaluate
from wordtie.export.arpa import export_arpa
from wordtie.export.ngram_approximation import Approximation, context_frequencies
from wordtie.inference.frequencies import training_frequencies
from wordtie.models.language_model import LanguageModel
from wordtie.models.mixture import best_mixture, log_probabilities
from wordtie.ngrams import NgramModel, fit_kneser_ney
from wordtie.ngrams.backoff import of_trie, pruned
from wordtie.runs.result import read_result
from wordtie.runs.run_folder import read_language_model
from wordtie.training import mixing
from wordtie.training.rehearsal import Texts, of_the_start, read_texts
from wordtie.training.warm_start import load_start, read_start

FIRST = ["the", "cat", "sat", "on", "mat", "dog", "walks"]
SECOND = ["the", "cats", "sat", "in", "house", "dogs", "walked"]
COMMON = ["--streams", "4", "--steps", "7", "--threads", "1", "--hidden-dropout", "0", "--input-dropout", "0"]


def write_text(folder: Path, draw: Callable[[random.Random], str], lines: int, others: int) -> Path:
    """A text of drawn sentences: `lines` to train on, and `others` each to validate and to test."""
    folder.mkdir()
    generator = random.Random(1)
    for split, count in (("train", lines), ("valid", others), ("test", others)):
        (folder / f"{split}.txt").write_text("".join(draw(generator) + "\n" for _ in range(count)))
    return folder


def text(folder: Path, words: list[str], lines: int = 120) -> Path:
    """Random sentences."""
    return write_text(folder, lambda generator: " ".join(generator.choices(words, k=6)), lines, 20)


def enter(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder, with a cache of its own."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two texts, and a run on the first."""
    folder = tmp_path_factory.mktemp("trained")
    text(folder / "first", FIRST)
    text(folder / "second", SECOND)
    arguments = ["--head", "tied_linear", "--hidden", "12", "--embedding", "6", "--epochs", "2"]
    with pytest.MonkeyPatch.context() as monkeypatch:
        enter(folder, monkeypatch)
        assert cli.main(["train", "first", "--out", "run", *arguments, *COMMON]) == 0
    return folder


@pytest.fixture
def first(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return copied(trained, tmp_path, monkeypatch)


def copied(trained: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a copy of a folder with texts and a run, and return the run."""
    shutil.copytree(trained, folder, dirs_exist_ok=True)
    enter(folder, monkeypatch)
    return folder / "run"


def adapt(out: str, *more: str) -> list[str]:
    """The command that adapts the first run to the second text."""
    return ["train", "second", "--start-from", "run", "--extend-vocabulary", "--out", out, "--epochs", "2",
            *COMMON, *more]  # fmt: skip


def test_old_words_keep_their_ids_and_new_ones_follow(first: Path, capsys: Capture) -> None:
    result = json.loads(output(adapt("more", "--json"), capsys))
    old, new = (Tokenizer.load(Path(run) / "tokenizer.json").vocabulary.words for run in ("run", "more"))
    assert new[: len(old)] == old
    assert set(new[len(old) :]) == set(SECOND) - set(FIRST)
    assert wordtie.load("more").settings.model.hidden == 12  # type: ignore[union-attr]
    [earlier] = result["earlier"]
    before = json.loads((first / "result.json").read_text())
    assert earlier["network_before"] == before["test_perplexity"]
    assert earlier["mixture_before"] == before["mixture"]["test_perplexity"]
    old_ids = wordtie.load("run").tokenizer.encode(Path("first/test.txt").read_text())
    for part, name in (("network", "network"), (None, "mixture")):
        model = wordtie.load("more", part=part).model  # type: ignore[arg-type]
        p_TV = model.distributions(old_ids[:, None], model.initial_state(1))[0][:, 0].astype(np.float64)
        p_TV[:, model.vocabulary.unk_id] += p_TV[:, len(old) :].sum(1)
        p_T = np.take_along_axis(p_TV[:, : len(old)], old_ids[:, None], 1)
        assert earlier[name] == pytest.approx(np.exp(-np.log(p_T).mean()), rel=1e-5)
    assert json.loads(output(["evaluate", "more", "--json"], capsys))["perplexity"] == pytest.approx(
        result["mixture"]["test_perplexity"]
    )


def test_the_earlier_text_is_rehearsed_and_counted(first: Path, capsys: Capture) -> None:
    output(adapt("more", "--rehearsal", "0.25"), capsys)
    texts = read_texts(read_language_model(Path("more")).settings.data)
    own, rehearsed = (len(each.train) for each in (texts.own, texts.for_training(0.25)))
    assert rehearsed - own == pytest.approx(own / 3, abs=32)
    assert texts.for_training(0.0) is texts.own
    whole = texts.for_counting().train
    assert whole.tolist() == [*texts.own.train, *texts.earlier[0].data.train]
    model = wordtie.load("more", part="ngram").model
    assert model.trie.unigram[texts.own.vocabulary.id("dog")] > 0.03  # type: ignore[attr-defined]


def test_an_earlier_text_that_is_too_short_to_be_rehearsed_so_much_is_told(first: Path, capsys: Capture) -> None:
    assert cli.main(adapt("more", "--rehearsal", "0.9")) == 0
    told = "note: the text of run is only 50 % of the training tokens, not 90 %: there is no more of it, and it is not"
    assert told in capsys.readouterr().err
    assert cli.main(adapt("half")) == 0
    assert "there is no more of it" not in capsys.readouterr().err


def test_a_limit_on_forgetting_without_rehearsal_has_no_effect(first: Path, capsys: Capture) -> None:
    assert cli.main(adapt("more", "--rehearsal", "0", "--max-forgetting", "0.01")) == 0
    assert "training.max_forgetting 0.01 has no effect with no --extend-vocabulary, or with" in capsys.readouterr().err


def test_every_epoch_rehearses_other_stretches(first: Path) -> None:
    """Until all of the earlier text has been read: its words are numbered by their place here."""
    assert cli.main(adapt("more")) == 0
    texts = read_texts(read_language_model(Path("more")).settings.data)
    text = texts.earlier[0]
    texts = replace(
        texts, earlier=[replace(text, data=replace(text.data, train=np.arange(10_000, 20_000, dtype=np.int32)))]
    )
    own = len(texts.own.train)
    rehearsal = 1000 / (own + 1000)
    of_epochs = [texts.of_epoch(epoch, rehearsal) for epoch in range(1, 13)]
    assert {len(each) for each in of_epochs} == {own + 1000}
    assert all(each[:own].tolist() == texts.own.train.tolist() for each in of_epochs)
    np.testing.assert_array_equal(of_epochs[0], texts.for_training(rehearsal).train)
    first_two = np.concatenate([each[own:] for each in of_epochs[:2]])
    assert len(set(first_two.tolist())) == 2000
    assert len({word for each in of_epochs for word in each[own:].tolist()}) > 9_700, "all but one between stretches"
    whole = texts.of_epoch(2, 0.999)[own:]
    assert whole.tolist() == list(range(10_000, 20_000)), "a text that is read as a whole keeps its order"


def test_a_run_reads_the_stretches_of_its_epoch_also_when_resumed(first: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    real = Texts.of_epoch

    def noted(self: Texts, epoch: int, rehearsal: float) -> Any:
        asked.append(epoch)
        return real(self, epoch, rehearsal)

    monkeypatch.setattr(Texts, "of_epoch", noted)
    more = [*adapt("more", "--rehearsal", "0.1"), "--patience", "0"]
    assert cli.main([*more, "--epochs", "2"]) == 0
    assert asked[-2:] == [1, 2]
    assert cli.main([*more, "--epochs", "4", "--resume"]) == 0
    assert asked[-2:] == [3, 4]


def test_the_weights_of_the_mixture_are_fitted_on_both_texts(first: Path, capsys: Capture) -> None:
    result = json.loads(output(adapt("more", "--rehearsal", "0.25", "--json"), capsys))
    texts = read_texts(read_language_model(Path("more")).settings.data)
    own, (earlier,) = texts.own.valid, texts.for_weights(0.25, len(texts.own.valid))
    assert len(earlier) == pytest.approx(len(own) / 3, abs=1)
    assert texts.for_weights(0.0, len(own)) == []
    assert len(texts.for_weights(0.9, 10**6)[0]) == len(texts.earlier[0].data.valid)
    parts = [wordtie.load("more", part=name).model for name in ("network", "ngram")]
    read = [log_probabilities(parts, [ids_N]) for ids_N in (own, earlier)]
    log_p_NP, class_N = (np.concatenate(each) for each in zip(*read, strict=True))
    expected = best_mixture(parts, log_p_NP, class_N)
    np.testing.assert_allclose(result["mixture"]["weights"], expected.weights_RP, atol=1e-4)
    alone = best_mixture(parts, *read[0])
    assert not np.allclose(alone.weights_RP, expected.weights_RP, atol=1e-2)


def test_a_run_that_was_killed_resumes_with_identical_results(first: Path, capsys: Capture) -> None:
    whole = json.loads(output(adapt("whole", "--json"), capsys))
    assert cli.main(adapt("cut", "--max-time", "0.01s")) == 0
    resumed = json.loads(output(adapt("cut", "--resume", "--json"), capsys))
    assert resumed["weights_sha256"] == whole["weights_sha256"]
    assert resumed["earlier"] == whole["earlier"]


def test_a_third_text_rehearses_both(first: Path, tmp_path: Path, capsys: Capture) -> None:
    text(tmp_path / "third", ["birds", "the", "sing"])
    output(adapt("more"), capsys)
    arguments = ["train", "third", "--start-from", "more", "--extend-vocabulary", "--out", "third-run", "--epochs", "1"]
    result = json.loads(output([*arguments, *COMMON, "--json"], capsys))
    assert [each["run"] for each in result["earlier"]] == ["more", "run"]


def test_without_the_earlier_text_it_is_said(first: Path, capsys: Capture) -> None:
    shutil.rmtree("first")
    capsys.readouterr()
    assert cli.main(adapt("more")) == 0
    out, err = capsys.readouterr()
    assert "the text of run cannot be read: " in err
    assert "earlier test text" not in out


def test_both_texts_are_printed_and_a_loss_is_said(first: Path, capsys: Capture) -> None:
    capsys.readouterr()
    assert cli.main(adapt("more", "--lr", "0.05", "--rehearsal", "0", "--epochs", "6", "--ngram", "none")) == 0
    out, err = capsys.readouterr()
    assert "earlier test text      network" in out
    assert "over 140 tokens of first" in out
    assert "run: its text is predicted more than 5 % worse: raise --rehearsal, or lower --lr" in err


def test_a_mixture_that_became_a_network_lost_what_the_mixture_had() -> None:
    """Time or memory may be short for n-grams. The network alone has hardly lost anything."""
    figures = {"corpus": "first", "tokens": 140, "network_before": 74.75, "network": 78.18, "mixture_before": 57.31}
    assert is_forgotten(figures)
    assert "network 78.18 (+4.6 %)   no mixture, before 57.31" in earlier_line(figures)
    assert not is_forgotten({**figures, "mixture": 58.0})
    del figures["mixture_before"]
    assert not is_forgotten({**figures, "mixture": 58.0})


def test_an_earlier_text_too_long_for_the_time_is_measured_in_part(first: Path, capsys: Capture) -> None:
    """Before and after are still over the same tokens."""
    [earlier] = json.loads(output(adapt("more", "--json", "--measured_tokens", "50"), capsys))["earlier"]
    [text] = read_texts(read_language_model(Path("more")).settings.data).earlier
    part = text.within(50)
    assert 30 < earlier["tokens"] == len(part.test) <= 50 < len(text.test)
    assert "mixture_before" not in earlier
    eos_id = text.data.vocabulary.eos_id
    before = evaluate(wordtie.load("run", part="network").network, part.test, eos_id)
    assert earlier["network_before"] == pytest.approx(before.perplexity, rel=1e-4)
    [whole] = json.loads(output(adapt("whole", "--json"), capsys))["earlier"]
    assert whole["tokens"] == len(text.test)


def test_the_default_optimiser_changes_nothing_when_it_is_given(first: Path, capsys: Capture) -> None:
    printed = [output(adapt("more", *more, "--print-config"), capsys) for more in ([], ["--optimiser", "adam"])]
    assert printed[0] == printed[1]
    assert "lr: 0.001" in printed[0]


@pytest.mark.parametrize("model", [["--head", "untied"], ["--core", "gru", "--bias-init", "zero"]])
def test_other_models(model: list[str], first: Path) -> None:
    assert cli.main(["train", "first", "--out", "other", "--epochs", "1", "--hidden", "8", *model, *COMMON]) == 0
    arguments = adapt("more", "--softmax", "full")
    arguments[arguments.index("run")] = "other"
    assert cli.main(arguments) == 0
    before, now = load_file("other/model.safetensors"), load_file("more/model.safetensors")
    assert {name: tensor.shape[1:] for name, tensor in now.items()} == {
        name: tensor.shape[1:] for name, tensor in before.items()
    }


def refusal(arguments: list[str], code: int, capsys: Capture) -> str:
    capsys.readouterr()
    assert cli.main(arguments) == code
    return capsys.readouterr().err


def test_a_model_that_comes_with_wordtie_is_extended(first: Path, capsys: Capture) -> None:
    lines = Path("second/train.txt").read_text()
    Path("second/train.txt").write_text(lines.replace("house", "wordtiehouse"))
    command = ["train", "second", "--start-from", "en", "--extend-vocabulary", "--out", "more", "--epochs", "1"]
    assert cli.main([*command, "--streams", "4", "--steps", "7", "--threads", "1", "--ngram", "none"]) == 0
    assert "the text of " in capsys.readouterr().err
    old, new = wordtie.load("en").tokenizer.vocabulary.words, wordtie.load("more").tokenizer.vocabulary.words
    assert [*new[: len(old)]] == [*old]
    assert "wordtiehouse" in new[len(old) :]


def test_what_cannot_be_extended_is_refused(first: Path, capsys: Capture) -> None:
    alone: list[Any] = ["train", "second", "--extend-vocabulary", "--out", "more"]
    assert "name it with --start-from" in refusal(alone, UsageError.exit_code, capsys)
    lower = refusal(adapt("more", "--lowercase", "true"), DataError.exit_code, capsys)
    assert "was trained with data.lowercase False, got True" in lower
    small = refusal(adapt("more", "--vocabulary-size", "5"), DataError.exit_code, capsys)
    assert "a vocabulary of 5 has no room for the 9 words that it extends" in small
    without = ["train", "second", "--start-from", "run", "--out", "more", "--hidden", "12", "--embedding", "6"]
    assert "or give --extend-vocabulary" in refusal(without, RunFolderError.exit_code, capsys)
    vectors = ["word2vec", "first", "--out", "vectors", "--min-count", "1", "--epochs", "1", "--dim", "4"]
    assert cli.main(vectors) == 0
    arguments = adapt("more")
    arguments[arguments.index("run")] = "vectors"
    assert "holds a word2vec model, not a language_model model" in refusal(arguments, RunFolderError.exit_code, capsys)


def test_a_mixture_is_no_start(first: Path, capsys: Capture) -> None:
    assert cli.main(["ngram", "first", "--order", "2", "--min-count", "1", "--out", "counts"]) == 0
    assert cli.main(["mix", "run", "counts", "--out", "mixed"]) == 0
    arguments = adapt("more")
    arguments[arguments.index("run")] = "mixed"
    says = "mixed: training.start_from holds a mixture: start from one of the runs that it is of"
    assert says in refusal(arguments, RunFolderError.exit_code, capsys)
    without = ["train", "first", "--start-from", "mixed", "--out", "more"]
    assert says in refusal(without, RunFolderError.exit_code, capsys)


def test_what_an_earlier_run_dropped_is_not_taken_over(first: Path) -> None:
    settings = settings_from("first", hidden=8, epochs=1, streams=4, steps=7, weight_drop=0.25, word_dropout=0.25)
    wordtie.train(settings, "dropping")
    kept = of_the_start({"start_from": "dropping"}, True)
    assert kept["model.hidden"] == 8
    assert not [name for name in kept if "drop" in name]


def test_python_takes_the_same(first: Path) -> None:
    result = wordtie.train("second", "more", start_from="run", extend_vocabulary=True, epochs=1, streams=4, steps=7)
    assert result.earlier is not None
    assert torch.isfinite(torch.tensor(result.earlier[0]["network"]))


def test_a_run_that_starts_from_another_has_its_sizes(first: Path, capsys: Capture) -> None:
    """With a time and without, from the command and from Python; what is given comes first."""
    for more in ([], ["--time", "3s"]):
        command = ["train", "first", "--start-from", "run", "--print-config", *more]
        assert cli.main(command) == 0
        assert "  hidden: 12\n  embedding: 6\n" in capsys.readouterr().out
    plan = wordtie.plan("first", 3, start_from="run")
    assert (plan.settings.model.hidden, plan.settings.model.embedding) == (12, 6)
    small: dict[str, Any] = {"epochs": 1, "streams": 4, "steps": 7}
    result = wordtie.train("first", "again", start_from="run", **small)
    assert torch.isfinite(torch.tensor(result.test_perplexity))
    with pytest.raises(RunFolderError, match=r"^run: .* of other model settings, model.hidden \(12, now 8\): give"):
        wordtie.train("first", "other", start_from="run", hidden=8, **small)
    with pytest.raises(RunFolderError, match="other model settings"):
        wordtie.train("first", "other", start_from="run", model=ModelSettings(hidden=8), **small)


def test_a_run_is_resumed_without_the_one_that_it_started_from(first: Path) -> None:
    """It has the other's parameters, and its sizes, in its own checkpoint."""
    command = ["train", "first", "--start-from", "run", "--out", "again", "--epochs", "2", *COMMON]
    assert cli.main([*command, "--max-time", "0.001s"]) == 0
    shutil.copytree("again", "python")
    shutil.rmtree("run")
    assert cli.main([*command, "--resume"]) == 0
    small: dict[str, Any] = {"epochs": 2, "streams": 4, "steps": 7, "threads": 1}
    before = read_language_model(Path("again")).settings
    settings = replace(before, training=replace(before.training, max_time=None))
    expected = read_result(Path("again"))
    assert expected is not None
    assert wordtie.train(settings, "python", mode="resume").weights_sha256 == expected.weights_sha256
    with pytest.raises(RunFolderError):
        wordtie.train("first", "new", start_from="run", **small)


def test_a_run_that_is_moved_while_another_adapts_it_costs_its_figures_alone(
    first: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """The network before is read once more if only a part of its test text is measured."""

    def moved(*arguments: Any, **options: Any) -> Any:
        first.rename("elsewhere")
        return fit_kneser_ney(*arguments, **options)

    monkeypatch.setattr(mixing, "fit_kneser_ney", moved)
    assert cli.main(adapt("more", "--measured_tokens", "30", "--json")) == 0
    out, err = capsys.readouterr()
    [earlier] = json.loads(out)["earlier"]
    assert {"network", "mixture"} < set(earlier)
    assert "network_before" not in earlier
    assert "how much of its text was forgotten is not known" in err


@pytest.mark.parametrize("part", ["network", "ngram"])
def test_no_weights_are_fitted_on_an_earlier_text(part: str, first: Path, capsys: Capture) -> None:
    """An adapted run rehearses it, and its n-grams count it."""
    output(adapt("more"), capsys)
    output(adapt("other", "--seed", "2"), capsys)
    runs = ["more/ngram", "other"] if part == "ngram" else ["more", "other"]
    err = refusal(["mix", *runs, "--text", "first/train.txt", "--out", "mixed"], DataError.exit_code, capsys)
    assert f"{runs[0]}: was trained on the text that weights are fitted on" in err


def test_figures_that_are_damaged_do_not_keep_a_text_from_being_rehearsed(first: Path, capsys: Capture) -> None:
    (first / "result.json").write_text("{")
    found = json.loads(output(adapt("more", "--json"), capsys))
    assert found["earlier"][0]["corpus"] == "first"
    assert "network_before" not in found["earlier"][0]


def test_a_plan_for_python_extends_a_vocabulary(first: Path) -> None:
    plan = wordtie.plan("second", 3, start_from="run", extend_vocabulary=True)
    assert plan.settings.data.extends == "run"
    assert plan.settings.training.lr == ADAPTING_RATE
    assert wordtie.plan("second", 3, start_from="run", extend_vocabulary=True, lr=0.01).settings.training.lr == 0.01
    for alias in ("optimiser", "optimizer", "optim"):  # another optimiser has another rate
        for optimiser, rate in (("sgd", 1.0), ("adam", ADAPTING_RATE)):
            adapted: dict[str, Any] = {"start_from": "run", "extend_vocabulary": True, alias: optimiser}
            assert wordtie.plan("second", 3, **adapted).settings.training.lr == rate
    untimed = wordtie.plan("second", start_from="run", extend_vocabulary=True).settings
    assert (untimed.training.lr, untimed.model.hidden_dropout) == (ADAPTING_RATE, 0.3)
    assert untimed.noise == NoiseSettings(), "a short text, but no new model"
    assert plan.settings.model.hidden == 12
    result = wordtie.train(plan, "more")
    assert result.earlier is not None
    with pytest.raises(SettingsError, match="name it as start_from"):
        wordtie.plan("second", 3, extend_vocabulary=True)


def test_a_run_does_not_replace_the_one_that_it_extends(first: Path, capsys: Capture) -> None:
    before = (first / "result.json").read_bytes()
    for more in ([], ["--time", "3s"]):
        capsys.readouterr()
        assert cli.main([*adapt("./run", "--overwrite"), *more]) == RunFolderError.exit_code
        assert "a run cannot replace one that it extends" in capsys.readouterr().err
    assert (first / "result.json").read_bytes() == before


def test_words_that_mean_something_else_by_now_are_not_rehearsed(first: Path, tmp_path: Path, capsys: Capture) -> None:
    """The first run was trained again on another text after the second had extended it: its ids name other words."""
    assert cli.main(adapt("more")) == 0
    text(tmp_path / "third", ["birds", "the", "sing"])
    text(tmp_path / "other", ["quite", "another", "text", "of", "seven", "short", "words"])
    again = ["train", "other", "--out", "run", "--overwrite", "--epochs", "1", "--hidden", "12", "--embedding", "6"]
    assert cli.main([*again, *COMMON]) == 0
    third = ["train", "third", "--start-from", "more", "--extend-vocabulary", "--epochs", "1", *COMMON, "--json"]
    capsys.readouterr()
    assert cli.main([*third, "--out", "third-run"]) == 0
    out, err = capsys.readouterr()
    assert "the text of more cannot be read: run has other words than when more was trained" in err
    assert "the text of run cannot be read: run has other words than when it was extended" in err
    assert json.loads(out)["earlier"] is None


def test_a_run_does_not_replace_one_that_its_predecessor_extends(first: Path, capsys: Capture) -> None:
    """It would extend itself, and could not be resumed."""
    assert cli.main(adapt("more")) == 0
    before = (first / "result.json").read_bytes()
    third = ["train", "second", "--start-from", "more", "--extend-vocabulary", "--epochs", "1", *COMMON]
    for more in ([], ["--time", "3s"]):
        capsys.readouterr()
        assert cli.main([*third, "--out", "run", "--overwrite", *more]) == RunFolderError.exit_code
        assert "a run cannot replace one that it extends" in capsys.readouterr().err
    assert (first / "result.json").read_bytes() == before


def test_runs_that_extend_each_other_are_refused(first: Path) -> None:
    assert cli.main(adapt("more")) == 0
    settings = read_language_model(Path("more")).settings
    shutil.rmtree("run")
    shutil.copytree("more", "run")
    with pytest.raises(RunFolderError, match=r"extends itself, as its settings\.yaml has it"):
        read_texts(settings.data)


def test_a_folder_before_the_last_may_be_gone(first: Path, tmp_path: Path, capsys: Capture) -> None:
    assert cli.main(adapt("more")) == 0
    text(tmp_path / "third", ["birds", "the", "sing"])
    third = ["train", "third", "--start-from", "more", "--extend-vocabulary", "--epochs", "1", *COMMON, "--json"]
    shutil.move("run", "elsewhere")
    capsys.readouterr()
    assert cli.main([*third, "--out", "third-run"]) == 0
    out, err = capsys.readouterr()
    assert "the text of more cannot be read" in err, "its words are numbered as those of the first run"
    assert "the text of run cannot be read" in err
    assert json.loads(out)["earlier"] is None


def test_before_and_after_are_over_the_same_tokens(first: Path, capsys: Capture) -> None:
    """Of a run that was measured on a part of its text, on that very part."""
    command = ["train", "first", "--out", "run", "--overwrite", "--hidden", "12", "--embedding", "6", "--epochs", "2"]
    assert cli.main([*command, *COMMON, "--measured_tokens", "50"]) == 0
    [earlier] = json.loads(output(adapt("more", "--json"), capsys))["earlier"]
    [text] = read_texts(read_language_model(Path("more")).settings.data).earlier
    assert 30 < earlier["tokens"] == len(text.test) <= 50 < len(text.data.test)
    measured = evaluate(wordtie.load("run", part="network").network, text.test, text.data.vocabulary.eos_id)
    assert measured.perplexity == pytest.approx(earlier["network_before"], rel=1e-4)


def test_there_is_no_before_if_the_test_text_was_changed_since(first: Path, capsys: Capture) -> None:
    """Its figures are of the old text. The training text is as it was, so the vocabulary is, too."""
    with Path("first/test.txt").open("a") as file:
        file.write("the dog walks\n")
    [earlier] = json.loads(output(adapt("more", "--json"), capsys))["earlier"]
    assert not {"network_before", "mixture_before"} & earlier.keys()
    assert earlier["tokens"] == 21 * 7 - 3
    assert {"network", "mixture"} <= earlier.keys()


def test_frequencies_are_of_both_texts(first: Path, capsys: Capture) -> None:
    """Also where an n-gram model approximates the run."""
    output(adapt("more"), capsys)
    counted = training_frequencies(wordtie.load("more")).counts
    texts = [Path(name, "train.txt").read_text().split() for name in ("first", "second")]
    assert counted == {word: sum(each.count(word) for each in texts) for word in {*FIRST, *SECOND}}
    written = export_arpa("more", "more.arpa", Approximation(order=2, sampled=0))
    assert "Kneser-Ney" in [each.model for each in written.compared]
    assert "\tdog walks" in Path("more.arpa").read_text(), "bigrams of the first text"
    shutil.move("first", "elsewhere")
    with pytest.raises(DataError, match=r"the text of run cannot be read: .*; more extends it: give counts with"):
        training_frequencies(wordtie.load("more"))


def test_n_grams_are_pruned_by_both_texts(first: Path, capsys: Capture) -> None:
    output(adapt("more"), capsys)
    loaded = wordtie.load("more", part="ngram")
    assert isinstance(loaded.model, NgramModel)
    trie, both_N = loaded.model.trie, read_texts(loaded.settings.data).for_counting().train
    expected = pruned(of_trie(trie), 60, context_frequencies(trie, both_N))
    assert len(expected.unigram) < expected.ngrams < trie.ngrams
    capsys.readouterr()
    export_arpa("more", "small.arpa", Approximation(ngrams=60), part="ngram")
    assert capsys.readouterr().err == ""
    assert Path("small.arpa").read_text() == as_text(expected, loaded.tokenizer)
    shutil.move("first", "elsewhere")
    export_arpa("more", "small.arpa", Approximation(ngrams=60), part="ngram", overwrite=True)
    assert "estimates of how frequent contexts are: the text of run cannot be read" in capsys.readouterr().err


def test_a_text_that_is_gone_is_said_on_resume(first: Path, capsys: Capture) -> None:
    assert cli.main(adapt("cut", "--max-time", "0.01s")) == 0
    shutil.move("first", "elsewhere")
    capsys.readouterr()
    assert cli.main(adapt("cut", "--resume")) == RunFolderError.exit_code
    err = capsys.readouterr().err
    assert "the text of run cannot be read" in err
    assert "text of earlier 1" in err
    assert "give it its text again" in err
    shutil.move("elsewhere", "first")
    assert cli.main(adapt("cut", "--resume")) == 0


def test_a_run_that_reads_means_is_extended_by_what_it_counted(first: Path, tmp_path: Path) -> None:
    """Its noise was counted on the rehearsed text, too, so that text is needed to undo the mean."""
    command = ["train", "first", "--out", "run", "--overwrite", "--hidden", "12", "--epochs", "1", *COMMON]
    assert cli.main([*command, "--head", "tied"]) == 0
    assert cli.main(adapt("more", "--noise.kind", "kneser_ney")) == 0
    text(tmp_path / "third", ["birds", "the", "sing"])
    third = ["train", "third", "--start-from", "more", "--extend-vocabulary", "--out", "third-run", "--epochs", "1"]
    assert cli.main([*third, *COMMON, "--noise.kind", "kneser_ney"]) == 0
    saved = read_language_model(Path("more"))
    words = saved.tokenizer.vocabulary
    rare = words.id("walks")  # of the first text alone
    trained = load_file("more/checkpoints/last.safetensors")["model.embedding.weight"]
    settings = read_language_model(Path("third-run")).settings
    with torch.random.fork_rng():
        torch.manual_seed(1)
        started = LanguageModel(settings.model, len(read_texts(settings.data).own.vocabulary))
        load_start(read_start(settings), settings, started, read_texts(settings.data).for_training(0.5))  # type: ignore[arg-type]
    assert torch.allclose(started.embedding.weight[rare], trained[rare], atol=1e-5)
    shutil.rmtree("first")
    assert cli.main([*third[:-4], "--out", "fourth", "--epochs", "1", *COMMON, "--noise.kind", "kneser_ney"]) == 4
