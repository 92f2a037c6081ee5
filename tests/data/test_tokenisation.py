"""Raw text to words, by example."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wordtie.data import reading
from wordtie.data.sentences import sentences
from wordtie.data.tokenisation import Kind, Tokenisation, looks_like

KINDS: tuple[Kind, ...] = ("space", "words")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Don't stop, it's 3.14!", ["Don't", "stop", ",", "it's", "3.14", "!"]),
        ("a well-known rock'n'roll", ["a", "well-known", "rock'n'roll"]),
        ("'quoted' -dash- it’s", ["'", "quoted", "'", "-", "dash", "-", "it’s"]),
        ("$1,000.50 (10%) ...", ["$", "1,000.50", "(", "10", "%", ")", ".", ".", "."]),
        ("the U.S. 1990s 2nd a.b", ["the", "U", ".", "S", ".", "1990s", "2nd", "a", ".", "b"]),
        ("end.Next 5.x x.5 1,2-3", ["end", ".", "Next", "5", ".", "x", "x", ".", "5", "1,2-3"]),
        ("naïve ЁЖ नमस्ते é", ["naïve", "ЁЖ", "नमस्ते", "é"]),  # marks belong to their letters
        ("<unk> a<eos>b <x>", ["<unk>", "a", "<eos>", "b", "<", "x", ">"]),
        ("snake_case 😀😀 \x1c", ["snake", "_", "case", "😀", "😀"]),
        (" \t\u00a0\u2003", []),
        ("soft\u00adhyphen \ufeffa\u2060b c\u200bd", ["softhyphen", "ab", "c", "d"]),
        ("\u2067אב\u200f, \u200ega\u2069 \u202bx\u202c", ["אב", ",", "ga", "x"]),  # marks of direction
        ("🏴\U000e0067\U000e0062\U000e007f.", ["🏴\U000e0067\U000e0062\U000e007f", "."]),
        ("Vie\u0323\u0302t Việt", ["Việt", "Việt"]),
        ("I ❤️ you ❤️love 👍🏽 👩\u200d👧", ["I", "❤️", "you", "❤️", "love", "👍🏽", "👩\u200d👧"]),
        ("می\u200cخواهم ක්\u200dෂ", ["می\u200cخواهم", "ක්\u200dෂ"]),  # joiners belong to their letters
        ("😀\u200d<unk>", ["😀", "\u200d", "<unk>"]),
        ("🇫🇷🇩🇪 1️⃣", ["🇫🇷", "🇩🇪", "1️⃣"]),
        ("col·lecció O‘zbek צה״ל ג׳ירפה", ["col·lecció", "O‘zbek", "צה״ל", "ג׳ירפה"]),
        ("Ինչո՞ւ այո՞", ["Ինչո՞ւ", "այո", "՞"]),  # on a vowel within the word, and after it
        ("well\u2011known кто\u2010то", ["well-known", "кто-то"]),
        ("‘quoted‘ a · b", ["‘", "quoted", "‘", "a", "·", "b"]),
    ],
)
def test_words_of_raw_text(text: str, words: list[str]) -> None:
    assert Tokenisation("words").words(text) == words


def test_space_is_white_space_and_the_special_words() -> None:
    assert Tokenisation("space").words(" it 's a<unk>b ,\tN\u00a0x ") == ["it", "'s", "a", "<unk>", "b", ",", "N", "x"]


@pytest.mark.parametrize("kind", ["space", "words"])
def test_lowercase_is_letter_by_letter(kind: Kind) -> None:
    assert Tokenisation(kind, lowercase=True).words("ÉTÉ ΟΔΟΣ <UNK>") == ["été", "οδοσ", "<unk>"]
    assert Tokenisation(kind, lowercase=True).words("İzmir") == ["izmir"]


@settings(deadline=None)
@given(
    text=st.text(st.sampled_from("aΣ1 .,'-\n\u2028<>unk"), max_size=60), size=st.integers(1, 9), lowercase=st.booleans()
)
def test_pieces_of_a_text_have_the_words_of_the_whole(text: str, size: int, lowercase: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "PIECE", size)
        parts = [*reading.pieces(text)]
    assert "".join(parts) == text
    assert max(map(len, parts), default=0) <= size + max(map(len, f" {text} ".split(" "))) + 1
    for kind in KINDS:
        tokenisation = Tokenisation(kind, lowercase)
        assert [word for part in parts for word in tokenisation.tokens(part)] == tokenisation.tokens(text)


def test_each_line_end_is_eos() -> None:
    assert Tokenisation("space").tokens("a b\n\nc\n") == ["a", "b", "<eos>", "<eos>", "c", "<eos>"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("The cat sat, and then it left.\nWhy?", "words"),
        ("one sentence without much else in it.\nanother sentence of the same make.\n", "words"),
        (" The cat sat , and then it left . \n Why ? \n", "space"),
        ("mr. <unk> is chairman of n.v. in the u.s.\n" + "no it was n't black monday\n" * 20, "space"),
        ("anarchism originated as a term of abuse", "space"),
        ("यह घर है। वह गया॥", "words"),
        ("مرحبا، كيف حالك؟", "words"),
        ("ሰላም። እንዴት፣ ነህ።", "words"),
        ("Բարեւ։ Ինչպես ես։", "words"),
        ("यह घर है । वह गया ॥", "space"),
        ("", "space"),
        ('He said "go."', "words"),
        ("“Go,” he said", "words"),
        ("The cat sat. The dog ran. It rained", "words"),
        ("He lives in St. Louis . He is well .", "space"),
    ],
)
def test_auto_sees_whether_punctuation_stands_alone(text: str, kind: Kind) -> None:
    assert looks_like(text) == kind


@pytest.mark.parametrize(
    ("paragraph", "expected"),
    [
        ("One. Two! “Three?” Four", ["One.", "Two!", "“Three?”", "Four"]),
        ("Gen. A. B. Smith met Mr. Jones in the U.S. House.", ["Gen. A. B. Smith met Mr. Jones in the U.S. House."]),
        ("It cost 3.5 millions. In 1862. then", ["It cost 3.5 millions.", "In 1862. then"]),
        ("   ", []),
    ],
)
def test_sentences_of_prose(paragraph: str, expected: list[str]) -> None:
    assert sentences(paragraph) == expected
