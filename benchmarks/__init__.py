"""One file for each kind of claim of speed or memory; `wordtie bench` runs them.

`CLAIM_FILES` is every file, in the order of docs/performance.md; each has a tuple `CLAIMS`.
"""

CLAIM_FILES = (
    "small_real",
    "small_vd_lstm",
    "medium_real",
    "small_dropout_lstm",
    "sampled_softmax",
    "loss_memory",
    "kept_memory",
    "noise",
    "cells",
    "scoring",
    "rescoring",
    "vocabulary",
    "translation",
    "word2vec",
    "start_up",
    "keyboard",
    "serving",
    "gpu_large_real",
    "gpu_side_by_side",
    "gpu_growth",
)
