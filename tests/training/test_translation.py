"""Translation as a task: rules that are learnt to the last word, BLEU, noise, bit-identical resume."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import torch

from tests.parallel_text import tiny, write_pairs
from wordtie.config import (
    BitextSettings,
    LossSettings,
    Settings,
    TranslationSettings,
    resolved,
    settings_from_dict,
    to_dict,
)
from wordtie.config.translation import (
    Seq2SeqSettings,
    TranslationLossSettings,
    TranslationNoiseSettings,
    TranslationTrainingSettings,
)
from wordtie.config.unused_settings import unused_translation_settings
from wordtie.data.bitext import Bitext, Split, read_bitext
from wordtie.data.subwords import SubwordPair
from wordtie.errors import DataError, RunFolderError, SettingsError
from wordtie.evaluation.bleu import Bleu, bleu, tokenizer_of
from wordtie.inference.translation import load_translation
from wordtie.models.seq2seq import SentencePairs
from wordtie.runs.metrics import finished_epochs
from wordtie.runs.result import read_result
from wordtie.training import translation
from wordtie.training.optim import parameter_groups
from wordtie.training.precision import precision_of
from wordtie.training.translation import Translation, build_pair_noise, notes, train_translation

pytest.importorskip("sacrebleu")
CPU = torch.device("cpu")


@pytest.mark.parametrize(("rule", "epochs"), [("copy", 11), ("reverse", 9)])
def test_a_rule_is_learnt_to_the_last_word(rule: str, epochs: int, tmp_path: Path) -> None:
    settings = tiny(write_pairs(tmp_path / "text", rule == "reverse"), epochs=epochs, keep="last")
    result = train_translation(settings, tmp_path / "run")
    assert result.translation is not None
    assert result.translation["test_bleu"] == pytest.approx(100)
    assert "tok:none" in result.translation["signature"]
    lines = (tmp_path / "text" / "test.en").read_text().splitlines()
    expected = (tmp_path / "text" / "test.de").read_text().splitlines()
    assert load_translation(tmp_path / "run").translate(lines) == expected
    assert read_result(tmp_path / "run") == result
    lines_of_epochs = finished_epochs(tmp_path / "run")
    assert lines_of_epochs[-1]["valid_bleu"] == pytest.approx(100)


@pytest.mark.parametrize("optimiser", ["adam", "adadelta"])
def test_a_run_that_was_stopped_resumes_with_the_same_bits(optimiser: str, tmp_path: Path) -> None:
    text = write_pairs(tmp_path / "text", train=100)
    rate = {"adam": 0.01, "adadelta": 1.0}[optimiser]
    settings = tiny(text, optimiser=optimiser, lr=rate, epochs=2, checkpoint_every=1)
    settings = dataclasses.replace(
        settings,
        model=dataclasses.replace(settings.model, word_dropout=0.2, output_dropout=0.2),
        noise=TranslationNoiseSettings(kind="kneser_ney"),
    )
    whole = train_translation(settings, tmp_path / "whole")
    invocations = 0
    while True:
        short = dataclasses.replace(settings.training, max_time="0.01s")
        part = train_translation(dataclasses.replace(settings, training=short), tmp_path / "parts", "resume")
        invocations += 1
        if part.stopped != "max_time":
            break
    assert invocations > 3
    assert part.weights_sha256 == whole.weights_sha256
    assert part.translation == whole.translation


def test_a_run_of_other_pairs_or_settings_is_not_resumed(tmp_path: Path) -> None:
    text = write_pairs(tmp_path / "text", train=60)
    train_translation(tiny(text, epochs=1), tmp_path / "run")
    with pytest.raises(RunFolderError, match=r"training.lr \(0.01, now 0.02\)"):
        train_translation(tiny(text, epochs=1, lr=0.02), tmp_path / "run", "resume")
    (text / "train.de").write_text((text / "train.de").read_text().replace("a", "b"))
    with pytest.raises(RunFolderError, match="started with other text of train"):
        train_translation(tiny(text, epochs=1), tmp_path / "run", "resume")
    with pytest.raises(RunFolderError, match="holds a run already"):
        train_translation(tiny(text, epochs=1), tmp_path / "run")


def test_bleu_is_what_sacrebleus_command_prints(tmp_path: Path) -> None:
    ours = ["the cat sat on the mat .", "A dog", "", "it is , what it is"]
    theirs = ["the cat sat on a mat .", "a dog barks", "so", "it is what it is !"]
    (tmp_path / "reference").write_text("".join(f"{line}\n" for line in theirs))
    for tokenised, options in ((True, ["-tok", "none", "--force"]), (False, ["-lc"])):
        command = [sys.executable, "-m", "sacrebleu", str(tmp_path / "reference"), "-b", "-w", "6", *options]
        printed = subprocess.run(command, input="\n".join(ours) + "\n", capture_output=True, text=True, check=True)
        assert float(printed.stdout) == pytest.approx(
            bleu(ours, theirs, tokenizer_of("de", tokenised), not tokenised).bleu, abs=1e-6
        )


def test_bleu_of_a_language_without_spaces() -> None:
    ours, theirs = ["狗在草地上跑。", "两个人在外面"], ["狗在草地上跑着。", "两个男人在外面"]
    assert bleu(ours, theirs, tokenizer_of("de", False), lowercase=False).bleu == 0
    found = bleu(ours, theirs, tokenizer_of("zh", False), lowercase=False)
    assert found.bleu > 30
    assert "tok:zh" in found.signature


def test_an_interval_holds_the_score() -> None:
    draw = np.random.default_rng(1)
    theirs = [" ".join(draw.choice(list("abcdef"), 9)) for _ in range(60)]
    ours = [line if draw.random() < 0.5 else " ".join(draw.permutation(line.split())) for line in theirs]
    found = bleu(ours, theirs, "none", lowercase=False, interval=True)
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.bleu < found.high


@pytest.fixture
def data(tmp_path: Path) -> Bitext:
    return read_bitext(tiny(write_pairs(tmp_path / "text")).data)


def task(data: Bitext, **noise: object) -> Translation:
    settings = dataclasses.replace(
        tiny(Path("text")),
        noise=TranslationNoiseSettings(**noise),  # type: ignore[arg-type]
    )
    return Translation(settings, data, CPU, torch.float32)


def test_every_pair_is_read_once_an_epoch(data: Bitext) -> None:
    made = task(data)
    for epoch in (1, 2):
        batches = list(made.batches(0, epoch))
        assert len(batches) == made.batches_per_epoch
        assert sum(batch.words for batch in batches) == made.tokens_per_epoch == made.tokens_before(10**6, epoch)
        assert sum(batch.streams for batch in batches) == len(data.train)
        later = list(made.batches(4, epoch))
        assert torch.equal(later[0].targets, batches[4].targets)
        assert made.tokens_before(4, epoch) == sum(batch.words for batch in batches[:4])
    orders = [torch.cat([b.targets.flatten() for b in made.batches(0, epoch)]).tolist() for epoch in (1, 2)]
    assert orders[0] != orders[1]


@pytest.mark.parametrize("tying", ["none", "three_way"])
def test_the_loss_of_the_settings_is_trained(data: Bitext, tying: Literal["none", "three_way"]) -> None:
    """Label smoothing, and the augmented loss of 2016, against what the definitions say of a batch's scores."""
    joint = dataclasses.replace(data, tokenizer=SubwordPair(data.tokenizer.target, data.tokenizer.target))
    model = dataclasses.replace(tiny(Path("text")).model, tying=tying)
    share, gamma = 0.1, 0.3

    def made(**loss: object) -> tuple[Translation, float, torch.Tensor, torch.Tensor]:
        torch.manual_seed(1)
        settings = dataclasses.replace(
            tiny(Path("text")),
            data=BitextSettings(corpus="text"),
            model=model,
            loss=TranslationLossSettings(**loss),  # type: ignore[arg-type]
        )
        found = Translation(settings, joint, CPU, torch.float32)
        found.prepare_for_training()
        batch = next(found.batches(0))
        total, _ = found.objective.forward(batch, [])
        scoring = found.model(batch.inputs)
        scores_NV = scoring.query_NE @ scoring.output_VE.T + scoring.bias_V
        return found, float(total.total.detach()), scores_NV.log_softmax(1), scoring.targets_N

    _, total, log_p_NV, targets_N = made(label_smoothing=share)
    hit_NV = torch.nn.functional.one_hot(targets_N, log_p_NV.shape[1])
    wanted_NV = (1 - share) * hit_NV + share / log_p_NV.shape[1]
    assert total == pytest.approx(-(wanted_NV * log_p_NV).sum().item(), rel=1e-5)

    task, total, log_p_NV, targets_N = made(kind="augmented_2016", gamma=gamma)
    vectors_VE = task.model.embedding.weight
    similar_NV = (vectors_VE[targets_N] @ vectors_VE.T).softmax(1)
    divergence = (similar_NV * (similar_NV.log() - log_p_NV)).sum()
    cross_entropy = torch.nn.functional.nll_loss(log_p_NV, targets_N, reduction="sum")
    assert total == pytest.approx((cross_entropy + gamma * divergence).item(), rel=1e-5)


def test_the_epoch_with_the_best_bleu_is_kept(data: Bitext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Perplexity falls from epoch to epoch here; the first translations are said to be the best."""
    said = iter([50.0, 10.0, 20.0])
    real = Translation.bleu

    def first_is_best(self: Translation, split: Split, beam: int, interval: bool = False) -> Bleu:
        found = real(self, split, beam, interval)
        return found if interval else dataclasses.replace(found, bleu=next(said))

    monkeypatch.setattr(Translation, "bleu", first_is_best)
    result = train_translation(tiny(tmp_path / "text", epochs=3), tmp_path / "run")
    assert result.best_epoch == 1
    perplexities = [each["valid_perplexity"] for each in finished_epochs(tmp_path / "run")]
    assert perplexities == sorted(perplexities, reverse=True)


def test_perplexity_decides_between_epochs_of_the_same_bleu(
    data: Bitext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with a text of short sentences, none of which has four words in a row."""
    real = Translation.bleu

    def nothing(self: Translation, split: Split, beam: int, interval: bool = False) -> Bleu:
        return dataclasses.replace(real(self, split, beam, interval), bleu=0.0)

    monkeypatch.setattr(Translation, "bleu", nothing)
    settings = tiny(tmp_path / "text", epochs=3, patience=2)
    assert train_translation(settings, tmp_path / "run").best_epoch == 3


def test_the_three_word_matrices_have_a_rate_of_their_own(data: Bitext) -> None:
    words, _ = parameter_groups(task(data).model, word_rate=3.0)
    assert isinstance(words, dict)
    assert [tuple(each.shape) for each in words["params"]] == [(8, 24)] * 2


def test_long_lines_are_measured_with_few_others(data: Bitext, monkeypatch: pytest.MonkeyPatch) -> None:
    made, sizes, real = task(data), [], Translation._padded

    def padded(self: Translation, split: Split, numbers: Sequence[int]) -> SentencePairs:
        sizes.append(len(numbers))
        return real(self, split, numbers)

    monkeypatch.setattr(Translation, "_padded", padded)
    together = made.score(data.valid).nats
    assert max(sizes) > 1
    sizes.clear()
    monkeypatch.setattr(translation, "POSITIONS_TOGETHER", 1)
    assert made.score(data.valid).nats == pytest.approx(together, rel=1e-5)
    assert set(sizes) == {1}


@pytest.mark.parametrize(
    "settings",
    [
        TranslationSettings(training=TranslationTrainingSettings(fused=False, precision="bf16")),
        TranslationSettings(
            loss=TranslationLossSettings(kind="interpolated"), training=TranslationTrainingSettings(precision="bf16")
        ),
    ],
)
def test_a_precision_that_nothing_computes_in_is_refused(settings: TranslationSettings) -> None:
    cpu = torch.device("cpu")
    with pytest.raises(SettingsError, match="nothing fused computes here"):
        precision_of(settings, cpu)
    auto = dataclasses.replace(settings.training, precision="auto")
    assert precision_of(dataclasses.replace(settings, training=auto), cpu) == torch.float32


def test_pairs_that_are_trained_on_are_not_measured_in_silence(data: Bitext) -> None:
    known = set(zip(data.train.source_lines, data.train.target_lines, strict=True))
    count = sum(pair in known for pair in zip(data.test.source_lines, data.test.target_lines, strict=True))
    assert count > 0
    assert f"{count} of 40 test pairs are training pairs, too" in " ".join(notes(data))


@pytest.mark.parametrize("side", ["source", "target", "both"])
def test_noise_is_on_its_side_and_leaves_the_ends(data: Bitext, side: str) -> None:
    made = task(data, kind="linear_interpolation", gamma=1.0, side=side)
    torch.manual_seed(1)
    batch = next(made.batches(0)).inputs
    noised = made.objective.noise.noised(batch)
    eos = data.tokenizer.target.vocabulary.eos_id
    assert torch.equal(noised.source_SB == eos, batch.source_SB == eos)
    assert torch.equal(noised.inputs_TB == eos, batch.inputs_TB == eos)
    assert torch.equal(noised.targets_TB, batch.targets_TB)
    assert torch.equal(noised.source_SB, batch.source_SB) == (side == "target")
    assert torch.equal(noised.inputs_TB, batch.inputs_TB) == (side == "source")


def test_kneser_ney_noise_replaces_the_word_after_a_replaced_one(data: Bitext) -> None:
    made = task(data, kind="kneser_ney", gamma=1.0)
    made.objective.noise.target.gamma_V[:] = 1.0  # type: ignore[union-attr]
    batch = max(made.batches(0), key=lambda each: each.words).inputs
    torch.manual_seed(1)
    noised = made.objective.noise.noised(batch)
    assert not torch.equal(noised.targets_TB, batch.targets_TB)
    eos = data.tokenizer.target.vocabulary.eos_id
    assert torch.equal(noised.targets_TB == eos, batch.targets_TB == eos)
    assert torch.equal(noised.targets_TB[0], batch.targets_TB[0]), "the first word comes after <eos>, which stays"


def test_noise_needs_words(data: Bitext) -> None:
    settings = dataclasses.replace(tiny(Path("text")), noise=TranslationNoiseSettings(kind="blank"))
    empty = dataclasses.replace(data.train, source=[[]], target=[[]])
    assert build_pair_noise(settings, data, CPU).source is not None
    with pytest.raises(DataError, match="too short to draw replacements"):
        build_pair_noise(
            dataclasses.replace(settings, noise=TranslationNoiseSettings(kind="linear_interpolation")),
            dataclasses.replace(data, train=empty), CPU,
        )  # fmt: skip


def test_settings_are_read_back() -> None:
    settings = TranslationSettings(data=BitextSettings(split=(0.8, 0.1, 0.1)), loss=TranslationLossSettings(gamma=0.2))
    assert settings_from_dict(to_dict(settings), TranslationSettings) == settings
    assert resolved(settings)["loss"]["gamma"] == 0.2
    with pytest.raises(SettingsError, match=r"unknown setting data\."):
        settings_from_dict(to_dict(settings), Settings)


def test_settings_without_effect_are_named() -> None:
    assert unused_translation_settings(TranslationSettings(), is_split=False) == []
    settings = TranslationSettings(
        data=BitextSettings(min_count=5),
        loss=TranslationLossSettings(gamma=0.5, samples=100),
        noise=TranslationNoiseSettings(gamma=0.5),
        training=TranslationTrainingSettings(schedule="cosine", decay=0.1, beta1=0.5, optimiser="adadelta", lr=1.0),
    )
    assert unused_translation_settings(settings, is_split=True) == [
        "loss.samples 100 has no effect with loss.softmax full",
        "loss.gamma 0.5 has no effect with loss.kind cross_entropy",
        "noise.gamma 0.5 has no effect with noise.kind none",
        "data.min_count 5 has no effect with data.units joint_bpe",
        "training.decay 0.1 has no effect with training.schedule cosine",
        "training.beta1 0.5 has no effect with an optimiser that is not adam",
    ]
    settings = TranslationSettings(
        data=BitextSettings("multi30k", split=(0.8, 0.1, 0.1)),
        training=TranslationTrainingSettings(optimiser="sgd", lr=1.0, beta2=0.9),
    )
    epochs = dataclasses.replace(settings, training=TranslationTrainingSettings(tokens=1000, epochs=7))
    assert unused_translation_settings(epochs, is_split=True) == [
        "training.epochs 7 has no effect with training.tokens"
    ]
    beta2 = "training.beta2 0.9 has no effect with training.optimiser sgd"
    assert unused_translation_settings(settings, is_split=True) == [beta2]
    assert unused_translation_settings(settings, is_split=False) == [
        "data.split (0.8, 0.1, 0.1) has no effect with a text whose parts are given",
        beta2,
    ]


def test_a_split_is_said_to_have_no_effect_where_the_parts_are_given(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = tiny(write_pairs(tmp_path / "text", train=60), epochs=1)
    settings = dataclasses.replace(settings, data=dataclasses.replace(settings.data, split=(0.8, 0.1, 0.1)))
    train_translation(settings, tmp_path / "run")
    assert "data.split (0.8, 0.1, 0.1) has no effect with a text whose parts are given" in capsys.readouterr().err
    lines = "".join(f"a {number} b\tc {number} d\n" for number in range(100))
    (tmp_path / "pairs.tsv").write_text(lines)
    table = dataclasses.replace(settings, data=dataclasses.replace(settings.data, corpus=str(tmp_path / "pairs.tsv")))
    train_translation(table, tmp_path / "of-table")
    assert "has no effect" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TranslationTrainingSettings(steps=20), "training.steps is for language models"),
        (lambda: TranslationTrainingSettings(beam=0), "training.beam must be at least 1"),
        (lambda: TranslationLossSettings(softmax="sampled"), "loss.softmax sampled is for language models"),
        (lambda: TranslationLossSettings(full_at_end=0.1), "loss.full_at_end is for language models: leave it out"),
        (lambda: Seq2SeqSettings(readout=3), "set model.linear_map"),
        (lambda: Seq2SeqSettings(tying="none", linear_map=True), "model.linear_map is for a shared matrix"),
        (lambda: Seq2SeqSettings(word_dropout=1.0), "model.word_dropout is a dropout rate"),
        (lambda: BitextSettings(source="de"), "data.source and data.target are both 'de'"),
        (lambda: BitextSettings(source_column=2), "data.source_column and data.target_column are both 2"),
        (lambda: TranslationSettings(data=BitextSettings(units="words")), "set data.units to joint_bpe"),
        (lambda: TranslationSettings(loss=LossSettings()), "loss must be made with TranslationLossSettings"),  # type: ignore[arg-type]
        (lambda: TranslationNoiseSettings(gamma=2.0), "noise.gamma is a probability"),
    ],
)
def test_settings_that_make_no_sense_are_refused(make: object, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        make()  # type: ignore[operator]
