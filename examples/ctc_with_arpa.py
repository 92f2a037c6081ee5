"""CTC beam search of pyctcdecode with KenLM and an ARPA file that wordtie wrote.

    pip install pyctcdecode kenlm
    wordtie export arpa runs/novel novel.arpa
    python examples/ctc_with_arpa.py novel.arpa "call me ishmael"

An ARPA file of a network or a mixture is an approximation: see docs/how-to/rescoring.md.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from emissions import LABELS, greedy, made_up_emissions
from pyctcdecode import build_ctcdecoder


def unigrams(arpa: str) -> list[str]:
    """The words of the file: pyctcdecode takes them as a list, to know words from beginnings of words."""
    lines = iter(Path(arpa).read_text(encoding="utf-8").splitlines())
    for line in lines:
        if line == "\\1-grams:":
            break
    fields = [line.split("\t") for line in iter(lambda: next(lines), "")]
    return [word for _, word, *_ in fields if word not in ("<s>", "</s>", "<unk>")]


def decode(arpa: str, log_p_TC: np.ndarray, alpha: float = 0.6, beta: float = 1.0) -> str:
    """The best text; `alpha` weighs log p of the words, `beta` is added for each."""
    decoder = build_ctcdecoder(LABELS, kenlm_model_path=arpa, unigrams=unigrams(arpa), alpha=alpha, beta=beta)
    return str(decoder.decode(log_p_TC.astype(np.float32)))


def main(arpa: str, text: str) -> None:
    """Print what is heard without and with the model."""
    log_p_TC = made_up_emissions(text)
    print(f"without a model   {greedy(log_p_TC)}")
    print(f"with {arpa:12} {decode(arpa, log_p_TC)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
