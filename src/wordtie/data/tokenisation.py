"""Split text into words.

`space` is for text that is tokenised already: words are separated by white space. `words` is for raw text:

- a word is a run of letters, marks and digits, joined inside by an apostrophe or a hyphen (don't, well-known), or by
  what other languages write within words (col·lecció, o‘zbek, צה״ל, Ինչո՞ւ);
- a number may have points and commas between its digits (3.14, 1,000);
- every other character that is not white space, so each punctuation mark, is a word of its own; an emoji is one word
  with its variation selector, its skin tone, and what is joined to it.

Before that, letters and marks are composed (Unicode's form NFC), so that a word has one spelling however it was typed;
soft hyphens, word joiners and byte-order marks are taken out, a zero-width space is white space, and a hyphen is `-`.

Both leave `<unk>` and `<eos>` whole wherever they stand. Each is one regular expression that means the same to
Python's `re` and to the Oniguruma of Hugging Face `tokenizers`: the classes are spelt out, since the two disagree
on `\\w` and `\\s`. Scripts written without spaces (Chinese, Thai) need a segmenter first, and then `space`.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from functools import cache
from typing import Literal, TypeAlias

from wordtie.data.vocabulary import EOS, UNK

Kind: TypeAlias = Literal["space", "words"]

UNK_POLICY = f"a word outside the vocabulary is {UNK}, as is {UNK} in the text; both are predicted and counted"

_SPACE = "\t-\r\x1c- \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
"""White space as `str.split` knows it."""
_BEYOND_BMP = "\U00010000-\U0001cfff\U0001d400-\U0001d7ff\U0001e000-\U0001efff\U00020000-\U0003ffff"
"""Letters beyond U+FFFF by whole blocks: the rest there is pictures. Short, because `re` searches it linearly."""

SPACE_PATTERN = f"[^{_SPACE}]+"
REPLACED = (
    ("[\u00ad\u061c\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]", ""),
    ("\u200b", " "),
    ("[\u2010\u2011]", "-"),
)
"""Regular expressions of characters that `words` replaces, and their replacements: soft hyphens, word joiners and marks
of direction, which are invisible; zero-width spaces; and hyphens that look like `-`."""
DOTTED = (("İ", "i"),)
"""Replacement before case is folded: in lower case, İ would be an i with a combining dot, which nobody types."""
_INSIDE = "'’‘·׳״՛՜՞"
"""Apostrophes; the point of Catalan, geresh and gershayim of Hebrew, the marks of Armenian that stand on a vowel."""
_JOINED = f"(?:[\ufe00-\ufe0f\u20e3\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]|\u200d(?!{UNK}|{EOS})[^{_SPACE}])*"
"""Characters that belong to the emoji before them."""


@cache
def words_pattern() -> str:
    """Return the regular expression of `words`, with the letters, marks and digits of this Python's Unicode tables.

    It is stored with the model, so that another Python reads the model's text as this one does.
    """
    codes = [c for c in range(0x10000) if unicodedata.category(chr(c))[0] in "LMN" or c in (0x200C, 0x200D)]
    starts = [c for c, before in zip(codes, [-1, *codes], strict=False) if c != before + 1]
    ends = [c for c, after in zip(codes, [*codes[1:], -1], strict=True) if c + 1 != after]
    return _words_pattern("".join(f"{chr(a)}-{chr(b)}" for a, b in zip(starts, ends, strict=True)) + _BEYOND_BMP)


def _words_pattern(word: str) -> str:
    """Return the regular expression of `words`; `word`: ranges of the characters that words are made of."""
    inside = f"[{_INSIDE}.,-](?:(?<![.,])|(?<=[0-9].)(?=[0-9]))"
    flag = "[\U0001f1e6-\U0001f1ff]{2}"
    return f"[{word}]+(?:{inside}[{word}]+)*|{UNK}|{EOS}|{flag}|[^{_SPACE}]{_JOINED}"


_CHARACTER = r"[^\[\]\\^&~|-]"
"""A character that is literal in a character class, both in Python and in Oniguruma."""
_RANGES = re.compile(f"(?:{_CHARACTER}-{_CHARACTER})+")


def usual(rule: Tokenisation) -> Tokenisation:
    """Return the rule as this Python makes it, with its own tables of letters."""
    return Tokenisation(rule.kind, rule.lowercase, rule.sentences)


def is_written_here(pattern: str) -> bool:
    """Return whether a regular expression is that of `space`, or that of `words` with some letters, marks and digits.

    Any other one in a file might take time exponential in the length of a word, or match differently in Python and in
    Oniguruma.
    """
    if pattern == SPACE_PATTERN:
        return True
    word = pattern[1 : max(pattern.find("]"), 1)]
    return _RANGES.fullmatch(word) is not None and pattern == _words_pattern(word)


def is_one_character(pattern: str) -> bool:
    """Return whether a regular expression is a character or a class of them, which is found in linear time."""
    one = rf"[^\[\]\\^$.|?*+(){{}}]|\[(?:{_CHARACTER}(?:-{_CHARACTER})?)+\]"
    return re.fullmatch(one, pattern, re.DOTALL) is not None


@dataclass(frozen=True)
class Tokenisation:
    """A rule that splits text into words, which `tokenizer.json` stores with the vocabulary.

    >>> Tokenisation("words", lowercase=True).words("Don't pay $1,000.50!")
    ["don't", 'pay', '$', '1,000.50', '!']
    """

    kind: Kind
    lowercase: bool = False
    sentences: bool = True
    """Whether each line end is an `<eos>`; otherwise it is white space."""
    pattern: str = ""
    """Regular expression that finds words; if left empty, that of `kind`."""
    composed: bool | None = None
    """Whether to compose letters and marks, and remove invisible characters. None: yes for `words`, no for `space`."""
    replaced: tuple[tuple[str, str], ...] | None = None
    """Regular expressions and their replacements, applied once letters and marks are composed. None: `REPLACED` if they
    are composed, and `DOTTED` if case is folded."""
    _compiled: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.pattern:
            object.__setattr__(self, "pattern", SPACE_PATTERN if self.kind == "space" else words_pattern())
        if self.composed is None:
            object.__setattr__(self, "composed", self.kind == "words")
        if self.replaced is None:
            shown = REPLACED if self.composed else ()
            object.__setattr__(self, "replaced", (*shown, *(DOTTED if self.lowercase else ())))
        object.__setattr__(self, "_compiled", re.compile(self.pattern))

    @property
    def eos_policy(self) -> str:
        """Description of how `<eos>` is treated when a text is measured."""
        return f"{EOS} closes each {'line' if self.sentences else 'document'}, is predicted and counted"

    def words(self, text: str) -> list[str]:
        """Return the words of a text; line ends in it are white space."""
        if self.kind == "space" and "<" in text:
            text = text.replace(UNK, f" {UNK} ").replace(EOS, f" {EOS} ")
        if not text.isascii():
            if self.composed:
                text = unicodedata.normalize("NFC", text)
            for pattern, replacement in self.replaced or ():
                text = re.sub(pattern, replacement.replace("\\", r"\\"), text)
        if self.lowercase:
            # tokenizers lowers letter by letter, without Python's rule for a sigma that ends a word
            text = text.replace("Σ", "σ").lower()
        return text.split() if self.kind == "space" else self._compiled.findall(text)

    def tokens(self, lines: str) -> list[str]:
        """Return the words of whole lines, with `<eos>` for each line end."""
        return self.words(lines.replace("\n", f" {EOS} "))


_OTHERS = "،؛؟۔।॥։՝።፣፤፥፧၊။។、。，！？；："
"""Commas, full stops and the like in other scripts."""
_CLOSING = r"[\"'”’»)\]]*"
_MARKED = re.compile(
    rf"[^\W_][,;:?!]{_CLOSING}(?=\s|$)|[^\W_]\.{_CLOSING}(?=\s*$|\s+[\"'“‘«(\[]*[A-Z])|\S[{_OTHERS}](?=\s|$)",
    re.MULTILINE,
)
_ALONE = re.compile(rf"(?<!\S)[,;:?!.{_OTHERS}](?!\S)")


def looks_like(sample: str) -> Kind:
    """Return `words` if punctuation is attached to words, `space` if it stands alone or there is none.

    There must be at least one attached mark per hundred words: the full stop of an abbreviation that ends a line is no
    sign of raw text.
    """
    hanging = sum(1 for _ in _MARKED.finditer(sample))
    alone = sum(1 for _ in _ALONE.finditer(sample))
    return "words" if hanging > alone and hanging * 100 >= len(sample.split()) else "space"
