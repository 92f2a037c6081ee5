"""Next words, prefixes, the cursor and blocked words, against probabilities that are known."""

from __future__ import annotations

import time

import numpy as np
import pytest

from tests.inference.hand_made import NEXT, WORDS, hand_made, p
from wordtie.data.tokenisation import Tokenisation
from wordtie.data.tokenizer import Tokenizer
from wordtie.data.vocabulary import EOS, UNK, Vocabulary
from wordtie.errors import SettingsError
from wordtie.inference import predict
from wordtie.inference.loading import load
from wordtie.inference.predict import at_cursor, blocklist, likeliest, spelt

MODEL = hand_made()
ENGLISH = Tokenizer(
    Tokenisation("words", lowercase=True),
    Vocabulary([EOS, UNK, "the", "people", "don't", "don", "well-known", "(", ",", "."]),
)


def after_the(words: list[str]) -> list[tuple[str, float]]:
    return [(word, float(p("the", word))) for word in words]


def test_likeliest_first_and_ties_by_id() -> None:
    likeliest = sorted(WORDS, key=lambda word: (-NEXT["the"][WORDS.index(word)], WORDS.index(word)))
    found = MODEL.predict("the", top=7)
    assert [word for word, _ in found] == likeliest
    assert [probability for _, probability in found] == pytest.approx([float(p("the", word)) for word in likeliest])


def test_a_long_phrase_is_read_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    text = " ".join(["the people of the united states"] * 9)
    expected = load("en").predict(text)
    monkeypatch.setattr(predict, "TOKENS_AT_ONCE", 5)
    found = load("en").predict(text)
    assert [word for word, _ in found] == [word for word, _ in expected]
    assert [each for _, each in found] == pytest.approx([each for _, each in expected], rel=1e-5)


def test_steps_give_what_the_whole_phrase_gives_and_leave_states_alone() -> None:
    start = MODEL.start()
    the = MODEL.step("the", start)
    cat = MODEL.step("cat", the)
    assert MODEL.next_words(cat) == MODEL.predict("the cat")
    assert MODEL.next_words(the) == MODEL.predict("the")
    assert MODEL.next_words(start) == MODEL.predict("")
    assert MODEL.next_words(MODEL.step("the cat", start)) == MODEL.predict("the cat")
    assert MODEL.next_words(MODEL.step("  ", the)) == MODEL.predict("the")
    assert MODEL.next_words(MODEL.step(EOS, the)) == MODEL.predict("")


def test_a_prefix_leaves_probabilities_as_they_are() -> None:
    state = MODEL.step("the", MODEL.start())
    assert MODEL.next_words(state, prefix="c") == after_the(["cat"])
    assert MODEL.next_words(state, prefix="S") == after_the(["sat"])  # the model folds case
    assert MODEL.next_words(state, prefix="x") == []
    assert MODEL.predict("the c|") == after_the(["cat"])
    assert MODEL.predict("the |") == MODEL.predict("the") == MODEL.predict("the|"[:-1])


def test_what_is_left_out() -> None:
    words = [word for word, _ in MODEL.predict("the", top=7, words_only=True, blocked=["CAT"])]
    assert words[0] == "sat"
    assert not {"cat", UNK, EOS} & set(words)
    assert MODEL.predict("the c|", blocked=["cat"]) == []
    assert [word for word, _ in MODEL.predict("the", top=2, blocked=["cat"])] == [UNK, "sat"]


def test_blocked_words_may_be_spelt_otherwise() -> None:
    tokenizer = Tokenizer(Tokenisation("words", lowercase=True), Vocabulary([EOS, UNK, "d\xe9j\xe0", "i\u0307stanbul"]))
    log_p_V = np.log(np.full(4, 0.25))
    assert len(likeliest(log_p_V, tokenizer, words_only=True)) == 2
    for word in ("de\u0301ja\u0300", "D\xc9J\xc0", "d\xe9j\xe0"):
        assert [found for found, _ in likeliest(log_p_V, tokenizer, words_only=True, blocked=[word])] == [
            "i\u0307stanbul"
        ]


def test_two_words_are_not_spelt_as_one() -> None:
    tokenizer = Tokenizer(Tokenisation("words", lowercase=True), Vocabulary([EOS, UNK, "therapist", "the", "don't"]))
    log_p_V = np.log(np.full(5, 0.2))
    assert len(likeliest(log_p_V, tokenizer, blocked=["the rapist", "thé rapist"])) == 5
    assert spelt(tokenizer, " Don't ") == "don't"
    assert spelt(tokenizer, "The  Rapist") == "the rapist"


@pytest.mark.parametrize(
    ("text", "words", "prefix"),
    [
        ("the peo|", ["the"], "peo"),
        ("the peo", ["the", "peo"], ""),
        ("the |", ["the"], ""),
        ("|", [], ""),
        ("The (PEO|", ["the", "("], "peo"),
        ("the don'|", ["the"], "don'"),
        ("well-|", [], "well-"),
        ("the people.|", ["the", "people", "."], ""),
        ("the xqz|", ["the"], "xqz"),
        ("a, b|", ["a", ","], "b"),
        ("the\npeo|", ["the", EOS], "peo"),
        ("the\n|", ["the", EOS], ""),
        ("the\r\n|", ["the", EOS], ""),
        ("the\n\n|", ["the", EOS, EOS], ""),
        ("the\n", ["the"], ""),
        ("the people \u200f|", ["the", "people"], ""),
        ("the peo\u200f|", ["the"], "peo"),
    ],
)
def test_what_stands_before_the_cursor(text: str, words: list[str], prefix: str) -> None:
    assert at_cursor(ENGLISH, text) == (words, prefix)


def test_a_real_model() -> None:
    model = load("en")
    state = model.step("the president of the united", model.start())
    assert model.next_words(state, prefix="s", top=1)[0][0] == "states"
    assert model.predict("The president of the United S|", top=3) == model.next_words(state, prefix="s", top=3)


def test_mistakes() -> None:
    assert MODEL.next_words(MODEL.start(), top=1 << 64) == MODEL.next_words(MODEL.start(), top=len(WORDS))
    with pytest.raises(SettingsError, match="top must be a whole number"):
        MODEL.next_words(MODEL.start(), top=0)
    with pytest.raises(SettingsError, match="a list of words"):
        MODEL.next_words(MODEL.start(), blocked="cat")


def test_a_blocklist_has_a_word_a_line() -> None:
    assert blocklist(["damn", "", "  hell "]) == {"damn", "hell"}


def test_a_long_run_of_punctuation_takes_no_time() -> None:
    started = time.process_time()
    assert at_cursor(ENGLISH, "the " + "!" * 20_000 + "|") == (["the", *"!" * 20_000], "")
    assert at_cursor(ENGLISH, "!" * 20_000 + "don'|")[1] == "don'"
    assert time.process_time() - started < 2
