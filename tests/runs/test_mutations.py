"""Files that are damaged or edited, with every checksum computed again: refused in one line, or of no consequence.

All in one process. Each case ends as a `WordtieError`, or as a model that gives the numbers it gave before.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.runs.mutations import Mutation, any_file, json_file, json_values, safetensors_file, sealed, tensors
from wordtie.config import DataSettings, ModelSettings, Settings, TrainingSettings
from wordtie.data.prepare import prepare
from wordtie.data.token_file import PreparedData
from wordtie.errors import WordtieError
from wordtie.inference.loading import load
from wordtie.models.language_model import LanguageModel
from wordtie.runs import checkpoint
from wordtie.runs.compatibility import recorded_settings
from wordtie.runs.layout import CHECKPOINT
from wordtie.runs.metrics import finished_epochs
from wordtie.runs.provenance import invocations
from wordtie.runs.result import read_result
from wordtie.storage import atomic
from wordtie.storage.strict_json import conform
from wordtie.training.language_modelling import LanguageModelling
from wordtie.training.optim import build_optimiser
from wordtie.training.run_state import RunState
from wordtie.training.run_writer import RunWriter, language_model_record, read_resumable
from wordtie.training.train import train
from wordtie.vectors.extraction import vectors_of
from wordtie.word2vec.run import train_word2vec
from wordtie.word2vec.settings import Word2VecSettings

WORDS = ("the", "cat", "dog", "sat", "ran", "on", "a", "mat")
LINE = "the cat sat on a mat zebra"


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A text, a run on it in the middle of its second epoch, and word vectors."""
    folder = tmp_path_factory.mktemp("mutations")
    (folder / "text").mkdir()
    for split, lines in (("train", 24), ("valid", 4), ("test", 4)):
        rows = (" ".join(WORDS[(line * step) % len(WORDS)] for step in (1, 2, 3, 5)) for line in range(lines))
        (folder / "text" / f"{split}.txt").write_text("".join(f"{row}\n" for row in rows))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        settings = settings_of(folder)
        train(settings, folder / "run")
        more = replace(settings, training=replace(settings.training, epochs=2, max_time=0.001))
        train(more, folder / "run", mode="resume")
        data = DataSettings(str(folder / "text"), min_count=1)
        train_word2vec(data, Word2VecSettings(vector_size=2, epochs=1, workers=1, sample=0), folder / "vectors")
    return folder


def settings_of(folder: Path) -> Settings:
    training = TrainingSettings(
        optimiser="adam", lr=0.01, epochs=1, streams=2, steps=5, threads=1, checkpoint_every=10**6
    )
    return Settings(DataSettings(str(folder / "text")), ModelSettings(hidden=3, layers=1), training=training)


@pytest.fixture
def run(here: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The run folder, which is as it was afterwards."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(here / "cache"))
    files = {path: path.read_bytes() for folder in ("run", "vectors") for path in (here / folder).rglob("*.*")}
    yield here / "run"
    for path, content in files.items():
        path.write_bytes(content)


def numbers(run: Path) -> list[float]:
    """What the model makes of a line; raises `AssertionError` for what are no probabilities."""
    model = load(run)
    found = [number for word in model.surprisal(LINE) for number in (word.surprisal_bits, word.entropy_bits)]
    shares = [share for _, share in model.predict(LINE, top=len(model.tokenizer.vocabulary))]
    assert all(map(math.isfinite, found + shares))
    assert sum(shares) == pytest.approx(1, abs=1e-4)
    return found + shares


def outcome(use: Callable[[], Any], name: str) -> tuple[bool, Any]:
    """(True, what was read) or (False, the message). Fails for any other error than one of ours."""
    try:
        return True, use()
    except WordtieError as error:
        return False, str(error)
    except Exception as error:
        raise AssertionError(f"{name}: {error!r}") from error


def check_all(mutations: Iterator[Mutation], path: Path, use: Callable[[], Any], seal: bool = True) -> dict[str, Any]:
    """Try each; gives what came of those that were not refused. A refusal is one line that names the file."""
    accepted, refused = {}, 0
    for name, content in mutations:
        path.write_bytes(content)
        if seal:
            sealed(path.parent)
        sound, found = outcome(use, f"{path.name}, {name}")
        if sound:
            accepted[name] = found
        else:
            refused += 1
            assert re.fullmatch(rf"[^\n]*{path.parent.name}[/:][^\n]{{1,900}}", found), name
    assert refused > 20
    return accepted


def test_config(run: Path) -> None:
    before, content = numbers(run), (run / "config.json").read_bytes()
    for mutations in (json_file(content), any_file(content)):
        accepted = check_all(mutations, run / "config.json", lambda: numbers(run))
        assert {name: found for name, found in accepted.items() if found != before} == {}


def test_tokenizer(run: Path) -> None:
    """Normalizers may be left out one by one: that is another tokenizer, which we might have written."""
    before, content = numbers(run), (run / "tokenizer.json").read_bytes()
    accepted = check_all(json_file(content), run / "tokenizer.json", lambda: numbers(run))
    other = {name for name, found in accepted.items() if found != before}
    assert all(name.startswith("('normalizer', 'normalizers'") for name in other), other
    check_all(any_file(content), run / "tokenizer.json", lambda: numbers(run))


def test_weights(run: Path) -> None:
    content = (run / "model.safetensors").read_bytes()
    accepted = check_all(safetensors_file(content), run / "model.safetensors", lambda: numbers(run))
    before = numbers_of(run, content)
    assert {name: found for name, found in accepted.items() if found != before} == {}
    check_all(any_file(content), run / "model.safetensors", lambda: numbers(run))


def numbers_of(run: Path, content: bytes) -> list[float]:
    (run / "model.safetensors").write_bytes(content)
    sealed(run)
    return numbers(run)


def test_manifest(run: Path) -> None:
    before, content = numbers(run), (run / "manifest.json").read_bytes()
    for mutations in (json_file(content), any_file(content)):
        accepted = check_all(mutations, run / "manifest.json", lambda: numbers(run), seal=False)
        assert {name: found for name, found in accepted.items() if found != before} == {}


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_word_vectors(run: Path, name: str) -> None:
    path = run.parent / "vectors" / name
    content = path.read_bytes()
    mutations = json_file if name == "config.json" else safetensors_file
    before = vectors_of(path.parent).matrix_VE.tolist()
    accepted = check_all(mutations(content), path, lambda: vectors_of(path.parent).matrix_VE.tolist())
    assert {each: found for each, found in accepted.items() if found != before} == {}


def test_result(run: Path) -> None:
    before, content = read_result(run), (run / "result.json").read_bytes()
    assert before is not None
    for mutations in (json_file(content), any_file(content)):
        for name, found in check_all(mutations, run / "result.json", lambda: read_result(run), seal=False).items():
            conform({**asdict(found), "folder": run}, type(before)), name


@pytest.mark.parametrize(("name", "read"), [("metrics.jsonl", finished_epochs), ("sessions.jsonl", invocations)])
def test_lines_beside_the_model(run: Path, name: str, read: Callable[[Path], Any]) -> None:
    line = (run / name).read_bytes().splitlines()[0]
    mutations = ((each, content.replace(b"\n", b" ") + b"\n") for each, content in json_file(line))
    check_all(mutations, run / name, lambda: read(run), seal=False)


def test_settings_beside_the_model(run: Path) -> None:
    """YAML, of which JSON is a part."""
    content = json.dumps(json.loads((run / "config.json").read_bytes())["settings"]).encode()
    check_all(islice(json_file(content), 0, None, 5), run / "settings.yaml", lambda: recorded_settings(run), seal=False)


def fresh(settings: Settings, data: PreparedData) -> RunState:
    model = LanguageModel(settings.model, len(data.vocabulary))
    optimiser = build_optimiser(settings.training, model.parameters())
    return RunState(model, optimiser, model.initial_state(settings.training.streams))


def test_checkpoint(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is taken back is what was saved, but for what decides no weight."""
    monkeypatch.setattr(atomic, "sync", lambda path: None)  # hundreds of files are written
    settings = settings_of(run.parent)
    data, path = prepare(settings.data), run / CHECKPOINT
    kept, record = checkpoint.load(path)
    assert record["position"]["epoch"] == 2, "so that there is a finished epoch, and"
    assert record["position"]["window"] > 0

    def restored() -> dict[str, Any]:
        state = fresh(settings, data)
        writer = RunWriter(run, language_model_record(settings, data), "resume", read_resumable(run, settings))
        writer.begin(state, LanguageModelling(settings, data, torch.device("cpu"), torch.float32))
        return asdict(state.position)

    before, cases, accepted = restored(), 0, {}
    records = ((name, kept, value) for name, value in json_values(record))
    others = ((name, spoilt, record) for name, spoilt in islice(tensors(kept), 0, None, 3))
    for name, spoilt, value in [*records, *others]:
        cases += 1
        checkpoint.save(path, spoilt, value)
        sound, found = outcome(restored, name)
        if sound:
            accepted[name] = found
        else:
            assert "\n" not in found, name
    assert cases - len(accepted) > 300
    free = {
        "nats",
        "seconds",
        "measuring_seconds",
        "started_from",
        "precisions",
        "metrics_length",
        "recent_nats",
        "recent_tokens",
    }
    for name, position in accepted.items():
        other = {key for key, value in position.items() if value != before[key]}
        assert other <= free, name
