"""Rows that nothing here has trained yet, whose settings no result holds: against what paper or code print."""

from __future__ import annotations

from typing import Any

import pytest

from wordtie.config import to_dict
from wordtie.reproduction.papers.registry import ROWS

PRINTED: dict[str, dict[str, Any]] = {
    "inan-2017/table-1/ptb-medium-re": {
        "model": {"head": "tied", "hidden": 650, "layers": 2, "init": 0.05, "input_dropout": 0.5,
                  "hidden_dropout": 0.5, "dropout": "inan"},
        "loss": {"kind": "cross_entropy"},
        "training": {"lr": 1.0, "clip": 5.0, "steps": 35, "streams": 20},
    },
    "inan-2017/table-1/ptb-large-real": {
        "model": {"hidden": 1500, "layers": 2, "init": 0.04, "input_dropout": 0.65, "hidden_dropout": 0.65},
        "loss": {"kind": "augmented", "temperature": 20.0, "gamma": 0.65, "gradient_through_target": "entropy"},
        "training": {"lr": 1.0, "clip": 6.0},
    },
    "inan-2017/table-1/wikitext-2-medium-al": {
        "model": {"head": "untied", "hidden": 650, "input_dropout": 0.4, "hidden_dropout": 0.4},
        "loss": {"kind": "augmented", "temperature": 20.0, "gamma": 1.25},
    },
    "inan-2017/table-2/part-1-real": {
        "data": {"corpus": "wikitext-2-part-1", "vocabulary_from": "all", "min_count": 1},
        "model": {"hidden": 200, "input_dropout": 0.2, "hidden_dropout": 0.2},
    },
    "inan-2017/table-3/vd-rhn-re": {  # the README of Zilly et al.'s code
        "model": {"head": "tied", "core": "rhn", "depth": 9, "hidden": 860, "layers": 1, "init": 0.04,
                  "transform_bias": -2.0, "coupled_gates": True, "dropout": "gal", "word_dropout": 0.25,
                  "input_dropout": 0.75, "recurrent_dropout": 0.25, "hidden_dropout": 0.75},
        "training": {"lr": 0.2, "decay": round(1 / 1.02, 6), "decay_after": 20, "clip": 10.0, "weight_decay": 1e-7,
                     "epochs": 500, "patience": 0},
    },
    "press-wolf-2017/table-5/large": {  # Zaremba et al. (2014), section 4.1, and when their code lets the rate fall
        "model": {"head": "untied", "hidden": 1500, "layers": 2, "init": 0.04, "dropout": "zaremba",
                  "input_dropout": 0.65, "hidden_dropout": 0.65, "output_bias": True},
        "training": {"lr": 1.0, "clip": 10.0, "decay": round(1 / 1.15, 6), "decay_after": 15, "epochs": 55,
                     "steps": 35, "streams": 20, "patience": 0, "keep": "last"},
    },
    "press-wolf-2017/table-5/large-bd-wd": {  # Gal's script
        "model": {"head": "untied", "dropout": "gal", "word_dropout": 0.3, "input_dropout": 0.5,
                  "recurrent_dropout": 0.3, "hidden_dropout": 0.5},
        "training": {"weight_decay": 1e-7, "decay_after": 11},
    },
    "gulordava-2018/table-1/600-400-tied-l": {  # PyTorch's example: 20 and 0.25 of the mean over 35 steps
        "model": {"head": "tied_linear", "hidden": 600, "embedding": 400, "core_init": 0.0408, "init": 0.1,
                  "dropout": "zaremba"},
        "training": {"lr": 0.5714, "clip": 8.75, "schedule": "plateau", "decay": 0.25, "steps": 35, "streams": 20,
                     "epochs": 40},
    },
    "gulordava-2018/scaled-down/wikitext-2-400-200-tied-l": {  # the settings of table 1, on another text
        "data": {"corpus": "wikitext-2", "min_count": 1, "vocabulary_size": None},
        "model": {"head": "tied_linear", "hidden": 400, "embedding": 200, "core_init": 0.05, "dropout": "zaremba"},
        "training": {"lr": 0.5714, "clip": 8.75, "schedule": "plateau", "decay": 0.25, "epochs": 20},
    },
    "press-wolf-2017/table-7/text8-wt-pr": {  # the script of Mikolov et al. (2014) keeps what comes more than 10 times
        "data": {"corpus": "text8", "min_count": 11, "vocabulary_size": None, "vocabulary_from": "train",
                 "sentences": False, "lowercase": False},
        "model": {"head": "tied_linear", "hidden": 200, "layers": 2, "projection_penalty": 0.15},
        "training": {"lr": 1.0, "decay": 0.5, "decay_after": 5, "steps": 20, "streams": 20, "epochs": 13,
                     "patience": 0, "keep": "last"},
    },
    "inan-2017/scaled-down/rhn-re": {
        "data": {"corpus": "ptb"},
        "model": {"head": "tied", "core": "rhn", "depth": 3, "hidden": 200, "layers": 1, "dropout": "gal"},
        "loss": {"kind": "cross_entropy"},
    },
    "kong-2019/table-2/wikitext-2-1024-vs-kn": {
        "model": {"head": "tied", "hidden": 1024, "layers": 2, "candidate_dropout": 0.2, "hidden_dropout": 0.0,
                  "input_dropout": 0.0},
        "noise": {"kind": "kneser_ney", "scheme": "variational_smoothing", "gamma": 0.2, "l2": 1e-4,
                  "input_vector_dropout": 0.7, "output_vector_dropout": 0.7, "output_draw": "with_input",
                  "elementwise": False},
        "training": {"optimiser": "rmsprop", "lr": 3e-3, "decay": 1.0, "streams": 64, "steps": 35},
    },
    "kong-2019/table-2/ptb-512-dn-li": {
        "noise": {"kind": "linear_interpolation", "scheme": "data_noising", "input_vector_dropout": 0.5,
                  "output_vector_dropout": 0.5},
    },
}  # fmt: skip


@pytest.mark.parametrize("name", PRINTED)
def test_a_row_is_trained_with_what_is_printed(name: str) -> None:
    settings = to_dict(ROWS[name].settings())
    found = {section: {key: settings[section][key] for key in printed} for section, printed in PRINTED[name].items()}
    assert found == PRINTED[name]
