"""`python -m dra_conformance.faults LOG… [--write]`: check that a scenario makes every write of every component fail.

LOG are the `events.jsonl` of runs with reference components: one of all scenarios, the sweeps, and those with direct
binding. `--write` generates the table and docs/reference/partial-writes.md; `leaves` is kept, and written by hand for a
new write. Exit code 1 if a write is not covered or not in the table.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import yaml

from dra_conformance.core.errors import UsageError
from dra_conformance.faults import partial_writes
from dra_conformance.faults.page import page

_PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "partial-writes.md"
_HEAD = """\
# Writes of the reference components, in order, with the scenarios that make them fail; effects of the driver on disk.
# Generated from event logs by `python -m dra_conformance.faults LOG... --write`; `leaves` and `disk` are written by
# hand.
"""


def main(words: Sequence[str]) -> int:
    """Run the command and return its exit code."""
    logs = [Path(word) for word in words if word != "--write"]
    if not logs or any(not path.is_file() for path in logs):
        print(__doc__, file=sys.stderr)
        return 4
    try:
        found = partial_writes.of_logs(logs)
    except UsageError as error:
        print(f"partial-writes: {error}", file=sys.stderr)
        return 4
    table = partial_writes.stored()
    if "--write" in words:
        rows = partial_writes.rows_of(found, kept=table.writes)
        table = msgspec.structs.replace(table, writes=tuple(rows))
        text = yaml.safe_dump(msgspec.to_builtins(table), sort_keys=False, width=120, allow_unicode=True)
        partial_writes.FILE.write_text(_HEAD + text)
        _PAGE.write_text(page(table))
    problems = partial_writes.differences(found, table.writes)
    for each in problems:
        print(f"partial-writes: {each}")
    if not problems:
        print(f"partial-writes: {len(found.seen_in)} writes, each made to fail by a scenario")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
