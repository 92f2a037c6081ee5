"""`wordtie import` from end to end: a run folder as any other, which says where its model is from."""

from __future__ import annotations

import hashlib
import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml

import wordtie
from tests.checkpoints.checkpoint_files import WORDS, saved, small_model
from tests.checkpoints.test_pickles import MARKER, Evil
from tests.checkpoints.test_words import Dictionary
from tests.commands import output, rows, small_text
from tests.reference.rnn_model import RNNModel, in_its_module, log_probabilities
from wordtie import cli
from wordtie.checkpoints.importing import import_checkpoint
from wordtie.config import from_dict
from wordtie.errors import DataError, RunFolderError, SettingsError

pytestmark = pytest.mark.usefixtures("own_folder")
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def model(own_folder: Path) -> RNNModel:
    """Saved as `model.pt`, its words in `vocab.txt`."""
    made = small_model()
    saved(made, Path("model.pt"))
    Path("vocab.txt").write_text("\n".join(WORDS))
    return made


def import_it(*more: str) -> int:
    return cli.main(["import", "model.pt", "--vocabulary", "vocab.txt", "--out", "run", *more])


def test_the_command_says_what_it_imported(model: RNNModel, capsys: Capture) -> None:
    sha256 = hashlib.sha256(Path("model.pt").read_bytes()).hexdigest()
    printed = output(["import", "model.pt", "--vocabulary", "vocab.txt", "--out", "run"], capsys)
    assert printed.splitlines() == [
        "run folder  run",
        f"from        model.pt (SHA-256 {sha256[:12]}…), program not known",
        "model       untied lstm, 2 layers of 6 units",
        f"parameters  {sum(each.numel() for each in model.parameters()) - 2 * 24:,}",
        "vocabulary  8 words",
    ]
    assert import_it("--overwrite", "--kind", "colorlessgreen", "--json") == 0
    result = json.loads(capsys.readouterr().out)
    assert result == json.loads(Path("run/result.json").read_text())
    assert (result["kind"], result["sha256"], result["head"]) == ("colorlessgreen", sha256, "untied")


def test_the_run_folder_says_where_the_model_is_from(model: RNNModel) -> None:
    assert import_it("--kind", "neural-complexity") == 0
    config = json.loads(Path("run/config.json").read_text())
    assert config["imported"] == {
        "program": "neural-complexity",
        "checkpoint": {"model.pt": hashlib.sha256(Path("model.pt").read_bytes()).hexdigest()},
        "vocabulary": {"vocab.txt": hashlib.sha256(Path("vocab.txt").read_bytes()).hexdigest()},
    }
    assert config["texts"] == {}
    settings = from_dict(yaml.safe_load(Path("run/settings.yaml").read_text()))
    assert settings == wordtie.load("run").settings
    assert settings.loss.kind == "cross_entropy"
    edited = Path("run/config.json").read_text().replace("neural-complexity", "something")
    Path("run/config.json").write_text(edited)
    with pytest.raises(RunFolderError, match=r"config\.json"):
        wordtie.load("run")


def test_a_text_has_the_perplexity_of_the_original(model: RNNModel, capsys: Capture) -> None:
    """One stream from `<eos>` on, the state carried over."""
    text = "the cat sat\non the mat\nthe bird sat on <unk>\n"
    Path("text.txt").write_text(text)
    assert import_it() == 0
    ids = [1, *(WORDS.index(word if word in WORDS else "<unk>") for word in text.replace("\n", " <eos> ").split())]
    nats = -math.fsum(log_probabilities(model, ids))
    result = json.loads(output(["evaluate", "run", "text.txt", "--json"], capsys))
    assert (result["tokens"], result["oov"], result["unk"], result["eos"]) == (len(ids) - 1, 1, 1, 3)
    assert result["nats"] == pytest.approx(nats, abs=1e-4)
    Path("with-eos.txt").write_text(text.replace("\n", " <eos>\n"))
    assert import_it("--overwrite", "--eos-in-text") == 0
    capsys.readouterr()
    running = rows(output(["surprisal", "run", "with-eos.txt", "--reset", "never"], capsys))
    assert [row["word"] for row in running][-2:] == ["<eos>", "<eos>"], "one in the text, one at its end"
    assert math.fsum(float(row["surprisal_bits"]) for row in running[:-1]) * math.log(2) == pytest.approx(
        nats, abs=1e-4
    )


def test_every_command_opens_it(model: RNNModel, capsys: Capture) -> None:
    assert import_it() == 0
    assert cli.main(["import", "model.pt", "--vocabulary", "vocab.txt", "--out", "again"]) == 0
    saved(small_model(seed=2), Path("other.pt"))
    assert cli.main(["import", "other.pt", "--vocabulary", "vocab.txt", "--out", "other"]) == 0
    Path("text.txt").write_text("the cat sat\nthe dog sat on the mat\n" * 3)
    Path("pairs.csv").write_text("sentence_good,sentence_bad\nthe cat sat,the cat mat\n")
    Path("counts.csv").write_text("word,count\nthe,10\n")
    calls = [
        ["evaluate", "run", "text.txt", "--hits", "1,3"],
        ["evaluate", "run", "other", "text.txt"],
        ["surprisal", "run", "text.txt", "--per", "region", "--frequencies", "counts.csv"],
        ["surprisal", "run", "other", "text.txt", "--mean"],
        ["predict", "run", "the cat"],
        ["pairs", "run", "pairs.csv"],
        ["compare", "run", "other", "--phrase", "the cat"],
        ["generate", "run", "--prompt", "the", "--words", "5", "--seed", "1"],
        ["vectors", "run", "--side", "input", "--out", "vectors.txt"],
        ["vectors", "run", "--neighbours", "cat"],
        ["subspace", "run:input", "other:input"],
        ["mix", "run", "other", "--text", "text.txt", "--out", "mixed"],
        ["predict", "mixed", "the cat"],
    ]
    for call in calls:
        assert cli.main(call) == 0, (call, capsys.readouterr().err)
    assert Path("vectors.txt").read_text().count("\n") >= len(WORDS)
    assert wordtie.load("run").tokenizer == wordtie.load("again").tokenizer


def test_what_needs_the_training_text_asks_for_another(model: RNNModel, capsys: Capture) -> None:
    assert import_it() == 0
    capsys.readouterr()
    assert cli.main(["evaluate", "run"]) == DataError.exit_code
    err = capsys.readouterr().err
    assert err == "wordtie: error: run: an imported model comes without its training text: name a FILE to measure\n"


def test_words_of_texts_serve_where_there_is_no_list(capsys: Capture) -> None:
    words = ["the", "cat", "<eos>", "dog", "<unk>"]
    torch.manual_seed(3)
    model = RNNModel("GRU", 5, 4, 4, 1, 0.0, True)
    torch.save(model.state_dict(), "model.pt")
    Path("data").mkdir()
    for split, text in {"train": "the cat\n", "valid": "the dog\n", "test": "the <unk>\n"}.items():
        Path("data", f"{split}.txt").write_text(text)
    assert "word_language_model" in output(["import", "model.pt", "--vocabulary", "data", "--out", "run"], capsys)
    expected = log_probabilities(model, [words.index(word) for word in ("<eos>", "the", "dog", "<eos>")])
    found = [-each.surprisal_bits * math.log(2) for each in wordtie.load("run").surprisal("the dog")]
    assert found == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
@pytest.mark.parametrize("tied", [True, False], ids=["tied", "untied"])
def test_a_model_without_unk_gets_one_of_probability_0(tied: bool, bias: bool, capsys: Capture) -> None:
    """And the probabilities of all other words stay what they are."""
    words = ["the", "cat", "<eos>"]
    torch.manual_seed(5)
    model = RNNModel("LSTM", 3, 4, 4, 1, 0.0, tied)
    if not bias:
        model.decoder = torch.nn.Linear(4, 3, bias=False)
        if tied:
            model.decoder.weight = model.encoder.weight
    saved(model, Path("model.pt"))
    Path("vocab.txt").write_text(" ".join(words))
    assert import_it() == 0
    assert "the model has no <unk>: a word that it does not know gets probability 0" in capsys.readouterr().err
    loaded = wordtie.load("run")
    assert loaded.tokenizer.vocabulary.words == (*words, "<unk>")
    found = loaded.surprisal("the cat bird")
    expected = log_probabilities(model, [2, 0, 1])
    assert [-each.surprisal_bits * math.log(2) for each in found[:2]] == pytest.approx(expected, abs=1e-6)
    assert found[2].oov
    assert found[2].surprisal_bits > 1000
    p_TBV, _ = loaded.model.distributions(np.array([[0], [1]]), loaded.model.initial_state(1))
    assert p_TBV.sum(2) == pytest.approx(1, abs=1e-6)
    assert (p_TBV[..., 3] == 0).all()


@pytest.mark.parametrize("tied", [True, False], ids=["tied", "untied"])
def test_an_unk_that_the_model_lacks_is_learnt_from_a_new_text(tied: bool) -> None:
    """Like a new word, and not from its bias of -1000."""
    words = ["the", "cat", "sat", "on", "mat", "<eos>"]
    torch.manual_seed(5)
    saved(RNNModel("LSTM", len(words), 6 if tied else 4, 6, 1, 0.0, tied), Path("model.pt"))
    Path("vocab.txt").write_text("\n".join(words))
    assert import_it() == 0
    small_text(Path("text"), word="<unk>")
    with Path("text/train.txt").open("a") as file:
        file.write("the bird sat\n")
    command = ["train", "text", "--start-from", "run", "--extend-vocabulary", "--out", "more", "--ngram", "none"]
    assert cli.main([*command, "--epochs", "1", "--streams", "4", "--steps", "7", "--threads", "1"]) == 0
    loaded = wordtie.load("more")
    assert loaded.tokenizer.vocabulary.words == (*words, "<unk>", "bird")
    assert loaded.surprisal("the zebra")[1].surprisal_bits < 10


def test_lowercase_reads_texts_in_lower_case(model: RNNModel) -> None:
    assert import_it("--lowercase") == 0
    loaded = wordtie.load("run")
    assert loaded.score(["The CAT sat"]) == loaded.score(["the cat sat"])
    assert loaded.settings.data.lowercase


def test_numbers_that_were_collapsed_are_noted(model: RNNModel, capsys: Capture) -> None:
    Path("vocab.txt").write_text("\n".join([*WORDS[:-1], "<num>"]))
    assert import_it() == 0
    assert "the vocabulary has <num>: write numbers as <num>" in capsys.readouterr().err


def test_a_pickled_dictionary_is_of_neural_complexity(model: RNNModel, capsys: Capture) -> None:
    with in_its_module(Dictionary):
        torch.save(Dictionary(WORDS), "vocab.bin")
    assert "neural-complexity" in output(["import", "model.pt", "--vocabulary", "vocab.bin", "--out", "run"], capsys)


def refused(capsys: Capture, code: int, *more: str) -> str:
    """The one line that says why, and no folder is left."""
    before = sorted(Path("run").rglob("*"))
    assert import_it(*more) == code
    assert sorted(Path("run").rglob("*")) == before
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return err


def test_the_vocabulary_of_another_model_is_refused(model: RNNModel, capsys: Capture) -> None:
    Path("vocab.txt").write_text("\n".join(WORDS[:-1]))
    assert "vocab.txt: has 7 words, and model.pt has 8" in refused(capsys, DataError.exit_code)


def test_a_checkpoint_that_would_run_code_is_refused(model: RNNModel, capsys: Capture) -> None:
    evil: Any = Evil(os.system, f"touch {MARKER}")
    model.more = evil
    saved(model, Path("model.pt"))
    assert "model.pt: names posix.system, which none of these models needs" in refused(capsys, DataError.exit_code)
    assert not Path(MARKER).exists()


def test_a_run_is_not_replaced_unasked(model: RNNModel, capsys: Capture) -> None:
    assert import_it() == 0
    capsys.readouterr()
    assert "run: holds a run already: --overwrite replaces it" in refused(capsys, RunFolderError.exit_code)
    Path("vocab.txt").write_text("\n".join(WORDS[::-1]))
    assert import_it("--overwrite") == 0
    assert wordtie.load("run").tokenizer.vocabulary.words == tuple(WORDS[::-1])
    with pytest.raises(SettingsError, match="use mode overwrite"):
        import_checkpoint("model.pt", "vocab.txt", "run", mode="resume")
