"""The evidence on word vectors: what it writes, that it goes on where it was stopped, what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wordtie.errors import DataError
from wordtie.report import word_vectors, word_vectors_table
from wordtie.report.ledger import LedgerError
from wordtie.training.word2vec_run import train_word2vec
from wordtie.uses.similarity_sets import BENCHMARKS

pytest.importorskip("numba")
TRIAL = ["--corpus", "text.txt", "--vector_size", "8", "--epochs", "1", "--runs", "try/runs", "--results", "try"]


@pytest.fixture
def trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A text and benchmarks of its words; the rows that are trained. `STOP` in the folder stops the row it names."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WORDTIE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    ids = np.random.default_rng(0).zipf(1.5, (200, 10)) % 40
    Path("text.txt").write_text("".join(" ".join(f"w{n}" for n in line) + "\n" for line in ids))
    Path("data/wordsim").mkdir(parents=True)
    for file in BENCHMARKS.values():
        Path("data/wordsim", file).write_text("".join(f"w{n} w{n + 1} {n % 7}\n" for n in range(1, 20)))
    begun: list[str] = []

    def noted(data: Any, settings: Any, out: Path, overwrite: bool) -> Any:
        if Path("STOP").exists() and Path("STOP").read_text() == out.name:
            raise KeyboardInterrupt
        begun.append(out.name)
        return train_word2vec(data, settings, out, overwrite)

    monkeypatch.setattr(word_vectors, "train_word2vec", noted)
    return begun


def test_a_stop_loses_one_row_and_the_whole_is_compared_at_the_end(
    trained: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    rows = list(word_vectors.ROWS)
    Path("STOP").write_text(rows[2])
    with pytest.raises(KeyboardInterrupt):
        word_vectors.main(TRIAL)
    Path("STOP").unlink()
    assert trained == rows[:2]
    capsys.readouterr()
    word_vectors.main([*TRIAL, "--only", rows[0], "--only", rows[2], "--workers", "2"])
    assert trained == rows[:3]
    said = capsys.readouterr()
    assert f"{rows[0]}: already there" in said.err
    assert f"compared-cbow: waits for the runs {', '.join(rows[3:])} in try/runs" in said.err
    word_vectors.main(TRIAL)
    assert trained == rows
    table = [line.split("\t") for line in capsys.readouterr().out.splitlines() if "\t" in line]
    assert table[0] == ["row", "vectors", "loss", *BENCHMARKS]
    assert [line[0] for line in table[1:]] == sorted([*rows, rows[0], rows[3]], key=rows.index)
    found = json.loads(Path("try/compared-skipgram.json").read_text())
    assert set(found["agreement"]) == {
        *("input~output", "input~tied", "input~tied-linear", "output~tied", "output~tied-linear", "tied~tied-linear")
    }
    word_vectors.main([*TRIAL[:-1], "try", "--epochs", "2", "--only", rows[0]])
    assert trained == [*rows, rows[0]]  # of other settings


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["--epochs", "1"], "give it its own --runs and --results"), (["--tied", "run"], "give both run folders")],
)
def test_refuses_what_would_mislead(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        word_vectors.main(arguments)
    assert message in capsys.readouterr().err


def test_a_missing_benchmark_is_found_before_the_training(trained: list[str]) -> None:
    Path("data/wordsim", BENCHMARKS["MEN"]).unlink()
    with pytest.raises(DataError, match="WORDTIE_DATA/wordsim"):
        word_vectors.main(TRIAL)
    assert not trained


def test_a_torn_result_is_named(trained: list[str]) -> None:
    result = Path("results/word-vectors/skipgram-untied.json")
    result.parent.mkdir(parents=True, exist_ok=True)
    result.write_text('{"row": ')
    with pytest.raises(LedgerError, match=r"untied\.json: damaged"):
        word_vectors.is_there(result, word_vectors.DATA, word_vectors.COMMON)
    with pytest.raises(LedgerError, match=r"untied\.json: damaged"):
        word_vectors.print_table([result])
    for content in ("[]", "{}"):
        result.write_text(content)
        assert "damaged, no result" in word_vectors_table.damage(result.parent)[0]


def test_the_document_says_what_the_results_say(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    document, results = root / word_vectors_table.DOCUMENT, root / word_vectors.RESULTS
    assert word_vectors_table.check(document, results) == []
    changed = tmp_path / "changed.md"
    changed.write_text(document.read_text().replace("| cbow untied |", "| cbow tied |", 1))
    assert changed.read_text() != document.read_text()
    (problem,) = word_vectors_table.check(changed, results)
    assert "does not say what" in problem
    assert "without its markers" in word_vectors_table.check(tmp_path / "none.md", results)[0]
