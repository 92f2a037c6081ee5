"""Models side by side, and the spaces of their matrices: the commands `compare` and `subspace`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.commands import SMALL, Capture, output, rows, small_text
from wordtie import cli
from wordtie.config.ngram import NgramSettings
from wordtie.data.tokenisation import Tokenisation
from wordtie.data.tokenizer import Tokenizer
from wordtie.data.vocabulary import Vocabulary
from wordtie.errors import DataError
from wordtie.inference.compare import compare_predictions, expectation
from wordtie.inference.frequencies import by_frequency
from wordtie.inference.loading import LoadedModel, load
from wordtie.models.mixture import Mixture
from wordtie.ngrams import NgramModel, fit_kneser_ney
from wordtie.vectors.extraction import sides, vectors_of
from wordtie.vectors.subspace import compare_subspaces


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """A tied and an untied model, in the working directory."""
    folder = tmp_path_factory.mktemp("compare")
    small_text(folder / "text", word="<unk>")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        patch.chdir(folder)
        for head in ("tied", "untied"):
            kind = ["--model.head", head, "--loss.kind", "cross_entropy"]
            assert cli.main(["train", "text", "--out", head, *SMALL, *kind]) == 0
        yield "untied", "tied"


def test_predictions_are_those_of_each_model(runs: tuple[str, str]) -> None:
    models = {name: load(name) for name in runs}
    found = compare_predictions(models, "the cat sat", "on", top=3, frequent=2)
    for name, model in models.items():
        everything = dict(model.predict("the cat sat", top=99))
        expected = found.models[name]
        assert list(expected.top) == model.predict("the cat sat", top=3)
        assert expected.following == pytest.approx(everything["on"])
        assert expected.rank == 1 + sorted(everything.values(), reverse=True).index(everything["on"])
        assert expected.mass.unk == pytest.approx(everything["<unk>"])
        words = [word for word in model.tokenizer.vocabulary.words if not word.startswith("<")][:2]
        assert expected.mass.frequent == pytest.approx(sum(everything[word] for word in words))


def test_compare_prints_ranks_then_what_follows_then_masses(runs: tuple[str, str], capsys: Capture) -> None:
    Path("phrases.tsv").write_text("the cat sat\ton\nthe\tbird\n\nthe <unk>\n")
    arguments = ["compare", *runs, "--phrases", "phrases.tsv", "--top", "2", "--frequent", "3"]
    found = rows(output(arguments, capsys))
    assert list(found[0]) == ["phrase", "rank", "untied", "untied:probability", "tied", "tied:probability"]
    assert [row["rank"] for row in found] == ["1", "2", "follows", "mass", "mass"] * 2 + ["1", "2", "mass", "mass"]
    assert found[2]["tied"].startswith("on (rank ")
    assert found[3]["tied"] == "<unk>"
    assert found[4]["tied"] == "3 most frequent words"
    assert found[7]["tied:probability"] == found[8]["tied:probability"], "a word not known is <unk>"
    assert found[7]["tied"].startswith("bird = <unk> (rank ")
    as_json = json.loads(output([*arguments, "--json"], capsys))
    assert [each["phrase"] for each in as_json] == ["the cat sat", "the", "the <unk>"]
    assert f"{as_json[0]['models']['tied']['mass']['unk']:.6f}" == found[3]["tied:probability"]
    likeliest, probability = as_json[0]["models"]["untied"]["top"][0]
    assert [likeliest, f"{probability:.6f}"] == [found[0]["untied"], found[0]["untied:probability"]]
    one = rows(output(["compare", "tied", "--phrase", "the", "--phrase", "on"], capsys))
    assert {row["phrase"] for row in one} == {"the", "on"}
    assert [each["models"]["tied"]["oov"] for each in as_json] == [False, True, None]


def test_the_rank_of_a_word_as_likely_as_others_is_their_mean_rank(tmp_path: Path) -> None:
    path = tmp_path / "uniform.arpa"
    words = "".join(f"-0.69897 {word}\n" for word in ("</s>", "<unk>", "a", "b", "c"))
    path.write_text(f"\\data\\\nngram 1=5\n\n\\1-grams:\n{words}\n\\end\\\n")
    model = load(path)
    ranks = [expectation(model, "a", word, 1, 1).rank for word in ("a", "c")]
    assert ranks == [3.0, 3.0]


@pytest.mark.parametrize(
    ("phrases", "message"),
    [
        ("on\tthe\n\nthe cat\ton the\n", "error: bad.tsv, line 3: 'on the' must be one word to follow 'the cat'"),
        ("the cat\ton\tthe\n", r"error: bad.tsv, line 1: 'on\tthe' must be one word to follow 'the cat'"),
        ("\n \n", "bad.tsv: has no phrases in it"),
    ],
)
def test_phrases_that_cannot_be_answered(runs: tuple[str, str], phrases: str, message: str, capsys: Capture) -> None:
    Path("bad.tsv").write_text(phrases)
    assert cli.main(["compare", *runs, "--phrases", "bad.tsv"]) == DataError.exit_code
    assert message in capsys.readouterr().err


def test_a_run_named_as_a_column_is(runs: tuple[str, str], capsys: Capture) -> None:
    Path("rank").symlink_to(runs[0])
    (first, *_) = rows(output(["compare", "rank", "--phrase", "the cat sat"], capsys))
    assert list(first) == ["phrase", "rank", "./rank", "./rank:probability"]
    assert first["rank"] == "1"


def test_compare_over_a_text(runs: tuple[str, str], capsys: Capture) -> None:
    arguments = ["compare", *runs, "--text", "text/test.txt", "--frequent", "2"]
    found = rows(output(arguments, capsys))
    assert [(row["model"], row["words"]) for row in found] == [
        (name, words) for name in runs for words in ("<unk>", "2 most frequent words", "the last word again")
    ]
    assert {row["found"] for row in found if row["words"] == "<unk>"} == {f"{2 / 28:.6f}"}
    assert all(0 < float(row[kind]) < 1 for row in found for kind in ("predicted", "elsewhere"))
    assert [row["tokens"] for row in json.loads(output([*arguments, "--json"], capsys))] == [28] * 6


def test_frequent_words_of_a_model_whose_ids_have_another_order(runs: tuple[str, str]) -> None:
    """As after an import, or with an extended vocabulary: unigrams tell which words are frequent, a network does not,
    and unigrams below longer n-grams count other things."""
    tied = load("tied")
    assert by_frequency(tied) == range(len(tied.tokenizer.vocabulary))
    extended = replace(tied.settings, data=replace(tied.settings.data, extends="untied"))
    for other in (replace(tied, texts={}), replace(tied, settings=extended)):
        found = compare_predictions({"other": other}, "the cat sat", frequent=2)
        assert found.models["other"].frequent_words == "first 2 words of the vocabulary"
    vocabulary = Vocabulary(["a", "<unk>", "<eos>", "the", "cat"])
    ids = vocabulary.encode(["the", "cat", "<eos>", "the", "cat", "<eos>", "the", "<eos>", "a", "<eos>"])
    ngrams = NgramModel(vocabulary, fit_kneser_ney(ids, len(vocabulary), 1, eos_id=2))
    tokenizer = Tokenizer(Tokenisation("space"), vocabulary)
    for model in (ngrams, Mixture([ngrams], np.ones((1, 1)))):
        loaded = LoadedModel(model, tokenizer, NgramSettings())
        expected = compare_predictions({"arpa": loaded}, "the", frequent=1).models["arpa"]
        assert expected.frequent_words == "1 most frequent words"
        assert expected.mass.frequent == pytest.approx(dict(loaded.predict("the"))["the"])
    longer = LoadedModel(
        NgramModel(vocabulary, fit_kneser_ney(ids, len(vocabulary), 2, eos_id=2)), tokenizer, NgramSettings()
    )
    assert (
        compare_predictions({"arpa": longer}, "the").models["arpa"].frequent_words == "first 50 words of the vocabulary"
    )
    estimated = by_frequency(longer, estimated=True)
    assert estimated is not None
    assert vocabulary.words[estimated[0]] == "<eos>", "it comes after three different words, `the` at starts alone"


def test_the_interval_of_a_text_of_one_line_is_blank(runs: tuple[str, str], capsys: Capture) -> None:
    Path("one.txt").write_text("the cat sat\n")
    assert cli.main(["evaluate", *runs, "one.txt"]) == 0
    printed = capsys.readouterr()
    first, second = rows(printed.out)
    assert (first["bits"], second["bits"] != "", second["bits_low"], second["ratio_high"]) == ("", True, "", "")
    assert "note: no intervals: they take 10 lines, and the text has 1; give a longer" in printed.err
    found = json.loads(output(["evaluate", *runs, "one.txt", "--json"], capsys))
    assert (found["blocks"], found["runs"][1]["bits_low"], found["runs"][1]["ratio_high"]) == (1, None, None)


def test_subspace_of_one_untied_model_and_of_two(runs: tuple[str, str], capsys: Capture) -> None:
    (row,) = rows(output(["subspace", "untied"], capsys))
    first, second = sides(Path("untied")).values()
    assert float(row["distance"]) == pytest.approx(
        compare_subspaces(first.matrix_VE, second.matrix_VE).distance, abs=1e-6
    )
    words = len(first.words)
    assert (row["first"], row["second"], row["words"]) == ("untied:input", "untied:output", str(words))
    assert float(row["unrelated"]) == pytest.approx((1 - 6 / words) ** 0.5, abs=1e-6)
    found = json.loads(output(["subspace", "tied", "untied:output", "--json"], capsys))
    expected = compare_subspaces(vectors_of(Path("tied")).matrix_VE, second.matrix_VE).distance
    assert found["distance"] == pytest.approx(expected)
    assert len(found["angles"]) == 6
    assert np.degrees(np.arcsin(found["distance"])) <= found["largest_angle"] + 1e-9


def test_unrelated_spaces_are_as_far_apart_as_the_smaller_is_small(runs: tuple[str, str], capsys: Capture) -> None:
    """One column of four words meets any three at a square cosine of 3/4, on average."""
    Path("line.txt").write_text("4 1\na 1\nb 0\nc 0\nd 0\n")
    Path("space.txt").write_text("4 3\na 1 0 0\nb 0 1 0\nc 0 0 1\nd 0 0 0\n")
    for first, second in (("line.txt", "space.txt"), ("space.txt", "line.txt")):
        (row,) = rows(output(["subspace", first, second], capsys))
        assert {row["rank_first"], row["rank_second"]} == {"1", "3"}
        assert (row["unrelated"], row["distance"]) == (f"{(3 / 4) ** 0.5:.6f}", f"{(2 / 3) ** 0.5:.6f}")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["compare", "tied"], "give --phrase or --phrases, or else --text"),
        (["compare", "tied", "--phrase", "a", "--text", "text/test.txt"], "or else --text"),
        (["subspace", "tied"], "is tied"),
        (["subspace", "text/test.txt"], "text/test.txt: is one set of vectors: name a second source"),
        (["subspace", "untied:output"], "untied:output: is one set of vectors: name a second source"),
        (["subspace", "gone"], "gone: no such run folder"),
    ],
)
def test_what_makes_no_sense_is_said(
    runs: tuple[str, str], arguments: list[str], message: str, capsys: Capture
) -> None:
    assert cli.main(arguments) == 2
    assert message in capsys.readouterr().err
