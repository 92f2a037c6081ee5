"""`python -m wordtie`: the command line, for whoever has the package but not its script on the path."""

import sys

from wordtie.cli import main

sys.exit(main())
