"""Recipes: an error names the file and the line, and a value is read by the type of its setting."""

from __future__ import annotations

from pathlib import Path

import pytest

from wordtie.config import SECTIONS
from wordtie.config.recipes import read_recipe
from wordtie.errors import UsageError
from wordtie.word2vec.settings import Word2VecSettings


def values(text: str, folder: Path) -> dict[str, object]:
    path = folder / "r.yaml"
    path.write_text(text)
    return {
        name: given.value for name, given in read_recipe(str(path), {**SECTIONS, "word2vec": Word2VecSettings}).items()
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("data: {}\n", {}),
        ("data:\n  corpus: 1984\n", {"data.corpus": "1984"}),
        ("data:\n  corpus: 2026-02-30\n", {"data.corpus": "2026-02-30"}),
        ("data:\n  corpus: no\n", {"data.corpus": "no"}),
        ("training:\n  lr: 1\n", {"training.lr": 1.0}),
        ("training:\n  lr: 1e-3\n", {"training.lr": 0.001}),
        ("training:\n  start_from:\n", {"training.start_from": None}),
        ("training:\n  start_from: null\n", {"training.start_from": None}),
        ("training:\n  start_from: 'null'\n", {"training.start_from": "null"}),
        ("data:\n  split: [0.8, 0.1, 0.1]\n", {"data.split": (0.8, 0.1, 0.1)}),
        ("data:\n  split:\n  - 0.8\n  - 0.1\n  - 0.1\n", {"data.split": (0.8, 0.1, 0.1)}),
        ("data: &d\n  lowercase: yes\n", {"data.lowercase": True}),
        ("noise:\n  input_dropout: 0.5\n", {"noise.input_vector_dropout": 0.5}),
        ("word2vec: {window: 3}\n", {"word2vec.window": 3}),
    ],
)
def test_values(text: str, expected: dict[str, object], tmp_path: Path) -> None:
    found = values(text, tmp_path)
    assert found == expected
    assert [*map(type, found.values())] == [*map(type, expected.values())]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("model:\n  hiden: 3\n", "line 2: model has no setting hiden; did you mean hidden?"),
        ("model:\n  nhid: 3\n", "line 2: model has no setting nhid; did you mean hidden?"),
        ("modl:\n  hidden: 3\n", "line 1: modl is no section of a recipe (data, model, loss, noise, training"),
        (
            "hidden: 3\n",
            "line 1: hidden is no section of a recipe (data, model, loss, noise, training, word2vec); it is a",
        ),
        ("model:\n  hidden: many\n", "line 2: model.hidden must be a whole number, got many"),
        ("model:\n  hidden: [1, 2]\n", "line 2: model.hidden must be a whole number, got several values"),
        ("training:\n  lr: {a: 1}\n", "line 2: training.lr must be a number, got several values"),
        ("data:\n  corpus: [a, b]\n", "line 2: data.corpus must be a text, got several values"),
        ("model:\n  hidden:\n", "line 2: model.hidden must be a whole number, got nothing"),
        ("loss:\n  kind: augmentd\n", "augmented_2016, interpolated, got augmentd; did you mean augmented?"),
        ("model:\n  hidden: 1\n  hidden: 2\n", "line 3: hidden is given already, in line 2"),
        ("model: {hidden: 1}\nmodel: {layers: 1}\n", "line 2: model is given already, in line 1"),
        (
            "noise:\n  input_dropout: 0.1\n  input_vector_dropout: 0.2\n",
            "line 3: input_vector_dropout is given already, in",
        ),
        ("model: [\n", "line 2: not YAML; `wordtie train --print-config` writes a recipe"),
        ("model: 3\n", "line 1: a recipe has sections (data, model,"),
        ("just words", "r.yaml: a recipe has sections (data, model, loss, noise, training, word2vec) with settings in"),
        ("", "r.yaml: a recipe has sections"),
        ("model: {hidden: 1}\n---\nmodel: {hidden: 2}\n", "line 2: not YAML"),
        ("model:\n  ? [a, b]\n  : 3\n", "line 2: a setting has a name"),
        ("data:\n  split: [[0.8, 0.1], 0.1]\n", "line 2: data.split must be"),
    ],
)
def test_an_error_names_file_and_line(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refused:
        values(text, tmp_path)
    message = str(refused.value)
    assert message.startswith(str(tmp_path / "r.yaml"))
    assert says in message
    assert "\n" not in message


def test_aliases_are_not_written_out(tmp_path: Path) -> None:
    """Each line is ten times the line before: written out, these are 10 ** 12 letters."""
    lines = [f"  - &l{number} [{', '.join([f'*l{number - 1}' if number else 'x'] * 10)}]" for number in range(12)]
    for setting, lists in (("model:\n  hidden:\n", lines), ("data:\n  split:\n", lines)):
        with pytest.raises(UsageError, match=r"r\.yaml, line 2: .* got several values"):
            values(setting + "\n".join(lists) + "\n", tmp_path)


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "latin.yaml").write_bytes(b"caf\xe9: 1\n")
    with pytest.raises(UsageError, match=r"latin\.yaml: not UTF-8 text: is it a recipe\?"):
        read_recipe(str(tmp_path / "latin.yaml"), SECTIONS)
    with pytest.raises(UsageError, match=r"gone\.yaml: cannot be read: No such file or directory"):
        read_recipe(str(tmp_path / "gone.yaml"), SECTIONS)
