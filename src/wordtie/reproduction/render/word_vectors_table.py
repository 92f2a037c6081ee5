"""The tables of `docs/word-vectors.md`: the text between the markers is made from `results/word-vectors/`.

`wordtie.reproduction.analyses.word_vectors` writes both, and `wordtie reproduce check` checks that they agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from wordtie.reproduction.ledger.ledger import LedgerError, read_sealed
from wordtie.reproduction.papers.gulordava_2018 import TABLE_3 as GULORDAVA
from wordtie.reproduction.papers.press_wolf_2017_vectors import BENCHMARKS, TABLE_2, TABLE_3, TABLE_4
from wordtie.reproduction.render import generated_blocks
from wordtie.reproduction.render.tables import table_line

DOCUMENT = Path("docs", "word-vectors.md")
BEGIN = "<!-- word vectors: begin (made by `python -m wordtie.reproduction.analyses.word_vectors`; do not edit) -->"
END = "<!-- word vectors: end -->"
HINT = "restore it from a copy, or remove it and run `python -m wordtie.reproduction.analyses.word_vectors`"
RESULTS = "word-vectors"
"""Folder of these results, inside that of the ledger."""
OF_GULORDAVA = ("SimLex-999", "Rare-Word", "MEN")
"""Benchmarks in that paper's table, in its order."""
COMPARED, LANGUAGE_MODEL = "compared-", "language-model"
"""Prefix of a comparison's file, `compared-NAME`, and NAME of the language model's comparison."""


def update(document: Path, results: Path) -> None:
    """Rewrite the document's tables, if the document exists."""
    generated_blocks.replace(document, BEGIN, END, tables(results))


def damage(results: Path) -> list[str]:
    """Return the problems of results that are not as the program wrote them."""
    problems = []
    for path in sorted(results.glob("*.json")):
        try:
            read(path)
        except LedgerError as error:
            problems.append(str(error))
    return problems


def check(document: Path, results: Path) -> list[str]:
    """Return a problem if the document does not match the results."""
    found = generated_blocks.parts(document, BEGIN, END)
    if found is None:
        return [f"{document}: missing, or without its markers"]
    says = found[1] == f"\n{tables(results)}"
    return (
        []
        if says
        else [
            f"{document}: does not say what {results}/ says: run `python -m wordtie.reproduction.analyses.word_vectors`"
        ]
    )


def tables(results: Path) -> str:
    """Return all tables, from the results that are there."""
    rows = [read(path) for path in sorted(results.glob("*.json")) if not path.name.startswith(COMPARED)]
    lines = [table_line(("text", "model", "vectors", "loss", *BENCHMARKS)), table_line(["---"] * (4 + len(BENCHMARKS)))]
    for row in rows:
        settings = row["settings"]
        model = f"{settings['word2vec']['algorithm']} {settings['word2vec']['head']}"
        found = row["similarity"]
        for side in found[BENCHMARKS[0]]:
            rhos = (f"{found[name][side]['rho']:.2f}" for name in BENCHMARKS)
            lines.append(
                table_line((settings["data"]["corpus"], model, side, f"{row['training']['losses'][-1]:.2f}", *rhos))
            )
    lines += [table_line(each) for each in _published()]
    compared = {path.stem.removeprefix(COMPARED): read(path) for path in sorted(results.glob(f"{COMPARED}*.json"))}
    for name, content in compared.items():
        lines += ["", *_comparison(name, content)]
    return "\n".join(lines) + "\n"


def _published() -> Iterator[Iterable[str]]:
    for side, rhos in TABLE_2.items():
        yield "*text8*", "*skip-gram, Press & Wolf table 2*", side, "", *(f"{rho:.2f}" for rho in rhos)
    for model, three in GULORDAVA.items():
        given = dict(zip(OF_GULORDAVA, three, strict=True))
        numbers = (f"{given[name]:.2f}" if name in given else "" for name in BENCHMARKS)
        yield "*Wikipedia*", f"*{model}, Gulordava et al. table 3*", "", "", *numbers


def _comparison(name: str, content: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines on differences from the input vectors, with 95 % intervals, and on the sets' agreement."""
    language_model = name == LANGUAGE_MODEL
    sets = list(content["similarity"][BENCHMARKS[0]])
    runs = ", ".join(f"{head} {run}" for head, run in content["runs"].items())
    yield f"**{name}** ({runs}). First row: Spearman's ρ of the untied model's input vectors. Other rows: the"
    yield "difference from it, with its 95 % bootstrap interval over the same pairs."
    yield ""
    yield table_line(("vectors", *BENCHMARKS))
    yield table_line(["---"] * (1 + len(BENCHMARKS)))
    yield table_line(("input", *(f"{content['similarity'][each]['input']['rho']:.2f}" for each in BENCHMARKS)))
    for side in sets[1:]:
        yield table_line((side, *(_more(content["input_minus"][each][side]) for each in BENCHMARKS)))
    if language_model:
        for label, rhos in TABLE_3.items():
            if label.startswith("ptb-"):
                yield table_line((f"*Press & Wolf table 3: {label[4:]}*", *(f"{rho:.2f}" for rho in rhos)))
    agreements = ", ".join(f"{pair} {found['rho']:.2f}" for pair, found in content["agreement"].items())
    yield ""
    yield f"Agreement of all pairs of words: {agreements}."
    if language_model or "skipgram" in name:
        three = TABLE_4["small" if language_model else "word2vec"]
        pairs = zip(("input~output", "input~tied", "output~tied"), three, strict=True)
        yield f"Press & Wolf, table 4: {', '.join(f'{pair} {rho:.2f}' for pair, rho in pairs)}."


def _more(input_minus: Mapping[str, float]) -> str:
    low, high = -input_minus["high"], -input_minus["low"]
    return f"{-input_minus['difference']:+.2f} ({low:+.2f} to {high:+.2f})"


def read(path: Path) -> dict[str, Any]:
    """Read a result. Raises `LedgerError` if it is not as the program wrote it."""
    return read_sealed(path, HINT)
