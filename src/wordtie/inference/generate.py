"""Text sampled from the model, one word after another."""

from __future__ import annotations

import reprlib
import sys
from numbers import Integral, Real
from typing import Any

import numpy as np

from wordtie.config.checks import check_seed
from wordtie.data.tokenizer import Tokenizer
from wordtie.data.vocabulary import EOS, Vocabulary
from wordtie.errors import require
from wordtie.inference.predict import read, words_of
from wordtie.models.next_word import Floats, NextWordModel


def generate(
    model: NextWordModel[Any],
    tokenizer: Tokenizer,
    prompt: str = "",
    words: int = 50,
    temperature: float = 1.0,
    seed: int | None = None,
) -> str:
    """Return the prompt, continued by `words` sampled words; `<eos>` becomes a line end, `<unk>` is never drawn.

    Raises `SettingsError` for a temperature that is not positive, a negative number of words, or an invalid seed.
    """
    writing = Writing(tokenizer.vocabulary, words, temperature, seed)
    written = words_of(tokenizer, prompt)
    state = read(model, tokenizer, prompt)
    for _ in range(words):
        word = writing.draw(model.next(state)[0])
        written.append(tokenizer.vocabulary.words[word])
        state = model.advance(np.array([[word]]), state)
    return "".join(map(Spaces().before, written))


class Writing:
    """Draws one word after another."""

    def __init__(self, vocabulary: Vocabulary, words: int, temperature: float, seed: int | None) -> None:
        """Check the settings and seed the generator. Raises `SettingsError` as `generate`."""
        whole = isinstance(words, Integral) and words >= 0
        require(whole, f"words must be a whole number of at least 0, got {words!r}")
        a_number = isinstance(temperature, Real) and not isinstance(temperature, bool)
        positive = a_number and 0 < temperature <= sys.float_info.max
        require(positive, f"temperature must be a positive number, got {reprlib.repr(temperature)}")
        import torch  # when it is used: a few words are read in less time than torch is imported

        self.unk_id = vocabulary.unk_id
        self.temperature = float(temperature)
        self.generator = torch.Generator()
        if seed is None:
            self.generator.seed()
        else:
            check_seed(seed, "seed")
            self.generator.manual_seed(int(seed))

    def draw(self, log_p_V: Floats) -> int:
        """Sample the id of the next word, which is never `<unk>`."""
        import torch

        scores = torch.tensor(log_p_V, dtype=torch.float64)
        scores[self.unk_id] = -torch.inf
        shares = ((scores - scores.max()) / self.temperature).softmax(0)  # 0 the likeliest, however cold
        return int(torch.multinomial(shares, 1, generator=self.generator))


class Spaces:
    """White space between words as they are written: blanks and line ends, but neither at the ends of the text.

    >>> spaces = Spaces()
    >>> [spaces.before(word) for word in ["<eos>", "a", "cat", "<eos>", "<eos>", "sat", "<eos>"]]
    ['', 'a', ' cat', '', '', '\\n\\nsat', '']
    """

    def __init__(self) -> None:
        self._started, self._ends = False, 0

    def before(self, word: str) -> str:
        """Return the next word with the white space before it; for `<eos>`, nothing yet."""
        if word == EOS:
            self._ends += self._started
            return ""
        text = ("\n" * self._ends or " " * self._started) + word
        self._started, self._ends = True, 0
        return text
