"""ARPA files: written and read again, read as others write them, and refused."""

from __future__ import annotations

import gzip
import io
import json
import math
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import wordtie
from tests.commands import Capture, output, rows, small_text
from wordtie.cli import main
from wordtie.data.tokenisation import SPACE_PATTERN, Tokenisation, words_pattern
from wordtie.data.tokenizer import Tokenizer
from wordtie.data.vocabulary import Vocabulary
from wordtie.errors import DataError, RunFolderError
from wordtie.ngrams import fit_kneser_ney
from wordtie.ngrams.arpa import read_arpa, write_arpa
from wordtie.ngrams.backoff import of_trie

WORDS = 20
VOCABULARY = Vocabulary(["<eos>", "<unk>", *(f"w{number}" for number in range(2, WORDS))])
TRAIN = np.cumsum(np.minimum(np.random.default_rng(1).zipf(1.5, 800), 10) - 1) % WORDS
TEXT = np.cumsum(np.minimum(np.random.default_rng(2).zipf(1.5, 200), 10) - 1) % WORDS

BY_HAND = r"""
an introduction, which some tools write

\data\
ngram 1=5
ngram 2=3

\1-grams:
-0.5 <unk>
-99 <s> -0.25
-0.75 </s>
-1.0 a -0.125
-1.25	b	-0.5

\2-grams:
-0.375 <s> a
-0.625 a b
-0.875 b </s>

\end\
"""


def written(order: int, eos_id: int | None, path: Path) -> tuple[Path, np.ndarray]:
    trie = fit_kneser_ney(TRAIN, WORDS, order, eos_id=eos_id)
    tokenizer = Tokenizer(Tokenisation("words", lowercase=True, sentences=eos_id is not None), VOCABULARY)
    text = io.StringIO()
    write_arpa(text, of_trie(trie), tokenizer)
    path.write_bytes(gzip.compress(text.getvalue().encode()) if path.suffix == ".gz" else text.getvalue().encode())
    return path, trie.log_probabilities(TEXT)


@pytest.mark.parametrize("name", ["model.arpa", "model.arpa.gz"])
@pytest.mark.parametrize("order", [1, 2, 4, 25])
@pytest.mark.parametrize("eos_id", [0, None], ids=["sentences", "running text"])
def test_read_again_it_is_the_same_model(eos_id: int | None, order: int, name: str, tmp_path: Path) -> None:
    path, log_p_N = written(order, eos_id, tmp_path / name)
    trie, tokenizer = read_arpa(path)
    assert tokenizer == Tokenizer(Tokenisation("words", lowercase=True, sentences=eos_id is not None), VOCABULARY)
    assert trie.eos_id == eos_id
    np.testing.assert_allclose(trie.log_probabilities(TEXT), log_p_N, atol=1e-6)


@pytest.mark.parametrize(
    "rule",
    [
        Tokenisation("words", composed=False),
        Tokenisation("space", composed=True),
        Tokenisation("words"),
        Tokenisation("words", lowercase=True, replaced=()),
        Tokenisation("space", replaced=(("\u200b", " "), ("[\u2010\u2011]", "-"))),
        Tokenisation("words", pattern=words_pattern().replace("A-Z", "A-Y")),
    ],
)
def test_text_is_split_as_before(rule: Tokenisation, tmp_path: Path) -> None:
    text, path = io.StringIO(), tmp_path / "x.arpa"
    write_arpa(text, of_trie(fit_kneser_ney(TRAIN, WORDS, 2, eos_id=0)), Tokenizer(rule, VOCABULARY))
    path.write_text(text.getvalue())
    found = read_arpa(path)[1]
    assert found.tokenisation == rule
    assert found.words("Cafe\u0301, 'a'") == rule.words("Cafe\u0301, 'a'")


def test_a_file_of_another_tool(tmp_path: Path) -> None:
    (tmp_path / "x.arpa").write_text(BY_HAND)
    model = wordtie.load(tmp_path / "x.arpa")
    assert model.tokenizer.vocabulary.words == ("<unk>", "<eos>", "a", "b")
    log10_p = -0.375 + -0.625 + -0.875 + (-0.25 - 1.25) + (-0.5 - 1.0) + (-0.125 - 0.5) + -0.75
    bits = model.score(["a b", "b a xyz"])
    assert sum(bits) == pytest.approx(-log10_p / math.log10(2), rel=1e-6)


def test_unk_and_sentence_end_may_be_missing(tmp_path: Path) -> None:
    text = BY_HAND.replace("ngram 1=5", "ngram 1=3").replace("-0.5 <unk>\n", "").replace("-0.75 </s>\n", "")
    (tmp_path / "x.arpa").write_text(text.replace("ngram 2=3", "ngram 2=2").replace("-0.875 b </s>\n", ""))
    model = wordtie.load(tmp_path / "x.arpa")
    assert model.score(["xyz"])[0] == pytest.approx((99 + 0.25 + 99) / math.log10(2), rel=1e-5)


def test_unk_in_capitals_is_unk(tmp_path: Path) -> None:
    text = BY_HAND.replace("-0.625 a b", "-0.625 a <unk>")
    (tmp_path / "x.arpa").write_text(text)
    (tmp_path / "y.arpa").write_text(text.replace("<unk>", "<UNK>"))
    one, other = (wordtie.load(tmp_path / name) for name in ("x.arpa", "y.arpa"))
    assert other.tokenizer == one.tokenizer
    assert other.score(["a xyz b"]) == one.score(["a xyz b"])


def test_an_order_may_have_no_ngrams(tmp_path: Path) -> None:
    """As SRILM writes it for a short text."""
    plain, path = tmp_path / "plain.arpa", tmp_path / "x.arpa"
    plain.write_text(BY_HAND)
    text = BY_HAND.replace("2=3", "2=3\nngram 3=0\nngram 4=0")
    path.write_text(text.replace("\\end", "\\3-grams:\n\n\\4-grams:\n\n\\end"))
    assert wordtie.load(path).score(["a b"]) == wordtie.load(plain).score(["a b"])


def test_what_is_all_but_impossible_is_still_a_number(tmp_path: Path) -> None:
    path = tmp_path / "x.arpa"
    path.write_text(BY_HAND.replace("-0.625 a b", "-99 a b"))
    model = wordtie.load(path)
    bits = [word.surprisal_bits for word in model.surprisal("a b")]
    assert 40 < bits[1] < 99 / math.log10(2)
    assert all(math.isfinite(word.entropy_bits) for word in model.surprisal("a b"))
    log_p_V = model.model.next(model.step("a", model.start()))[0]
    assert log_p_V[model.tokenizer.vocabulary.encode(["b"])[0]] == pytest.approx(-bits[1] * math.log(2), rel=0.02)


def test_probabilities_that_do_not_sum_to_one(tmp_path: Path, capsys: Capture) -> None:
    """The entropy is that of the numbers that the file gives, and a note says so."""
    path = tmp_path / "x.arpa"
    path.write_text(BY_HAND)
    model = wordtie.load(path)
    assert f"{path}: the probabilities of its words sum to 0.65, not to 1" in capsys.readouterr().err
    state = model.start()
    for word in ("a", "b"):
        log_p_V = model.model.next(state)[0]
        ids_11 = np.array([model.tokenizer.vocabulary.encode([word])])
        _, entropy_11, _ = model.model.score(ids_11, state, entropy=True)
        assert entropy_11 is not None
        assert entropy_11[0, 0] == pytest.approx(-(np.exp(log_p_V) @ log_p_V), rel=1e-10)
        state = model.step(word, state)


@pytest.mark.parametrize("word", ["<s>", "</s>"])
@pytest.mark.parametrize("eos_id", [0, None], ids=["sentences", "running text"])
def test_a_word_that_means_something_else_in_the_file_is_refused(word: str, eos_id: int | None) -> None:
    vocabulary = Vocabulary(["<eos>", "<unk>", word])
    trie = fit_kneser_ney(np.array([2, 1, 0, 2, 0, 1, 2, 0]), 3, 2, eos_id=eos_id)
    tokenizer = Tokenizer(Tokenisation("space", sentences=eos_id is not None), vocabulary)
    with pytest.raises(DataError, match=f"^{word} is a word of the model"):
        write_arpa(io.StringIO(), of_trie(trie), tokenizer)


def comment(**about: object) -> str:
    """What wordtie says of a file, before its introduction."""
    return f"# wordtie {json.dumps(about)}\nan intro"


BAD = {
    "no data": (r"\data\ ", "data", r"has no line \\data\\"),
    "counts": ("ngram 2=3", "ngram 3=3", r"line 6: is not `ngram 2=COUNT`"),
    "more": ("ngram 2=3", "ngram 2=4", r"line 19: is not log p, 2 words and a back-off weight"),
    "fewer": ("ngram 2=3", "ngram 2=2", r"line 18: is not \\end\\"),
    "many": ("ngram 2=3", f"ngram 2={10**17}", r"line 19: is not log p, 2 words and a back-off weight"),
    "absurd": ("ngram 2=3", f"ngram 2={10**20}", r"line 6: promises more n-grams than any file has"),
    "section": ("\\2-grams:", "\\3-grams:", r"line 15: is not \\2-grams:"),
    "words": ("-0.625 a b", "-0.625 a", r"line 17: is not log p, 2 words"),
    "number": ("-0.625 a b", "x a b", r"line 17: log p or back-off weight is not a number"),
    "above 1": ("-0.625 a b", "0.5 a b", r"line 17: log p must be at most 0, got 0.5"),
    "weight": ("-99 <s> -0.25", "-99 <s> nan", r"line 10: the back-off weight must be a number, got nan"),
    "no words": ("ngram 1=5", "ngram 1=0", r"line 5: promises no words at all"),
    "nan": ("-0.625 a b", "nan a b", r"line 17: log p must be at most 0, got nan"),
    "unknown": ("-0.625 a b", "-0.625 a c", r"line 17: c is not among the 1-grams"),
    "start": ("-0.625 a b", "-0.625 a <s>", r"line 17: <s> can only begin an n-gram"),
    "twice": ("-0.625 a b", "-0.625 <s> a", r"line 17: '<s> a': it comes twice"),
    "both ends": (
        "-0.5 <unk>",
        "-0.5 <eos>",
        r"line 9: lists both <eos> and </s>, which mean the same here: take <eos> out of the training text",
    ),
    "double word": ("-1.25\tb", "-1.25\ta", r"line 13: a comes twice among the 1-grams"),
    "cut": ("-0.875 b </s>\n\n\\end\\", "", r"line 18: is not log p, 2 words"),
    "our comment": ("an intro", "# wordtie {\nan intro", r"line 2: a comment of wordtie that is damaged"),
    "a slow pattern": ("an intro", comment(tokenisation="words", pattern="(a+)+"), "its pattern is not one that"),
    "another kind's": ("an intro", comment(tokenisation="words", pattern=SPACE_PATTERN), "its pattern is not one that"),
    "replaced": ("an intro", comment(replaced=[["a+", ""]]), "what it replaces is not a list of characters"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_refused(name: str, tmp_path: Path) -> None:
    old, new, message = BAD[name]
    old = old.strip()
    assert old in BY_HAND
    path = tmp_path / "x.arpa"
    path.write_text(BY_HAND.replace(old, new))
    with pytest.raises(DataError, match=message) as found:
        read_arpa(path)
    assert str(found.value).startswith(str(path))


NESTED = r"""
\data\
ngram 1=5
ngram 2=2
ngram 3=1

\1-grams:
-0.5 <unk>
-99 <s> {weight}
-0.75 </s>
-1.0 a {weight}
-1.25 b

\2-grams:
-0.375 a a {weight}
{p} a b

\3-grams:
{p} a a b

\end\
"""


@pytest.mark.parametrize(("p", "weight"), [("-99", "-0.25"), ("-9", "-0.25"), ("-17", "0.5"), ("-2", "-99")])
def test_what_is_nearly_forbidden_has_one_probability(p: str, weight: str, tmp_path: Path) -> None:
    """Such n-grams are less likely than their back-off, whose weight they take away again."""
    path = tmp_path / "x.arpa"
    path.write_text(NESTED.format(p=p, weight=weight))
    trie, tokenizer = read_arpa(path)
    a, b, end = (tokenizer.vocabulary.id(word) for word in ("a", "b", "<eos>"))
    ids_T = np.array([a, a, b, a, a, a, a, end])
    found, rows_TBK = trie.score(ids_T[:, None], trie.start(1))
    p_TV = trie.probabilities(rows_TBK[:-1, 0])
    assert np.isfinite(np.log(found)).all()
    assert (p_TV > 0).all()
    np.testing.assert_allclose(p_TV[np.arange(len(ids_T)), ids_T], found[:, 0], rtol=1e-12)
    if p != "-99":
        assert found[2, 0] == pytest.approx(10 ** float(p), rel=1e-6)


FORBIDDING = r"""
\data\
ngram 1=5
ngram 2=1
ngram 3=1
ngram 4=1
ngram 5=1

\1-grams:
-99 <s>
-1 </s>
-1 <unk>
-1 a -99
-0.5 b

\2-grams:
-1 a a -99

\3-grams:
-1 a a a -99

\4-grams:
-1 a a a a -99

\5-grams:
-0.25 a a a a b

\end\
"""


@pytest.mark.filterwarnings("error")
def test_back_off_weights_of_nearly_nothing_multiply_to_nothing(tmp_path: Path) -> None:
    """After `a a a a`, `<unk>` and the end of the sentence have a probability of 10^-397, which is below any float."""
    path = tmp_path / "x.arpa"
    path.write_text(FORBIDDING)
    loaded = wordtie.load(path)
    after = loaded.step("a a a a", loaded.start())
    log_p_BV = loaded.model.next(after)
    every_word = np.arange(log_p_BV.size)[None]
    of_words, entropies, _ = loaded.model.score(every_word, np.repeat(after, log_p_BV.size, 0), entropy=True)
    np.testing.assert_allclose(log_p_BV, of_words, rtol=1e-12)
    assert entropies is not None
    np.testing.assert_allclose(entropies, -(np.exp(log_p_BV) * log_p_BV).sum(), rtol=1e-9)


def test_words_may_have_other_white_space_in_them(tmp_path: Path) -> None:
    path = tmp_path / "x.arpa"
    path.write_text(BY_HAND.replace(" a ", " no\u00a0break ").replace(" a\n", " no\u00a0break\n"), "utf-8")
    assert "no\u00a0break" in read_arpa(path)[1].vocabulary.words


def test_what_wordtie_replaces_is_text(tmp_path: Path) -> None:
    path = tmp_path / "x.arpa"
    path.write_text(BY_HAND.replace("an intro", comment(tokenisation="words", replaced=[["é", "\\9"]])))
    assert "\\" in read_arpa(path)[1].words("é")[0]


def test_reading_takes_little_memory(tmp_path: Path) -> None:
    words = [f"w{number}" for number in range(400)]
    lines = [f"-2.5 {first} {second} {third}" for first in words[:40] for second in words[:40] for third in words[:40]]
    pairs = [f"-2 {first} {second} -0.1" for first in words[:40] for second in words[:40]]
    sections = [[f"-1 {word} -0.5" for word in ["<unk>", "<s>", "</s>", *words]], pairs, lines]
    text = "\\data\\\n" + "".join(f"ngram {n}={len(each)}\n" for n, each in enumerate(sections, 1))
    text += "".join(f"\n\\{n}-grams:\n" + "\n".join(each) + "\n" for n, each in enumerate(sections, 1)) + "\n\\end\\\n"
    path = tmp_path / "x.arpa"
    path.write_text(text)
    tracemalloc.start()
    trie, _ = read_arpa(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert trie.ngrams > 64_000
    assert peak < 450 * len(lines), "with each word as a string of its own it is twice as much"


def test_a_context_that_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "x.arpa"
    trigrams = "\\3-grams:\n-0.1 a a b\n\n\\end\\"
    path.write_text(BY_HAND.replace("ngram 2=3", "ngram 2=3\nngram 3=1").replace("\\end\\", trigrams))
    with pytest.raises(DataError, match=r"line 22: 'a a b': its context is missing"):
        read_arpa(path)


def test_commands_read_it(tmp_path: Path, capsys: Capture) -> None:
    """Perplexity, surprisal and n-best lists are those of the run folder that it is written from."""
    text = small_text(tmp_path / "text")
    run, arpa = str(tmp_path / "run"), str(tmp_path / "model.arpa")
    output(["ngram", str(text), "--order", "3", "--out", run], capsys)
    assert output(["export", "arpa", run, arpa], capsys).strip().startswith(arpa)
    test = str(text / "test.txt")
    ours, theirs = (output(["evaluate", each, test], capsys).splitlines()[0] for each in (run, arpa))
    assert ours == theirs
    of_run, of_arpa = (rows(output(["surprisal", each, test], capsys)) for each in (run, arpa))
    assert [float(row["surprisal_bits"]) for row in of_arpa] == pytest.approx(
        [float(row["surprisal_bits"]) for row in of_run], abs=1e-4
    )
    nbest = tmp_path / "lists"
    nbest.write_text("u1 the cat sat\nu1 the mat sat\n")
    best = [output(["rescore", each, str(nbest), "--lm-weight", "1", "--best"], capsys) for each in (run, arpa)]
    assert best[0] == best[1]
    table = rows(output(["evaluate", run, arpa, test], capsys))
    assert len(table) == 2


def test_what_an_arpa_file_cannot_do(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "x.arpa"
    path.write_text(BY_HAND)
    assert main(["evaluate", str(path)]) == 4
    assert "does not say what text it is of: name a FILE" in capsys.readouterr().err
    with pytest.raises(RunFolderError, match="an ARPA file has no network"):
        wordtie.inference.loading.load(path, part="network")
