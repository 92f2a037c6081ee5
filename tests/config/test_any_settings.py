"""Any valid settings come back the same from a recipe, from the command line and from plain values."""

from __future__ import annotations

import argparse
import dataclasses
import tempfile
from pathlib import Path
from typing import Any, get_args, get_origin

import yaml
from hypothesis import HealthCheck, assume, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from wordtie.commands._settings import as_yaml
from wordtie.config import SECTIONS, Settings, from_dict, to_dict
from wordtie.config.options import SettingsParser
from wordtie.config.values import hints_of, parts_of
from wordtie.errors import SettingsError

SPECIAL = {
    "data.split": st.sampled_from([(0.9, 0.05, 0.05), (0.5, 0.25, 0.25), (0.8, 0.1, 0.1)]),
    "data.corpus": st.text(
        min_size=1, alphabet=st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Zl", "Zp"])
    ),
    "training.device": st.sampled_from(["auto", "cpu", "cuda", "cuda:1"]),
    "training.max_time": st.sampled_from([None, "90s", "1h30m", 12.5]),
    "data.extends": st.sampled_from([None, "runs/a b"]),
    "training.start_from": st.sampled_from([None, "runs/a b", "1984", "no", "~/run", "'quoted'", "a: b"]),
    "training.threads": st.none() | st.integers(1, 64),
    "training.seed": st.integers(0, 2**63 - 1),
    "data.vocabulary_size": st.none() | st.integers(3, 10**6),
}


def values_of(hint: Any) -> st.SearchStrategy[Any]:
    """Values of the type, most of them in the range of the settings that have it."""
    kinds = {
        bool: st.booleans(),
        int: st.integers(0, 10**4),
        float: st.floats(0, 1) | st.floats(0, 100) | st.integers(0, 3),
        type(None): st.none(),
    }
    parts = [st.sampled_from(get_args(part)) if get_args(part) else kinds[part] for part in parts_of(hint)]
    assert all(get_origin(part) is not tuple for part in parts_of(hint))
    return st.one_of(parts)


@st.composite
def any_settings(draw: st.DrawFn) -> Settings:
    """A few settings that differ from their defaults; combinations that are refused are not drawn."""
    sections = {}
    for section, kind in SECTIONS.items():
        fields = draw(st.lists(st.sampled_from([field.name for field in dataclasses.fields(kind)]), max_size=4))
        hints = hints_of(kind)
        changes = {}
        for name in dict.fromkeys(fields):
            full = f"{section}.{name}"
            changes[name] = draw(SPECIAL[full] if full in SPECIAL else values_of(hints[name]))
        try:
            sections[section] = kind(**changes)
        except SettingsError:
            assume(False)
    try:
        return Settings(**sections)
    except SettingsError:
        assume(False)
        raise


def parsed(arguments: list[str]) -> Settings:
    parser = SettingsParser("train", "", "", SECTIONS)
    found = parser.parse_args(arguments)
    assert isinstance(found, argparse.Namespace)
    return Settings(**parser.made())


def option(full: str, value: object) -> str:
    text = ",".join(map(repr, value)) if isinstance(value, tuple) else str(value)
    return f"--{full.replace('_', '-')}={text}"


@hypothesis_settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(any_settings())
def test_any_settings_come_back(settings: Settings) -> None:
    assert from_dict(to_dict(settings)) == settings
    text = as_yaml(to_dict(settings))
    assert from_dict(yaml.safe_load(text)) == settings
    with tempfile.TemporaryDirectory() as folder:
        recipe = Path(folder, "recipe.yaml")
        recipe.write_text(text, encoding="utf-8")
        assert parsed(["--config", str(recipe)]) == settings
    options = [
        option(f"{section}.{name}", value)
        for section in SECTIONS
        for name, value in dataclasses.asdict(getattr(settings, section)).items()
    ]
    assert parsed(options) == settings
