"""The likeliest next words of a phrase."""

from __future__ import annotations

import torch
from torch import Tensor

from wordtie.errors import require
from wordtie.evaluation.perplexity import evaluating
from wordtie.models.language_model import LanguageModel
from wordtie.nn.lstm import State
from wordtie.text.tokenizer import Tokenizer


def lines_of(text: str) -> list[str]:
    """The lines of a text as files have them: ended by a line end, Unix or Windows, and by nothing else."""
    return text.replace("\r\n", "\n").removesuffix("\n").split("\n")


def words_of(tokenizer: Tokenizer, text: str) -> list[str]:
    """The words of a phrase: `<eos>` where a line ends within it, if lines are sentences."""
    return tokenizer.tokenisation.tokens("\n".join(lines_of(text))) if tokenizer.sentences else tokenizer.words(text)


def read(model: LanguageModel, tokenizer: Tokenizer, text: str) -> tuple[Tensor, State]:
    """The query (1, E) after the phrase, which starts from `<eos>`, and the state."""
    ids = [tokenizer.vocabulary.eos_id, *tokenizer.vocabulary.encode(words_of(tokenizer, text)).tolist()]
    inputs = torch.tensor(ids, device=model.embedding.weight.device)[:, None]
    query, state = model(inputs, model.initial_state(1))
    return query[-1:], state


def predict(model: LanguageModel, tokenizer: Tokenizer, text: str, top: int = 10) -> list[tuple[str, float]]:
    """(word, probability), likeliest first. Raises `SettingsError` for a `top` below 1."""
    require(top >= 1, f"top must be at least 1, got {top}")
    with evaluating(model):
        query, _ = read(model, tokenizer, text)
        probability, ids = model.logits(query)[0].softmax(0).topk(min(top, model.words))
    return list(zip(tokenizer.decode(ids.tolist()), probability.tolist(), strict=True))
