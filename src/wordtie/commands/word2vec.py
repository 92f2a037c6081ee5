"""`wordtie word2vec`: a text in, a run folder of word vectors out."""

from __future__ import annotations

from wordtie.commands._settings import OTHER_SECTIONS, another_of_its_name, default_folder, print_recipe
from wordtie.commands._shared import print_json
from wordtie.config import DataSettings
from wordtie.config.options import SettingsParser
from wordtie.config.paths import path_of
from wordtie.console import say
from wordtie.word2vec.settings import Word2VecSettings, recipe, with_min_count

HELP = """\
Train word vectors: skip-gram or CBOW, untied, tied, or tied with a linear map.

examples:
  wordtie word2vec sotu                              skip-gram of the State of the Union addresses
  wordtie word2vec imdb --vector-size 300 --lowercase
  wordtie word2vec novel.txt --algorithm cbow --head tied_linear
  wordtie word2vec ptb --workers 1                   bit-identical vectors every time

CORPUS is what `wordtie train` takes. Settings other than `algorithm` and `head` have gensim's names and
meanings. `wordtie vectors` and `wordtie similarity` open the run folder, which is written at the end."""

USAGE = "[CORPUS] [--SETTING VALUE ...] [--config RECIPE] [--out RUN] [--overwrite]"

COMMON = (
    "lowercase",
    "min_count",
    "algorithm",
    "head",
    "vector_size",
    "window",
    "negative",
    "sample",
    "alpha",
    "epochs",
    "workers",
    "seed",
)
"""The settings that `--help` shows."""


def main(argv: list[str]) -> None:
    """Parse, train, and print what came out."""
    sections = {"data": DataSettings, "word2vec": Word2VecSettings}
    parser = SettingsParser("word2vec", HELP, USAGE, sections, COMMON, OTHER_SECTIONS)
    parser.add_argument("--out", metavar="RUN", help="The run folder; runs/CORPUS-word2vec if not given.")
    parser.add_argument("--overwrite", action="store_true", help="Replace the run folder if there is one.")
    parser.add_argument("--json", action="store_true", help="Print the result as JSON.")
    parser.add_argument("--print-config", action="store_true", help="Print the settings as a recipe, and stop.")
    parsed = parser.parse_args(argv)
    made = parser.made()
    if not parsed.print_config:
        parser.require_text()
    data, settings = with_min_count(made["data"]), made["word2vec"]
    if parsed.print_config:
        print_recipe(recipe(data, settings), parsed.json)
        return
    out = default_folder(data.corpus, "-word2vec") if parsed.out is None else parsed.out

    from wordtie.data.catalogue import CATALOGUE
    from wordtie.word2vec.run import train_word2vec

    say([*another_of_its_name(data.corpus), *settings.unused_settings()])
    if data.corpus not in CATALOGUE and path_of(data.corpus).is_file():
        say([f"{100 * data.split[0]:.0f} % of the text is trained on, as by `wordtie train`: --split says how much"])
    result = train_word2vec(data, settings, out, mode="overwrite" if parsed.overwrite else "new")
    if parsed.json:
        print_json(result.as_json())
        return
    print(f"run folder   {result.folder}")
    print(f"loss         {result.losses[-1]:.4f} nats over {result.predictions:,} predictions of the last epoch")
    print(f"vocabulary   {result.vocabulary:,} words, {result.parameters:,} parameters")
    rate = result.words_read / max(result.seconds, 0.1)
    print(f"time         {result.seconds:,.0f} s for {result.words_read:,} words, {rate:,.0f} words/s")
