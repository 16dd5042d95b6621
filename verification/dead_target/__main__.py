"""Test the suite with components that do nothing: no MUST rule that binds such a component may pass.

Each component is replaced by one that does nothing, and judged by all scenarios of its MUST rules. A rule that passes
is a fault of its scenario: the scenario does not check that the component acts before it checks what the component must
not do. Exit codes: 0 no such rule, 1 some.
"""

from __future__ import annotations

import argparse
import os
import sys
import time

from dra_conformance.core.status import Status
from verification.dead_target.judge import judge
from verification.dead_target.targets import TARGETS


def main(arguments: list[str] | None = None) -> int:
    """Run the test, print the table, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m verification.dead_target", description=(__doc__ or ""))
    parser.add_argument("target", nargs="*", help=f"only these: {', '.join(one.name for one in TARGETS)}")
    parser.add_argument("--jobs", type=int, default=0, metavar="N", help="processes at a time (default: 3 per core)")
    options = parser.parse_args(arguments)
    if unknown := set(options.target) - {one.name for one in TARGETS}:
        parser.error(f"unknown target {', '.join(sorted(unknown))}")
    chosen = [one for one in TARGETS if not options.target or one.name in options.target]
    began = time.monotonic()
    # A process waits for most of its time, so there are more of them than cores.
    judged = judge(chosen, jobs=options.jobs or 3 * (os.cpu_count() or 1))
    print("| Target | What it does | MUST rules | failed | untestable | not applicable | met |")
    print("|---|---|---|---|---|---|---|")
    for one in judged:
        others = one.count(Status.NOT_APPLICABLE, Status.NOT_SUPPORTED)
        counts = (len(one.rules), one.count(Status.FAILED), one.count(Status.UNTESTABLE), others)
        met = ", ".join(sorted(one.target.met)) or "none"
        print(f"| {one.target.name} | {one.target.description} | {' | '.join(map(str, counts))} | {met} |")
    problems = [line for one in judged for line in one.problems()]
    # The short waits of these runs may be too short on a busy machine; a target that deserves its result gets it again.
    if doubtful := [one.target for one in judged if one.problems()]:
        again = [line for one in judge(doubtful, jobs=1) for line in one.problems()]
        for line in set(problems) - set(again):
            print(f"unstable: {line}; not when judged again alone")
        problems = again
    for line in problems:
        print(line)
    print(f"dead targets: {len(problems)} problems, {time.monotonic() - began:.0f} s")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
