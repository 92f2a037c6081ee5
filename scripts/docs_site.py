"""What the site has beside the pages in docs/: the pages of the root, and references made from the code.

A hook of MkDocs. Pages keep links that work in a checkout; here, links to a page of the root lead to its copy in the
site, and links to other files of the checkout (`results/`, `benchmarks/`) become plain text.
"""

from __future__ import annotations

import os
import posixpath
import re
import subprocess
import sys
from pathlib import Path

import griffe
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent.parent
ROOT_PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
}
"""File of the root, and what it is called in the site."""
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")

MODULES = {
    "Train and use a model": [
        "wordtie.training.train.train",
        "wordtie.training.plan",
        "wordtie.training.recipe",
        "wordtie.inference.loading.load",
        "wordtie.inference.loading.LoadedModel",
        "wordtie.runs.result.TrainingResult",
    ],
    "Settings": [
        "wordtie.config",
        "wordtie.config.data",
        "wordtie.config.model",
        "wordtie.config.loss",
        "wordtie.config.noise",
        "wordtie.config.training",
        "wordtie.config.ngram",
        "wordtie.word2vec.settings",
    ],
    "A model in use": [
        "wordtie.models.next_word",
        "wordtie.inference.surprisal",
        "wordtie.inference.regions",
        "wordtie.inference.frequencies",
        "wordtie.inference.stimuli",
        "wordtie.inference.score",
        "wordtie.inference.pairs",
        "wordtie.inference.joined_table",
        "wordtie.inference.reading_times",
        "wordtie.inference.predict",
        "wordtie.inference.generate",
        "wordtie.inference.evaluate",
        "wordtie.inference.compare",
        "wordtie.inference.mix",
        "wordtie.checkpoints.importing",
    ],
    "N-grams": ["wordtie.training.ngrams", "wordtie.ngrams.kneser_ney", "wordtie.ngrams.model"],
    "Word vectors": [
        "wordtie.word2vec.run",
        "wordtie.vectors.word_vectors",
        "wordtie.vectors.extraction",
        "wordtie.vectors.files",
        "wordtie.vectors.similarity",
        "wordtie.vectors.agreement",
        "wordtie.vectors.subspace",
    ],
    "Network": [
        "wordtie.models.language_model",
        "wordtie.nn.core",
        "wordtie.losses.loss",
        "wordtie.training.task",
    ],
    "Errors": ["wordtie.errors"],
}
"""The modules, classes and functions of the API reference, by subject."""


class FencedExamples(griffe.Extension):
    """Docstrings are Markdown, where `>>>` would be a quotation: worked examples become blocks of code."""

    def on_instance(self, *, obj: griffe.Object, **more: object) -> None:
        """Called for every module, class, function and attribute."""
        if obj.docstring:
            example = r"^>>> .*\n(?:.+\n?)*"
            obj.docstring.value = re.sub(
                example, lambda match: f"```pycon\n{match[0].rstrip()}\n```\n", obj.docstring.value, flags=re.MULTILINE
            )


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the root and the two references."""
    pages = {name: (ROOT / file).read_text(encoding="utf-8") for file, name in ROOT_PAGES.items()}
    for name, content in {**pages, "api.md": api_reference(), "commands.md": command_reference()}.items():
        files.append(File.generated(config, name, content=content))
    return files


def api_reference() -> str:
    """A page that mkdocstrings fills from docstrings and signatures."""
    lines = ["# API", "", "Generated from the code. [From Python](how-to/python.md) shows how to use it."]
    for subject, modules in MODULES.items():
        lines += ["", f"## {subject}"]
        for module in modules:
            lines += ["", f"::: {module}", "    options:", "      heading_level: 3"]
    return "\n".join([*lines, ""])


def command_reference() -> str:
    """What each command prints for `--help`, and `wordtie train` for `--help-all`."""
    sys.path.insert(0, str(ROOT / "src"))
    from wordtie.cli import COMMANDS

    calls = [[], *([name] for name in COMMANDS)]
    lines = ["# Commands", "", "Generated from `wordtie COMMAND --help`."]
    for call in calls:
        name = " ".join(["wordtie", *call])
        lines += ["", f"## {name}", "", "```text", help_of([*call, "--help"]), "```"]
    lines += ["", "## All settings of wordtie train", "", "```text", help_of(["train", "--help-all"]), "```", ""]
    return "\n".join(lines)


def help_of(arguments: list[str]) -> str:
    """The output of a call for help, as in a terminal of 100 columns."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "COLUMNS": "100"}
    call = [sys.executable, "-m", "wordtie", *arguments]
    return subprocess.run(call, capture_output=True, text=True, check=True, env=environment).stdout.rstrip()


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links as they are in the site."""
    source = next((file for file, name in ROOT_PAGES.items() if name == page.file.src_uri), f"docs/{page.file.src_uri}")

    def in_site(match: re.Match[str]) -> str:
        image, text, target = match.groups()
        path, _, anchor = target.partition("#")
        if re.match(r"[a-z]+:", target) or not path:
            return match[0]
        file = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        name = ROOT_PAGES.get(file, file.removeprefix("docs/") if file.startswith("docs/") else "")
        if not name:
            return image + text if image else f"{text} (`{file}`)" if text != file else f"`{file}`"
        there = posixpath.relpath(name, posixpath.dirname(page.file.src_uri) or ".")
        return f"{image}[{text}]({there}{'#' if anchor else ''}{anchor})"

    parts = re.split(r"(^```.*?^```)", markdown, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if part.startswith("```") else LINK.sub(in_site, part) for part in parts)
