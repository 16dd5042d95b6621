"""`python -m dra_conformance.rbac LOG… [--write]`: compare the permission table with the API calls of runs.

LOG is the `events.jsonl` of a run of all scenarios with the reference in every component. `--write` generates the
table; rows with `only` or `feature` are kept. Exit code 1 if they differ.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import yaml

from dra_conformance.core.errors import UsageError
from dra_conformance.rbac import check, roles, table

_HEAD = """\
# Permissions that a run needs on a cluster: role, resource, verbs, profiles (none: all).
# Generated from a run's event log by `python -m dra_conformance.rbac LOG --write`; review the result.
# Rows with `only` or `feature` are written by hand; docs/how-to/your-cluster.md describes their verification.
"""


def main(words: Sequence[str]) -> int:
    """Run the command and return its exit code."""
    logs = [Path(word) for word in words if word != "--write"]
    if not logs or any(not path.is_file() for path in logs):
        print(__doc__, file=sys.stderr)
        return 4
    try:
        unknown, found = check.unknown_agents(logs), check.needs(logs)
    except UsageError as error:
        print(f"access: {error}", file=sys.stderr)
        return 4
    if unknown:
        print(f"access: user agents without a role: {', '.join(sorted(unknown))} (table.AGENTS)")
        return 1
    if "--write" in words:
        kept = [row for row in table.permissions() if row.conditional]
        rows = sorted(check.table_of(found, kept=kept), key=_order)
        lines = [yaml.safe_dump(msgspec.to_builtins(row), default_flow_style=True, width=10**6) for row in rows]
        table.FILE.write_text(_HEAD + "".join(f"- {line}" for line in lines))
        return 0
    problems = [str(each) for each in check.differences(found)]
    problems += [
        f"the {role} makes calls in {profile}, but has no ClusterRole there (roles.takes_part)"
        for role, profile in sorted({(need[0], profile) for need, named in found.items() for profile in named - {""}})
        if role in table.COMPONENTS and not roles.takes_part(role, [profile])
    ]
    for each in problems:
        print(f"access: {each}")
    if problems:
        print("access: `python -m dra_conformance.rbac LOG --write` updates the table; review the changes")
    else:
        print(f"access: {len(found)} permissions used, the same as in the table")
    return 1 if problems else 0


def _order(row: table.Permission) -> tuple[int, str, str, bool, tuple[str, ...]]:
    return table.ROLES.index(row.role), row.group, row.resource, row.conditional, row.profiles


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
