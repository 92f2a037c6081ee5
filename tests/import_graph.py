"""The layers of the package and what they import, read from the architecture page and from the code.

The table "Layers" of `docs/architecture.md` is the one list of layers and their order. The picture on that page is
drawn from the real imports: `python -m tests.import_graph` writes it, `tests/test_architecture.py` compares it.

The picture leaves out an arrow that a longer way already shows: `training` imports `errors`, but so does `config`,
which `training` imports too.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "wordtie"
PAGE = ROOT / "docs" / "architecture.md"
PICTURE = ROOT / "docs" / "figures" / "imports.svg"

Graph = dict[str, set[str]]
Row = list[str]
"""Names from left to right; a name with `>` is where an arrow passes between two boxes."""

BOX_WIDTH, BOX_HEIGHT, GAP, ROW_HEIGHT, MARGIN, THIN = 104, 30, 20, 64, 16, 12


def read_layers() -> list[str]:
    """The first column of the table, lowest layer first."""
    _, _, section = PAGE.read_text(encoding="utf-8").partition("## Layers\n")
    section, _, _ = section.partition("\n## ")
    return re.findall(r"^\| `(\w+)` \|", section, flags=re.MULTILINE)


LAYERS = read_layers()


def layer_of(file: Path) -> str:
    """The folder or file right under `src/wordtie` that it belongs to."""
    return file.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_layers(source: str) -> Iterator[tuple[int, str]]:
    """Line and layer of every `wordtie` import, those inside functions included."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute here, so that this test can read them"
            module = node.module or ""
            modules = [f"wordtie.{alias.name}" for alias in node.names] if module == "wordtie" else [module]
        else:
            continue
        for module in modules:
            first, _, rest = module.partition(".")
            if first == "wordtie" and rest:
                yield node.lineno, rest.partition(".")[0]


def import_graph() -> Graph:
    """Each layer, and those that its files import. `wordtie/__init__.py` names public functions and is left out."""
    graph: Graph = {layer: set() for layer in LAYERS}
    for file in SOURCE.rglob("*.py"):
        if file != SOURCE / "__init__.py":
            layer = layer_of(file)
            graph[layer] |= {name for _, name in imported_layers(file.read_text()) if name in graph} - {layer}
    return graph


def reachable(graph: Graph, layer: str) -> set[str]:
    """Everything that a layer imports, directly or through others."""
    found: set[str] = set()
    waiting = [layer]
    while waiting:
        for below in graph[waiting.pop()] - found:
            found.add(below)
            waiting.append(below)
    return found


def without_shortcuts(graph: Graph) -> Graph:
    """The arrows that no longer way shows (the transitive reduction)."""
    below = {layer: reachable(graph, layer) for layer in graph}
    return {a: {b for b in graph[a] if not any(b in below[c] for c in graph[a])} for a in graph}


def draw(graph: Graph) -> str:
    """The picture as SVG: an arrow goes from a layer down to one that it imports."""
    arrows = without_shortcuts(graph)
    rows, links = arrange(arrows)
    middle = {}
    width = max(sum(map(_width, row)) + GAP * (len(row) - 1) for row in rows) + 2 * MARGIN
    for number, row in enumerate(rows):
        left = (width - sum(map(_width, row)) - GAP * (len(row) - 1)) / 2
        for name in row:
            middle[name] = (left + _width(name) / 2, MARGIN + BOX_HEIGHT / 2 + number * ROW_HEIGHT)
            left += _width(name) + GAP
    height = MARGIN * 2 + BOX_HEIGHT + ROW_HEIGHT * (len(rows) - 1)
    title = "; ".join(f"{name} imports {', '.join(sorted(to))}" for name, to in arrows.items() if to)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" '
            f'height="{height}" font-family="sans-serif" font-size="13">',
            f"<title>{title}</title>",
            '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
            'orient="auto"><path d="M0 0 8 4 0 8z" fill="#546e7a"/></marker></defs>',
            f'<rect width="{width:.0f}" height="{height}" fill="#fff"/>',
            *(_curve(middle[a], middle[b], a, b) for a, b in links),
            *(_box(name, *middle[name]) for row in rows for name in row if ">" not in name),
            "</svg>\n",
        ]
    )


def arrange(arrows: Graph) -> tuple[list[Row], list[tuple[str, str]]]:
    """Rows from the top layer down, and the pieces of arrows between neighbouring rows."""
    height: dict[str, int] = {}
    for layer in LAYERS:
        height[layer] = 1 + max((height[below] for below in arrows[layer]), default=-1)
    rows: list[Row] = [[] for _ in range(max(height.values()) + 1)]
    for layer in LAYERS:
        rows[-1 - height[layer]].append(layer)
    links = []
    for above in LAYERS:
        for below in sorted(arrows[above]):
            between = [f"{above}>{below}>{level}" for level in range(height[above] - 1, height[below], -1)]
            for level, name in zip(range(height[above] - 1, height[below], -1), between, strict=True):
                rows[-1 - level].append(name)
            links += list(zip([above, *between], [*between, below], strict=True))
    for turn in range(24):
        _sort_by_neighbours(rows, links, downwards=turn % 2 == 0)
    return rows, links


def _sort_by_neighbours(rows: list[Row], links: list[tuple[str, str]], downwards: bool) -> None:
    """Put each name below (or above) the mean of those it is linked to, so that few arrows cross."""
    order = range(1, len(rows)) if downwards else range(len(rows) - 2, -1, -1)
    for number in order:
        fixed = rows[number - 1 if downwards else number + 1]
        place = {name: (index + 0.5) / len(fixed) for index, name in enumerate(fixed)}
        own = {name: (index + 0.5) / len(rows[number]) for index, name in enumerate(rows[number])}

        def mean(name: str, place: dict[str, float] = place, own: dict[str, float] = own) -> float:
            near = [place[a if downwards else b] for a, b in links if (b if downwards else a) == name]
            return sum(near) / len(near) if near else own[name]

        rows[number].sort(key=mean)


def _width(name: str) -> int:
    return THIN if ">" in name else BOX_WIDTH


def _box(name: str, x: float, y: float) -> str:
    left, top = x - BOX_WIDTH / 2, y - BOX_HEIGHT / 2
    return (
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="5" fill="#e3f2fd" '
        f'stroke="#1565c0"/><text x="{x:.1f}" y="{y + 4.5:.1f}" text-anchor="middle" fill="#0d2a4a">{name}</text>'
    )


def _curve(start: tuple[float, float], end: tuple[float, float], above: str, below: str) -> str:
    (x, y), (to_x, to_y) = start, end
    y += 0 if ">" in above else BOX_HEIGHT / 2
    to_y -= 0 if ">" in below else BOX_HEIGHT / 2
    half = (y + to_y) / 2
    head = "" if ">" in below else ' marker-end="url(#head)"'
    path = f"M{x:.1f} {y:.1f}C{x:.1f} {half:.1f} {to_x:.1f} {half:.1f} {to_x:.1f} {to_y:.1f}"
    return f'<path d="{path}" fill="none" stroke="#546e7a" stroke-width="1.2"{head}/>'


if __name__ == "__main__":
    PICTURE.write_text(draw(import_graph()), encoding="utf-8")
