"""What counting words achieves: the Kneser-Ney 5-gram that press-wolf-2017's table 6 starts from.

Mikolov et al. (2011) print 141.2 for Penn Treebank. It is measured here with the same text, vocabulary and count of
tokens as every model, and so checks all of them.
"""

from __future__ import annotations

from wordtie.reproduction.papers.row import Published, Row, table_of

ROWS: dict[str, Row] = table_of(
    Row(
        "baselines/kneser-ney-5/ptb",
        "Kneser-Ney 5-gram, PTB",
        Published(test=141.2),
        {"data.corpus": "ptb"},
        kind="kneser_ney",
        note="printed by Mikolov et al. (2011); ours is modified, interpolated, no n-gram dropped; its parameters are "
        "the n-grams it keeps",
    ),
    Row("baselines/kneser-ney-5/wikitext-2", "Kneser-Ney 5-gram, WikiText-2", Published(),
        {"data.corpus": "wikitext-2"}, kind="kneser_ney", note="no published number to compare it with"),
)  # fmt: skip
