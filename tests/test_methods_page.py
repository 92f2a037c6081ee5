"""docs/methods.md names every setting and every choice that decides what a model learns, and none that is not there."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from wordtie.config import Settings

PAGE = (Path(__file__).parents[1] / "docs" / "methods.md").read_text(encoding="utf-8")
HERE = ("model", "loss", "noise", "training")
OF_THE_MACHINE = ("seed", "precision", "fused", "threads", "device", "max_time", "checkpoint_every")
"""Settings of training that are no method: where and how it is computed."""


def fields(section: str) -> dict[str, Any]:
    return get_type_hints(get_type_hints(Settings)[section])


def choices(hint: Any) -> set[Any]:
    """The values of a `Literal`, in a union or not."""
    return set(get_args(hint)) if get_origin(hint) is Literal else {v for part in get_args(hint) for v in choices(part)}


def written() -> str:
    """The page without its generated table."""
    return PAGE.partition("<!-- methods: begin")[0]


def flags(text: str) -> set[tuple[str, str]]:
    """Section and name of each `--section.some-name`."""
    return {(section, name.replace("-", "_")) for section, name in re.findall(r"--(\w+)\.(\w[\w-]*)", text)}


def test_every_setting_is_named() -> None:
    named = {f"{section}.{name}" for section, name in flags(written())}
    wanted = {f"{section}.{name}" for section in HERE for name in fields(section) if name not in OF_THE_MACHINE}
    assert wanted - named == set()


def test_every_flag_that_is_named_exists() -> None:
    known = {(section.name, name) for section in dataclasses.fields(Settings) for name in fields(section.name)}
    assert flags(PAGE) - known == set()


def test_every_choice_is_named() -> None:
    quoted = set(re.findall(r"`(\w+)`", written()))
    wanted = {v for section in HERE for name, hint in fields(section).items() if name not in OF_THE_MACHINE
              for v in choices(hint)}  # fmt: skip
    assert wanted
    assert wanted - quoted == set()
