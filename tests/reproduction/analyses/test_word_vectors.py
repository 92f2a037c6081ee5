"""The evidence on word vectors: what it writes, that it goes on where it was stopped, what it refuses."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wordtie.errors import DataError, RunFolderError
from wordtie.reproduction.analyses import word_vectors
from wordtie.reproduction.ledger.ledger import LedgerError, write_sealed
from wordtie.reproduction.render import word_vectors_table
from wordtie.vectors.benchmarks import BENCHMARKS
from wordtie.word2vec.run import train_word2vec

pytest.importorskip("numba")
TRIAL = ["--corpus", "text.txt", "--vector-size", "8", "--epochs", "1", "--runs", "try/runs", "--results", "try"]


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


def rewritten(result: Path, **changes: Any) -> None:
    """The result as the program would have written it with these changes; a key of None is left out."""
    content = {key: value for key, value in {**json.loads(result.read_text()), **changes}.items() if value is not None}
    write_sealed(result, content)


def test_a_row_of_another_text_is_trained_anew_and_in_no_table(
    trained: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    rows = list(word_vectors.ROWS)
    word_vectors.main([*TRIAL, "--only", rows[0], "--only", rows[1]])
    result = Path("try", f"{rows[0]}.json")
    before = json.loads(result.read_text())["texts"]
    assert before == json.loads(Path("try/runs", rows[0], "config.json").read_text())["texts"]
    assert set(before) == {"train", "valid", "test"}
    Path("text.txt").write_text(Path("text.txt").read_text() + "w1 w2 w3\n")
    capsys.readouterr()
    word_vectors.main([*TRIAL, "--only", rows[0]])
    assert trained == [*rows[:2], rows[0]]
    assert json.loads(result.read_text())["texts"] != before
    said = capsys.readouterr()
    assert f"{rows[0]}\tinput" in said.out
    assert rows[1] not in said.out
    assert f"{rows[1]}: of another text or other settings" in said.err


def test_the_document_waits_until_all_rows_are_of_one_text(trained: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    name, other = list(word_vectors.ROWS)[:2]
    updated: list[Path] = []
    monkeypatch.setattr(word_vectors, "RESULTS", Path("try"))
    monkeypatch.setattr(word_vectors, "DATA", replace(word_vectors.DATA, corpus="text.txt"))
    monkeypatch.setattr(word_vectors, "COMMON", replace(word_vectors.COMMON, vector_size=8, epochs=1))
    monkeypatch.setattr(word_vectors, "update", lambda document, results: updated.append(results))
    word_vectors.main([*TRIAL, "--only", name, "--only", other])
    assert len(updated) == 1
    Path("text.txt").write_text(Path("text.txt").read_text() + "w1 w2 w3\n")
    word_vectors.main([*TRIAL, "--only", name])
    assert len(updated) == 1
    word_vectors.main([*TRIAL, "--only", other])
    assert len(updated) == 2


def test_a_result_from_before_texts_were_noted_still_stands(trained: list[str]) -> None:
    name = next(iter(word_vectors.ROWS))
    word_vectors.main([*TRIAL, "--only", name])
    rewritten(Path("try", f"{name}.json"), texts=None)
    Path("text.txt").write_text(Path("text.txt").read_text() + "w1 w2 w3\n")
    word_vectors.main([*TRIAL, "--only", name])
    assert trained == [name]


def test_a_result_that_was_changed_by_hand_is_not_gone_on_with(trained: list[str]) -> None:
    name = next(iter(word_vectors.ROWS))
    word_vectors.main([*TRIAL, "--only", name])
    result = Path("try", f"{name}.json")
    result.write_text(result.read_text().replace('"rho": 0', '"rho": 1').replace('"rho": -0', '"rho": -1'))
    with pytest.raises(LedgerError, match=r"untied\.json: was changed by hand.*remove it and run"):
        word_vectors.main([*TRIAL, "--only", name])
    assert trained == [name]
    with pytest.raises(LedgerError, match=r"untied\.json: was changed by hand"):
        word_vectors_table.tables(result.parent)
    assert "was changed by hand" in word_vectors_table.damage(result.parent)[0]


def test_models_that_are_not_those_of_the_rows_are_not_compared(trained: list[str]) -> None:
    three = {"untied": "cbow-untied", "tied": "cbow-tied", "tied-linear": "cbow-tied-linear"}
    only = [word for name in three.values() for word in ("--only", name)]
    word_vectors.main([*TRIAL, *only])
    compared = Path("try/compared-cbow.json")
    before = compared.read_bytes()
    data, folder = replace(word_vectors.DATA, corpus="text.txt"), Path("try/runs/cbow-tied")
    settings = replace(word_vectors.ROWS["cbow-tied"], vector_size=8, epochs=1, seed=2)
    train_word2vec(data, settings, folder, overwrite=True)
    with pytest.raises(RunFolderError, match=r"runs/cbow-tied: has other weights than try/cbow-tied\.json .*remove"):
        word_vectors.main([*TRIAL, *only])
    assert compared.read_bytes() == before
    Path("try/cbow-tied.json").unlink()  # what the message says
    word_vectors.main([*TRIAL, *only])
    assert trained == [*three.values(), "cbow-tied"]


def test_the_committed_results_are_there_without_their_text(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WORDTIE_DATA", str(tmp_path))
    results = Path(__file__).parents[3] / word_vectors.RESULTS
    for name, settings in word_vectors.ROWS.items():
        assert word_vectors.is_there(results / f"{name}.json", word_vectors.DATA, settings)
    assert word_vectors_table.damage(results) == []


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
    with pytest.raises(LedgerError, match=r"untied\.json: not a result of `wordtie reproduce`, or damaged"):
        word_vectors.is_there(result, word_vectors.DATA, word_vectors.COMMON)
    with pytest.raises(LedgerError, match=r"untied\.json: not a result of `wordtie reproduce`, or damaged"):
        word_vectors.print_table([result])
    for content in ("[]", "{}"):
        result.write_text(content)
        assert (
            "untied.json: not a result of `wordtie reproduce`, or damaged"
            in word_vectors_table.damage(result.parent)[0]
        )


def test_the_document_says_what_the_results_say(tmp_path: Path) -> None:
    root = Path(__file__).parents[3]
    document, results = root / word_vectors_table.DOCUMENT, root / word_vectors.RESULTS
    assert word_vectors_table.check(document, results) == []
    changed = tmp_path / "changed.md"
    changed.write_text(document.read_text().replace("| cbow untied |", "| cbow tied |", 1))
    assert changed.read_text() != document.read_text()
    (problem,) = word_vectors_table.check(changed, results)
    assert "does not say what" in problem
    assert "without its markers" in word_vectors_table.check(tmp_path / "none.md", results)[0]
