"""Text sampled from the model, one word after another."""

from __future__ import annotations

import reprlib
import sys
from numbers import Integral, Real
from typing import Any

import numpy as np

from wordtie.config.checks import check_seed
from wordtie.data.tokenizer import Tokenizer
from wordtie.data.vocabulary import EOS
from wordtie.errors import require
from wordtie.inference.predict import read, words_of
from wordtie.models.next_word import NextWordModel


def generate(
    model: NextWordModel[Any],
    tokenizer: Tokenizer,
    prompt: str = "",
    words: int = 50,
    temperature: float = 1.0,
    seed: int | None = None,
) -> str:
    """The prompt and `words` words more; `<eos>` becomes a line end, `<unk>` is never drawn.

    Raises `SettingsError` for a temperature that is not positive, fewer than no words, or a seed that is none.
    """
    import torch

    require(isinstance(words, Integral) and words >= 0, f"words must be a whole number of at least 0, got {words!r}")
    a_number = isinstance(temperature, Real) and not isinstance(temperature, bool)
    positive = a_number and 0 < temperature <= sys.float_info.max
    require(positive, f"temperature must be a positive number, got {reprlib.repr(temperature)}")
    temperature = float(temperature)
    vocabulary = tokenizer.vocabulary
    generator = torch.Generator()
    if seed is None:
        generator.seed()
    else:
        check_seed(seed, "seed")
        generator.manual_seed(int(seed))
    written = words_of(tokenizer, prompt)
    state = read(model, tokenizer, prompt)
    for _ in range(words):
        scores = torch.from_numpy(model.next(state)[0]).double()
        scores[vocabulary.unk_id] = -torch.inf
        shares = ((scores - scores.max()) / temperature).softmax(0)  # 0 the likeliest, however cold
        word = int(torch.multinomial(shares, 1, generator=generator))
        written.append(vocabulary.words[word])
        state = model.advance(np.array([[word]]), state)
    lines = " ".join("\n" if word == EOS else word for word in written).split("\n")
    return "\n".join(line.strip(" ") for line in lines).strip("\n")
