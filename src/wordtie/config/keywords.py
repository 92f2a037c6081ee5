"""Settings as keyword arguments: `wordtie.train("novel.txt", "runs/novel", hidden=400)`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from wordtie.config import (
    SECTIONS,
    TRANSLATION_SECTIONS,
    BitextSettings,
    DataSettings,
    Settings,
    TranslationSettings,
)
from wordtie.config.names import Names
from wordtie.errors import require


def settings_from(text: Settings | str | Path, **named: Any) -> Settings:
    """Return the settings of a text, or the settings given, with the named ones changed.

    >>> settings_from("novel.txt", hidden=400, lr=0.5).model.hidden
    400

    Names are those of the command line: the last name of a setting if that is unambiguous, its full name
    (`**{"loss.gamma": 0.5}`), one that other toolkits use (`nhid`), or a section (`model=ModelSettings(hidden=400)`).
    Raises `SettingsError` for other names and for invalid values.
    """
    if isinstance(text, Settings):
        start = text
    else:
        start = Settings(data=_corpus(text, "Settings"))
        named = with_text(start.data, named)
    return Settings(**changed_by_name({section: getattr(start, section) for section in SECTIONS}, named))


def translation_settings_from(text: TranslationSettings | str | Path, **named: Any) -> TranslationSettings:
    """Return settings of a translation model, as `settings_from` does for a language model.

    >>> translation_settings_from("multi30k", source="de", target="en").data.source
    'de'
    """
    if isinstance(text, TranslationSettings):
        start = text
    else:
        wrong = f"give the name or path of a parallel corpus, or TranslationSettings(...), got a {type(text).__name__}"
        require(isinstance(text, str | os.PathLike), wrong)
        start = TranslationSettings(data=BitextSettings(corpus=_name_of(text)))
        named = with_text(start.data, named)
    sections = {section: getattr(start, section) for section in TRANSLATION_SECTIONS}
    return TranslationSettings(**changed_by_name(sections, named))


def data_from(text: DataSettings | str | Path) -> DataSettings:
    """Return the settings of a text, given by its name or path or as settings. Raises `SettingsError`."""
    return text if isinstance(text, DataSettings) else _corpus(text, "DataSettings")


def _corpus(text: str | Path, instead: str) -> DataSettings:
    wrong = f"give the name or path of a text, or {instead}(...), got a {type(text).__name__}"
    require(isinstance(text, str | os.PathLike), wrong)
    return DataSettings(corpus=_name_of(text))


def _name_of(text: str | Path) -> str:
    """Return the text as settings name it. A path is none of the catalogue, even without a folder before it."""
    name = os.fspath(text)
    return name if isinstance(text, str) or Path(name).name != name else f"./{name}"


def with_text(data: DataSettings | BitextSettings, named: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keyword arguments with the text of `data` in their own section `data`, if they have one.

    Raises `SettingsError` if that names another text.
    """
    own = named.get("data")
    if type(own) is not type(data):
        return dict(named)
    given = own.corpus in (type(data)().corpus, data.corpus)
    require(given, f"two texts are named, {data.corpus} and {own.corpus}: give one of them")
    return {**named, "data": replace(own, corpus=data.corpus)}


def changed_by_name(sections: Mapping[str, Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """Return sections of settings, with the named settings changed. Raises `SettingsError`."""
    names, changes = Names({section: type(values) for section, values in sections.items()}), dict(named)
    start = {section: changes.pop(section, values) for section, values in sections.items()}
    of_section: dict[str, dict[str, Any]] = {section: {} for section in sections}
    for name, value in changes.items():
        if switch := names.switch(name):
            full, if_true, if_false = switch
            require(isinstance(value, bool), f"{name} must be true or false, got {value!r}")
            value = if_true if value else if_false
        else:
            full = names.find(name)
        section, _, setting = full.partition(".")
        of_section[section][setting] = tuple(value) if isinstance(value, list) else value
    return {section: replace(values, **of_section[section]) for section, values in start.items()}
