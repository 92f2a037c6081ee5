"""Run folders of networks with random weights: every cell and head, without a training."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import torch

from wordtie.config import ModelSettings, Settings
from wordtie.data.tokenisation import Tokenisation
from wordtie.data.tokenizer import Tokenizer
from wordtie.data.vocabulary import EOS, UNK, Vocabulary
from wordtie.export.transformers_folder import write_transformers_folder
from wordtie.models.language_model import LanguageModel
from wordtie.runs.run_folder import SavedModel, write_language_model

MISSING = "transformers is not installed: pip install transformers"
WORDS = ["the", EOS, UNK, *(f"w{number}" for number in range(60))]
"""<eos> is not the first: its id has to be looked up."""

SIZES = {
    "tied": {"embedding": 7, "hidden": 7},
    "tied_linear": {"embedding": 5, "hidden": 7},
    "untied": {"embedding": 5, "hidden": 7},
}
NETWORKS: dict[str, ModelSettings] = {
    f"{core}-{head}": ModelSettings(core=core, head=head, depth=3, **sizes)  # type: ignore[arg-type]
    for core in ("lstm", "gru", "rnn", "rhn")
    for head, sizes in SIZES.items()
} | {
    "tied-with-bias": ModelSettings(head="tied", output_bias=True, embedding=7, hidden=7),
    "no-bias-untied": ModelSettings(head="untied", output_bias=False, embedding=5, hidden=7, layers=1),
    "map-with-bias": ModelSettings(head="tied_linear", projection_bias=True, embedding=5, hidden=7, layers=3),
    "untied-through-a-map": ModelSettings(head="untied", projection=True, embedding=5, hidden=7),
    "free-gates": ModelSettings(core="rhn", coupled_gates=False, depth=2, embedding=7, hidden=7, layers=1),
}


def write_run(folder: Path, settings: ModelSettings, words: Sequence[str] = WORDS, *, sentences: bool = True) -> Path:
    """A run folder whose weights are large enough that every part matters."""
    torch.manual_seed(1)
    network = LanguageModel(settings, len(words))
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.uniform_(-0.7, 0.7)
    tensors = {name: tensor.detach() for name, tensor in network.state_dict().items()}
    tokenizer = Tokenizer(Tokenisation("space", sentences=sentences), Vocabulary(words))
    write_language_model(folder, SavedModel(Settings(model=settings), tensors, tokenizer))
    return folder


def export(here: Path, name: str, with_code: bool = False) -> tuple[Path, Path]:
    """(run folder, exported folder) of one of `NETWORKS`."""
    run = write_run(here / name, NETWORKS[name])
    return run, write_transformers_folder(run, here / f"{name}-hf", with_code).folder


def sentences(count: int, seed: int = 1) -> list[str]:
    """Lines of known and unknown words, from one to twelve."""
    generator = random.Random(seed)
    return [" ".join(generator.choices([*WORDS, "unheard-of"], k=generator.randint(1, 12))) for _ in range(count)]
