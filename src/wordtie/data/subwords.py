"""Sentences of one language as ids and back: byte-pair encoding (Sennrich et al. 2016) or whole words, by `tokenizers`.

The word that a piece begins is marked by a leading `▁`, so that a sentence is its pieces put together. `<unk>` and
`<eos>` are in the vocabulary, but text that spells them does not become them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wordtie.config.translation import BitextSettings
from wordtie.data.tokenisation import Kind
from wordtie.data.tokenizer import MOST_BYTES, check_same
from wordtie.data.vocabulary import EOS, UNK, Vocabulary
from wordtie.errors import DataError
from wordtie.storage import strict_json
from wordtie.storage.atomic import write_text

if TYPE_CHECKING:
    from tokenizers import Tokenizer

SPECIAL = (UNK, EOS)
MARK = "▁"


class Subwords:
    """The tokenizer of one side, or of both."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        """Wrap a tokenizer. Raises `ValueError` for one without `<unk>` and `<eos>`, or with a gap in its ids."""
        self.tokenizer = tokenizer
        known = tokenizer.get_vocab()
        if sorted(known.values()) != list(range(len(known))):
            raise ValueError("its ids are not those from 0 on")
        self.vocabulary = Vocabulary(sorted(known, key=known.__getitem__))

    @classmethod
    def from_json(cls, text: str) -> Subwords:
        """Make the tokenizer from its `json`. Raises `ValueError` for anything else."""
        from tokenizers import Tokenizer

        try:
            return cls(Tokenizer.from_str(text))
        except Exception as error:  # `tokenizers` raises plain `Exception`
            raise ValueError(" ".join(str(error).split())) from error

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Subwords) and self.json == other.json

    __hash__ = None  # type: ignore[assignment]

    @cached_property
    def json(self) -> str:
        """The tokenizer in the format of `tokenizers`."""
        return str(self.tokenizer.to_str())

    @cached_property
    def is_words(self) -> bool:
        """Whether a unit is a whole word."""
        from tokenizers.models import WordLevel

        return isinstance(self.tokenizer.model, WordLevel)

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Return the ids of each line, without `<eos>`."""
        eos, unk = self.vocabulary.eos_id, self.vocabulary.unk_id
        encoded = self.tokenizer.encode_batch(list(lines), add_special_tokens=False)
        return [[unk if number == eos else number for number in each.ids] for each in encoded]

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """Return the units of the ids, as the vocabulary has them."""
        return [self.vocabulary.words[number] for number in ids]

    def join(self, pieces: Sequence[str]) -> str:
        """Join units into a sentence."""
        return " ".join(pieces) if self.is_words else "".join(pieces).replace(MARK, " ").strip()


def untrained(settings: BitextSettings, tokenisation: Kind) -> tuple[Any, Any]:
    """Return (a tokenizer with all its steps that has no units yet, its trainer)."""
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

    normal: list[Any] = [normalizers.Replace(Regex(r"\s+"), " "), normalizers.Strip()]
    if settings.lowercase:
        normal += [normalizers.Replace("İ", "i"), normalizers.Lowercase()]  # without the dot that nobody types
    if settings.units == "words":
        before: Any = pre_tokenizers.WhitespaceSplit()
        empty: Any = Tokenizer(models.WordLevel(unk_token=UNK))
        trainer: Any = trainers.WordLevelTrainer(
            vocab_size=settings.vocabulary_size, min_frequency=settings.min_count, special_tokens=list(SPECIAL),
            show_progress=False,
        )  # fmt: skip
    else:
        words = pre_tokenizers.Metaspace(replacement=MARK, prepend_scheme="always")
        split = [pre_tokenizers.Punctuation("isolated")] if tokenisation == "words" else []
        before = pre_tokenizers.Sequence([words, *split])
        empty = Tokenizer(models.BPE(unk_token=UNK))
        trainer = trainers.BpeTrainer(
            vocab_size=settings.vocabulary_size,
            limit_alphabet=max(1, settings.vocabulary_size - len(SPECIAL)),
            special_tokens=list(SPECIAL),
            show_progress=False,
        )
    empty.normalizer, empty.pre_tokenizer = normalizers.Sequence(normal), before
    return empty, trainer


def learn_subwords(settings: BitextSettings, lines: Iterable[str], tokenisation: Kind) -> Subwords:
    """Learn a tokenizer from training sentences. Raises `DataError` if they have no words."""
    tokenizer, trainer = untrained(settings, tokenisation)
    tokenizer.train_from_iterator(lines, trainer)
    content = json.loads(tokenizer.to_str())
    content["added_tokens"] = []  # text that spells a special word is text
    if settings.units == "words":  # and leaves a gap in the numbers
        known = content["model"]["vocab"]
        content["model"]["vocab"] = {word: number for number, word in enumerate(sorted(known, key=known.get))}
    learnt = Subwords.from_json(json.dumps(content, ensure_ascii=False))
    if len(learnt.vocabulary) == len(SPECIAL):
        raise DataError("the training sentences have no words to learn subwords from: give a longer text")
    return learnt


def _steps(tokenizer: str) -> dict[str, Any]:
    """Return the content of a tokenizer's `json` without the units that it has learnt."""
    content: dict[str, Any] = json.loads(tokenizer)
    content["model"] = {name: value for name, value in content["model"].items() if name not in ("vocab", "merges")}
    return content


class SubwordPair:
    """The tokenizers of source and target, which are one if subwords were learnt from both together."""

    def __init__(self, source: Subwords, target: Subwords) -> None:
        self.source = source
        self.target = target

    @property
    def is_joint(self) -> bool:
        """Whether both sides have the same ids."""
        return self.source is self.target

    @property
    def eos_ids(self) -> tuple[int, int]:
        """Ids of `<eos>` in source and target."""
        return self.source.vocabulary.eos_id, self.target.vocabulary.eos_id

    def save(self, path: str | Path) -> None:
        """Write `tokenizer.json`: a joint tokenizer in the format of `tokenizers`, or an object with both. Raises
        `SaveError`."""
        both = {"source": json.loads(self.source.json), "target": json.loads(self.target.json)}
        write_text(Path(path), self.target.json if self.is_joint else json.dumps(both, ensure_ascii=False))

    def check_steps(self, settings: BitextSettings, tokenisation: Kind) -> None:
        """Raise `ValueError` for steps and patterns other than those that `learn_subwords` writes with these settings.

        A tokenizer of a foreign file could cut sentences, or hold a pattern that takes forever.
        """
        expected = _steps(untrained(settings, tokenisation)[0].to_str())
        for side in (self.source, self.target):
            check_same(_steps(side.json), expected)

    @classmethod
    def from_bytes(cls, data: bytes) -> SubwordPair:
        """Read what `save` wrote. Raises `ValueError` for anything else."""
        content = strict_json.parse(data, MOST_BYTES)
        if not isinstance(content, dict):
            raise ValueError("is not a tokenizer")
        if set(content) == {"source", "target"}:
            return cls(*(Subwords.from_json(json.dumps(content[side])) for side in ("source", "target")))
        joint = Subwords.from_json(data.decode())
        return cls(joint, joint)
