"""`wordtie ngram`: a run folder that every command opens which uses a model."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import wordtie
from tests.commands import Capture
from tests.reference.kneser_ney import LiteralKneserNey
from wordtie import cli
from wordtie.config import DataSettings
from wordtie.config.ngram import NgramSettings
from wordtie.data.prepare import prepare
from wordtie.errors import RunFolderError, SettingsError
from wordtie.runs.layout import CONFIG, MODEL
from wordtie.training.ngrams import train_ngrams


@pytest.fixture
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A corpus of its own, with a grammar of sorts."""
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(1)
    (tmp_path / "mine").mkdir()
    for split, count in (("train", 300), ("valid", 40), ("test", 40)):
        lines = [
            " ".join(["the", generator.choice(["cat", "dog", "bird"]), *["very"] * generator.integers(3), "sat"])
            for _ in range(count)
        ]
        (tmp_path / "mine" / f"{split}.txt").write_text("\n".join(lines) + "\n")
    return tmp_path / "mine"


def test_equals_the_definition(text: Path) -> None:
    settings = NgramSettings(DataSettings(corpus=str(text)), order=3, minimum_counts=(1, 1, 2))
    result = train_ngrams(settings, "run")
    data = prepare(settings.data)
    literal = LiteralKneserNey(
        data.train.tolist(), len(data.vocabulary), 3, data.vocabulary.eos_id, minimum_counts=[1, 1, 2]
    )
    nats = -sum(math.log(p) for p in literal.probabilities(data.test.tolist()))
    assert result.test_nats == pytest.approx(nats)
    model = wordtie.load("run")
    assert model.settings == settings
    assert model.evaluate(text / "test.txt").nats == pytest.approx(nats)
    records = model.surprisal((text / "test.txt").read_text(), reset="never")
    assert sum(record.surprisal_bits for record in records) * math.log(2) == pytest.approx(nats)


def test_every_command_opens_it(text: Path, capsys: Capture) -> None:
    assert cli.main(["ngram", str(text), "--order", "3", "--out", "run", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["bytes"] == Path("run", MODEL).stat().st_size
    assert cli.main(["evaluate", "run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["perplexity"] == pytest.approx(result["test_perplexity"])
    assert cli.main(["evaluate", "run", "--split", "valid", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["perplexity"] == pytest.approx(result["valid_perplexity"])
    assert cli.main(["predict", "run", "the", "--json", "--top", "99"]) == 0
    predicted = {row["word"]: row["probability"] for row in json.loads(capsys.readouterr().out)}
    assert sum(predicted.values()) == pytest.approx(1)
    Path("line.txt").write_text("the dog sat\n")
    assert cli.main(["surprisal", "run", "line.txt", "--json"]) == 0
    second = json.loads(capsys.readouterr().out)[1]
    assert second["surprisal_bits"] == pytest.approx(-math.log2(predicted["dog"]))
    assert second["entropy_bits"] == pytest.approx(-sum(p * math.log2(p) for p in predicted.values()))
    assert cli.main(["generate", "run", "--words", "30", "--seed", "1"]) == 0
    written = capsys.readouterr().out
    assert cli.main(["generate", "run", "--words", "30", "--seed", "1"]) == 0
    assert capsys.readouterr().out == written
    assert "the " in written
    assert cli.main(["compare", "run", "--phrase", "the", "--json"]) == 0
    capsys.readouterr()
    assert cli.main(["baseline", str(text), "--order", "3", "--json"]) == 0
    baseline = json.loads(capsys.readouterr().out)
    assert baseline["perplexity"]["Kneser-Ney 3-gram"] == pytest.approx(result["test_perplexity"])


def test_what_a_text_has_that_may_not_be_meant(text: Path, capsys: Capture) -> None:
    (text / "valid.txt").write_bytes((text / "train.txt").read_bytes())
    assert cli.main(["ngram", str(text), "--order", "2", "--min-count", "1", "--out", "run"]) == 0
    notes = capsys.readouterr().err.splitlines()
    assert [note.partition(",")[0] for note in notes] == [
        "note: <unk> does not occur in the training text",
        f"note: {text}: the validation text is the training text",
    ]
    (text / "valid.txt").write_text("the cat sat\nthe unicorn sat\n")
    (text / "train.txt").write_text("the cat sat\nthe dog sat\n" * 9 + "the bird sat\n")
    assert cli.main(["ngram", str(text), "--order", "2", "--min-count", "2", "--out", "run", "--overwrite"]) == 0
    assert capsys.readouterr().err == ""


def test_the_model_is_mapped_and_not_read(text: Path) -> None:
    train_ngrams(NgramSettings(DataSettings(corpus=str(text))), "run")
    trie = wordtie.load("run").model.trie  # type: ignore[attr-defined]
    assert not any(array.flags.owndata for level in trie.levels for array in vars(level).values())


def test_what_needs_a_network_says_so(text: Path, capsys: Capture) -> None:
    train_ngrams(NgramSettings(DataSettings(corpus=str(text))), "run")
    assert cli.main(["vectors", "run", "--neighbours", "cat"]) == RunFolderError.exit_code
    assert str(Path("run", CONFIG)) in capsys.readouterr().err
    assert cli.main(["compare", "run", "--text", str(text / "test.txt")]) == 0


def test_a_run_is_not_overwritten_unasked(text: Path) -> None:
    settings = NgramSettings(DataSettings(corpus=str(text)))
    train_ngrams(settings, "run")
    with pytest.raises(RunFolderError, match="--overwrite"):
        train_ngrams(settings, "run")
    again = train_ngrams(NgramSettings(settings.data, order=2), "run", mode="overwrite")
    assert wordtie.load("run").evaluate(text / "test.txt").nats == pytest.approx(again.test_nats)


def test_a_damaged_model_is_refused(text: Path) -> None:
    train_ngrams(NgramSettings(DataSettings(corpus=str(text))), "run")
    model = Path("run", MODEL)
    whole = model.read_bytes()
    model.unlink()  # a mapped file is never changed in its place
    model.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(RunFolderError, match="damaged"):
        wordtie.load("run")
    model.unlink()
    model.write_bytes(b"")
    with pytest.raises(RunFolderError, match="damaged"):
        wordtie.load("run")


@pytest.mark.parametrize(
    "wrong", [{"order": 0}, {"order": 101}, {"minimum_counts": ()}, {"minimum_counts": (0,)},
              {"minimum_counts": (1.5,)}, {"minimum_counts": 5}, {"order": 2.0}, {"order": True},
              {"order": 2, "minimum_counts": (1, 1, 1)}],
)  # fmt: skip
def test_refuses_settings_that_mean_nothing(wrong: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match="must be"):
        NgramSettings(**wrong)  # type: ignore[arg-type]


def test_the_last_minimum_holds_for_higher_orders() -> None:
    assert NgramSettings(order=5, minimum_counts=(1, 1, 2)).minimum_of_each_order == [1, 1, 2, 2, 2]
