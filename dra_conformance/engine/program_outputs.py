"""The last lines of the logs of programs under test, for a scenario that did not pass."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from itertools import islice
from pathlib import Path

from dra_conformance.core.events import ProgramOutput
from dra_conformance.core.options import redact
from dra_conformance.core.plain_text import one_line
from dra_conformance.core.process import ManagedProcess

_PROGRAMS, _LINES, _WIDTH = 3, 8, 400
"""The programs of one scenario, lines of a program, and characters of a line, at most."""


Program = tuple[str, ManagedProcess]
"""A component and a program of it."""


def outputs(
    programs: Sequence[Program], others: Sequence[Program], *, components: Collection[str], folder: Path
) -> list[ProgramOutput]:
    """Return the output of the programs of some components, or of all `programs` if those have none.

    `others` are programs of Kubernetes itself. `folder` is the report directory. Programs that have printed nothing are
    part of the result.
    """
    concerned = [one for component, one in (*programs, *others) if component in components]
    concerned = concerned or [one for _, one in programs]
    return [
        ProgramOutput(
            program=process.name,
            file=os.path.relpath(process.log_path, folder),
            # A report is shown to more people than a log, which only its owner may read.
            lines=tuple(one_line(redact(line), limit=_WIDTH) for line in process.why_it_ended(_LINES)),
        )
        for process in islice(concerned, _PROGRAMS)
    ]
