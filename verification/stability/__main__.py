"""Run the suite many times on a busy machine: `make stability N=30`."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from verification import results
from verification.stability import page, runs
from verification.third_party.catalogue import load


def main() -> int:
    """Make the runs; return 1 if a scenario of the reference did not pass, or one of a program was unstable."""
    programs = {one.name: one for one in load() if one.verified_by == "suite"}
    parser = argparse.ArgumentParser(prog="python -m verification.stability", description=__doc__)
    parser.add_argument("--runs", type=int, default=1, metavar="N", help="number of runs (default: 1)")
    parser.add_argument("--load", type=float, default=20.0, metavar="L", help="load average to reach (default: 20)")
    parser.add_argument("--watch-lag", default="", metavar="LAG", help="as for `dra-conformance run`")
    parser.add_argument("--program", choices=sorted(programs), metavar="NAME", help="a third-party program")
    parser.add_argument("--write", action="store_true", help=f"add the results to {runs.RESULTS.name} and the page")
    options = parser.parse_args()
    setting = options.program or runs.REFERENCE
    lag = options.watch_lag
    commit = results.commit()
    made = []
    with tempfile.TemporaryDirectory(prefix="dra-stability-") as folder:
        work = (
            runs.of_program(programs[options.program], lag=lag)
            if options.program
            else runs.of_reference(Path(folder), lag=lag)
        )
        for number in range(1, options.runs + 1):
            run = runs.once(work, setting=setting, lag=lag, wanted_load=options.load, commit=commit)
            made.append(run)
            failed = ", ".join(f"{ident} {status}" for ident, status in run.not_passed.items()) or "none"
            print(
                f"run {number}: load {run.load:.1f}, {run.seconds:.0f} s, {run.passed} passed, not passed: {failed}",
                flush=True,
            )
            if options.write:
                runs.append(run)
                page.write()
    changing = runs.unstable(made)
    for ident in changing:
        print(f"unstable: {ident}")
    return int(bool(changing) or (not options.program and any(run.not_passed for run in made)))


if __name__ == "__main__":
    sys.exit(main())
