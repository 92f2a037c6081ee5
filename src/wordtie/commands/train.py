"""`wordtie train`: a text in, a run folder out."""

from __future__ import annotations

import math
import time
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wordtie.commands._settings import (
    OTHER_SECTIONS,
    add_run_options,
    another_of_its_name,
    default_folder,
    mode_of,
    print_recipe,
)
from wordtie.commands._shared import UsageError, print_json
from wordtie.config import SECTIONS, DataSettings, Settings, parse_time, to_dict
from wordtie.config.ngram import LONGEST, MixedNgramSettings
from wordtie.config.options import SettingsParser
from wordtie.config.recommended import RECOMMENDED, rate_to_extend, recommended
from wordtie.console import say, tell, waiting
from wordtie.errors import DataError, RunFolderError, did_you_mean
from wordtie.evaluation.format_perplexity import format_epochs, format_perplexity

if TYPE_CHECKING:
    from wordtie.runs.result import TrainingResult

HELP = """\
Train a language model on a text.

examples:
  wordtie train novel.txt --time 10m                a model of your text, in ten minutes
  wordtie train ptb --hidden 650 --out runs/large   a larger model, until validation stops improving
  wordtie train ptb --like inan-2017/table-1/ptb-small-real     the settings of a paper's row
  wordtie train --config recipe.yaml --seed 2 --out runs/seed-2   (--print-config > recipe.yaml)

CORPUS is a name from `wordtie corpora`, a folder with train.txt, valid.txt and test.txt, or one
text file. The run folder that comes out is the model: `wordtie evaluate` and the others open it.
--time chooses sizes, dropout and epochs. Recipes have the papers' defaults: see --help-all."""

USAGE = "[CORPUS] [--time 10m] [--SETTING VALUE ...] [--out RUN]"

LATE = 0.02
"""Share by which a planned run may be late without a note."""
LOSS = 0.05
"""Share by which adapting may raise the perplexity of an earlier text without a note."""

COMMON = (
    "vocabulary_size",
    "lowercase",
    "head",
    "hidden",
    "embedding",
    "layers",
    "input_dropout",
    "hidden_dropout",
    "loss.kind",
    "noise.kind",
    "optimiser",
    "lr",
    "epochs",
    "max_time",
    "seed",
)
"""The settings that `--help` shows."""

TAKEN_AS = {
    "space": "taken as tokenised already: words are separated by white space",
    "words": "taken as raw: punctuation marks are words of their own",
}
"""Description of how the text was read, by `data.tokenisation`."""


def main(argv: list[str]) -> None:
    """Parse, plan, train, and print what came out."""
    started = time.monotonic()
    parser = SettingsParser("train", HELP, USAGE, SECTIONS, COMMON, OTHER_SECTIONS, RECOMMENDED)
    parser.add_argument("--time", metavar="TIME", help="Plan for this long, all included: 80s, 10m, 1h30m.")
    parser.add_argument("--like", metavar="ROW", help="Take the settings of a paper's row, without n-grams.")
    parser.add_argument("--ngram", metavar="ORDER", help="Mix in an n-gram model of this order (5), or none.")
    parser.add_argument("--extend-vocabulary", action="store_true", help="With --start-from: add the text's new words.")
    parser.add_argument("--out", metavar="RUN", help="The run folder; runs/CORPUS if not given.")
    add_run_options(parser)
    parsed = parser.parse_args(argv)
    mode = mode_of(parsed)
    if parsed.time is not None and parsed.like is not None:
        raise UsageError("--time plans the settings and --like takes those of a paper; give one of them")
    if parsed.extend_vocabulary and parsed.like is not None:
        raise UsageError("--extend-vocabulary takes the model of an earlier run and --like that of a paper; give one")
    settings, ngram = chosen(parser, parsed, started)
    if parsed.print_config:
        print_recipe({**to_dict(settings), "ngram": {"order": ngram}}, parsed.json)
        return

    from wordtie.training.train import train

    say(another_of_its_name(settings.data.corpus))
    result = train(settings, folder_of(parsed, settings.data.corpus), mode=mode, ngram=ngram or "none")
    if result.stopped == "max_time":
        tell("stopped by --max-time; the same command with --resume continues")
    if parsed.json:
        print_json(result.as_json())
    else:
        print(summary(result))
    if result.stopped != "max_time":
        say(warnings(result, settings))
        say(late(parsed, time.monotonic() - started))


def folder_of(parsed: Namespace, corpus: str) -> Path:
    """Return the run folder of a training on this text. Raises `RunFolderError` for one without a name."""
    from wordtie.runs.run_folder import named

    return named(default_folder(corpus) if parsed.out is None else parsed.out)


def chosen(parser: SettingsParser, parsed: Namespace, started: float) -> tuple[Settings, int | None]:
    """Return the settings, and the order of the n-gram model if one is mixed in.

    Settings that were not given are those of the run that is resumed, of the row, of the plan, or of the recipe.
    """
    ngram = order_of(parser, parsed)
    seconds = None if parsed.time is None else parse_time(parsed.time, "--time")
    if parsed.like is not None:
        return parser.with_place(Settings, **parser.made(row_settings(parsed.like))), ngram
    values = {name: given.value for name, given in parser.given.items()}
    whole = parser.has_recipe and seconds is None  # such a recipe means the same in each version
    recipe = {} if whole else recommended(values)
    corpus = parser.value("data.corpus") or DataSettings().corpus
    kept = adapted(parser, parsed, corpus)
    given = parser.with_place(Settings, **parser.made({**recipe, **kept}))
    if not parsed.print_config:
        parser.require_text()
    if parsed.resume and (resumed := chosen_before(parser, parsed, folder_of(parsed, corpus), kept, ngram)):
        return resumed
    if seconds is not None:
        refuse_another_plan(parser)
    if seconds is None and (parser.has_recipe or "data.corpus" not in parser.given):
        return given, ngram

    from wordtie.runs.run_folder import folder_for_training
    from wordtie.training.plan import make_plan
    from wordtie.training.rehearsal import check_other_folder

    if not parsed.print_config:  # a folder that no run can be written to is refused before the text is read
        with folder_for_training(folder_of(parsed, corpus), mode_of(parsed)) as folder:
            check_other_folder(given, folder)
    keep = parsed.ngram is not None or "ngram.order" in parser.given
    try:
        with waiting("planning"):
            spent = time.monotonic() - started
            plan = make_plan(given, {*parser.given, *kept}, seconds, ngram=ngram, keep_ngram=keep, spent=spent)
    except (DataError, RunFolderError) as error:
        if seconds is not None or not parsed.print_config:
            raise
        say([f"{error}; noise, streams and the sample of the softmax are not fitted to the text"])
        return given, ngram
    for line in plan.reasons:
        tell(line)
    return plan.settings, plan.ngram


def refuse_another_plan(parser: SettingsParser) -> None:
    """Raise `UsageError` if a recipe says how long to train, as whole recipes do: a time says so, too.

    Tokens that are given as an option come before either.
    """
    tokens = parser.given.get("training.tokens")
    if tokens is not None and not tokens.from_recipe:
        return
    for name in ("training.tokens", "training.epochs"):
        given = parser.given.get(name)
        if given is not None and given.from_recipe and given.value is not None:
            raise UsageError(
                f"{given.place}: the recipe has {name} {given.value}, and --time plans it; leave out --time, or keep "
                "only the settings that --time shall not choose in the recipe"
            )


def adapted(parser: SettingsParser, parsed: Namespace, corpus: str) -> dict[str, Any]:
    """Return what a run takes from the one that it starts from, the model; to extend its vocabulary, how text is split
    into words, too, and the learning rate.

    Raises `UsageError` if it does not start from a run, `RunFolderError` if that is no run of a language model.
    """
    start = parser.value("training.start_from")
    if start is None:
        if parsed.extend_vocabulary:
            raise UsageError("--extend-vocabulary adds words to an earlier run's: name it with --start-from")
        return {}

    from wordtie.training.rehearsal import of_the_start

    resumed = folder_of(parsed, corpus) if parsed.resume else None
    try:
        kept = of_the_start({"start_from": start}, parsed.extend_vocabulary, resumed)
    except RunFolderError:
        if parsed.print_config and not parsed.extend_vocabulary:  # the run need not be there yet
            return {}
        raise
    if not parsed.extend_vocabulary or parser.has_recipe:
        return kept
    return {**kept, **rate_to_extend({name: given.value for name, given in parser.given.items()})}


def chosen_before(
    parser: SettingsParser, parsed: Namespace, folder: Path, kept: Mapping[str, Any], ngram: int | None
) -> tuple[Settings, int | None] | None:
    """Return what `chosen` returns for the run in the folder; None if there is none."""
    from wordtie.training.resuming import order_before, planned_before

    recorded = planned_before(folder)
    if not recorded:
        return None
    settings = parser.with_place(Settings, **parser.made({**recorded, **kept}))
    refuse_another_length(parser, parsed, settings, folder)
    return settings, order_before(folder, ngram) if parsed.ngram is None else ngram


def refuse_another_length(parser: SettingsParser, parsed: Namespace, settings: Settings, folder: Path) -> None:
    """Raise `UsageError` for epochs if the run has a number of tokens, so that they change nothing, and for a time if
    it has none."""
    from wordtie.runs.compatibility import recorded_settings

    before, tokens = recorded_settings(folder), settings.training.tokens
    if before is None or parser.value("training.tokens") is not None:
        return
    if parsed.time is not None and tokens is None:
        raise UsageError(
            f"--time plans a new run: {folder} was begun without, and trains until validation stops improving; "
            "--max-time stops it sooner"
        )
    other = "training.epochs" in parser.given and settings.training.epochs != before.training.epochs
    if tokens is not None and parsed.time is None and other:
        raise UsageError(
            f"--epochs changes nothing here: {folder} was planned for {tokens:,} tokens; train a new run with a longer "
            "--time"
        )
    if parsed.time is not None:
        say([f"{folder} continues as planned, for {tokens:,} tokens; another --time needs a new run"])


def row_settings(name: str) -> dict[str, Any]:
    """Return the settings of a paper's row, by full name. Raises `UsageError` for what is no row of a trained model."""
    from wordtie.reproduction.papers.registry import ROWS

    if name not in ROWS or ROWS[name].kind != "train" or ROWS[name].not_run:
        trained = [row.name for row in ROWS.values() if row.kind == "train" and not row.not_run]
        raise UsageError(
            f"--like {name}: no such row{did_you_mean(name, trained)} (`wordtie reproduce list` shows all)"
        )
    settings = ROWS[name].settings()
    sections = {section: vars(getattr(settings, section)) for section in SECTIONS}
    return {f"{section}.{key}": value for section, values in sections.items() for key, value in values.items()}


def order_of(parser: SettingsParser, parsed: Namespace) -> int | None:
    """Return the order of the n-gram model to mix in; None for no model. Raises `UsageError` for an invalid order."""
    if parsed.ngram is None:
        if "ngram.order" not in parser.given:
            return None if parsed.like else MixedNgramSettings.order
        of_recipe: MixedNgramSettings = parser.with_place(MixedNgramSettings, order=parser.given["ngram.order"].value)
        return of_recipe.order
    if parsed.ngram == "none":
        return None
    if not parsed.ngram.isdecimal() or not 1 <= int(parsed.ngram) <= LONGEST:
        raise UsageError(f"--ngram needs none or an order from 1 to {LONGEST}, got {parsed.ngram!r}")
    return int(parsed.ngram)


def late(parsed: Namespace, seconds: float) -> list[str]:
    """Return a note if a planned run took longer than planned."""
    if parsed.time is None or parsed.resume or seconds <= (1 + LATE) * parse_time(parsed.time, "--time"):
        return []
    return [
        f"this took {seconds:,.0f} s, more than --time {parsed.time}: other work on the machine, or settings that "
        "were given, slowed it down"
    ]


def warnings(result: TrainingResult, settings: Settings) -> list[str]:
    """Return notes if word frequencies alone, or guessing, would do better, or if an earlier text was forgotten."""
    from wordtie.data.prepare import prepare
    from wordtie.errors import WordtieError
    from wordtie.ngrams.unigram import Unigram

    limited = result.change_kept is not None
    limit = max(LOSS, settings.training.max_forgetting or 0.0) if limited else LOSS
    lower = "--lr or --max-forgetting" if limited else "--lr"
    lost = [
        f"{each['run']}: its text is predicted more than {100 * limit:g} % worse: raise --rehearsal, or lower {lower}"
        for each in result.earlier or []
        if is_forgotten(each, limit)
    ]
    best = min(result.valid_perplexity, (result.mixture or {}).get("valid_perplexity", math.inf))
    if best > (result.text or {})["vocabulary_size"]:
        return [*lost, "the model is worse than guessing: --lr is too high, or the training text is too short"]
    try:
        data = prepare(settings.data)
    except WordtieError:  # the text was moved or changed since: the result stands all the same
        return lost
    valid = data.measured("valid", settings.training.measured_tokens)
    log_p_N = Unigram.fit(data.train, len(data.vocabulary)).log_probabilities(valid)
    unigram = math.exp(-float(log_p_N.mean()))
    if best <= unigram:
        return lost
    what = f"perplexity {format_perplexity(unigram)} on the validation text"
    return [*lost, f"the model is worse than word frequencies alone ({what}): train longer, or on a longer text"]


def is_forgotten(earlier: Mapping[str, Any], limit: float = LOSS) -> bool:
    """Return whether the model used by default, the mixture or else the network, lost more than this share."""
    part = "mixture" if "mixture_before" in earlier else "network"
    before = earlier.get(f"{part}_before")
    now = earlier.get(part, earlier["network"])
    return before is not None and now > before * (1 + limit)


def summary(result: TrainingResult) -> str:
    """Format the result for a person: every perplexity with what it is over."""

    text = result.text or {}
    measuring = result.measuring_seconds or 0.0
    counting = f", {result.ngram['seconds']:,.0f} s of counting and mixing" if result.ngram else ""
    return "\n".join(
        [
            f"run folder             {result.folder}",
            f"parameters             {result.parameters:,}, over {text['vocabulary_size']:,} words",
            f"text                   {TAKEN_AS[text['tokenisation']]}",
            f"trained                {format_epochs(result.epochs_trained or 0.0, 3)}, {result.tokens_seen:,} tokens, "
            f"in {result.seconds - measuring:,.0f} s{counting}, and {measuring:,.0f} s of measuring ({result.stopped})",
            *(
                f"{name:22} {'   '.join(perplexities(result, split))}   over "
                f"{measured(tokens, text.get(f'{split}_length', tokens), text[f'{split}_oov'])} out of the vocabulary"
                for name, split, tokens in (
                    ("test perplexity", "test", result.test_tokens),
                    ("validation perplexity", "valid", result.valid_tokens),
                )
            ),
            *map(earlier_line, result.earlier or []),
            *kept_line(result.change_kept),
            f"<unk>: {text['unk']}",
            f"<eos>: {text['eos']}",
        ]
    )


def kept_line(share: float | None) -> list[str]:
    """Format how much of the change a model kept that was moved back towards its start; nothing if it was not."""
    if share is None or share == 1:
        return []
    return [
        f"{'earlier words':22} keep {100 * share:.0f} % of the change to their vectors, because of --max-forgetting"
    ]


def earlier_line(figures: Mapping[str, Any]) -> str:
    """Format the perplexity of an earlier run's test text, and how it changed."""
    parts = []
    for part in ("network", "mixture"):
        if part in figures:
            before = figures.get(f"{part}_before")
            change = "" if before is None else f" ({100 * (figures[part] / before - 1):+.1f} %)"
            parts.append(f"{part} {format_perplexity(figures[part])}{change}")
        elif f"{part}_before" in figures:
            parts.append(f"no {part}, before {format_perplexity(figures[f'{part}_before'])}")
    return f"{'earlier test text':22} {'   '.join(parts)}   over {figures['tokens']:,} tokens of {figures['corpus']}"


def measured(tokens: int, length: int, oov: int) -> str:
    """Describe the tokens of a text that a figure is over, and how many of the text are out of the vocabulary."""
    if tokens == length:
        return f"{length:,} tokens, {oov:,} of them"
    return f"{tokens:,} of {length:,} tokens (`wordtie evaluate` reads all); {oov:,} of all are"


def perplexities(result: TrainingResult, split: str) -> list[str]:
    """Return the network's perplexity; for a mixture, those of its parts and its own, each by name."""
    of = {"network": result.as_json(), "n-gram": result.ngram, "mixture": result.mixture}
    found = {name: format_perplexity(each[f"{split}_perplexity"]) for name, each in of.items() if each}
    if result.mixture and "without_recent" in result.mixture:
        without = format_perplexity(result.mixture["without_recent"][f"{split}_perplexity"])
        found["mixture"] += f" ({without} without recent words)"
    return [f"{name} {each}" for name, each in found.items()] if len(found) > 1 else list(found.values())
