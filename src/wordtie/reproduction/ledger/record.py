"""What an entry of the ledger holds, and the keys whose names are older than today's terms.

Files keep the keys that they were written with; everything else here says *stage* for a training that starts from an
earlier result.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

STAGES: Final = "sessions"
"""The key of a row's stages, first to last; an entry of one stage has none."""
DIVERGED: Final = "later_session_diverged"
"""The key of the changes of a later stage that diverged."""
EARLIER: Final = "earlier"
"""The key of the results that an entry replaced, oldest first."""
STAGE_SUFFIX: Final = ".session-"
"""Between the name of a row's run folder and the number of a later stage."""


Entry: TypeAlias = dict[str, Any]


def stages_of(entry: Entry) -> list[Entry]:
    """The stages of a run, first to last; of one stage, the entry itself."""
    return entry.get(STAGES) or [entry]
