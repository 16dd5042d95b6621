"""`python -m verification.benchmarks.scheduler_perf [NAME…]`: some of the workloads, or another size."""

from __future__ import annotations

import argparse
import sys

from verification.benchmarks.figures import show
from verification.benchmarks.scheduler_perf.compare import NOT_BUILT, PODS, ROUNDS, built, compare, table
from verification.benchmarks.scheduler_perf.workloads import selected


def main() -> int:
    """Measure the selected workloads, and return 1 if one could not be measured."""
    parser = argparse.ArgumentParser(prog="python -m verification.benchmarks.scheduler_perf")
    parser.add_argument("name", nargs="*", help="part of the name of a workload (default: all workloads)")
    parser.add_argument("--pods", type=int, default=PODS, metavar="N", help="measured pods (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=ROUNDS, metavar="N", help="rounds (default: %(default)s)")
    parser.add_argument("--list", action="store_true", help="print the names of the workloads and exit")
    args = parser.parse_args()
    try:
        chosen = selected(args.name, args.pods)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 4
    if args.list:
        print("\n".join(workload.name for workload in chosen))
        return 0
    if not built():
        print(NOT_BUILT, file=sys.stderr)
        return 4
    found = [compare(workload, rounds=args.rounds) for workload in chosen]
    show("scheduler_perf", table(found))
    return 1 if any(one.failures or one.lost for one in found) else 0


if __name__ == "__main__":
    sys.exit(main())
