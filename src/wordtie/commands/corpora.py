"""`wordtie corpora`: the corpora known by name."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

from wordtie.commands._shared import Parser, print_json
from wordtie.data.bitext import PARALLEL, Parallel, locate_parallel
from wordtie.data.catalogue import CATALOGUE, Entry, locate
from wordtie.data.checksums import UnusableFileError
from wordtie.errors import DataError

HELP = """\
List the corpora known by name.

`wordtie train` downloads a corpus that is not on this machine, if it has a public address.
Put your own copies into $WORDTIE_DATA/NAME, under the names of the files that --json lists.

Each corpus is one of:
  here       its files are on this machine, with the known SHA-256
  download   `wordtie train` would download it
  missing    it is not here, and has no public address
  damaged    a file has another SHA-256 or cannot be read; no command accepts it by this name

examples:
  wordtie corpora
  wordtie corpora --json
"""


def main(argv: list[str]) -> None:
    """Print name, licence, whether it is here, and what it is."""
    parser = Parser("corpora", HELP)
    parser.add_argument("--json", action="store_true", help="print JSON, with the files, addresses and SHA-256")
    arguments = parser.parse_args(argv)
    homes = {entry.part_of or name for name, entry in CATALOGUE.items()}
    state_of = {home: state(home) for home in homes}  # files that several names share are hashed once
    states = {name: state_of[entry.part_of or name] for name, entry in CATALOGUE.items()}
    if arguments.json:
        texts = [_as_json(name, states[name], entry, tokenisation=entry.tokenisation, note=entry.note)
                 for name, entry in CATALOGUE.items()]  # fmt: skip
        pairs = [_as_json(name, _found(locate_parallel, name, "missing"), entry, parallel=True)
                 for name, entry in PARALLEL.items()]  # fmt: skip
        print_json(texts + pairs)
        return
    print("\n\n".join(_paragraph(name, states[name]) for name in CATALOGUE))
    print("\nfor `wordtie translate`:\n")
    print("\n\n".join(map(_parallel, PARALLEL)))


def state(name: str) -> str:
    """Return `here`, `download` if `wordtie train` would fetch it, `missing`, or `damaged` if it is another text."""
    files = CATALOGUE[name].files
    return _found(locate, name, "download" if files and all(file.url for file in files) else "missing")


def _found(find: Callable[[str], object], name: str, otherwise: str) -> str:
    try:
        find(name)
    except UnusableFileError:
        return "damaged"
    except DataError:
        return otherwise
    return "here"


def _paragraph(name: str, stands: str) -> str:
    entry = CATALOGUE[name]
    lines = [f"{name:17} {stands:10} {entry.title}"]
    names = ", ".join(file.name for file in entry.files)
    files = "" if all(file.url for file in entry.files) else f"; as {names} in $WORDTIE_DATA/{name}"
    lines += textwrap.wrap(f"{entry.note}{files}; licence: {entry.licence}", 100, initial_indent=" " * 29,
                           subsequent_indent=" " * 29)  # fmt: skip
    return "\n".join(lines)


def _parallel(name: str) -> str:
    """Describe a corpus of sentence pairs, which are never downloaded."""
    entry = PARALLEL[name]
    names = ", ".join(file.name for file in entry.files)
    about = textwrap.wrap(f"as {names} in $WORDTIE_DATA/{name}; licence: {entry.licence}", 100,
                          initial_indent=" " * 29, subsequent_indent=" " * 29)  # fmt: skip
    return "\n".join([f"{name:17} {_found(locate_parallel, name, 'missing'):10} {entry.title}", *about])


def _as_json(name: str, stands: str, entry: Entry | Parallel, **more: object) -> dict[str, object]:
    files = [{"name": file.name, "sha256": file.sha256, "url": file.url} for file in entry.files]
    return {"name": name, "state": stands, "title": entry.title, "licence": entry.licence, **more, "files": files}
