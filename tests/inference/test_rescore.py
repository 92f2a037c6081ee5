"""Rescoring: what a hypothesis is scored as, what carries over from one list to the next, and the command."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.commands import Capture, output
from tests.inference.hand_made import Bigrams, p
from tests.inference.test_rescore_tuning import made_up
from tests.models.test_prefix_sharing import mixture
from tests.tiny_run import TINY, write_text
from wordtie.cli import main
from wordtie.commands.rescore import doubts
from wordtie.config import Settings
from wordtie.data.nbest import Hypothesis, NBestList
from wordtie.data.nbest_files import open_nbest
from wordtie.data.tokenisation import Tokenisation
from wordtie.data.tokenizer import Tokenizer
from wordtie.errors import SettingsError
from wordtie.inference import rescore
from wordtie.inference.loading import LoadedModel, load
from wordtie.inference.rescore import Reading, ScoredList, Weights, score_lists
from wordtie.inference.translation import Translated, moses_line


class Selecting(Bigrams):
    """With what prefixes need."""

    def select(self, state: Any, streams: Sequence[int] | Any) -> Any:
        return state[np.asarray(streams)]

    def advance(self, ids_TB: Any, state: Any) -> Any:
        return ids_TB[-1]


def pencil(lowercase: bool = True, sentences: bool = True) -> LoadedModel:
    tokenizer = Tokenizer(Tokenisation("words", lowercase=lowercase, sentences=sentences), Selecting.vocabulary)
    return LoadedModel(Selecting(), tokenizer, Settings())


def log_p(*words: str) -> float:
    return sum(math.log(p(*pair)) for pair in zip(("<eos>", *words), words, strict=False))


def scored(texts: Sequence[str], loaded: LoadedModel | None = None, **options: Any) -> list[float]:
    nbest = NBestList("u", [Hypothesis(text) for text in texts])
    (found,) = score_lists(loaded or pencil(), [nbest], Reading(**options))
    assert [each.hypothesis for each in found.unranked().order] == nbest.hypotheses
    return list(found.log_p_H)


def test_log_p_of_a_sentence_with_its_end() -> None:
    expected = [log_p("the", "cat", "sat", ".", "<eos>"), log_p("the", "cat", "sat", "<eos>"), -math.inf]
    assert scored(["The cat sat.", "the cat sat", ""]) == pytest.approx(expected)  # this model knows no empty sentence


def test_an_empty_hypothesis_of_running_text_has_nothing_to_score() -> None:
    assert scored(["", "the cat"], pencil(sentences=False)) == pytest.approx([0.0, log_p("the", "cat")])


def test_case() -> None:
    cased = pencil(lowercase=False)
    assert scored(["the CAT sat"], cased) == pytest.approx([log_p("the", "<unk>", "sat", "<eos>")])
    assert scored(["the CAT sat"], cased, case="lower") == pytest.approx([log_p("the", "cat", "sat", "<eos>")])
    assert scored(["the cat sat"], case="upper") == pytest.approx([log_p("the", "cat", "sat", "<eos>")])


def test_punctuation_may_be_left_out() -> None:
    assert scored(["the cat, sat."], punctuation="drop") == pytest.approx([log_p("the", "cat", "sat", "<eos>")])
    assert scored(["the cat, sat."])[0] == -math.inf  # this model has never seen `, sat`


def test_unknown_words() -> None:
    read = log_p("cat", "<unk>", "sat", "<eos>")
    assert scored(["cat xyz sat"]) == pytest.approx([read])
    assert scored(["cat xyz sat"], unknown="skip") == pytest.approx([read - math.log(p("cat", "<unk>"))])


def test_totals() -> None:
    nbest = NBestList("u", [Hypothesis("cat sat", -1.0), Hypothesis("cat xyz sat", -0.5)])
    (found,) = score_lists(pencil(), [nbest])
    ranked = found.ranked(Weights(0.3, 0.7, -2.0))
    expected = [
        -1.0 + 0.3 * log_p("cat", "sat", "<eos>") + 0.7 * 2,
        -0.5 + 0.3 * log_p("cat", "<unk>", "sat", "<eos>") + 0.7 * 3 - 2.0,
    ]
    assert [each.total for each in ranked.order] == pytest.approx(expected)
    assert ranked.best_text == "cat sat"
    assert found.ranked(Weights(0.3, 0.7, 2.0)).best_text == "cat xyz sat"


def test_equal_hypotheses_keep_their_order() -> None:
    hypotheses = [Hypothesis("cat sat", -1.0, raw) for raw in range(5)]
    (found,) = score_lists(pencil(), [NBestList("u", hypotheses)])
    assert [each.hypothesis.raw for each in found.ranked(Weights()).order] == [0, 1, 2, 3, 4]


def lists_of(loaded: LoadedModel) -> list[NBestList]:
    words = loaded.tokenizer.vocabulary.words
    draw = np.random.default_rng(2)
    texts = [[" ".join(words[each] for each in draw.integers(2, 12, size)) for size in (3, 5, 5)] for _ in range(4)]
    return [NBestList(str(number), [Hypothesis(text) for text in of_list]) for number, of_list in enumerate(texts)]


def adaptive() -> LoadedModel:
    model = mixture()
    return LoadedModel(model, Tokenizer(Tokenisation("space"), model.vocabulary), Settings())


def values(found: Sequence[ScoredList]) -> list[float]:
    return [value for each in found for value in each.log_p_H.tolist()]


def test_nothing_leaks_from_one_list_to_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a mixture with recent words: in any order, together or alone."""
    loaded = adaptive()
    lists = lists_of(loaded)
    together = values(list(score_lists(loaded, lists)))
    assert values([each for nbest in lists for each in score_lists(loaded, [nbest])]) == pytest.approx(
        together, abs=1e-5
    )
    backwards = list(score_lists(loaded, lists[::-1]))
    assert values(backwards[::-1]) == pytest.approx(together, abs=1e-5)
    monkeypatch.setattr(rescore, "HYPOTHESES_AT_ONCE", 4)
    assert values(list(score_lists(loaded, lists))) == pytest.approx(together, abs=1e-5)


def test_a_list_may_continue_the_best_of_the_list_before() -> None:
    """As a long text of the best hypotheses is scored, state and recent words included."""
    loaded, weights = adaptive(), Weights(1.0)
    lists = lists_of(loaded)
    found = list(score_lists(loaded, lists, Reading(context="best"), weights))
    state = loaded.model.initial_state(1)
    for each in found:
        expected = []
        for hypothesis in each.nbest.hypotheses:
            ids = loaded.tokenizer.encode(f"{hypothesis.text}\n")
            expected.append(float(loaded.model.score(ids[:, None], state)[0].sum()))
        assert each.log_p_H.tolist() == pytest.approx(expected, rel=1e-5)
        best = each.ranked(weights).best_text
        state = loaded.model.advance(loaded.tokenizer.encode(f"{best}\n")[:, None], state)
    assert values(found)[3:] != pytest.approx(values(list(score_lists(loaded, lists)))[3:], abs=1e-3)


def test_readings_that_mean_nothing_are_refused() -> None:
    with pytest.raises(SettingsError, match="case must be keep or lower or upper"):
        Reading(case="title")  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network with n-grams mixed in."""
    folder = tmp_path_factory.mktemp("rescore")
    arguments = [*TINY, "--ngram", "3"]
    assert main(["train", str(write_text(folder / "text")), "--out", str(folder / "run"), *arguments]) == 0
    return folder / "run"


NBEST = ["0 ||| w1 w2 ||| LM= -1 ||| -1", "0 ||| w1 w3 w99 ||| LM= -1 ||| -1.2", "1 |||  ||| LM= 0 ||| -3"]


@pytest.fixture
def nbest(tmp_path: Path) -> Path:
    (tmp_path / "lists").write_text("\n".join(NBEST) + "\n")
    return tmp_path / "lists"


@pytest.mark.parametrize(
    "part", [[], ["--part", "network"], ["--part", "ngram"]], ids=["mixture", "network", "n-grams"]
)
def test_scores_are_those_of_the_sentences(run: Path, nbest: Path, part: list[str], capsys: Capture) -> None:
    lines = output(["rescore", str(run), str(nbest), *part], capsys).splitlines()
    found = [float(line.split("WordtieLM= ")[1].split()[0]) for line in lines]
    loaded = load(run, part=part[1] if part else None)  # type: ignore[arg-type]
    bits = loaded.score(["w1 w2", "w1 w3 w99", ""])
    assert found == pytest.approx([-each * math.log(2) for each in bits], abs=1e-4)
    assert [re.sub(r" WordtieLM= \S+", "", line) for line in lines] == NBEST


def test_ranked_and_best(run: Path, nbest: Path, capsys: Capture) -> None:
    ranked = output(["rescore", str(run), str(nbest), "--word-weight", "9"], capsys).splitlines()
    assert [line.split("|||")[1].strip() for line in ranked] == ["w1 w3 w99", "w1 w2", ""]
    assert ranked[0].startswith("0 ||| w1 w3 w99 ||| LM= -1 WordtieLM= ")
    assert output(["rescore", str(run), str(nbest), "--lm-weight", "0", "--best"], capsys) == "w1 w2\n\n"
    assert output(["rescore", str(run), str(nbest), "--word-weight", "9", "--best"], capsys) == "w1 w3 w99\n\n"


def test_the_best_of_moses_lists_keep_their_line_numbers(run: Path, nbest: Path, capsys: Capture) -> None:
    nbest.write_text("".join(f"{number} ||| {text} ||| ||| -1\n" for number, text in ((1, "w1"), (4, "w2"))))
    assert output(["rescore", str(run), str(nbest), "--best"], capsys).split("\n") == ["", "w1", "", "", "w2", ""]
    nbest.write_text("".join(f"{number} ||| {text} ||| ||| -1\n" for number, text in ((4, "w1"), (1, "w2"))))
    assert main(["rescore", str(run), str(nbest), "--best"]) == 3
    assert "list 1 comes after list 4: sort the lists" in capsys.readouterr().err


def test_ids_that_are_no_numbers_of_sentences_do_not_fill_the_disk(run: Path, nbest: Path, capsys: Capture) -> None:
    nbest.write_text("0 ||| w1 ||| ||| -1\n0 ||| w2 ||| ||| -1\n20240517001 ||| w2 ||| ||| -1\n")
    assert main(["rescore", str(run), str(nbest), "--best"]) == 3
    printed = capsys.readouterr()
    assert printed.out.count("\n") == 1
    assert f"{nbest}, line 3: --best would print 20,240,517,000 blank lines before list 20240517001" in printed.err
    nbest.write_text("100000 ||| w1 ||| ||| -1\n")
    assert output(["rescore", str(run), str(nbest), "--best"], capsys) == "\n" * 100_000 + "w1\n"


def test_ids_from_one_are_said_to_leave_the_first_line_blank(run: Path, nbest: Path, capsys: Capture) -> None:
    for first, notes in ((1, 1), (0, 0), (2, 0)):
        nbest.write_text("".join(f"{number} ||| w1 ||| ||| -1\n" for number in (first, first + 2)))
        assert main(["rescore", str(run), str(nbest), "--best"]) == 0
        assert capsys.readouterr().err.count("has no list 0, so line 1 of the output is blank") == notes


def test_tune(run: Path, tmp_path: Path, capsys: Capture) -> None:
    lists, references = made_up(12)
    lines = [f"u{each.nbest.id} {h.text}" for each in lists for h in each.nbest.hypotheses]
    scores = [f"u{each.nbest.id} {h.score}" for each in lists for h in each.nbest.hypotheses]
    for name, content in (
        ("dev", lines),
        ("am", scores),
        ("ref", [f"u{n} {text}" for n, text in enumerate(references)]),
    ):
        (tmp_path / name).write_text("\n".join(content) + "\n")
    dev, am, ref = (str(tmp_path / name) for name in ("dev", "am", "ref"))
    tune = ["--tune", dev, "--tune-scores", am, "--references", ref]
    report = json.loads(output(["rescore", str(run), *tune, "--json"], capsys))
    assert report["metric"] == "wer"
    assert report["after"] <= report["before"]
    assert main(["rescore", str(run), *tune]) == 0
    printed = capsys.readouterr()
    shown = printed.out
    assert shown.startswith("--lm-weight ")
    assert "fitted to 12 lists" in printed.err
    best = output(["rescore", str(run), dev, "--scores", am, *tune, "--best"], capsys).splitlines()
    assert [line.split()[0] for line in best] == [f"u{number}" for number in range(12)]
    weights = shown.partition(":")[0].split()
    assert output(["rescore", str(run), dev, "--scores", am, *weights, "--best"], capsys).splitlines() == best


def test_references_without_ids_are_as_many_as_the_lists(run: Path, tmp_path: Path, capsys: Capture) -> None:
    dev, ref = tmp_path / "dev", tmp_path / "ref"
    ref.write_text("w1 w2\nw3\nw1\n")
    tune = ["rescore", str(run), "--tune", str(dev), "--references", str(ref), "--part", "ngram"]
    dev.write_text("w1 w2\t-1\n\nw1\t-1\n")
    assert main(tune) == 3
    assert "ref: has 3 lines for 2 lists: give a line for each list" in capsys.readouterr().err
    dev.write_text("w1 w2\t-1\n\n\nw1\t-1\n")
    report = json.loads(output([*tune, "--json"], capsys))
    assert (report["lists"], report["before"]) == (2, 0.0)


def test_few_lists_are_doubted() -> None:
    assert "99 lists" in doubts({"lists": 99})[0]
    assert not doubts({"lists": 100})


def test_a_malformed_line_is_named(run: Path, nbest: Path, capsys: Capture) -> None:
    with nbest.open("a") as file:
        file.write("2 ||| w1\n")
    assert main(["rescore", str(run), str(nbest)]) == 3
    assert capsys.readouterr().err.startswith(f"wordtie: error: {nbest}, line 4: is not `id ||| text")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run"], "name the n-best lists"),
        (["run", "--tune", "dev"], "--tune needs --references"),
        (["run", "lists", "--metric", "wer"], "are for --tune"),
        (["run", "--tune", "dev", "--references", "ref", "--best"], "are for NBEST"),
        (["run", "lists", "--scores", "am", "--tune", "dev", "--references", "ref"], "as many files each"),
        (["run", "lists", "--tune", "dev", "--references", "ref", "--lm-weight", "0.3"], "--tune fits the weights"),
        (["run", "-", "--tune", "-", "--references", "ref"], "stdin (-) can be read once"),
        (["run", "lists", "--lm-weight", "nan"], "must be a number, got nan"),
    ],
)
def test_options_that_do_not_go_together(arguments: list[str], message: str, capsys: Capture) -> None:
    assert main(["rescore", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_a_line_of_50_mb(run: Path, tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "long").write_text("\n".join([f"u1 w1 {'x' * 50_000_000} w2", "u1 w1 w2"]) + "\n")
    lines = output(["rescore", str(run), str(tmp_path / "long"), "--part", "ngram"], capsys).splitlines()
    (unknown, known) = (float(line.split()[1]) for line in lines)
    assert math.isfinite(unknown)
    assert unknown != known


def test_what_translate_writes_is_read() -> None:
    found = Translated("ein ||||| hund", -1.5, -0.5, ("ein", "|||||", "hund", "<eos>"), ("a", "dog", "<eos>"))
    name, _, lists = open_nbest([moses_line(0, found)], "lists", None)
    (nbest,) = lists
    assert (name, nbest.id) == ("moses", "0")
    assert (nbest.hypotheses[0].text, nbest.hypotheses[0].score) == ("ein | | | | | hund", -0.5)
