"""HTML pages from the Jinja2 templates in `templates/`. A page is one file that opens without a network."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

TEMPLATES = Path(__file__).parent / "templates"


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def render(template: str, **values: object) -> str:
    """The page of a template, such as `word_vectors.html`, with `values` under the names that the template uses.

    Values are escaped unless they are `markupsafe.Markup`. A name that is missing raises `jinja2.UndefinedError`.
    """
    return _environment().get_template(template).render(values)
