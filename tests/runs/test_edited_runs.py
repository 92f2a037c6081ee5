"""A run folder or a checkpoint that someone edited and sealed again: one line that names the tensor or the field."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.numpy import save_file as save_arrays
from safetensors.torch import load_file, save_file
from torch import Tensor

from tests.runs.mutations import sealed
from tests.tiny_run import TINY, write_text
from wordtie import cli
from wordtie.data.tokenisation import is_one_character, is_written_here, words_pattern
from wordtie.errors import RunFolderError
from wordtie.runs import checkpoint
from wordtie.runs.layout import CHECKPOINT

Capture = pytest.CaptureFixture[str]
NOT_THERE = "grams with codes of groups or counts that are not there"
NOT_AS_MANY = "grams that are not as many as their contexts say"
WEIGHTS = "has weights below zero, or contexts without a count"
ADAM = ["--training.optimiser", "adam", "--training.lr", "0.01", "--training.checkpoint_every", "999"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("edited")
    write_text(folder / "text")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        patch.chdir(folder)
        assert cli.main(["train", "text", "--out", "run", *TINY, *ADAM, "--training.epochs", "2"]) == 0
    return folder


@pytest.fixture
def run(trained: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The run, whose files are as they were before each test."""
    files = {path: path.read_bytes() for path in (trained / "run").rglob("*.*")}
    monkeypatch.setenv("XDG_CACHE_HOME", str(trained / "cache"))
    monkeypatch.chdir(trained)
    yield trained / "run"
    for path, content in files.items():
        path.write_bytes(content)


def refused(arguments: list[str], capsys: Capture) -> str:
    capsys.readouterr()
    assert cli.main(arguments) == RunFolderError.exit_code
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    return err


@pytest.mark.parametrize("number", [torch.nan, torch.inf, -torch.inf, 1e16])
def test_weights_that_are_no_numbers(run: Path, number: float, capsys: Capture) -> None:
    tensors = load_file(run / "model.safetensors")
    tensors["core.layers.1.bias"][3] = number
    save_file(tensors, run / "model.safetensors", {"format": "pt"})
    sealed(run)
    err = refused(["predict", "run", "w1"], capsys)
    assert "run/model.safetensors: damaged (core.layers.1.bias has a number that is infinite, not a number" in err


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda tensor: tensor.half(), "core.layers.1.bias is float16, not float32"),
        (lambda tensor: tensor.double(), "core.layers.1.bias is float64, not float32"),
        (lambda tensor: tensor[:-1].clone(), "core.layers.1.bias is 31, not 32"),
        (lambda tensor: tensor[None].clone(), "core.layers.1.bias is 1 x 32, not 32"),
    ],
)
def test_a_tensor_of_another_make(run: Path, change: Callable[[Tensor], Tensor], says: str, capsys: Capture) -> None:
    tensors = load_file(run / "model.safetensors")
    tensors["core.layers.1.bias"] = change(tensors["core.layers.1.bias"])
    save_file(tensors, run / "model.safetensors", {"format": "pt"})
    sealed(run)
    assert f"does not fit config.json ({says})" in refused(["evaluate", "run", "text/test.txt"], capsys)


@pytest.fixture(scope="module")
def counted(trained: Path) -> Path:
    """A run of the n-grams of the same text."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(trained / "cache"))
        patch.chdir(trained)
        assert cli.main(["ngram", "text", "--out", "counted", "--order", "3"]) == 0
    return trained / "counted"


@pytest.mark.parametrize(
    ("name", "change", "says"),
    [
        ("2.kept", lambda array: np.full_like(array, np.nan), "has numbers that are not finite"),
        ("3.backoff", lambda array: np.full_like(array, np.inf), "has numbers that are not finite"),
        ("2.backoff", lambda array: -array, WEIGHTS),
        ("2.total", np.zeros_like, WEIGHTS),
        ("unigram", lambda array: 7 * array, "has words whose probabilities sum to 7, not to 1"),
        (
            "2.group_C",
            lambda array: np.full_like(array, 255),
            f"has 2-{NOT_THERE}",
        ),
        (
            "3.count_G",
            lambda array: np.full_like(array, 255),
            f"has 3-{NOT_THERE}",
        ),
        ("2.group_C", np.zeros_like, f"has 2-{NOT_AS_MANY}"),
        ("3.first_child", lambda array: array + 1, f"has 3-{NOT_AS_MANY}"),
        ("3.word_G", lambda array: array[1:].copy(), f"has 3-{NOT_AS_MANY}"),
        ("2.word_G", lambda array: array + 200, "has 2-grams of words that are not in the vocabulary"),
        ("unigram", lambda array: np.append(array, 0.0), "is of another vocabulary"),
        ("unigram", lambda array: array[:-1].copy(), "has words whose probabilities sum to 0.9"),
        ("unigram", lambda array: array, ""),
    ],
)
def test_n_grams_that_give_no_probabilities(
    run: Path, counted: Path, tmp_path: Path, name: str, change: Callable[[Any], Any], says: str, capsys: Capture
) -> None:
    """The last is as it was, and opens."""
    copy = tmp_path / "copy"
    shutil.copytree(counted, copy)
    with safe_open(copy / "model.safetensors", "np") as file:
        about, arrays = file.metadata(), {each: file.get_tensor(each) for each in file.keys()}  # noqa: SIM118
    save_arrays({**arrays, name: change(arrays[name])}, copy / "model.safetensors", about)
    sealed(copy)
    if says:
        err = refused(["evaluate", str(copy), "text/test.txt"], capsys)
        assert f"model.safetensors: does not fit config.json ({says}" in err
    else:
        assert cli.main(["evaluate", str(copy), "text/test.txt"]) == 0


@pytest.mark.parametrize("header", [b"[" * 100_000, b"1"], ids=["nested too deeply", "a number"])
def test_a_header_of_n_grams(run: Path, counted: Path, tmp_path: Path, header: bytes, capsys: Capture) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(counted, copy)
    (copy / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
    sealed(copy)
    assert "model.safetensors: does not fit config.json" in refused(["evaluate", str(copy), "text/test.txt"], capsys)


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("words", 95, "config.json: damaged (words is 95, but tokenizer.json has 96)"),
        ("words", "96", "config.json: damaged (words must be a whole number, got '96')"),
        ("version", 0, "config.json: damaged (version must be from 1 to 2, got 0)"),
        ("version", 2.0, "config.json: damaged (version must be a whole number, got 2.0)"),
        ("version", True, "config.json: damaged (version must be a whole number, got True)"),
        ("kind", ["language_model"], "config.json: damaged (kind must be a text, got ['language_model'])"),
        ("texts", {"train": 1}, "config.json: damaged (texts.train must be a text, got 1)"),
        ("settings", [], "config.json: damaged (settings must be an object, got [])"),
        (
            "settings",
            {"model": {"hidden": "8"}},
            "config.json: model.hidden must be a whole number, got '8': restore it",
        ),
        (
            "settings",
            {"model": {"layers": 10**9}},
            "config.json: model.layers must be at most 1000, got 1000000000: restore it",
        ),
        ("settings", {"model": {"hidden": 2**62}}, "describe a model that is too large to build"),
    ],
)
def test_a_field_of_the_config(run: Path, field: str, value: object, says: str, capsys: Capture) -> None:
    config = json.loads((run / "config.json").read_text())
    (run / "config.json").write_text(json.dumps({**config, field: value}))
    sealed(run)
    assert says in refused(["predict", "run", "w1"], capsys)


def test_a_config_that_is_no_object_or_none_that_we_write(run: Path, capsys: Capture) -> None:
    whole = (run / "config.json").read_text()
    for text, says in [
        ("[]", "damaged (the whole must be an object, got [])"),
        ("[" * 100_000, "damaged (nested deeper than 32 levels)"),
        (whole.replace('"words": 96', f'"words": {"9" * 5000}'), "damaged (a whole number of 5,000 digits)"),
        (whole.replace('"words": 96', '"words": NaN'), "damaged (NaN is no number)"),
        (whole.replace('"words": 96', '"words": 7, "words": 96'), "damaged ('words' is there twice)"),
    ]:
        (run / "config.json").write_text(text)
        sealed(run)
        assert f"run/config.json: {says}" in refused(["predict", "run", "w1"], capsys)


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (
            lambda content: content["normalizer"]["normalizers"].append({"type": "StripAccents"}),
            "normalizer.normalizers[1] is not known here: {'type': 'StripAccents'}",
        ),
        (lambda content: content["normalizer"].update(type="Chain"), "normalizer.type is not known here: 'Chain'"),
        (lambda content: content["pre_tokenizer"].update(behavior="Isolated"), "pre_tokenizer.behavior is not known"),
        (lambda content: content["pre_tokenizer"].update(invert=False), "pre_tokenizer.invert is not known here"),
        (lambda content: content["pre_tokenizer"]["pattern"].update(Regex="(a+)+$"), "pre_tokenizer.pattern is not a"),
        (lambda content: content.update(pre_tokenizer={"type": "Whitespace"}), "pre_tokenizer.pattern is not a Regex"),
        (
            lambda content: content["normalizer"]["normalizers"].append(
                {"type": "Replace", "pattern": {"Regex": "(a|a)*b"}, "content": ""}
            ),
            "normalizer.normalizers[1].pattern is not a Regex for one character",
        ),
        (lambda content: content["model"].update(type="BPE", merges=[]), "model.type is not known here: 'BPE'"),
        (lambda content: content["model"].update(unk_token="w1"), "model.unk_token is not known here: 'w1'"),
        (lambda content: content["model"].update(dropout=0.5), "model.dropout is not known here: 0.5"),
        (lambda content: content.update(truncation={"max_length": 2}), "truncation is not known here"),
        (lambda content: content.update(post_processor={"type": "ByteLevel"}), "post_processor is not known here"),
        (lambda content: content["added_tokens"].pop(), "added_tokens[1] is missing"),
        (lambda content: content["model"]["vocab"].update({"w0": 95}), "model.vocab: its ids are not 0 to V - 1"),
        (lambda content: content["model"]["vocab"].update({"w0": True}), "model.vocab.w0 must be a whole number"),
    ],
)
def test_a_field_of_the_tokenizer(run: Path, edit: Callable[[Any], object], says: str, capsys: Capture) -> None:
    content = json.loads((run / "tokenizer.json").read_text())
    edit(content)
    (run / "tokenizer.json").write_text(json.dumps(content))
    sealed(run)
    err = refused(["predict", "run", "w1"], capsys)
    assert f"run/tokenizer.json: damaged, or not a wordtie tokenizer ({says}" in err


def test_a_regex_that_would_never_end_is_not_run(run: Path, capsys: Capture) -> None:
    path = run / "tokenizer.json"
    content = json.loads(path.read_text())
    content["pre_tokenizer"]["pattern"]["Regex"] = "(a+)+$"
    path.write_text(json.dumps(content))
    sealed(run)
    started = time.monotonic()
    refused(["predict", "run", "a" * 60 + "!"], capsys)
    assert time.monotonic() - started < 20


def test_the_patterns_that_are_ours() -> None:
    letters = words_pattern()
    assert is_written_here(letters)
    other_tables = letters.replace(letters[1:7], letters[1:4], 1).replace(letters[1:7], letters[1:4], 1)
    assert is_written_here(other_tables)
    for pattern in ("", "[", "[a-z]+", letters + "+", letters[1:], letters.replace("<eos>", "(a+)+"), f"({letters})*"):
        assert not is_written_here(pattern), pattern
    assert all(map(is_one_character, ["a", "İ", "[abc]", "[a-z]", "[\u2010\u2011]", "\n"]))
    assert not any(map(is_one_character, ["", "ab", "a*", ".", "a|b", "[a]+", "[^a]", "[a", "(a)", r"\d", "[a-]"]))


def edited(run: Path, tensors: dict[str, Tensor | None] | None = None, **position: object) -> None:
    """Write the checkpoint with other tensors (None: without) or another position, its checksums computed again."""
    found, record = checkpoint.load(run / CHECKPOINT)
    for name, tensor in (tensors or {}).items():
        found.pop(name, None)
        if tensor is not None:
            found[name] = tensor
    checkpoint.save(run / CHECKPOINT, found, {**record, "position": {**record["position"], **position}})


RESUME = ["train", "text", "--out", "run", *TINY, *ADAM, "--training.epochs", "3", "--resume"]


@pytest.mark.parametrize(
    ("position", "says"),
    [
        ({"epoch": -1}, "position.epoch must be at least 1, got -1"),
        (
            {"epoch": 10**9},
            "position.history has 2 validations, but 999999999 are due in epoch 1000000000 after 0 windows",
        ),
        ({"epoch": 3.0}, "position.epoch must be a whole number, got 3.0"),
        ({"epoch": "3"}, "position.epoch must be a whole number, got '3'"),
        ({"window": -1}, "position.window must be at least 0"),
        ({"window": 10**9}, "position.window is 1000000000, but an epoch has"),
        ({"window": 1}, "position.tokens is 0, but 28 after 1 windows"),
        ({"tokens": 28}, "position.tokens is 28, but 0 after 0 windows"),
        ({"nats": 5.0}, "position.nats is 5.0 at the start of an epoch"),
        ({"best_perplexity": 1.0}, "position.best_perplexity is 1.0, but"),
        ({"best_epoch": 7}, "position.best_epoch is 7, but"),
        ({"history": [1.0, 0.0]}, "position.history has a perplexity that is none"),
        ({"history": {}}, "position.history must be a list"),
        ({"started_from": "../other"}, "position.started_from is no SHA-256"),
        ({"precisions": "float32"}, "position.precisions must be a list"),
        ({"metrics_length": -1}, "position.metrics_length must be at least 0"),
    ],
)
def test_an_edited_position(run: Path, position: dict[str, Any], says: str, capsys: Capture) -> None:
    edited(run, **position)
    err = refused(RESUME, capsys)
    assert f"run/{CHECKPOINT}: cannot be resumed ({says}" in err


def test_a_perplexity_that_is_no_number(run: Path, capsys: Capture) -> None:
    edited(run, best_perplexity=float("nan"))
    assert f"run/{CHECKPOINT}: damaged (NaN is no number)" in refused(RESUME, capsys)


@pytest.mark.parametrize(
    ("name", "change", "says"),
    [
        ("optimiser.0.exp_avg", lambda tensor: tensor.reshape(-1)[:-1].clone(), "is 767, not 96 x 8"),
        ("optimiser.3.exp_avg", lambda tensor: tensor[:-1].clone(), "is 31, not 32"),
        ("optimiser.0.exp_avg", lambda tensor: tensor.half(), "is float16, not float32"),
        ("optimiser.0.exp_avg_sq", lambda tensor: None, "is missing"),
        ("optimiser.0.exp_avg_sq", lambda tensor: -tensor, "is a mean of squares, and has a negative number"),
        ("optimiser.0.step", lambda tensor: tensor + 1, "steps were taken"),
        ("optimiser.0.step", lambda tensor: None, "is missing"),
        ("optimiser.9.step", lambda tensor: torch.ones(()), "is no tensor of this model"),
        ("model.embedding.weight", lambda tensor: tensor.double(), "is float64, not float32"),
        ("model.embedding.weight", lambda tensor: tensor * torch.nan, "has a number that is infinite, not a number"),
        ("best.embedding.weight", lambda tensor: None, "is missing"),
        ("best.embedding.weight", lambda tensor: tensor[:, :-1].clone(), "is 96 x 7, not 96 x 8"),
        ("average.embedding.weight", lambda tensor: torch.ones(96, 8), "is no tensor of this model"),
        ("state.0.1", lambda tensor: tensor[:-1].clone(), "is 3 x 8, not 4 x 8"),
        ("state.0.1", lambda tensor: tensor + 1, "is not zero at the start of an epoch"),
        ("rng.cpu", lambda tensor: tensor[:-1].clone(), "is 5055, not 5056"),
        ("rng.cpu", lambda tensor: None, "is missing"),
    ],
)
def test_an_edited_tensor(
    run: Path, name: str, change: Callable[[Any], Tensor | None], says: str, capsys: Capture
) -> None:
    tensors, _ = checkpoint.load(run / CHECKPOINT)
    edited(run, {name: change(tensors.get(name))})
    before = (run / "model.safetensors").read_bytes()
    err = refused(RESUME, capsys)
    assert f"run/{CHECKPOINT}: cannot be resumed ({name} " in err
    assert says in err
    assert (run / "model.safetensors").read_bytes() == before
