"""A training that diverges ends with an error, also when its numbers stay finite; what it exports can be loaded."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.tiny_run import TINY
from wordtie import cli
from wordtie.config import DataSettings, ModelSettings, Settings, TrainingSettings
from wordtie.data.prepare import prepare
from wordtie.errors import DivergedError
from wordtie.evaluation.perplexity import Score
from wordtie.inference.loading import load
from wordtie.models.language_model import LanguageModel
from wordtie.training.divergence import limit, why_diverged, why_unusable
from wordtie.training.language_modelling import LanguageModelling
from wordtie.training.task import Validation
from wordtie.training.train import train

Capture = pytest.CaptureFixture[str]


def settings(text: Path, untied: bool = False, **training: Any) -> Settings:
    asked = TrainingSettings(**{"streams": 4, "steps": 7, "threads": 1, **training})
    return Settings(DataSettings(str(text)), ModelSettings("untied" if untied else "tied", hidden=8), training=asked)


@pytest.mark.parametrize(
    ("words", "perplexity"),
    [(4, 1e6), (1000, 1e6), (10_000, 1e8), (100_000, 1e10)],
    ids=["few words", "as many as the least limit allows", "PTB", "many words"],
)
def test_the_edge_of_the_rule(words: int, perplexity: float) -> None:
    """V squared, and at least a million."""
    assert math.exp(limit(words)) == pytest.approx(perplexity)
    tokens = 1000
    assert why_diverged(Score(limit(words) * tokens, tokens), words) == ""
    assert "worse than any guess" in why_diverged(Score(limit(words) * tokens * (1 + 1e-12), tokens), words)


@pytest.mark.parametrize("nats", [math.nan, math.inf])
def test_what_is_no_number_has_diverged(nats: float) -> None:
    assert why_diverged(Score(nats, 10), 100) == "the loss is not a number"
    assert why_diverged(Score(nats, 10), 100, most=math.inf) == "the loss is not a number"
    assert why_diverged(Score(1e30, 10), 100, most=math.inf) == ""


def test_a_run_that_overfits_has_not() -> None:
    """The figure's run has a validation perplexity of 15 V, over 10,000 words."""
    entry = Path(__file__).parents[2] / "results" / "inan-2017" / "figure-1" / "a-beta-0.0.seed-1.json"
    worst = max(json.loads(entry.read_text())["curve"]["valid"])
    assert worst > 10 * 10_000
    assert why_diverged(Score(math.log(worst), 1), 10_000) == ""


def test_a_perplexity_of_1e304_is_an_error(text: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.chdir(text.parent)
    wild = ["train", "text", "--out", "run", *TINY, "--training.lr", "1e6", "--training.clip", "0"]
    wild += ["--training.precision", "fp32"]  # in bf16 the loss is not a number even sooner
    assert cli.main(wild) == DivergedError.exit_code
    message = capsys.readouterr().err.splitlines()[-1]
    assert message.startswith("wordtie: error: run: the perplexity 1e+304 is worse than any guess at epoch 1, on the")
    assert "no model was validated before. Try --lr 500000 or --clip 5" in message
    assert not (text.parent / "run" / "result.json").exists()
    assert "diverged at epoch 1" in (text.parent / "run" / "sessions.jsonl").read_text()
    assert cli.main([*wild, "--resume"]) == DivergedError.exit_code


def after_validation_of(epoch: int, change: Callable[[LanguageModel], object], patch: pytest.MonkeyPatch) -> None:
    """Change the run's weights between two validations, as a step with a wild gradient would."""
    validate, validations = LanguageModelling.validate, itertools.count(1)

    def changed(self: LanguageModelling) -> Validation:
        with torch.no_grad():
            if next(validations) == epoch:
                change(self.model)
        return validate(self)

    patch.setattr(LanguageModelling, "validate", changed)


@pytest.mark.parametrize("keep", ["best", "last"])
def test_what_came_before_is_kept(text: Path, tmp_path: Path, keep: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last validation of a run is finite, and astronomically large."""
    after_validation_of(2, lambda model: model.embedding.weight.mul_(1e6), monkeypatch)
    with pytest.raises(
        DivergedError, match=rf"worse than any guess at epoch 2, .*; the {keep} validated model is kept"
    ):
        train(settings(text, epochs=2, keep=keep), tmp_path / "run")
    assert load(tmp_path / "run").predict("w1", 1)[0][1] > 0
    assert not (tmp_path / "run" / "result.json").exists()


def test_what_could_not_be_loaded_is_not_exported(text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Validation never reads the row of a word that only the training text has, and scores it with probability 0."""
    (text / "train.txt").write_text((text / "train.txt").read_text() + "rare rare\n" * 2)
    row = prepare(DataSettings(str(text))).vocabulary.id("rare")
    after_validation_of(2, lambda model: model.embedding.weight[row].fill_(1e16), monkeypatch)
    with pytest.raises(DivergedError, match=r"embedding\.weight has a number.* at epoch 2, after the last window"):
        train(settings(text, epochs=2, keep="last", untied=True), tmp_path / "run")
    assert load(tmp_path / "run").predict("w1", 1)[0][1] > 0


def test_the_numbers_that_are_exported() -> None:
    assert why_unusable({"a": torch.ones(2), "b": torch.tensor([1, 1e16])}).startswith("b has a number that is infin")
    assert "b has" in why_unusable({"a": torch.ones(2), "b": torch.tensor([math.nan])})
    assert why_unusable({"a": torch.tensor([1e15, -1e15])}) == ""
