"""The names of the files in a run folder; `wordtie.runs.run_folder` reads and writes them.

config.json  model.safetensors  tokenizer.json     the model, named in the manifest
manifest.json                                      SHA-256 of each, written last
settings.yaml  metrics.jsonl  sessions.jsonl  checkpoints/   how it came about

They are apart from the code that reads the files, so that runs are listed without loading torch.
"""

from __future__ import annotations

from pathlib import Path

CONFIG, MODEL, TOKENIZER, MANIFEST = "config.json", "model.safetensors", "tokenizer.json", "manifest.json"
SEALED = (CONFIG, MODEL, TOKENIZER)
MODEL_FILES = (*SEALED, MANIFEST)
"""Files of a model; the last seals the others."""
NEXT = ".next"
"""Folder of a complete model that is being published: `wordtie.runs.sealed`."""
CHECKPOINT = Path("checkpoints") / "last.safetensors"
SETTINGS, METRICS, RESULT = "settings.yaml", "metrics.jsonl", "result.json"
INVOCATIONS = "sessions.jsonl"
"""File with a line for each invocation. It keeps the name that it had before the term."""
LIVE_PROGRESS = "live_progress"
PARTS = "parts"
"""Folder of the models that a mixture is made of, each named by the SHA-256 of its manifest."""
NGRAMS, MIXTURE_FOLDER = "ngram", "mixture"
"""Folders inside that of a language model: the n-gram model of the same text, and the mixture of both."""
RECORDS = (SETTINGS, METRICS, RESULT, INVOCATIONS, LIVE_PROGRESS)
"""Files beside the model that record how it came about."""
INT8 = "int8"
"""`storage` in `config.json` of a model whose matrices are stored in 8 bits (`wordtie.runs.eight_bits`)."""
SCALE = ".scale"
"""Suffix of a matrix's scales in such a model: `NAME.scale`, shape (R,), lies beside `NAME`, shape (R, C)."""
