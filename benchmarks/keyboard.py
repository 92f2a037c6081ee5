"""Models for keyboards: what 8 bits cost and save, what a key waits for, and how many keys a network saves.

The text is the State of the Union. A network with n-grams is trained on 1.2 million words of it. Its test years are
measured in fp32 and in 8 bits, and typed with it and with its n-grams alone. Milliseconds are those of `en`, the model
that comes with wordtie, in `examples/keyboard.py`. ONNX Runtime has one thread.
"""

from __future__ import annotations

import atexit
import importlib.util
import shutil
import tempfile
from dataclasses import replace
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

import wordtie
from benchmarks.harness import Claim, Effort, Measurement, UnavailableError
from wordtie.data.catalogue import locate
from wordtie.data.reading import opened
from wordtie.inference.keystrokes import Keystrokes, keystrokes
from wordtie.inference.loading import LoadedModel, Part, load

EXAMPLE = Path(__file__).parent.parent / "examples" / "keyboard.py"
GOAL_SIZE = 1 / 0.3
"""fp32 over 8 bits."""
GOAL_KEY = 50.0
"""Milliseconds: half of what people notice as a delay (Miller 1968)."""
STREAMS, TOKENS, LINES = 16, 16_000, 150
TRAINING, TRAINED = 120.0, 1_200_000
"""Seconds for which size and dropout are planned, and tokens that are trained on, whatever else the machine does."""
PARTS: tuple[Part | None, ...] = (None, "network", "ngram")


def keyboard_module() -> Any:
    """`examples/keyboard.py`. Raises `UnavailableError` without its packages."""
    for package in ("onnx", "onnxruntime"):
        if importlib.util.find_spec(package) is None:
            raise UnavailableError(f"needs {package}: pip install {package}")
    spec = importlib.util.spec_from_file_location("keyboard", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def trained(tokens: int) -> Path:
    """The run folder of network and n-grams, trained once for all claims; it is removed as the program ends."""
    folder = tempfile.mkdtemp(prefix="wordtie-keyboard-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    planned = wordtie.plan("sotu", seconds=TRAINING).settings
    settings = replace(planned, training=replace(planned.training, tokens=tokens))
    wordtie.train(settings, Path(folder) / "run", ngram=5)
    return Path(folder) / "run"


def trained_in(effort: Effort) -> Path:
    """Its run folder."""
    return trained(TRAINED // 10 if effort.quick else TRAINED)


def export(run: str | Path, folder: Path, eight_bits: bool) -> tuple[Path, int]:
    """(The file of the network alone, its bytes)."""
    from wordtie.export.onnx_file import write_onnx

    written = write_onnx(run, folder / f"{eight_bits}.onnx", eight_bits=eight_bits)
    for other in written.files[1:]:
        other.unlink()
    return written.files[0], written.bytes


def text_lines(count: int) -> list[str]:
    """Lines of the test text that have words, as many of each speech."""
    sources = locate("sotu")["test"]
    found: list[str] = []
    for source in sources:
        with opened(source) as handle:
            lines = (line.decode().strip() for line in handle)
            found += islice(filter(None, lines), 1 + count // len(sources))
    return found[:count]


def perplexity(path: Path, ids_TB: np.ndarray[Any, np.dtype[np.int64]]) -> float:
    """Of streams side by side."""
    keyboard = keyboard_module().Keyboard(path)
    state = {name: np.repeat(np.zeros_like(value), ids_TB.shape[1], 0) for name, value in keyboard.state.items()}
    word_B, nats = np.full(ids_TB.shape[1], keyboard.eos), 0.0
    for next_B in ids_TB:
        log_p_BV, *after = keyboard.session.run(None, {"word": word_B, **state})
        nats -= float(log_p_BV[np.arange(len(next_B)), next_B].astype(np.float64).sum())
        word_B, state = next_B, dict(zip(state, after, strict=True))
    return float(np.exp(nats / ids_TB.size))


def measure_eight_bits(effort: Effort) -> Measurement:
    """Bytes in fp32 over those in 8 bits, and both perplexities."""
    keyboard_module()
    run, tokens = trained_in(effort), TOKENS // 8 if effort.quick else TOKENS
    text = "".join(f"{line}\n" for line in text_lines(10_000))
    ids_TB = load(run, without_torch=True).tokenizer.encode(text)[:tokens].astype(np.int64).reshape(STREAMS, -1).T
    with tempfile.TemporaryDirectory() as folder:
        whole, small = (export(run, Path(folder), bits) for bits in (False, True))
        of_whole, of_small = (perplexity(path, ids_TB) for path, _ in (whole, small))
    change = 100 * (of_small / of_whole - 1)
    note = f"perplexity {of_whole:.2f} in fp32, {of_small:.2f} in 8 bits ({change:+.2f} %), over {ids_TB.size:,} tokens"
    return Measurement(whole[1] / small[1], None, whole[1] / 1e6, small[1] / 1e6, "MB", note=note)


def measure_latency(effort: Effort) -> Measurement:
    """The goal over the milliseconds of all keys but one in a hundred."""
    module = keyboard_module()
    with tempfile.TemporaryDirectory() as folder:
        path, _ = export("en", Path(folder), eight_bits=True)
        found = module.measure(module.Keyboard(path), text_lines(10 if effort.quick else LINES))
    note = f"half of the keys take at most {found['p50_ms']:.2f} ms; 99 % of {found['keys']:,} keys"
    return Measurement(GOAL_KEY / found["p99_ms"], None, GOAL_KEY, found["p99_ms"], "ms", note=note)


def measure_keys(effort: Effort) -> Measurement:
    """Keys with the n-grams alone over those with network and n-grams."""
    lines = text_lines(10 if effort.quick else LINES)
    run = trained_in(effort)
    whole, network, ngrams = (_keys(load(run, part=part), lines) for part in PARTS)
    saved = partial("{:.1%}".format)
    note = (
        f"saved: {saved(whole.saved)} of {whole.without:,} keys; n-grams alone {saved(ngrams.saved)}, network alone "
        f"{saved(network.saved)}"
    )
    return Measurement(ngrams.keys / whole.keys, None, ngrams.keys, whole.keys, "keys", note=note)


def _keys(model: LoadedModel, lines: list[str]) -> Keystrokes:
    return keystrokes(model.model, model.tokenizer, lines, 3)


CLAIMS = (
    Claim("onnx-eight-bits", "ONNX file in 8 bits, against fp32", GOAL_SIZE, measure_eight_bits),
    Claim("keyboard-latency", "a key in `examples/keyboard.py`, 8 bits, against 50 ms", 1.0, measure_latency),
    Claim("keyboard-keys", "keys with three suggestions by network and 5-gram, against the 5-gram", 1.0, measure_keys),
)
