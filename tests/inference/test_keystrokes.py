"""Keystroke savings, compared with someone who types letter by letter and looks at the suggestions each time."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.commands import SMALL, Capture, output, rows, small_text
from tests.inference.hand_made import NEXT, WORDS, hand_made
from wordtie import cli
from wordtie.data.batches import Ids
from wordtie.data.vocabulary import EOS, UNK
from wordtie.errors import DataError, SettingsError
from wordtie.inference.keystrokes import keystrokes, with_parts
from wordtie.inference.loading import LoadedModel, load
from wordtie.models.mixture import Mixture

TEXT = ["the cat sat.", "(the president of the United States, zzyzx", "", "Cat sat the the the -- a b"]


def literally(model: LoadedModel, lines: list[str], suggestions: int) -> tuple[int, int, int]:
    """(keys, keys without suggestions, words taken)."""
    keys = without = taken = 0
    state = model.start()
    for line in lines:
        for stretch in line.split():
            words = model.tokenizer.words(stretch)
            for place, word in enumerate(words):
                blank = place == len(words) - 1
                without += len(word) + blank
                cost = len(word) + blank
                for letters in range(len(word)):
                    offered = model.next_words(state, word[:letters], top=suggestions, words_only=True)
                    if word in [each for each, _ in offered]:
                        taken += letters + 1 < cost
                        cost = min(cost, letters + 1)
                        break
                keys += cost
                state = model.step(word, state)
        state = model.step(EOS, state) if model.tokenizer.sentences else state
    return keys, without, taken


@pytest.mark.parametrize("suggestions", [1, 3])
def test_someone_who_types_letter_by_letter(suggestions: int) -> None:
    model = load("en", without_torch=True)
    found = keystrokes(model.model, model.tokenizer, TEXT, suggestions)
    assert (found.keys, found.without, found.taken) == literally(model, TEXT, suggestions)
    assert found.oov == 1
    assert found.saved == pytest.approx(1 - found.keys / found.without)


def test_with_a_pencil() -> None:
    """After `<eos>` the likeliest is `the`, after `the` it is `cat`, after `cat` it is `sat`: a key each."""
    assert WORDS[NEXT["the"].index(max(NEXT["the"]))] == "cat"
    model = hand_made()
    found = keystrokes(model.model, model.tokenizer, ["the cat sat", "sat the"], suggestions=1)
    # sat, third after <eos>: s, then it is the only word with s; the after sat: t, then the only one
    assert (found.keys, found.without, found.taken) == (3 + 2 + 2, 4 + 4 + 4 + 4 + 4, 5)


def test_what_is_no_word_is_not_typed() -> None:
    model = hand_made()
    assert keystrokes(model.model, model.tokenizer, [f"the {UNK} cat"]).words == 2
    with pytest.raises(DataError, match="no words"):
        keystrokes(model.model, model.tokenizer, [UNK, ""])
    with pytest.raises(SettingsError, match="at least one suggestion"):
        keystrokes(model.model, model.tokenizer, ["the"], 0)


def test_windows_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    model = load("en", without_torch=True)
    whole = keystrokes(model.model, model.tokenizer, TEXT)
    monkeypatch.setattr("wordtie.inference.keystrokes.VALUES_AT_ONCE", 3 * 30_000)
    assert keystrokes(model.model, model.tokenizer, TEXT) == whole


def test_the_command(own_folder: Path, capsys: Capture) -> None:
    """A mixture is compared with its parts, the n-grams alone among them."""
    text = small_text(own_folder / "text")
    assert cli.main(["train", str(text), "--out", "run", *SMALL, "--ngram", "3"]) == 0
    found = rows(output(["evaluate", "run", str(text / "test.txt"), "--keystrokes", "2"], capsys))
    assert [row["run"] for row in found] == ["run", "run: network", "run: 3-gram"]
    loaded = load("run", part="ngram")
    expected = keystrokes(loaded.model, loaded.tokenizer, (text / "test.txt").read_text().splitlines(), 2)
    assert found[2]["keys"] == str(expected.keys)
    assert float(found[2]["saved"]) == pytest.approx(expected.saved, abs=1e-6)
    one = json.loads(output(["evaluate", "run/ngram", str(text / "test.txt"), "--keystrokes", "2", "--json"], capsys))
    assert [row["keys"] for row in one["runs"]] == [expected.keys]
    assert cli.main(["evaluate", "run", "--keystrokes", "3"]) == 2
    assert "needs a FILE" in capsys.readouterr().err
    (own_folder / "empty.txt").write_text("\n\n")
    assert cli.main(["evaluate", "run", "empty.txt", "--keystrokes", "3"]) == DataError.exit_code
    assert capsys.readouterr().err == "wordtie: error: empty.txt: has no words in it; give a file with text\n"


def test_parts_of_one_kind_are_numbered() -> None:
    model = hand_made().model
    parts = Mixture([model, model], np.full((1, 2), 0.5))
    assert [name for name, _ in with_parts(parts)] == ["", ": network 1", ": network 2"]


def test_hand_made_models_have_distributions() -> None:
    """Those that the tests above depend on."""
    model = hand_made().model
    ids: Ids = model.vocabulary.encode(["the", "cat"])[:, None]
    p_T1V, state = model.distributions(ids, model.initial_state(1))
    assert p_T1V[:, 0].tolist() == [[each / 32 for each in NEXT["<eos>"]], [each / 32 for each in NEXT["the"]]]
    assert state.tolist() == [WORDS.index("cat")]
