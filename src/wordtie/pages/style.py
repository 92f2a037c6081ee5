"""How the page looks: by day and by night, on paper, and on a telephone."""

from __future__ import annotations

from html import escape

PALETTE = """
:root { color-scheme: light dark; --ink: #2e3440; --paper: #ffffff; --line: #d8dee9; --muted: #5c6470;
  --good: #2f6b2f; --bad: #a8442f; --link: #1f5fa8; }
@media (prefers-color-scheme: dark) { :root { --ink: #e5e9f0; --paper: #22262e; --line: #434c5e; --muted: #a7b0c0;
  --good: #a3be8c; --bad: #e08b76; --link: #8fbcec; } }
"""
"""By day and by night."""
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 78rem;
  margin: 2rem auto; padding: 0 1rem; }
a { color: var(--link); }
h2 { margin-top: 3rem; } h3 { margin: 2.5rem 0 .5rem; font-size: 1.1rem; }
.wide { overflow-x: auto; margin: .5rem 0 1rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .25rem .8rem .25rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td { white-space: nowrap; } th { vertical-align: bottom; }
th.number, td.number { text-align: right; }
td.text { white-space: normal; min-width: 20rem; } td.status { white-space: normal; min-width: 10rem; }
th:first-child, td:first-child { position: sticky; left: 0; background: var(--paper); white-space: normal;
  min-width: 10.5rem; max-width: 22rem; overflow-wrap: break-word; }
td small { display: block; color: var(--muted); }
.reached { color: var(--good); font-weight: 600; } .not-reached { color: var(--bad); font-weight: 600; }
.not-run, p.note, details { color: var(--muted); } .running, .stopped, .diverged { font-style: italic; }
figure { margin: 1rem 0 1.5rem; background: #ffffff; color: #2e3440; padding: .5rem; width: fit-content;
  max-width: 100%; box-sizing: border-box; }
figure svg { width: 40rem; max-width: 100%; height: auto; } figcaption { font-size: 14px; max-width: 40rem; }
nav a { margin-right: 1rem; } p.note, details { font-size: 13px; margin: .3rem 0; } summary { cursor: pointer; }
b.next { color: var(--good); }
@media (max-width: 40rem) { table { font-size: 14px; } th, td { padding-right: .6rem; }
  th:first-child, td:first-child { min-width: 6rem; max-width: 7rem; }
  h1, h2 { line-height: 1.2; } nav a { display: block; margin: .3rem 0; } }
"""


def wide(label: str) -> str:
    """The opening of a part that scrolls by itself where it is wider than the screen, with the keyboard too."""
    return f'<div class=wide tabindex=0 role=region aria-label="{escape(label)}">'
