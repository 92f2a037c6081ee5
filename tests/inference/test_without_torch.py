"""Short texts are read without torch, with the same results, and what is wrong with a run is said in the same words."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

import wordtie
from tests.commands import SMALL, Capture, small_text
from wordtie import cli
from wordtie.errors import RunFolderError
from wordtie.inference.loading import load
from wordtie.models.numpy_network import NumpyNetwork
from wordtie.storage.atomic import file_sha256

BLOCKED = "import sys; sys.modules['torch'] = None; import wordtie.cli; sys.exit(wordtie.cli.main())"
"""As if torch were not installed."""
NATS = 1e-5 / math.log(2)
"""1e-5 nats in bits."""


def without_torch(*arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", BLOCKED, *arguments], input=given, capture_output=True, text=True)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A network, and one with n-grams and recent words mixed in."""
    folder = tmp_path_factory.mktemp("without-torch")
    text = small_text(folder / "text")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        for name, more in (("network", []), ("mixture", ["--ngram", "3"])):
            assert cli.main(["train", str(text), "--out", str(folder / name), *SMALL, *more]) == 0
    return {name: folder / name for name in ("network", "mixture")}


@pytest.mark.parametrize("name", ["network", "mixture"])
def test_commands_print_the_same(runs: dict[str, Path], name: str, capsys: Capture) -> None:
    run, model = str(runs[name]), wordtie.load(runs[name])
    predicted = without_torch("predict", run, "the cat", "--top", "99", "--json")
    assert predicted.returncode == 0, predicted.stderr
    expected = model.predict("the cat", top=99)
    assert {row["word"]: pytest.approx(row["probability"], abs=1e-5) for row in json.loads(predicted.stdout)} == dict(
        expected
    )
    scored = without_torch("surprisal", run, "--json", given="the cat sat\nthe dog zzz")
    assert scored.returncode == 0, scored.stderr
    found = [(row["word"], row["surprisal_bits"], row["entropy_bits"]) for row in json.loads(scored.stdout)]
    records = model.surprisal("the cat sat\nthe dog zzz")
    assert [word for word, *_ in found] == [record.word for record in records]
    both = [(record.surprisal_bits, record.entropy_bits) for record in records]
    np.testing.assert_allclose([numbers for _, *numbers in found], both, atol=1e-5)


def test_the_model_that_comes_with_wordtie_is_read_in_eight_bits() -> None:
    text = "the president of the united states said that\nfor the first time, nobody knew what to do .\n"
    light, usual = load("en", without_torch=True), load("en")
    assert isinstance(light.model, NumpyNetwork)
    for ours, expected in zip(light.surprisal(text), usual.surprisal(text), strict=True):
        assert ours.surprisal_bits == pytest.approx(expected.surprisal_bits, abs=NATS)
        assert ours.entropy_bits == pytest.approx(expected.entropy_bits, rel=1e-5, abs=NATS)
    assert "30,000 words" in repr(light)
    with pytest.raises(RunFolderError, match="opened without torch"):
        _ = light.network


def test_a_long_text_is_scored_with_torch(runs: dict[str, Path]) -> None:
    long = without_torch("surprisal", str(runs["network"]), given="the cat sat\n" * 1000)
    assert "torch" in long.stderr
    assert long.returncode == 2
    assert without_torch("surprisal", str(runs["network"]), given="the cat sat\n" * 100).returncode == 0


def test_interactive(runs: dict[str, Path]) -> None:
    found = without_torch("predict", str(runs["mixture"]), "--jsonl", "--top", "1", given='{"text": "the ca|"}\n')
    assert json.loads(found.stdout)["words"][0]["word"] == "cat"


def with_nan(tensors: dict[str, torch.Tensor]) -> None:
    tensors["embedding.weight"][0, 0] = torch.nan


def without_bias(tensors: dict[str, torch.Tensor]) -> None:
    del tensors["core.layers.0.bias"]


def transposed(tensors: dict[str, torch.Tensor]) -> None:
    tensors["embedding.weight"] = tensors["embedding.weight"].T.contiguous()


def doubled(tensors: dict[str, torch.Tensor]) -> None:
    tensors["embedding.weight"] = tensors["embedding.weight"].double()


@pytest.mark.parametrize("change", [with_nan, without_bias, transposed, doubled])
def test_an_edited_run_is_refused_in_the_same_words(
    runs: dict[str, Path], tmp_path: Path, change: Callable[[dict[str, torch.Tensor]], None]
) -> None:
    run = tmp_path / "run"
    run.mkdir()
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        (run / name).write_bytes((runs["network"] / name).read_bytes())
    tensors = load_file(run / "model.safetensors")
    change(tensors)
    save_file(tensors, run / "model.safetensors")
    digests = {name: file_sha256(run / name) for name in ("config.json", "tokenizer.json", "model.safetensors")}
    (run / "manifest.json").write_text(json.dumps({"version": 2, "sha256": digests}))
    messages = []
    for light in (True, False):
        with pytest.raises(RunFolderError) as caught:
            load(run, without_torch=light)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
