"""Tiny models, and a server of them that all tests share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.commands import SMALL, small_text
from tests.serve.client import Running, running
from wordtie import cli


@dataclass(frozen=True)
class Runs:
    """Folders of trained models over one vocabulary."""

    tied: Path
    untied: Path
    ngram: Path


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory, cache: None) -> Runs:
    place = tmp_path_factory.mktemp("runs")
    text = str(small_text(place / "text"))
    found = Runs(place / "tied", place / "untied", place / "ngram")
    assert cli.main(["train", text, "--out", str(found.tied), *SMALL, "--model.head", "tied"]) == 0
    assert cli.main(["train", text, "--out", str(found.untied), *SMALL, "--model.head", "untied"]) == 0
    assert cli.main(["ngram", text, "--out", str(found.ngram)]) == 0
    return found


@pytest.fixture(scope="session")
def server(runs: Runs) -> Iterator[Running]:
    with running([runs.untied, runs.ngram, runs.tied]) as found:
        yield found
