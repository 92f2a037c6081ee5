"""`wordtie serve`: models over HTTP, and a page to look at them."""

from __future__ import annotations

from wordtie.commands._shared import Parser, add_part, whole_number

HELP = """\
Answer over HTTP, and show a page in the browser.

The page colours words by surprisal as you type, lists what may follow, compares two models, and shows neighbours of
words and training curves. Programs ask /surprisal, /predict, /rescore, /generate, /neighbours and /compare, which
/openapi.json describes. /health, /ready and /metrics are for those who run the server. A run folder that changes is
opened again.

examples:
  wordtie serve en
  wordtie serve runs/lstm runs/5-gram --watch runs
  wordtie serve en --host 0.0.0.0 --token-file token.txt
"""


def main(argv: list[str]) -> None:
    """Serve until a signal comes."""
    parser = Parser("serve", HELP)
    add = parser.add_argument
    add("runs", metavar="RUN", nargs="+", help="trained models: run folders, ARPA files, or `en`")
    add("--host", default="127.0.0.1", help="the address to answer at; others than your own need a token (127.0.0.1)")
    add("--port", type=int, default=8000, help="0: one that is free (8000)")
    add("--token-file", metavar="FILE", help="with the token that clients send (WORDTIE_TOKEN, or random if needed)")
    add("--watch", metavar="FOLDER", action="append", default=[], help="show the curves of the runs in it, too")
    add("--batch", type=whole_number, default=64, metavar="N", help="compute at most N requests together (64)")
    add("--queue", type=whole_number, default=1024, metavar="N", help="let at most N requests wait for a model (1024)")
    add("--seconds", type=float, default=30.0, metavar="S", help="give up an answer after S seconds (30)")
    add("--threads", type=whole_number, default=None, metavar="N", help="of a model (as many as cores, less one)")
    add_part(parser)
    arguments = parser.parse_args(argv)

    import torch

    from wordtie.serve.server import ServeSettings, read_token, serve

    torch.set_num_threads(arguments.threads or max(1, torch.get_num_threads() - 1))
    token = read_token(arguments.token_file)
    settings = ServeSettings(arguments.host, arguments.port, token, arguments.batch, arguments.queue,
                             arguments.seconds, tuple(arguments.watch), arguments.part)  # fmt: skip
    serve(arguments.runs, settings)
