"""The BabyLM 2025 evaluation pipeline, minimal pairs and reading times, run as its own programs on an export.

The pipeline is not a package: BABYLM_PIPELINE names a checkout, which `scripts/check-ecosystem` makes.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.ecosystem.conftest import Exported, shared_data
from wordtie.data.vocabulary import EOS

pytestmark = pytest.mark.filterwarnings("default")
SETS = ("passive_1", "npi_present_1")
PAIRS = 200
LN_2 = float(np.log(2))


@pytest.fixture
def pipeline() -> Path:
    """The checkout."""
    named = os.environ.get("BABYLM_PIPELINE")
    if not named:
        pytest.skip("BABYLM_PIPELINE does not name a checkout of evaluation-pipeline-2025: scripts/check-ecosystem")
    return Path(named).resolve()


def run(pipeline: Path, module: str, here: Path, arguments: Sequence[str]) -> Path:
    """Run a program of the pipeline where wordtie cannot be imported; gives the folder of its results."""
    code = f"import sys, runpy; sys.modules['wordtie'] = None; runpy.run_module({module!r}, run_name='__main__')"
    around = {**os.environ, "HF_HOME": str(here / "hub"), "HF_MODULES_CACHE": str(here / "code"), "HF_HUB_OFFLINE": "1"}
    common = ["--backend", "causal", "--output_dir", str(here / "results")]
    done = subprocess.run([sys.executable, "-c", code, *common, *arguments], cwd=pipeline, env=around,
                          capture_output=True, text=True, timeout=1200)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return here / "results" / "hf" / "main" / "zero_shot" / "causal"


def test_minimal_pairs(exported: Exported, pipeline: Path, tmp_path: Path) -> None:
    """It chooses the sentences that wordtie finds likelier, given their first words, which it does not score."""
    (tmp_path / "blimp").mkdir()
    pairs: dict[str, list[tuple[str, str]]] = {}
    for name in SETS:
        lines = (shared_data("blimp") / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()[:PAIRS]
        (tmp_path / "blimp" / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        pairs[name] = [(pair["sentence_good"], pair["sentence_bad"]) for pair in map(json.loads, lines)]
    arguments = ["--data_path", str(tmp_path / "blimp"), "--task", "blimp", "--save_predictions",
                 "--model_path_or_name", str(exported.folder)]  # fmt: skip
    results = run(pipeline, "evaluation_pipeline.sentence_zero_shot.run", tmp_path, arguments)
    found = json.loads((results / "blimp" / "blimp" / "predictions.json").read_text())
    chosen = 0
    for name in SETS:
        predictions = [each["pred"] for each in found[name]["predictions"]]
        for (good, bad), prediction in zip(pairs[name], predictions, strict=True):
            good_bits, bad_bits = (bits_after_the_first_word(exported, sentence) for sentence in (good, bad))
            if abs(good_bits - bad_bits) > 1e-3:
                assert prediction == (good if good_bits < bad_bits else bad)
                chosen += 1
    assert chosen > PAIRS, "most pairs are no ties"


def bits_after_the_first_word(exported: Exported, sentence: str) -> float:
    return sum(word.surprisal_bits for word in exported.own.surprisal(sentence)[1:] if word.word != EOS)


def test_reading_times(exported: Exported, pipeline: Path, tmp_path: Path) -> None:
    """Its predictions are wordtie's surprisals, in nats, of each word after the words before it."""
    with (shared_data("ucl-reading") / "all_measures.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    before = {(row["sent_id"], int(row["context_length"])): row for row in rows}
    for row in rows:
        previous = before.get((row["sent_id"], int(row["context_length"]) - 1))
        for name in ("item", "word", "length"):
            row[f"prev_{name}"] = previous[name] if previous else ""
    table = tmp_path / "reading_data.csv"
    with table.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    arguments = ["--data_path", str(table), "--model_path_or_name", str(exported.folder)]
    results = run(pipeline, "evaluation_pipeline.reading.run", tmp_path, arguments) / "reading"
    found = json.loads((results / "predictions.json").read_text())["reading"]["predictions"]
    assert len(found) == len(rows) > 1000
    for row, prediction in zip(rows, found, strict=True):
        words = exported.own.tokenizer.words(row["word"])
        scored = [word for word in exported.own.surprisal(f"{row['item']} {row['word']}") if word.word != EOS]
        expected = LN_2 * sum(word.surprisal_bits for word in scored[len(scored) - len(words) :])
        if len(words) == 1:  # it puts no space between the parts of other words
            assert prediction["pred"] == pytest.approx(expected, abs=1e-3)
    report = (results / "report.txt").read_text()
    assert "EYE TRACKING SCORE" in report
    assert "SELF-PACED READING SCORE" in report
