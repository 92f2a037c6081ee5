"""Spearman's rho, coverage, intervals, paired differences; the same rho as scipy and gensim."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wordtie import cli
from wordtie.errors import DataError
from wordtie.vectors import similarity
from wordtie.vectors.benchmarks import standard
from wordtie.vectors.files import write_vectors
from wordtie.vectors.similarity import (
    Benchmark,
    _interval,
    cosines,
    difference,
    read_benchmark,
    similarity_of,
    spearman,
    weighted_spearman,
)
from wordtie.vectors.word_vectors import WordVectors


def vectors(seed: int = 0, words: int = 60) -> WordVectors:
    matrix = np.random.default_rng(seed).normal(size=(words, 8)).astype(np.float32)
    return WordVectors([f"w{n}" for n in range(words)], matrix, name=f"set {seed}")


def benchmark(pairs: int = 200, words: int = 70) -> Benchmark:
    rng = np.random.default_rng(9)
    drawn = rng.permutation([(a, b) for a in range(words) for b in range(a)])[:pairs]
    return Benchmark("made", [(f"w{a}", f"W{b}") for a, b in drawn.tolist()], rng.integers(0, 10, pairs) / 2)


def test_a_handful_of_pairs_has_no_interval() -> None:
    two = Benchmark("two", [("w0", "w1"), ("w2", "w3")], np.array([1.0, 2.0]))
    result = similarity_of(vectors(), two)
    assert (abs(result.rho), result.low, result.high) == (1.0, None, None)
    compared = difference(vectors(), vectors(1), two)
    assert (compared.low, compared.high) == (None, None)


@pytest.mark.parametrize("seed", range(3))
def test_rho_equals_scipys(seed: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 6, 40).astype(float), rng.normal(size=40)
    assert spearman(a, b) == pytest.approx(stats.spearmanr(a, b)[0], abs=1e-12)
    weights = rng.multinomial(40, np.full(40, 1 / 40), 5).astype(float)
    for weight, rho in zip(weights, weighted_spearman(a, b, weights), strict=True):
        copies = np.repeat(np.arange(40), weight.astype(int))
        assert rho == pytest.approx(stats.spearmanr(a[copies], b[copies])[0], abs=1e-12)


def test_rho_and_coverage_equal_gensims(tmp_path: Path) -> None:
    models = pytest.importorskip("gensim.models")
    theirs = models.KeyedVectors(8)
    theirs.add_vectors(list(vectors().words), vectors().matrix_VE)
    path = tmp_path / "pairs.tsv"
    made = benchmark()
    path.write_text("".join(f"{a}\t{b}\t{s}\n" for (a, b), s in zip(made.pairs, made.scores, strict=True)))
    _, found, oov = theirs.evaluate_word_pairs(str(path))
    ours = similarity_of(vectors(), read_benchmark(path))
    assert ours.rho == pytest.approx(found[0], abs=1e-9)
    assert 100 * (1 - ours.covered / ours.pairs) == pytest.approx(oov)


def test_coverage_and_interval() -> None:
    result = similarity_of(vectors(), benchmark())
    expected = [a in vectors().words and b.lower() in vectors().words for a, b in benchmark().pairs]
    assert (result.pairs, result.covered) == (200, sum(expected))
    words = {word for pair in benchmark().pairs for word in pair}
    assert result.oov == pytest.approx(sum(int(word[1:]) >= 60 for word in words) / len(words))
    assert result.low is not None
    assert result.high is not None
    assert result.low < result.rho < result.high
    assert similarity_of(vectors(), benchmark()) == result
    assert np.isnan(cosines(vectors(), benchmark())).sum() == 200 - sum(expected)


def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    rng = np.random.default_rng(5)
    hits = 0
    for _ in range(100):
        a = rng.normal(size=80)
        b = 0.5 * a + rng.normal(size=80)
        weights = rng.multinomial(80, np.full(80, 1 / 80), 200).astype(float)
        low, high = _interval(weighted_spearman(a, b, weights))
        assert low is not None
        assert high is not None
        hits += low <= 0.4307 <= high  # 6/pi asin(r/2) with r = 0.5 / sqrt(1.25)
    assert 87 <= hits < 100


def test_differences_are_on_the_pairs_of_both() -> None:
    fewer = WordVectors(vectors(1).words[:40], vectors(1).matrix_VE[:40], name="fewer")
    result = difference(vectors(), fewer, benchmark())
    both = ~np.isnan(cosines(fewer, benchmark()))
    scores = benchmark().scores[both]
    assert result.pairs == both.sum()
    assert result.difference == pytest.approx(
        spearman(cosines(vectors(), benchmark())[both], scores) - spearman(cosines(fewer, benchmark())[both], scores)
    )
    assert result.low is not None
    assert result.high is not None
    assert result.low < result.difference < result.high
    same = difference(vectors(), vectors(), benchmark())
    assert (same.difference, same.low, same.high) == (0, 0, 0)


def test_no_overlap_is_an_error() -> None:
    strange = WordVectors(["Haus", "Hof"], np.eye(2, dtype=np.float32), name="german.txt")
    with pytest.raises(DataError, match=r"german\.txt: has both words of only 0 of the 200 pairs of made"):
        similarity_of(strange, benchmark())
    flat = WordVectors(vectors().words, np.ones((60, 8), np.float32), name="flat")
    with pytest.raises(DataError, match="come out alike"):
        similarity_of(flat, Benchmark("b", [("w1", "w2"), ("w3", "w4")], np.array([1.0, 2.0])))
    equal = Benchmark("b", [("w1", "w2"), ("w3", "w4")], np.array([1.0, 1.0]))
    with pytest.raises(DataError, match="b: all pairs that set 0 covers have the same score"):
        similarity_of(vectors(), equal)


@pytest.mark.parametrize("line", ["one two", "one two three", "one\t\t3", "a b c d", "one two nan", "tiger,cat,7.35"])
def test_a_bad_line_is_named(line: str, tmp_path: Path) -> None:
    path = tmp_path / "pairs.txt"
    path.write_text(f"# two words and a number\nsun moon 3.5\n\n{line}\n")
    with pytest.raises(
        DataError, match=r"pairs\.txt, line 4: must be .* a number, parted by tabs or blanks, no header"
    ):
        read_benchmark(path)


def test_a_benchmark_in_another_encoding_is_named_by_line(tmp_path: Path) -> None:
    path = tmp_path / "pairs.txt"
    path.write_bytes(b"\xef\xbb\xbfsun moon 3.5\ncaf\xc3\xa9 tea 2\n")
    assert list(read_benchmark(path).pairs) == [("sun", "moon"), ("café", "tea")]
    path.write_bytes(b"sun moon 3.5\ncaf\xe9 tea 2\n")
    with pytest.raises(DataError, match=r"pairs\.txt, line 2: not UTF-8; convert it with `iconv -f windows-1252"):
        read_benchmark(path)


def test_a_benchmark_without_pairs_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "pairs.txt").write_text("sun moon 3.5\n")
    with pytest.raises(DataError, match="needs two at least"):
        read_benchmark(tmp_path / "pairs.txt")
    with pytest.raises(DataError, match="cannot be read"):
        read_benchmark(tmp_path / "gone.txt")


def test_the_five_benchmarks_can_be_read() -> None:
    try:
        files = standard()
    except DataError as error:
        pytest.skip(str(error))
    sizes = {name: len(read_benchmark(file).pairs) for name, file in files.items()}
    assert sizes == {"SimLex-999": 999, "Verb-143": 144, "MEN": 3000, "Rare-Word": 2034, "MTurk-771": 771}


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for seed in (0, 1):
        write_vectors(vectors(seed), tmp_path / f"{seed}.txt", "text")
    made = benchmark()
    lines = (f"{a} {b} {score}\n" for (a, b), score in zip(made.pairs, made.scores, strict=True))
    (tmp_path / "pairs.txt").write_text("".join(lines))
    arguments = [str(tmp_path / "0.txt"), str(tmp_path / "1.txt"), "--benchmark", str(tmp_path / "pairs.txt")]
    assert cli.main(["similarity", *arguments, "--agreement", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["rho"] for each in found["similarity"]] == [similarity_of(vectors(s), made).rho for s in (0, 1)]
    assert found["difference"][0]["pairs"] == found["similarity"][0]["covered"]
    assert found["agreement"][0]["words"] == 60
    assert cli.main(["similarity", *arguments]) == 0
    assert capsys.readouterr().out.startswith("benchmark\tvectors\trho\tlow\thigh\tpairs\tcovered\toov\npairs\t")
    assert cli.main(["similarity", str(tmp_path / "gone")]) == 3


def test_the_command_goes_on_where_one_benchmark_is_not_covered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for number in (0, 1):
        write_vectors(vectors(number), Path(f"{number}.txt"), "text")
    made = benchmark()
    lines = (f"{a} {b} {score}\n" for (a, b), score in zip(made.pairs, made.scores, strict=True))
    Path("pairs.txt").write_text("".join(lines))
    Path("other.txt").write_text("chat chien 3\nchat loup 2\n")

    def found(*more: str) -> Any:
        both = ["--benchmark", "pairs.txt", "--benchmark", "other.txt"]
        assert cli.main(["similarity", "0.txt", "1.txt", *both, "--json", *more]) == 0
        return json.loads(capsys.readouterr().out)

    rows = found()["similarity"]
    assert [row["rho"] is None for row in rows] == [False, False, True, True]
    assert (rows[2]["pairs"], rows[2]["covered"], rows[2]["oov"]) == (2, 0, 1.0)
    first, other = found("--seed", "1")["difference"], found("--seed", "2")["difference"]
    assert [row["benchmark"] for row in first] == ["pairs"]
    assert first[0]["difference"] == other[0]["difference"]
    assert first[0]["low"] != other[0]["low"]
    assert cli.main(["similarity", "0.txt", "--benchmark", "other.txt"]) == 3
    assert "has both words of only 0 of the 2 pairs" in capsys.readouterr().err
    monkeypatch.setenv("WORDTIE_DATA", str(tmp_path))
    assert cli.main(["similarity", "0.txt", "1.txt", "--agreement"]) == 0
    assert capsys.readouterr().out.startswith("vectors\trho\t")


def test_resamples_are_the_same_however_many_are_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = similarity_of(vectors(), benchmark())
    monkeypatch.setattr(similarity, "NUMBERS_AT_ONCE", 3000)
    assert similarity_of(vectors(), benchmark()) == whole
