"""`wordtie baseline`: what counting words gets, on the same ids that a model is trained on."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from wordtie.commands._settings import another_of_its_name
from wordtie.commands._shared import UsageError, print_json
from wordtie.config import DataSettings
from wordtie.config.options import SettingsParser
from wordtie.console import say
from wordtie.word2vec.settings import Word2VecSettings

if TYPE_CHECKING:
    from wordtie.data.token_file import PreparedData
    from wordtie.ngrams.trie import NgramTrie

HELP = """\
Measure a corpus with unigrams and Kneser-Ney n-grams.

examples:
  wordtie baseline ptb
  wordtie baseline novel.txt --order 3 --lowercase
  wordtie baseline --config runs/ptb/settings.yaml --split valid --json

Both are counted on the training text and measured on the test text. Text, vocabulary and token counts
are those of `wordtie train` with the same data settings, so perplexities can be compared. Kneser-Ney is
the modified, interpolated form; its contexts end at the sentence."""

LONGEST = 100
"""Words in an n-gram: none so long comes twice but in a text that is copied, and each order is counted by itself."""
USAGE = "[CORPUS] [--SETTING VALUE ...] [--config RECIPE] [--order 5] [--split test] [--json]"
COMMON = ("tokenisation", "lowercase", "sentences", "vocabulary_size", "min_count", "vocabulary_from", "data.split")
"""The settings that `--help` shows."""


def main(argv: list[str]) -> None:
    """Prepare the text, fit, measure and print."""
    parser = SettingsParser("baseline", HELP, USAGE, {"data": DataSettings}, COMMON, {"word2vec": Word2VecSettings})
    parser.add_argument("--order", type=int, default=5, help="Words in the longest n-gram.")
    parser.add_argument("--split", choices=["valid", "test"], default="test", help="The text to measure.")
    parser.add_argument("--json", action="store_true", help="Print the result as JSON.")
    parsed = parser.parse_args(argv)
    if not 1 <= parsed.order <= LONGEST:
        raise UsageError(f"--order must be from 1 to {LONGEST}, got {parsed.order}")
    data: DataSettings = parser.made()["data"]

    from wordtie.data.token_file import write_token_files

    say(another_of_its_name(data.corpus))
    with tempfile.TemporaryDirectory(prefix="wordtie-baseline-") as folder:
        result = measure(write_token_files(data, Path(folder)), parsed.order, parsed.split)
    if parsed.json:
        print_json(result)
    else:
        print(summary(result))


def measure(data: PreparedData, order: int, split: str) -> dict[str, object]:
    """Perplexities, and the counts and policies that give them their meaning."""
    from wordtie.ngrams.kneser_ney import fit_kneser_ney
    from wordtie.ngrams.unigram import Unigram

    vocabulary = data.vocabulary
    eos_id = vocabulary.eos_id if data.tokenizer.sentences else None
    text = data.test if split == "test" else data.valid
    models: dict[str, Unigram | NgramTrie] = {
        "unigram": Unigram.fit(data.train, len(vocabulary)),
        f"Kneser-Ney {order}-gram": fit_kneser_ney(data.train, len(vocabulary), order, eos_id=eos_id),
    }
    nats = {name: -float(model.log_probabilities(text).sum()) for name, model in models.items()}
    counts = data.info["splits"][split]
    return {
        "corpus": data.info["corpus"],
        "split": split,
        "perplexity": {name: math.exp(sum_of_nats / len(text)) for name, sum_of_nats in nats.items()},
        "nats": nats,
        "tokens": len(text),
        **{name: counts[name] for name in ("oov", "unk", "eos")},
        "vocabulary_size": len(vocabulary),
        "unk_policy": data.info["policy"]["unk"],
        "eos_policy": data.info["policy"]["eos"],
    }


def summary(result: dict[str, object]) -> str:
    """The perplexities, over what."""
    perplexity = result["perplexity"]
    assert isinstance(perplexity, dict)
    return "\n".join(
        [
            *(f"{name:22} perplexity {value:.2f}" for name, value in perplexity.items()),
            f"over {result['tokens']:,} tokens of {result['corpus']} ({result['split']}), {result['oov']:,} of them "
            f"out of the vocabulary of {result['vocabulary_size']:,} words",
            f"<unk>: {result['unk_policy']}",
            f"<eos>: {result['eos_policy']}",
        ]
    )
