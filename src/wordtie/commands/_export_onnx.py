"""`wordtie export onnx`: a model as an ONNX file."""

from __future__ import annotations

from wordtie.commands._shared import Parser, add_export, print_json
from wordtie.console import say

HELP = """\
Write the network of a model as one ONNX file, which onnxruntime runs without torch or wordtie.

By default the graph is one step: it takes a word's id and the state, and gives log p of every word and the new state.
A text starts from a state of zeros and the word <eos>. Words, and how text is split into them, are in the file's
metadata. N-grams that are mixed into the network are written beside it, as OUT.ngrams.safetensors.

With --nll the graph takes whole sentences (x, x_lens) and gives -log p of each (nll), <eos> included, with the metadata
that icefall and sherpa-onnx expect of an RNN language model.

examples:
  wordtie export onnx runs/novel novel.onnx
  wordtie export onnx runs/novel novel.onnx --eight-bits
  wordtie export onnx runs/novel lm.onnx --nll
"""


def main(argv: list[str]) -> None:
    """Write the file, and print what was written."""
    parser = Parser("export onnx", HELP)
    parser.add_argument("--nll", action="store_true", help="whole sentences in place of one step")
    parser.add_argument("--eight-bits", action="store_true", help="quantise matrices to 8 bits: a quarter of the size")
    add_export(parser)
    arguments = parser.parse_args(argv)

    from wordtie.export.onnx_file import Form, write_onnx

    form: Form = "nll" if arguments.nll else "step"
    written = write_onnx(arguments.run, arguments.out, form, arguments.eight_bits, arguments.overwrite)
    if written.left_out:
        what = " and ".join(written.left_out)
        say([f"{written.files[0]} does not have the {what} that are mixed into {arguments.run}: its scores differ"])
    if arguments.json:
        files = list(map(str, written.files))
        print_json({"files": files, "bytes": written.bytes, "parameters": written.parameters})
        return
    for file in written.files:
        print(file)
