"""BLEU by sacrebleu (Post 2018), with the signature that says how it was computed.

sacrebleu is optional: the extra `translate` has it.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, cast

from wordtie.errors import WordtieError

RESAMPLED = 1000
"""Number of test sets that are drawn for an interval."""


WITHOUT_SPACES = {"zh": "zh", "ja": "char", "ko": "char", "th": "char", "lo": "char", "km": "char", "my": "char"}
"""Tokenizers of sacrebleu for languages whose raw text 13a does not split into words. Those of its own for Japanese and
Korean need another package each; without these, it recommends splitting by character."""


def tokenizer_of(language: str, tokenised: bool) -> str:
    """Return sacrebleu's tokenizer for a language: `none` for text that is tokenised already.

    >>> tokenizer_of("de", tokenised=False), tokenizer_of("zh-TW", tokenised=False), tokenizer_of("ja", tokenised=True)
    ('13a', 'zh', 'none')
    """
    return "none" if tokenised else WITHOUT_SPACES.get(re.split("[-_]", language)[0].lower(), "13a")


@dataclass(frozen=True)
class Bleu:
    """A score from 0 to 100, and the signature of how it was computed."""

    bleu: float
    signature: str
    low: float | None = None
    """Bounds of the 95 % interval over test sets drawn from this one."""
    high: float | None = None

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)


def require_sacrebleu() -> None:
    """Raise `WordtieError` if sacrebleu is missing."""
    if importlib.util.find_spec("sacrebleu") is None:
        raise WordtieError("BLEU needs sacrebleu, of the extra `translate`: `pip install sacrebleu`")


def bleu(
    translations: Sequence[str], references: Sequence[str], tokenizer: str, lowercase: bool, interval: bool = False
) -> Bleu:
    """Compute corpus BLEU against one reference each. Raises `WordtieError` if sacrebleu is missing.

    `tokenizer` is one of sacrebleu's, as `tokenizer_of` chooses.
    """
    require_sacrebleu()
    from sacrebleu.metrics.bleu import BLEU

    # `force`: text that is tokenised already is what `none` is for
    metric = BLEU(tokenize=tokenizer, lowercase=lowercase, force=True)
    found = metric.corpus_score(list(translations), [list(references)], n_bootstrap=RESAMPLED if interval else 1)
    signature = str(metric.get_signature())
    if not interval:
        return Bleu(float(found.score), signature)
    mean, around = found._mean, found._ci
    return Bleu(float(found.score), signature, float(mean - around), float(mean + around))


@dataclass(frozen=True)
class BleuSums:
    """BLEU from sums over sentences, for choosing among translations of each."""

    tokenizer: str = "13a"
    lowercase: bool = False

    def statistics(self, translations: Sequence[str], references: Sequence[str]) -> list[list[int]]:
        """Return each one's statistics; a text's BLEU is of their sums. Raises `WordtieError` without sacrebleu."""
        found: list[list[int]] = self._metric._extract_corpus_statistics(list(translations), [list(references)])
        return found

    def bleu(self, sums: Sequence[float]) -> float:
        """Return BLEU from 0 to 100, as sacrebleu computes it by default."""
        return float(self._metric._compute_score_from_stats([int(each) for each in sums]).score)

    @cached_property
    def signature(self) -> str:
        """The signature of how BLEU is computed, by sacrebleu, for one reference per sentence."""
        self.bleu(self.statistics([""], [""])[0])
        return str(self._metric.get_signature())

    @cached_property
    def _metric(self) -> Any:
        require_sacrebleu()
        from sacrebleu.metrics.bleu import BLEU

        return BLEU(tokenize=self.tokenizer, lowercase=self.lowercase, force=True)


def paired_bootstrap(
    baseline: Sequence[str], system: Sequence[str], references: Sequence[str], tokenizer: str, lowercase: bool
) -> dict[str, float]:
    """Test whether a system's BLEU differs from a baseline's: paired bootstrap resampling (Koehn 2004) by sacrebleu.

    Returns the BLEU of both, the 95 % interval of each over the same test sets, and the p-value of their difference.
    """
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.significance import PairedTest

    metric = BLEU(tokenize=tokenizer, lowercase=lowercase, force=True, references=[list(references)])
    systems: list[tuple[str, Sequence[str]]] = [("baseline", list(baseline)), ("system", list(system))]
    _, scores = PairedTest(systems, {"BLEU": metric}, references=None, test_type="bs", n_samples=RESAMPLED)()
    first, second = (cast(Any, each) for each in scores["BLEU"])
    return {
        "baseline_bleu": float(first.score),
        "bleu": float(second.score),
        **{f"baseline_{bound}": value for bound, value in _bounds(first).items()},
        **_bounds(second),
        "p_value": float(second.p_value),
    }


def _bounds(found: Any) -> dict[str, float]:
    return {"low": float(found.mean - found.ci), "high": float(found.mean + found.ci)}
