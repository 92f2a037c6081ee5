"""`wordtie import`: a model of another program, in a run folder."""

from __future__ import annotations

from wordtie.commands._shared import Parser, print_json
from wordtie.console import amount, say

HELP = """\
Make a run folder of a model that another program trained.

CHECKPOINT is what colorlessgreenRNNs, neural-complexity or word_language_model of PyTorch's examples saved: a whole
model or its state_dict(). LSTM, GRU and RNN_TANH can be imported, tied or not. Nothing in the file is run. Every
command that opens a model opens the run folder, and its scores are those of the original.

examples:
  wordtie import hidden650_batch128_dropout0.2_lr20.0.pt --vocabulary vocab.txt --out runs/gulordava
  wordtie import model.pt --vocabulary data/wikitext-2 --out runs/pytorch    texts, where there is no list of words
  wordtie import wiki_2_model.pt --vocabulary wiki_2_vocab.txt --kind neural-complexity --out runs/nc
"""


def main(argv: list[str]) -> None:
    """Import the checkpoint, and print what it holds."""
    parser = Parser("import", HELP)
    parser.add_argument("checkpoint", metavar="CHECKPOINT", help="the file that torch.save wrote")
    parser.add_argument(
        "--vocabulary",
        metavar="FILE",
        required=True,
        help="the words in the order of the model's rows, separated by white space; of word_language_model, the folder "
        "with its train.txt, valid.txt and test.txt",
    )
    parser.add_argument("--out", metavar="RUN", required=True, help="the run folder to write")
    parser.add_argument(
        "--kind",
        choices=["colorlessgreen", "word_language_model", "neural-complexity"],
        help="the program that trained it (found out from the vocabulary)",
    )
    parser.add_argument("--lowercase", action="store_true", help="lowercase texts first, for a model of such text")
    parser.add_argument(
        "--eos-in-text",
        action="store_true",
        help="texts to score have <eos> in them, as those of colorlessgreenRNNs do: a line end is then white space",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace the run folder if there is one")
    parser.add_argument("--json", action="store_true", help="print a JSON object")
    arguments = parser.parse_args(argv)

    from wordtie.checkpoints.importing import import_checkpoint

    result = import_checkpoint(
        arguments.checkpoint,
        arguments.vocabulary,
        arguments.out,
        kind=arguments.kind,
        lowercase=arguments.lowercase,
        sentences=not arguments.eos_in_text,
        mode="overwrite" if arguments.overwrite else "new",
    )
    say(result.notes)
    if arguments.json:
        print_json(result.as_json())
        return
    print(f"run folder  {result.folder}")
    print(f"from        {result.checkpoint} (SHA-256 {result.sha256[:12]}…), {result.kind or 'program not known'}")
    print(
        f"model       {result.head} {result.core}, {amount(result.layers, 'layer')} of {amount(result.hidden, 'unit')}"
    )
    print(f"parameters  {result.parameters:,}")
    print(f"vocabulary  {result.words:,} words")
