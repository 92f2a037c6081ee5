"""`wordtie export hf`: what is written and refused, and that its tokenizer gives wordtie's ids."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from safetensors import safe_open

import wordtie
from tests.commands import Capture, output
from tests.export.networks import MISSING, NETWORKS, WORDS, export, sentences, write_run
from tests.models.test_prefix_sharing import mixture
from tests.tiny_run import write_text
from wordtie import cli
from wordtie.config import ModelSettings, Settings
from wordtie.config.data import DataSettings
from wordtie.config.ngram import NgramSettings
from wordtie.config.training import TrainingSettings
from wordtie.data.catalogue import locate
from wordtie.data.reading import opened
from wordtie.data.tokenisation import Tokenisation
from wordtie.data.tokenizer import Tokenizer
from wordtie.data.vocabulary import EOS, Vocabulary
from wordtie.errors import DataError, RunFolderError, SaveError
from wordtie.export.transformers_folder import CODE, _left_out, write_transformers_folder
from wordtie.models.recent_words import without_recent_words
from wordtie.runs.run_folder import SavedModel, read_language_model, write_language_model
from wordtie.training.ngrams import train_ngrams

LINES = 10_000


def test_command_writes_what_it_says(tmp_path: Path, capsys: Capture) -> None:
    run = write_run(tmp_path / "run", NETWORKS["lstm-tied"])
    out = tmp_path / "new" / "hf"
    printed = output(["export", "hf", str(run), str(out)], capsys).split()
    assert sorted(printed) == sorted(str(file) for file in out.iterdir())
    assert out / CODE not in out.iterdir()
    assert "auto_map" not in json.loads((out / "config.json").read_text())
    found = json.loads(output(["export", "hf", str(run), str(out), "--with-code", "--overwrite", "--json"], capsys))
    assert sorted(found["files"]) == sorted(file.name for file in out.iterdir())
    assert found["parameters"] == wordtie.load(run).network.parameter_count()
    assert CODE in found["files"]
    output(["export", "hf", str(run), str(out), "--overwrite"], capsys)
    assert not (out / CODE).exists(), "an export without code has none"


@pytest.mark.parametrize("name", NETWORKS)
def test_a_tied_matrix_is_stored_once(name: str, tmp_path: Path) -> None:
    run, folder = export(tmp_path, name)
    with safe_open(folder / "model.safetensors", framework="pt") as file:
        sizes = {key: file.get_tensor(key).numel() for key in file.keys()}  # noqa: SIM118
        assert file.metadata() == {"format": "pt"}
    assert ("lm_head.weight" in sizes) == (NETWORKS[name].head == "untied")
    assert sum(sizes.values()) == wordtie.load(run).network.parameter_count()


def test_the_code_fits_into_250_lines_and_needs_no_wordtie(tmp_path: Path) -> None:
    lines = (export(tmp_path, "lstm-tied", with_code=True)[1] / CODE).read_text().splitlines()
    assert len(lines) < 250
    imported = {line.split()[1].partition(".")[0] for line in lines if line.startswith(("import ", "from "))}
    assert imported == {"__future__", "typing", "torch", "transformers"}


def test_of_a_mixture_the_network_is_exported_and_a_note_says_so(tmp_path: Path, capsys: Capture) -> None:
    data, training = DataSettings(corpus=str(write_text(tmp_path / "text"))), TrainingSettings(epochs=1, streams=4)
    settings = Settings(data, ModelSettings(hidden=6), training=training)
    wordtie.train(settings, tmp_path / "mixed", ngram=3)
    capsys.readouterr()
    assert cli.main(["export", "hf", str(tmp_path / "mixed"), str(tmp_path / "hf")]) == 0
    notes = capsys.readouterr().err.splitlines()
    assert len(notes) == 1
    assert "without the n-grams mixed into it" in notes[0]
    wordtie.train(settings, tmp_path / "plain")
    capsys.readouterr()
    assert cli.main(["export", "hf", str(tmp_path / "plain"), str(tmp_path / "plain-hf")]) == 0
    assert capsys.readouterr().err == ""
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("hf", "plain-hf")]
    assert weights[0] == weights[1]


def test_what_is_left_out_of_a_mixture_has_a_name() -> None:
    whole = mixture()
    for model, name in (
        (whole, "the n-grams mixed into it and recent words"),
        (without_recent_words(whole), "the n-grams mixed into it"),
        (whole.parts[0], None),
    ):
        loaded: Any = SimpleNamespace(model=model)
        assert _left_out(loaded) == name


def test_what_cannot_be_exported_is_refused_in_one_line(tmp_path: Path, capsys: Capture) -> None:
    train_ngrams(NgramSettings(DataSettings(corpus=str(write_text(tmp_path / "text")))), tmp_path / "ngram")
    with pytest.raises(RunFolderError, match=r"ngram.*no network"):
        write_transformers_folder(tmp_path / "ngram", tmp_path / "hf")
    assert not (tmp_path / "hf").exists()
    for arguments, message in (
        (["hf", str(tmp_path / "nowhere"), "out"], "nowhere"),
        (["hff", "run", "out"], "did you mean hf?"),
        (["--force"], "--force"),
        (["hf", "run"], "OUT"),
    ):
        capsys.readouterr()
        assert cli.main(["export", *arguments]) > 1
        error = capsys.readouterr().err
        assert message in error
        assert error.count("\n") == 1


def test_nothing_is_lost(tmp_path: Path) -> None:
    run, folder = export(tmp_path, "lstm-tied")
    before = {file.name: file.read_bytes() for file in run.iterdir()}
    with pytest.raises(RunFolderError, match="run folder, which the export would destroy"):
        write_transformers_folder(run, run, overwrite=True)
    assert before == {file.name: file.read_bytes() for file in run.iterdir()}
    with pytest.raises(RunFolderError, match="--overwrite replaces it"):
        write_transformers_folder(run, folder)
    (tmp_path / "file").write_text("mine")
    with pytest.raises(RunFolderError, match="is a file"):
        write_transformers_folder(run, tmp_path / "file", overwrite=True)
    (tmp_path / "locked").mkdir()
    (tmp_path / "locked" / "config.json").mkdir()
    with pytest.raises(SaveError, match="locked"):
        write_transformers_folder(run, tmp_path / "locked", overwrite=True)
    assert [file.name for file in (tmp_path / "locked").iterdir()] == ["config.json"]
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "modeling_wordtie.py").write_text("mine")
    with pytest.raises(RunFolderError, match=r"has a modeling_wordtie\.py already"):
        write_transformers_folder(run, tmp_path / "code")
    assert (tmp_path / "code" / "modeling_wordtie.py").read_text() == "mine"
    (folder / "notes.txt").write_text("mine")
    write_transformers_folder(run, folder, overwrite=True)
    assert (folder / "notes.txt").read_text() == "mine"


def test_it_is_reproducible(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", NETWORKS["map-with-bias"])
    one, other = (write_transformers_folder(run, tmp_path / name, with_code=True).folder for name in "ab")
    assert {f.name: f.read_bytes() for f in one.iterdir()} == {f.name: f.read_bytes() for f in other.iterdir()}


def with_tokenizer(here: Path, tokenizer: Tokenizer) -> Path:
    """An exported folder of a model with this tokenizer."""
    settings = ModelSettings(hidden=2, layers=1)
    run = write_run(here / "small", settings)
    saved = read_language_model(run)
    tensors = dict(saved.tensors)
    tensors["embedding.weight"] = tensors["embedding.weight"][:1].repeat(len(tokenizer.vocabulary), 1)
    write_language_model(here / "run", SavedModel(Settings(model=settings), tensors, tokenizer))
    return write_transformers_folder(here / "run", here / "hf").folder


def raw_lines(corpus: str) -> Iterator[str]:
    """As the files have them, with labels and mark-up."""
    try:
        sources = locate(corpus)["train"]
    except DataError as error:
        pytest.skip(str(error))
    for source in sources:
        with opened(source) as file:
            for line in file:
                yield line.decode("utf-8").rstrip("\r\n")


@pytest.mark.parametrize(
    ("corpus", "tokenisation"),
    [
        ("imdb", Tokenisation("words", lowercase=True)),
        ("bbc", Tokenisation("words")),
        ("wikitext-2", Tokenisation("space")),
        ("sotu", Tokenisation("words", lowercase=True, sentences=False)),
    ],
)
def test_ids_of_raw_lines_are_those_of_wordtie(corpus: str, tokenisation: Tokenisation, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers", reason=MISSING)
    lines = list(itertools.islice(raw_lines(corpus), LINES))
    counts: dict[str, int] = {}
    for line in lines[:2000]:
        for word in tokenisation.words(line):
            counts[word] = counts.get(word, 0) + 1
    own = Tokenizer(tokenisation, Vocabulary.from_counts(counts, min_count=2))
    tokenizer = transformers.AutoTokenizer.from_pretrained(with_tokenizer(tmp_path, own))
    assert len(lines) == LINES or corpus == "bbc"
    for line, ids in zip(lines, tokenizer(lines).input_ids, strict=True):
        assert ids == own.encode(line).tolist(), line
    together = "\n".join(lines[:50]) + "\n"
    assert tokenizer(together).input_ids == own.encode(together).tolist()


def test_special_tokens_are_those_of_wordtie(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers", reason=MISSING)
    tokenizer = transformers.AutoTokenizer.from_pretrained(export(tmp_path, "lstm-tied")[1])
    own = Tokenizer(Tokenisation("space"), Vocabulary(WORDS))
    for line in ["", f"{EOS}w1<unk>w2", "w1\n\nw2", " w1\u00a0 nobody ", *sentences(20)]:
        assert tokenizer(line).input_ids == own.encode(line).tolist(), line
    assert (tokenizer.bos_token, tokenizer.eos_token, tokenizer.pad_token, tokenizer.unk_token) == (
        *[EOS] * 3,
        "<unk>",
    )
    text = " ".join(random.Random(1).choices(WORDS, k=30))
    assert tokenizer.decode(tokenizer(text).input_ids) == text
