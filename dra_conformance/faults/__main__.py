"""`python -m dra_conformance.faults LOG… [--write]`: does a scenario make every write of every part fail?

LOG are the `events.jsonl` of runs with the reference in its components: one of all scenarios, the sweeps, and those with
direct binding. `--write` makes the table and docs/reference/partial-writes.md from them; what a write leaves is kept, and
written by hand for a new one. Exit code 1 where a write is not covered, or not in the table.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import yaml

from dra_conformance.core.errors import UsageError
from dra_conformance.faults import half_written
from dra_conformance.faults.page import page

_PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "partial-writes.md"
_HEAD = """\
# Which writes the reference parts make, in order, and which scenarios make them fail; what the driver does to disk.
# Made from event logs by `python -m dra_conformance.faults LOG... --write`; `leaves` and `disk` are written by hand.
"""


def main(words: Sequence[str]) -> int:
    """Run the command; its exit code."""
    logs = [Path(word) for word in words if word != "--write"]
    if not logs or any(not path.is_file() for path in logs):
        print(__doc__, file=sys.stderr)
        return 4
    try:
        found = half_written.of_logs(logs)
    except UsageError as error:
        print(f"half-written: {error}", file=sys.stderr)
        return 4
    held = half_written.kept()
    if "--write" in words:
        held = msgspec.structs.replace(held, writes=tuple(half_written.rows_of(found, kept=held.writes)))
        text = yaml.safe_dump(msgspec.to_builtins(held), sort_keys=False, width=120, allow_unicode=True)
        half_written.FILE.write_text(_HEAD + text)
        _PAGE.write_text(page(held))
    told = half_written.differences(found, held.writes)
    for each in told:
        print(f"half-written: {each}")
    if not told:
        print(f"half-written: {len(found.seen_in)} writes, each made to fail by a scenario")
    return 1 if told else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
