"""Checkpoints as the programs write them: whole models and state dicts, in the newer and in the older form of files."""

from __future__ import annotations

import io
import pickle
import warnings
from collections import OrderedDict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import nn

from tests.reference.rnn_model import RNNModel, in_its_module

WORDS = ["<unk>", "<eos>", "the", "cat", "sat", "on", "mat", "dog"]
FORMS = ["model", "old model", "state dict", "old state dict", "PyTorch 0.3"]


class OldPickler(pickle.Pickler):
    """Parameters and modules as PyTorch 0.3 to 1.1 had them."""

    def reducer_override(self, value: Any) -> Any:
        """A parameter is one of its class, with a state; a backend is what a function returns."""
        if isinstance(value, nn.Parameter):
            return nn.Parameter, (value.data,), (True, False, OrderedDict())
        if isinstance(value, Backend):
            from torch.nn.backends import thnn

            return thnn._get_thnn_function_backend, ()
        return NotImplemented


class Backend:
    """Every module had one."""


def small_model(rnn_type: str = "LSTM", tied: bool = False, seed: int = 1, layers: int = 2) -> RNNModel:
    """Of eight words; its biases are not zero."""
    torch.manual_seed(seed)
    model = RNNModel(rnn_type, len(WORDS), 6 if tied else 4, 6, layers, 0.2 if layers > 1 else 0.0, tied)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.uniform_(-1, 1)
    return model


def saved(model: nn.Module, path: Path, form: str = "model") -> Path:
    """The model in a file of this form."""
    path.write_bytes(file_content(model, form))
    return path


def file_content(model: nn.Module, form: str) -> bytes:
    """What such a file has in it."""
    old = {"_use_new_zipfile_serialization": False}
    more: dict[str, Any] = {} if form in ("model", "state dict") else old
    content: Any = model.state_dict() if "state dict" in form else model
    if form == "PyTorch 0.3":
        more["pickle_module"] = SimpleNamespace(__name__="pickle", Pickler=OldPickler, dump=pickle.dump)
        for module in model.modules():
            module._backend = Backend()  # type: ignore[assignment]
    buffer = io.BytesIO()
    with in_its_module(), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the older form keeps the source of classes, if it finds it
        torch.save(content, buffer, **more)
    return buffer.getvalue()
