"""`wordtie.train`: settings in, a run folder out. It puts a training together; `Trainer.run` is the loop."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import torch

from wordtie.config import Settings
from wordtie.config.keywords import settings_from
from wordtie.config.ngram import NgramSettings
from wordtie.config.paths import path_of
from wordtie.config.unused_settings import unused_settings
from wordtie.console import say, tell, waiting
from wordtie.data.input_warnings import training_text_warnings
from wordtie.errors import RunFolderError
from wordtie.models.memory import check_size
from wordtie.models.network import Network
from wordtie.ngrams.memory import check_ngrams_fit
from wordtie.runs import run_folder
from wordtie.runs.provenance import UNMIXED, record_ngram
from wordtie.runs.result import Position, TrainingResult, read_result
from wordtie.runs.run_folder import Mode, SavedModel, folder_for_training
from wordtie.training.language_modelling import LanguageModelling
from wordtie.training.mixing import mix_with_ngrams
from wordtie.training.optim import build_optimiser, parameter_groups
from wordtie.training.plan import Plan
from wordtie.training.precision import precision_of, resolve_device
from wordtie.training.process import exclusive_training
from wordtie.training.rehearsal import (
    Texts,
    check_other_folder,
    of_the_start,
    read_texts,
    with_earlier_texts,
)
from wordtie.training.resuming import order_before, planned_before
from wordtie.training.retention import Retention, copies_held, is_limited
from wordtie.training.run_state import RunState
from wordtie.training.run_writer import Resumable, RunWriter, language_model_record, read_resumable
from wordtie.training.trainer import Trainer
from wordtie.training.warm_start import load_start, read_start


def train(
    text: Settings | Plan | str | Path,
    out: str | Path,
    mode: Mode = "new",
    *,
    ngram: int | Literal["none"] | None = None,
    extend_vocabulary: bool = False,
    **named: Any,
) -> TrainingResult:
    """Train a language model in the folder `out`.

    `text` is the name or path of a text, the settings, or what `wordtie.plan` returned. Keyword arguments change single
    settings, by the names that the command line takes: `train("novel.txt", "runs/novel", hidden=400)`.

    `ngram`: fit an n-gram model of this order to the same text, too, and mix the two with weights fitted to the
    validation text. Whoever opens the run folder then gets the mixture, unless they ask for the network. If it is not
    given, a plan and the run that is resumed have their own order; otherwise there are no n-grams, as with "none".

    `start_from`: an earlier run, whose model's settings are taken unless this has settings, not a text.
    `extend_vocabulary` adds the new words of the text to it. `mode` says what to do with an existing run: `new`
    refuses, `resume` continues it, `overwrite` replaces it. A planned run that is resumed keeps its first plan. Only
    one training runs in a process at a time; other threads must not draw torch's random numbers meanwhile.

    Raises `RunFolderError` if `out` holds a run that `mode` forbids or cannot resume, `SettingsError` for invalid
    settings, `DataError` for an unusable text, `DivergedError` if training diverges, `SaveError` if writing fails.
    Ctrl-C, SIGTERM and SIGHUP save a checkpoint, then raise `KeyboardInterrupt`, `SystemExit(143)`, `SystemExit(129)`.
    """
    if extend_vocabulary or not isinstance(text, Settings | Plan):
        named = of_the_start(named, extend_vocabulary, path_of(out) if mode == "resume" else None) | named
    settings, order = asked_for(text, run_folder.named(out), mode, ngram, named)
    device = resolve_device(settings.training.device)
    precision = precision_of(settings, device)
    with exclusive_training(settings.training.threads, device), folder_for_training(out, mode) as folder:
        check_other_folder(settings, folder)
        resumable = read_resumable(folder, settings) if mode == "resume" else None
        start = None if resumable else read_start(settings)
        texts = read_texts(settings.data).within(settings.training.measured_tokens)
        data = texts.for_training(settings.training.rehearsal)
        say(notes(settings, texts, folder, mode, resumed=resumable is not None))
        check_size(settings, len(data.vocabulary), device, copies_held(settings, texts.earlier))
        check_ngrams_fit(texts.tokens_to_count, order)
        torch.manual_seed(settings.training.seed)
        task = LanguageModelling(settings, data, device, precision, texts.by_epoch(settings.training.rehearsal))
        started_from = load_start(start, settings, task.model, data) if start else ""
        task.retention, texts = limit_on_forgetting(task, start, texts, resumable)
        optimiser = build_optimiser(settings.training, parameter_groups(task.model, settings.training.word_rate))
        state = RunState(task.model, optimiser, task.initial_state(), Position(started_from=started_from))
        writer = RunWriter(folder, language_model_record(settings, data, order), mode, resumable)
        trainer = Trainer(task, settings.training, state, writer, str(precision).removeprefix("torch."))
        return finish(trainer.run(), order, texts, task)


def asked_for(
    text: Settings | Plan | str | Path,
    folder: Path,
    mode: Mode,
    ngram: int | Literal["none"] | None,
    named: Mapping[str, Any],
) -> tuple[Settings, int | None]:
    """Return the settings, and the order of the n-gram model to mix in, if any.

    Raises `SettingsError` for invalid settings, `RunFolderError` for a planned run that cannot be resumed.
    """
    plan = text if isinstance(text, Plan) else None
    settings = settings_from(text.settings if isinstance(text, Plan) else text)
    if plan and mode == "resume":
        settings = settings_from(settings, **planned_before(folder))
    settings = settings_from(settings, **named)
    if ngram == "none":
        return settings, None
    if ngram is None:
        planned = plan.ngram if plan else None
        return settings, order_before(folder, planned) if mode == "resume" else planned
    return settings, NgramSettings(settings.data, ngram).order


def notes(settings: Settings, texts: Texts, folder: Path, mode: Mode, *, resumed: bool) -> list[str]:
    """Return notes on a run, for the user."""
    missing = [f"{problem}: it is not rehearsed, and the model may forget it" for problem in texts.missing]
    if resumed:
        return missing
    new = [f"{folder}: no run to resume, so a new one starts"] if mode == "resume" else []
    found = unused_settings(settings), of_the_end(settings), training_text_warnings(texts.own)
    return [*new, *chain.from_iterable(found), *missing, *texts.too_short(settings.training.rehearsal)]


def limit_on_forgetting(
    task: LanguageModelling, start: SavedModel | None, texts: Texts, resumable: Resumable | None
) -> tuple[Retention | None, Texts]:
    """Return (the limit that the settings ask for, or None if there is none, or no earlier text to measure it by; the
    texts, without figures of earlier runs if a resumed run started from a model that is gone).

    `start` is the model whose parameters the task's model has. If the run is resumed, it is read again, and these are
    replaced.
    """
    if resumable and texts.earlier and task.settings.training.start_from is not None:
        start = start_again(task, resumable)
        texts = texts if start else texts.without_figures()
    if start is None or not is_limited(task.settings) or not texts.earlier:
        return None, texts
    retention = Retention.of(task.settings, start, task.for_export(task.model.state_dict()), texts.earlier)
    return retention if retention.texts else None, texts


def start_again(task: LanguageModelling, resumable: Resumable) -> SavedModel | None:
    """Read the model that a run started from, to resume it, into the task's model; None, with a note, if it was trained
    again since, or is gone.

    Raises `RunFolderError` if a finished model cannot be made again without it.
    """
    run, folder = task.settings.training.start_from, resumable.path.parent.parent
    with suppress(RunFolderError):
        start = read_start(task.settings)
        before = resumable.record["position"].get("started_from")
        if start and load_start(start, task.settings, task.model, task.data) == before:
            return start
    again = f"{run} was trained again since {folder} started from it"
    result = read_result(folder)
    if result and result.stopped != "max_time" and result.change_kept is not None:
        raise RunFolderError(f"{again}, so its model cannot be made again: it stays; train another with --out")
    say([f"{again}: what was forgotten of its text is neither limited nor known"])
    return None


def of_the_end(settings: Settings) -> list[str]:
    """Return a note for each setting that shapes the end of a training which patience may stop before."""
    training = settings.training
    if training.tokens is not None or training.patience == 0:
        return []
    shaped = [f"loss.full_at_end {settings.loss.full_at_end:g}"] if settings.loss.full_at_end else []
    shaped += ["training.schedule cosine"] if training.schedule == "cosine" else []
    end = f"counts on all {training.epochs} epochs, and training.patience {training.patience} may end training before"
    return [f"{each} {end}: give --time, --tokens, or --epochs with --patience 0" for each in shaped]


def finish(result: TrainingResult, ngram: int | None, texts: Texts, task: LanguageModelling) -> TrainingResult:
    """Mix n-grams in, if an order is given, and measure the texts of earlier runs."""
    record_ngram(result.folder, ngram)
    if ngram is None:
        run_folder.remove_mixture(result.folder)
        return with_earlier_texts(result, texts, Network(task.model, texts.own.vocabulary))
    try:
        with waiting("counting n-grams and mixing them in"):
            return mix_with_ngrams(result, NgramSettings(task.settings.data, ngram), texts, task)
    except KeyboardInterrupt:
        tell(f"interrupted: {result.folder} is trained, but {UNMIXED}")
        raise
