"""`examples/keyboard.py`: what wordtie suggests, from the exported files alone."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import wordtie
from benchmarks import keyboard as benchmark
from tests.commands import SMALL, small_text
from wordtie import cli
from wordtie.inference.keystrokes import keystrokes
from wordtie.ngrams.trie_file import open_trie

REASON = "onnx and onnxruntime are not installed: pip install onnx onnxruntime"
pytest.importorskip("onnx", reason=REASON)
pytest.importorskip("onnxruntime", reason=REASON)

EXAMPLE = Path(__file__).parents[1] / "examples" / "keyboard.py"
LINES = ["the cat sat on", "", "the dog sat, the Dog zzz", "on on mat the"]


@pytest.fixture(scope="module")
def keyboard_module() -> ModuleType:
    module: ModuleType = benchmark.keyboard_module()
    return module


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`run`, network and n-grams, without recent words, and `run.onnx`."""
    folder = tmp_path_factory.mktemp("keyboard")
    text = small_text(folder / "text")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        patch.chdir(folder)
        assert cli.main(["train", str(text), "--out", "network", *SMALL]) == 0
        assert cli.main(["ngram", str(text), "--out", "ngrams", "--order", "4", "--data.tokenisation", "space"]) == 0
        assert cli.main(["mix", "network", "ngrams", "--out", "run"]) == 0
        assert cli.main(["export", "onnx", "run", "run.onnx"]) == 0
    return folder


def test_suggestions_are_those_of_the_model(folder: Path, keyboard_module: Any) -> None:
    keyboard, model = keyboard_module.Keyboard(folder / "run.onnx", top=4), wordtie.load(folder / "run")
    assert keyboard.ngrams is not None
    state = model.start()
    for word in [*["the", "cat", "sat", "on", "the", "mat", "<eos>", "dog", "zzz", "the", "cat"], ""]:
        for prefix in ("", "c", "m", "zz"):
            found, expected = keyboard.suggestions(prefix), model.next_words(state, prefix, top=4, words_only=True)
            assert [each for each, _ in found] == [each for each, _ in expected]
            np.testing.assert_allclose([p for _, p in found], [p for _, p in expected], rtol=1e-4)
        keyboard.read(word)
        state = model.step(word or "<unk>", state)


def test_its_ngrams_are_those_of_the_trie(folder: Path, keyboard_module: Any) -> None:
    path = folder / "run.ngrams.safetensors"
    ours, trie = keyboard_module.Ngrams(path), open_trie(path)
    words = np.random.default_rng(0).integers(trie.vocabulary_size, size=60)
    text = np.concatenate([wordtie.load(folder / "run").tokenizer.encode("the cat sat on the mat\n" * 3), words])
    rows, state = ours.start(), trie.start(1)
    for word in text.tolist():
        np.testing.assert_allclose(ours.probabilities(rows), trie.probabilities(state)[0], rtol=1e-12)
        rows, state = ours.after(rows, word), trie.score(np.array([[word]]), state)[1][-1]
        assert rows == state[0].tolist()


def test_running_text_begins_without_a_context(folder: Path, keyboard_module: Any, monkeypatch: Any) -> None:
    """Its first word, the only one that follows the only start, is no likelier than elsewhere."""
    monkeypatch.chdir(folder)
    made = ["--order", "3", "--data.tokenisation", "space", "--sentences", "false", "--overwrite"]
    assert cli.main(["ngram", "text", "--out", "running", *made]) == 0
    path = folder / "running" / "model.safetensors"
    ours, trie = keyboard_module.Ngrams(path), open_trie(path)
    assert trie.eos_id is None
    assert ours.start() == trie.start(1)[0].tolist()
    np.testing.assert_allclose(ours.probabilities(ours.start()), trie.probabilities(trie.start(1))[0], rtol=1e-12)


def test_words_that_are_blocked(folder: Path, keyboard_module: Any) -> None:
    keyboard = keyboard_module.Keyboard(folder / "run.onnx", top=99, blocked=["CAT"])
    words = [word for word, _ in keyboard.suggestions()]
    assert "dog" in words
    assert not {"cat", "<unk>", "<eos>"} & set(words)


def test_it_needs_neither_torch_nor_wordtie_and_counts_keys_as_wordtie_does(folder: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("\n".join(LINES))
    code = f"""
import runpy, sys
sys.modules["torch"] = sys.modules["wordtie"] = None
sys.argv = ["keyboard.py", {str(folder / "run.onnx")!r}, "--top", "2", "--measure", {str(text)!r}]
runpy.run_path({str(EXAMPLE)!r}, run_name="__main__")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    model = wordtie.load(folder / "run")
    expected = keystrokes(model.model, model.tokenizer, LINES, 2)
    assert (found["keys"], found["without"]) == (expected.keys, expected.without)
    assert found["saved"] == pytest.approx(expected.saved)
    assert 0 < found["p50_ms"] <= found["p99_ms"]


def test_someone_types_in_a_terminal(folder: Path) -> None:
    """`the`, then the first suggestion that begins with c, then the end."""
    controller, terminal = pty.openpty()
    command = [sys.executable, str(EXAMPLE), str(folder / "run.onnx")]
    running = subprocess.Popen(command, stdin=terminal, stdout=subprocess.PIPE, bufsize=0)
    os.close(terminal)
    assert running.stdout is not None
    shown = b""
    try:
        for key in (b"t", b"h", b"e", b" ", b"c", b"1", b"\n", b"\x04"):
            while not shown.endswith(b"]"):  # the suggestions, before the next key is pressed
                more = running.stdout.read(1)
                assert more, shown
                shown += more
            os.write(controller, key)
            shown += b" "
        shown += running.stdout.read()
        assert running.wait(timeout=20) == 0
    finally:
        running.kill()
        running.stdout.close()
        os.close(controller)
    assert b"the c_    [1 cat" in shown
    assert b"\033[Kthe cat\n" in shown


def test_a_missing_file_and_no_terminal_are_said_in_a_line(folder: Path) -> None:
    for arguments, says in ((["gone.onnx"], "gone.onnx: there is no such file"), (["run.onnx"], "from a terminal")):
        command = [sys.executable, str(EXAMPLE), *arguments]
        done = subprocess.run(
            command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        assert (done.returncode, "Traceback" in done.stderr, says in done.stderr) == (2, False, True)
