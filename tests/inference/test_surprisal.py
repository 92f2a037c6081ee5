"""Surprisal: what it depends on, and that a long text is read as it is asked for."""

from __future__ import annotations

import codecs
import io
import math
import pickle
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from wordtie.config import ModelSettings, Settings
from wordtie.data.tokenisation import Tokenisation
from wordtie.data.tokenizer import Tokenizer
from wordtie.data.vocabulary import Vocabulary
from wordtie.errors import DataError, SettingsError
from wordtie.evaluation import perplexity
from wordtie.inference import surprisal as uses_surprisal
from wordtie.inference.loading import LoadedModel
from wordtie.inference.surprisal import surprisal
from wordtie.models.language_model import LanguageModel
from wordtie.models.network import Network
from wordtie.nn.core import State

LINES = ["the cat sat on the mat", "a dog", "", "the bird sat"]


@pytest.fixture(scope="module")
def loaded() -> LoadedModel:
    torch.manual_seed(2)
    words = ["<unk>", "<eos>", *["the", "cat", "sat", "on", "mat", "a", "dog"]]
    tokenizer = Tokenizer(Tokenisation("space", lowercase=False, sentences=True), Vocabulary(words))
    model = LanguageModel(ModelSettings(hidden=6, init=1.0), len(words)).use(fused=True).eval()
    return LoadedModel(Network(model.requires_grad_(False), tokenizer.vocabulary), tokenizer, Settings())


def test_a_line_does_not_know_of_other_lines(loaded: LoadedModel) -> None:
    alone = [loaded.surprisal(line)[0].surprisal_bits for line in LINES]
    together = {r.line: r.surprisal_bits for r in reversed(loaded.surprisal("\n".join(LINES)))}
    backwards = {5 - r.line: r.surprisal_bits for r in reversed(loaded.surprisal("\n".join(reversed(LINES))))}
    assert [together[line] for line in (1, 2, 3, 4)] == pytest.approx(alone, rel=1e-6)
    assert [backwards[line] for line in (1, 2, 3, 4)] == pytest.approx(alone, rel=1e-6)


@pytest.mark.parametrize("sentences", [True, False])
def test_lines_side_by_side_have_what_each_has_alone(
    loaded: LoadedModel, sentences: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many fit a window, and of a line that fits none."""
    tokenizer = Tokenizer(Tokenisation("space", sentences=sentences), loaded.tokenizer.vocabulary)
    lines = [*LINES, "the cat " * 15, "", "bird", *LINES[::-1], "a dog " * 9]
    slow = [
        replace(record, line=number)
        for number, line in enumerate(lines, 1)
        for record in surprisal(loaded.model, tokenizer, [line], "never")
        if sentences or record.word != "<eos>"
    ]
    for at_once in (1, 7, 20, 21, 1024):
        for module in (perplexity, uses_surprisal):
            monkeypatch.setattr(module, "TOKENS_AT_ONCE", at_once)
        fast = [*surprisal(loaded.model, tokenizer, iter(lines))]
        assert [replace(record, surprisal_bits=0.0, entropy_bits=0.0) for record in fast] == [
            replace(record, surprisal_bits=0.0, entropy_bits=0.0) for record in slow
        ]
        for name in ("surprisal_bits", "entropy_bits"):
            assert [getattr(r, name) for r in fast] == pytest.approx([getattr(r, name) for r in slow], rel=1e-5)


def test_all_surprisals_together_are_what_evaluate_says(loaded: LoadedModel, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("\n".join(LINES) * 300 + "\n")
    result = loaded.evaluate(tmp_path / "text.txt")
    records = loaded.surprisal((tmp_path / "text.txt").read_text(), reset="never")
    assert (len(records), sum(r.oov for r in records)) == (result.tokens, result.oov)
    assert sum(r.surprisal_bits for r in records) * math.log(2) == pytest.approx(result.nats, rel=1e-5)


def test_running_text_has_one_eos_at_its_end(loaded: LoadedModel, tmp_path: Path) -> None:
    tokenizer = Tokenizer(Tokenisation("space", lowercase=False, sentences=False), loaded.tokenizer.vocabulary)
    running = replace(loaded, tokenizer=tokenizer)
    (tmp_path / "text.txt").write_text("\n".join(LINES) + "\n")
    result = running.evaluate(tmp_path / "text.txt")
    records = running.surprisal((tmp_path / "text.txt").read_text(), reset="never")
    assert [r.word for r in records].count("<eos>") == 1
    end = records[-1]
    assert (end.line, end.position, end.region, end.word) == (4, 4, 4, "<eos>")
    assert len(records) == result.tokens
    assert sum(r.surprisal_bits for r in records) * math.log(2) == pytest.approx(result.nats, rel=1e-5)
    assert all(r.word != "<eos>" for r in running.surprisal("the cat", reset="line"))
    with pytest.raises(SettingsError, match="line, blank or never"):
        running.surprisal("the cat", reset="nope")  # type: ignore[arg-type]


def test_a_blank_line_parts_passages(loaded: LoadedModel) -> None:
    """Within a passage as one text, and from nothing after a blank line, which has no record of its own."""
    records = loaded.surprisal("\n".join(["", *LINES, ""]), reset="blank")
    first, second = loaded.surprisal("\n".join(LINES[:2]), reset="never"), loaded.surprisal(LINES[3])
    assert [r.line for r in records] == [2] * 7 + [3] * 3 + [5] * 4
    assert [r.surprisal_bits for r in records] == [r.surprisal_bits for r in [*first, *second]]
    assert loaded.surprisal(LINES[1])[0].surprisal_bits != records[7].surprisal_bits


def test_what_is_no_text_is_refused(loaded: LoadedModel) -> None:
    for call in (loaded.surprisal, loaded.predict, loaded.generate):
        with pytest.raises(SettingsError, match="give one string, its lines parted by"):
            call(["the cat", "a dog"])  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match=r"io\.StringIO"):
        loaded.evaluate("the cat\na dog\n")
    with pytest.raises(SettingsError, match=r"whole number.*2\.5"):
        loaded.predict("the", top=2.5)  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="whole number"):
        loaded.generate("the", words="5")  # type: ignore[arg-type]


def test_words_only(loaded: LoadedModel) -> None:
    every = loaded.predict("the cat", top=20)
    assert loaded.predict("the cat", top=20, words_only=True) == [each for each in every if each[0][0] != "<"]
    assert {"<unk>", "<eos>"} < {word for word, _ in every}


def test_a_text_without_end_is_read_as_it_is_asked_for(loaded: LoadedModel) -> None:
    taken = 0

    def lines() -> Iterator[str]:
        nonlocal taken
        while True:
            taken += 1
            yield LINES[0]

    records = list(islice(surprisal(loaded.model, loaded.tokenizer, lines(), "never"), 5000))
    assert len(records) == 5000
    assert taken < 1000
    assert records[-1].line == math.ceil(5000 / 7)
    whole = loaded.surprisal("\n".join([LINES[0]] * 800), reset="never")[:5000]
    assert [r.surprisal_bits for r in records] == pytest.approx([r.surprisal_bits for r in whole], rel=1e-5)


def test_entropy_and_surprisal_by_hand(loaded: LoadedModel) -> None:
    (first, *_) = loaded.surprisal("cat")
    probabilities = dict(loaded.predict("", top=99))
    assert sum(probabilities.values()) == pytest.approx(1)
    assert first.surprisal_bits == pytest.approx(-math.log2(probabilities["cat"]), rel=1e-5)
    entropy = -sum(p * math.log2(p) for p in probabilities.values())
    assert first.entropy_bits == pytest.approx(entropy, rel=1e-5)


def test_a_region_is_what_stands_between_white_space(loaded: LoadedModel) -> None:
    tokenizer = Tokenizer(Tokenisation("words", lowercase=True, sentences=True), loaded.tokenizer.vocabulary)
    records = replace(loaded, tokenizer=tokenizer).surprisal('The  "U.S." cat,\nsat.')
    found = [(r.line, r.region, r.position, r.word) for r in records]
    first = ["the", '"', "u", ".", "s", ".", '"', "cat", ",", "<eos>"]
    assert found[:10] == [
        (1, region, position, word)
        for position, (region, word) in enumerate(zip((1, *[2] * 6, 3, 3, 4), first, strict=True), 1)
    ]
    assert found[10:] == [(2, 1, 1, "sat"), (2, 1, 2, "."), (2, 2, 3, "<eos>")]
    assert [r.id for r in records] == tokenizer.encode('The  "U.S." cat,\nsat.\n').tolist()


def test_lines_side_by_side_come_in_few_numbers(loaded: LoadedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """oneDNN keeps code, half a megabyte of it, for every number of streams that it has seen."""
    seen: list[int] = []
    start = LanguageModel.initial_state

    def counted(model: LanguageModel, streams: int) -> State:
        seen.append(streams)
        return start(model, streams)

    monkeypatch.setattr(LanguageModel, "initial_state", counted)
    for lines in range(1, 10):
        loaded.surprisal("the cat\n" * lines)
    assert set(seen) == {1, 2, 3, 4, 6, 8, 12}


def test_a_line_of_several_sentences_is_read_as_several_lines_are(loaded: LoadedModel) -> None:
    passage, lines = "the cat\nsat on\na dog", ["the cat", "sat on", "a dog"]
    cell = list(surprisal(loaded.model, loaded.tokenizer, [passage, "the"]))
    read = list(surprisal(loaded.model, loaded.tokenizer, lines, "never"))
    assert [r.surprisal_bits for r in cell[:9]] == pytest.approx([r.surprisal_bits for r in read], abs=1e-5)
    assert [(r.line, r.position, r.region) for r in cell] == [
        *((1, 1, 1), (1, 2, 2), (1, 3, 3), (1, 4, 3), (1, 5, 4), (1, 6, 5), (1, 7, 5), (1, 8, 6), (1, 9, 7)),
        *((2, 1, 1), (2, 2, 2)),
    ]
    assert [r.region for r in cell if r.word != "<eos>"] == [1, 2, 3, 4, 5, 6, 1]


def test_lines_end_where_those_of_files_do(loaded: LoadedModel) -> None:
    assert [(r.line, r.word) for r in loaded.surprisal("the\r\ncat\x0bsat\n")] == [
        *((1, "the"), (1, "<eos>"), (2, "cat"), (2, "sat"), (2, "<eos>")),
    ]


def test_what_is_generated_depends_on_the_seed_alone(loaded: LoadedModel) -> None:
    first = loaded.generate("the", 30, seed=4)
    torch.manual_seed(99)
    assert loaded.generate("the", 30, seed=4) == first != loaded.generate("the", 30, seed=5)
    assert "<unk>" not in first


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"seed": 2**70}, "seed must be"),
        ({"seed": True}, "seed must be"),
        ({"words": -3}, "words must be"),
        ({"temperature": "1"}, "temperature must be a positive number, got '1'"),
    ],
)
def test_what_cannot_be_generated_is_said(loaded: LoadedModel, wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        loaded.generate("the", **wrong)


def test_a_model_says_what_it_is_in_a_line(loaded: LoadedModel) -> None:
    size, words = loaded.network.parameter_count(), len(loaded.tokenizer.vocabulary)
    assert repr(loaded) == f"LoadedModel(tied lstm, {size} parameters, {words} words)"
    assert repr(loaded.tokenizer) == f"Tokenizer(space, {words} words)"


def test_a_model_can_be_sent_to_another_process(loaded: LoadedModel) -> None:
    copy: LoadedModel = pickle.loads(pickle.dumps(loaded))
    assert copy.predict("the cat") == loaded.predict("the cat")


def test_a_prompt_keeps_its_line_ends(loaded: LoadedModel) -> None:
    assert loaded.generate("the cat\na dog <eos> the", words=0) == "the cat\na dog\nthe"
    more = loaded.generate("the cat\na", words=1, seed=1)
    (word,) = (word for word, p in loaded.predict("the cat\na", top=99) if more == f"the cat\na {word}")
    assert word in loaded.tokenizer.vocabulary


@pytest.mark.parametrize("prompt", ["the cat", "a dog sat on"])
def test_a_cold_text_is_the_likeliest_word_again_and_again(loaded: LoadedModel, prompt: str) -> None:
    text = prompt
    for _ in range(8):
        word = next(word for word, _ in loaded.predict(text, top=2) if word != "<unk>")
        text += "\n" if word == "<eos>" else f" {word}"
    found = loaded.generate(prompt, words=8, temperature=1e-9)
    assert found.split() == text.split()
    assert loaded.generate(prompt, words=np.int64(8), temperature=1e-9) == found  # type: ignore[arg-type]


def test_the_hotter_a_text_the_more_alike_its_words(loaded: LoadedModel) -> None:
    """`<unk>` is never drawn, however hot, and every other word at last as often as any."""
    words = loaded.generate("", words=2000, temperature=1e9, seed=1).replace("\n", " <eos> ").split()
    share = {word: words.count(word) / 2000 for word in loaded.tokenizer.vocabulary.words}
    assert share.pop("<unk>") == 0
    assert list(share.values()) == pytest.approx([1 / 8] * 8, abs=0.03)


def test_open_files_of_other_kinds(loaded: LoadedModel, tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("the café\n", encoding="cp1252")
    with codecs.open(str(path), encoding="cp1252") as file:
        assert loaded.evaluate(file).tokens == 3
    with tempfile.NamedTemporaryFile("w+") as file:
        file.write("the cat\n")
        file.seek(0)
        assert loaded.evaluate(file).tokens == 3
    with pytest.raises(SettingsError, match="or an open one, not a list"):
        loaded.evaluate(["the cat"])  # type: ignore[arg-type]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_an_open_file_is_read_on_from_where_it_is(loaded: LoadedModel, tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "text.txt"
    path.write_text("é: a header\n" + "the cat sat\n" * 3000, encoding=encoding)
    with path.open(encoding=encoding) as file:
        file.readline()
        assert loaded.evaluate(file).tokens == 12_000
    with path.open(encoding=encoding) as file:
        assert loaded.evaluate(file).oov == 2


def test_an_open_file_in_another_encoding_than_it_says(loaded: LoadedModel, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_bytes("the café\n".encode("cp1252"))
    with (
        (tmp_path / "text.txt").open(encoding="utf-8") as file,
        pytest.raises(DataError, match="encoding that it is in"),
    ):
        loaded.evaluate(file)
    with pytest.raises(DataError, match="encoding that it is in"):
        loaded.evaluate(io.StringIO("the \ud800 cat"))


def test_marks_that_begin_a_file(loaded: LoadedModel, tmp_path: Path) -> None:
    """One is taken off, whether the text comes as a file or as a string; those within are as they are."""
    assert [r.oov for r in loaded.surprisal("\ufeffthe cat")] == [False, False, False]
    tokenizer = Tokenizer(Tokenisation("space", lowercase=False, sentences=False), loaded.tokenizer.vocabulary)
    running = replace(loaded, tokenizer=tokenizer)
    (tmp_path / "text.txt").write_text("\ufeffthe \ufeffcat", encoding="utf-8")
    assert running.evaluate(tmp_path / "text.txt").oov == 1
    text = (tmp_path / "text.txt").read_text(encoding="utf-8")
    assert sum(r.oov for r in running.surprisal(text, reset="never")) == 1
