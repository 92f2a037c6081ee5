"""lm-evaluation-harness runs BLiMP from local files, without network, and agrees with `wordtie pairs`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ecosystem.conftest import Exported, shared_data
from wordtie.data.vocabulary import EOS
from wordtie.inference.pairs import read_pairs

pytestmark = pytest.mark.filterwarnings("default")
SETS = ("passive_1", "determiner_noun_agreement_2", "wh_questions_object_gap")
PAIRS = 300

TASK = """\
task: wordtie_{name}
dataset_path: json
dataset_kwargs:
  data_files: {file}
output_type: multiple_choice
test_split: train
doc_to_text: ""
target_delimiter: ""
doc_to_target: 0
doc_to_choice: "{{{{[sentence_good, sentence_bad]}}}}"
metric_list:
  - metric: acc
    aggregation: mean
    higher_is_better: true
"""


def test_accuracies_are_those_of_wordtie(exported: Exported, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lm_eval = pytest.importorskip("lm_eval", reason="lm_eval is not installed: scripts/check-ecosystem")
    tasks = pytest.importorskip("lm_eval.tasks")

    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    here = tmp_path / "tasks"
    here.mkdir()
    for name in SETS:
        lines = (shared_data("blimp") / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()[:PAIRS]
        (here / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        (here / f"{name}.yaml").write_text(TASK.format(name=name, file=here / f"{name}.jsonl"))
    results = lm_eval.simple_evaluate(
        model="hf",
        model_args={"pretrained": str(exported.folder), "trust_remote_code": True},
        tasks=[f"wordtie_{name}" for name in SETS],
        task_manager=tasks.TaskManager(include_path=str(here), include_defaults=False),
        batch_size=64,
        device="cpu",
        bootstrap_iters=0,
    )
    for name in SETS:
        samples = results["samples"][f"wordtie_{name}"]
        text = (here / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
        pairs = {(pair.good, pair.bad): pair for pair in read_pairs(text, name, "sentence_good", "sentence_bad")}
        assert len(samples) == PAIRS
        right = 0
        for sample in samples:
            found = [response[0][0] for response in sample["resps"]]
            pair = pairs[sample["doc"]["sentence_good"], sample["doc"]["sentence_bad"]]
            expected = [nats_of_words(exported, sentence) for sentence in (pair.good, pair.bad)]
            assert found == pytest.approx(expected, abs=1e-3)
            right += expected[0] >= expected[1]  # it counts a tie as right
        assert results["results"][f"wordtie_{name}"]["acc,none"] == pytest.approx(right / PAIRS, abs=1 / PAIRS)


def nats_of_words(exported: Exported, sentence: str) -> float:
    """log p of the words, without the <eos> after them."""
    bits = sum(word.surprisal_bits for word in exported.own.surprisal(sentence) if word.word != EOS)
    return -bits * 0.6931471805599453
