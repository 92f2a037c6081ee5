"""The benchmarks: that naive and fast are the same step, the harness's arithmetic, and what the command prints."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import wordtie
from benchmarks import growth, names_given, page, runner
from benchmarks.harness import Claim, Effort, MatrixProbe, Measurement, UnavailableError, alternate, compare, spread
from benchmarks.loss_memory import fast_work_fp32, naive_work
from benchmarks.shares import shares
from benchmarks.small_dropout_lstm import library_contender
from benchmarks.steps import Setup, fast_contender, multiply_adds, naive_contender, windows_of, zipf_ids
from tests.reference.naive import NaiveLoss, NaiveMasks, NaiveModel, naive_score, naive_step, naive_surprisal
from wordtie import cli
from wordtie.config import LossSettings, ModelSettings, TrainingSettings
from wordtie.data.batches import batches
from wordtie.data.vocabulary import EOS, UNK, Vocabulary
from wordtie.evaluation.perplexity import Reader, evaluate
from wordtie.losses.build import build_loss
from wordtie.models.language_model import LanguageModel
from wordtie.models.network import Network
from wordtie.nn.masks import LayerMasks, Masks
from wordtie.training.optim import build_optimiser, clip_global_norm

Capture = pytest.CaptureFixture[str]

WORDS, UNITS, LAYERS, STREAMS, STEPS = 23, 6, 2, 3, 5


def copied(naive: NaiveModel) -> dict[str, torch.Tensor]:
    """The naive model's parameters under the package's names."""
    tensors = {"embedding.weight": naive.words}
    for n in range(len(naive.biases)):
        tensors[f"core.layers.{n}.input_weight"] = naive.input_weights[n]
        tensors[f"core.layers.{n}.recurrent_weight"] = naive.recurrent_weights[n]
        tensors[f"core.layers.{n}.bias"] = naive.biases[n]
    if naive.output is not None:
        tensors["head.weight"] = naive.output
    if naive.output_bias is not None:
        tensors["head.bias"] = naive.output_bias
    return {name: tensor.detach().clone() for name, tensor in tensors.items()}


def models(tied: bool, fused: bool = True) -> tuple[NaiveModel, LanguageModel]:
    torch.manual_seed(3)
    naive = NaiveModel(WORDS, UNITS, LAYERS, tied, output_bias=not tied, init=0.5)
    fast = LanguageModel(ModelSettings(head="tied" if tied else "untied", hidden=UNITS, layers=LAYERS), WORDS)
    fast.load_state_dict(copied(naive))
    return naive, fast.use(fused)


@pytest.mark.parametrize("fused", [True, False], ids=["fused", "readable"])
@pytest.mark.parametrize("through_target", [True, False, "entropy"])
@pytest.mark.parametrize(("tied", "kind"), [(True, "augmented"), (False, "augmented"), (False, "cross_entropy")])
def test_the_naive_step_is_the_fast_step(tied: bool, kind: Any, through_target: Any, fused: bool) -> None:
    """Two steps with the same masks, of which the second starts from the carried state; clipping is at work."""
    settings = LossSettings(kind, temperature=3.0, gamma=0.7, gradient_through_target=through_target)
    naive, fast = models(tied, fused)
    naive_settings = NaiveLoss(settings.weight if kind == "augmented" else 0.0, settings.temperature, through_target)
    loss = build_loss(settings, fused, torch.float32)
    optimiser = build_optimiser(TrainingSettings(lr=0.5), fast.parameters())
    naive_state, state = naive.initial_state(STREAMS), fast.initial_state(STREAMS)
    for inputs_TB, targets_TB in torch.randint(WORDS, (2, 2, STEPS, STREAMS)):
        masks = naive.draw_masks(STREAMS, 0.3, 0.4)
        total, naive_state = naive_step(
            naive, inputs_TB, targets_TB, naive_state, masks, naive_settings, lr=0.5, clip=0.1
        )
        outputs, state = fast.core(fast.embedding(inputs_TB), state, as_masks(masks))
        state = [(hidden.detach(), cell.detach()) for hidden, cell in state]
        query = fast.head(outputs.flatten(0, 1))
        result = loss(query, fast.output_matrix, fast.head.bias, targets_TB.flatten(), fast.embedding.weight)
        torch.autograd.backward(result.total / STREAMS)
        assert clip_global_norm(fast.parameters(), 0.1) > 0.1
        optimiser.step()
        optimiser.zero_grad()
        assert float(result.total.detach()) == pytest.approx(total, rel=1e-5)
        for name, expected in copied(naive).items():
            torch.testing.assert_close(fast.state_dict()[name], expected, rtol=1e-4, atol=1e-5, msg=name)
    for ours, expected_state in zip(state, naive_state, strict=True):
        torch.testing.assert_close(ours, expected_state, rtol=1e-4, atol=1e-5)


def as_masks(masks: NaiveMasks) -> Masks:
    assert isinstance(masks.input_mask, torch.Tensor)
    tensors = [mask for mask in masks.hidden_masks if isinstance(mask, torch.Tensor)]
    return Masks(masks.input_mask, [LayerMasks(output=mask, recurrent=mask) for mask in tensors])


def test_naive_scoring_is_our_scoring() -> None:
    naive, fast = models(tied=True)
    ids = zipf_ids(50, WORDS)
    vocabulary = Vocabulary([EOS, UNK, *(f"w{number}" for number in range(WORDS - 2))])
    state = surprisal_state = naive.initial_state(1)
    nats, pieces = 0.0, []
    for inputs_TB, targets_TB in batches(ids, 1, 7, eos_id=0, drop=False):
        window = torch.from_numpy(inputs_TB), torch.from_numpy(targets_TB)
        found, state = naive_score(naive, *window, state)
        piece, surprisal_state = naive_surprisal(naive, *window, surprisal_state)
        nats += found
        pieces.append(piece)
    assert evaluate(fast, ids, 0).nats == pytest.approx(nats, rel=1e-5)
    bits = [
        torch.cat([torch.from_numpy(part) for part in parts])
        for parts in zip(*Reader(Network(fast, vocabulary))(ids), strict=True)
    ]
    torch.testing.assert_close(torch.stack(bits).float(), torch.cat(pieces, dim=1), rtol=1e-4, atol=1e-5)


def test_the_contenders_of_the_memory_claim_compute_the_same() -> None:
    found = []
    for work in (naive_work, fast_work_fp32):
        torch.manual_seed(0)
        query, words = torch.randn(9, 4, requires_grad=True), torch.randn(13, 4, requires_grad=True)
        total = work(query, words, torch.arange(9) % 5)
        torch.autograd.backward(total)
        found.append((total.detach(), query.grad, words.grad))
    torch.testing.assert_close(found[0], found[1], rtol=1e-4, atol=1e-4)


def test_contenders_train() -> None:
    """On one window, over and over, all of them lose nats."""
    model = ModelSettings(hidden=8, input_dropout=0.1, hidden_dropout=0.1)
    setup = Setup(model, LossSettings(), TrainingSettings(streams=4, steps=5, precision="fp32"), words=11)
    window = windows_of(setup, 1)
    for contender in (naive_contender, fast_contender, library_contender):
        step = contender(setup, iter(window * 12))
        seen = [step() for _ in range(12)]
        assert min(seen[-3:]) < seen[0]


def test_zipf_ids_are_words_and_small_ones_are_frequent() -> None:
    ids = zipf_ids(20_000, 100)
    assert (ids.min(), ids.max()) == (0, 99)
    assert (ids == 0).mean() == pytest.approx(1 / sum(1 / rank for rank in range(1, 101)), rel=0.1)
    assert (zipf_ids(50, 100, seed=1) != zipf_ids(50, 100, seed=2)).any()


class FakeClock:
    """Time passes only while a contender runs."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def taking(self, seconds: Iterator[float]) -> Callable[[], None]:
        def run() -> None:
            self.now += next(seconds)

        return run


def test_contenders_take_turns_and_warm_up_is_not_counted() -> None:
    order: list[str] = []
    clock = FakeClock()

    def contender(name: str, *seconds: float) -> Callable[[], None]:
        run = clock.taking(iter(seconds))

        def run_in_order() -> None:
            order.append(name)
            run()

        return run_in_order

    contenders = {"a": contender("a", 99.0, 1.0, 2.0), "b": contender("b", 99.0, 3.0, 4.0)}
    assert alternate(contenders, rounds=2, warm_up=1, clock=clock) == {"a": [1.0, 2.0], "b": [3.0, 4.0]}
    assert order == list("ababab")


def test_ratio_is_the_median_of_the_rounds_and_the_floor_is_multiply_adds_over_rate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rounds of 6/2, 8/2, 30/3: median 4. A probe of 1,000 multiply-adds in 0.5 s makes 2,000 a second."""
    clock = FakeClock()
    monkeypatch.setattr(MatrixProbe, "contender", lambda self: clock.taking(iter([0.5] * 5)))
    found = compare(
        alternative=clock.taking(iter([50.0, 50.0, 6.0, 8.0, 30.0])),
        ours=clock.taking(iter([40.0, 40.0, 2.0, 2.0, 3.0])),
        multiply_adds=2_000,
        probe=MatrixProbe(torch.float32, size=10),
        rounds=3,
        clock=clock,
    )
    assert found.ratio == 4.0
    assert found.spread == pytest.approx((7 - 3.5) / 4)
    assert found.measured_over_floor == 2.0
    assert (found.alternative, found.ours, found.unit) == (8_000.0, 2_000.0, "ms")
    assert found.details["floor_ms"] == 1_000.0
    assert spread([5.0]) is None


def test_shares_tell_products_recurrence_and_softmax_apart() -> None:
    """Many words and few units are work for the softmax, few words and many units for the recurrence.

    A part is held against itself in the other model: beside other processes, short parts seem longer than they are.
    """

    def found(hidden: int, words: int) -> dict[str, float]:
        setup = Setup(ModelSettings(hidden=hidden), LossSettings(kind="cross_entropy"), words=words)
        step = fast_contender(setup, iter(windows_of(setup, 8)))
        step()
        return shares(step, steps=6)

    wide, deep = found(8, 20_000), found(300, 50)
    assert sum(wide.values()) == pytest.approx(1)
    assert wide["softmax"] > deep["softmax"]
    assert deep["recurrence"] > wide["recurrence"]
    assert wide["products"] > deep["products"]


def test_multiply_adds_of_a_step() -> None:
    """4 tokens, H = 3, one layer, 5 words, 2 distinct targets: 4 * (72 + 15) forward, 2 * 15 for the targets."""
    setup = Setup(
        ModelSettings(hidden=3, layers=1), LossSettings(), TrainingSettings(streams=2, steps=2, precision="fp32"), 5
    )
    window = (torch.zeros(2, 2, dtype=torch.long), torch.tensor([[1, 1], [1, 4]]))
    assert multiply_adds(setup, [window]) == 3 * (4 * (72 + 15) + 2 * 15)
    stopped = replace(setup, loss=LossSettings(gradient_through_target=False))
    assert multiply_adds(stopped, [window]) == 3 * 4 * (72 + 15) + 2 * 15
    assert multiply_adds(replace(setup, loss=LossSettings("cross_entropy")), [window]) == 3 * 4 * (72 + 15)


def fake_claims() -> list[Claim]:
    def missing(effort: Effort) -> Measurement:
        raise UnavailableError("no CUDA GPU at hand")

    measured = Measurement(3.00004, 0.1, 30.0, 10.0, "ms", 2.0, "in bfloat16")
    return [
        Claim("fast", "a step", 2.0, lambda effort: measured),
        Claim("slow", "another step", 4.0, lambda effort: measured),
        Claim("gpu", "a step on a GPU", 8.0, missing),
    ]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Three claims that take no time, and a folder for what comes out."""
    monkeypatch.setattr(runner, "all_claims", fake_claims)
    monkeypatch.setattr(runner, "RESULTS", tmp_path)
    return tmp_path


@pytest.fixture
def document(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A page with text around the place of the tables."""
    path = tmp_path / "page.md"
    path.write_text(f"above\n{page.BEGIN}\nold\n{page.END}\nbelow\n")
    monkeypatch.setattr(page.write, "__defaults__", (path,))
    return path


def bench(*arguments: str) -> int:
    """With the threads that the tests have: they share a process."""
    return cli.main(["bench", "--threads", str(torch.get_num_threads()), *arguments])


def test_as_many_threads_as_are_asked_for(fake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(torch, "set_num_threads", asked.append)
    assert cli.main(["bench", "--threads", "3", "fast"]) == 0
    assert asked == [3]


def test_a_record_is_not_lost_to_a_machine_that_cannot_measure(fake: Path) -> None:
    kept = {"name": "gpu", "ratio": 9.0}
    runner.save(kept)
    assert bench("gpu") == 0
    assert json.loads((fake / "gpu.json").read_text()) == kept


@pytest.mark.parametrize("name", ["cell-rnn", "scoring-library", "vocabulary-memory", "word2vec-skipgram-untied"])
def test_what_a_claim_measures_can_be_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (claim,) = runner.chosen([name])
    found = claim.measure(Effort(rounds=1, quick=True))
    assert min(found.ratio, found.ours, found.alternative) > 0


def test_json_is_one_object_a_line(fake: Path, capsys: Capture) -> None:
    assert bench("--json") == 0
    fast, slow, gpu = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    expected = {"name": "fast", "ratio": 3.0, "goal": 2.0, "measured_over_floor": 2.0, "spread": 0.1}
    assert fast == {**expected, "note": "in bfloat16"}
    assert slow["name"] == "slow"
    assert (gpu["ratio"], gpu["goal"], gpu["note"]) == (None, 8.0, "no CUDA GPU at hand")
    assert fast.keys() == gpu.keys()
    kept = json.loads((fake / "fast.json").read_text())
    assert kept["threads"] == torch.get_num_threads()
    assert {"machine", "versions", "alternative", "ours", "unit", "details"} <= kept.keys()


def test_text_says_what_was_missed(fake: Path, capsys: Capture) -> None:
    assert bench("slow", "gpu", "--quick") == 0
    out = capsys.readouterr().out
    assert "3.00× (goal 4×), spread 10%, measured ÷ floor 2.0: 10.0 ms against 30.0 ms" in out
    assert "not measured (goal 8×): no CUDA GPU at hand" in out
    assert list(fake.iterdir()) == []


def test_an_unknown_claim_is_one_line(capsys: Capture) -> None:
    assert cli.main(["bench", "small-rael"]) == 2
    assert capsys.readouterr().err == "wordtie: error: no claim `small-rael`; did you mean small-real?\n"
    assert cli.main(["bench", "xyzzy"]) == 2
    assert "`wordtie bench --list` lists them" in capsys.readouterr().err


def test_growth_is_plotted(tmp_path: Path) -> None:
    found = [growth.Point(axis, value, 10.0, 500.0) for axis, values in growth.AXES.items() for value in values]
    written = growth.plot(found, "made up", tmp_path)
    assert [path.name for path in written] == ["growth.png", "growth.svg"]
    assert written[0].read_bytes().startswith(b"\x89PNG")
    assert [growth.short(number) for number in (650, 267_735, 10_000_000)] == ["650", "268k", "10M"]


def test_growth_takes_windows_from_all_over_the_text(tmp_path: Path) -> None:
    path = tmp_path / "train.npy"
    growth.write_ids(path, 1_000, WORDS)
    setup = Setup(ModelSettings(), LossSettings(), TrainingSettings(streams=4, steps=10))
    windows = list(growth.windows_all_over(path, setup, 5))
    ids_LB = torch.from_numpy(np.load(path).reshape(4, 250).T.astype(np.int64))
    assert len(windows) == 5
    torch.testing.assert_close(windows[0][1], ids_LB[:10])
    torch.testing.assert_close(windows[-1][1], ids_LB[230:240])


def test_list_names_every_claim(capsys: Capture) -> None:
    assert cli.main(["bench", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    names = [line.split()[0] for line in lines]
    assert len(set(names)) == len(names)
    assert {"small-real", "small-real-fp32", "loss-memory", "scoring", "vocabulary", "gpu-large-real"} <= set(names)
    assert names[-1] == "growth"
    assert cli.main(["bench", "--list", "--json"]) == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [each["name"] for each in told] == names[:-1]


def test_without_a_checkout_it_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Capture) -> None:
    monkeypatch.setattr(wordtie, "__file__", str(tmp_path / "lib" / "wordtie" / "__init__.py"))
    assert cli.main(["bench"]) == 2
    err = capsys.readouterr().err
    assert "needs a checkout" in err
    assert err.count("\n") == 1


def test_docs_are_written_between_the_markers(fake: Path, document: Path, capsys: Capture) -> None:
    assert bench("fast", "gpu", "--write-docs") == 0
    text = document.read_text()
    assert text.startswith("above\n")
    assert text.endswith("below\n")
    assert "old" not in text
    assert "| a step | 30.0 ms | 10.0 ms | **3.00×** | ≥ 2× | yes | 10% | 2.0 | 3.00 | in bfloat16 |" in text
    assert "| a step on a GPU | - | - | - | ≥ 8× | - | - | - | - | no CUDA GPU at hand |" in text
    assert "| another step | - | - | - | ≥ 4× | - | - | - | - | not measured yet |" in text
    assert text.count("Measured on") == 1
    assert bench("--write-docs") == 0
    assert document.read_text() == text
    document.write_text("no markers")
    assert bench("--write-docs") == 3
    assert page.BEGIN in capsys.readouterr().err


def test_another_machine_has_a_table_of_its_own(fake: Path, document: Path) -> None:
    assert bench("fast", "slow") == 0
    assert bench("fast", "gpu", "--on", "an-old-laptop", "--write-docs") == 0
    first, second = document.read_text().split("### On an-old-laptop\n")
    assert [first.count(row) for row in ("| a step |", "| another step |", "| a step on a GPU |")] == [1, 1, 1]
    assert [second.count(row) for row in ("| a step |", "| another step |", "| a step on a GPU |")] == [1, 0, 0]
    assert [part.count("Measured on") for part in (first, second)] == [1, 1]


@pytest.mark.parametrize("name", ["..", "a/b", ""])
def test_the_name_of_another_machine_is_that_of_a_folder(fake: Path, name: str, capsys: Capture) -> None:
    assert bench("fast", "--on", name) == 2
    assert "a name of letters, digits and hyphens" in capsys.readouterr().err
    assert list(fake.iterdir()) == []


def test_the_plot_is_of_one_machine(fake: Path, capsys: Capture) -> None:
    assert bench("growth", "--on", "an-old-laptop") == 2
    assert "growth" in capsys.readouterr().err


def test_goal_over_floor_needs_both() -> None:
    """A floor of 10 / 2: a goal of 12 would need 30 / 12 of what takes 5 at least."""
    record = {"alternative": 30.0, "ours": 10.0, "goal": 12.0, "measured_over_floor": 2.0}
    assert page.goal_over_floor(record) == "0.50"
    assert page.goal_over_floor({**record, "goal": None}) == "-"
    assert page.goal_over_floor({**record, "measured_over_floor": None}) == "-"


def test_the_page_is_what_the_records_say() -> None:
    text = page.PAGE.read_text()
    assert [text.index(mark) for mark in (page.BEGIN, page.END)] == sorted(map(text.index, (page.BEGIN, page.END)))
    assert page.markdown(runner.tables()) in text, "`wordtie bench --write-docs` writes it"


@pytest.mark.parametrize(
    ("given", "status"), [(["ptb"], None), (["--help"], 0), (["ptb", "-h"], 0), ([], 2), (["ptb", "--rows"], 2)]
)
def test_programs_of_their_own_explain_themselves(
    given: list[str], status: int | None, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr("sys.argv", ["benchmark", *given])
    if status is None:
        assert names_given("how to", fewest=1) == given
        return
    with pytest.raises(SystemExit) as ended:
        names_given("how to", fewest=1)
    assert ended.value.code == status
    assert "how to" in capsys.readouterr()[0 if status == 0 else 1]
