"""`wordtie train`: a text in, a run folder out."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from wordtie.commands._settings import another_of_its_name, as_yaml, default_folder
from wordtie.commands._shared import UsageError, print_json
from wordtie.config import SECTIONS, Settings, to_dict
from wordtie.config.options import SettingsParser
from wordtie.console import say
from wordtie.word2vec.settings import Word2VecSettings

if TYPE_CHECKING:
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
    "space": "taken as tokenised already: words are separated by white space",
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

    from wordtie.training.trainer import train

    say(another_of_its_name(settings.data.corpus))
    result = train(settings, out, mode="resume" if parsed.resume else "overwrite" if parsed.overwrite else "new")
    if result.stopped == "max_time":
        print("stopped by --max-time; the same command with --resume continues", file=sys.stderr)
    if parsed.json:
        print_json(result.as_json())
    else:
        print(summary(result))
        if result.stopped != "max_time" and result.valid_perplexity > (result.text or {})["vocabulary_size"]:
            say(["the model is worse than guessing: --lr is too high, or the training text is too short"])


def summary(result: TrainingResult) -> str:
    """The result, for a person: every perplexity with what it was counted over."""
    from wordtie.evaluation.format_perplexity import format_perplexity

    text = result.text or {}
    measuring = result.measuring_seconds or 0.0
    return "\n".join(
        [
            f"run folder             {result.folder}",
            f"parameters             {result.parameters:,}, over {text['vocabulary_size']:,} words",
            f"text                   {TAKEN_AS[text['tokenisation']]}",
            f"trained                {result.epochs_trained:.3g} epochs, {result.tokens_seen:,} tokens, in "
            f"{result.seconds - measuring:.0f} s, and {measuring:.0f} s of measuring ({result.stopped})",
            f"test perplexity        {format_perplexity(result.test_perplexity)} over {result.test_tokens:,} tokens, "
            f"{text['test_oov']:,} of them out of the vocabulary",
            f"validation perplexity  {format_perplexity(result.valid_perplexity)} over {result.valid_tokens:,} tokens, "
            f"{text['valid_oov']:,} of them out of the vocabulary",
            f"<unk>: {text['unk']}",
            f"<eos>: {text['eos']}",
        ]
    )
