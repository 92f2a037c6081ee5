"""The pages: commands that parse, Python that runs, links that lead somewhere, tests that exist, terms defined once."""

from __future__ import annotations

import ast
import importlib
import io
import itertools
import pkgutil
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.commands import SMALL, small_text
from wordtie.cli import COMMANDS, main, module_of
from wordtie.config.arguments import Parser
from wordtie.config.options import SettingsParser

ROOT = Path(__file__).parent.parent
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_page_has_both_sides_of_a_merge(page: Path) -> None:
    marks = re.findall(r"^(?:<{7}|={7}|>{7})(?: .*)?$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert not marks


def blocks(page: Path, language: str) -> list[str]:
    return [code for name, code in BLOCK.findall(page.read_text(encoding="utf-8")) if name == language]


def commands_in(text: str) -> Iterator[str]:
    """Lines that call wordtie, whole: `\\` at the end of a line continues it."""
    for line in text.replace("\\\n", " ").splitlines():
        if re.match(r"\$? *(echo .*\| )?wordtie ", line):
            yield line.strip().removeprefix("$ ")


def quoted() -> list[tuple[str, str]]:
    """Where a command is shown, and the command."""
    found = [
        (str(page.relative_to(ROOT)), command)
        for page in PAGES
        for block in blocks(page, "")
        for command in commands_in(block)
    ]
    for name in COMMANDS:
        help_text = importlib.import_module(module_of(name)).HELP
        found += [(f"{name} --help", command) for command in commands_in(help_text)]
    return found


def arguments_of(command: str) -> list[str]:
    """What the shell hands to wordtie, without comments, redirections, placeholders and the explanation in a help."""
    command = re.sub(r"^echo .*\| ", "", command)
    command = re.split(r"   +| *<<< | < | > ", command)[0]
    return [word for word in shlex.split(command, comments=True)[1:] if word not in ("...", "[ROW", "...]")]


class ParsedError(Exception):
    """The command would start now."""


@pytest.mark.parametrize(("where", "command"), quoted(), ids=lambda text: str(text)[:60])
def test_commands_parse(where: str, command: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def stops_after(parse: Any) -> Any:
        def parse_and_stop(self: Parser, args: list[str]) -> None:
            parse(self, args)
            if isinstance(self, SettingsParser):
                self.made()
            raise ParsedError

        return parse_and_stop

    parsers: list[type[Parser]] = [Parser, SettingsParser]
    parse_options, parse_settings = (parser.parse_args for parser in parsers)
    monkeypatch.setattr(SettingsParser, "parse_args", stops_after(parse_settings))

    def parse_or_stop(self: Parser, args: list[str]) -> Any:
        parsed = parse_options(self, args)
        if isinstance(self, SettingsParser):
            return parsed
        raise ParsedError

    monkeypatch.setattr(Parser, "parse_args", parse_or_stop)
    monkeypatch.chdir(tmp_path)
    arguments = arguments_of(command)
    for flag, value in itertools.pairwise(arguments):
        if flag == "--config":
            Path(value).parent.mkdir(parents=True, exist_ok=True)
            Path(value).write_text("model:\n  hidden: 200\n")
    name, *rest = arguments
    if name.startswith("--") or name == "COMMAND" or "--help" in rest:
        pytest.skip("a call for help")
    with pytest.raises(ParsedError):
        importlib.import_module(module_of(name)).main(rest)


def test_commands_are_found() -> None:
    assert len(quoted()) > 60
    assert arguments_of('wordtie predict runs/x "a b" --top 3   # likely words') == [
        "predict",
        "runs/x",
        "a b",
        "--top",
        "3",
    ]


def test_python_on_the_pages_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """docs/how-to/python.md from top to bottom, on a small text."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    small_text(tmp_path / "text")
    (tmp_path / "other.txt").write_text("the cat sat\n")
    page = ROOT / "docs" / "how-to" / "python.md"
    code = "\n".join(blocks(page, "python")).replace('"novel.txt"', '"text"').replace("hidden=400", "**small")
    pairs = zip(SMALL[::2], SMALL[1::2], strict=True)
    small = {name.removeprefix("--"): setting(value) for name, value in pairs} | {"noise.kind": "none"}
    exec(compile(code, str(page), "exec"), {"small": small})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for link in LINK.findall(re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)):
        if re.match(r"https?://|mailto:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        if anchor:
            assert anchor in anchors(target), link


def setting(text: str) -> object:
    """A value of the command line as Python has it: a number, or a word."""
    try:
        return ast.literal_eval(text)
    except ValueError:
        return None if text == "none" else text


def anchors(page: Path) -> set[str]:
    """What a heading is called in a link."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_tests_named_on_the_page_of_reliability_exist() -> None:
    named = re.findall(
        r"`([\w/]+\.py)(?:::(test_\w+))?`", (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
    )
    assert len(named) > 30
    for file, test in named:
        source = (ROOT / "tests" / file).read_text(encoding="utf-8")
        assert not test or f"def {test}(" in source, f"{file}::{test}"


def test_the_glossary_defines_each_term_once() -> None:
    page = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    terms = [term for entry in re.findall(r"^- \*\*(.+?)\*\*", page, flags=re.MULTILINE) for term in entry.split(", ")]
    assert len(terms) > 60
    assert len(terms) == len(set(terms))
    for section in re.split(r"^## ", page, flags=re.MULTILINE)[1:]:
        assert "\n- **" in section


def test_every_page_is_linked_from_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [page.name for page in PAGES if page.name != "README.md" and f"{page.name})" not in readme] == []


def test_the_first_look_in_the_readme(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (shown,) = [block for block in blocks(ROOT / "README.md", "") if "wordtie surprisal en" in block]
    command, *lines, more = shown.splitlines()
    text = re.fullmatch(r'\$ echo "(.*)" \| wordtie surprisal en', command)
    assert text
    assert more == "..."
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(f"{text[1]}\n".encode())))
    assert main(["surprisal", "en"]) == 0
    header, *printed = (line.split("\t") for line in capsys.readouterr().out.splitlines())
    assert header == lines[0].split("\t")
    for expected, found in zip((line.split("\t") for line in lines[1:]), printed, strict=False):
        assert found[:-2] == expected[:-2]
        assert [float(bits) for bits in found[-2:]] == pytest.approx([float(bits) for bits in expected[-2:]], abs=1e-3)


def test_help_of_each_command_starts_with_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    for name, line in COMMANDS.items():
        assert main([name, "--help"]) == 0
        assert line.lower() in capsys.readouterr().out.lower()


def test_names_of_the_api_reference_exist() -> None:
    names = re.findall(r'"(wordtie(?:\.\w+)+)"', (ROOT / "scripts" / "docs_site.py").read_text(encoding="utf-8"))
    assert len(names) > 20
    for name in names:
        pkgutil.resolve_name(name)


def named_in_sentences(pattern: str) -> list[tuple[str, str]]:
    """The page and what matches in its inline code. The changelog may name what is gone; methods.md has a test."""
    found = []
    for page in PAGES:
        if page.name not in ("CHANGELOG.md", "methods.md"):
            text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
            code = re.findall(r"`([^`\n]+)`", text)
            found += [(page.name, name) for each in code for name in re.findall(pattern, each)]
    return found


def test_options_in_sentences_exist(capsys: pytest.CaptureFixture[str]) -> None:
    calls = [[], *([name] for name in COMMANDS), *(["reproduce", name] for name in ("list", "run", "report", "check")),
             ["export", "arpa"]]  # fmt: skip
    for call in calls:
        assert main([*call, "--help"]) == 0
    for call in (["train"], ["word2vec"], ["ngram"], ["baseline"], ["translate", "train"], ["translate", "prepare"]):
        assert main([*call, "--help-all"]) == 0
    options = set(re.findall(r"(?<![\w-])--([a-z][\w.-]*)", capsys.readouterr().out))
    known = options | {option.rpartition(".")[2] for option in options} | {"extra-index-url"}  # the last is pip's
    ours = named_in_sentences("^(?!python -m).*")  # a module's own options are not the program's
    named = [(page, option) for page, code in ours for option in re.findall(r"(?<!\S)--([a-z][\w.-]*)", code)]
    assert len(named) > 50
    assert [(page, option) for page, option in named if option not in known] == []


def test_names_in_sentences_exist() -> None:
    named = named_in_sentences(r"(?<![\w-])(?:wordtie|benchmarks|tests)(?:\.[A-Za-z]\w*)+(?!/)")
    assert len(named) > 30
    for _, name in named:
        pkgutil.resolve_name(name)


def test_paths_in_sentences_exist() -> None:
    named = named_in_sentences(r"(?<!\S)(?:scripts|docs|benchmarks|results|tests)/[\w./-]*")
    assert len(named) > 20
    assert [(page, path) for page, path in named if not (ROOT / path).exists()] == []
