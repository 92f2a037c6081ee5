"""Shared by the commands that take settings: recipes out, default folders, a note on names."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wordtie.commands._shared import UsageError, print_json
from wordtie.config.ngram import MixedNgramSettings
from wordtie.word2vec.settings import Word2VecSettings

if TYPE_CHECKING:
    from wordtie.runs.run_folder import Mode


OTHER_SECTIONS: Mapping[str, type] = {"word2vec": Word2VecSettings, "ngram": MixedNgramSettings}
"""Other sections that a recipe may have, such as the settings.yaml of runs of other kinds."""


def as_yaml(recipe: Mapping[str, Any]) -> str:
    """Return a recipe, by sections, as YAML that `--config` reads back."""
    import yaml

    return str(yaml.safe_dump(recipe, sort_keys=False, allow_unicode=True))


def print_recipe(recipe: Mapping[str, Any], as_json: bool) -> None:
    """Print a recipe, by sections, as YAML or JSON: `--config` reads both."""
    if as_json:
        print_json(recipe)
    else:
        print(as_yaml(recipe), end="")


def add_run_options(parser: ArgumentParser) -> None:
    """Add the options of a training that can be resumed."""
    add = parser.add_argument
    add("--resume", action="store_true", help="Continue from the run folder's last checkpoint.")
    add("--overwrite", action="store_true", help="Replace a run; its model stays until the next.")
    add("--json", action="store_true", help="Print the result as JSON.")
    add("--print-config", action="store_true", help="Print the settings as a recipe, and stop.")


def mode_of(parsed: Namespace) -> Mode:
    """Return what to do with a run that is in the folder already. Raises `UsageError` if both options are given."""
    if parsed.resume and parsed.overwrite:
        raise UsageError("--resume keeps the run folder and --overwrite replaces it; give one of them")
    return "resume" if parsed.resume else "overwrite" if parsed.overwrite else "new"


def default_folder(corpus: str, ending: str = "") -> Path:
    """Return the default run folder: `ptb` → runs/ptb, `texts/novel.txt` → runs/novel, `../mine/` → runs/mine."""
    path = Path(os.path.abspath(corpus))  # noqa: PTH100 - `resolve` takes the name of what a link leads to
    return Path("runs") / f"{path.name.removesuffix('.txt')}{ending}"


def another_of_its_name(corpus: str) -> list[str]:
    """Return a note if a corpus known by name is taken, and not the user's own file or folder of that name."""
    from wordtie.data.catalogue import CATALOGUE

    taken = corpus in CATALOGUE and Path(corpus).exists()
    return [f"{corpus} is the corpus that `wordtie corpora` lists; for your own give ./{corpus}"] if taken else []
