"""Scoring of n-best lists: prefixes shared and lists side by side, against one hypothesis after the other.

The lists are Moses' 100-best lists of 100 sentences, in `nbest/moses` of $WORDTIE_DATA. Every word of every hypothesis
counts as scored, those in shared prefixes too: this is what the user has scored. Both ways score the same ids in the
same run. The model has random weights, since the speed does not depend on them; the mixture adds a 5-gram of a
made-up text and recent words. Times are those of one thread, whatever `--threads` says.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.harness import Claim, Effort, MatrixProbe, Measurement, UnavailableError, compare
from benchmarks.scoring import UNITS, VOCABULARY, WORDS, fast_model
from benchmarks.steps import zipf_ids
from wordtie.data.batches import Ids
from wordtie.models.mixture import Mixture
from wordtie.models.network import Network
from wordtie.models.next_word import NextWordModel
from wordtie.models.prefix_sharing import log_p_of_texts
from wordtie.models.recent_words import AdaptiveMixture, RecentWords
from wordtie.ngrams import NgramModel, fit_kneser_ney

LISTS = Path("nbest", "moses", "test_scorer_data", "nbest.out")
NGRAM_TOKENS = 1_000_000
RECENT = RecentWords(0.2, 100, 0.01)


def lists() -> list[list[Ids]]:
    """Ids of the hypotheses of each list, `<eos>` last. Raises `UnavailableError` without the file."""
    path = Path(os.environ.get("WORDTIE_DATA", "")) / LISTS
    if not path.is_file():
        raise UnavailableError(f"needs {LISTS} in $WORDTIE_DATA")
    ids: dict[str, int] = {}
    found: dict[str, list[Ids]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        number, text, *_ = line.split("|||")
        words = [2 + ids.setdefault(word, len(ids)) for word in text.split()]
        found.setdefault(number, []).append(np.array([*words, VOCABULARY.eos_id]))
    return list(found.values())


def network() -> Network:
    """Two layers of 200 units."""
    torch.manual_seed(1)
    return Network(fast_model(), VOCABULARY)


def mixture() -> Mixture:
    """The network with a 5-gram and recent words."""
    ngrams = NgramModel(VOCABULARY, fit_kneser_ney(zipf_ids(NGRAM_TOKENS, WORDS), WORDS, 5, eos_id=0))
    return AdaptiveMixture([network(), ngrams], np.array([[0.7, 0.3]]), RECENT)


def measure(model: NextWordModel[Any], effort: Effort) -> Measurement:
    """All hypotheses of some lists, side by side and one by one."""
    nbest = lists()[: 2 if effort.quick else 10]
    hypotheses = [ids for each in nbest for ids in each]

    def one_by_one() -> list[float]:
        return [float(model.score(ids[:, None], model.initial_state(1))[0].sum()) for ids in hypotheses]

    def together() -> list[float]:
        return list(log_p_of_texts(model, hypotheses))

    with one_thread():
        np.testing.assert_allclose(together(), one_by_one(), rtol=1e-4)
        found = compare(one_by_one, together, None, MatrixProbe(torch.float32), max(2, effort.rounds // 5))
    words = sum(map(len, hypotheses))
    note = f"{1e3 * words / found.ours:,.0f} words/s, {6e4 * len(hypotheses) / found.ours:,.0f} hypotheses/min a core"
    return replace(
        found, note=note, details={**found.details, "distinct_prefixes": prefixes(hypotheses), "words": words}
    )


def prefixes(hypotheses: Sequence[Ids]) -> int:
    """How many words are read if each shared prefix is read once."""
    return len({tuple(ids[: end + 1].tolist()) for ids in hypotheses for end in range(len(ids))})


def measure_mixture(effort: Effort) -> Measurement:
    """The mixture against the network alone, both side by side."""
    nbest = lists()[: 2 if effort.quick else 10]
    hypotheses = [ids for each in nbest for ids in each]
    alone, mixed = network(), mixture()
    with one_thread():
        found = compare(
            lambda: log_p_of_texts(alone, hypotheses),
            lambda: log_p_of_texts(mixed, hypotheses),
            None,
            MatrixProbe(torch.float32),
            max(2, effort.rounds // 3),
        )
    return replace(found, note=f"{6e4 * len(hypotheses) / found.ours:,.0f} hypotheses/min a core")


@contextmanager
def one_thread() -> Iterator[None]:
    """torch with one thread, and then as before."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


SIZES = f"{UNITS} units, {WORDS:,} words, 100-best lists of Moses"
CLAIMS = (
    Claim("rescoring", f"rescoring, {SIZES}, against one hypothesis after the other", 5.0,
          lambda effort: measure(network(), effort)),
    Claim("rescoring-mixture", f"the same with a mixture of network, 5-gram and recent words, {SIZES}", 5.0,
          lambda effort: measure(mixture(), effort)),
    Claim("rescoring-mixture-share", "rescoring with that mixture, against rescoring with its network alone", 0.5,
          measure_mixture),
)  # fmt: skip
