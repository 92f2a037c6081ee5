"""`wordtie train`: a text in, a run folder out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wordtie.commands._settings import another_of_its_name, as_yaml, default_folder
from wordtie.commands._shared import UsageError, print_json, say
from wordtie.config import SECTIONS, Settings, to_dict
from wordtie.config.options import SettingsParser
from wordtie.word2vec.settings import Word2VecSettings

if TYPE_CHECKING:
    from wordtie.data.token_file import PreparedData
    from wordtie.runs.result import TrainingResult

HELP = """\
Train a language model on a text.

examples:
  wordtie train                                     the default model of the default text
  wordtie train ptb --hidden 650 --lr 0.5           a larger model of a known corpus
  wordtie train novel.txt --out runs/novel          a text of your own
  wordtie train ptb --max-time 9m                   stop cleanly after nine minutes ...
  wordtie train ptb --max-time 9m --resume          ... and continue later
  wordtie train ptb --head untied --print-config > recipe.yaml
  wordtie train --config recipe.yaml --seed 2 --out runs/seed-2

CORPUS is a name from `wordtie corpora`, a folder with train.txt, valid.txt and test.txt, or one
text file. The run folder that comes out is the model: `wordtie evaluate` and the others open it."""

USAGE = "[CORPUS] [--SETTING VALUE ...] [--config RECIPE] [--out RUN] [--resume]"

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
    "space": "taken as tokenised already: words are what stands between white space",
    "words": "taken as raw: punctuation marks are words of their own",
}
"""By `data.tokenisation`."""


def main(argv: list[str]) -> None:
    """Parse, train, and print what came out."""
    parser = SettingsParser("train", HELP, USAGE, SECTIONS, COMMON, {"word2vec": Word2VecSettings})
    parser.add_argument("--out", metavar="RUN", help="The run folder; runs/CORPUS if not given.")
    parser.add_argument("--resume", action="store_true", help="Continue from the run folder's last checkpoint.")
    parser.add_argument("--overwrite", action="store_true", help="Replace a run; its model stays until the next.")
    parser.add_argument("--json", action="store_true", help="Print the result as JSON.")
    parser.add_argument("--print-config", action="store_true", help="Print the settings as a recipe, and stop.")
    parsed = parser.parse_args(argv)
    if parsed.resume and parsed.overwrite:
        raise UsageError("--resume keeps the run folder and --overwrite replaces it; give one of them")
    settings = parser.with_place(Settings, **parser.made())
    if parsed.print_config:
        print(as_yaml(to_dict(settings)), end="")
        return
    out = default_folder(settings.data.corpus) if parsed.out is None else parsed.out

    from wordtie.config.unused_settings import unused_settings
    from wordtie.data.prepare import prepare
    from wordtie.runs.layout import CHECKPOINT
    from wordtie.runs.run_folder import named
    from wordtie.training.run_writer import check_call
    from wordtie.training.trainer import train

    say([*another_of_its_name(settings.data.corpus), *unused_settings(settings)])
    check_call(named(out), settings, parsed.resume, parsed.overwrite)
    goes_on = parsed.resume and (named(out) / CHECKPOINT).exists()
    data = prepare(settings.data)  # as it is before the training: someone may go on writing
    if not goes_on:  # then they have been said
        say([f"{out}: no run is there to go on with, so a new one begins"] if parsed.resume else [])
        say(notes(data))
    result = train(settings, out, resume=parsed.resume, overwrite=parsed.overwrite)
    if result.stopped == "max_time":
        print("stopped by --max-time; the same command with --resume continues", file=sys.stderr)
    if parsed.json:
        print_json(result.as_json())
    else:
        print(summary(result, data.info))
        if result.stopped != "max_time" and result.valid_perplexity > data.info["vocabulary_size"]:
            say(["the model is worse than guessing: --lr is too high, or the training text is too short"])


def summary(result: TrainingResult, info: dict[str, Any]) -> str:
    """What a person wants to know at the end."""
    from wordtie.evaluation.format_perplexity import format_perplexity

    return "\n".join(
        [
            f"run folder             {result.folder}",
            f"parameters             {result.parameters:,}, over {info['vocabulary_size']:,} words",
            f"text                   {TAKEN_AS[info['policy']['tokenisation']]}",
            f"trained                {result.epochs} epochs, {result.seconds:.0f} s ({result.stopped})",
            f"test perplexity        {format_perplexity(result.test_perplexity)} over {result.test_tokens:,} tokens, "
            f"{info['splits']['test']['oov']:,} of them out of the vocabulary",
            f"validation perplexity  {format_perplexity(result.valid_perplexity)} over {result.valid_tokens:,} tokens, "
            f"{info['splits']['valid']['oov']:,} of them out of the vocabulary",
            f"<unk>: {info['policy']['unk']}",
            f"<eos>: {info['policy']['eos']}",
        ]
    )


def notes(data: PreparedData) -> list[str]:
    """What of the text someone may not have meant."""
    from wordtie.data.catalogue import CATALOGUE
    from wordtie.inference.input_warnings import beginning, written_ends

    ids, vocabulary = data.train, data.vocabulary
    found = []
    if not (ids == vocabulary.unk_id).any():
        every_word = data.info["made_from"]["settings"]["min_count"] == 1
        hint = ": --min-count 2 has it learnt from rare words" if every_word else ""
        found.append(f"<unk> never came in training, so what the model says of unknown words means nothing{hint}")
    if data.info["corpus"] in CATALOGUE:
        return found
    paths = map(Path, data.info["made_from"]["files"])
    if written := [f"{path}: {note}" for path in paths for note in written_ends(data.tokenizer, beginning(path))]:
        return found + written
    ends = ids == vocabulary.eos_id
    blank = int((ends[1:] & ends[:-1]).sum())
    if blank:
        found.append(
            f"{blank:,} of {int(ends.sum()):,} lines of the training text are blank, each a sentence without words: "
            "take them out where they only part paragraphs"
        )
    return found
