"""Choose the device and the precision of matrix products that a run trains with."""

from __future__ import annotations

import torch

from wordtie.config import AnySettings, Settings
from wordtie.errors import SettingsError


def resolve_device(name: str) -> torch.device:
    """Return the device; `auto` is CUDA if there is a card, else the CPU. Raises `SettingsError` if it is missing."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    device = torch.device(name)
    if device.type == "cuda" and not torch.cuda.is_available():
        raise SettingsError("training.device is cuda, but PyTorch sees no CUDA card here: use cpu or auto")
    if device.type == "cuda" and (device.index or 0) >= (cards := torch.cuda.device_count()):
        raise SettingsError(f"training.device is {name}, but the last CUDA card here is cuda:{cards - 1}")
    return device


def precision_of(settings: AnySettings, device: torch.device) -> torch.dtype:
    """Return the precision of a run's matrix products: fp32 without fused kernels, as the readable forms know no other.

    Raises `SettingsError` if bf16 is asked for without fused kernels.
    """
    training = settings.training
    fused_core = isinstance(settings, Settings) and settings.model.core == "lstm"
    if training.fused and (fused_core or settings.loss.kind != "interpolated"):
        return resolve_precision(training.precision, device)
    if training.precision == "bf16":
        raise SettingsError("training.precision is bf16, but nothing fused computes here: use fp32 or auto")
    return torch.float32


def resolve_precision(name: str, device: torch.device) -> torch.dtype:
    """Return the dtype of a precision; `auto` is bf16 if the machine has instructions for it (AVX512-BF16, AMX, CUDA
    compute capability 8.0)."""
    if name != "auto":
        return {"fp32": torch.float32, "bf16": torch.bfloat16}[name]
    if device.type == "cuda":
        return torch.bfloat16 if torch.cuda.get_device_capability(device) >= (8, 0) else torch.float32
    asked = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")  # not public: another version may lack them
    fast = any(getattr(torch.cpu, name, bool)() for name in asked)
    return torch.bfloat16 if fast else torch.float32
