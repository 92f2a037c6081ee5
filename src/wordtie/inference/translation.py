"""A trained translation model in use.

model = wordtie.load_translation("runs/multi30k")
model.translate(["two young men are outside ."])
model.n_best(["two young men are outside ."], n=3)
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from wordtie.config import TranslationSettings
from wordtie.config.paths import path_of
from wordtie.data.subwords import SubwordPair, Subwords
from wordtie.data.vocabulary import EOS, UNK
from wordtie.errors import require
from wordtie.models.beam_search import Hypothesis, Search, translate_ids
from wordtie.models.seq2seq import Seq2Seq
from wordtie.runs.translation_run import build, read_translation

LONGEST_LINE = 1000
"""Most units of a line that are read: ten times the longest training sentence, by default."""
LINES_AT_ONCE = 512
"""Lines that are read before the first of them is translated, if all of them are available."""


@dataclass(frozen=True)
class Translated:
    """One translation of a line."""

    text: str
    log_p: float
    """Log probability of its units and `<eos>`, in nats."""
    score: float
    """Score that translations of a line are ranked by: log p divided by a power of the length."""
    units: tuple[str, ...]
    """Subwords or words of the translation, `<eos>` last."""
    source_units: tuple[str, ...]
    """Subwords or words of the line, `<eos>` last."""
    attention: tuple[tuple[float, ...], ...] | None = None
    """Attention of each unit of the translation to each unit of the line."""
    not_read: int = 0
    """Units at the end of the line that were left out, because it has more than `LONGEST_LINE`."""

    def as_json(self) -> dict[str, Any]:
        """Return plain values, with None for a log p or a score that is not finite, since JSON has no such number."""
        found = {name: value for name, value in vars(self).items() if value is not None}
        return found | {name: None for name in ("log_p", "score") if not math.isfinite(found[name])}


@dataclass(frozen=True)
class TranslationModel:
    """A translation model with its tokenizers, ready for use."""

    network: Seq2Seq
    tokenizer: SubwordPair
    settings: TranslationSettings
    tokenised: bool
    """Whether it was trained on tokenised text."""

    def __repr__(self) -> str:
        data, count = self.settings.data, self.network.parameter_count()
        return f"TranslationModel({data.source} to {data.target}, {self.settings.model.tying}, {count:,} parameters)"

    def translate(
        self, lines: Iterable[str], beam: int = 5, power: float = 1.0, replace_unknown: bool = False
    ) -> list[str]:
        """Return the best translation of each line; see `n_best`."""
        found = self.n_best(lines, 1, Search(beam, power, attention=replace_unknown), replace_unknown)
        return [best[0].text for best in found]

    def n_best(
        self, lines: Iterable[str], n: int, search: Search | None = None, replace_unknown: bool = False
    ) -> list[list[Translated]]:
        """Return up to `n` translations of each line, best first. A blank line has an empty one. Only the first
        `LONGEST_LINE` units of a line are read.

        `search` is a beam of `n`, at least 5, unless given. `replace_unknown` replaces `<unk>` by the source word that
        has most of the attention (Jean et al. 2015), for models of whole words. Raises `SettingsError` if `n` is larger
        than the beam, `lines` is a string, or unknown words are to be replaced by a model of subwords.
        """
        require(not isinstance(lines, str), "give a list of lines, not one string")
        search = search or Search(max(n, 5), attention=replace_unknown)
        require(1 <= n <= search.beam, f"{n} translations need a beam of at least {n}, not {search.beam}")
        require(
            not replace_unknown or self.settings.data.units == "words",
            "unknown words are replaced in models of whole words: this one has subwords, which know every word",
        )
        if replace_unknown and not search.attention:
            search = Search(search.beam, search.power, search.max_length, attention=True)
        lines = [line.replace("\n", " ") for line in lines]
        source = self.tokenizer.source.encode(lines)
        read = [ids[:LONGEST_LINE] for ids in source]
        found = translate_ids(self.network, read, *self.tokenizer.eos_ids, search)
        return [
            [self._translated(line, ids, each, replace_unknown) for each in hypotheses[:n]]
            for line, ids, hypotheses in zip(lines, source, found, strict=True)
        ]

    def _translated(self, line: str, ids: Sequence[int], found: Hypothesis, replace_unknown: bool) -> Translated:
        pieces = self.tokenizer.target.pieces(found.ids)
        weights = found.attention_TS
        if replace_unknown and weights is not None:
            words = words_as_written(self.tokenizer.source, line)[:LONGEST_LINE]
            for place, piece in enumerate(pieces):
                if piece == UNK:
                    pieces[place] = words[int(weights[place, : len(words)].argmax())]
        units = (*self.tokenizer.target.pieces(found.ids), EOS)
        source_units = (*self.tokenizer.source.pieces(ids[:LONGEST_LINE]), EOS)
        attention = None if weights is None else tuple(tuple(map(float, row)) for row in weights)
        text = self.tokenizer.target.join(pieces)
        not_read = max(0, len(ids) - LONGEST_LINE)
        return Translated(text, found.log_p, found.score, units, source_units, attention, not_read)

    def stream(
        self, batches: Iterable[Sequence[str]], n: int, search: Search, replace_unknown: bool = False
    ) -> Iterator[list[Translated]]:
        """Yield translations line by line, a batch at a time, in the memory of one batch."""
        for lines in batches:
            yield from self.n_best(lines, n, search, replace_unknown)


def words_as_written(tokenizer: Subwords, line: str) -> list[str]:
    """Return the text of each unit as it is written in the line, with its case."""
    encoded = tokenizer.tokenizer.encode(line, add_special_tokens=False)
    return [line[begin:end] for begin, end in encoded.offsets]


def load_translation(run: str | Path) -> TranslationModel:
    """Open a run folder of a translation model. Raises `RunFolderError`."""
    saved = read_translation(path_of(run))
    return TranslationModel(build(saved), saved.tokenizer, saved.settings, saved.tokenised)


def in_batches(lines: Iterable[str], size: int = LINES_AT_ONCE) -> Iterator[list[str]]:
    """Yield lists of `size` lines; the last may be shorter."""
    rest = iter(lines)
    while batch := list(islice(rest, size)):
        yield batch


def arriving(read: Callable[[], bytes]) -> Iterator[bytes]:
    """Yield blocks of whole lines as they arrive, without waiting for more than a pipe has ready.

    `read` returns what is available, and nothing at the end; the last line may lack its line end.

    >>> chunks = iter([b"a\\nb", b"c\\n", b"d", b""])
    >>> list(arriving(lambda: next(chunks)))
    [b'a\\n', b'bc\\n', b'd']
    """
    rest = b""
    while data := read():
        whole, end, rest_of_it = data.rpartition(b"\n")
        if end:
            yield rest + whole + end
            rest = rest_of_it
        else:
            rest += data
    if rest:
        yield rest


def moses_line(number: int, found: Translated) -> str:
    """Format a line of an n-best list as Moses writes it: number, translation, features, score.

    >>> moses_line(0, Translated("ein hund", -1.5, -0.5, ("ein", "hund", "<eos>"), ("a", "dog", "<eos>")))
    '0 ||| ein hund ||| LogP= -1.500000 Length= 3 ||| -0.500000'
    """
    text = re.sub(r"\|(?=\|)", "| ", found.text)
    return f"{number} ||| {text} ||| LogP= {found.log_p:.6f} Length= {len(found.units)} ||| {found.score:.6f}"
