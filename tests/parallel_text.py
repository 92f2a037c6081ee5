"""Made-up sentence pairs whose translation is a rule: the same words, or the same words in reverse."""

from __future__ import annotations

import random
from pathlib import Path

from wordtie.config import BitextSettings, TranslationSettings
from wordtie.config.translation import Seq2SeqSettings, TranslationTrainingSettings

LETTERS = "abcdef"


def write_pairs(folder: Path, reverse: bool = False, train: int = 600) -> Path:
    """`train.en`, `train.de` and so on; a blank line in the validation text."""
    draw = random.Random(1)
    folder.mkdir(parents=True)
    for split, count in (("train", train), ("valid", 40), ("test", 40)):
        sentences = [draw.choices(LETTERS, k=draw.randint(1, 5)) for _ in range(count)]
        if split == "valid":
            sentences[3] = []
        for language, turned in (("en", False), ("de", reverse)):
            lines = (" ".join(words[::-1] if turned else words) for words in sentences)
            (folder / f"{split}.{language}").write_text("".join(f"{line}\n" for line in lines))
    return folder


def tiny(corpus: Path, **training: object) -> TranslationSettings:
    """A small model of whole words, without dropout."""
    chosen = {"lr": 0.01, "epochs": 9, "streams": 32, "schedule": "cosine", "patience": 0, "threads": 1, **training}
    return TranslationSettings(
        data=BitextSettings(corpus=str(corpus), units="words", min_count=1),
        model=Seq2SeqSettings(
            tying="decoder", hidden=48, embedding=24, word_dropout=0, encoder_dropout=0, output_dropout=0
        ),
        training=TranslationTrainingSettings(**chosen),  # type: ignore[arg-type]
    )
