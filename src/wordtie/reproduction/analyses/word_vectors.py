r"""The evidence on word vectors: press-wolf-2017 tables 2 to 4 and gulordava-2018 table 3, on an available text.

    python -m wordtie.reproduction.analyses.word_vectors                             word2vec on IMDB, six runs
    python -m wordtie.reproduction.analyses.word_vectors --untied RUN --tied RUN     and a language model's vectors
    python -m wordtie.reproduction.analyses.word_vectors --only cbow-tied-linear     one of them
    python -m wordtie.reproduction.analyses.word_vectors --corpus novel.txt --epochs 1 --vector-size 50 \
        --runs try/runs --results try

Each run writes results/word-vectors/NAME.json. A run whose result is there, with the same settings and text (older
results do not name their text), is not repeated, so the same command continues after a stop; only the interrupted run
is lost. The table at the end shows Spearman's rho of every such result. IMDB replaces text8 and Wikipedia; the
published numbers are shown to compare the pattern.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from wordtie.config import DataSettings, plain_values
from wordtie.data.prepare import prepare
from wordtie.errors import DataError, RunFolderError
from wordtie.exits import exit_code_of
from wordtie.reproduction.ledger.ledger import write_sealed
from wordtie.reproduction.render.word_vectors_table import COMPARED, DOCUMENT, LANGUAGE_MODEL, read, update
from wordtie.runs.checkpoint import tensors_sha256
from wordtie.runs.layout import MANIFEST
from wordtie.runs.provenance import machine, versions
from wordtie.runs.run_folder import read_model
from wordtie.vectors.agreement import agreement_of
from wordtie.vectors.benchmarks import standard
from wordtie.vectors.extraction import sides, vectors_of
from wordtie.vectors.similarity import difference, read_benchmark, similarity_of
from wordtie.vectors.word_vectors import WordVectors
from wordtie.word2vec.run import KIND, train_word2vec
from wordtie.word2vec.settings import Word2VecSettings, with_min_count

RUNS, RESULTS = Path("runs/word-vectors"), Path("results/word-vectors")
DATA = DataSettings(corpus="imdb", lowercase=True, min_count=5)
COMMON = Word2VecSettings(vector_size=300, epochs=5)
"""300 dimensions are gulordava-2018's, `min_count` is press-wolf-2017's; neither paper gives more, so the rest are
gensim's defaults."""
ROWS: dict[str, Word2VecSettings] = {
    "skipgram-untied": replace(COMMON, algorithm="skipgram", head="untied"),
    "skipgram-tied": replace(COMMON, algorithm="skipgram", head="tied"),
    "skipgram-tied-linear": replace(COMMON, algorithm="skipgram", head="tied_linear"),
    "cbow-untied": replace(COMMON, algorithm="cbow", head="untied"),
    "cbow-tied": replace(COMMON, algorithm="cbow", head="tied"),
    "cbow-tied-linear": replace(COMMON, algorithm="cbow", head="tied_linear"),
}


def main(argv: list[str] | None = None) -> None:
    """Run what is missing, then compare. Raises `WordtieError` for errors that the user can fix."""
    arguments = parse(argv)
    standard()  # so that a missing benchmark is found before the training, not after
    versions()  # of what is loaded now, whatever is committed meanwhile
    data = replace(DATA, corpus=arguments.corpus)
    changed = {"vector_size": arguments.vector_size, "epochs": arguments.epochs, "workers": arguments.workers}
    rows = {name: replace(settings, **changed) for name, settings in ROWS.items()}
    runs, results = arguments.runs, arguments.results
    for name in arguments.only or rows:
        run_row(name, data, rows[name], runs / name, results / f"{name}.json")
    there = [name for name in rows if is_there(results / f"{name}.json", data, rows[name])]
    for algorithm in ("skipgram", "cbow"):
        named = {head: f"{algorithm}-{head}" for head in ("untied", "tied", "tied-linear")}
        missing = [name for name in named.values() if name not in there or not (runs / name / MANIFEST).exists()]
        if missing:
            print(f"{COMPARED}{algorithm}: waits for the runs {', '.join(missing)} in {runs}", file=sys.stderr)
        else:
            compare(f"{COMPARED}{algorithm}", {head: runs / name for head, name in named.items()}, results)
    if arguments.untied:
        compare(f"{COMPARED}{LANGUAGE_MODEL}", {"untied": arguments.untied, "tied": arguments.tied}, results)
    print_table([results / f"{name}.json" for name in there])
    others = [name for name in rows if name not in there and (results / f"{name}.json").exists()]
    if others:
        print(f"{', '.join(others)}: of another text or other settings: run without --only", file=sys.stderr)
    elif results == RESULTS:
        update(DOCUMENT, results)


def parse(argv: list[str] | None) -> argparse.Namespace:
    """Parse the command line. Raises `SystemExit` if it is invalid."""
    parser = argparse.ArgumentParser(
        "python -m wordtie.reproduction.analyses.word_vectors",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    trial = "; a trial, with its own --runs and --results"
    parser.add_argument("--only", choices=list(ROWS), action="append", help="this run; may be repeated")
    parser.add_argument("--workers", type=int, default=1, help="threads (1: the same bits every time)")
    parser.add_argument("--runs", type=Path, default=RUNS, help=f"where the models go ({RUNS})")
    parser.add_argument("--results", type=Path, default=RESULTS, help=f"where the results go ({RESULTS})")
    parser.add_argument("--corpus", default=DATA.corpus, help=f"another text{trial}")
    parser.add_argument("--vector-size", type=int, default=COMMON.vector_size, help=f"another size{trial}")
    parser.add_argument("--epochs", type=int, default=COMMON.epochs, help=f"another number{trial}")
    parser.add_argument("--untied", type=Path, help="run folder of a language model with two matrices")
    parser.add_argument("--tied", type=Path, help="run folder of the same model, tied")
    arguments = parser.parse_args(argv)
    asked = arguments.corpus, arguments.vector_size, arguments.epochs
    usual = asked == (DATA.corpus, COMMON.vector_size, COMMON.epochs)
    if not usual and (arguments.runs == RUNS or arguments.results == RESULTS):
        parser.error("a trial would replace the results of the whole: give it its own --runs and --results")
    if (arguments.untied is None) != (arguments.tied is None):
        parser.error("--untied and --tied go together: give both run folders")
    return arguments


def run_row(name: str, data: DataSettings, settings: Word2VecSettings, folder: Path, result: Path) -> None:
    """Train and measure a row, unless its result is there."""
    if is_there(result, data, settings):
        print(f"{name}: already there", file=sys.stderr)
        return
    print(f"{name}: training", file=sys.stderr)
    trained = train_word2vec(data, settings, folder, mode="overwrite")
    training = {key: value for key, value in asdict(trained).items() if key != "folder"}
    content = {"row": name, "settings": asked_of(data, settings), "texts": texts_of(folder), "training": training}
    write(result, {**content, "similarity": judged(sides(folder))})


def asked_of(data: DataSettings, settings: Word2VecSettings) -> Any:
    """Return the settings that identify a result, as plain JSON values."""
    return _plain({"data": asdict(data), "word2vec": asdict(settings) | {"alpha": settings.rate}})


def is_there(result: Path, data: DataSettings, settings: Word2VecSettings) -> bool:
    """Whether the file has the result for these settings, except the number of threads, and for the present text.

    Raises `LedgerError` if it is not as the program wrote it. An older result, which does not name its text, is
    assumed to be of this one.
    """
    if not result.exists():
        return False
    content = read(result)
    found = content["settings"]
    found["data"] = plain_values(DataSettings()) | found["data"]  # older results lack newer settings
    found["word2vec"]["workers"] = settings.workers
    if found != asked_of(data, settings):
        return False
    return "texts" not in content or bool(content["texts"] == prepare(with_min_count(data)).texts)


def texts_of(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of the text of each split that a run folder's model was trained with."""
    return read_model(folder, KIND)[0].get("texts", {})


def print_table(results: Sequence[Path]) -> None:
    """Print Spearman's rho on each benchmark, tab-separated, one line for each set of vectors."""
    rows = [read(path) for path in results]
    names = list(standard())
    print("\t".join(["row", "vectors", "loss", *names]))
    for row in rows:
        for side in row["similarity"][names[0]]:
            rhos = [f"{row['similarity'][name][side]['rho']:.3f}" for name in names]
            print("\t".join([row["row"], side, f"{row['training']['losses'][-1]:.3f}", *rhos]))


def compare(name: str, runs: Mapping[str, Path], results: Path) -> None:
    """Write the paired differences from the untied input vectors, and the agreement of all sets of vectors.

    Raises `RunFolderError` for a run folder with other weights than those of its row in `results`.
    """
    sets: dict[str, WordVectors] = {}
    for run, folder in runs.items():
        if name != f"{COMPARED}{LANGUAGE_MODEL}":  # which has no row
            check_weights(folder, results / f"{folder.name}.json")
        sets |= sides(folder) if run == "untied" else {run: vectors_of(folder, "tied")}
        if "input" not in sets:
            raise DataError(f"{folder}: is tied: it goes with --tied")
    first = sets["input"]
    others = {key: vectors for key, vectors in sets.items() if key != "input"}
    pairs = [(a, b) for number, a in enumerate(sets) for b in list(sets)[number + 1 :]]
    content = {
        "runs": {run: folder.name for run, folder in runs.items()},
        "similarity": judged(sets),
        "input_minus": {
            benchmark: {key: asdict(difference(first, each, read_benchmark(file))) for key, each in others.items()}
            for benchmark, file in standard().items()
        },
        "agreement": {f"{a}~{b}": asdict(agreement_of(sets[a], sets[b])) for a, b in pairs},
    }
    write(results / f"{name}.json", content)


def check_weights(folder: Path, result: Path) -> None:
    """Raise `RunFolderError` unless the run folder has the model of the result."""
    if tensors_sha256(read_model(folder, KIND)[1]) != read(result)["training"]["weights_sha256"]:
        hint = f"take the folder from a copy, or remove {result} and run this again"
        raise RunFolderError(f"{folder}: has other weights than {result} was measured on: {hint}")


def judged(sets: Mapping[str, WordVectors]) -> dict[str, dict[str, Any]]:
    """Return rho, interval and coverage by benchmark and set of vectors."""
    return {
        benchmark: {key: asdict(similarity_of(vectors, read_benchmark(file))) for key, vectors in sets.items()}
        for benchmark, file in standard().items()
    }


def write(path: Path, content: dict[str, Any]) -> None:
    """Write the content with versions and machine, sealed like the ledger's entries."""
    write_sealed(path, _plain({**content, **versions(), "machine": machine()}))
    print(path)


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value, default=str))


if __name__ == "__main__":
    sys.exit(exit_code_of(main))
