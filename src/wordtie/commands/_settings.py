"""What the commands that take settings have in common: recipes out, default folders, a note on names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any


def as_yaml(recipe: Mapping[str, Any]) -> str:
    """A recipe, by sections, as `--config` reads it back."""
    import yaml

    return str(yaml.safe_dump(recipe, sort_keys=False, allow_unicode=True))


def default_folder(corpus: str, ending: str = "") -> Path:
    """`ptb` → runs/ptb, `texts/novel.txt` → runs/novel, `../mine/` → runs/mine."""
    return Path("runs") / f"{Path(corpus).resolve().name.removesuffix('.txt')}{ending}"


def another_of_its_name(corpus: str) -> list[str]:
    """A note if a corpus known by name is taken, and one's own file or folder of that name is not."""
    from wordtie.data.catalogue import CATALOGUE

    taken = corpus in CATALOGUE and Path(corpus).exists()
    return [f"{corpus} is the corpus that `wordtie corpora` lists; for your own give ./{corpus}"] if taken else []
