"""A model that is adapted to another text forgets no more of earlier ones than is allowed."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import wordtie
from tests.commands import Capture, output
from tests.training.test_adapting import COMMON, adapt, copied, enter, refusal, write_text
from wordtie import cli
from wordtie.config import ModelSettings, Settings
from wordtie.config.keywords import settings_from
from wordtie.data.vocabulary import EOS, UNK, Vocabulary
from wordtie.errors import RunFolderError, SettingsError
from wordtie.evaluation import earlier_words
from wordtie.evaluation.earlier_words import evaluate_earlier_words, evaluate_network_on_earlier_words
from wordtie.models import memory
from wordtie.models.language_model import LanguageModel
from wordtie.models.network import Network
from wordtie.runs.run_folder import read_language_model
from wordtie.training.recipe import Lengths
from wordtie.training.rehearsal import read_texts
from wordtie.training.retention import COPIES, HALVINGS, MOST_READ, Retention
from wordtie.training.time_budget import TimeBudget
from wordtie.training.timings import Counting, Timings
from wordtie.training.warm_start import load_start

pytestmark = pytest.mark.usefixtures("first")
FIRST = ["the cat sat on the mat", "the dog walks to the <unk>", "a cat walks to a mat"]
SECOND = ["mat the on sat cat the", "mat a to walks cat a", "fish the to walks dog the"]
FORGETFUL = ["--lr", "0.002", "--rehearsal", "0.25", "--epochs", "3", "--ngram", "none"]
TRAIN = ["train", "first", "--out", "run", "--hidden", "12", "--epochs", "8", "--lr", "0.01", "--ngram", "none"]


def text(folder: Path, lines: list[str]) -> None:
    """Sentences, drawn from a few."""
    write_text(folder, lambda generator: generator.choice(lines), 200, 30)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two texts, and a run on the first."""
    folder = tmp_path_factory.mktemp("trained")
    text(folder / "first", FIRST)
    text(folder / "second", SECOND)
    with pytest.MonkeyPatch.context() as monkeypatch:
        enter(folder, monkeypatch)
        assert cli.main([*TRAIN, "--head", "tied_linear", "--embedding", "6", *COMMON]) == 0
    return folder


@pytest.fixture
def first(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run that has learnt a few sentences; the second text has their words in another order."""
    return copied(trained, tmp_path, monkeypatch)


def test_a_limit_takes_memory_too(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    free = adapt("free", *FORGETFUL, "--max-forgetting", "none")
    parameters = json.loads(output([*free, "--json"], capsys))["parameters"]
    for copies, code in ((7, SettingsError.exit_code), (5 + COPIES, 0)):
        monkeypatch.setattr(memory, "machine_memory", lambda copies=copies: copies * 4 * parameters)
        assert cli.main(adapt(str(copies), *FORGETFUL, "--max-forgetting", "0.1")) == code
        assert cli.main([*free, "--overwrite"]) == 0


@pytest.mark.parametrize(("streams", "error"), [(1, 1e-5), (3, 1e-3)])  # the first word of a stream has less context
def test_a_network_scores_earlier_words_as_any_model_does(
    streams: int, error: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(earlier_words, "STREAMS", streams)
    torch.manual_seed(1)
    vocabulary = Vocabulary([UNK, EOS, *"abcdefg"])
    model = LanguageModel(ModelSettings(hidden=4, embedding=4, init=2.0), len(vocabulary))
    ids_N = np.random.default_rng(1).integers(0, 5, 3001)
    score = evaluate_network_on_earlier_words(model, ids_N, 5, vocabulary)
    assert score.tokens == 3001
    literal = evaluate_earlier_words(Network(model, vocabulary), ids_N, 5)
    assert score.nats == pytest.approx(literal.nats, rel=error)


def forgotten(run: str) -> float:
    """By how much the earlier validation text is predicted worse than before, as a share."""
    [text] = read_texts(read_language_model(Path(run)).settings.data).earlier
    ids_N, words = text.data.measured("valid", MOST_READ), len(text.data.vocabulary)
    before, now = (
        evaluate_network_on_earlier_words(loaded.network, ids_N, words, loaded.tokenizer.vocabulary).perplexity
        for loaded in (wordtie.load(each, part="network") for each in ("run", run))
    )
    return now / before - 1


def test_no_more_is_forgotten_than_is_allowed(capsys: Capture) -> None:
    free = json.loads(output(adapt("free", *FORGETFUL, "--max-forgetting", "none", "--json"), capsys))
    assert free["change_kept"] is None
    assert forgotten("free") > 0.3
    out = output(adapt("bound", *FORGETFUL, "--max-forgetting", "0.1"), capsys)
    result = json.loads(Path("bound/result.json").read_text())
    share = result["change_kept"]
    assert 0 < share < 1
    assert f"earlier words          keep {100 * share:.0f} % of the change to their vectors" in out
    assert forgotten("bound") <= 0.1
    assert result["test_perplexity"] == pytest.approx(
        json.loads(output(["evaluate", "bound", "--json"], capsys))["perplexity"], rel=1e-5
    )
    retention = of_run("bound", 0.1)
    trained = load_file("free/model.safetensors")
    model = LanguageModel(read_language_model(Path("bound")).settings.model, result["text"]["vocabulary_size"])
    more = share + 0.5**HALVINGS
    model.load_state_dict(retention.moved_back(model, trained, more))
    [(ids_N, words)] = retention.texts
    vocabulary = wordtie.load("bound").tokenizer.vocabulary
    before = wordtie.load("run", part="network").network
    then, now = (
        evaluate_network_on_earlier_words(each, ids_N, words, vocabulary).perplexity for each in (before, model)
    )
    assert now > 1.1 * then, "with a larger share"


def of_run(run: str, most: float) -> Retention:
    """The limit of a run that extends `run`, whose start is that of its folder."""
    saved = read_language_model(Path("run"))
    settings = read_language_model(Path(run)).settings
    texts = read_texts(settings.data)
    model = LanguageModel(settings.model, len(texts.own.vocabulary))
    load_start(saved, settings, model, texts.for_training(settings.training.rehearsal))
    settings = replace(settings, training=replace(settings.training, max_forgetting=most))
    return Retention.of(settings, saved, model.state_dict(), texts.earlier)


def test_rows_of_new_words_stay_and_the_rest_moves_back_by_the_square(capsys: Capture) -> None:
    output(adapt("free", *FORGETFUL, "--max-forgetting", "none"), capsys)
    trained = load_file("free/model.safetensors")
    retention = of_run("free", 0.05)
    words = len(retention.before.tokenizer.vocabulary)
    model = LanguageModel(read_language_model(Path("free")).settings.model, len(trained["embedding.weight"]))
    moved = retention.moved_back(model, trained, 0.25)
    for name in ("embedding.weight", "head.bias"):
        start, now = retention.start[name], trained[name]
        torch.testing.assert_close(moved[name][:words], 0.75 * start[:words] + 0.25 * now[:words])
        assert torch.equal(moved[name][words:], now[words:])
        assert not torch.equal(now[words:], start[words:])
    others = trained.keys() - {"embedding.weight", "head.bias"}
    assert len(others) > 3
    for name in others:
        torch.testing.assert_close(moved[name], 0.5625 * retention.start[name] + 0.4375 * trained[name])
    whole = retention.moved_back(model, trained, 1.0)
    assert all(torch.equal(whole[name], trained[name]) for name in trained)


def test_what_was_not_forgotten_is_kept_as_trained(capsys: Capture) -> None:
    gentle = ["--lr", "0.0001", "--ngram", "none", "--json"]
    bound = json.loads(output(adapt("bound", *gentle), capsys))
    free = json.loads(output(adapt("free", *gentle, "--max-forgetting", "none"), capsys))
    assert bound["change_kept"] == 1
    assert bound["weights_sha256"] == free["weights_sha256"]


def test_a_run_that_was_killed_is_moved_back_as_far(capsys: Capture) -> None:
    whole = json.loads(output(adapt("whole", *FORGETFUL, "--json"), capsys))
    assert cli.main(adapt("cut", *FORGETFUL, "--max-time", "0.01s")) == 0
    resumed = json.loads(output(adapt("cut", *FORGETFUL, "--resume", "--json"), capsys))
    assert whole["change_kept"] < 1
    assert resumed["weights_sha256"] == whole["weights_sha256"]
    assert resumed["change_kept"] == whole["change_kept"]


def test_a_run_trains_on_from_where_it_was_not_from_where_it_was_moved(capsys: Capture) -> None:
    longer = [*FORGETFUL, "--epochs", "4"]
    whole = json.loads(output(adapt("whole", *longer, "--json"), capsys))
    output(adapt("short", *FORGETFUL), capsys)
    resumed = json.loads(output(adapt("short", *longer, "--resume", "--json"), capsys))
    assert resumed["weights_sha256"] == whole["weights_sha256"]


def test_a_start_that_was_trained_again_is_no_start_to_move_back_to(capsys: Capture) -> None:
    assert cli.main(adapt("cut", *FORGETFUL, "--max-time", "0.01s")) == 0
    again = [*TRAIN, "--head", "tied_linear", "--embedding", "6", "--overwrite", "--seed", "2"]
    assert cli.main([*again, *COMMON]) == 0
    capsys.readouterr()
    assert cli.main(adapt("cut", *FORGETFUL, "--resume", "--json")) == 0
    out, err = capsys.readouterr()
    assert "run was trained again since cut started from it: what was forgotten of its text is neither" in err
    found = json.loads(out)
    assert found["change_kept"] is None
    assert "network" in found["earlier"][0]
    assert "network_before" not in found["earlier"][0], "the model that has those figures is another"


def test_a_start_that_was_trained_again_has_no_figures_without_a_limit_either(capsys: Capture) -> None:
    unlimited = [*FORGETFUL, "--max-forgetting", "none"]
    assert cli.main(adapt("cut", *unlimited, "--max-time", "0.01s")) == 0
    assert cli.main([*TRAIN, "--head", "tied_linear", "--embedding", "6", "--overwrite", "--seed", "2", *COMMON]) == 0
    capsys.readouterr()
    found = json.loads(output(adapt("cut", *unlimited, "--resume", "--json"), capsys))
    assert "network_before" not in found["earlier"][0]


@pytest.mark.parametrize("size", ["12", "10"])
def test_a_finished_model_stays_if_its_start_was_trained_again(size: str, capsys: Capture) -> None:
    """It could not be made again."""
    assert cli.main(adapt("more", *FORGETFUL)) == 0
    before = Path("more/model.safetensors").read_bytes()
    again = [*TRAIN, "--head", "tied_linear", "--embedding", "6", "--overwrite", "--seed", "2", "--hidden", size]
    assert cli.main([*again, *COMMON]) == 0
    settings = ["train", "--config", "more/settings.yaml", "--out", "more", "--resume"]
    assert "its model cannot be made again: it stays" in refusal(settings, RunFolderError.exit_code, capsys)
    assert Path("more/model.safetensors").read_bytes() == before


def test_another_limit_is_another_run(capsys: Capture) -> None:
    assert cli.main(adapt("more", *FORGETFUL)) == 0
    other = adapt("more", *FORGETFUL, "--max-forgetting", "0.2", "--resume")
    assert "training.max_forgetting (0.03, now 0.2)" in refusal(other, RunFolderError.exit_code, capsys)


def test_a_limit_that_no_share_meets_leaves_the_model_as_trained(capsys: Capture) -> None:
    strong = [*FORGETFUL, "--lr", "0.02"]
    capsys.readouterr()
    assert cli.main(adapt("bound", *strong, "--max-forgetting", "1e-6", "--json")) == 0
    out, err = capsys.readouterr()
    assert "note: no share of the change meets --max-forgetting 1e-06, so the model stays as it is: " in err
    assert "its text is predicted more than 5 % worse: raise --rehearsal, or lower --lr\n" in err
    bound = json.loads(out)
    assert bound["change_kept"] is None
    free = json.loads(output(adapt("free", *strong, "--max-forgetting", "none", "--json"), capsys))
    assert bound["weights_sha256"] == free["weights_sha256"]


def test_texts_of_words_that_the_start_has_not_are_left_out(capsys: Capture) -> None:
    """A run may start from another than it extends, if that has fewer words."""
    assert cli.main(adapt("more", *FORGETFUL)) == 0
    text(Path("third"), ["birds sing to the cat"])
    command = ["train", "third", "--start-from", "run", "--data.extends", "more", "--out", "third-run", *COMMON]
    sizes = ["--head", "tied_linear", "--hidden", "12", "--embedding", "6", "--epochs", "1", "--ngram", "none"]
    result = json.loads(output([*command, *sizes, "--json"], capsys))
    assert [each["run"] for each in result["earlier"]] == ["more", "run"]
    settings = read_language_model(Path("third-run")).settings
    saved = read_language_model(Path("run"))
    [(_, words)] = Retention.of(settings, saved, {}, read_texts(settings.data).earlier).texts
    assert words == len(saved.tokenizer.vocabulary)


def test_a_run_that_is_killed_while_it_is_measured_is_finished_by_resuming(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = json.loads(output(adapt("whole", *FORGETFUL, "--json"), capsys))

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Retention, "__call__", killed)
        cli.main(adapt("cut", *FORGETFUL))
    assert not Path("cut/result.json").exists()
    resumed = json.loads(output(adapt("cut", *FORGETFUL, "--resume", "--json"), capsys))
    assert resumed["weights_sha256"] == whole["weights_sha256"]


def test_means_are_moved_back_without_being_normalised(capsys: Capture) -> None:
    tied = [*TRAIN, "--head", "tied", "--unit-rows", "true", "--noise.kind", "kneser_ney", "--noise.gamma", "0.2"]
    assert cli.main([*tied, "--overwrite", *COMMON]) == 0
    noisy = [*FORGETFUL, "--lr", "0.01", "--noise.kind", "kneser_ney", "--noise.gamma", "0.2"]
    result = json.loads(output(adapt("more", *noisy, "--max-forgetting", "0.1", "--json"), capsys))
    assert result["change_kept"] < 1
    norms = load_file("more/model.safetensors")["embedding.weight"].norm(dim=1)
    assert float(norms.min()) < 0.99


def test_without_the_earlier_text_there_is_no_limit(capsys: Capture) -> None:
    """Also if it is not to be rehearsed: then the model may forget it."""
    found = output(adapt("forgets", *FORGETFUL, "--rehearsal", "0", "--json"), capsys)
    assert json.loads(found)["change_kept"] is None
    shutil.rmtree("first")
    assert json.loads(output(adapt("more", *FORGETFUL, "--json"), capsys))["change_kept"] is None


def test_unit_rows_stay_of_unit_length(capsys: Capture) -> None:
    assert cli.main([*TRAIN, "--head", "tied", "--unit-rows", "true", "--overwrite", *COMMON]) == 0
    forgetful = [*FORGETFUL, "--lr", "0.01", "--max-forgetting", "0.1"]
    result = json.loads(output(adapt("more", *forgetful, "--json"), capsys))
    assert result["change_kept"] < 1
    norms = load_file("more/model.safetensors")["embedding.weight"].norm(dim=1)
    torch.testing.assert_close(norms, torch.ones_like(norms))


def test_a_plan_counts_the_time_that_the_choice_takes(capsys: Capture) -> None:
    output(adapt("more", "--ngram", "none"), capsys)
    settings: Settings = read_language_model(Path("more")).settings
    texts, timings = read_texts(settings.data), Timings(0.05, 1e-3, 0.0)
    lengths = Lengths(1000, 100, 100, 10, (100,))
    free = settings_from(settings, max_forgetting=None)
    budget = TimeBudget(100, 0.0, texts, lengths, Counting())
    seconds, without = (budget.besides_network(each, timings) for each in (settings, free))
    assert without == 0
    assert seconds == pytest.approx((2 + HALVINGS) * len(texts.earlier[0].data.valid) * 1e-3)


@pytest.mark.parametrize("most", [0.0, -0.1])
def test_a_limit_is_positive(most: float, capsys: Capture) -> None:
    assert cli.main(adapt("more", "--max-forgetting", str(most))) == 2
    assert "training.max_forgetting must be positive or none" in capsys.readouterr().err
