"""What rescoring changes: BLEU of Moses' 100-best lists before and after, and speed on DSTC10's lists of speech.

    python -m benchmarks.rescoring_bleu > results/bench/rescoring-bleu.tsv

The lists are those of 100 sentences of Europarl, `nbest/moses` of $WORDTIE_DATA. Weights are fitted to one half of the
sentences and used on the other, both ways, so that no sentence is ranked with weights that saw its reference. `length`
fits the weight of words alone, without a model: these lists are short of words, and BLEU punishes that. `p` and the
interval are of a paired bootstrap. The models are `en`, which comes with wordtie, and a Kneser-Ney 5-gram of the other
1,900 references, which are of the same proceedings.

DSTC10's lists (`nbest/dstc10`, user turns of task 2) have no references: the table has their number, how many have
another best hypothesis with a weight of 0.5 than without, and the speed of one thread, of the wall clock.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from benchmarks import names_given
from wordtie.config import DataSettings
from wordtie.config.ngram import NgramSettings
from wordtie.config.paths import data_folders
from wordtie.data.nbest_files import open_nbest
from wordtie.evaluation.bleu import paired_bootstrap
from wordtie.inference.loading import LoadedModel, load
from wordtie.inference.rescore import Reading, ScoredList, Weights, score_lists
from wordtie.inference.rescore_tuning import tune
from wordtie.training.ngrams import train_ngrams

COLUMNS = ("lists", "model", "ranked by", "BLEU", "before", "low", "high", "p", "weights", "hypotheses", "changed",
           "hypotheses/min")  # fmt: skip
READING = Reading(case="lower")


def main() -> None:
    """Print a row for each model and way to rank."""
    torch.set_num_threads(1)
    folder = next(each / "nbest" for each in data_folders() if (each / "nbest").is_dir())
    moses, dstc10 = folder / "moses" / "test_scorer_data", folder / "dstc10" / "task2_val_logs.json"
    references = (moses / "reference.txt").read_text(encoding="utf-8").splitlines()
    lines = (moses / "nbest.out").read_text(encoding="utf-8").splitlines()
    print(*COLUMNS, sep="\t")
    with tempfile.TemporaryDirectory() as work:
        models = {"en": load("en"), "5-gram of Europarl": in_domain(references[100:], Path(work))}
    for name, model in models.items():
        began = time.perf_counter()
        scored = list(score_lists(model, open_nbest(lines, "nbest.out", "moses")[2], READING))
        seconds = time.perf_counter() - began
        for way in ("length", "model and length") if name == "en" else ("model and length",):
            print(*bleu_row(name, way, scored, references[: len(scored)], seconds), sep="\t", flush=True)
    speech = [json.dumps(each) for each in turns(json.loads(dstc10.read_text(encoding="utf-8")))]
    print(*speed_row("en", models["en"], speech), sep="\t")


def in_domain(sentences: Sequence[str], work: Path) -> LoadedModel:
    """A 5-gram of these sentences, in lower case."""
    text = work / "europarl"
    text.mkdir()
    for split, part in (("train", sentences[100:]), ("valid", sentences[:50]), ("test", sentences[50:100])):
        (text / f"{split}.txt").write_text("".join(f"{each.lower()}\n" for each in part), encoding="utf-8")
    train_ngrams(NgramSettings(DataSettings(str(text), tokenisation="space")), work / "run")
    return load(work / "run")


def bleu_row(
    name: str, way: str, scored: Sequence[ScoredList], references: Sequence[str], seconds: float
) -> tuple[str, ...]:
    """BLEU with weights of the other half, against the order of the lists."""
    if way == "length":
        scored = [replace(each, log_p_H=0 * each.log_p_H, unknown_H=0 * each.unknown_H) for each in scored]
    best, fitted = [""] * len(scored), []
    for half in (0, 1):
        fit = range(half, len(scored), 2)
        weights = tune([scored[n] for n in fit], [references[n] for n in fit], "bleu", READING).weights
        if way == "length":
            weights = replace(weights, lm=0.0)
        fitted.append(f"{weights.lm:.3g}/{weights.word:.3g}/{weights.unknown:.3g}")
        for number in range(1 - half, len(scored), 2):
            best[number] = scored[number].ranked(weights).best_text
    first = [each.ranked(Weights(0.0)).best_text for each in scored]
    found = paired_bootstrap(first, best, references, "none", lowercase=True)
    changed = sum(one != other for one, other in zip(first, best, strict=True))
    return ("moses", "" if way == "length" else name, way, f"{found['bleu']:.2f}", f"{found['baseline_bleu']:.2f}",
            f"{found['low']:.2f}", f"{found['high']:.2f}", f"{found['p_value']:.3f}", " ".join(fitted),
            *counts(scored, changed, seconds))  # fmt: skip


def turns(dialogues: Sequence[Sequence[dict[str, object]]]) -> list[dict[str, object]]:
    """The user's turns that have a list."""
    return [
        {"id": f"{number}-{place}", "nbest": turn["nbest"]}
        for number, dialogue in enumerate(dialogues)
        for place, turn in enumerate(dialogue)
        if turn.get("nbest")
    ]


def speed_row(name: str, model: LoadedModel, lines: Sequence[str]) -> tuple[str, ...]:
    """How many lists change, and how fast."""
    began = time.perf_counter()
    scored = list(score_lists(model, open_nbest(lines, "dstc10", "jsonl")[2], READING))
    seconds = time.perf_counter() - began
    pairs = [(each.ranked(Weights(0.0)).best_text, each.ranked(Weights(0.5)).best_text) for each in scored]
    changed = sum(one != other for one, other in pairs)
    return ("dstc10", name, "model", *[""] * 5, "0.5", *counts(scored, changed, seconds))


def counts(scored: Sequence[ScoredList], changed: int, seconds: float) -> tuple[str, str, str]:
    """Hypotheses, changed lists, speed."""
    hypotheses = sum(len(each.nbest.hypotheses) for each in scored)
    return f"{hypotheses}", f"{changed} of {len(scored)}", f"{60 * hypotheses / seconds:.0f}"


if __name__ == "__main__":
    names_given(__doc__)
    main()
