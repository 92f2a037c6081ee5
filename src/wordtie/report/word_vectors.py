"""The evidence on word vectors: press-wolf-2017 tables 2 to 4 and gulordava-2018 table 3, on the text at hand.

    python -m wordtie.report.word_vectors                                    word2vec on IMDB, six runs
    python -m wordtie.report.word_vectors --untied RUN --tied RUN            and a language model's vectors
    python -m wordtie.report.word_vectors --only cbow-tied-linear            one of them

Each run writes results/word-vectors/NAME.json; a run whose result is there, of the same settings, is not repeated, so
that the same command goes on after a stop. IMDB stands in for text8 and Wikipedia: the published numbers are beside
ours to compare their shape.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from wordtie.config import DataSettings
from wordtie.evaluation.embedding_agreement import agreement
from wordtie.evaluation.word_similarity import difference, read_benchmark, similarity
from wordtie.models.word2vec_settings import Word2VecSettings
from wordtie.models.word_vectors import WordVectors
from wordtie.papers import gulordava_2018, press_wolf_2017_vectors
from wordtie.report.machine import machine, versions
from wordtie.text.files import write_text
from wordtie.training.run_folder import MANIFEST
from wordtie.training.word2vec_run import train_word2vec
from wordtie.uses.benchmarks import standard
from wordtie.uses.vectors import sides, vectors_of

DATA = DataSettings(corpus="imdb", lowercase=True, min_count=5)
COMMON = Word2VecSettings(vector_size=300, epochs=5)
ROWS: dict[str, Word2VecSettings] = {
    "skipgram-untied": replace(COMMON, algorithm="skipgram", head="untied"),
    "skipgram-tied": replace(COMMON, algorithm="skipgram", head="tied"),
    "skipgram-tied-linear": replace(COMMON, algorithm="skipgram", head="tied_linear"),
    "cbow-untied": replace(COMMON, algorithm="cbow", head="untied"),
    "cbow-tied": replace(COMMON, algorithm="cbow", head="tied"),
    "cbow-tied-linear": replace(COMMON, algorithm="cbow", head="tied_linear"),
}
PUBLISHED = {
    "press-wolf-2017 table 2, skip-gram on text8": press_wolf_2017_vectors.TABLE_2,
    "press-wolf-2017 table 3, small language model": press_wolf_2017_vectors.TABLE_3,
    "press-wolf-2017 table 4, agreement": press_wolf_2017_vectors.TABLE_4,
    "gulordava-2018 table 3, 100M words of Wikipedia (SimLex, RW, MEN)": gulordava_2018.TABLE_3,
}


def main(argv: list[str] | None = None) -> None:
    """Run what is missing, then compare."""
    parser = argparse.ArgumentParser("python -m wordtie.report.word_vectors", description=__doc__)
    parser.add_argument("--only", choices=list(ROWS), action="append", help="this run; may be repeated")
    parser.add_argument("--corpus", default=DATA.corpus, help="another text, for a trial")
    parser.add_argument("--runs", type=Path, default=Path("runs/word-vectors"))
    parser.add_argument("--results", type=Path, default=Path("results/word-vectors"))
    parser.add_argument("--untied", type=Path, help="run folder of a language model with two matrices")
    parser.add_argument("--tied", type=Path, help="run folder of the same model, tied")
    arguments = parser.parse_args(argv)
    arguments.results.mkdir(parents=True, exist_ok=True)
    data = replace(DATA, corpus=arguments.corpus)
    for name in arguments.only or ROWS:
        run_row(name, data, arguments.runs / name, arguments.results / f"{name}.json")
    folders = {name: arguments.runs / name for name in ROWS}
    if all((folder / MANIFEST).exists() for folder in folders.values()):
        for algorithm in ("skipgram", "cbow"):
            named = {head: folders[f"{algorithm}-{head}"] for head in ("untied", "tied", "tied-linear")}
            compare(f"compared-{algorithm}", named, arguments.results)
    if arguments.untied and arguments.tied:
        models = {"untied": arguments.untied, "tied": arguments.tied}
        compare(f"compared-{arguments.untied.name}", models, arguments.results)


def run_row(name: str, data: DataSettings, folder: Path, result: Path) -> None:
    """Train and measure a row, unless its result is there."""
    asked = {"data": asdict(data), "word2vec": asdict(ROWS[name])}
    if result.exists() and json.loads(result.read_text(encoding="utf-8"))["settings"] == _plain(asked):
        print(f"{name}: already there", file=sys.stderr)
        return
    print(f"{name}: training", file=sys.stderr)
    trained = train_word2vec(data, ROWS[name], folder, overwrite=True)
    found = {side.name.rpartition(":")[2]: side for side in sides(folder)}
    write(result, {"row": name, "settings": asked, "training": asdict(trained), "similarity": judged(found)})


def compare(name: str, runs: Mapping[str, Path], results: Path) -> None:
    """Paired differences from the untied input vectors, and the agreement of all sets of vectors."""
    sets: dict[str, WordVectors] = {}
    for run, folder in runs.items():
        if run == "untied":
            sets |= {side: vectors_of(folder, side) for side in ("input", "output")}
        else:
            sets[run] = vectors_of(folder)
    first = sets["input"]
    others = {key: vectors for key, vectors in sets.items() if key != "input"}
    pairs = [(a, b) for number, a in enumerate(sets) for b in list(sets)[number + 1 :]]
    content = {
        "runs": {run: str(folder) for run, folder in runs.items()},
        "similarity": judged(sets),
        "input_minus": {
            benchmark: {key: asdict(difference(first, each, read_benchmark(file))) for key, each in others.items()}
            for benchmark, file in standard().items()
        },
        "agreement": {f"{a}~{b}": asdict(agreement(sets[a], sets[b])) for a, b in pairs},
        "published": PUBLISHED,
    }
    write(results / f"{name}.json", content)


def judged(sets: Mapping[str, WordVectors]) -> dict[str, dict[str, Any]]:
    """Benchmark to set to its rho, interval and coverage."""
    return {
        benchmark: {key: asdict(similarity(vectors, read_benchmark(file))) for key, vectors in sets.items()}
        for benchmark, file in standard().items()
    }


def write(path: Path, content: dict[str, Any]) -> None:
    """With the versions and the machine."""
    whole = _plain({**content, **versions(), "machine": machine()})
    write_text(path, json.dumps(whole, indent=2, ensure_ascii=False) + "\n")
    print(path)


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value, default=str))


if __name__ == "__main__":
    main()
