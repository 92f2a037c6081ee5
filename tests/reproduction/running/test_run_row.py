"""A row is trained once, gone on with, taken over from `wordtie train`, and trained anew when it must be."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml

from tests.tiny_run import AS_IN_PAPERS
from wordtie import cli
from wordtie.errors import DivergedError, RunFolderError
from wordtie.inference.loading import load
from wordtie.reproduction.ledger.ledger import LedgerError, is_stale, read_entry
from wordtie.reproduction.ledger.record import DIVERGED, Entry
from wordtie.reproduction.ledger.status import states
from wordtie.reproduction.papers.row import Changes, Published, Row
from wordtie.reproduction.render.run_notes import runs
from wordtie.reproduction.running import run_row
from wordtie.reproduction.running.measures import MEASURES
from wordtie.reproduction.running.run_row import Place
from wordtie.runs import checkpoint, layout, provenance, run_folder
from wordtie.training import train as train_module
from wordtie.training import trainer
from wordtie.vectors.agreement import agreement_of
from wordtie.vectors.extraction import vectors_of

OUT_OF_REACH = Published(1.01, 1.01)


def entry_of(row: Row, place: Place, seed: int = 1) -> Entry:
    return read_entry(place.results / f"{row.name}.seed-{seed}.json")


def test_an_entry_says_what_a_reader_needs(row: Row, place: Place) -> None:
    assert run_row.run_row(row, 1, place) == "done"
    entry = entry_of(row, place)
    result = json.loads((place.folder(row, 1) / "result.json").read_text())
    for name in ("test_perplexity", "test_nats", "valid_tokens", "parameters", "weights_sha256", "epochs", "precision"):
        assert entry[name] == result[name]
    assert (entry["row"], entry["seed"], entry["test_tokens"]) == ("tests/table-1/small", 1, 28)
    assert set(entry["data"]) == {"corpus", "train", "valid", "test"}
    assert entry["configuration"]["model"]["hidden"] == 6
    assert len(entry["curve"]["valid"]) == 2
    assert entry["machine"]["cores"] >= 1
    assert entry["code_version"]
    assert entry["torch"]


def test_it_is_not_trained_twice(row: Row, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_row.run_row(row, 1, place) == "done"
    monkeypatch.setattr(run_row, "train", lambda *arguments, **options: pytest.fail("trained again"))
    assert run_row.run_row(row, 1, place) == "already"
    (place.results / f"{row.name}.seed-1.json").unlink()
    assert run_row.run_row(row, 1, place) == "done", "a lost entry comes from the finished run folder"


def test_other_settings_or_another_text_are_another_run(row: Row, place: Place) -> None:
    run_row.run_row(row, 1, place)
    wider = dataclasses.replace(row, changes={**row.changes, "model.hidden": 7})
    with pytest.raises(RunFolderError, match=r"model\.hidden \(6, now 7\).*--again trains it again"):
        run_row.run_row(wider, 1, place)
    assert run_row.run_row(wider, 1, dataclasses.replace(place, again=True)) == "done"
    assert entry_of(row, place)["configuration"]["model"]["hidden"] == 7
    assert run_row.run_row(row, 1, dataclasses.replace(place, again=True)) == "done"
    longer = dataclasses.replace(row, changes={**row.changes, "training.epochs": 3})
    assert run_row.run_row(longer, 1, place) == "done"
    assert entry_of(row, place)["epochs"] == 3
    with pytest.raises(RunFolderError, match=r"has 3 epochs, not 2.*--again"):
        run_row.run_row(row, 1, place)
    path = Path(str(row.changes["data.corpus"])) / "test.txt"
    path.write_text(path.read_text() + "the dog sat\n")
    with pytest.raises(RunFolderError, match="text of test"):
        run_row.run_row(longer, 1, place)


def test_a_run_that_went_on_beyond_its_patience_is_another_one(row: Row, place: Place) -> None:
    longer = dataclasses.replace(row, changes={**row.changes, "training.epochs": 3})
    run_row.run_row(longer, 1, place)
    path = place.folder(row, 1) / layout.CHECKPOINT
    tensors, record = checkpoint.load(path)
    record["position"] |= {"history": [3.0, 4.0, 5.0], "best_perplexity": 3.0, "best_epoch": 1}
    checkpoint.save(path, tensors, record)
    impatient = dataclasses.replace(row, changes={**longer.changes, "training.patience": 1})
    with pytest.raises(RunFolderError, match=r"beyond a patience of 1.*--again"):
        run_row.run_row(impatient, 1, place)
    patient = dataclasses.replace(row, changes={**longer.changes, "training.patience": 2})
    assert run_row.run_row(patient, 1, place) == "done"


def test_another_version_trains_anew_only_when_told(row: Row, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    run_row.run_row(row, 1, place)
    monkeypatch.setattr(provenance, "code_version", lambda: "2.0")
    assert run_row.run_row(row, 1, place) == "already"
    again = dataclasses.replace(place, again=True)
    assert run_row.run_row(row, 1, again) == "done"
    assert entry_of(row, place)["code_version"] == "2.0"
    assert run_row.run_row(row, 1, again) == "already"


def test_out_of_time_it_stops_and_goes_on_to_the_same_bits(row: Row, place: Place) -> None:
    elsewhere = dataclasses.replace(place, runs=Path("elsewhere"), results=Path("other-results"))
    assert run_row.run_row(row, 1, elsewhere) == "done"
    stops, seconds = 0, 0.05
    while run_row.run_row(row, 1, dataclasses.replace(place, max_seconds=seconds)) == "stopped":
        assert not (place.results / f"{row.name}.seed-1.json").exists()
        stops, seconds = stops + 1, 1.2 * seconds  # else a busy machine trains a window a call, or none
    assert stops > 0
    assert entry_of(row, place)["weights_sha256"] == entry_of(row, elsewhere)["weights_sha256"]


def test_a_damaged_record_is_told_of_before_training(row: Row, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = place.folder(row, 1)
    folder.mkdir(parents=True)
    (folder / "metrics.jsonl").write_text("damaged\n")
    monkeypatch.setattr(run_row, "train", lambda *arguments, **options: pytest.fail("trained"))
    with pytest.raises(RunFolderError, match=r"metrics\.jsonl, line 1: damaged"):
        run_row.run_row(row, 1, place)


def test_a_run_that_goes_on_elsewhere_says_so(row: Row, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    longer = dataclasses.replace(row, changes={**row.changes, "training.epochs": 3})
    monkeypatch.setattr(train_module, "precision_of", lambda settings, device: torch.float32)
    assert run_row.run_row(row, 1, place) == "done"
    here = provenance.machine()
    monkeypatch.setattr(provenance, "machine", lambda device: {**here, "gpu": "another"})
    monkeypatch.setattr(train_module, "precision_of", lambda settings, device: torch.bfloat16)
    assert run_row.run_row(longer, 1, place) == "done"
    entry = entry_of(row, place)
    assert [each["gpu"] for each in entry["machines"]] == [here["gpu"], "another"]
    assert entry["precision"] == "float32, bfloat16"


def test_who_is_refused_has_not_trained_it(row: Row, place: Place) -> None:
    assert run_row.run_row(row, 1, place) == "done"
    longer = dataclasses.replace(row, changes={**row.changes, "training.epochs": 3})
    folder = place.folder(row, 1)
    before = (folder / "sessions.jsonl").read_text()
    with run_folder.locked(folder), pytest.raises(RunFolderError, match="another process"):
        run_row.run_row(longer, 1, place)
    assert (folder / "sessions.jsonl").read_text() == before


def test_a_damaged_run_is_replaced_only_when_told(row: Row, place: Place) -> None:
    again = dataclasses.replace(place, again=True)
    for name in ("checkpoints/last.safetensors", "model.safetensors", "sessions.jsonl", "settings.yaml"):
        run_row.run_row(row, 1, again)
        (place.results / f"{row.name}.seed-1.json").unlink()
        (place.folder(row, 1) / name).write_bytes(b"{\n")
        with pytest.raises(RunFolderError, match=f"{Path(name).name}.*--again trains it again"):
            run_row.run_row(row, 1, place)
        assert run_row.run_row(row, 1, again) == "done"
    (place.folder(row, 1) / "checkpoints/last.safetensors").unlink()
    assert run_row.run_row(row, 1, place) == "already"
    (place.results / f"{row.name}.seed-1.json").unlink()
    assert run_row.run_row(row, 1, place) == "done", "a finished run needs no checkpoint"
    (place.results / f"{row.name}.seed-1.json").unlink()
    (place.folder(row, 1) / "sessions.jsonl").unlink()
    with pytest.raises(RunFolderError, match="what trained it is unknown: restore it from a copy"):
        run_row.run_row(row, 1, place)


def test_a_run_of_wordtie_train_is_taken_over(row: Row, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    with (Path(str(row.changes["data.corpus"])) / "train.txt").open("a") as train_text:
        train_text.write("<unk>\n")  # by which the text decides on a least count of 1, that of the row
    options = [f"--{name}={value}" for name, value in row.changes.items()]
    folder = place.folder(row, 1)
    assert cli.main(["train", *AS_IN_PAPERS, *options, "--training.threads", "1", "--out", str(folder)]) == 0
    monkeypatch.setattr(run_row, "train", lambda *arguments, **options: pytest.fail("trained again"))
    assert run_row.run_row(row, 1, place) == "done"
    assert entry_of(row, place)["machine"] == provenance.machine()
    (folder / "model.safetensors").write_bytes(b"flipped")
    (place.results / f"{row.name}.seed-1.json").unlink()
    with pytest.raises(RunFolderError, match="damaged"):
        run_row.run_row(row, 1, place)


def test_of_a_run_with_n_grams_the_network_is_measured(row: Row, place: Place) -> None:
    with (Path(str(row.changes["data.corpus"])) / "train.txt").open("a") as train_text:
        train_text.write("<unk>\n")
    options = [f"--{name}={value}" for name, value in row.changes.items()]
    folder = place.folder(row, 1)
    command = ["train", *AS_IN_PAPERS, *options, "--training.threads", "1", "--ngram", "2"]
    assert cli.main([*command, "--out", str(folder)]) == 0
    assert run_row.run_row(dataclasses.replace(row, measures=("predictions",)), 1, place) == "done"
    for phrase, words in entry_of(row, place)["measures"]["predictions"].items():
        predicted = load(folder, part="network").predict(phrase, top=10)
        assert [word for word, _ in words] == [word for word, _ in predicted]
        assert words[0][1] == pytest.approx(predicted[0][1], abs=1e-6)


def test_a_run_of_another_least_count_is_not_taken_over(row: Row, place: Place) -> None:
    options = [f"--{name}={value}" for name, value in row.changes.items()]
    folder = place.folder(row, 1)
    assert cli.main(["train", *options, "--data.min_count", "3", "--out", str(folder)]) == 0
    (folder / layout.CHECKPOINT).unlink()
    with pytest.raises(RunFolderError, match="has a model, but no"):
        run_row.run_row(row, 1, place)


def test_a_second_stage_is_trained_where_the_first_fell_short(row: Row, place: Place) -> None:
    twice = dataclasses.replace(row, later_stages=({"training.epochs": 3},), published=OUT_OF_REACH)
    assert run_row.run_row(twice, 1, place) == "done"
    entry = entry_of(row, place)
    assert [each["changed"] for each in entry["sessions"]] == [{}, {"training.epochs": 3}]
    assert entry["valid_perplexity"] == min(each["valid_perplexity"] for each in entry["sessions"])
    settings = yaml.safe_load((place.folder(row, 1, stage=2) / "settings.yaml").read_text())
    assert settings["training"]["start_from"] == str(place.folder(row, 1))
    assert run_row.run_row(twice, 1, place) == "already"
    longer = dataclasses.replace(twice, later_stages=({"training.epochs": 4},))
    assert is_stale(entry, longer)
    assert run_row.run_row(longer, 1, place) == "done"
    first, second = entry_of(row, place)["sessions"]
    assert (first["epochs"], second["epochs"]) == (2, 4)
    assert second["started_from"] == first["weights_sha256"] != second["weights_sha256"]
    assert second["code_version"] == provenance.code_version()
    enough = dataclasses.replace(row, later_stages=({"training.epochs": 3},), published=Published(1e9, 1e9))
    assert run_row.run_row(enough, 2, place) == "done"
    assert "sessions" not in entry_of(row, place, seed=2)


def test_stages_follow_each_other_until_the_published_number_is_reached(row: Row, place: Place) -> None:
    longer: tuple[Changes, ...] = ({}, {"training.epochs": 3}, {"training.epochs": 1})
    assert run_row.run_row(dataclasses.replace(row, later_stages=longer, published=OUT_OF_REACH), 1, place) == "done"
    whole = entry_of(row, place)
    expected = list(zip((2, 2, 3, 1), ({}, *longer), strict=True))
    assert [(each["epochs"], each["changed"]) for each in whole["sessions"]] == expected
    for number, (before, after) in enumerate(pairwise(whole["sessions"]), start=2):
        assert after["started_from"] == before["weights_sha256"]
        settings = yaml.safe_load((place.folder(row, 1, stage=number) / "settings.yaml").read_text())
        assert settings["training"]["start_from"] == str(place.folder(row, 1, stage=number - 1))
    second = whole["sessions"][1]["valid_perplexity"]
    assert second < whole["sessions"][0]["valid_perplexity"]
    (place.results / f"{row.name}.seed-1.json").unlink()
    reached = dataclasses.replace(row, later_stages=longer, published=Published(second, 1.0))
    assert run_row.run_row(reached, 1, place) == "done"
    assert [each["epochs"] for each in entry_of(row, place)["sessions"]] == [2, 2]
    assert run_row.run_row(reached, 1, place) == "already"
    assert run_row.run_row(dataclasses.replace(reached, published=OUT_OF_REACH), 1, place) == "done"
    assert entry_of(row, place)["sessions"] == whole["sessions"]


def test_a_second_stage_belongs_to_the_first_it_was_begun_from(row: Row, place: Place) -> None:
    twice = dataclasses.replace(row, later_stages=({"training.epochs": 2},), published=OUT_OF_REACH)
    assert run_row.run_row(twice, 1, place) == "done"
    longer = dataclasses.replace(twice, changes={**row.changes, "training.epochs": 12})
    with pytest.raises(RunFolderError, match=r"other weights than those of the stage before.*--again"):
        run_row.run_row(longer, 1, place)
    assert run_row.run_row(longer, 1, dataclasses.replace(place, again=True)) == "done"
    assert [each["changed"] for each in entry_of(row, place)["sessions"]] == [{}, {"training.epochs": 2}]


def test_a_second_stage_goes_on_where_the_folders_lie_by_now(row: Row, place: Place) -> None:
    twice = dataclasses.replace(row, later_stages=({"training.epochs": 2},), published=OUT_OF_REACH)
    run_row.run_row(twice, 1, place)
    shutil.rmtree(place.results)
    moved = dataclasses.replace(place, runs=Path("elsewhere"))
    place.runs.rename(moved.runs)
    further = dataclasses.replace(twice, later_stages=({"training.epochs": 3},))
    assert run_row.run_row(further, 1, moved) == "done"
    assert [each["epochs"] for each in entry_of(row, place)["sessions"]] == [2, 3]


def test_what_could_not_be_measured_is_measured_later(row: Row, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MEASURES, "judged", lambda folder: {})
    judged = dataclasses.replace(row, measures=("judged",))
    assert run_row.run_row(judged, 1, place) == "done"
    assert entry_of(row, place)["measures"] == {"judged": {}}
    monkeypatch.setitem(MEASURES, "judged", lambda folder: {"rho": 0.5})
    monkeypatch.setattr(run_row, "train", lambda *arguments, **options: pytest.fail("trained again"))
    assert run_row.run_row(judged, 1, place) == "done"
    assert entry_of(row, place)["measures"] == {"judged": {"rho": 0.5}}
    assert run_row.run_row(judged, 1, place) == "already"


def test_a_tied_model_is_held_against_the_untied_one_beside_it(row: Row, place: Place) -> None:
    tied = Row("tests/table-1/wt", "tied", Published(), {**row.changes, "model.head": "tied"},
               measures=("agreement_with_small",))  # fmt: skip
    assert run_row.run_row(tied, 1, place) == "done"
    path = place.results / "tests/table-1/wt.seed-1.json"
    assert read_entry(path)["measures"] == {"agreement_with_small": {}}
    run_row.run_row(dataclasses.replace(row, changes={**row.changes, "model.head": "untied"}), 1, place)
    assert run_row.run_row(tied, 1, place) == "done"
    measured = read_entry(path)["measures"]["agreement_with_small"]
    own = vectors_of(place.folder(tied, 1))
    for side in ("input", "output"):
        rho = agreement_of(vectors_of(place.folder(row, 1), side), own).rho
        assert measured[f"{side}~tied"]["rho"] == round(rho, 4)
    assert measured["small_weights_sha256"] == entry_of(row, place)["weights_sha256"]
    assert run_row.run_row(tied, 1, place) == "already"
    result = json.loads((place.folder(row, 1) / "result.json").read_text())
    (place.folder(row, 1) / "result.json").write_text(json.dumps({**result, "weights_sha256": "of others"}))
    assert run_row.run_row(tied, 1, place) == "done", "small has been trained anew since"
    (place.folder(row, 1) / "result.json").write_text(json.dumps({**result, "stopped": "max_time"}))
    (place.results / "tests/table-1/wt.seed-1.json").unlink()
    assert run_row.run_row(tied, 1, place) == "done"
    assert read_entry(path)["measures"] == {"agreement_with_small": {}}, "small is not finished"
    (place.folder(row, 1) / "result.json").write_text("{")
    with pytest.raises(RunFolderError, match=r"small.*result\.json: damaged"):
        run_row.run_row(tied, 1, place)


def killed_in_its_first_epoch(row: Row, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def kill(run: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(trainer.Trainer, "validate", kill)
        with pytest.raises(KeyboardInterrupt):
            run_row.run_row(row, 1, place)


def test_a_finished_run_that_is_gone_on_with_and_killed_has_no_result(
    row: Row, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    longer = dataclasses.replace(row, changes={**row.changes, "training.epochs": 5})
    assert run_row.run_row(row, 1, place) == "done"
    killed_in_its_first_epoch(longer, place, monkeypatch)
    assert not (place.folder(row, 1) / "result.json").exists()
    assert run_row.run_row(longer, 1, place) == "done"
    assert (entry_of(row, place)["epochs"], len(entry_of(row, place)["curve"]["valid"])) == (5, 5)


def test_a_row_that_diverges_says_where_other_settings_go(row: Row, place: Place) -> None:
    wild = dataclasses.replace(row, changes={**row.changes, "training.lr": 1e38, "training.clip": 0.0})
    with pytest.raises(DivergedError, match=r"is not a number.*Try --lr.*`wordtie train --config .*settings"):
        run_row.run_row(wild, 1, place)


def test_a_row_that_diverged_is_listed_so(row: Row, place: Place) -> None:
    wild = dataclasses.replace(row, changes={**row.changes, "training.lr": 1e38, "training.clip": 0.0})
    with pytest.raises(DivergedError):
        run_row.run_row(wild, 1, place)
    (state,) = states([], place.runs, [wild])
    assert state.status == "diverged"
    assert re.fullmatch(r"diverged at epoch 1, window 2; epoch 0\.\d+, 0:00:\d\d trained", state.why)


def test_a_second_stage_that_diverges_leaves_the_first(row: Row, place: Place) -> None:
    wild = {"training.lr": 1e38, "training.clip": 0.0}
    twice = dataclasses.replace(row, later_stages=(wild,), published=OUT_OF_REACH)
    assert run_row.run_row(twice, 1, place) == "done"
    entry = entry_of(row, place)
    assert (entry["epochs"], entry[DIVERGED]) == (2, wild)
    assert "sessions" not in entry
    (state,) = states([entry], place.runs, [twice])
    assert str(runs([state])[0]).startswith("seed 1, 2 epochs (best 2), a later stage diverged")
    assert run_row.run_row(twice, 1, place) == "already"
    tamer = dataclasses.replace(twice, later_stages=({"training.epochs": 3},))
    with pytest.raises(RunFolderError, match="--again trains it again"):
        run_row.run_row(tamer, 1, place)
    assert run_row.run_row(tamer, 1, dataclasses.replace(place, again=True)) == "done"
    assert len(entry_of(row, place)["sessions"]) == 2


def test_a_curve_has_the_validations_that_are_spread_over_tokens(row: Row, place: Place) -> None:
    """Some of an epoch's, or several in one, are not taken for those of epochs."""
    changes: Changes = {"training.tokens": 700, "training.validations": 5, "training.patience": 0}
    planned = dataclasses.replace(row, changes={**row.changes, **changes})
    run_row.run_row(planned, 1, place)
    folder = place.folder(planned, 1)
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    measured = [line["valid_perplexity"] for line in lines if "valid_perplexity" in line]
    entry = entry_of(planned, place)
    assert len(measured) == 5 != entry["epochs"]
    assert entry["curve"]["valid"] == pytest.approx(measured, abs=1e-3)


def test_a_curve_that_is_not_whole_is_refused(row: Row, place: Place) -> None:
    run_row.run_row(row, 1, place)
    (place.results / f"{row.name}.seed-1.json").unlink()
    metrics = place.folder(row, 1) / "metrics.jsonl"
    metrics.write_text(metrics.read_text().partition("\n")[2])
    with pytest.raises(RunFolderError, match=r"has no line for each of the 2 epochs.*--again trains it again"):
        run_row.run_row(row, 1, place)
    assert run_row.run_row(row, 1, dataclasses.replace(place, again=True)) == "done"


def test_a_curve_that_is_not_whole_is_refused_before_more_is_trained(
    row: Row, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_row.run_row(row, 1, place)
    (place.results / f"{row.name}.seed-1.json").unlink()
    for name in ("result.json", "metrics.jsonl"):
        (place.folder(row, 1) / name).unlink()
    monkeypatch.setattr(run_row, "train", lambda *arguments, **options: pytest.fail("trained"))
    with pytest.raises(RunFolderError, match="has no line for each of the 2 epochs"):
        run_row.run_row(row, 1, place)


def test_what_was_measured_of_the_same_weights_is_kept(row: Row, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    found: dict[str, Any] = {"similarity": {"input": {"MEN": 0.5}}, "agreement": {}}
    monkeypatch.setitem(MEASURES, "similarity", lambda _: found["similarity"])
    monkeypatch.setitem(MEASURES, "agreement", lambda _: found["agreement"])
    measured = dataclasses.replace(row, measures=tuple(found))
    assert run_row.run_row(measured, 1, place) == "done"
    found["similarity"], found["agreement"] = {}, {"rho": 0.25}
    assert run_row.run_row(measured, 1, place) == "done"
    assert entry_of(row, place)["measures"] == {"similarity": {"input": {"MEN": 0.5}}, "agreement": {"rho": 0.25}}


def test_counting_draws_nothing(row: Row, place: Place) -> None:
    changes = {"data.corpus": row.changes["data.corpus"]}
    counted = Row("tests/table-1/counted", "counted", Published(), changes, kind="kneser_ney")
    assert [run_row.run_row(counted, seed, place) for seed in (1, 2)] == ["done", "already"]


def test_a_torn_line_of_a_stage_is_dropped(row: Row, place: Place) -> None:
    longer = dataclasses.replace(row, changes={**row.changes, "training.epochs": 3})
    run_row.run_row(row, 1, place)
    log = place.folder(row, 1) / "sessions.jsonl"
    log.write_text(log.read_text() + '{"code_ver')
    assert len(provenance.invocations(place.folder(row, 1))) == 1
    assert run_row.run_row(longer, 1, place) == "done"
    assert [json.loads(line)["epoch"] for line in log.read_text().splitlines()] == [1, 3]


def test_again_begins_anew_what_another_version_began(row: Row, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    killed_in_its_first_epoch(row, place, monkeypatch)
    monkeypatch.setattr(provenance, "code_version", lambda: "2.0")
    assert run_row.run_row(row, 1, dataclasses.replace(place, again=True)) == "done"
    assert "code_versions" not in entry_of(row, place)
    assert run_row.run_row(row, 1, dataclasses.replace(place, again=True)) == "already"


@pytest.mark.parametrize("scheme", ["data_noising", "variational_smoothing"])
def test_sampling_is_what_a_run_that_predicts_so_comes_to(row: Row, place: Place, scheme: str) -> None:
    noise = {"noise.kind": "kneser_ney", "noise.scheme": scheme, "noise.gamma": 0.4, "model.head": "tied"}
    noisy = dataclasses.replace(row, changes={**row.changes, **noise}, measures=("sampling",))
    run_row.run_row(noisy, 1, place)
    sampled = {**noisy.changes, "noise.prediction": "sampling", "noise.samples": 20}
    run_row.run_row(dataclasses.replace(row, name="tests/table-1/sampled", changes=sampled), 1, place)
    there = read_entry(place.results / "tests/table-1/sampled.seed-1.json")
    measured = entry_of(row, place)["measures"]["sampling"]["valid perplexity"]
    assert measured == pytest.approx(there["valid_perplexity"], rel=1e-4)
    assert measured != pytest.approx(entry_of(row, place)["valid_perplexity"], rel=1e-3)


def test_the_mode_has_the_perplexities_of_a_run_that_predicts_so(row: Row, place: Place) -> None:
    smoothed = {**row.changes, "noise.kind": "kneser_ney", "noise.gamma": 0.4, "model.head": "tied"}
    run_row.run_row(dataclasses.replace(row, changes=smoothed, measures=("mode",)), 1, place)
    changes = {**smoothed, "noise.prediction": "mode"}
    run_row.run_row(dataclasses.replace(row, name="tests/table-1/mode", changes=changes), 1, place)
    there, here = read_entry(place.results / "tests/table-1/mode.seed-1.json"), entry_of(row, place)
    for split in ("valid", "test"):
        measured = here["measures"]["mode"][f"{split} perplexity"]
        assert measured == pytest.approx(there[f"{split}_perplexity"], rel=1e-4)  # type: ignore[literal-required]
        assert measured != pytest.approx(here[f"{split}_perplexity"], rel=1e-3)  # type: ignore[literal-required]


def test_a_damaged_entry_is_replaced_only_when_told(row: Row, place: Place) -> None:
    run_row.run_row(row, 1, place)
    path = place.results / f"{row.name}.seed-1.json"
    path.write_text(path.read_text()[:50])
    with pytest.raises(LedgerError, match="with --again"):
        run_row.run_row(row, 1, place)
    assert run_row.run_row(row, 1, dataclasses.replace(place, again=True)) == "done"
    assert run_row.run_row(row, 1, place) == "already"


def test_kneser_ney_is_counted(row: Row, place: Place) -> None:
    counted = dataclasses.replace(row, kind="kneser_ney")
    assert run_row.run_row(counted, 1, place) == "done"
    entry = entry_of(row, place)
    assert entry["test_tokens"] == 28
    assert 1 < entry["test_perplexity"] < 3
    lines = (Path(str(row.changes["data.corpus"])) / "train.txt").read_text().splitlines()
    sentences = [["<s>", *line.split(), "<eos>"] for line in lines]
    ngrams = {tuple(each[at : at + n]) for each in sentences for n in range(2, 6) for at in range(len(each) - n + 1)}
    words = {word for each in sentences for word in each[1:]} | {"<unk>"}
    assert entry["parameters"] == len(words) + len(ngrams)
    assert run_row.run_row(counted, 1, place) == "already"


def test_what_is_given_in_vain_is_the_mean_over_the_test_text(row: Row, place: Place) -> None:
    """Word by word through `wordtie.load`; in this text all words are frequent."""
    measured = dataclasses.replace(row, measures=("repetition", "mass"))
    run_row.run_row(measured, 1, place)
    found = entry_of(row, place)["measures"]
    loaded = load(place.folder(row, 1))
    vocabulary = loaded.tokenizer.vocabulary
    words = (Path(str(row.changes["data.corpus"])) / "test.txt").read_text().replace("\n", " <eos> ").split()
    ids = [int(number) for number in vocabulary.encode(words)]
    frequent = [number for number in range(len(vocabulary)) if number not in (vocabulary.unk_id, vocabulary.eos_id)]
    state, vain = loaded.model.initial_state(1), {"unk": [], "frequent": []}  # type: ignore[var-annotated]
    for number in ids:
        p_V = np.exp(loaded.model.next(state)[0])
        state = loaded.model.advance(np.array([[number]]), state)
        if number != vocabulary.unk_id:
            vain["unk"].append(p_V[vocabulary.unk_id])
        if number not in frequent[:50]:
            vain["frequent"].append(p_V[frequent[:50]].sum())
    for name, values in vain.items():
        assert found["mass"][name] == pytest.approx(100 * np.mean(values), rel=1e-3)
    assert set(found["repetition"]) == {"repeated", "repeated elsewhere", "found"}
