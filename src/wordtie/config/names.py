"""Names of a setting: its full name, an unambiguous last name, or the name it has in other toolkits.

`model.hidden`, `hidden` and `nhid` are one setting. The command line, recipes and `wordtie.train(..., hidden=400)` all
look names up here. Names are compared with underscores; the caller decides how they are spelled in messages.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Mapping

from wordtie.config.renamed import current_name
from wordtie.errors import SettingsError, did_you_mean

ALIASES: dict[str, tuple[str, ...]] = {
    "batch_size": ("training.streams",),
    "bptt": ("training.steps",),
    "cell": ("model.core",),
    "dim": ("model.embedding", "word2vec.vector_size"),
    "dropoute": ("model.word_dropout",),
    "embedding_dim": ("model.embedding", "word2vec.vector_size"),
    "embedding_size": ("model.embedding", "word2vec.vector_size"),
    "emsize": ("model.embedding", "word2vec.vector_size"),
    "grad_clip": ("training.clip",),
    "hidden_dim": ("model.hidden",),
    "hidden_size": ("model.hidden",),
    "iter": ("word2vec.epochs",),
    "learning_rate": ("training.lr", "word2vec.alpha"),
    "lower": ("data.lowercase",),
    "lr": ("word2vec.alpha",),
    "max_epochs": ("training.epochs", "word2vec.epochs"),
    "max_grad_norm": ("training.clip",),
    "min_freq": ("data.min_count",),
    "n_layers": ("model.layers",),
    "nhid": ("model.hidden",),
    "nlayers": ("model.layers",),
    "num_epochs": ("training.epochs", "word2vec.epochs"),
    "num_layers": ("model.layers",),
    "optim": ("training.optimiser",),
    "optimizer": ("training.optimiser",),
    "random_seed": ("training.seed", "word2vec.seed"),
    "seq_len": ("training.steps",),
    "sequence_length": ("training.steps",),
    "size": ("word2vec.vector_size",),
    "tokenization": ("data.tokenisation",),
    "vocab_size": ("data.vocabulary_size",),
    "warmup_steps": ("training.warmup",),
    "wdecay": ("training.weight_decay",),
    "wdrop": ("model.weight_drop",),
}
"""Names of PyTorch's word-level example, AWD-LSTM, torchtext and gensim for settings that mean the same here."""

SWITCHES: dict[str, tuple[tuple[str, str, str], ...]] = {
    "cuda": (("training.device", "cuda", "cpu"),),
    "tied": (("model.head", "tied", "untied"), ("word2vec.head", "tied", "untied")),
    "cbow": (("word2vec.algorithm", "cbow", "skipgram"),),
}
"""Names that are true or false elsewhere and one of our choices here: setting, value if true, value if false."""

NEAR: dict[str, tuple[str, tuple[str, ...]]] = {
    "dropouth": ("layers and time steps have shares of their own", ("model.hidden_dropout", "model.between_dropout")),
    "dropouti": ("masks are drawn as model.dropout says", ("model.input_dropout",)),
    "dropouto": ("masks are drawn as model.dropout says", ("model.output_dropout",)),
    "momentum": ("sgd is plain here, adam has a mean of gradients", ("training.optimiser", "training.beta1")),
    "nonmono": ("averaging starts by its own rule", ("training.average_patience",)),
    "sg": ("skip-gram is the default", ("word2vec.algorithm",)),
    "tie_weights": ("the output may share the word matrix directly or through a map", ("model.head", "word2vec.head")),
}
"""Names from elsewhere that mean nearly the same: how ours differ, and which they are."""


class Names:
    """The settings of some sections, by every name that they may have."""

    def __init__(self, sections: Mapping[str, type], spell: Callable[[str], str] = str, noun: str = "setting") -> None:
        self.known = {f"{name}.{each.name}" for name, kind in sections.items() for each in dataclasses.fields(kind)}
        self.sections = dict(sections)
        self.spell = spell
        self.noun = noun
        self.taken: Collection[str] = ()
        """Names that cannot be the last name of a setting, spelled as in messages: a command's own options."""
        self.by_last_name: dict[str, list[str]] = {}
        for full in sorted(self.known):
            self.by_last_name.setdefault(full.partition(".")[2], []).append(full)

    def find(self, name: str) -> str:
        """Return the full name of a setting, such as `model.hidden`.

        Raises `SettingsError` with the candidates if several settings have this last name, and with the nearest name if
        none has.
        """
        current = current_name(name)
        if current in self.known:
            return current
        candidates = self.by_last_name.get(name) or self._present(ALIASES.get(name, ()))
        if len(candidates) > 1:
            either = " or ".join(map(self.spell, candidates))
            raise SettingsError(f"{self.spell(name)} is the name of several settings: give {either}")
        if candidates:
            return candidates[0]
        raise SettingsError(self._unknown(name))

    def switch(self, name: str) -> tuple[str, str, str] | None:
        """Return (our setting, its value if true, its value if false) for a name that is true or false elsewhere."""
        return next((switch for switch in SWITCHES.get(name, ()) if switch[0] in self.known), None)

    def short(self, full: str) -> str:
        """Return the shortest unambiguous name of ours: `hidden`, `loss.gamma`."""
        last = full.partition(".")[2]
        return last if self.by_last_name[last] == [full] and self.spell(last) not in self.taken else full

    def kind(self, full: str) -> type:
        """Return the dataclass that has the setting."""
        return self.sections[full.partition(".")[0]]

    def _present(self, names: Iterable[str]) -> list[str]:
        return [name for name in names if name in self.known]

    def _unknown(self, name: str) -> str:
        why, ours = NEAR.get(name, ("", ()))
        if present := self._present(ours):
            named = " or ".join(self.spell(self.short(full)) for full in present)
            return f"unknown {self.noun} {self.spell(name)}; {why}: see {named}"
        section, dot, last = name.partition(".")
        if dot and section in self.sections:
            meant = self.nearest(section, last)
        else:
            elsewhere = {name for name, ours in ALIASES.items() if self._present(ours)}
            names = {*self.by_last_name, *self.known, *elsewhere}
            meant = did_you_mean(self.spell(name), [*map(self.spell, names), *self.taken])
        return f"unknown {self.noun} {self.spell(name)}{meant}"

    def nearest(self, section: str, last: str) -> str:
        """Return the end of an error message: the setting of the section that was probably meant, if one is near."""
        alias = next((full for full in ALIASES.get(last, ()) if full in self.known), "")
        if alias.startswith(f"{section}."):
            return f"; did you mean {self.spell(alias)}?"
        names = [full for full in self.known if full.startswith(f"{section}.")]
        return did_you_mean(self.spell(f"{section}.{last}"), map(self.spell, names))
