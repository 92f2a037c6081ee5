"""What must not change between the invocations of a run: the settings that decide its numbers, and the texts.

Texts are identified by their SHA-256, not by their path.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from wordtie.config import MAY_CHANGE_ON_RESUME, AnySettings, Settings, from_dict, resolved, settings_from_dict, to_dict
from wordtie.data.token_file import PreparedData
from wordtie.errors import RunFolderError, SettingsError
from wordtie.runs.layout import SETTINGS
from wordtie.storage.opening import read_regular


def decisive(settings: AnySettings) -> dict[str, Any]:
    """Return `section.name` to value, for all settings but `MAY_CHANGE_ON_RESUME`.

    A cosine over the epochs depends on their number, and so do validations that are spread over them and a softmax that
    is full at their end.
    """
    passing = {f"training.{name}" for name in MAY_CHANGE_ON_RESUME}
    training = settings.training
    by_length = training.schedule == "cosine" or training.validations or settings.loss.full_at_end > 0
    if by_length and training.tokens is None:
        passing.remove("training.epochs")
    values = {f"{part}.{name}": value for part, names in resolved(settings).items() for name, value in names.items()}
    return {name: value for name, value in values.items() if name not in passing}


def recorded_settings(folder: Path) -> Settings | None:
    """Read the settings that a run was started with; None if the folder holds none.

    A setting that the run's version did not know yet has its present default. Raises `RunFolderError`.
    """
    path = folder / SETTINGS
    if not path.exists():
        return None
    try:
        sections = yaml.safe_load(read_regular(path).decode())
        if isinstance(sections, dict):
            sections.pop("ngram", None)  # of what is mixed in, which invocations record, too
        return from_dict(sections)
    except (OSError, ValueError, yaml.YAMLError, SettingsError, RecursionError) as error:
        what = " ".join(str(error).split())
        raise RunFolderError(f"{path}: cannot be read as settings ({what}): restore it from a copy") from error


def identity(settings: Settings, data: PreparedData) -> dict[str, Any]:
    """Return what a checkpoint records about its run: the settings, the SHA-256 of each split's text, and that of what
    was made of them: the vocabulary and the token counts."""
    made = [data.vocabulary.words, {split: stats.tokens for split, stats in data.info.splits.items()}]
    words = hashlib.sha256(json.dumps(made, sort_keys=True).encode()).hexdigest()
    return {"settings": to_dict(settled(settings, data)), "texts": data.texts, "words": words}


def settled(settings: Settings, data: PreparedData) -> Settings:
    """Return the settings with the `data.min_count` that the text decided, if it was left open."""
    if settings.data.min_count is not None:
        return settings
    return replace(settings, data=replace(settings.data, min_count=data.info.policy.min_count))


def difference(before: Mapping[str, Any], now: Mapping[str, Any], kind: type[AnySettings] = Settings) -> str:
    """Describe how two identities differ, as `training.lr (1.0, now 0.5)`; empty if they do not."""
    try:
        then, since = (settings_from_dict(each["settings"], kind) for each in (before, now))
    except SettingsError as error:
        return str(error)
    texts = changed(before["texts"], {**dict.fromkeys(before["texts"]), **now["texts"]}, "text of ")
    if texts and then.data.corpus != since.data.corpus:
        texts.insert(0, f"data.corpus ({then.data.corpus}, now {since.data.corpus})")
    other = [*changed_settings(then, since), *texts]
    if not other and before.get("words", now["words"]) != now["words"]:  # earlier versions did not note them
        other = ["words, which another tokenisation made of the same text"]
    return ", ".join(other)


def changed_settings(then: AnySettings, now: AnySettings, but: tuple[str, ...] = ("data.corpus",)) -> list[str]:
    """List changes in settings that decide a run's numbers; not in `data.min_count` if either leaves it to the text."""
    by_text = ("data.min_count",) if None in (then.data.min_count, now.data.min_count) else ()
    return changed(decisive(then), decisive(now), but=(*but, *by_text))


def changed(before: dict[str, Any], now: dict[str, Any], prefix: str = "", but: tuple[str, ...] = ()) -> list[str]:
    """List every difference, as `training.lr (1.0, now 0.5)`."""
    return [
        f"{prefix}{name} ({_short(before.get(name))}, now {_short(value)})"
        for name, value in now.items()
        if name not in but and before.get(name) != value
    ]


def _short(value: Any) -> str:
    text = str(value)
    return f"SHA-256 {text[:8]}" if len(text) == 64 else text
