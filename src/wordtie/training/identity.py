"""What must not change between the parts of a run: the settings that decide its numbers, and the texts.

The texts are known by their SHA-256, not by where they lie.
"""

from __future__ import annotations

from typing import Any

from wordtie.config import MAY_CHANGE_ON_RESUME, Settings, SettingsError, from_dict, to_dict
from wordtie.text.token_file import PreparedData


def identity(settings: Settings, data: PreparedData) -> dict[str, Any]:
    """The settings but for `MAY_CHANGE_ON_RESUME`, and the SHA-256 of each split's text."""
    texts = {split: values["sha256"] for split, values in data.info["splits"].items()}
    return {"settings": _lasting(settings), "texts": texts}


def difference(before: dict[str, Any], now: dict[str, Any]) -> str:
    """What a run had otherwise, as `training.lr (1.0, now 0.5)`; empty where nothing differs.

    A setting that the run's version did not know yet had what is its default now.
    """
    try:
        settings = _lasting(from_dict(before["settings"]))
    except SettingsError as error:
        return str(error)
    return _first(settings, now["settings"]) or _first(before["texts"], now["texts"], "text of ")


def _lasting(settings: Settings) -> dict[str, Any]:
    values = to_dict(settings)
    for name in MAY_CHANGE_ON_RESUME:
        del values["training"][name]
    del values["data"]["corpus"]
    return values


def _first(before: dict[str, Any], now: dict[str, Any], prefix: str = "") -> str:
    for name, new in now.items():
        old = before.get(name)
        if isinstance(new, dict) and isinstance(old, dict):
            if found := _first(old, new, f"{prefix}{name}."):
                return found
        elif old != new:
            return f"{prefix}{name} ({_short(old)}, now {_short(new)})"
    return ""


def _short(value: Any) -> str:
    text = str(value)
    return f"SHA-256 {text[:8]}" if len(text) == 64 else text
