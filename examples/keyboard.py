#!/usr/bin/env python3
"""A keyboard that suggests words, with onnxruntime and numpy alone: no torch, and no wordtie.

    wordtie export onnx runs/novel novel.onnx --eight-bits
    python examples/keyboard.py novel.onnx                       type; 1, 2 and 3 take a suggestion
    python examples/keyboard.py novel.onnx --measure novel.txt   latency for each key, and keys saved

`Keyboard` is what an application needs: `type` text, and ask for `suggestions`. The state of the network is kept, so a
word is read once, and a letter only filters what is known already. N-grams are mixed in if `novel.ngrams.safetensors`
lies beside the model, where `wordtie export onnx` puts it.

Shapes: V words of the vocabulary, C contexts and G n-grams of one order.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

BLOCK = 16
"""Contexts between two whose first n-gram is stored."""


class Ngrams:
    """An n-gram model in the file that wordtie writes, mapped into memory. Its state is a row for each order."""

    def __init__(self, path: Path) -> None:
        content = np.memmap(path, np.uint8, "r")
        size = int(content[:8].view(np.uint64)[0])
        header = json.loads(content[8 : 8 + size].tobytes())
        about = header.pop("__metadata__")
        dtypes = {"U8": np.uint8, "U16": np.uint16, "U32": np.uint32, "U64": np.uint64, "F64": np.float64}
        arrays = {
            name: np.frombuffer(content[8 + size + begin : 8 + size + end], dtypes[entry["dtype"]])
            for name, entry in header.items()
            for begin, end in [entry["data_offsets"]]
        }
        self.unigram_V = arrays["unigram"]
        self.eos_id = json.loads(about["eos_id"])
        self.levels = [
            {name.partition(".")[2]: array for name, array in arrays.items() if name.startswith(f"{order}.")}
            for order in range(2, int(about["order"]) + 1)
        ]

    def start(self) -> list[int]:
        """The state at the start of a sentence. Running text, whose one start says nothing, begins without it."""
        first = -1 if self.eos_id is None else len(self.unigram_V)
        return [first, *[-1] * (len(self.levels) - 1)][: len(self.levels)]

    def probabilities(self, rows: list[int]) -> np.ndarray[Any, Any]:
        """p of every word, (V,): p(w | h) = kept(hw) / total(h) + backoff(h) p(w | h')."""
        p_V = self.unigram_V.copy()
        for level, row in zip(self.levels, rows, strict=True):
            if row >= 0:
                begin, end, group = self._span(level, row)
                p_V *= level["backoff"][group]
                p_V[self._words(level, begin, end)] += (
                    level["kept"][level["count_G"][begin:end]] / level["total"][group]
                )
        return p_V

    def after(self, rows: list[int], word: int) -> list[int]:
        """The state after one more word."""
        if word == self.eos_id:
            return self.start()
        new = [word]
        for level, row in zip(self.levels[:-1], rows, strict=False):
            begin, end, _ = self._span(level, row) if row >= 0 else (0, 0, 0)
            place = begin + int(np.searchsorted(words := self._words(level, begin, end), word))
            new.append(place if place < end and words[place - begin] == word else -1)
        return new[: len(self.levels)]

    def _span(self, level: dict[str, Any], context: int) -> tuple[int, int, int]:
        """Where the n-grams that extend a context begin and end, and the group of the context."""
        block, place = divmod(context, BLOCK)
        before = level["group_C"][block * BLOCK : block * BLOCK + place]
        begin = int(level["first_child"][block]) + int(level["children"][before].sum())
        group = int(level["group_C"][context])
        return begin, begin + int(level["children"][group]), group

    def _words(self, level: dict[str, Any], begin: int, end: int) -> np.ndarray[Any, Any]:
        """Last words, rising."""
        words = level["word_G"][begin:end].astype(np.int64)
        return words | level["high_G"][begin:end].astype(np.int64) << 16 if len(level["high_G"]) else words


class Keyboard:
    """Suggestions for a text that is being typed."""

    def __init__(self, model: Path, top: int = 3, blocked: Collection[str] = (), threads: int = 1) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self.session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        about = self.session.get_modelmeta().custom_metadata_map
        self.words = about["words"].split("\n")
        self.ids = {word: number for number, word in enumerate(self.words)}
        self.eos, self.unk = int(about["eos_id"]), int(about["unk_id"])
        self.pattern, self.sentences = re.compile(about["pattern"]), about["sentences"] == "1"
        self.lowercase, self.composed = about["lowercase"] == "1", about["composed"] == "1"
        self.replaced = [(re.compile(found), new) for found, new in json.loads(about["replaced"])]
        ngrams = model.with_name(model.name.removesuffix(".onnx") + ".ngrams.safetensors")
        self.ngrams = Ngrams(ngrams) if ngrams.exists() else None
        self.weights = json.loads(about.get("weights", "[[1, 0]]"))
        self.top = top
        folded = {("".join(self.split(word)) or word).casefold() for word in blocked}
        self.allowed_V = np.array([word.casefold() not in folded for word in self.words])
        self.allowed_V[[self.eos, self.unk]] = False
        order = sorted(range(len(self.words)), key=lambda number: self.words[number].casefold())
        self.sorted_ids, self.sorted_words = np.array(order), [self.words[number].casefold() for number in order]
        self.start()

    def start(self) -> None:
        """Forget what was typed."""
        self.state = {
            each.name: np.zeros((1, each.shape[1]), np.float32)
            for each in self.session.get_inputs()
            if each.name != "word"
        }
        self.rows = self.ngrams.start() if self.ngrams else []
        self._step(self.eos)

    def read(self, word: str) -> None:
        """One more word has been typed to its end, or taken."""
        number = self.ids.get(word, self.unk)
        if self.ngrams:
            self.rows = self.ngrams.after(self.rows, number)
        self._step(number)

    def suggestions(self, prefix: str = "") -> list[tuple[str, float]]:
        """(word, probability) of the likeliest words that begin with these letters."""
        folded = prefix.casefold()
        first = bisect_left(self.sorted_words, folded)
        end = bisect_right(self.sorted_words, folded, first, key=lambda word: word[: len(folded)])
        ids = np.sort(self.sorted_ids[first:end])
        ids = ids[self.allowed_V[ids]]
        if prefix != prefix.lower():  # a capital finds only words that are written so
            ids = ids[[self.words[number].startswith(prefix) for number in ids]]
        p_K = self.p_V[ids]
        if len(ids) > 4 * self.top:  # sort only what may come first
            likely = np.flatnonzero(p_K >= np.partition(p_K, -self.top)[-self.top])
            ids, p_K = ids[likely], p_K[likely]
        best = np.argsort(-p_K, kind="stable")[: self.top]
        return [(self.words[number], float(p)) for number, p in zip(ids[best], p_K[best], strict=True)]

    def split(self, text: str) -> list[str]:
        """The words of a text, as the model was trained to see them."""
        if not text.isascii():
            text = unicodedata.normalize("NFC", text) if self.composed else text
            for pattern, new in self.replaced:
                text = pattern.sub(new, text)
        return self.pattern.findall(text.replace("Σ", "σ").lower() if self.lowercase else text)

    def _step(self, word: int) -> None:
        log_p_1V, *after = self.session.run(None, {"word": np.array([word], np.int64), **self.state})
        self.state = dict(zip(self.state, after, strict=True))
        self.p_V = np.exp(log_p_1V[0], dtype=np.float64)
        if self.ngrams:
            known = sum(row >= 0 for row in self.rows)  # of the last words, how many were seen together
            network, ngrams = self.weights[max(0, known - 1) if len(self.weights) > 1 else 0]
            self.p_V = network * self.p_V + ngrams * self.ngrams.probabilities(self.rows)


def keys_of(keyboard: Keyboard, lines: Iterable[str]) -> Iterator[tuple[int, int, list[float]]]:
    """Type a text: for each word the keys with suggestions, those without, and the seconds that each took.

    As `wordtie evaluate --keystrokes` counts them: a suggestion is taken as soon as it is the word.
    """
    for line in lines:
        for stretch in line.split():
            words = keyboard.split(stretch)
            for place, word in enumerate(words):
                if keyboard.ids.get(word) in (keyboard.eos, keyboard.unk):
                    keyboard.read(word)
                    continue
                in_full = len(word) + (place == len(words) - 1)
                seconds, pressed = [], in_full
                for letters in range(len(word)):
                    started = time.perf_counter()
                    offered = [each for each, _ in keyboard.suggestions(word[:letters])]
                    seconds.append(time.perf_counter() - started)
                    if word in offered:
                        pressed = min(in_full, letters + 1)
                        break
                started = time.perf_counter()
                keyboard.read(word)  # with the key that ends the word or takes it
                seconds[0] += time.perf_counter() - started
                yield pressed, in_full, seconds
        if keyboard.sentences:
            keyboard.read(keyboard.words[keyboard.eos])


def measure(keyboard: Keyboard, lines: Iterable[str]) -> dict[str, float]:
    """Keys, and milliseconds a key: half of the keys, and all but one in a hundred, take at most so long."""
    typed = list(keys_of(keyboard, lines))
    if not typed:
        sys.exit("the text has no words to type")
    pressed, in_full, seconds = zip(*typed, strict=True)
    of_keys = 1000 * np.concatenate(seconds)
    return {
        "keys": sum(pressed),
        "without": sum(in_full),
        "saved": 1 - sum(pressed) / sum(in_full),
        "p50_ms": float(np.percentile(of_keys, 50)),
        "p99_ms": float(np.percentile(of_keys, 99)),
    }


def interact(keyboard: Keyboard) -> None:
    """Read keys from the terminal. Digits take a suggestion, return ends the line, Ctrl-D the program."""
    import termios
    import tty

    before = termios.tcgetattr(sys.stdin)
    words, letters = list[str](), ""
    print("1 to 9 take a suggestion, return ends a sentence, Ctrl-D ends")
    try:
        tty.setcbreak(sys.stdin)
        while True:
            offered = [word for word, _ in keyboard.suggestions("".join(keyboard.split(letters)))]
            shown = "  ".join(f"{number} {word}" for number, word in enumerate(offered, 1))
            print(f"\r\033[K{' '.join(words)} {letters}_    [{shown}]", end="", flush=True)
            key = sys.stdin.read(1)
            if key in ("", "\x04"):
                break
            if key == "\x7f":
                letters = letters[:-1]
            elif key in "123456789" and not letters.isdigit() and 1 <= int(key) <= len(offered):
                words.append(offered[int(key) - 1])
                keyboard.read(words[-1])
                letters = ""
            elif key.isspace():
                for word in keyboard.split(letters):
                    words.append(word)
                    keyboard.read(word)
                letters = ""
                if key == "\n":
                    print(f"\r\033[K{' '.join(words)}")
                    words = []
                    if keyboard.sentences:
                        keyboard.read(keyboard.words[keyboard.eos])
            else:
                letters += key
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
        print()


def main() -> None:
    """Type, or measure."""
    parser = argparse.ArgumentParser(description="A keyboard that suggests words.")
    parser.add_argument("model", type=Path, help="what `wordtie export onnx` wrote")
    parser.add_argument("--top", type=int, default=3, help="suggestions at a time (3)")
    parser.add_argument("--blocked", type=Path, help="words that are never suggested, one a line")
    parser.add_argument("--measure", type=Path, metavar="TEXT", help="type this text, and print keys and latency")
    arguments = parser.parse_args()
    for path in (arguments.model, arguments.blocked, arguments.measure):
        if path and not path.is_file():
            parser.error(f"{path}: there is no such file")
    if not arguments.measure and not sys.stdin.isatty():
        parser.error("keys are read from a terminal; --measure types a text")
    blocked = arguments.blocked.read_text(encoding="utf-8-sig").split() if arguments.blocked else []
    keyboard = Keyboard(arguments.model, arguments.top, blocked)
    if arguments.measure:
        with arguments.measure.open(encoding="utf-8") as lines:
            print(json.dumps(measure(keyboard, lines), indent=2))
    else:
        interact(keyboard)


if __name__ == "__main__":
    main()
