"""Quality in minutes: the contenders learn and are scored right, and rows, choices and goals follow their rules."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import wordtie
from benchmarks import quality_in_minutes
from benchmarks.quality import page, rows, training
from benchmarks.quality.awd_lstm import AwdLstm, locked
from benchmarks.quality.budget import Budget
from benchmarks.quality.choices import UntriedError, choose, way_of_trials
from benchmarks.quality.contenders import ADDED, CONTENDERS, MOST_SETTINGS, OTHERS, digest_of
from benchmarks.quality.goals import LIMITS, is_late, value, verdicts
from benchmarks.quality.gpt import Gpt, sliding
from benchmarks.quality.recipe import Ids, Recipe
from benchmarks.quality.sampled_lstm import SampledLstm
from benchmarks.quality.texts import GOAL_TEXTS, TEXTS
from benchmarks.quality.training import Training
from benchmarks.quality.turn import Turn, figures, mixture_figures, take
from benchmarks.quality.word_language_model import WordLanguageModel
from tests.tiny_run import write_text
from wordtie.config import DataSettings
from wordtie.data.prepare import prepare
from wordtie.errors import DataError
from wordtie.ngrams.unigram import Unigram

WORDS, EOS_ID = 12, 0
SMALL: dict[str, tuple[Callable[..., Recipe], dict[str, Any]]] = {
    "word-lm": (WordLanguageModel, {"size": 16, "layers": 2, "dropout": 0.1, "streams": 4, "steps": 8, "lr": 10.0}),
    "awd-asgd": (AwdLstm, {"embedding": 12, "hidden": 16, "layers": 2, "dropout": 0.1, "streams": 4, "steps": 8,
                           "lr": 10.0}),
    "awd-adam": (AwdLstm, {"embedding": 12, "hidden": 16, "layers": 2, "dropout": 0.1, "streams": 4, "steps": 8,
                           "optimiser": "adam", "lr": 0.01}),
    "sampled": (SampledLstm, {"size": 12, "drawn": 20, "streams": 4, "steps": 8, "lr": 0.01}),
    "gpt": (Gpt, {"size": 32, "layers": 2, "context": 8, "batch": 8, "lr": 0.01}),
}  # fmt: skip
each_recipe = pytest.mark.parametrize("name", SMALL)


def made(name: str) -> Recipe:
    make, settings = SMALL[name]
    torch.manual_seed(1)
    return make(WORDS, EOS_ID, 2.0, **settings)


def chain(tokens: int, seed: int) -> Ids:
    """A text in which a word is followed by the next one nine times out of ten."""
    jumps = np.random.default_rng(seed)
    step_N = np.where(jumps.random(tokens) < 0.9, 1, jumps.integers(WORDS, size=tokens))
    return np.cumsum(step_N) % WORDS


@each_recipe
def test_each_recipe_learns(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "SECONDS_TO_END", 0.0)
    train, valid = chain(5000, 1), chain(2000, 2)
    trained = Training(made(name), train, valid, Budget.from_now(2.0, "cpu"), tmp_path / "model.pt").run()
    recipe = made(name)
    recipe.model.load_state_dict(torch.load(tmp_path / "model.pt", weights_only=True))
    nats = -float(recipe.log_p(valid).mean())
    unigram = -float(Unigram.fit(train, WORDS).log_probabilities(valid).mean())
    assert math.exp(nats) < 0.4 * math.exp(unigram)
    assert trained.tokens > 0
    assert len(trained.validated) >= training.VALIDATIONS - 1


@each_recipe
def test_training_ends_in_time(name: str, tmp_path: Path) -> None:
    budget = Budget.from_now(1.5, "cpu")
    Training(made(name), chain(5000, 1), chain(2000, 2), budget, tmp_path / "model.pt").run()
    assert 0.5 < budget.spent() <= 1.5
    assert (tmp_path / "model.pt").exists()


def literal_log_p(recipe: Recipe, ids: Ids) -> list[float]:
    """Token by token, each from its whole context anew; a GPT's context begins where its window does."""
    text, found, model = [EOS_ID, *ids.tolist()], [], recipe.model.eval()
    for place, target in enumerate(ids.tolist()):
        first = 0
        if isinstance(recipe, Gpt) and place >= recipe.context:
            half = recipe.context // 2
            first = ((place - recipe.context) // half + 1) * half
        context = torch.tensor(text[first : place + 1])
        with torch.no_grad():
            if isinstance(recipe, Gpt):
                last = model(context[None])[0, -1]
            else:
                last = recipe.model.hidden(context[:, None], None)[0][-1, 0]  # type: ignore[operator]
            scores = recipe.parameters()["embedding.weight"] @ last + recipe.bias
        found.append(float(scores.double().log_softmax(0)[target]))
    return found


@each_recipe
@pytest.mark.parametrize("tokens", [1, 7, 8, 9, 12, 13, 45])
def test_a_text_is_scored_token_by_token(name: str, tokens: int) -> None:
    recipe, ids = made(name), chain(tokens, 3)
    assert recipe.log_p(ids).tolist() == pytest.approx(literal_log_p(recipe, ids), abs=1e-5)


@each_recipe
def test_probabilities_sum_to_one(name: str) -> None:
    recipe, before = made(name), chain(20, 4)
    last = [float(recipe.log_p(np.append(before, word))[-1]) for word in range(WORDS)]
    assert math.fsum(map(math.exp, last)) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("context", [2, 4, 5, 8])
def test_each_token_is_scored_once_with_half_a_window_before_it(context: int) -> None:
    for tokens in range(1, 60):
        windows = [pair for some in sliding(tokens, context) for pair in zip(*some, strict=True)]
        scored = [(int(place), int(place - window[0])) for window, of in windows for place in window[of]]
        assert sorted(place for place, _ in scored) == list(range(tokens))
        assert all(before >= min(place, context - max(1, context // 2)) for place, before in scored)


def test_every_training_word_is_a_target_once_an_epoch() -> None:
    text = np.arange(40)
    for recipe in (WordLanguageModel(40, EOS_ID, 2.0, size=4, streams=4, steps=3),
                   AwdLstm(40, EOS_ID, 2.0, embedding=4, hidden=4, layers=1, streams=4, steps=7)):  # fmt: skip
        seen: list[int] = []
        for batch in recipe.batches(text):
            if batch.first and seen:
                break
            seen += batch.targets.flatten().tolist()
            assert torch.equal(batch.inputs[batch.targets > 0], batch.targets[batch.targets > 0] - 1)
        assert sorted(seen) == list(range(40))


def test_the_windows_of_a_gpt_do_not_overlap() -> None:
    gpt = Gpt(400, EOS_ID, 2.0, size=32, layers=1, context=8, batch=4)
    batches = gpt.batches(np.arange(1, 401) % 400)
    seen: list[int] = []
    while len(seen) < 49 * 8:
        batch = next(batches)
        seen += batch.targets.flatten().tolist()
        assert ((batch.inputs + 1) % 400 == batch.targets).all()
    assert len(set(seen)) == len(seen)


def test_the_rate_is_divided_when_validation_gets_worse_and_in_the_end() -> None:
    recipe = WordLanguageModel(WORDS, EOS_ID, 2.0, size=4)
    decays = []
    for share, nats in ((0.1, 2.0), (0.2, 1.9), (0.3, 1.95), (0.4, 1.8)):
        recipe.validated(nats, share)
        decays.append(recipe.decays)
    assert decays == [0, 0, 1, 1]
    recipe.step(next(recipe.batches(chain(500, 1))), 0.95)
    assert recipe.decays == 3


def test_the_averaged_weights_are_the_mean_of_all_steps_since() -> None:
    recipe = made("awd-asgd")
    batches, weights = recipe.batches(chain(2000, 1)), []
    for share in (0.1, 0.5, 0.7, 0.8, 0.9):
        recipe.step(next(batches), share)
        weights.append(recipe.model.state_dict()["embedding.weight"].clone())
    assert torch.allclose(recipe.parameters()["embedding.weight"], torch.stack(weights[2:]).mean(0), atol=1e-6)


def test_averaging_starts_when_validation_does_not_improve() -> None:
    recipe = made("awd-asgd")
    assert isinstance(recipe, AwdLstm)
    for nats in (3.0, 2.0, 2.1, 2.1, 2.1, 2.1, 2.1):
        recipe.validated(nats, 0.3)
    assert recipe.average is None
    recipe.validated(2.05, 0.4)
    assert recipe.average == {}


def test_dropout_is_for_training_alone_and_locked_over_the_steps() -> None:
    dropped = locked(torch.ones(5, 3, 40), 0.5)
    assert torch.equal(dropped, dropped[:1].expand(5, 3, 40))
    assert set(dropped.unique().tolist()) == {0.0, 2.0}
    recipe, ids = made("awd-adam"), chain(50, 1)
    assert torch.equal(recipe.log_p(ids), recipe.log_p(ids))


def test_mixing_never_makes_validation_worse() -> None:
    rng = np.random.default_rng(1)
    network, ngram = ({split: np.log(rng.random(500)) for split in ("valid", "test")} for _ in range(2))
    found = figures(network, ngram)
    assert found["mixed_valid"] <= min(found["valid"], math.exp(-ngram["valid"].mean())) + 1e-3
    assert found["test"] == pytest.approx(math.exp(-network["test"].mean()), abs=1e-3)
    p = found["weight"] * np.exp(network["test"]) + (1 - found["weight"]) * np.exp(ngram["test"])
    assert found["mixed_test"] == pytest.approx(math.exp(-np.log(p).mean()), abs=1e-3)
    assert found["test_tokens"] == 500


@pytest.mark.parametrize("contender", ["kneser-ney", "gpt", "former-default", "ours"])
def test_a_turn_is_measured_and_not_repeated(contender: str, own_folder: Path) -> None:
    settings = {"size": 32, "layers": 1} if contender == "gpt" else dict(CONTENDERS[contender].settings[0])
    clock = "cpu" if contender == "gpt" else "wall"
    data = DataSettings(corpus=str(write_text(own_folder / "text")))
    turn = Turn(contender, "tiny", data, 0.1 if contender == "gpt" else 0.05, settings, threads=1, clock=clock)  # type: ignore[arg-type]
    path = own_folder / "rows.jsonl"
    quality_in_minutes.measure(iter([turn]), path)
    (row,) = rows.read(path)
    lines = (own_folder / "text" / "test.txt").read_text().splitlines()
    assert row["test_tokens"] == sum(len(line.split()) + 1 for line in lines)
    assert row["mixed_valid"] <= row["valid"] + 1e-3
    assert {"tokens", "parameters", "wall_seconds", "cpu_seconds", "load_before", "machine", "code_version"} <= set(row)
    if contender == "gpt":
        assert row["seconds"] <= 6.0
    if contender in ("ours", "former-default"):
        assert row["own_network_test"] == pytest.approx(row["test"], rel=1e-3)
    if contender == "ours":
        assert 0 <= row["measuring_seconds"] < row["wall_seconds"]
        assert row["own_ngram_test"] == pytest.approx(take(replace(turn, contender="kneser-ney"))["test"], rel=1e-3)
    written = path.stat().st_mtime_ns
    quality_in_minutes.measure(iter([turn]), path)
    assert path.stat().st_mtime_ns == written


def test_the_mixture_is_measured_on_all_tokens(own_folder: Path) -> None:
    """Of a training that measured a part of the text: `wordtie evaluate` reads all, and so does the benchmark."""
    settings = DataSettings(corpus=str(write_text(own_folder / "text")))
    wordtie.train(settings.corpus, own_folder / "run", ngram=2, hidden=8, epochs=1, measured_tokens=50)
    found = mixture_figures(prepare(settings), own_folder / "run")
    measured = json.loads((own_folder / "run" / "result.json").read_text())["mixture"]
    whole = wordtie.load(own_folder / "run").evaluate(own_folder / "text" / "test.txt")
    assert found["own_mixture_test"] == pytest.approx(whole.perplexity, rel=1e-4)
    assert found["own_mixture_test"] != pytest.approx(measured["test_perplexity"], rel=1e-3)


def test_a_torn_line_is_no_row(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    rows.append({"n": 1}, path)
    with path.open("a") as file:
        file.write('{"n": 2, "val')
    assert rows.read(path) == [{"n": 1}]
    rows.append({"n": 3}, path)
    assert rows.read(path) == [{"n": 1}, {"n": 3}]


def test_prose_changes_no_digest(tmp_path: Path) -> None:
    code, documented, other = (tmp_path / f"{name}.py" for name in "abc")
    code.write_text("SIZE = 3\n")
    documented.write_text('"""A module."""\n\nSIZE = 3  # units\n"""Of the model."""\n')
    other.write_text("SIZE = 4\n")
    assert digest_of([code]) == digest_of([documented]) != digest_of([other])


def test_no_contender_has_more_trials_than_the_others_may() -> None:
    assert all(1 <= len(contender.settings) <= MOST_SETTINGS for contender in CONTENDERS.values())
    for contender in CONTENDERS.values():
        for settings in contender.settings:
            assert contender.recipe is None or contender.recipe(9, 0, 0.1, **settings)
    with pytest.raises(ValueError, match="no such settings: sizes"):
        Gpt(9, 0, 2.0, sizes=3)


def trial(contender: str, number: int, text: str, valid: float, **other: Any) -> rows.Row:
    named = CONTENDERS[contender]
    row = {"contender": contender, "settings": dict(named.settings[number]), "code": named.code(), "minutes": 2.0}
    return {**row, "text": text, "valid": valid, "seed": 1, "threads": 1, "clock": "cpu", **other}


def test_the_sampled_loss_is_the_full_one_on_average() -> None:
    recipe = SampledLstm(WORDS, EOS_ID, 2.0, size=6, drawn=200_000, streams=4, steps=8, dropout=0.0)
    text = chain(400, 1)
    recipe.set_bias(text)
    batch = next(recipe.batches(text))
    hidden, _ = recipe.model.hidden(batch.inputs, None)
    logits = F.linear(hidden.flatten(0, 1), recipe.model.embedding.weight, recipe.bias)
    full = F.cross_entropy(logits, batch.targets.flatten())
    assert recipe.loss(batch).item() == pytest.approx(full.item(), rel=2e-3)


def test_the_choice_is_the_best_geometric_mean_of_whole_trials() -> None:
    found = [trial("gpt", 0, "ptb", 100.0), trial("gpt", 0, "sotu", 400.0), trial("gpt", 1, "ptb", 190.0),
             trial("gpt", 1, "sotu", 190.0), trial("gpt", 2, "ptb", 50.0),
             trial("gpt", 3, "ptb", 10.0, code="another"), trial("gpt", 3, "sotu", 10.0, code="another")]  # fmt: skip
    assert choose(found, "gpt") == CONTENDERS["gpt"].settings[1]
    assert choose([], "ours") == {"training.precision": "fp32"}
    with pytest.raises(UntriedError, match="quality_in_minutes trials"):
        choose(found, "awd-lstm")


def test_a_file_of_its_own_takes_the_settings_of_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is measured: the settings are chosen before."""
    monkeypatch.setitem(TEXTS, "ptb", lambda: DataSettings(corpus=str(tmp_path)))
    asked: list[Turn] = []

    def measure(turns: Iterator[Turn], *_: object) -> int:
        asked.extend(turns)
        return 0

    monkeypatch.setattr(quality_in_minutes, "measure", measure)
    rows_of_its_own = tmp_path / "new.jsonl"
    arguments = ["run", "--texts", "ptb", "--minutes", "2", "--contenders", "gpt", "--rows", str(rows_of_its_own)]
    assert quality_in_minutes.main(arguments) == 0
    assert [turn.settings for turn in asked] == [choose(rows.read(rows.ROWS), "gpt")]


def measured(
    network: float, mixture: float, ours: float, without_recent: float | None = None, **other: Any
) -> list[rows.Row]:
    """Rows at which ours has these ratios, on all texts and at both times; `without_recent` if not as the mixture."""
    found = []
    for text in GOAL_TEXTS:
        for minutes in (2.0, 10.0):
            row = {"text": text, "minutes": minutes, "clock": "wall", "threads": 2, "settings": {}, "parameters": 7,
                   "wall_seconds": 60 * minutes, "tokens": 9, "code": ""}  # fmt: skip
            found += [{**row, "contender": name, "test": 100.0, "mixed_test": 100.0,
                       "settings": dict(CONTENDERS[name].settings[0])} for name in (*OTHERS, ADDED)]  # fmt: skip
            alone = mixture if without_recent is None else without_recent
            own = {"own_mixture_test": 100 * mixture, "own_without_recent_test": 100 * alone}
            found += [{**row, "contender": "ours", "settings": dict(CONTENDERS["ours"].settings[0]),
                       "test": 100 * network, **own, "mixed_test": 100 * ours, **other}]  # fmt: skip
    return found


def test_a_goal_is_reached_at_its_edge_and_not_beyond() -> None:
    def reached(found: list[rows.Row]) -> dict[tuple[str, float], bool | None]:
        limited = [verdict for verdict in verdicts(found) if verdict.limit is not None]
        return {(verdict.kind, verdict.minutes): verdict.reached for verdict in limited}

    assert LIMITS == {("network", 2): 0.82, ("network", 10): 0.62, ("mixture", 2): 0.68, ("mixture", 10): 0.55,
                      ("without_recent", 2): 0.68, ("without_recent", 10): 0.55, ("others", 2): 0.9,
                      ("others", 10): 0.95, ("added", 2): None, ("added", 10): None}  # fmt: skip
    at_two = reached(measured(0.82, 0.68, 0.9))
    assert [at_two[kind, 2] for kind in ("network", "mixture", "others")] == [True, True, True]
    beyond = reached(measured(0.8204, 0.6804, 0.9004))
    assert [beyond[kind, 2] for kind in ("network", "mixture", "others")] == [False, False, False]
    assert set(reached(measured(0.62, 0.55, 0.9)).values()) == {True}
    assert reached(measured(0.6, 0.5, 0.95))["others", 10] is True
    assert reached(measured(0.6, 0.5, 0.9504))["others", 10] is False
    at_ten = reached(measured(0.6, 0.5, 0.8, without_recent=0.5504))
    assert (at_ten["mixture", 10], at_ten["without_recent", 10], at_ten["without_recent", 2]) == (True, False, True)
    assert reached(measured(0.6, 0.56, 0.8, without_recent=0.5))["without_recent", 10] is True
    one_missing = [row for row in measured(0.6, 0.5, 0.8) if (row["contender"], row["text"]) != ("ours", "sotu")]
    assert set(reached(one_missing).values()) == {None}
    one_worse = [{**row, "test": 99.0} if row["contender"] == "ours" and row["text"] == "sotu" else row
                 for row in measured(0.6, 0.5, 0.8)]  # fmt: skip
    assert reached(one_worse)["network", 2] is False
    assert set(reached([row for row in measured(0.6, 0.5, 0.8) if row["contender"] != "gpt"]).values()) == {True, None}


def test_only_the_latest_program_and_settings_count() -> None:
    row = {"contender": "gpt", "text": "ptb", "minutes": 2.0, "clock": "wall", "wall_seconds": 1.0, "settings": {}}
    found = [{**row, "code": code, "test": test} for code, test in (("old", 10.0), ("new", 20.0), ("new", 40.0))]
    assert value(found, "gpt", "ptb", 2.0, "test") == 30.0
    assert value(found, "gpt", "ptb", 10.0, "test") is None


def test_what_is_late_of_ours_does_not_count() -> None:
    late = measured(0.6, 0.5, 0.8, wall_seconds=612.5)
    assert {verdict.reached for verdict in verdicts(late)} == {None}
    in_time = [{**row, "code": "older"} for row in measured(0.6, 0.5, 0.8)]
    assert {verdict.reached for verdict in verdicts([*in_time, *late])} == {None}, "an older program does not stand in"
    assert not is_late({"minutes": 2.0, "clock": "wall", "wall_seconds": 122.4})
    assert is_late({"minutes": 2.0, "clock": "wall", "wall_seconds": 122.5})
    assert not is_late({"minutes": 2.0, "clock": "wall", "wall_seconds": 125.0, "seconds": 119.0})


def test_the_page_has_goals_results_and_trials(tmp_path: Path) -> None:
    to, figure = tmp_path / "page.md", tmp_path / "figures" / "quality.svg"
    short, parts = tmp_path / "README.md", tmp_path / "ngrams.md"
    to.write_text("# Title\n")
    for other in (short, parts):
        other.write_text(f"# Short\n{page.BEGIN}\n{page.END}\nthe end\n")
    with pytest.raises(DataError, match="quality in minutes: begin"):
        page.write([], to, figure, short, parts)
    to.write_text(f"# Title\n{page.BEGIN}\n{page.END}\nthe end\n")
    page.write([trial("gpt", 0, "ptb", 100.0)], to, figure, short, parts)
    assert not figure.exists()
    assert "not measured" in to.read_text()
    tried = [trial(name, 0, text, 100.0) for name in OTHERS for text in ("ptb", "sotu")]
    another = {**measured(0.5, 0.5, 0.5)[2], "settings": {"size": 7}, "test": 7.0}
    page.write([*measured(0.82, 0.69, 0.8), *tried, trial("gpt", 1, "ptb", 110.0), another], to, figure, short, parts)
    written = to.read_text()
    assert "| our network ÷ Kneser-Ney 5-gram | 2 | ≤ 0.82 | 0.820 | 0.820 | 0.820 | yes |" in written
    assert "| our mixture ÷ Kneser-Ney 5-gram | 2 | ≤ 0.68 | 0.690 | 0.690 | 0.690 | **no** |" in written
    assert (
        "| our mixture without recent words ÷ Kneser-Ney 5-gram | 2 | ≤ 0.68 | 0.690 | 0.690 | 0.690 | **no** |"
        in written
    )
    assert "both mixed with the same 5-gram | 2 | - | 0.800 | 0.800 | 0.800 | no goal |" in written
    assert "AVX2 alone" not in written
    assert "| word-level GPT | size 128, layers 2, lr 0.003, context 64, batch 16 | 100.0 | 100.0 | 100.0 |" in written
    assert "| 110.0 | - | - | 1 thread, cpu clock |" in written
    assert " 7.00 " not in written
    assert written.endswith("the end\n")
    assert "word-level GPT" in figure.read_text()
    assert "| ptb | 2 | 100.00 | 82.00 / 80.00 | 69.00 | 100.00 / 100.00 |" in short.read_text()
    assert "| ptb | 2 | 82.00 | 100.00 | 69.00 | 69.00 |" in parts.read_text()
    assert all(other.read_text().endswith("the end\n") for other in (short, parts))


def test_the_goals_on_avx2_have_a_table_of_their_own(tmp_path: Path) -> None:
    """By the settings that the trials beside the other rows chose."""
    pages = [tmp_path / f"{name}.md" for name in ("page", "README", "ngrams")]
    for each in pages:
        each.write_text(f"{page.BEGIN}\n{page.END}\n")
    to, short, parts = pages
    tried = [trial(name, 0, text, 100.0) for name in OTHERS for text in ("ptb", "sotu")]
    of_avx2 = [row for row in measured(0.83, 0.6, 0.9) if row["minutes"] == 2.0]
    rows = [*measured(0.82, 0.69, 0.8), *tried]
    page.write(rows, to, tmp_path / "figure.svg", short, parts, of_avx2)
    goals, found = to.read_text().split("| goal, AVX2 alone | minutes |")
    assert "| our network ÷ Kneser-Ney 5-gram | 2 | ≤ 0.82 | 0.820 |" in goals
    assert "| our network ÷ Kneser-Ney 5-gram | 2 | ≤ 0.82 | 0.830 | 0.830 | 0.830 | **no** |" in found
    assert "all mixed with the same 5-gram | 2 | ≤ 0.9 | 0.900 | 0.900 | 0.900 | yes |" in found
    assert "| 10 | ≤" not in found


def test_trials_go_on_in_the_way_in_which_they_began() -> None:
    found = [trial("gpt", 0, "ptb", 100.0, seed=3), trial("awd-lstm", 0, "ptb", 9.0, code="another")]
    assert way_of_trials(found, "gpt") == (3, 1, "cpu")
    assert way_of_trials(found, "awd-lstm") is None


def test_best_others_are_those_with_the_best_mixture() -> None:
    mixed = {"gpt": 90.0, "awd-lstm": 80.0, "pytorch-word-lm": 95.0, "kneser-ney": 1.0, "ours": 2.0, ADDED: 85.0}
    found = [trial(name, 0, text, 100.0) for name in (*OTHERS, ADDED) for text in ("ptb", "sotu")]
    found += [
        trial(name, 0, "ptb", 100.0, minutes=10.0, mixed_valid=each, wall_seconds=600.0) for name, each in mixed.items()
    ]
    assert quality_in_minutes.best_others(found, "ptb") == ["awd-lstm", ADDED]


def test_a_text_that_is_not_here_is_skipped_with_a_reason(
    own_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WORDTIE_DATA", str(own_folder))
    arguments = ["run", "--texts", "tatoeba-deu", "--contenders", "kneser-ney", "--rows", "rows.jsonl"]
    assert quality_in_minutes.main(arguments) == 0
    assert "skipped: tatoeba-deu: put deu.txt.gz" in capsys.readouterr().err
    assert not Path("rows.jsonl").exists()


@pytest.mark.parametrize("name", ["ptb-100k", "tatoeba-deu"])
def test_the_texts_that_are_made(name: str, own_folder: Path) -> None:
    try:
        folder = Path(TEXTS[name]().corpus)
    except DataError as error:
        pytest.skip(str(error))
    lines = {split: (folder / f"{split}.txt").read_text().splitlines() for split in ("train", "valid", "test")}
    words = sum(len(line.split()) + 1 for line in lines["train"])
    if name == "ptb-100k":
        assert 99_900 < words <= 100_000
    else:
        assert len({line for of in lines.values() for line in of}) == sum(map(len, lines.values()))
        assert 0.03 < len(lines["test"]) / len(lines["train"]) < 0.08


def test_rows_are_json(tmp_path: Path) -> None:
    rows.append({"text": "ü", "ratio": 0.5}, tmp_path / "rows.jsonl")
    assert json.loads((tmp_path / "rows.jsonl").read_text(encoding="utf-8")) == {"text": "ü", "ratio": 0.5}


def test_what_is_said_of_short_texts_is_what_was_measured() -> None:
    page_of_text = (page.README.parent / "docs" / "how-to" / "your-own-text.md").read_text()
    said = re.search(r"perplexity is (0\.\d\d) times the 5-gram's, and .* one that is (0\.\d\d) times", page_of_text)
    assert said is not None
    found = []
    for text in ("ptb-100k", "ptb"):
        mixture, ngrams = (
            value(rows.read(), name, text, 2.0, what)
            for name, what in (("ours", "own_mixture_test"), ("kneser-ney", "test"))
        )
        assert mixture is not None
        assert ngrams is not None
        found.append(f"{mixture / ngrams:.2f}")
    assert list(said.groups()) == found
