"""What the programs of this folder that are run with `python -m` have in common."""

from __future__ import annotations

import sys
from collections.abc import Callable

from wordtie.errors import WordtieError


def run(main: Callable[[], None]) -> None:
    """Call it; what the user can mend, and Ctrl-C, end the process with one line."""
    try:
        main()
    except WordtieError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        print("interrupted; the same command goes on", file=sys.stderr)
        sys.exit(130)
