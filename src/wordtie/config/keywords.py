"""Settings as keyword arguments: `wordtie.train("novel.txt", "runs/novel", hidden=400)`."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from wordtie.config import SECTIONS, Settings
from wordtie.config.names import Names
from wordtie.errors import require


def settings_from(text: Settings | str | Path, **named: Any) -> Settings:
    """Settings of a text, or other settings, with those changed that are named as on the command line.

    >>> settings_from("novel.txt", hidden=400, lr=0.5).model.hidden
    400

    A name is the last name of a setting if that is unambiguous, its full name (`**{"loss.gamma": 0.5}`), one that other
    toolkits use (`nhid`), or a section (`model=ModelSettings(hidden=400)`). Raises `SettingsError` for other names and
    for values that make no sense.
    """
    changes: dict[str, dict[str, Any]] = {section: {} for section in SECTIONS}
    start = text if isinstance(text, Settings) else Settings()
    if not isinstance(text, Settings):
        wrong = f"give the name or path of a text, or Settings(...), got a {type(text).__name__}"
        require(isinstance(text, str | os.PathLike), wrong)
        changes["data"]["corpus"] = os.fspath(text)
    start = replace(start, **{section: named.pop(section) for section in SECTIONS if section in named})
    names = Names(SECTIONS)
    for name, value in named.items():
        if switch := names.switch(name):
            full, if_true, if_false = switch
            require(isinstance(value, bool), f"{name} must be true or false, got {value!r}")
            value = if_true if value else if_false
        else:
            full = names.find(name)
        section, _, setting = full.partition(".")
        changes[section][setting] = tuple(value) if isinstance(value, list) else value
    return Settings(**{section: replace(getattr(start, section), **changes[section]) for section in SECTIONS})
