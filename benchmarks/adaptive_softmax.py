"""Two losses whose cost hardly grows with the vocabulary, and the full softmax, in the same time.

    python -m benchmarks.adaptive_softmax ptb wikitext-2 > results/bench/adaptive-softmax.tsv

`sampled` is what `wordtie train` uses. `adaptive` is the adaptive softmax of Grave et al. (2017), tied: frequent words
and one vector for each cluster of the others are scored for every token, the words of a cluster only where the target
is one of them.

    p(w | h) = p(cluster of w | h) p(w | cluster, h)

All words are scored by their rows of the word matrix. The products are those of the fast full softmax. Every loss
trains the same network on two million tokens (`equal tokens`); then the other two again on as many as they read in the
time of the sampled softmax (`equal time`). Seconds are of one core, so that other work on the machine changes them
little. The validation text is always measured with the loss's own normalised distribution.

Shapes: N tokens, V words, E embedding size, C clusters of rare words, F frequent words.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks import names_given
from wordtie.config import Settings
from wordtie.config.keywords import settings_from
from wordtie.config.recommended import RECOMMENDED
from wordtie.data.prepare import prepare
from wordtie.data.token_file import PreparedData
from wordtie.evaluation.perplexity import Score, evaluate, queries
from wordtie.losses.build import build_loss
from wordtie.losses.loss import Loss, LossSum, Scoring
from wordtie.models.network import evaluating
from wordtie.training.language_modelling import VALIDATION_STREAMS, LanguageModelling
from wordtie.training.optim import build_optimiser, parameter_groups, set_learning_rate
from wordtie.training.precision import precision_of
from wordtie.training.recipe import samples_for
from wordtie.training.run_state import RunState
from wordtie.training.schedule import budget_of, rate_of_step, windows_done
from wordtie.training.step import train_step

TOKENS = 2_000_000
WARM_UP = 20_000
"""Tokens of a first training, which is not shown."""
FREQUENT = 2_000
CLUSTER = 10_000
"""Up to which rank words are in the first cluster, if the vocabulary has more."""
SIZE = {"model.hidden": 256, "model.embedding": 128, "model.input_dropout": 0.1, "model.hidden_dropout": 0.1}
PLAN = {"training.schedule": "cosine", "training.patience": 0, "training.threads": 1}
COLUMNS = ("corpus", "words", "loss", "compared at", "tokens", "seconds", "words/s", "valid perplexity")


@dataclass(frozen=True)
class Clusters:
    """Words by how frequent they are."""

    words: Sequence[Tensor]
    """Ids of the F frequent words, then of each cluster."""
    place_V: Tensor
    """Where each word is among those of its own."""
    cluster_V: Tensor
    """0 for a frequent word."""

    @classmethod
    def of(cls, count_V: Tensor) -> Clusters:
        """The most frequent words first."""
        order_V = count_V.argsort(descending=True, stable=True)
        size = len(count_V)
        edges = sorted({0, min(FREQUENT, size), min(CLUSTER, size), size})
        words = [order_V[first:last] for first, last in pairwise(edges)]
        place_V, cluster_V = torch.zeros(size, dtype=torch.long), torch.zeros(size, dtype=torch.long)
        for number, ids in enumerate(words):
            place_V[ids], cluster_V[ids] = torch.arange(len(ids)), number
        return cls(words, place_V, cluster_V)


class AdaptiveLoss(Loss):
    """Cross-entropy of the cluster and of the word in it."""

    def __init__(self, full: Loss, count_V: Tensor, size: int) -> None:
        """`full`: the loss over a vocabulary; `size`: E."""
        self.full = full
        self.clusters = Clusters.of(count_V)
        rare = self.clusters.words[1:]
        self.vectors_CE = nn.Parameter(torch.zeros(len(rare), size))
        mass_C = torch.stack([count_V[ids].sum() for ids in rare]).double()
        self.bias_C = nn.Parameter((mass_C / count_V.sum()).log().float())

    def forward(self, scoring: Scoring) -> LossSum:
        """Sum over the N tokens, in nats."""
        assert scoring.bias_V is not None
        clusters, targets_N = self.clusters, scoring.targets_N.long()
        cluster_N, place_N = clusters.cluster_V[targets_N], clusters.place_V[targets_N]
        frequent = clusters.words[0]
        head_N = torch.where(cluster_N == 0, place_N, len(frequent) - 1 + cluster_N)
        rows_FE = torch.cat([scoring.output_VE[frequent], self.vectors_CE])
        bias_F = torch.cat([scoring.bias_V[frequent], self.bias_C])
        total = self._loss(scoring.query_NE, rows_FE, bias_F, head_N)
        for number, words in enumerate(clusters.words[1:], start=1):
            here = (cluster_N == number).nonzero().flatten()
            if len(here):
                rows, bias = scoring.output_VE[words], scoring.bias_V[words]
                found = self._loss(scoring.query_NE[here], rows, bias, place_N[here])
                total = LossSum(total.cross_entropy + found.cross_entropy, total.total + found.total, total.tokens)
        return LossSum(total.cross_entropy, total.total, len(targets_N))

    def _loss(self, query_NE: Tensor, rows_VE: Tensor, bias_V: Tensor, targets_N: Tensor) -> LossSum:
        return self.full.forward(Scoring(query_NE, rows_VE, bias_V, targets_N, rows_VE))


def settings_for(corpus: str, loss: str, tokens: int) -> Settings:
    """The recipe of `wordtie train`, of a size that a plan chooses for two minutes, with this loss."""
    recipe = {name: value for name, value in RECOMMENDED.items() if name != "training.decay"}
    softmax = "sampled" if loss == "sampled" else "full"
    settings = settings_from(corpus, **recipe | SIZE | PLAN | {"training.tokens": tokens, "loss.softmax": softmax})
    return settings_from(settings, **samples_for(len(prepare(settings.data).vocabulary)))


def train(data: PreparedData, settings: Settings, loss: str) -> tuple[float, float]:
    """(Seconds of one core to train, perplexity of the validation text)."""
    training = settings.training
    torch.manual_seed(training.seed)
    precision = precision_of(settings, torch.device("cpu"))
    task = LanguageModelling(settings, data, torch.device("cpu"), precision)
    groups = [*parameter_groups(task.model, training.word_rate)]
    if loss == "adaptive":
        count_V = torch.from_numpy(np.bincount(data.train, minlength=len(data.vocabulary)))
        adaptive = AdaptiveLoss(
            build_loss(settings.loss, training.fused, precision), count_V, task.model.output_matrix.shape[1]
        )
        task.objective = replace(task.objective, loss=adaptive)
        groups.append({"params": [adaptive.vectors_CE, adaptive.bias_C]})
    optimiser = build_optimiser(training, groups)
    state = RunState(task.model, optimiser, task.initial_state())
    budget = budget_of(training, task.batches_per_epoch, task.tokens_per_epoch)
    task.prepare_for_training()
    started, position = time.process_time(), state.position
    while windows_done(budget, position) < budget.windows:
        if position.window == task.batches_per_epoch:
            position.next_epoch()
            state.hidden_state = task.initial_state()
        for batch in task.batches(position.window):
            step = windows_done(budget, position)
            if step == budget.windows:
                break
            set_learning_rate(optimiser, rate_of_step(training, budget, position, step))
            if not train_step(task.objective, state, batch, training.clip):
                raise FloatingPointError(f"the loss {loss} is no number at step {step}")
    seconds = time.process_time() - started
    return seconds, validation_perplexity(task, loss)


def validation_perplexity(task: LanguageModelling, loss: str) -> float:
    """In float32, under the loss's own distribution, which sums to one over all words."""
    model, eos_id = task.model, task.data.vocabulary.eos_id
    model.use(task.settings.training.fused)
    if loss != "adaptive":
        return evaluate(model, task.valid, eos_id, VALIDATION_STREAMS).perplexity
    adaptive = task.objective.loss
    assert isinstance(adaptive, AdaptiveLoss)
    adaptive.full = build_loss(task.settings.loss, fused=False, precision=torch.float32)
    nats, tokens, matrix_VE = 0.0, 0, model.output_matrix
    with evaluating(model) as device, torch.no_grad():
        for query, targets in queries(model, task.valid, eos_id, VALIDATION_STREAMS, device):
            real = targets >= 0
            found = adaptive.forward(Scoring(query[real], matrix_VE, model.head.bias, targets[real], matrix_VE))
            nats, tokens = nats + float(found.cross_entropy), tokens + found.tokens
    return Score(nats, tokens).perplexity


def rows(corpus: str) -> Iterator[tuple[str, ...]]:
    """The rows of one text."""
    data = prepare(settings_for(corpus, "full", TOKENS).data)
    words = f"{len(data.vocabulary)}"

    def trained(loss: str, tokens: int, at: str) -> tuple[float, tuple[str, ...]]:
        seconds, perplexity = train(data, settings_for(corpus, loss, tokens), loss)
        figures = f"{tokens}", f"{seconds:.0f}", f"{tokens / seconds:.0f}", f"{perplexity:.2f}"
        return seconds, (corpus, words, loss, at, *figures)

    for loss in ("sampled", "adaptive", "full"):
        trained(loss, WARM_UP, "compiles what is compiled once")
    sampled, row = trained("sampled", TOKENS, "equal tokens")
    yield row
    for loss in ("adaptive", "full"):
        seconds, row = trained(loss, TOKENS, "equal tokens")
        yield row
        yield trained(loss, math.floor(TOKENS * sampled / seconds), "equal time")[1]


def main(corpora: Sequence[str]) -> None:
    """Print a row for each training."""
    torch.set_num_threads(1)
    print(*COLUMNS, sep="\t", flush=True)
    for corpus in corpora:
        for row in rows(corpus):
            print(*row, sep="\t", flush=True)


if __name__ == "__main__":
    main(names_given(__doc__) or ["ptb", "wikitext-2"])
