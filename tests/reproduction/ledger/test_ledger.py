"""What was edited by hand shows; what the document says is what the results say."""

from __future__ import annotations

import json
import math
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from wordtie import cli
from wordtie.config import to_dict
from wordtie.errors import DataError
from wordtie.reproduction.ledger.ledger import (
    LedgerError,
    configuration,
    entry_path,
    read_all,
    read_entry,
    read_sound,
    write_entry,
    write_sealed,
)
from wordtie.reproduction.ledger.record import Curve, Entry, Scores, Stage
from wordtie.reproduction.ledger.status import Mean, states
from wordtie.reproduction.papers.registry import ROWS
from wordtie.reproduction.papers.row import Published, Row
from wordtie.reproduction.render import document
from wordtie.reproduction.render.overview import overview
from wordtie.reproduction.render.tables import listing, markdown
from wordtie.reproduction.running.run_row import Place
from wordtie.runs import run_folder

REPOSITORY = Path(__file__).parents[3]


def made_up(row: Row, seed: int = 1, valid: float = 20.0, test: float = 20.0) -> Entry:
    """An entry as a run of the row would leave it."""
    return {
        "row": row.name,
        "seed": seed,
        "configuration": configuration(row.settings(seed)),
        "code_version": "1.0",
        "precision": "float32",
        "machine": {"cpu": "a CPU", "cores": 2, "gpu": None},
        "epochs": 3,
        "best_epoch": 2,
        "seconds": 400.0,
        "parameters": 2_650_000,
        "valid_nats": 10 * math.log(valid),
        "valid_tokens": 10,
        "valid_perplexity": valid,
        "test_nats": 10 * math.log(test),
        "test_tokens": 10,
        "test_perplexity": test,
        "curve": {"train": [30.0, 25.0, 22.0], "valid": [29.0, valid, valid + 1]},
    }


def stage(row: Row, **more: Any) -> Stage:
    """One of the stages of such an entry, with scores as good as any."""
    scores = {name: value for name, value in made_up(row).items() if name in Scores.__annotations__}
    return cast(Stage, {**scores, **more})


def edit(path: Path, **changes: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}, indent=2))


def test_an_edited_number_is_found(row: Row, place: Place) -> None:
    path = write_entry(place.results, made_up(row))
    assert read_entry(path)["test_perplexity"] == 20.0
    edit(path, test_perplexity=19.0)
    with pytest.raises(LedgerError, match="changed by hand"):
        read_entry(path)


def test_an_entry_in_the_wrong_place_is_found(row: Row, place: Place) -> None:
    path = write_entry(place.results, made_up(row))
    with pytest.raises(LedgerError, match="put it back"):
        read_entry(path.rename(path.with_name("small.seed-2.json")))
    (place.results / "x.seed-1.json").write_text("{}")
    with pytest.raises(LedgerError, match="not a result"):
        read_entry(place.results / "x.seed-1.json")


def test_a_perplexity_must_be_that_of_its_nats(row: Row, place: Place) -> None:
    wrong: Entry = {**made_up(row), "valid_nats": 1.0}
    with pytest.raises(LedgerError, match="exp"):
        write_entry(place.results, wrong)
    path = entry_path(place.results, row.name, 1)
    write_sealed(path, {**wrong, "version": 1})
    with pytest.raises(LedgerError, match="exp"):
        read_entry(path)


def test_a_number_that_stands_there_twice_is_found(row: Row, place: Place) -> None:
    """Whoever reads the file sees the first, a program the last."""
    path = write_entry(place.results, made_up(row))
    path.write_text(path.read_text().replace("{", '{\n  "test_perplexity": 9.9,', 1))
    with pytest.raises(LedgerError, match="is there twice"):
        read_entry(path)


def test_json_that_is_nested_beyond_reading_is_damage(row: Row, place: Place) -> None:
    path = write_entry(place.results, made_up(row))
    path.write_text("[" * 100_000)
    with pytest.raises(LedgerError, match="damaged"):
        read_entry(path)


@pytest.mark.parametrize(
    ("tests", "status"), [([20.3], "reached"), ([20.5], "not reached"), ([20.5, 20.1], "reached"), ([], "not run")]
)
def test_reached_is_within_two_percent_over_the_seeds(row: Row, place: Place, tests: list[float], status: str) -> None:
    for seed, test in enumerate(tests, 1):
        write_entry(place.results, made_up(row, seed, test=test))
    (state,) = states(read_all(place.results) if tests else [], None, [row])
    assert state.status == status
    assert state.as_json()["published"] == 20.0
    assert state.as_json()["ours"] == (pytest.approx(sum(tests) / len(tests)) if tests else None)


def test_a_result_of_other_settings_is_not_the_rows(row: Row, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    write_entry(place.results, made_up(row))
    changed = Row(row.name, row.label, row.published, {**row.changes, "model.hidden": 9})
    monkeypatch.setitem(ROWS, row.name, changed)
    (state,) = states(read_all(place.results), None, [changed])
    assert state.status == "not run"


def begin(row: Row, folder: Path, epochs: int) -> None:
    folder.mkdir(parents=True)
    (folder / "settings.yaml").write_text(yaml.safe_dump(to_dict(row.settings())))
    figures = {"train_perplexity": 40.0, "valid_perplexity": 31.5, "seconds": 62}
    lines = [f"{json.dumps({'epoch': epoch, **figures})}\n" for epoch in range(1, epochs + 1)]
    (folder / "metrics.jsonl").write_text("".join(lines) + '{"epoch": 9, "va')


def test_a_run_that_has_begun_is_running_while_its_folder_is_held(row: Row, place: Place) -> None:
    folder = place.folder(row, 1)
    begin(row, folder, 1)
    (state,) = states([], place.runs, [row])
    assert (state.status, state.why) == ("stopped", "epoch 1, best validation 31.50, 0:01:02 trained")
    with run_folder.locked(folder):
        (folder / "live_progress").write_text("1.4567 90.5\n")
        (state,) = states([], place.runs, [row])
    assert (state.status, state.why) == ("running", "epoch 1.45, best validation 31.50, 0:01:30 trained")


def test_of_two_stages_the_second_says_how_far_it_is(row: Row, place: Place) -> None:
    begin(row, place.folder(row, 1), 4)
    begin(row, place.folder(row, 1, stage=2), 3)
    (state,) = states([], place.runs, [replace(row, later_stages=({},))])
    assert state.why == "stage 2, epoch 3, best validation 31.50, 0:01:02 trained"
    (state,) = states([], place.runs, [row])
    assert "number of stages (this is number 2)" in state.why


def test_a_folder_that_was_moved_away_is_nobodys(row: Row, place: Place) -> None:
    begin(row, place.folder(row, 1).with_name(f"{place.folder(row, 1).name}.old"), 2)
    (state,) = states([], place.runs, [row])
    assert state.status == "not run"


def test_of_several_seeds_the_last_one_trained_is_shown(row: Row, place: Place) -> None:
    for time, seed in enumerate((12, 11, 2), 1):
        begin(row, place.folder(row, seed), seed)
        os.utime(place.folder(row, seed) / "settings.yaml", (time, 100 - seed))
    (state,) = states([], place.runs, [row])
    assert state.why == "seed 2, epoch 2, best validation 31.50, 0:01:02 trained"
    with run_folder.locked(place.folder(row, 11)):
        (state,) = states([], place.runs, [row])
    assert (state.status, state.why.partition(",")[0]) == ("running", "seed 11")


def test_beside_a_result_another_seed_is_told_of(row: Row, place: Place) -> None:
    write_entry(place.results, made_up(row))
    begin(row, place.folder(row, 1), 3)
    (state,) = states(read_all(place.results), place.runs, [row])
    assert (state.status, state.why) == ("reached", "")
    begin(row, place.folder(row, 2), 2)
    (state,) = states(read_all(place.results), place.runs, [row])
    assert (state.status, state.why) == (
        "reached",
        "stopped: seed 2, epoch 2, best validation 31.50, 0:01:02 trained",
    )
    assert f"reached (+0.0 %): {state.why}" in listing([state])
    with run_folder.locked(place.folder(row, 2)):
        (state,) = states(read_all(place.results), place.runs, [row])
    assert (state.status, state.ours("test"), state.why.partition(",")[0]) == (
        "reached",
        Mean.from_values([20.0]),
        "running: seed 2",
    )
    figure = overview([state])
    assert figure is not None
    assert [point.reached for point in figure.points] == [True]
    assert "1 of the 1 rows that were run come within 2 %" in figure.title


def test_tables(row: Row, place: Place) -> None:
    for seed, test in ((1, 19.0), (2, 20.0)):
        write_entry(place.results, made_up(row, seed, test=test))
    found = states(read_all(place.results), None, [row])
    line = "| small | small, with &lt;unk> | 20.0 / 20.0 | 20.00 ± 0.00 / 19.50 ± 0.71 | -2.5 % | – / 2.65M | reached"
    assert f"{line}; 2 seeds |" in markdown(found)
    assert "seed 2, 3 epochs (best 2), 0.1 h on a CPU" in markdown(found)
    assert "reached (-2.5 %)" in listing(found)


def test_the_document_follows_the_results_and_a_check_finds_where_it_does_not(row: Row, place: Place) -> None:
    write_entry(place.results, made_up(row))
    page = Path("reproduction.md")
    assert not document.update(page, place.results)
    page.write_text("\n".join(["before", *document.markers("results"), "after\n"]))
    assert len(document.check([page], place.results)) == 2, "the text, and the figure"
    assert document.update(page, place.results)
    assert document.check([page], place.results) == []
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    page.write_text(text.replace("20.00 / 20.00", "19.00 / 19.00"))
    assert len(document.check([page], place.results)) == 1
    page.write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match="not UTF-8 text"):
        document.check([page], place.results)
    page.write_text(text)
    Path("figures", "mine.svg").write_bytes(b"\xff\xfe")
    assert document.check([page], place.results) == []
    edit(place.results / f"{row.name}.seed-1.json", test_perplexity=1.0)
    assert "changed by hand" in document.check([page], place.results)[0]


def test_the_command_finds_what_was_edited(row: Row, place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_entry(place.results, made_up(row))
    page = Path("reproduction.md")
    page.write_text("\n".join(document.markers("results")))
    document.update(page, place.results)
    check = ["reproduce", "check", "--document", str(page)]
    assert cli.main(check) == 0
    edit(path, test_perplexity=1.0)
    assert cli.main(check) == LedgerError.exit_code
    assert "changed by hand" in capsys.readouterr().err
    assert cli.main([*check, "--results", "resluts"]) == LedgerError.exit_code
    assert "resluts: no such folder" in capsys.readouterr().err
    assert cli.main(["reproduce", "list", "--results", str(page)]) == LedgerError.exit_code
    assert f"{page}: is not a folder of results" in capsys.readouterr().err


def test_a_report_is_not_written_into_a_document_that_is_none(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    place.results.mkdir()
    assert cli.main(["reproduce", "report", "--document", "reprodction.md"]) == LedgerError.exit_code
    assert "reprodction.md: missing, or without the markers" in capsys.readouterr().err


def test_one_bad_entry_does_not_hide_the_others(
    row: Row, place: Place, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_entry(place.results, made_up(row))
    copy = place.results / "old" / f"{row.name}.seed-1.json"
    copy.parent.mkdir(parents=True)
    shutil.copy(path, copy)
    torn = write_entry(place.results, made_up(row, seed=2))
    torn.write_text(torn.read_text()[:100])
    entries, problems = read_sound(place.results)
    assert [entry["seed"] for entry in entries] == [1]
    assert [str(copy) in problems[0], str(torn) in problems[1]] == [True, True]
    assert "remove it" in problems[0]
    assert "with --again" in problems[1]
    with pytest.raises(LedgerError):
        read_all(place.results)
    assert cli.main(["reproduce", "list", row.name]) == 0
    shown = capsys.readouterr()
    assert "20.00 / 20.00" in shown.out
    assert str(torn) in shown.err
    assert cli.main(["reproduce", "check"]) == LedgerError.exit_code


def test_what_was_being_written_is_no_entry(row: Row, place: Place) -> None:
    path = write_entry(place.results, made_up(row))
    killed = path.parent / f".{path.name}-ab12cd" / path.name
    killed.parent.mkdir()
    shutil.copy(path, killed)
    entries, problems = read_sound(place.results)
    assert (len(entries), problems) == (1, [])


@pytest.mark.parametrize(
    ("was", "damaged", "said"),
    [('"seed": 1,', '"seed": 1, "rho": NaN,', "damaged"), (": 1,", ': "one",', "changed by hand")],
)
def test_damage_of_any_kind_is_told_in_one_line(row: Row, place: Place, was: str, damaged: str, said: str) -> None:
    path = write_entry(place.results, made_up(row))
    path.write_text(path.read_text().replace(was, damaged, 1))
    with pytest.raises(LedgerError, match=said):
        read_entry(path)


def test_a_document_that_cannot_be_drawn_hides_nothing(
    row: Row, place: Place, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object) -> bool:
        raise ImportError("No module named 'matplotlib'", name="matplotlib")

    monkeypatch.setattr(document, "update", fail)
    assert cli.main(["reproduce", "run", row.name]) == 0
    shown = capsys.readouterr()
    assert row.name in shown.out
    assert "is not brought up to date: No module named 'matplotlib'" in shown.err


def test_documents_are_those_of_the_results_beside_them(
    row: Row, place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    path = Path("docs", "reproduction.md")
    path.parent.mkdir()
    path.write_text("\n".join(document.markers("results")))
    Path("results").mkdir()
    assert cli.main(["reproduce", "check", "--results", str(Path("results").absolute())]) == LedgerError.exit_code
    assert cli.main(["reproduce", "run", row.name, "--results", "elsewhere"]) == 0
    assert cli.main(["reproduce", "report", "--results", "elsewhere"]) == 0
    assert path.read_text() == "\n".join(document.markers("results"))
    assert cli.main(["reproduce", "check", "--results", "elsewhere"]) == 0


def test_what_does_not_go_together_is_refused(row: Row, place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, said in (
        (["run", "--one", "inan-2017/table-1/ptb-small"], "--one runs a single row"),
        (["run"], "name a row or a group of rows; `wordtie reproduce list` shows all"),
        (["check", "--json"], "unknown option --json"),
        (["check", "--runs", "runs"], "unknown option --runs; see `wordtie reproduce check --help`"),
        (["report", row.name], f"unexpected argument {row.name}; see `wordtie reproduce report --help`"),
        (["list", "--seed", "2"], "unknown option --seed"),
        (["run", row.name, "--page", "p.html"], "unknown option --page"),
        (["--list"], "there is no --list; did you mean `wordtie reproduce list`?"),
        (
            [row.paper],
            f"`wordtie reproduce` has no task {row.paper}; did you mean `wordtie reproduce run {row.paper}`?",
        ),
        (["rum"], "has no task rum; give one of list, run, report, check"),
    ):
        assert cli.main(["reproduce", *arguments]) == 2
        assert said in capsys.readouterr().err
    assert cli.main(["reproduce", "report", "--results", "typo"]) == LedgerError.exit_code
    assert "typo: no such folder" in capsys.readouterr().err


def test_published_and_ours_are_of_one_text(row: Row, place: Place) -> None:
    write_entry(place.results, made_up(row, valid=30.0, test=20.0))
    (state,) = states(read_all(place.results), None, [replace(row, published=Published(31.0, 21.0))])
    assert (state.as_json()["published"], state.as_json()["ours"], state.status) == (21.0, 20.0, "reached")
    (state,) = states(read_all(place.results), None, [replace(row, published=Published(31.0, 21.0), stands_in=True)])
    assert (state.difference, state.status) == (None, "run")
    assert "| 31.0 / 21.0 | 30.00 / 20.00 | – |" in markdown([state])


@pytest.mark.parametrize(
    ("better", "values"),
    [("more", (False, True, True)), ("less", (True, True, False)), ("neither", (False, True, False))],
)
def test_other_numbers_are_judged_by_what_is_better(
    better: str, values: tuple[bool, ...], row: Row, place: Place
) -> None:
    published = Published(values={"rho": 0.5}, better=better)  # type: ignore[arg-type]
    shows = Row("tests/table-2/rho", "rho", published, kind="drawn", drawn_from=(row.name,), shows=("measures",))
    for rho, reached in zip((0.3, 0.48 if better == "more" else 0.52, 0.7), values, strict=True):
        write_entry(place.results, {**made_up(row), "measures": {"rho": rho}})
        (state,) = states(read_all(place.results), None, [shows])
        assert (state.status == "reached") == reached


@pytest.mark.parametrize("wanted", [0.13, 0.5, 0.02, -0.1])
@pytest.mark.parametrize("better", ["more", "less", "neither"])
def test_a_correlation_is_reached_within_two_hundredths_and_not_rounded_first(
    better: str, wanted: float, row: Row, place: Place
) -> None:
    published = Published(values={"rho": wanted}, better=better)  # type: ignore[arg-type]
    shows = Row("tests/table-2/rho", "rho", published, kind="drawn", drawn_from=(row.name,), shows=("measures",))
    for difference, within in ((0.02, True), (0.0201, False), (-0.02, True), (-0.0201, False)):
        write_entry(place.results, {**made_up(row), "measures": {"rho": wanted + difference}})
        (state,) = states(read_all(place.results), None, [shows])
        beyond_is_better = (better == "more" and difference > 0) or (better == "less" and difference < 0)
        assert (state.status == "reached") == (within or beyond_is_better)


@pytest.mark.parametrize(("test", "status"), [(102.0, "reached"), (102.01, "not reached")])
def test_a_perplexity_is_reached_within_two_percent(test: float, status: str, row: Row, place: Place) -> None:
    write_entry(place.results, made_up(row, test=test))
    (state,) = states(read_all(place.results), None, [replace(row, published=Published(test=100.0))])
    assert state.status == status


@pytest.mark.parametrize(("ours", "status"), [(91.8, "reached"), (91.81, "not reached")])
def test_a_number_above_one_of_another_kind_is_reached_within_two_percent(
    ours: float, status: str, row: Row, place: Place
) -> None:
    published = Published(values={"valid perplexity": 90.0}, better="less")
    shows = Row("tests/table-2/p", "p", published, kind="drawn", drawn_from=(row.name,), shows=("measures",))
    write_entry(place.results, {**made_up(row), "measures": {"valid perplexity": ours}})
    (state,) = states(read_all(place.results), None, [shows])
    assert state.status == status


def test_a_folder_begun_otherwise_is_not_said_to_go_on(row: Row, place: Place) -> None:
    begin(row, place.folder(row, 1), 1)
    settings = place.folder(row, 1) / "settings.yaml"
    other = row.settings(1, {"model.hidden": 9})
    settings.write_text(yaml.safe_dump(to_dict(other)))
    (state,) = states([], place.runs, [row])
    assert state.status == "not run"
    assert "model.hidden (9, now 6): --again" in state.why
    settings.write_text(yaml.safe_dump(to_dict(row.settings(1, {"training.epochs": 99}))))
    (state,) = states([], place.runs, [row])
    assert state.status == "stopped"
    begin(row, place.folder(row, 2), 1)
    with run_folder.locked(place.folder(row, 2)):
        (state,) = states([], place.runs, [row])
    assert state.status == "running"


def test_a_row_with_no_published_number_is_run(row: Row, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    write_entry(place.results, made_up(row))
    bare = Row(row.name, row.label, Published(), row.changes)
    monkeypatch.setitem(ROWS, row.name, bare)
    assert states(read_all(place.results), None, [bare])[0].status == "run"


def test_this_repositorys_ledger_stands() -> None:
    problems = document.check([REPOSITORY / path for path in document.DOCUMENTS], REPOSITORY / "results")
    assert [problem.replace(str(REPOSITORY), "") for problem in problems] == []


def test_a_row_of_other_numbers_takes_them_from_its_models_entry(row: Row, place: Place) -> None:
    shown = Published(values={"MEN": 0.25, "Rare-Word": 0.3})
    vectors = Row("tests/table-2/vectors", "vectors", shown, kind="drawn", drawn_from=(row.name,),
                  shows=("measures", "similarity", "input"))  # fmt: skip
    write_entry(place.results, made_up(row))
    (state,) = states(read_all(place.results), None, [vectors])
    assert (state.status, state.why) == ("not run", "tests/table-1/small was run without measuring it")
    for seed, rho in ((1, 0.3), (2, 0.2)):
        measures = {"similarity": {"input": {"MEN": rho, "Rare-Word": 0.31}}}
        write_entry(place.results, {**made_up(row, seed), "measures": measures})
    (state,) = states(read_all(place.results), None, [vectors])
    assert state.status == "reached"
    assert "| MEN published / ours | Rare-Word published / ours |" in markdown([state])
    assert "| 0.25 / 0.25 ± 0.07 | 0.30 / 0.31 ± 0.00 |" in markdown([state])
    assert "reached (MEN 0.25 ± 0.07 of 0.25, Rare-Word 0.31 ± 0.00 of 0.3)" in listing([state])
    write_entry(place.results, made_up(row, 3))
    (state,) = states(read_all(place.results), None, [vectors])
    assert [entry["seed"] for entry in state.entries] == [1, 2], "a seed that was not measured hides no other"


def test_training_perplexity_and_two_stages_are_told_below_the_table(
    row: Row, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed = replace(row, published=Published(20.0, 20.0, train=15.0), later_stages=({},))
    monkeypatch.setitem(ROWS, row.name, printed)
    stages = [stage(row, epochs=2, seconds=3000.0, changed={}), stage(row, epochs=5, seconds=600.0, changed={})]
    curve: Curve = {"train": [30.0, 16.5], "valid": [40.0, 20.0]}
    write_entry(place.results, {**made_up(row), "curve": curve, "sessions": stages})
    text = markdown(states(read_all(place.results), None, [printed]))
    assert "Training perplexity of the last epoch, published / ours: small 15.0 / 16.5." in text
    assert "small: seed 1, 2 + 5 epochs in 2 stages, 1.0 h on" in text


def test_the_best_epoch_is_told_where_it_is_the_one_that_was_measured(
    row: Row, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    for keep, told in (("best", "3 epochs (best 2), 0.1 h"), ("last", "3 epochs, 0.1 h")):
        kept = replace(row, changes={**row.changes, "training.keep": keep})
        monkeypatch.setitem(ROWS, row.name, kept)
        write_entry(place.results, made_up(kept))
        assert told in markdown(states(read_all(place.results), None, [kept]))
