"""The names of what lies in a run folder; `wordtie.runs.run_folder` reads and writes it.

config.json  model.safetensors  tokenizer.json     the model, named in the manifest
manifest.json                                      SHA-256 of each, written last
settings.yaml  metrics.jsonl  sessions.jsonl  checkpoints/   how it came about

Apart from what reads them, so that runs are listed without loading torch.
"""

from __future__ import annotations

from pathlib import Path

CONFIG, MODEL, TOKENIZER, MANIFEST = "config.json", "model.safetensors", "tokenizer.json", "manifest.json"
SEALED = (CONFIG, MODEL, TOKENIZER)
MODEL_FILES = (*SEALED, MANIFEST)
"""The model; the last seals the others."""
NEXT = ".next"
"""A whole model on its way into the folder: `wordtie.runs.sealed`."""
CHECKPOINT = Path("checkpoints") / "last.safetensors"
SETTINGS, METRICS, RESULT = "settings.yaml", "metrics.jsonl", "result.json"
INVOCATIONS = "sessions.jsonl"
"""A line for each call of the program that trained the run. Files keep the name they had before the term."""
LIVE_PROGRESS = "live_progress"
PARTS = "parts"
"""Folder of the models that a mixture is made of, each named by the SHA-256 of its manifest."""
NGRAMS, MIXTURE_FOLDER = "ngram", "mixture"
"""Folders in that of a language model: the n-gram model of the same text, and the mixture of both."""
RECORDS = (SETTINGS, METRICS, RESULT, INVOCATIONS, LIVE_PROGRESS)
"""Beside the model: how it came about."""
INT8 = "int8"
"""`storage` in `config.json` of a model whose matrices are stored in 8 bits (`wordtie.runs.eight_bits`)."""
SCALE = ".scale"
"""Of such a model, `NAME.scale`, shape (R,), lies beside `NAME`, shape (R, C)."""
