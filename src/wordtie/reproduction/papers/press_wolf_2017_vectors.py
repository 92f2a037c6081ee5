"""Press & Wolf (2017): the tables without perplexities. Word similarity, and agreement of embeddings."""

from __future__ import annotations

from wordtie.reproduction.papers.press_wolf_2017 import PAPER, section_3, table_5, table_6, table_7
from wordtie.reproduction.papers.press_wolf_2017_translation import translation
from wordtie.reproduction.papers.row import Changes, Published, Row, table_of

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
"""The small language model's vectors: Spearman's rho with human judgements."""
TABLE_4 = {
    "word2vec": (0.77, 0.19, 0.39),
    "small": (0.13, 0.31, 0.65),
    "large": (0.16, 0.45, 0.77),
}
"""Spearman's rho between the similarities of all pairs of words: input-output, input-tied, output-tied."""
UNTIED = {"word2vec": "table-2/input", "small": "table-6/small"}
TIED = {"word2vec": ("table-2/tied", "agreement_with_untied"), "small": ("table-6/wt", "agreement_with_small")}
"""The rows whose vectors table 4 compares, and what is measured of the tied ones."""
OF_TEXT = {"ptb": "table-6/", "text8": "table-7/text8-"}
"""Prefix of the names of the small models trained on a text."""
SKIPGRAM: Changes = {
    "data.corpus": "text8",
    "data.sentences": False,
    "data.min_count": 5,
    "word2vec.algorithm": "skipgram",
    "word2vec.vector_size": 300,
    "word2vec.epochs": 5,
}
OF_SKIPGRAM = """\
the vectors have 300 numbers, as in gulordava-2018, all else is gensim's, since the paper names the text and the \
minimum count alone; trained on the first 98M of 100M characters; the same on IMDB: docs/word-vectors.md"""
LARGE = "needs the large models of table 5, and so a GPU"


def drawn(name: str, label: str, published: Published, source: str, *shows: str) -> Row:
    """Return a row whose numbers are measured on another row's model."""
    source = f"{PAPER}/{source}"
    return Row(f"{PAPER}/{name}", label, published, kind="drawn", drawn_from=(source,), shows=("measures", *shows))


def of_benchmarks(numbers: tuple[float, ...]) -> Published:
    """Return the published Spearman's rho on each of the five benchmarks."""
    return Published(values=dict(zip(BENCHMARKS, numbers, strict=True)))


def skipgram() -> list[Row]:
    """Table 2: a model with two matrices, and a tied one."""
    measures = {"input": ("similarity", "agreement"), "tied": ("similarity", "agreement_with_untied")}
    rows = []
    for side, numbers in TABLE_2.items():
        name, label, published = f"table-2/{side}", f"skip-gram, text8, {side}", of_benchmarks(numbers)
        if side == "output":
            rows.append(drawn(name, label, published, "table-2/input", "similarity", side))
        else:
            head = "tied" if side == "tied" else "untied"
            rows.append(Row(f"{PAPER}/{name}", label, published, {**SKIPGRAM, "word2vec.head": head}, kind="word2vec",
                            measures=measures[side], shows=("measures", "similarity", side),
                            note=OF_SKIPGRAM))  # fmt: skip
    return rows


def similarity() -> list[Row]:
    """Table 3: both matrices of the small language model, and the tied one."""
    rows = []
    for name, numbers in TABLE_3.items():
        corpus, _, side = name.rpartition("-")
        source = f"{OF_TEXT[corpus]}{'wt' if side == 'tied' else 'small'}"
        label = f"small language model, {name}"
        rows.append(drawn(f"table-3/{name}", label, of_benchmarks(numbers), source, "similarity", side))
    return rows


def agreement() -> list[Row]:
    """Table 4: agreement of two sets of vectors on all pairs of words."""
    rows = []
    for model, numbers in TABLE_4.items():
        for pair, rho in zip(("input-output", "input-tied", "output-tied"), numbers, strict=True):
            name, label = f"table-4/{model}-{pair}", f"{model}, {pair}"
            published = Published(values={"rho": rho}, better="neither")
            if model == "large":
                rows.append(Row(f"{PAPER}/{name}", label, published, kind="other", not_run=LARGE))
            elif pair == "input-output":
                rows.append(drawn(name, label, published, UNTIED[model], "agreement"))
            else:
                source, measure = TIED[model]
                rows.append(drawn(name, label, published, source, measure, pair.replace("-", "~")))
    return rows


_ROWS = {
    **table_of(*section_3(), *table_5()),
    **table_6(),
    **table_of(*table_7(), *skipgram(), *similarity(), *agreement(), *translation()),
}
ROWS: dict[str, Row] = {name: _ROWS[name] for name in sorted(_ROWS, key=lambda name: name.split("/")[1])}
"""Rows by name, in the order of the tables."""
