"""`wordtie word2vec`: a text in, a run folder of word vectors out."""

from __future__ import annotations

from wordtie.commands._settings import SettingsParser, another_of_its_name, as_yaml, default_folder
from wordtie.commands._shared import print_json
from wordtie.config import DataSettings
from wordtie.config.paths import path_of
from wordtie.console import say
from wordtie.data.catalogue import CATALOGUE
from wordtie.word2vec.settings import MIN_COUNT, Word2VecSettings, recipe, with_min_count

HELP = """\
Train word vectors: skip-gram or CBOW, untied, tied, or tied with a linear map.

CORPUS is what `wordtie train` takes; the settings, `algorithm` and `head` aside, are named and mean as gensim's.
`wordtie vectors` and `wordtie similarity` open the run folder that comes out, which is written at the end.

examples:
  wordtie word2vec                                   skip-gram of the default text
  wordtie word2vec imdb --word2vec.vector_size 300 --data.lowercase true
  wordtie word2vec novel.txt --word2vec.algorithm cbow --word2vec.head tied_linear
  wordtie word2vec ptb --word2vec.workers 1          the same bits every time
"""

USAGE = "[CORPUS] [--config RECIPE] [--SECTION.SETTING VALUE ...] [--out RUN] [--overwrite]"


def main(argv: list[str]) -> None:
    """Parse, train, and print what came out."""
    parser = SettingsParser("word2vec", HELP, USAGE, ["data"])
    parser.sections["word2vec"] = Word2VecSettings
    parser.add_argument("--out", type=str | None, default=None, help="The run folder (runs/CORPUS-word2vec).")
    parser.add_argument("--overwrite", action="store_true", help="Replace the run folder if there is one.")
    parser.add_argument("--json", action="store_true", help="Print the result as JSON.")
    parser.add_argument("--print_config", action="store_true", help="Print the settings as a recipe, and stop.")
    parser.add_settings()
    parser.set_defaults({"data.min_count": MIN_COUNT})
    parsed = parser.parse_args(argv)
    corpus = {} if parsed.corpus is None else {"corpus": parsed.corpus}
    with parser.said_by_place():
        data = with_min_count(DataSettings(**{**parsed.data.as_dict(), **corpus}))
        settings = Word2VecSettings(**parsed.word2vec.as_dict())
    if parsed.print_config:
        print(as_yaml(recipe(data, settings)), end="")
        return
    out = default_folder(data.corpus, "-word2vec") if parsed.out is None else parsed.out

    from wordtie.word2vec.run import train_word2vec

    say([*another_of_its_name(data.corpus), *settings.unused_settings()])
    if data.corpus not in CATALOGUE and path_of(data.corpus).is_file():
        say([f"{data.split[0]:.0%} of the text are trained on, as by `wordtie train`: --data.split says how much"])
    result = train_word2vec(data, settings, out, mode="overwrite" if parsed.overwrite else "new")
    if parsed.json:
        print_json(result.as_json())
        return
    print(f"run folder   {result.folder}")
    print(f"loss         {result.losses[-1]:.4f} nats over {result.predictions:,} predictions of the last epoch")
    print(f"vocabulary   {result.vocabulary:,} words, {result.parameters:,} parameters")
    rate = result.words_read / max(result.seconds, 0.1)
    print(f"time         {result.seconds:.0f} s for {result.words_read:,} words, {rate:,.0f} words/s")
