"""The two recurrent products that benchmarks/recurrence.py compares."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from benchmarks import recurrence
from benchmarks.harness import Effort, UnavailableError
from benchmarks.recurrence import COLUMNS, PRODUCTS, SEEDS, main, measure_step
from wordtie.config import DataSettings
from wordtie.errors import WordtieError
from wordtie.kernels.backend import tiles_serve


@pytest.mark.skipif(not tiles_serve(), reason="this processor has no AMX, or there is no numba")
def test_each_product_is_trained_with_each_seed(own_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = random.Random(1)
    lines = (" ".join(f"w{generator.randrange(100)}" for _ in range(10)) for _ in range(2000))
    (own_folder / "text.txt").write_text("\n".join(lines))
    monkeypatch.setattr(recurrence, "TEXTS", {"tiny": lambda: DataSettings(corpus="text.txt")})
    file = own_folder / "rows.tsv"
    main(["tiny"], file, 20_000)
    rows = file.read_text()
    networks = [line.split("\t")[COLUMNS.index("network")] for line in rows.splitlines()[1:]]
    assert len(networks) == len(PRODUCTS) * len(SEEDS)
    assert len(set(networks)) > len(SEEDS)
    main(["tiny"], file, 20_000)
    assert file.read_text() == rows


def test_without_tiles_nothing_is_measured(own_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recurrence, "tiles_serve", lambda: False)
    with pytest.raises(WordtieError, match="needs a processor with AMX"):
        main(["ptb"], own_folder / "rows.tsv")
    with pytest.raises(UnavailableError, match="needs a processor with AMX"):
        measure_step("recipe", Effort(3, quick=True))
