"""`wordtie mix`: run folders in, a run folder of their mixture out."""

from __future__ import annotations

import errno
import json
import math
import shutil
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

import wordtie
from tests.commands import Capture
from wordtie import cli
from wordtie.config import DataSettings, ModelSettings, Settings, TrainingSettings
from wordtie.config.ngram import NgramSettings
from wordtie.errors import DataError, DivergedError, RunFolderError, SaveError, SettingsError
from wordtie.export.arpa import export_arpa
from wordtie.inference import mix as mix_module
from wordtie.inference.mix import MixtureResult, _content_of, mix
from wordtie.models.mixture import Mixture
from wordtie.models.recent_words import FittedMixture, best_adaptive_mixture
from wordtie.runs import provenance
from wordtie.runs.contents import check_config
from wordtie.runs.layout import MODEL
from wordtie.runs.run_folder import read_language_model
from wordtie.training.ngrams import train_ngrams
from wordtie.training.train import train


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network, 3-grams and 1-grams of one text, and n-grams of another."""
    here = tmp_path_factory.mktemp("mix")
    generator = np.random.default_rng(1)
    for name in ("mine", "other"):
        (here / name).mkdir()
        for split, count in (("train", 300), ("valid", 60), ("test", 40)):
            lines = [
                " ".join(["the", generator.choice(["cat", "dog", name]), *["very"] * generator.integers(3), "sat"])
                for _ in range(count)
            ]
            (here / name / f"{split}.txt").write_text("\n".join(lines) + "\n")
    data = DataSettings(corpus=str(here / "mine"))
    train(Settings(data, ModelSettings(hidden=8), training=TrainingSettings(epochs=2, streams=4)), here / "network")
    train_ngrams(NgramSettings(data, order=3), here / "ngram")
    train_ngrams(NgramSettings(data, order=1), here / "unigram")
    train_ngrams(NgramSettings(DataSettings(corpus=str(here / "other"))), here / "foreign")
    return here


@pytest.fixture
def folder(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return trained


def test_without_a_name_the_folder_is_named_after_the_first_run(folder: Path) -> None:
    assert cli.main(["mix", str(folder / "network"), str(folder / "ngram")]) == 0
    wordtie.load("runs/network-mixed")


def test_never_worse_than_its_parts_on_validation_text(folder: Path) -> None:
    result = mix([folder / "network", folder / "ngram"], "mixed")
    assert result.valid_perplexity <= min(result.part_perplexities) * (1 + 1e-6)
    model = wordtie.load("mixed")
    assert model.evaluate(folder / "mine" / "valid.txt").perplexity == pytest.approx(result.valid_perplexity)
    for part, perplexity in zip(("network", "ngram"), result.part_perplexities, strict=True):
        found = wordtie.load(folder / part).evaluate(folder / "mine" / "valid.txt")
        assert found.perplexity == pytest.approx(perplexity)
        assert found.tokens == result.valid_tokens
    assert repr(model).startswith("LoadedModel(mixture of tied lstm, ")


def test_every_command_opens_it(folder: Path, capsys: Capture) -> None:
    valid = str(folder / "mine" / "valid.txt")
    runs = [str(folder / "network"), str(folder / "ngram")]
    assert cli.main(["mix", *runs, "--text", valid, "--out", "mixed", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert cli.main(["evaluate", "mixed", "--split", "valid", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["perplexity"] == pytest.approx(result["valid_perplexity"])
    assert cli.main(["predict", "mixed", "the", "--json", "--top", "99"]) == 0
    predicted = {row["word"]: row["probability"] for row in json.loads(capsys.readouterr().out)}
    assert sum(predicted.values()) == pytest.approx(1, abs=1e-6)
    Path("lines.txt").write_text("the dog sat\nthe cat\n")
    assert cli.main(["surprisal", "mixed", "lines.txt", "--json"]) == 0
    second = json.loads(capsys.readouterr().out)[1]
    assert second["surprisal_bits"] == pytest.approx(-math.log2(predicted["dog"]), rel=1e-5)
    assert second["entropy_bits"] == pytest.approx(-sum(p * math.log2(p) for p in predicted.values()), rel=1e-5)
    assert cli.main(["generate", "mixed", "--words", "9", "--seed", "1"]) == 0
    assert cli.main(["mix", *runs, "--text", valid, "--out", "mixed", "--overwrite"]) == 0
    assert "over 2" in capsys.readouterr().out


def test_a_text_that_a_model_was_trained_on_gives_no_weights(folder: Path) -> None:
    with pytest.raises(DataError, match=r"network: was trained on the text that weights are fitted on.*give a --text"):
        mix([folder / "network", folder / "ngram"], "mixed", folder / "mine" / "train.txt")
    assert not Path("mixed").exists()


def test_other_cuts_of_a_text_are_told(folder: Path, capsys: Capture) -> None:
    """The validation text of one may be training text of the other."""
    lines = (folder / "mine" / "train.txt").read_text()
    Path("text.txt").write_text(lines)
    for name, split in (("a", (0.8, 0.1, 0.1)), ("b", (0.9, 0.05, 0.05))):
        train_ngrams(NgramSettings(DataSettings("text.txt", split=split, vocabulary_from="all"), order=2), name)
    capsys.readouterr()
    found = mix(["a", "b"], "mixed")
    told = "note: b: has another validation text than a, and may have been trained on what it is measured on: give a "
    assert told in capsys.readouterr().err
    assert found.text_sha256 == json.loads(Path("a", "config.json").read_text())["texts"]["valid"]
    assert cli.main(["evaluate", "a", "b"]) == 0
    assert "note: b: has another test text than a, and may have" in capsys.readouterr().err
    shutil.copytree("a", "again")
    assert cli.main(["evaluate", "a", "again"]) == 0
    assert "note: " not in capsys.readouterr().err


def test_ngrams_that_differ_in_their_counts_alone_are_two_parts(folder: Path) -> None:
    """A run that extends another also counts its text, of which its settings do not tell."""
    shutil.copytree(folder / "ngram", "counted")
    config = json.loads(Path("counted", "config.json").read_text())
    assert _content_of(Path("counted")) == _content_of(folder / "ngram")
    config["settings"]["data"]["corpus"] = "another/path"
    Path("counted", "config.json").write_text(json.dumps(config))
    assert _content_of(Path("counted")) == _content_of(folder / "ngram"), "the same counts, by another path"
    shutil.copy(folder / "unigram" / "model.safetensors", "counted")
    assert _content_of(Path("counted")) != _content_of(folder / "ngram")


def test_a_mixture_that_is_replaced_while_it_is_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader knows the old parts' names when they are removed."""
    mix([folder / "network", folder / "ngram"], "mixed")
    replaced: list[MixtureResult] = []

    def slow(*arguments: Any) -> Any:
        if not replaced:
            replaced.append(mix([folder / "network", folder / "unigram"], "mixed", mode="overwrite"))
        return check_config(*arguments)

    monkeypatch.setattr("wordtie.runs.mixture_run.check_config", slow)
    model = wordtie.load("mixed")
    assert replaced
    expected = pytest.approx(replaced[0].valid_perplexity)
    assert model.evaluate(folder / "mine" / "valid.txt").perplexity == expected


def test_holds_its_parts(folder: Path) -> None:
    for name in ("network", "ngram", "unigram"):
        shutil.copytree(folder / name, name)
    mix(["network", "ngram"], "mixed")
    expected = wordtie.load("mixed").evaluate(folder / "mine" / "test.txt").nats
    for name in ("network", "ngram"):
        shutil.rmtree(name)
    assert wordtie.load("mixed").evaluate(folder / "mine" / "test.txt").nats == expected
    mix([folder / "ngram", "unigram"], "mixed", mode="overwrite")
    assert len(list(Path("mixed", "parts").iterdir())) == 2
    train_ngrams(NgramSettings(DataSettings(corpus=str(folder / "mine"))), "mixed", mode="overwrite")
    assert not Path("mixed", "parts").exists()


def test_recent_words_are_mixed_in_if_they_return(folder: Path, capsys: Capture) -> None:
    """Each stretch of this text has a verb of its own, which the training text does not prefer."""
    lines = [f"the cat {verb}" for verb in ("sat", "very") for _ in range(150)]
    Path("valid.txt").write_text("\n".join(lines) + "\n")
    runs = [str(folder / "network"), str(folder / "ngram")]
    found = mix(runs, "mixed", "valid.txt")
    assert found.without_recent_perplexity is not None
    assert found.valid_perplexity < found.without_recent_perplexity
    assert wordtie.load("mixed").evaluate("valid.txt").perplexity == pytest.approx(found.valid_perplexity)
    plain = wordtie.load("mixed", part="without-recent")
    assert plain.evaluate("valid.txt").perplexity == pytest.approx(found.without_recent_perplexity)
    assert cli.main(["mix", *runs, "--text", "valid.txt", "--out", "plain", "--no-recent-words"]) == 0
    assert "without recent words" not in capsys.readouterr().out
    without = wordtie.load("plain").evaluate("valid.txt").perplexity
    assert without == pytest.approx(found.without_recent_perplexity)
    assert cli.main(["mix", *runs, "--text", "valid.txt", "--out", "mixed", "--overwrite"]) == 0
    assert f"{without:.2f} without recent words" in capsys.readouterr().out


def test_seeds_are_mixed(folder: Path) -> None:
    result = mix([folder / "network", shutil.copytree(folder / "network", "copy")], "mixed")
    assert len(result.weights) == 1  # a network does not say how familiar a context is
    model = wordtie.load("mixed").model
    assert isinstance(model, Mixture)
    alone = result.without_recent_perplexity or result.valid_perplexity
    assert alone == pytest.approx(result.part_perplexities[0])
    assert result.valid_perplexity <= alone * (1 + 1e-9)


def test_seeds_with_ngrams_share_them(folder: Path, capsys: Capture) -> None:
    """The mixture is never worse than a run as it is opened by default, and holds the n-grams once."""
    corpus, small = str(folder / "mine"), ["--hidden", "8", "--epochs", "1", "--streams", "4", "--ngram", "2"]
    valid = folder / "mine" / "valid.txt"
    for seed in ("1", "2"):
        assert cli.main(["train", corpus, *small, "--seed", seed, "--out", f"seed-{seed}"]) == 0
    capsys.readouterr()
    assert cli.main(["mix", "seed-1", "seed-2", "--out", "both"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:4]] == ["seed-1", "seed-2", "seed-1/ngram", "both"]
    networks, ngrams = [wordtie.load(f"seed-{seed}", part="network") for seed in (1, 2)], wordtie.load("seed-1/ngram")
    for line, model in zip(lines, (*networks, ngrams), strict=False):
        assert f"perplexity {model.evaluate(valid).perplexity:.2f} " in line
    mixed = wordtie.load("both").evaluate(valid).perplexity
    for seed in ("1", "2"):
        assert mixed <= wordtie.load(f"seed-{seed}").evaluate(valid).perplexity * (1 + 1e-3)
    assert len(mix(["seed-1", "seed-2", "seed-1/ngram"], "again").parts) == 3, "named already"


def test_ngrams_of_different_orders_are_parts_of_their_own(folder: Path) -> None:
    settings = read_language_model(folder / "network").settings
    for order in (1, 2):
        train(settings, f"order-{order}", ngram=order)
    found = mix(["order-1", "order-2", folder / "network"], "mixed")
    assert [Path(part).name for part in found.parts] == ["order-1", "order-2", "network", "ngram", "ngram"]
    train(settings, "order-2", mode="overwrite")
    assert len(mix(["order-1", "order-2"], "again").parts) == 3, "the second has none any more"


def test_what_cannot_be_mixed(folder: Path) -> None:
    ngram = folder / "ngram"
    with pytest.raises(SettingsError, match="at least two"):
        mix([ngram], "mixed")
    with pytest.raises(SettingsError, match="named twice: name each once"):
        mix([ngram, ngram.parent / "." / "unigram" / ".." / "ngram"], "mixed")
    with pytest.raises(RunFolderError, match="one vocabulary"):
        mix([ngram, folder / "foreign"], "mixed")
    with pytest.raises(DataError, match=r"none\.txt"):
        mix([ngram, folder / "unigram"], "mixed", "none.txt")
    Path("loop").symlink_to("loop")
    with pytest.raises(SaveError, match="loop"):
        mix([ngram, folder / "unigram"], "loop")
    assert not Path("mixed").exists()
    mix([ngram, folder / "unigram"], "mixed")
    with pytest.raises(RunFolderError, match="--overwrite"):
        mix([ngram, folder / "unigram"], "mixed")
    with pytest.raises(RunFolderError, match="holds a mixture model"):
        mix([ngram, "mixed"], "again")
    before = {path: path.read_bytes() for path in ngram.rglob("*") if path.is_file()}
    with pytest.raises(RunFolderError, match="is one of the runs to mix"):
        mix([folder / "unigram", ngram], ngram, mode="overwrite")
    assert before == {path: path.read_bytes() for path in ngram.rglob("*") if path.is_file()}
    export_arpa(ngram, "ngram.arpa")
    with pytest.raises(RunFolderError, match=r"^ngram\.arpa: .* give the one that the ARPA file is of"):
        mix([ngram, "ngram.arpa"], "again")
    assert not Path("again").exists()


def test_a_part_that_is_exchanged_is_noticed(folder: Path) -> None:
    mix([folder / "network", folder / "ngram"], "mixed")
    first, second = Path("mixed", "parts").iterdir()
    (first / MODEL).unlink()
    with pytest.raises(RunFolderError, match="cannot be read"):
        wordtie.load("mixed")
    shutil.rmtree(first)
    shutil.copytree(second, first)
    with pytest.raises(RunFolderError, match="another model"):
        wordtie.load("mixed")
    shutil.rmtree(first)
    with pytest.raises(RunFolderError, match="missing"):
        wordtie.load("mixed")


def test_a_run_that_is_trained_further_meanwhile_is_refused(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its weights would be those of the model before; an earlier mixture stays as it is."""
    shutil.copytree(folder / "network", "run")
    mix([folder / "unigram", folder / "ngram"], "mixed")
    settings = read_language_model(Path("run")).settings

    def fitted_meanwhile(*arguments: Any, **options: Any) -> FittedMixture:
        train(settings, "run", mode="overwrite", seed=2)
        return best_adaptive_mixture(*arguments, **options)

    monkeypatch.setattr(mix_module, "best_adaptive_mixture", fitted_meanwhile)
    with pytest.raises(RunFolderError, match=r"^run: was trained further meanwhile"):
        mix([folder / "ngram", "run"], "mixed", mode="overwrite")
    assert len(list(Path("mixed", "parts").iterdir())) == 2
    assert wordtie.load("mixed").evaluate(folder / "mine" / "valid.txt").perplexity > 1


def test_a_part_that_changes_while_it_is_copied_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file is of the model that comes next: neither its seal nor that of the model before fits."""
    real = shutil.copy

    def torn(path: Path, other: Path) -> object:
        return real(folder / "unigram" / MODEL if path == folder / "ngram" / MODEL else path, other)

    monkeypatch.setattr(shutil, "copy", torn)
    with pytest.raises(RunFolderError, match=r"ngram: was trained further meanwhile"):
        mix([folder / "network", folder / "ngram"], "mixed")
    assert not list(Path("mixed").glob("parts/.part-*"))


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), SystemExit(143)])
def test_copies_that_are_not_completed_are_removed(
    error: BaseException, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also those of the parts before."""
    real, copied = shutil.copy, 0

    def full(path: Path, other: Path) -> object:
        nonlocal copied
        copied += 1
        if copied > 4:
            raise error
        return real(path, other)

    monkeypatch.setattr(shutil, "copy", full)
    with pytest.raises((SaveError, SystemExit)):
        mix([folder / "network", folder / "ngram"], "mixed")
    assert copied == 5
    assert not Path("mixed", "parts").exists()


def test_parts_that_a_link_leads_to_stay(folder: Path) -> None:
    mix([folder / "unigram", folder / "ngram"], "mixed")
    Path("other").mkdir()
    Path("other/parts").symlink_to("../mixed/parts")
    train(read_language_model(folder / "network").settings, "other", mode="overwrite")
    assert wordtie.load("mixed").evaluate(folder / "mine" / "valid.txt").perplexity > 1


def test_what_is_replaced_leaves_nothing(folder: Path) -> None:
    """A run with n-grams mixed in, by a mixture, and that by a run: it stays usable until there is another."""
    network = read_language_model(folder / "network").settings
    train(network, "run", ngram=2)
    mix([folder / "ngram", folder / "unigram"], "run", mode="overwrite")
    assert not Path("run/ngram").exists()
    assert not Path("run/mixture").exists()
    before = wordtie.load("run").evaluate(folder / "mine" / "valid.txt").perplexity
    with pytest.raises(DivergedError):
        train(network, "run", mode="overwrite", lr=1e38, clip=0.0)
    assert wordtie.load("run").evaluate(folder / "mine" / "valid.txt").perplexity == before
    train(network, "run", mode="overwrite")
    assert not Path("run/parts").exists()
    assert not isinstance(wordtie.load("run").model, Mixture)


def test_what_a_killed_run_was_to_replace_is_gone_once_it_is_resumed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    network = read_language_model(folder / "network").settings
    mix([folder / "ngram", folder / "unigram"], "run")
    with monkeypatch.context() as patch:
        patch.setattr(provenance, "begin_invocation", killed)
        with pytest.raises(KeyboardInterrupt):
            train(network, "run", mode="overwrite")
    assert wordtie.load("run").evaluate(folder / "mine" / "valid.txt").perplexity > 1
    train(network, "run", mode="resume")
    assert not Path("run/parts").exists()


def test_a_part_of_what_has_none_is_refused(folder: Path) -> None:
    with pytest.raises(RunFolderError, match="is not a network with n-grams mixed in: leave out --part"):
        wordtie.load(folder / "ngram", part="network")


def test_a_part_that_there_is_none_of_is_refused(folder: Path) -> None:
    with pytest.raises(SettingsError, match="part is one of network, ngram, without-recent, got 'without_recent'"):
        wordtie.load(folder / "ngram", part="without_recent")  # type: ignore[arg-type]
