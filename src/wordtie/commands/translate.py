"""`wordtie translate`: prepare sentence pairs, train a translation model, translate with it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from wordtie.commands._settings import add_run_options, default_folder, mode_of, print_recipe
from wordtie.commands._shared import Parser, print_json, stdin, text_name, whole_number
from wordtie.config import TRANSLATION_SECTIONS, BitextSettings, TranslationSettings, to_dict
from wordtie.config.options import SettingsParser
from wordtie.config.paths import path_of
from wordtie.console import say
from wordtie.errors import DataError, SaveError

if TYPE_CHECKING:
    from wordtie.runs.result import TrainingResult

HELP = """\
Translate lines, or train a model that does.

There is one line out for each line in, always.

  wordtie translate RUN < in.en > out.de
  wordtie translate RUN in.en --n-best 10 > out.nbest        as Moses writes n-best lists
  wordtie translate RUN in.en --json                         with scores and attention weights

Two other forms make such a model; each has its own --help:

  wordtie translate prepare CORPUS      learn subwords, and count those that the languages share
  wordtie translate train CORPUS        train on sentence pairs

A run folder that is called `train` or `prepare` is given as ./train."""

TRAIN_HELP = """\
Train a translation model on sentence pairs: attention, GRU encoder and decoder, shared word matrices.

examples:
  wordtie translate train multi30k --out runs/en-de
  wordtie translate train multi30k --source de --target en --tying decoder
  wordtie translate train pairs.tsv --source en --target nl --vocabulary-size 4000 --lowercase
  wordtie translate train texts/ --source en --target nl --units words --tying none

CORPUS is a folder with train.en, train.de, valid.en and so on, a TSV file, which is split, or one of: {corpora}.
Sentences of the validation part are translated after every epoch, and training stops when their BLEU stops rising."""

TRAIN_USAGE = "[CORPUS] [--SETTING VALUE ...] [--config RECIPE] [--out RUN] [--resume] [--overwrite]"
COMMON = (
    "source",
    "target",
    "units",
    "vocabulary_size",
    "lowercase",
    "tying",
    "linear_map",
    "hidden",
    "embedding",
    "output_dropout",
    "loss.kind",
    "label_smoothing",
    "noise.kind",
    "optimiser",
    "lr",
    "epochs",
    "max_time",
    "seed",
)
"""The settings that `--help` shows."""

PREPARE_HELP = """\
Read sentence pairs, learn their subwords or words, and count those of the source only, of the target only, and of
both.

examples:
  wordtie translate prepare multi30k
  wordtie translate prepare pairs.tsv --vocabulary-size 4000 --out tokenizer.json

Training does the same by itself. Press & Wolf (2017) show these counts in their table 1: the more subwords both
languages share, the more three-way tying saves."""


def main(argv: list[str]) -> None:
    """Prepare, train or translate."""
    forms = {"prepare": prepare, "train": train}
    if argv and argv[0] in forms:
        forms[argv[0]](argv[1:])
    else:
        translate(argv)


def prepare(argv: list[str]) -> None:
    """Print counts of the sentence pairs, and of the subwords that their languages share."""
    sections = {"data": BitextSettings}
    usage = "[CORPUS] [--SETTING VALUE ...] [--out FILE] [--json]"
    parser = SettingsParser("translate prepare", PREPARE_HELP, usage, sections, COMMON[:5], TRANSLATION_SECTIONS)
    where = "Write the tokenizer here: of joint_bpe in the format of `tokenizers`, of other units an object of two."
    parser.add_argument("--out", metavar="FILE", help=where)
    parser.add_argument("--json", action="store_true", help="Print a JSON object.")
    parsed = parser.parse_args(argv)
    settings: BitextSettings = parser.made()["data"]
    out = None if parsed.out is None else path_of(parsed.out)
    if out is not None and out.exists():
        raise SaveError(f"{out}: is there already: give another name, or remove it")

    from wordtie.data.bitext import SPLITS, columns_read, read_bitext
    from wordtie.data.subword_overlap import overlap

    data = read_bitext(settings)
    shared = overlap(data)
    say(columns_read(data))
    if out is not None:
        data.tokenizer.save(out)
    counts = {
        split: {"pairs": len(getattr(data, split)), "target_tokens": getattr(data, split).target_tokens}
        for split in SPLITS
    }
    if parsed.json:
        lost = {"too_long": data.too_long, "repeated": data.repeated}
        print_json({"text": counts, **lost, "units": settings.units, **vars(shared), "sha256": data.texts})
        return
    for split, count in counts.items():
        print(f"{split:12} {count['pairs']:,} pairs, {count['target_tokens']:,} target tokens with <eos>")
    lengths = f"{data.too_long:,} training pairs for their length or an empty side"
    print(f"left out     {lengths}, {data.repeated:,} for a repeated sentence")
    unit = "words" if settings.units == "words" else "subwords"
    for (name, count), share in zip(vars(shared).items(), shared.shares(), strict=True):
        print(f"{name.replace('_', ' '):12} {count:,} {unit} ({share:.0%})")


def train(argv: list[str]) -> None:
    """Train, and print what came out."""
    from wordtie.data.bitext import PARALLEL

    help_text = TRAIN_HELP.format(corpora=", ".join(PARALLEL))
    parser = SettingsParser(
        "translate train", help_text, TRAIN_USAGE, TRANSLATION_SECTIONS, COMMON, TRANSLATION_SECTIONS
    )
    parser.add_argument("--out", metavar="RUN", help="The run folder; runs/CORPUS-SOURCE-TARGET if not given.")
    add_run_options(parser)
    parsed = parser.parse_args(argv)
    mode = mode_of(parsed)
    settings = parser.with_place(TranslationSettings, **parser.made())
    if parsed.print_config:
        print_recipe(to_dict(settings), parsed.json)
        return

    from wordtie.training.translation import train_translation

    data = settings.data
    out = default_folder(data.corpus, f"-{data.source}-{data.target}") if parsed.out is None else parsed.out
    result = train_translation(settings, out, mode)
    if result.stopped == "max_time":
        say(["stopped by --max-time; the same command with --resume continues"])
    if parsed.json:
        print_json(result.as_json())
    else:
        print(summary(result))


def summary(result: TrainingResult) -> str:
    """Format the result for a person."""
    from wordtie.evaluation.format_perplexity import format_epochs, format_perplexity

    scores, measuring = result.translation or {}, result.measuring_seconds or 0.0
    lines = [
        f"run folder   {result.folder}",
        f"parameters   {result.parameters:,}",
        f"trained      {format_epochs(result.epochs_trained or 0.0, 3)}, {result.tokens_seen:,} target tokens, in "
        f"{result.seconds - measuring:,.0f} s, and {measuring:,.0f} s of measuring ({result.stopped})",
    ]
    for split, perplexity in (("test", result.test_perplexity), ("valid", result.valid_perplexity)):
        low, high = scores[f"{split}_low"], scores[f"{split}_high"]
        lines.append(
            f"{split:12} BLEU {scores[f'{split}_bleu']:.2f} (95 % interval {low:.2f} to {high:.2f}), perplexity "
            f"{format_perplexity(perplexity)}"
        )
    return "\n".join([*lines, f"BLEU         {scores['signature']}, beam {scores['beam']}"])


def translate(argv: list[str]) -> None:
    """Print a translation of each line."""
    parser = Parser("translate", HELP, usage="wordtie translate RUN [FILE] [--beam K] [--n-best N] [--json]")
    parser.add_argument("run", metavar="RUN", help="the run folder of a translation model")
    parser.add_argument("file", metavar="FILE", nargs="?", default="-", help="a UTF-8 text, plain or .gz (stdin)")
    parser.add_argument("--beam", type=whole_number, default=5, metavar="K", help="width of the beam (5); 1 is greedy")
    parser.add_argument("--length-power", type=float, default=1.0, metavar="A", help="rank by log p / length^A (1)")
    parser.add_argument("--n-best", type=whole_number, metavar="N", help="print N translations of a line, Moses format")
    parser.add_argument("--replace-unknown", action="store_true", help="<unk> becomes the most attended source word")
    parser.add_argument("--json", action="store_true", help="print a JSON object a translation, with attention")
    parsed = parser.parse_args(argv)

    from wordtie.inference.translation import LONGEST_LINE, load_translation, moses_line
    from wordtie.models.beam_search import Search

    model = load_translation(parsed.run)
    n, unit = parsed.n_best or 1, "words" if model.settings.data.units == "words" else "subwords"
    search = Search(max(parsed.beam, n), parsed.length_power, attention=parsed.json or parsed.replace_unknown)
    for number, best in enumerate(model.stream(batches(parsed.file), n, search, parsed.replace_unknown)):
        if left := best[0].not_read:
            say(
                [
                    f"{text_name(parsed.file)}, line {number + 1}: is longer than {LONGEST_LINE:,} {unit}; the last "
                    f"{left:,} are not translated: cut it into sentences"
                ]
            )
        for found in best:
            if parsed.json:
                print(json.dumps({"line": number, **found.as_json()}, ensure_ascii=False, allow_nan=False))
            else:
                print(moses_line(number, found) if parsed.n_best else found.text)
        sys.stdout.flush()


def batches(file: str) -> Iterator[Sequence[str]]:
    """Yield the lines of a file, some hundred at a time; of stdin, those that are available. Raises `DataError`."""
    from wordtie.inference.translation import in_batches

    number = 1
    for block in blocks(file):
        lines = block.removesuffix(b"\n").split(b"\n")
        yield from in_batches(as_text(line, text_name(file), number + place) for place, line in enumerate(lines))
        number += len(lines)


def blocks(file: str) -> Iterator[bytes]:
    """Yield whole lines of a file; of stdin, those that are available."""
    from wordtie.data.reading import Source, byte_blocks, opened
    from wordtie.inference.translation import arriving

    if file == "-":
        descriptor = stdin().fileno()
        yield from arriving(lambda: os.read(descriptor, 1 << 16))
        return
    with opened(Source(path_of(file))) as handle:
        yield from (block for _, block in byte_blocks(handle, file, hint="cut it into shorter lines"))


def as_text(line: bytes, name: str, number: int) -> str:
    """Decode a line of a file or of stdin. Invalid text is replaced, with a note: the line is translated all the same.

    Raises `DataError` for UTF-16.
    """
    from wordtie.data.reading import UTF_16, decoded

    try:
        return decoded(line, name, number, begins=number == 1)
    except DataError as error:
        if number == 1 and line.startswith(UTF_16):
            raise
        say([f"{error}; replaced here"])
        return line.replace(b"\0", b" ").decode("utf-8", errors="replace")
