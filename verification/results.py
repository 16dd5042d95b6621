"""The page of dated results that `make verify-all` writes."""

from __future__ import annotations

import datetime
import subprocess
from collections.abc import Iterable
from pathlib import Path

from verification.jobs import Finished

_HEAD = """# Results of the whole verification

`make verify-all` writes this page: the suite against every third-party program, every check of the harness against real
Kubernetes programs, and all mutants. CI runs a fixed subset of it (`.ci/README.md`).

Run on {date} at commit `{commit}`.

| Program or check | Result | Seconds | |
|---|---|---|---|
"""


def write(page: Path, ended: Iterable[Finished]) -> None:
    """Write the table of results to `page`, with today's date and the commit of the working tree."""
    rows = []
    for one in sorted(ended, key=lambda each: each.name):
        cells = (one.name, one.summary.replace("|", "/"), f"{one.seconds:.0f}", "FAILED" if one.exit_code else "ok")
        rows.append(f"| {' | '.join(cells)} |\n")
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    page.write_text(_HEAD.format(date=today, commit=commit()) + "".join(rows))


def commit() -> str:
    """Return the commit of the working tree, marked if files differ from it."""
    found = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--abbrev=12"], check=False, capture_output=True, text=True
    )
    return found.stdout.strip() or "unknown"
