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
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit("interrupted; the same command goes on")
