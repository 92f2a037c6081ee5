"""The documents' tables and figures: the text between markers is made from `results/`, and checked.

A document's markers name the sections that it contains: `results`, the papers' tables and figures
(`docs/reproduction.md`), or `methods`, `two-minutes` and `ten-minutes`, which compare methods (`docs/methods.md`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from wordtie.data.catalogue import known_texts
from wordtie.reproduction.ledger.ledger import is_stale, read_all, read_sound
from wordtie.reproduction.ledger.record import Entry
from wordtie.reproduction.ledger.status import RowState, states
from wordtie.reproduction.papers.minutes import GROUPS
from wordtie.reproduction.papers.registry import ROWS, of_group, of_methods, of_papers
from wordtie.reproduction.papers.row import Row, baseline_of
from wordtie.reproduction.render import generated_blocks, methods, minutes, plots, word_vectors_table
from wordtie.reproduction.render.figure import Figure
from wordtie.reproduction.render.overview import Overview, overview
from wordtie.reproduction.render.tables import markdown
from wordtie.storage.atomic import write_text

DOCUMENTS = (Path("docs", "reproduction.md"), Path("docs", "methods.md"))
HINT = "run `wordtie reproduce report`"


def markers(section: str) -> tuple[str, str]:
    """Return the comments that enclose a section."""
    return f"<!-- {section}: begin (made by `wordtie reproduce`; do not edit) -->", f"<!-- {section}: end -->"


def of_the_papers(rows: Sequence[RowState]) -> str:
    """Return the section `results` in Markdown."""
    every = overview(rows)
    first = _image(every) if every else ""
    images = [_image(figure) for figure in plots.papers_figures(rows)]
    return "\n".join([first, markdown(rows), *(["## Figures", "", *images] if images else [])]).strip() + "\n"


def _image(figure: Figure | Overview) -> str:
    return f"![{figure.title}](figures/{figure.name}.svg)\n\n{figure.title}.\n"


@dataclass(frozen=True)
class Section:
    """A generated part of a document."""

    rows: Callable[[], list[Row]]
    markdown: Callable[[Sequence[RowState]], str]
    tsv: Callable[[Sequence[RowState]], str] | None = None
    """Function that returns the same numbers as TSV; without it, the section has figures beside the document."""
    tsv_name: str = ""


SECTIONS = {
    "results": Section(of_papers, of_the_papers),
    "methods": Section(of_methods, methods.markdown, methods.tsv, methods.TSV),
    **{
        group.name: Section(
            partial(of_group, group),
            partial(minutes.markdown, group),
            partial(minutes.tsv, group),
            f"{group.name}.tsv",
        )
        for group in GROUPS
    },
}


def update(document: Path, results: Path) -> bool:
    """Rewrite the generated parts of the document; return False if it is missing or has no markers."""
    found = [section for section in SECTIONS if generated_blocks.parts(document, *markers(section))]
    entries = read_all(results) if found else []
    for section in found:
        rows = _rows(section, entries)
        generated_blocks.replace(document, *markers(section), SECTIONS[section].markdown(rows))
        for path, content, up_to_date in _files(section, rows, document, results):
            if not up_to_date:
                write_text(path, content())
    return bool(found)


def check(documents: Sequence[Path], results: Path) -> list[str]:
    """Return all problems: entries changed by hand or of no row, tables and figures that do not match."""
    entries, problems = read_sound(results)
    problems += [] if results.is_dir() else [f"{results}: no such folder"]
    problems += [problem for entry in entries if (problem := _problem(entry))]
    problems += word_vectors_table.damage(results / word_vectors_table.RESULTS)
    problems += _beside_another(entries) + _of_another_text(entries)
    if problems:
        return problems  # documents are not compared with damaged results
    for document in documents:
        found = {
            section: parts for section in SECTIONS if (parts := generated_blocks.parts(document, *markers(section)))
        }
        if not found:
            problems.append(f"{document}: missing, or without its markers")
        for section, (_, between, _) in found.items():
            rows = _rows(section, entries)
            if between != f"\n{SECTIONS[section].markdown(rows)}":
                problems.append(f"{document}: does not say what {results}/ says: {HINT}")
            files = list(_files(section, rows, document, results))
            problems += [f"{path}: is not made from {results}/: {HINT}" for path, _, right in files if not right]
            problems += _figures_of_nothing(section, rows, document)
    return problems


def _beside_another(entries: Sequence[Entry]) -> list[str]:
    """Report comparisons with vectors (in either reading of `small`) or a baseline that the ledger no longer has."""
    beside = {"small": ("small", "small-zaremba"), "untied": ("input",)}
    weights = {(entry["row"], entry["seed"]): entry.get("weights_sha256") for entry in entries}
    bleu = {
        (each["row"], each["seed"]): each.get("measures", {}).get("translation", {}).get("test_bleu")
        for each in entries
    }
    problems = []
    for entry in entries:
        table = entry["row"].rpartition("/")[0]
        for other, names in beside.items():
            measured = entry.get("measures", {}).get(f"agreement_with_{other}") or {}
            there = {weights.get((f"{table}/{name}", entry["seed"])) for name in names} - {None}
            if measured and there and measured[f"{other}_weights_sha256"] not in there:
                name = f"{entry['row']}.seed-{entry['seed']}"
                problems.append(f"{name}: was measured beside another `{names[0]}` than the ledger has: run it again")
        compared = entry.get("measures", {}).get("paired") or {}
        key, of = (baseline_of(entry["row"]), entry["seed"]), "baseline_weights_sha256"
        known = (
            (compared.get(of), weights.get(key)) if of in compared else (compared.get("baseline_bleu"), bleu.get(key))
        )
        if None not in known and known[0] != known[1]:  # earlier versions kept the BLEU alone
            name = f"{entry['row']}.seed-{entry['seed']}"
            problems.append(f"{name}: was compared with another baseline than the ledger has: run it again")
    return problems


def _of_another_text(entries: Sequence[Entry]) -> list[str]:
    """Report results whose text is not the corpus that they name, or not that of most results with this corpus."""
    by_text: dict[str, list[Entry]] = {}
    for entry in entries:
        if "data" in entry:
            by_text.setdefault(_text_of(entry), []).append(entry)
    problems = []
    for text, of_it in sorted(by_text.items()):
        corpus = of_it[0]["data"]["corpus"]
        right = [entry["data"] for entry in of_it if known_texts(corpus).items() <= entry["data"].items()]
        usual = max(right, key=right.count, default=None)
        problems += [
            f"{entry['row']}.seed-{entry['seed']}: is of another text than {text} is otherwise (it has another "
            "SHA-256): run it again"
            for entry in of_it
            if entry["data"] != usual
        ]
    return problems


def _text_of(entry: Entry) -> str:
    """Return the corpus, with the languages of its sentence pairs: each direction is another text."""
    data = entry["configuration"]["data"]
    languages = [data[side] for side in ("source", "target") if side in data]
    return " ".join([entry["data"]["corpus"], *filter(None, ["-".join(languages)])])


def _rows(section: str, entries: Sequence[Entry]) -> list[RowState]:
    return states(entries, rows=SECTIONS[section].rows())


def _files(
    section: str, rows: Sequence[RowState], document: Path, results: Path
) -> Iterator[tuple[Path, Callable[[], str], bool]]:
    """Yield the section's own files: path, function that makes the content, and whether it is up to date."""
    if tsv := SECTIONS[section].tsv:
        path, content = results / SECTIONS[section].tsv_name, tsv(rows)
        if content or path.exists():
            there = path.read_bytes() if path.exists() else b""
            yield path, partial(str, content), there == content.encode()
        return
    for figure in plots.figures(rows):
        path = document.with_name("figures") / f"{figure.name}.svg"
        yield path, partial(plots.svg, figure), plots.digest_in(path) == figure.digest


def _figures_of_nothing(section: str, rows: Sequence[RowState], document: Path) -> list[str]:
    """Report drawings beside the document that are not drawn from any result."""
    if SECTIONS[section].tsv:
        return []
    names = {figure.name for figure in plots.figures(rows)}
    found = sorted(document.with_name("figures").glob("*.svg"))
    return [
        f"{path}: is drawn from no result: remove it" for path in found if _is_drawn(path) and path.stem not in names
    ]


def _is_drawn(path: Path) -> bool:
    return path.read_text(encoding="utf-8", errors="replace").startswith("<!-- drawn from")


def _problem(entry: Entry) -> str:
    name = f"{entry['row']}.seed-{entry['seed']}"
    if entry["row"] not in ROWS:
        return f"{name}: no such row"
    return f"{name}: of other settings than the row's: run it again" if is_stale(entry, ROWS[entry["row"]]) else ""
