"""Tiny models, and a server of them that all tests share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.commands import SMALL, small_text
from wordtie import cli

if TYPE_CHECKING:
    from tests.serve.client import Running

NEEDED = ("fastapi", "httptools", "prometheus_client", "pydantic", "uvicorn")
collect_ignore_glob = [] if all(map(find_spec, NEEDED)) else ["test_*.py"]
"""Without the extra `serve`, the other tests run all the same."""


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
    from tests.serve.client import running

    with running([runs.untied, runs.ngram, runs.tied]) as found:
        yield found
