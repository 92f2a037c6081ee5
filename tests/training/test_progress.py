"""The live line of a training, on terminals of all widths."""

from __future__ import annotations

import re

import pytest

from tests.terminal import on_terminal
from wordtie.training.progress import Progress

LIVE = """
import time
from wordtie.training.progress import Progress

with Progress(epochs=40, windows=1000) as progress:
    for done in (1, 2, 3):
        progress.window(3, done, nats=4.1 * 700 * done, tokens=700 * done, words=700)
        time.sleep(0.25)
    with progress.measuring("validation"):
        progress.live.refresh()
"""


@pytest.mark.parametrize(
    ("columns", "figures"),
    [
        (40, r"perplexity 6.*"),
        (60, r"perplexity 60\.3  loss 4\.100  .*"),
        (100, r"perplexity 60\.3  loss 4\.100  [\d,]+ words/s [^ ]+"),
    ],
)
def test_a_narrow_terminal_shows_what_matters_most(columns: int, figures: str) -> None:
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", on_terminal(LIVE, columns))
    lines = [line.rstrip() for line in re.split("[\r\n]+", plain) if line.strip()]
    assert all(len(line) <= columns for line in lines)
    assert lines[0].startswith("starting")
    assert any(re.fullmatch(rf"epoch 3/40  \d:\d\d:\d\d left  {figures}", line) for line in lines)
    assert lines[-1].startswith("epoch 3/40  measuring the validati")


def test_a_log_file_gets_a_line_every_thirty_seconds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a training whose windows take a second each."""
    now = [100.0]
    monkeypatch.setattr("wordtie.training.progress.time.monotonic", lambda: now[0])
    with Progress(epochs=2, windows=100) as progress:
        for done in range(1, 101):
            progress.window(1, done, nats=4.0 * done, tokens=done, words=7)
            now[0] += 1
    lines = capsys.readouterr().err.splitlines()
    assert [line.split("  ")[1] for line in lines] == ["31 %", "61 %", "91 %"]
    assert lines[0] == "epoch 1/2  31 %  0:02:49 left  perplexity 54.6  loss 4.000  7 words/s"
