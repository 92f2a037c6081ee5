"""The models that a server has open, each with the thread that computes for it.

A run folder may be replaced while it is served, by a training that has found a better model, say. The new model is
opened beside the old one, which finishes what it was asked; then the new one takes its place. A folder that cannot be
opened changes nothing: the old model is in memory.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from wordtie.config.paths import is_arpa
from wordtie.errors import RunFolderError, SettingsError, WordtieError
from wordtie.inference.loading import LoadedModel, Part, load
from wordtie.models.language_model import WORD_MATRICES
from wordtie.runs.layout import MANIFEST, MIXTURE_FOLDER, NGRAMS
from wordtie.runs.ready import run_path
from wordtie.serve.batcher import Batcher
from wordtie.vectors.word_vectors import WordVectors

Fingerprint = tuple[tuple[int, int, int] | None, ...]
LOOK = 2.0
"""Seconds between checks whether a run folder has changed."""


class UnknownModelError(WordtieError):
    """No model of that name is served."""


class CannotAnswerError(WordtieError):
    """The model is of a kind that cannot answer this."""


@dataclass
class Opened:
    """A model as it was opened, and its thread."""

    name: str
    loaded: LoadedModel
    batcher: Batcher
    version: str
    """The first digits of the SHA-256 of the run folder's manifest, or of the ARPA file."""

    @property
    def kind(self) -> str:
        """Short description of the model."""
        return repr(self.loaded).removeprefix("LoadedModel(").rpartition(", ")[0]

    @cached_property
    def vectors(self) -> Mapping[str, WordVectors]:
        """Word vectors by side: `tied`, or `input` and `output`. Raises `CannotAnswerError` for a model without any."""
        try:
            network = self.loaded.network
        except RunFolderError as error:
            raise CannotAnswerError(f"{self.name} ({self.kind}) has no word vectors: ask a network") from error
        words, (_, output) = self.loaded.tokenizer.vocabulary.words, WORD_MATRICES
        source = network.embedding.weight.detach().cpu().numpy()
        if output not in dict(network.named_parameters()):
            return {"tied": WordVectors(words, source, name=self.name)}
        target = network.output_matrix.detach().cpu().numpy()
        return {
            "input": WordVectors(words, source, name=self.name),
            "output": WordVectors(words, target, name=self.name),
        }

    def about(self) -> dict[str, Any]:
        """Return what the model is and can do."""
        try:
            sides = list(self.vectors)
        except CannotAnswerError:
            sides = []
        words = len(self.loaded.tokenizer.vocabulary)
        return {"about": self.kind, "words": words, "vectors": sides, "version": self.version,
                "sentences": self.loaded.tokenizer.sentences}  # fmt: skip


class Models:
    """The models by name, in the order in which they were named; the first answers if none is named."""

    def __init__(
        self, runs: Sequence[str], batcher: Callable[[str, LoadedModel], Batcher], part: Part | None = None
    ) -> None:
        """Open all models, or this `part` of each. `batcher` makes the thread of a model. Raises `RunFolderError`,
        `SettingsError`."""
        self._runs, self._part = names_of(runs), part
        self._batcher = batcher
        self._seen = {name: fingerprint(run_path(run)) for name, run in self._runs.items()}
        self._opened = {name: self._open(name) for name in self._runs}

    def __iter__(self) -> Any:
        return iter(self._opened.items())

    @property
    def runs(self) -> list[str]:
        """Runs as they were named."""
        return list(self._runs.values())

    def get(self, name: str | None) -> tuple[str, Opened]:
        """Return the name and the model; for None, the first. Raises `UnknownModelError`."""
        name = next(iter(self._opened)) if name is None else name
        if name not in self._opened:
            raise UnknownModelError(f"no model of that name is served here: there are {', '.join(self._opened)}")
        return name, self._opened[name]

    async def watch(self, tell: Callable[[str, str, str], None], every: float = LOOK) -> None:
        """Reopen models that have changed, for ever. `tell` is called with the event, the model and the reason."""
        failed: dict[str, str] = {}
        while True:
            await asyncio.sleep(every)
            for name, run in self._runs.items():
                found = fingerprint(run_path(run))
                if found == self._seen[name] or found[0] is None:
                    continue
                try:
                    new = await asyncio.to_thread(self._open, name)
                except Exception as error:  # it may be half copied: look again, whatever is wrong with it now
                    if failed.get(name) != str(error):
                        failed[name] = str(error)
                        tell("model_kept", name, str(error))
                    continue
                failed.pop(name, None)
                self._seen[name] = found
                old, self._opened[name] = self._opened[name], new
                old.batcher.close()
                tell("model_replaced", name, new.version)

    def close(self) -> None:
        """Accept no more work."""
        for opened in self._opened.values():
            opened.batcher.close()

    def _open(self, name: str) -> Opened:
        run = self._runs[name]
        loaded = load(run, self._part, copied=True)
        manifest = described_by(run_path(run)).read_bytes()
        return Opened(name, loaded, self._batcher(name, loaded), hashlib.sha256(manifest).hexdigest()[:12])


def names_of(runs: Sequence[str]) -> dict[str, str]:
    """Map name to run: the name is the last part of the path, or as much of it as tells the runs apart.

    Raises `SettingsError` for a run named twice.

    >>> names_of(["runs/a/ptb", "runs/b/ptb/", "en"])
    {'a/ptb': 'runs/a/ptb', 'b/ptb': 'runs/b/ptb/', 'en': 'en'}
    """
    if len({Path(run) for run in runs}) < len(runs):
        raise SettingsError("a run is named twice")
    parts = {run: Path(run).parts or (run,) for run in runs}
    names = {}
    for run, own in parts.items():
        others = [other for each, other in parts.items() if each != run]
        taken = next((n for n in range(1, len(own) + 1) if all(other[-n:] != own[-n:] for other in others)), len(own))
        names["/".join(own[-taken:])] = run
    return names


def fingerprint(folder: Path) -> Fingerprint:
    """Return what changes if a model is replaced: inode, size and time of each manifest, or of an ARPA file."""
    return tuple(_of_file(described_by(place)) for place in (folder, folder / NGRAMS, folder / MIXTURE_FOLDER))


def described_by(run: Path) -> Path:
    """Return the file that changes whenever the model does: the manifest of a run folder, or an ARPA file itself."""
    return run if is_arpa(run) else run / MANIFEST


def _of_file(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
