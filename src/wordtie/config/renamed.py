"""Old names of settings, so that files of earlier versions still open.

One table for recipes, options, run folders, checkpoints and ledger entries. The files themselves are never rewritten.
"""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from typing import Any

from wordtie.errors import SettingsError, require

RENAMED: dict[str, str] = {
    "noise.input_dropout": "noise.input_vector_dropout",
    "noise.output_dropout": "noise.output_vector_dropout",
}
"""Old `section.name` to the current one."""


def current_name(name: str) -> str:
    """Return the current name of `section.name`."""
    return RENAMED.get(name, name)


def with_current_names(values: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return settings by section, read from a file of any version, under their current names.

    Raises `SettingsError` if one setting appears under both its names.
    """
    found: dict[str, dict[str, Any]] = {section: {} for section in values}
    for section, settings in values.items():
        require(isinstance(settings, Mapping), f"{section} must be settings by name, got {reprlib.repr(settings)}")
        for old, value in settings.items():
            new_section, _, new = current_name(f"{section}.{old}").partition(".")
            if new in found.setdefault(new_section, {}):
                raise SettingsError(f"{section}.{old} is an old name of {new_section}.{new}: give one of them")
            found[new_section][new] = value
    return found
