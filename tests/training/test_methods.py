"""Every method of the papers trains from the command line, alone and with others, and ends in a model that opens."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch

import wordtie
from tests.tiny_run import AS_IN_PAPERS, TINY
from wordtie import cli
from wordtie.data.encoding import encode_file
from wordtie.evaluation.perplexity import evaluate
from wordtie.runs import checkpoint, layout
from wordtie.runs.metrics import finished_epochs
from wordtie.training.language_modelling import VALIDATION_STREAMS

METHODS = {
    "tied linear": "--model.head tied_linear --model.embedding 5 --model.projection_penalty 0.15",
    "tied linear, norm": "--model.head tied_linear --model.projection_penalty 0.15 --model.projection_form norm",
    "untied, projection": "--model.head untied --model.projection true --model.projection_penalty 0.15",
    "tied linear, bias": "--model.head tied_linear --model.projection_bias true --training.lr 0.3",
    "untied, other sizes": "--model.head untied --model.embedding 5",
    "tied with a bias": "--model.output_bias true",
    "zaremba": "--model.dropout zaremba --loss.kind augmented_2016 --loss.form cross_entropy",
    "gal": "--model.dropout gal --model.word_dropout 0.3 --model.recurrent_dropout 0.2",
    "semeniuta": "--model.candidate_dropout 0.2 --training.optimiser rmsprop --training.lr 0.003",
    "awd": "--model.dropout gal --model.recurrent_dropout 0 --model.weight_drop 0.5 --training.average_patience 1",
    "gru": "--model.core gru --model.candidate_dropout 0.2 --training.optimiser adam --training.lr 0.01",
    "rnn": "--model.core rnn --model.weight_drop 0.3 --training.lr 0.1",
    "rhn": "--model.core rhn --model.depth 3 --model.layers 1 --model.candidate_dropout 0.1",
    "rhn, own carry gates": "--model.core rhn --model.depth 2 --model.coupled_gates false",
    "6.1": "--model.head untied --loss.kind interpolated --loss.temperature 10 --model.unit_rows true",
    "cross-entropy form, no gradient": "--loss.form cross_entropy --loss.gradient_through_target false",
    "2016, untied": "--model.head untied --loss.kind augmented_2016 --loss.gamma 0.3",
    "plateau": "--training.schedule plateau --training.decay 0.25 --training.weight_decay 1e-6",
    "with noise": "--model.head tied_linear --model.word_dropout 0.2 --noise.kind kneser_ney --model.core gru",
}


def train(text: Path, out: str, options: str, *more: str) -> dict[str, Any]:
    folder = text.parent / out
    assert cli.main(["train", str(text), "--out", str(folder), *TINY, *options.split(), *more]) == 0
    result: dict[str, Any] = json.loads((folder / "result.json").read_text())
    return result


@pytest.fixture
def here(text: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(text.parent / "cache"))
    return text


@pytest.fixture
def worsening(here: Path) -> Path:
    """The text with a validation text of rare words, which the model expects less and less, whatever the machine."""
    (here / "valid.txt").write_text("w99 w97 w95\n" * 20)
    return here


@pytest.mark.parametrize("method", METHODS)
def test_trains_and_opens(method: str, here: Path) -> None:
    options = f"{METHODS[method]} --training.checkpoint_every 100 --training.epochs 2"
    result = train(here, "run", options)
    first, second = (
        json.loads(line)["train_perplexity"]
        for line in (here.parent / "run" / "metrics.jsonl").read_text().splitlines()
    )
    assert second < 0.97 * first, "it learns"
    model = wordtie.load(here.parent / "run")
    assert model.evaluate(here / "test.txt").perplexity == pytest.approx(result["test_perplexity"], rel=1e-4)


AVERAGING = "--training.average_patience 1 --training.patience 0 --training.lr 0.5"
"""Begun in the third epoch, on a text that gets worse."""
RESUMED = {
    "averaging": AVERAGING,
    "plateau": "--training.schedule plateau --training.decay 0.25 --training.patience 0 --training.lr 0.5",
    "gru and adam": "--model.core gru --model.dropout zaremba --training.optimiser adam --training.lr 0.01 "
    "--training.beta1 0",
}


@pytest.mark.parametrize("method", RESUMED)
def test_goes_on_to_the_same_bits(method: str, worsening: Path) -> None:
    options = f"{RESUMED[method]} --training.checkpoint_every 100 --training.keep last"
    straight = train(worsening, "straight", options, "--training.epochs", "5")
    for epochs in ("4", "5"):
        parts = train(worsening, "parts", options, "--training.epochs", epochs, "--resume")
    tensors, _ = checkpoint.load(worsening.parent / "straight" / layout.CHECKPOINT)
    assert ("averaged.steps" in tensors) == (method == "averaging")
    assert parts["weights_sha256"] == straight["weights_sha256"]
    assert parts["test_nats"] == straight["test_nats"]


NOISES = {
    "smoothing": "--noise.kind kneser_ney",
    "smoothing, word by word": "--noise.kind linear_interpolation --noise.drawn_for token",
    "element-wise": "--noise.kind kneser_ney --noise.elementwise true --noise.output_draw with_input",
    "data noising": "--noise.kind kneser_ney --noise.scheme data_noising",
    "all words drawn, sampled softmax": "--noise.kind kneser_ney --noise.output_draw all --loss.kind cross_entropy "
    "--loss.softmax sampled --loss.samples 20 --training.optimiser adam --training.lr 0.01",
}


@pytest.mark.parametrize("method", [*METHODS, *NOISES])
def test_a_stop_within_an_epoch_changes_no_bit(method: str, here: Path) -> None:
    options = f"{(METHODS | NOISES)[method]} --training.epochs 2 --training.checkpoint_every 100"
    straight = train(here, "straight", options)
    stopped = train(here, "parts", options, "--max-time", "0.001s")
    assert stopped["stopped"] == "max_time"
    assert 0 < stopped["epochs_trained"] < 1
    parts = train(here, "parts", options, "--resume")
    assert parts["weights_sha256"] == straight["weights_sha256"]
    assert parts["test_nats"] == straight["test_nats"]


def test_the_rate_falls_where_validation_has_stopped_improving(worsening: Path) -> None:
    train(worsening, "run", RESUMED["plateau"], "--training.epochs", "6")
    lines = finished_epochs(worsening.parent / "run")
    rate, best, wanted = 0.5, float("inf"), []
    for line in lines:
        wanted.append(rate)
        rate *= 1.0 if line["valid_perplexity"] < best else 0.25
        best = min(best, line["valid_perplexity"])
    assert [line["lr"] for line in lines] == pytest.approx(wanted)
    assert wanted[-1] < 0.5


@pytest.mark.parametrize("options", [
    f"{AVERAGING} --training.epochs 5",
    "--noise.kind kneser_ney --training.epochs 2",
])  # fmt: skip
def test_epochs_are_chosen_by_what_is_exported(options: str, worsening: Path) -> None:
    train(worsening, "run", options, "--training.keep", "last")
    loaded = wordtie.load(worsening.parent / "run")
    last = json.loads((worsening.parent / "run" / "metrics.jsonl").read_text().splitlines()[-1])
    ids, _ = encode_file(worsening / "valid.txt", loaded.tokenizer)
    chosen_by = evaluate(loaded.network, ids, loaded.tokenizer.vocabulary.eos_id, VALIDATION_STREAMS).perplexity
    assert last["valid_perplexity"] == pytest.approx(chosen_by, rel=1e-6)


def test_out_of_time_while_averaging_the_mean_is_measured_and_exported(worsening: Path) -> None:
    options = f"{AVERAGING} --training.checkpoint_every 100"
    train(worsening, "run", options, "--training.epochs", "5")
    path = worsening.parent / "run" / layout.CHECKPOINT
    tensors, record = checkpoint.load(path)
    position = record["position"]
    position["history"] = [1e6 * each for each in position["history"]]  # the model in the middle of an epoch is better
    position["best_perplexity"] = min(position["history"])
    checkpoint.save(path, tensors, record)
    result = train(worsening, "run", options, "--training.epochs", "6", "--resume", "--training.max_time", "0.01s")
    assert (result["stopped"], result["epochs"]) == ("max_time", 5)
    tensors, record = checkpoint.load(path)
    assert record["position"]["window"] > 0
    model = wordtie.load(worsening.parent / "run")
    for name, exported in model.network.state_dict().items():
        assert torch.equal(exported, tensors[f"average.{name}"]), name
        assert not torch.equal(exported, tensors[f"model.{name}"]), name
    assert model.evaluate(worsening / "valid.txt").perplexity == pytest.approx(result["valid_perplexity"], rel=1e-4)


def test_starts_from_a_finished_run(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = train(here, "first", "--training.epochs 4")
    from_it = f"--training.start_from {here.parent / 'first'} --training.lr 1e-9 --training.epochs 1"
    second = train(here, "second", from_it)
    assert second["valid_nats"] == pytest.approx(first["valid_nats"], rel=1e-4)
    assert second["best_epoch"] == 1
    other = ["train", str(here), "--out", str(here.parent / "third"), *TINY, *from_it.split()]
    assert cli.main([*other, "--model.hidden", "9"]) == 4
    assert "holds a model of other model settings" in capsys.readouterr().err
    train_text = (here / "train.txt").read_text()
    for another in (re.sub(r"\bw7\b", "v7", train_text), "another text\n" * 99):  # as many words, and fewer
        (here / "train.txt").write_text(another)
        assert cli.main(other) == 4
        assert "has another vocabulary" in capsys.readouterr().err


def test_averaged_weights_are_measured_before_patience_ends_the_run(worsening: Path) -> None:
    options = "--training.average_patience 1 --training.patience 1 --training.lr 0.5 --training.epochs 30"
    result = train(worsening, "run", f"{options} --training.checkpoint_every 100")
    tensors, record = checkpoint.load(worsening.parent / "run" / layout.CHECKPOINT)
    windows = int(tensors["averaged.steps"]) - 1
    assert result["stopped"] == "patience"
    assert windows > 0, "the mean was begun, and steps were added to it"
    assert record["position"]["epoch"] - 1 > result["best_epoch"]


def test_the_mean_is_of_all_steps_since_it_was_begun(worsening: Path) -> None:
    """It is not begun anew at each epoch that is worse still."""
    options = f"{AVERAGING} --training.keep last --training.checkpoint_every 100"
    steps = []
    for epochs in ("4", "6"):
        train(worsening, epochs, options, "--training.epochs", epochs)
        tensors, _ = checkpoint.load(worsening.parent / epochs / layout.CHECKPOINT)
        steps.append(int(tensors["averaged.steps"]) - 1)
    assert steps[1] == 3 * steps[0] > 0, "of one epoch after the third, and of three"


@pytest.mark.parametrize("more", ["", AVERAGING])
def test_rows_are_held_at_norm_one(worsening: Path, more: str) -> None:
    train(worsening, "run", f"{METHODS['6.1']} {more}", "--training.epochs", "6" if more else "1")
    tensors, _ = checkpoint.load(worsening.parent / "run" / layout.CHECKPOINT)
    assert ("averaged.steps" in tensors) == bool(more)
    weight = wordtie.load(worsening.parent / "run").network.embedding.weight
    torch.testing.assert_close(weight.norm(dim=1), torch.ones(len(weight)))


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ("--model.embedding 5", "set model.head to tied_linear"),
        (
            "--noise.scheme data_noising --noise.kind absolute_discounting --noise.prediction mean",
            "neither a shared matrix nor the first layer can hold the mean",
        ),
        (
            "--model.head untied --noise.scheme data_noising --noise.kind kneser_ney --noise.prediction mean",
            "of two matrices only the input's has its mean folded in",
        ),
        ("--model.core rhn --model.depth 0", "model.depth must be at least 1"),
        ("--loss.temperature 0", "loss.temperature must be positive"),
        ("--loss.beta 1.5", "loss.beta is a share"),
        ("--noise.gamma 1.5", "must be in [0, 1]"),
        ("--model.projection true", "model.projection is for the untied head"),
        ("--model.projection_penalty 0.15", "needs a linear map"),
        ("--model.projection_bias true", "needs a linear map"),
        ("--model.recurrent_dropout 0.2", "set model.dropout to gal"),
        ("--model.dropout zaremba --model.recurrent_dropout 0.2", "leaves alone what recurs"),
        ("--model.core rnn --model.candidate_dropout 0.2", "take another core"),
        ("--model.weight_drop 1", "must be in [0, 1)"),
        ("--training.beta1 1", "training.beta1 must be in [0, 1)"),
        ("--training.start_from nowhere", "no such run folder"),
    ],
)
def test_what_makes_no_sense_stops_before_any_data_is_read(
    options: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """There is no such text: who looked for it would say so."""
    assert cli.main(["train", str(tmp_path / "no-text"), *AS_IN_PAPERS, *options.split()]) in (2, 4)
    error = capsys.readouterr().err
    assert reason in error
    assert error.count("\n") == 1
