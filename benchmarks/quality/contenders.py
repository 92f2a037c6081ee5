"""Who takes part, and the settings that each may choose from.

The tables were written before the trials, after a first run of each recipe that looked for mistakes. A contender has
six settings at most, each tried on two texts; the choice is by validation perplexity. Sizes are for two minutes and
grow with the time (`recipe.units_for`). `dropout` None leaves it to the plan, by how often the text will be read. What
helps `wordtie train` most in little time is open to all: `unigram_bias`, and `word_rate`, by which the rate of the word
matrix is larger.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import wordtie
from benchmarks.quality.awd_lstm import AwdLstm
from benchmarks.quality.gpt import Gpt
from benchmarks.quality.recipe import Recipe
from benchmarks.quality.sampled_lstm import SampledLstm
from benchmarks.quality.word_language_model import WordLanguageModel

Settings: TypeAlias = Mapping[str, Any]
MOST_SETTINGS = 6
HERE = Path(__file__).parent


@dataclass(frozen=True)
class Contender:
    """One way to a language model."""

    what: str
    kind: Literal["recipe", "command", "ngram"]
    """`recipe`: plain PyTorch of this folder. `command`: a call of `wordtie train`. `ngram`: counted, not trained."""
    settings: Sequence[Settings] = ({},)
    recipe: Callable[..., Recipe] | None = None
    files: tuple[str, ...] = ()
    """What decides its result: for a recipe, files of this folder, beside those of all recipes; for others, files and
    folders of wordtie."""

    def code(self) -> str:
        """Digest of the program text that decides the result, comments and docstrings apart."""
        if self.kind == "recipe":
            shared = ("recipe", "training", "budget", "worker")
            return digest_of([HERE / f"{name}.py" for name in (*shared, *self.files)])
        places = [Path(wordtie.__file__).parent / each for each in self.files]
        found = [file for place in places for file in (sorted(place.rglob("*.py")) or [place])]
        return digest_of([file for file in found if file.stem not in OTHER_TASKS])


TRAINS = ("cli.py", "commands/train.py", "config", "data", "evaluation", "heads", "kernels", "losses", "models",
          "ngrams", "nn", "noise", "training")  # fmt: skip
OTHER_TASKS = {
    "translation", "subwords", "bitext", "subword_overlap", "pair_batches", "bleu", "seq2seq", "beam_search",
    "conditional_gru", "attention", "attention_numba", "attention_torch", "decoder", "best_words", "best_words_numba",
    "nbest", "nbest_files", "nbest_json", "word_errors", "table", "linear", "draws", "negative_sampling", "arpa",
    "backoff", "paths",
}  # fmt: skip
"""Files in these folders that decide no result of a language model's training: those of translation, word2vec,
rescoring and export, and `config/paths.py`, which says where files lie."""
CONTENDERS: Mapping[str, Contender] = {
    "ours": Contender("`wordtie train TEXT --time`", "command", ({"training.precision": "fp32"},), files=TRAINS),
    "ours-bf16": Contender("the same in bfloat16", "command", ({"training.precision": "bf16"},), files=TRAINS),
    "kneser-ney": Contender(
        "Kneser-Ney 5-gram", "ngram", files=("ngrams/kneser_ney.py", "ngrams/counts.py", "ngrams/trie.py")
    ),
    "pytorch-word-lm": Contender(
        "PyTorch's example word_language_model",
        "recipe",
        (
            {"size": 200, "layers": 2, "dropout": 0.2},
            {"size": 200, "layers": 2, "dropout": None, "unigram_bias": True},
            {"size": 200, "layers": 1, "dropout": None, "unigram_bias": True},
            {"size": 128, "layers": 2, "dropout": None, "unigram_bias": True},
            {"size": 288, "layers": 1, "dropout": None, "unigram_bias": True},
            {"size": 200, "layers": 1, "dropout": None, "unigram_bias": True, "streams": 10},
        ),
        WordLanguageModel,
        ("recurrent", "word_language_model"),
    ),
    "awd-lstm": Contender(
        "AWD-LSTM",
        "recipe",
        (
            {"embedding": 192, "hidden": 384, "layers": 3, "dropout": 1.0, "optimiser": "asgd", "lr": 30.0},
            {"embedding": 160, "hidden": 320, "layers": 2, "dropout": None, "optimiser": "asgd", "lr": 30.0},
            {"embedding": 160, "hidden": 320, "layers": 2, "dropout": None, "optimiser": "adam", "lr": 0.003,
             "word_rate": 5.0},
            {"embedding": 128, "hidden": 256, "layers": 2, "dropout": None, "optimiser": "adam", "lr": 0.005,
             "steps": 35},
            {"embedding": 256, "hidden": 256, "layers": 1, "dropout": None, "optimiser": "adam", "lr": 0.003,
             "steps": 35, "word_rate": 5.0},
            {"embedding": 192, "hidden": 192, "layers": 1, "dropout": None, "optimiser": "adam", "lr": 0.005,
             "steps": 35, "word_rate": 5.0},
        ),
        AwdLstm,
        ("recurrent", "awd_lstm"),
    ),
    "gpt": Contender(
        "word-level GPT",
        "recipe",
        (
            {"size": 128, "layers": 2, "lr": 0.003, "context": 64, "batch": 16},
            {"size": 192, "layers": 2, "lr": 0.002, "context": 64, "batch": 16},
            {"size": 128, "layers": 2, "lr": 0.002, "context": 64, "batch": 16, "word_rate": 5.0},
            {"size": 192, "layers": 2, "lr": 0.002, "context": 64, "batch": 8, "word_rate": 5.0},
            {"size": 128, "layers": 4, "lr": 0.002, "context": 64, "batch": 8, "word_rate": 3.0},
            {"size": 256, "layers": 2, "lr": 0.002, "context": 64, "batch": 8, "word_rate": 3.0},
        ),
        Gpt,
        ("gpt",),
    ),
    "sampled-lstm": Contender(
        "LSTM with sampled softmax", "recipe", ({"size": 256, "lr": 0.003},), SampledLstm, ("recurrent", "sampled_lstm")
    ),
    "former-default": Contender(
        "the papers' settings, our former default", "command", files=("config/model.py", "config/training.py")
    ),
}  # fmt: skip
OURS = ("ours", "ours-bf16")
"""The first computes in float32, as the recipes do; the second as `wordtie train` does where there are instructions."""
ADDED = "sampled-lstm"
"""A contender that was added once the goals were written, which name the others; it is compared beside them."""
OTHERS = tuple(name for name in CONTENDERS if name not in (*OURS, ADDED))


def digest_of(files: Sequence[Path]) -> str:
    """Of the files' syntax trees without docstrings: formatting and prose change no result."""
    found = hashlib.sha256()
    for path in files:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            body = getattr(node, "body", None)
            if isinstance(body, list):
                node.body = [each for each in body if not _is_prose(each)]  # type: ignore[attr-defined]
        found.update(ast.dump(tree).encode())
    return found.hexdigest()[:16]


def _is_prose(node: ast.AST) -> bool:
    """A text that stands alone documents what is before it, and does nothing."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
