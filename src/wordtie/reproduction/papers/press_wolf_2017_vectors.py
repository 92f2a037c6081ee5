"""Press & Wolf (2017): the tables that are not perplexities. Word similarity, and agreement of embeddings."""

from __future__ import annotations

from wordtie.reproduction.papers.press_wolf_2017 import PAPER, section_3, table_5, table_6, table_7
from wordtie.reproduction.papers.press_wolf_2017_translation import translation
from wordtie.reproduction.papers.row import Published, Row, table_of

BENCHMARKS = ("SimLex-999", "Verb-143", "MEN", "Rare-Word", "MTurk-771")
TABLE_2 = {
    "input": (0.30, 0.41, 0.66, 0.34, 0.59),
    "output": (0.29, 0.34, 0.61, 0.34, 0.54),
    "tied": (0.17, 0.12, 0.50, 0.23, 0.37),
}
"""Skip-gram on text8: Spearman's rho with human judgements."""
TABLE_3 = {
    "ptb-input": (0.02, 0.12, 0.11, 0.28, 0.17),
    "ptb-output": (0.13, 0.37, 0.21, 0.38, 0.28),
    "ptb-tied": (0.14, 0.32, 0.26, 0.36, 0.30),
    "text8-input": (0.17, 0.20, 0.26, 0.14, 0.26),
    "text8-output": (0.27, 0.35, 0.50, 0.15, 0.48),
    "text8-tied": (0.28, 0.42, 0.50, 0.17, 0.45),
}
"""The small language model."""
TABLE_4 = {
    "word2vec": (0.77, 0.19, 0.39),
    "small": (0.13, 0.31, 0.65),
    "large": (0.16, 0.45, 0.77),
}
"""Spearman's rho between the similarities of all pairs of words: input-output, input-tied, output-tied."""
OF_TEXT = {"ptb": "table-6/", "text8": "table-7/text8-"}
"""How the names of the small models of a text begin."""
ON_IMDB = "text8 is not in the catalogue; measured on IMDB instead: docs/word-vectors.md"
NOT_RUN = {
    "table-2/": ON_IMDB,
    "table-4/word2vec-": ON_IMDB,
    "table-4/large-": "needs the large models of table 5, and so a GPU",
}
"""By how the name of a row begins. `python -m wordtie.reproduction.analyses.word_vectors` measures on IMDB."""


def drawn(name: str, label: str, published: Published, source: str, *shows: str) -> Row:
    """A row whose numbers are measured of another row's model."""
    source = f"{PAPER}/{source}"
    return Row(f"{PAPER}/{name}", label, published, kind="drawn", drawn_from=(source,), shows=("measures", *shows))


def apart(name: str, label: str, published: Published) -> Row:
    """A row that is not measured of a single run."""
    reason = next(reason for beginning, reason in NOT_RUN.items() if name.startswith(beginning))
    return Row(f"{PAPER}/{name}", label, published, kind="other", not_run=reason)


def similarity() -> list[Row]:
    """Tables 2 and 3."""
    rows = []
    for table, columns in ((2, TABLE_2), (3, TABLE_3)):
        for name, numbers in columns.items():
            published = Published(values=dict(zip(BENCHMARKS, numbers, strict=True)))
            label = f"{'skip-gram, text8' if table == 2 else 'small language model'}, {name}"
            corpus, _, side = name.rpartition("-")
            if corpus:
                source = f"{OF_TEXT[corpus]}{'wt' if side == 'tied' else 'small'}"
                rows.append(drawn(f"table-{table}/{name}", label, published, source, "similarity", side))
            else:
                rows.append(apart(f"table-{table}/{name}", label, published))
    return rows


def agreement() -> list[Row]:
    """Table 4."""
    rows = []
    for model, numbers in TABLE_4.items():
        for pair, rho in zip(("input-output", "input-tied", "output-tied"), numbers, strict=True):
            name, label = f"table-4/{model}-{pair}", f"{model}, {pair}"
            published = Published(values={"rho": rho}, better="neither")
            if (model, pair) == ("small", "input-output"):
                rows.append(drawn(name, label, published, "table-6/small", "agreement"))
            elif model == "small":
                rows.append(drawn(name, label, published, "table-6/wt", "agreement_with_small", pair.replace("-", "~")))
            else:
                rows.append(apart(name, label, published))
    return rows


_ROWS = {
    **table_of(*section_3(), *table_5()),
    **table_6(),
    **table_of(*table_7(), *similarity(), *agreement(), *translation()),
}
ROWS: dict[str, Row] = {name: _ROWS[name] for name in sorted(_ROWS, key=lambda name: name.split("/")[1])}
"""In the order of the tables."""
