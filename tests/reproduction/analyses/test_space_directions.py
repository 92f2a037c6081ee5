from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from tests import commands
from tests.reproduction.analyses.test_by_frequency import trained
from tests.tiny_run import write_text
from wordtie.errors import SettingsError
from wordtie.evaluation import perplexity
from wordtie.reproduction.analyses import space_directions
from wordtie.reproduction.running.measures import as_trained, of_last_epoch, spaces

Capture = pytest.CaptureFixture[str]
UNTIED = ("--model.head", "untied", "--model.init", "0.5")


def test_each_direction_is_what_its_definition_says(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The part outside by least squares, and the hidden state token by token; in pieces, the state is carried over."""
    monkeypatch.setattr(perplexity, "TOKENS_AT_ONCE", 7)
    text = write_text(tmp_path / "text")
    (text / "valid.txt").write_text("w99 w97 w95\n" * 20)  # ever less likely, so that another epoch is exported
    run = trained(text, tmp_path / "run", *UNTIED, "--training.lr", "0.5", "--training.epochs", "3")
    assert json.loads((run / "result.json").read_text())["best_epoch"] < 3
    capsys.readouterr()
    space_directions.main([str(run)])
    rows = commands.rows(capsys.readouterr().out)
    model, _, data = as_trained(run)
    model.load_state_dict(of_last_epoch(run))
    input_VE, output_VH = (each.detach().double().numpy() for each in (model.embedding.weight, model.output_matrix))
    hidden, state = [], model.eval().initial_state(1)
    for word in [data.vocabulary.eos_id, *data.train[:-1].tolist()]:
        with torch.no_grad():
            query_1H, state = model(torch.tensor([[word]]), state)
        hidden.append(query_1H[0].double().numpy())
    scores_NV = np.array(hidden) @ output_VH.T
    wanted_NV = input_VE[data.train] @ input_VE.T
    words_VK, size_K, hidden_KH = np.linalg.svd(output_VH, full_matrices=False)
    assert [row["direction"] for row in rows] == [str(direction) for direction in range(1, len(size_K) + 1)]
    for row, word_V, size, hidden_H in zip(rows, words_VK.T, size_K, hidden_KH, strict=True):
        nearest_V = input_VE @ np.linalg.lstsq(input_VE, word_V)[0]
        assert float(row["singular value"]) == pytest.approx(size, rel=1e-3)
        assert float(row["outside"]) == pytest.approx(np.linalg.norm(word_V - nearest_V), rel=1e-3)
        assert float(row["hidden"]) == pytest.approx(np.mean((np.array(hidden) @ hidden_H) ** 2) ** 0.5, rel=1e-3)
        error_N, wanted_N = ((scores_NV - wanted_NV) @ (word_V - word_V.mean()), wanted_NV @ (word_V - word_V.mean()))
        assert float(row["unexplained"]) == pytest.approx(np.mean(error_N**2) / np.var(wanted_N), rel=1e-3)
    squares = np.array([float(row["outside"]) for row in rows]) ** 2
    assert squares.mean() == pytest.approx(spaces(run).distance ** 2, rel=1e-3)


def test_a_tied_model_is_refused(tmp_path: Path) -> None:
    run = trained(write_text(tmp_path / "text"), tmp_path / "run")
    with pytest.raises(SettingsError, match=r"run: has one word matrix, so there are no two spaces to compare"):
        space_directions.main([str(run)])
