"""Cut a paragraph of English prose into sentences, lightly: for the default text, not for every text.

A sentence ends at `.`, `!` or `?`, with closing quotes and brackets, before a blank and a capital, unless the mark
belongs to a title, an initial or another common abbreviation.
"""

from __future__ import annotations

import re

_ABBREVIATIONS = "Mr|Mrs|Ms|Dr|Gen|Col|Capt|Lt|Maj|Gov|Sen|Rep|Hon|Rev|St|Messrs|Jr|Sr|No|Nos|Vol|Art|Sec|vs|viz"
_END = re.compile(r"""[.!?]["'”’)\]]*(\s+)(?=["'“‘(\[]*[A-Z0-9])""")
_NO_END = re.compile(rf"(?:\b(?:{_ABBREVIATIONS})|(?:\b|\.)[A-Z])\.$")

_LETTER = re.compile(r"\b[^\W\d_]\.$")
_GOES_ON = re.compile(
    r"""\w\w["'”’»)\]]*[.!?…]+["'”’»)\]]*\s+["'“‘«(\[]*([^\W\d_A-Za-z])"""  # the letters of A-Z are for `_END`
    r"""|(?<!\S)[.!?]\s+(?:["'“‘«(\[]+\s*)?[^\W\d_]|[؟۔।॥։።፧၊။。！？]["'”’»)\]]*\s*[^\W\d_]"""
)


def go_on(line: str) -> bool:
    """Return whether a line seems to hold several sentences, in any script. After a mark attached to a word, no
    lower-case letter begins one, and nothing does after a single letter; after a mark by itself, any letter does.

    >>> [go_on(line) for line in ("Кот спал. Он ел.", "कुत्ता सोया। बिल्ली गई।", "z. B. hier", "it sat . it ran .")]
    [True, True, False, True]
    """
    return any(not _LETTER.search(piece) for piece in sentences(line)[:-1]) or any(
        match[1] is None or match[1].title() == match[1] for match in _GOES_ON.finditer(line)
    )


def sentences(paragraph: str) -> list[str]:
    """Split a paragraph into sentences, in order; blank paragraphs have none.

    >>> sentences("Mr. Speaker, the U.S. Senate has met. It is well! Shall we begin?")
    ['Mr. Speaker, the U.S. Senate has met.', 'It is well!', 'Shall we begin?']
    """
    cuts = [0]
    for match in _END.finditer(paragraph):
        if not _NO_END.search(paragraph, max(match.start(1) - 12, 0), match.start(1)):
            cuts += [match.start(1), match.end(1)]
    cuts.append(len(paragraph))
    pieces = (paragraph[a:b].strip() for a, b in zip(cuts[::2], cuts[1::2], strict=True))
    return [piece for piece in pieces if piece]
