"""Write a model as a folder that `AutoModelForCausalLM` and `AutoTokenizer` of Hugging Face Transformers open.

config.json  model.safetensors  generation_config.json     the network
tokenizer.json  tokenizer_config.json                      its words: the file of the run folder, and special tokens
modeling_wordtie.py                                        with_code: the classes, to open it without wordtie

Transformers itself is not needed to write them. The word matrix is stored once if it is tied.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from torch import Tensor

from wordtie.config.paths import path_of
from wordtie.data.vocabulary import EOS, UNK, Vocabulary
from wordtie.errors import RunFolderError
from wordtie.inference.loading import LoadedModel, load
from wordtie.models.language_model import LanguageModel
from wordtie.models.mixture import Mixture
from wordtie.models.recent_words import recent_words_of
from wordtie.runs.checkpoint import save_tensors
from wordtie.runs.layout import CONFIG, MANIFEST, MODEL, TOKENIZER
from wordtie.storage.atomic import replace_files, saving

CODE = "modeling_wordtie.py"
GENERATION, TOKENIZER_CONFIG = "generation_config.json", "tokenizer_config.json"
TOKENIZER_CLASS = "PreTrainedTokenizerFast"
CLASSES = {"AutoConfig": "WordtieConfig", "AutoModelForCausalLM": "WordtieForCausalLM"}


@dataclass(frozen=True)
class TransformersFolder:
    """What was written."""

    folder: Path
    files: tuple[str, ...]
    parameters: int
    left_out: str | None
    """Parts of a mixture that the folder does not hold; None for a network by itself."""


def write_transformers_folder(
    run: str | Path, out: str | Path, with_code: bool = False, overwrite: bool = False
) -> TransformersFolder:
    """Export the network of a run folder; of a mixture, its network alone.

    Raises `RunFolderError` for a run without a network, or if `out` is a run folder, or holds such an export already
    and `overwrite` is not given; `SaveError` if it cannot be written.
    """
    folder = path_of(out)
    model = load(run)
    network = model.network
    names = (MODEL, GENERATION, TOKENIZER, TOKENIZER_CONFIG, *([CODE] if with_code else []), CONFIG)
    _check_free(folder, (*names, CODE), overwrite)
    with saving(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".export-", dir=folder) as place:
            stage = Path(place)
            _write(stage, network, model, with_code)
            replace_files(stage, folder, names)
        if not with_code:
            (folder / CODE).unlink(missing_ok=True)
    return TransformersFolder(folder, names, network.parameter_count(), _left_out(model))


def _check_free(folder: Path, names: tuple[str, ...], overwrite: bool) -> None:
    if folder.exists() and not folder.is_dir():
        raise RunFolderError(f"{folder}: is a file, not a folder: choose another OUT")
    if (folder / MANIFEST).exists():
        raise RunFolderError(f"{folder}: is a run folder, which the export would destroy: choose another OUT")
    there = [name for name in names if (folder / name).exists()]
    if there and not overwrite:
        raise RunFolderError(f"{folder}: has a {there[0]} already: --overwrite replaces it")


def _write(stage: Path, network: LanguageModel, model: LoadedModel, with_code: bool) -> None:
    vocabulary = model.tokenizer.vocabulary
    config = transformers_config(network, vocabulary)
    if with_code:
        config["auto_map"] = {auto: f"{Path(CODE).stem}.{name}" for auto, name in CLASSES.items()}
        (stage / CODE).write_bytes((files(__package__) / CODE).read_bytes())
    save_tensors(transformers_tensors(network), stage / MODEL, metadata={"format": "pt"})
    model.tokenizer.save(stage / TOKENIZER)
    _write_json(stage / CONFIG, config)
    _write_json(stage / GENERATION, _special_ids(vocabulary))
    _write_json(
        stage / TOKENIZER_CONFIG,
        {
            "tokenizer_class": TOKENIZER_CLASS,
            "unk_token": UNK,
            "bos_token": EOS,  # the word before the first
            "eos_token": EOS,
            "pad_token": EOS,  # of any id: the attention mask says what is padding
            "padding_side": "left",  # what generating from a batch expects; scores are the same on either side
            "clean_up_tokenization_spaces": False,
            "model_input_names": ["input_ids", "attention_mask"],  # and no token_type_ids, which `generate` refuses
        },
    )


def transformers_config(network: LanguageModel, vocabulary: Vocabulary) -> dict[str, Any]:
    """Return the content of `config.json`, without `auto_map`."""
    settings = network.settings
    return {
        "architectures": [CLASSES["AutoModelForCausalLM"]],
        "model_type": "wordtie",
        "tokenizer_class": TOKENIZER_CLASS,  # `pipeline` of Transformers 4 looks for it here
        "vocab_size": network.words,
        "embedding_size": settings.embedding_size,
        "hidden_size": settings.hidden,
        "num_hidden_layers": settings.layers,
        "core": settings.core,
        "depth": settings.depth if settings.core == "rhn" else 1,
        "coupled_gates": settings.coupled_gates,
        "projection": settings.has_projection,
        "projection_bias": settings.projection_bias,
        "output_bias": settings.has_output_bias,
        "tie_word_embeddings": settings.head != "untied",
        "torch_dtype": "float32",
        **_special_ids(vocabulary),
    }


def transformers_tensors(network: LanguageModel) -> dict[str, Tensor]:
    """Return the parameters under their names in Transformers; the linear map is laid out as in `torch.nn.Linear`."""
    renamed = {}
    for name, tensor in network.state_dict().items():
        if name == "head.projection.weight":
            tensor = tensor.T.contiguous()
        name = name.replace("head.projection.", "projection.").replace("embedding.", "embed.")
        renamed[name.replace("core.layers.", "layers.").replace("head.", "lm_head.")] = tensor
    return renamed


def _special_ids(vocabulary: Vocabulary) -> dict[str, int]:
    eos = vocabulary.eos_id
    return {"bos_token_id": eos, "eos_token_id": eos, "pad_token_id": eos}


def _left_out(model: LoadedModel) -> str | None:
    if not isinstance(model.model, Mixture):
        return None
    others = len(model.model.parts) - 1
    ngrams = "the n-grams mixed into it" if others == 1 else f"the {others} n-gram models mixed into it"
    return ngrams if recent_words_of(model.model) is None else f"{ngrams} and recent words"


def _write_json(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
