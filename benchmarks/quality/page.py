"""Tables and figure of docs/performance.md, and the short tables of the README and of docs/how-to/ngrams.md."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.page import PAGE
from benchmarks.quality.choices import trials, with_chosen_settings
from benchmarks.quality.contenders import ADDED, CONTENDERS, OTHERS
from benchmarks.quality.goals import WHAT, Verdict, is_late, latest, value, verdicts
from benchmarks.quality.rows import Row
from benchmarks.quality.texts import GOAL_TEXTS, TEXTS, TRIAL_TEXTS
from wordtie.errors import DataError
from wordtie.evaluation.format_perplexity import format_perplexity
from wordtie.reproduction.render import generated_blocks
from wordtie.reproduction.render.tables import table_line

FIGURE = PAGE.with_name("figures") / "quality-in-minutes.svg"
README = PAGE.parents[1] / "README.md"
NGRAMS = PAGE.parent / "how-to" / "ngrams.md"
BEGIN, END = "<!-- quality in minutes: begin -->", "<!-- quality in minutes: end -->"
COLOURS = {"ours": "#d55e00", "kneser-ney": "#4c566a", "pytorch-word-lm": "#0072b2", "awd-lstm": "#009e73",
           "gpt": "#cc79a7", "sampled-lstm": "#56b4e9", "former-default": "#e69f00"}  # fmt: skip
"""Of the contenders that are drawn: those that compute in float32, and our former default."""
HEAD_LINES = 2
"""Of a table: one that has no more is empty."""


def write(
    rows: Sequence[Row],
    to: Path = PAGE,
    figure: Path = FIGURE,
    short: Path = README,
    parts: Path = NGRAMS,
    of_avx2: Sequence[Row] = (),
) -> list[str]:
    """Write them all; the figure needs two times of a text. Only measurements by the wall clock are shown.

    `of_avx2`: rows of two cores with AVX2 alone, whose goals have a table of their own.
    Raises `DataError` if a page has lost its markers.
    """
    measured = _by_the_wall_clock(rows)
    drawn = draw(measured, figure)
    of_goals = [list(goals_table(measured)), list(avx2_goals_table(_by_the_wall_clock(of_avx2, rows)))]
    tables = [*of_goals, list(results_table(measured)), list(trials_table(rows))]
    content = ["![Test perplexity against minutes](figures/quality-in-minutes.svg)"] if drawn else []
    content += ["\n".join(lines) for lines in tables if len(lines) > HEAD_LINES]
    pages = {to: "\n\n".join(content), short: "\n".join(short_table(measured)), parts: "\n".join(parts_table(measured))}
    for page, text in pages.items():
        if not generated_blocks.replace(page, BEGIN, END, f"{text}\n"):
            raise DataError(f"{page}: the lines `{BEGIN}` and `{END}` are missing; put them where the table belongs")
    return [*map(str, pages), *([str(figure)] if drawn else [])]


def short_table(rows: Sequence[Row]) -> Iterator[str]:
    """Test perplexities of each text and time that ours was measured in: of each contender alone and mixed with the
    5-gram, and of ours with recent words, too."""
    others = [name for name in (*OTHERS, ADDED) if name not in ("kneser-ney", "former-default")]
    names = ("5-gram", "wordtie", "with recent words", *(CONTENDERS[name].what for name in others))
    yield from _head("text", "minutes", *names)
    for text, minutes in _measured_of_ours(rows):
        cells = [_of(rows, "kneser-ney", text, minutes, "test"), _both(rows, "ours", text, minutes),
                 _of(rows, "ours", text, minutes, "own_mixture_test"),
                 *(_both(rows, name, text, minutes) for name in others)]  # fmt: skip
        yield table_line([text, f"{minutes:g}", *cells])


def parts_table(rows: Sequence[Row]) -> Iterator[str]:
    """Test perplexities of what `wordtie train` mixes, and of the mixtures."""
    yield from _head("text", "minutes", "network", "5-gram", "both", "with recent words")
    for text, minutes in _measured_of_ours(rows):
        ours = partial(_of, rows, "ours", text, minutes)
        cells = [ours("test"), _of(rows, "kneser-ney", text, minutes, "test"), ours("own_without_recent_test"),
                 ours("own_mixture_test")]  # fmt: skip
        yield table_line([text, f"{minutes:g}", *cells])


def _by_the_wall_clock(rows: Sequence[Row], tried: Sequence[Row] = ()) -> list[Row]:
    """Those of the chosen settings on both cores."""
    return [row for row in with_chosen_settings(rows, tried) if row["clock"] == "wall" and row["threads"] == 2]


def _measured_of_ours(rows: Sequence[Row]) -> Iterator[tuple[str, float]]:
    """Texts and minutes."""
    for text in TEXTS:
        for minutes in _times(rows, text):
            if value(rows, "ours", text, minutes, "test") is not None:
                yield text, minutes


def _times(rows: Sequence[Row], text: str) -> list[float]:
    return sorted({row["minutes"] for row in rows if row["text"] == text})


def _of(rows: Sequence[Row], name: str, text: str, minutes: float, what: str) -> str:
    found = value(rows, name, text, minutes, what)
    return "-" if found is None else format_perplexity(found)


def _both(rows: Sequence[Row], name: str, text: str, minutes: float) -> str:
    """`114.83 / 102.10`: alone, and mixed with the 5-gram."""
    alone, mixed = (_of(rows, name, text, minutes, what) for what in ("test", "mixed_test"))
    return "-" if alone == mixed == "-" else f"{alone} / {mixed}"


def goals_table(rows: Sequence[Row]) -> Iterator[str]:
    """Each goal, the ratio of each text, and the verdict."""
    yield from _verdicts_table("goal", verdicts(rows))


def avx2_goals_table(rows: Sequence[Row]) -> Iterator[str]:
    """The same on two cores with AVX2 alone: the goals that something was measured for."""
    measured = (verdict for verdict in verdicts(rows) if verdict.ratios and verdict.limit is not None)
    yield from _verdicts_table("goal, AVX2 alone", measured)


def _verdicts_table(title: str, shown: Iterable[Verdict]) -> Iterator[str]:
    yield from _head(title, "minutes", "limit", *GOAL_TEXTS, "reached")
    for verdict in shown:
        ratios = [f"{verdict.ratios[text]:.3f}" if text in verdict.ratios else "-" for text in GOAL_TEXTS]
        reached = {True: "yes", False: "**no**", None: "not measured"}[verdict.reached]
        limit = [f"≤ {verdict.limit:g}", reached] if verdict.limit is not None else ["-", "no goal"]
        yield table_line([WHAT[verdict.kind], f"{verdict.minutes:g}", limit[0], *ratios, limit[1]])


def results_table(rows: Sequence[Row]) -> Iterator[str]:
    """Test perplexities of all contenders, text by text and time by time; the median of several seeds."""
    yield from _head("text", "minutes", "contender", "alone", "with the 5-gram", "parameters", "tokens read", "seconds",
                     "processor")  # fmt: skip
    for text in TEXTS:
        for minutes in _times(rows, text):
            for name, contender in CONTENDERS.items():
                of = [r for r in rows if (r["contender"], r["text"], r["minutes"]) == (name, text, minutes)]
                if of:
                    yield table_line([text, f"{minutes:g}", contender.what, *_cells(of, name, text, minutes)])


def _cells(of: Sequence[Row], name: str, text: str, minutes: float) -> list[str]:
    """Perplexities and costs; a late model has no perplexity that counts."""
    alone, mixed = (value(of, name, text, minutes, each) for each in ("test", "mixed_test"))
    last = of[-1]
    late = " (late)" if is_late(last) else ""
    return [
        "-" if alone is None else format_perplexity(alone),
        "-" if mixed is None else format_perplexity(mixed),
        f"{last['parameters']:,}",
        f"{last['tokens']:,}",
        f"{last.get('seconds', last['wall_seconds']):.0f}{late}",
        "; ".join(dict.fromkeys(_processor(row) for row in latest(of))),
    ]


def _processor(row: Row) -> str:
    """`AMD EPYC, AVX-512`: the name, and the widest vectors."""
    machine = row.get("machine")
    if machine is None:
        return "-"
    return f"{machine['processor']}, {'AVX-512' if 'avx512f' in machine['instructions'] else 'AVX2'}"


def trials_table(rows: Sequence[Row]) -> Iterator[str]:
    """What the settings of each contender were chosen from."""
    yield from _head("contender", "settings", *(f"valid {text}" for text in TRIAL_TEXTS), "geometric mean", "time of")
    for name, contender in CONTENDERS.items():
        for tried in trials(rows, name) if len(contender.settings) > 1 else ():
            settings = ", ".join(f"{key} {_plain(setting)}" for key, setting in tried.settings.items())
            valid = [f"{tried.valid[text]:.1f}" if text in tried.valid else "-" for text in TRIAL_TEXTS]
            mean = f"{tried.mean:.1f}" if len(tried.valid) == len(TRIAL_TEXTS) else "-"
            _, threads, clock = tried.way
            way = f"{threads} thread{'s' if threads > 1 else ''}, {clock} clock"
            yield table_line([contender.what, settings, *valid, mean, way])


def _plain(setting: Any) -> str:
    return {"None": "planned", "True": "yes"}.get(str(setting), str(setting))


def _head(*names: str) -> Iterator[str]:
    yield table_line(names)
    yield table_line(["---"] * len(names))


def draw(rows: Sequence[Row], path: Path = FIGURE) -> bool:
    """Test perplexity, mixed with the 5-gram and alone, against minutes; a panel a text. False without two times."""
    times = {text: _times(rows, text) for text in TEXTS}
    texts = [text for text in TEXTS if len(times[text]) > 1]
    if not texts:
        return False
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    style: Any = {"svg.hashsalt": path.stem, "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 11}
    with matplotlib.rc_context(style):
        drawing, panels = pyplot.subplots(1, len(texts), figsize=(4.2 * len(texts), 4.6), squeeze=False,
                                          layout="constrained")  # fmt: skip
        for axes, text in zip(panels[0], texts, strict=True):
            _draw_text(axes, rows, text, times[text])
        panels[0][0].set_ylabel("test perplexity")
        for dashes, face, what in (("o-", "black", "with the 5-gram"), ("o:", "white", "alone")):
            panels[0][0].plot([], [], dashes, color="black", markersize=5, markerfacecolor=face, label=what)
        drawing.legend(*panels[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
        path.parent.mkdir(parents=True, exist_ok=True)
        drawing.savefig(path, format="svg", metadata={"Date": None})
        pyplot.close(drawing)
    return True


def _draw_text(axes: Any, rows: Sequence[Row], text: str, times: Sequence[float]) -> None:
    """A line a contender with the 5-gram, and a dotted one with hollow marks without."""
    for name, colour in COLOURS.items():
        what = CONTENDERS[name].what.replace("`", "")
        for measured, dashes, face, label in (("mixed_test", "o-", colour, what), ("test", "o:", "white", "_")):
            points = [(time, each) for time in times if (each := value(rows, name, text, time, measured))]
            if points and not (name == "kneser-ney" and measured == "test"):  # the same, mixed with itself
                axes.plot(*zip(*points, strict=True), dashes, color=colour, label=label, markersize=5,
                          markerfacecolor=face)  # fmt: skip
    axes.set(xscale="log", yscale="log", xlabel="minutes", title=text)
    axes.set_xticks(times, [f"{time:g}" for time in times])
    axes.xaxis.minorticks_off()
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter("{x:g}")
    axes.grid(color="#d8dee9", linewidth=0.6, which="both")
    axes.spines[["top", "right"]].set_visible(False)
