"""`python -m dra_conformance.rbac LOG… [--write]`: compare the table of rights with what runs asked for.

LOG is the `events.jsonl` of a run of all scenarios with the reference in every component. `--write` makes the table from it;
rows with `only` are kept. Exit code 1 where they differ.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import yaml

from dra_conformance.rbac import check, roles, table

_HEAD = """\
# What a run asks of a cluster: who (`holder`), which resource, which verbs, for which profiles (none: all).
# Made from a run's event log by `python -m dra_conformance.rbac LOG --write`, and read by a person before it is
# committed. Rows with `only` are written by hand; docs/how-to/your-cluster.md says how they are proven.
"""


def main(words: Sequence[str]) -> int:
    """Run the command; its exit code."""
    logs = [Path(word) for word in words if word != "--write"]
    if not logs or any(not path.is_file() for path in logs):
        print(__doc__, file=sys.stderr)
        return 4
    if unknown := check.strangers(logs):
        print(f"access: whose user agents are these? {', '.join(sorted(unknown))} (table.AGENTS)")
        return 1
    found = check.needs(logs)
    if "--write" in words:
        kept = [row for row in table.rights() if row.only]
        rows = sorted(check.table_of(found, kept=kept), key=_order)
        lines = [yaml.safe_dump(msgspec.to_builtins(row), default_flow_style=True, width=10**6) for row in rows]
        table.FILE.write_text(_HEAD + "".join(f"- {line}" for line in lines))
        return 0
    told = [str(each) for each in check.differences(found)]
    told += [
        f"the {holder} does something in {profile}, but has no role there (roles.takes_part)"
        for holder, profile in sorted({(need[0], profile) for need, named in found.items() for profile in named - {""}})
        if holder in table.COMPONENTS and not roles.takes_part(holder, [profile])
    ]
    for each in told:
        print(f"access: {each}")
    if told:
        print("access: `python -m dra_conformance.rbac LOG --write` mends the table; read what it changes")
    else:
        print(f"access: {len(found)} calls asked for, all in the table, and nothing else")
    return 1 if told else 0


def _order(row: table.Right) -> tuple[int, str, str, bool, tuple[str, ...]]:
    return table.HOLDERS.index(row.holder), row.group, row.resource, bool(row.only), row.profiles


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
