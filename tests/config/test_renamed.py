"""Files of earlier versions open under the names of this one, and compare as equal."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from wordtie.config import SECTIONS, NoiseSettings, Settings, from_dict, to_dict
from wordtie.config.renamed import RENAMED, with_current_names
from wordtie.errors import SettingsError
from wordtie.reproduction.ledger.ledger import read_entry
from wordtie.reproduction.papers.registry import ROWS
from wordtie.runs.compatibility import difference

LEDGER = Path(__file__).parents[2] / "results"


def old_names(values: dict[str, dict[str, object]]) -> dict[str, dict[str, object]]:
    """As a version before the renaming wrote them."""
    old = {section: dict(settings) for section, settings in values.items()}
    for before, now in RENAMED.items():
        section, _, name = now.partition(".")
        old[section][before.partition(".")[2]] = old[section].pop(name)
    return old


def test_the_table_leads_from_names_that_are_gone_to_names_that_exist() -> None:
    known = {f"{section}.{field.name}" for section, kind in SECTIONS.items() for field in dataclasses.fields(kind)}
    assert set(RENAMED.values()) <= known
    assert not set(RENAMED) & known


def test_settings_of_an_earlier_version_are_the_same_settings() -> None:
    settings = Settings(noise=NoiseSettings(input_vector_dropout=0.4, output_vector_dropout=0.1))
    assert from_dict(old_names(to_dict(settings))) == settings


def test_a_setting_under_both_names_is_refused() -> None:
    both = {"noise": {"input_vector_dropout": 0.1, "input_dropout": 0.2}}
    with pytest.raises(SettingsError, match=r"noise\.input_dropout is an old name of noise\.input_vector_dropout"):
        with_current_names(both)


def test_a_checkpoint_of_an_earlier_version_does_not_differ() -> None:
    now = {"settings": to_dict(Settings(noise=NoiseSettings(input_vector_dropout=0.4))), "texts": {}, "words": "a"}
    assert difference({**now, "settings": old_names(now["settings"])}, now) == ""  # type: ignore[arg-type]
    other = {**now, "settings": old_names(to_dict(Settings()))}
    assert difference(other, now) == "noise.input_vector_dropout (0.0, now 0.4)"


def test_an_entry_of_the_ledger_is_of_the_rows_settings_still() -> None:
    name = "kong-2019/scaled-down/ptb-200-vs-elementwise"
    entry = read_entry(LEDGER / f"{name}.seed-1.json")
    assert "input_dropout" in json.dumps(entry["configuration"]["noise"])
    found = from_dict(entry["configuration"])
    row = ROWS[name].settings(seed=1)
    assert found.noise == row.noise
    assert found.noise.input_vector_dropout > 0
