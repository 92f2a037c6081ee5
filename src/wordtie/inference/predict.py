"""The likeliest next words of a phrase."""

from __future__ import annotations

from numbers import Integral

import torch
from torch import Tensor

from wordtie.data.tokenizer import Tokenizer
from wordtie.errors import require
from wordtie.evaluation.perplexity import evaluating
from wordtie.models.language_model import LanguageModel
from wordtie.nn.core import State


def lines_of(text: str) -> list[str]:
    """The lines of a text as files have them: ended by a line end, Unix or Windows, and by nothing else; a byte-order
    mark before them is taken off.

    Raises `SettingsError` for what is not one string.
    """
    require(isinstance(text, str), f"give one string, its lines parted by \\n, got a {type(text).__name__}")
    require("\r" not in text.rstrip() or "\n" in text, r"the text has old Mac line ends, \r: replace them by \n")
    return text.removeprefix("\ufeff").replace("\r\n", "\n").removesuffix("\n").split("\n")


def words_of(tokenizer: Tokenizer, text: str) -> list[str]:
    """The words of a phrase: `<eos>` where a line ends within it, if lines are sentences."""
    text = "\n".join(lines_of(text))
    return tokenizer.tokenisation.tokens(text) if tokenizer.sentences else tokenizer.words(text)


def read(model: LanguageModel, tokenizer: Tokenizer, text: str) -> tuple[Tensor, State]:
    """The query (1, E) after the phrase, which starts from `<eos>`, and the state."""
    ids = [tokenizer.vocabulary.eos_id, *tokenizer.vocabulary.encode(words_of(tokenizer, text)).tolist()]
    inputs = torch.tensor(ids, device=model.embedding.weight.device)[:, None]
    query, state = model(inputs, model.initial_state(1))
    return query[-1:], state


def predict(
    model: LanguageModel, tokenizer: Tokenizer, text: str, top: int = 10, words_only: bool = False
) -> list[tuple[str, float]]:
    """(word, probability), likeliest first; `words_only` leaves out `<unk>` and `<eos>`, the others' probabilities
    stay what they are. Raises `SettingsError` for a `top` that is not a whole number of at least 1."""
    require(isinstance(top, Integral) and top >= 1, f"top must be a whole number of at least 1, got {top}")
    special = [tokenizer.vocabulary.unk_id, tokenizer.vocabulary.eos_id] if words_only else []
    with evaluating(model):
        query, _ = read(model, tokenizer, text)
        probability_V = model.logits(query)[0].softmax(0)
        probability_V[special] = -1.0
        probability, ids = probability_V.topk(min(int(top), model.words - len(special)))
    return list(zip(tokenizer.decode(ids.tolist()), probability.tolist(), strict=True))
