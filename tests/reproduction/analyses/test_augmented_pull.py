from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests import commands
from tests.tiny_run import TINY, write_text
from wordtie.cli import main
from wordtie.config import ModelSettings
from wordtie.errors import DataError, RunFolderError
from wordtie.losses.augmented import AugmentedLoss
from wordtie.models.language_model import LanguageModel
from wordtie.reproduction.analyses import augmented_pull


def norm(gradient_NE: torch.Tensor) -> float:
    return float(gradient_NE.norm(dim=1).mean())


@pytest.mark.parametrize("head", ["tied", "untied"])
def test_the_pull_is_that_of_the_loss(head: str) -> None:
    torch.manual_seed(1)
    model = LanguageModel(ModelSettings(head=head, hidden=6, init=1.5), 30)  # type: ignore[arg-type]
    query = torch.randn(12, 6, requires_grad=True)
    targets = torch.randint(30, (12,))
    gradients = []
    for gamma in (0.0, 1.0):
        loss = AugmentedLoss(temperature=4.0, gamma=gamma, gradient_through_target=False)
        summed = loss(query, model.output_matrix, model.head.bias, targets, model.embedding.weight)
        gradients.append(torch.autograd.grad(summed.total, query)[0])
        nats = float((summed.total - summed.cross_entropy).detach()) / 12
    with torch.no_grad():
        [found] = augmented_pull.pulls(model, query, targets, [4.0])
    assert found.pull == pytest.approx(norm(gradients[1] - gradients[0]) / norm(gradients[0]), rel=1e-4)
    assert found.nats == pytest.approx(nats, rel=1e-4)
    assert 0 < found.target < 1


def test_a_run_has_its_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, run = write_text(tmp_path / "text"), tmp_path / "run"
    assert main(["train", str(text), "--out", str(run), *TINY]) == 0
    capsys.readouterr()
    augmented_pull.main([str(run)])
    rows = commands.rows(capsys.readouterr().out)
    assert [float(row["temperature"]) for row in rows] == list(augmented_pull.TEMPERATURES)
    assert float(rows[-1]["pull"]) < float(rows[0]["pull"])


@pytest.mark.parametrize("split", ["train", "valid"])
def test_a_text_that_has_changed_since_training_is_refused(
    split: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, run = write_text(tmp_path / "text"), tmp_path / "run"
    assert main(["train", str(text), "--out", str(run), *TINY]) == 0
    (text / f"{split}.txt").write_text("w1 other w3 other\n" + (text / f"{split}.txt").read_text())
    capsys.readouterr()
    changed = r"run: .*text, or how it is cut into words, has changed since training; restore the text from a copy"
    with pytest.raises(RunFolderError, match=changed):
        augmented_pull.main([str(run)])
    assert capsys.readouterr().out == ""
    (text / f"{split}.txt").unlink()
    with pytest.raises(DataError, match="was trained on it: restore the text from a copy"):
        augmented_pull.main([str(run)])
