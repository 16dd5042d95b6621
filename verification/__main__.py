"""Verify the suite against third-party programs, and the harness against the real Kubernetes programs.

\b
The commands:
  build [NAME ...]   build the third-party programs, or the named ones (needs Go); --all: those on request, too
  verify [NAME ...]  run everything below, or the named programs and checks (--help for the options)
  programs [NAME ..] judge the reference components as other people's programs are judged
  reports            write reports/ again from the stored results (--check: list what differs)
  fidelity           compare the emulated API server with a real one, request by request
  fuzz [NAME ...]    give mutated inputs to everything that reads what others wrote (needs Atheris)
  rbac               verify the printed roles on a real API server
  docker             verify --control-plane k3s on a Docker engine that the command starts
  kind               verify --control-plane kind, and the manifests of deploy/ on a kind cluster
  interpreters       install and try the wheel on every supported Python that is found
  job CAMPAIGN       print an Indexed Job that runs a long campaign in shards
  explore            test with fresh seeds for a given time, and save what fails
  planted-bugs       run the profile driver-core with each driver of tests/planted_bugs (needs Go)
  taint-matrix       run every cell of the matrix of device taints (--part K/N: a part; --write: write its feature)

Rules that a program is known to break are listed in verification/third_party/expected/*.yaml, each with the reason. Any
difference fails `verify`, better or worse. A missing prerequisite is reported; with CI=true it is a failure.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from dra_conformance.core.errors import ExitCode, SuiteError
from dra_conformance.kubelet.real import requirements
from verification import campaign_job, explore, interpreters, jobs, reference_programs, releases, reports, results
from verification.prerequisites import missing
from verification.taint_matrix import command as taint_matrix_command
from verification.third_party import build, verify
from verification.third_party.catalogue import BIN, load

SEED = 20261122
"""The seed of the differential tests here. `make differential` explores others."""
# Fewer for older releases, whose allocators no longer change.
CASES, OLDER_CASES, KARPENTER_CASES, KUBELET_CASES = 2000, 500, 3000, 3000
_CI = frozenset({"fidelity", "differential", "differential 1.37"})
"""The checks of CI's fixed subset, beside the programs with `ci` in expected/*.yaml (.ci/README.md)."""
_DIFFERENTIAL = "verification.differential"
_PLANTED = Path(__file__).resolve().parents[1] / "tests/engine/test_planted_bugs.py"
_MUTANT_PARTS = 6
"""CI runs the first of these parts."""


def _commands() -> dict[str, tuple[float, list[str]]]:
    """Return the checks that are programs of their own, with their measured seconds on two cores."""
    seed = ["--seed", str(SEED)]
    found = {
        "fidelity": (277.0, ["verification", "fidelity"]),
        "rbac": (300.0, ["verification", "rbac"]),
        "interpreters": (300.0, ["verification", "interpreters"]),
        "docker": (120.0, ["verification", "docker"]),
        "planted bugs": (2400.0, ["verification", "planted-bugs"]),
    }
    for part in range(1, _MUTANT_PARTS + 1):
        shard = f"{part}/{_MUTANT_PARTS}"
        found[f"mutants {shard}"] = (400.0, ["dra_conformance", "mutants", "--shard", shard])
    for name, seat in reference_programs.SEATS.items():
        found[f"programs {name}"] = (seat.takes, ["verification", "programs", name])
    if (BIN / "dra-allocator").exists():
        found["differential"] = (35.0, [_DIFFERENTIAL, "--cases", str(CASES), *seed])
        found["differential 1.37"] = (35.0, [_DIFFERENTIAL, "--cases", str(CASES), "--bug-compatible", "1.37", *seed])
        for release in ("1.34", "1.35", "1.36", "1.36.2"):
            words = [_DIFFERENTIAL, "--cases", str(OLDER_CASES), "--bug-compatible", release, *seed]
            found[f"differential {release}"] = (10.0, words)
    if (BIN / "dra-karpenter-allocator").exists():
        words = [_DIFFERENTIAL, "--cases", str(KARPENTER_CASES), "--karpenter", *seed]
        found["differential karpenter"] = (15.0, words)
    if (BIN / "dra-device-manager").exists():
        words = [_DIFFERENTIAL, "--cases", str(KUBELET_CASES), "--kubelet", *seed]
        found["differential kubelet"] = (60.0, words)
    return found


def _containers_missing() -> str:
    """Return what a real kubelet lacks on this machine, or an empty string."""
    try:
        requirements.require("", bin_dir=str(BIN))
    except SuiteError as error:
        return error.message
    return ""


def verify_all(names: Sequence[str] = (), *, subset: bool = False, write: bool = False) -> int:
    """Verify all programs and run all checks; return the exit code.

    Args:
        names: only these programs and checks.
        subset: only CI's fixed subset.
        write: store the results, and write the page of them.
    """
    selected: list[jobs.Job] = []
    skipped: list[jobs.Finished] = []
    programs = [one for one in load() if one.verified_by == "suite"]
    commands = _commands()
    if unknown := set(names) - {one.name for one in programs} - set(commands):
        known = ", ".join(sorted([*commands, *(one.name for one in programs)]))
        print(f"unknown name {', '.join(sorted(unknown))} (choose from {known})", file=sys.stderr)
        return ExitCode.USAGE
    for one in programs:
        if (names and one.name not in names) or (subset and one.ci == "none"):
            continue
        if not (BIN / one.program).exists():
            code = missing(f"{one.name} is not built (make third-party-all)")
            skipped.append(jobs.Finished(one.name, "not verified: not built", 0.0, code))
        elif one.needs == "containers" and (reason := _containers_missing()):
            # Not every CI machine can run containers.
            print(f"{one.name}: {reason}; not verified")
            skipped.append(jobs.Finished(one.name, f"not verified: {reason}", 0.0, 0))
        else:
            selected.append(verify.job_of(one, bin_dir=BIN, subset=subset))
    selected += [
        jobs.of_command(name, takes, [sys.executable, "-m", *words])
        for name, (takes, words) in commands.items()
        if (not names or name in names) and (not subset or name in _CI)
    ]
    names_of_all = [*commands, *(one.name for one in programs)]

    def keep(ended: jobs.Finished) -> None:
        if write:
            results.write([ended], known=names_of_all, versions={one.name: one.version for one in programs})
            releases.write([ended], programs=programs, commit=results.commit())
            reports.write(results.stored(), programs)

    try:
        ran = jobs.run(selected, keep=keep)
    except KeyboardInterrupt:
        print("verification: interrupted" + ("; what had ended is stored" if write else ""), file=sys.stderr)
        return ExitCode.INTERRUPTED
    return max(jobs.worst([*ran, *skipped]), reports.report_differences(programs))


def planted_bugs() -> int:
    """Run the whole profile with each planted bug: the report must lead to it. Return the exit code."""
    words = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "-k", "profile"]
    environment = {**os.environ, "DRA_PLANTED_BUGS": "all"}
    return subprocess.run([*words, str(_PLANTED)], env=environment, check=False).returncode


def _verify_options(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m verification verify",
        description="Run the suite against the third-party programs, and the checks of the harness itself.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these programs and checks (default: all)")
    parser.add_argument("--ci", action="store_true", help="only the fixed subset that CI runs (.ci/README.md)")
    parser.add_argument("--write", action="store_true", help=f"replace the results in {results.PAGE.name}")
    options = parser.parse_args(words)
    if options.write and options.ci:
        parser.error("--write needs whole results: leave --ci out")
    return options


def main(words: Sequence[str]) -> int:
    """Run a command; return its exit code."""
    match list(words):
        case [("-h" | "--help"), *_]:
            print(__doc__)
            return 0
        case ["build", "--all"]:
            return build.build(everything=True)
        case ["build", *names]:
            return build.build(names)
        case ["verify", *rest]:
            options = _verify_options(rest)
            return verify_all(options.names, subset=options.ci, write=options.write)
        case ["reports"]:
            reports.write(results.stored(), load())
            return 0
        case ["reports", "--check"]:
            return reports.report_differences(load())
        case ["planted-bugs"]:
            return planted_bugs()
        case ["interpreters", *rest]:
            return interpreters.main(rest)
        case ["job", *rest]:
            return campaign_job.main(rest)
        case ["explore", *rest]:
            return explore.main(rest)
        case ["programs", *rest]:
            return reference_programs.run(rest)
        case ["taint-matrix", *rest]:
            return taint_matrix_command.main(rest)
        case ["fuzz", *rest]:
            from verification.fuzz import command as fuzz  # only this command needs it

            return fuzz.main(rest)
        case ["fidelity", *rest]:
            from verification.fidelity import command as fidelity  # slow to import; only this command needs it

            return fidelity.main(rest, bin_dir=BIN, absent=missing)
        case ["rbac", *rest]:
            from verification.rbac_ablation import command as rbac  # slow to import; only this command needs it

            return rbac.main(rest, bin_dir=BIN, absent=missing)
        case ["docker"]:
            from verification.docker_engine import command as docker  # slow to import; only this command needs it

            return docker.main(bin_dir=BIN, absent=missing)
        case ["kind", *rest]:
            from verification.kind_cluster import command as kind  # slow to import; only this command needs it

            return kind.main(rest, bin_dir=BIN)
    print(
        "usage: python -m verification "
        "build [--all|NAME ...]|verify [NAME ...]|programs [NAME ...]|reports|fidelity|fuzz|rbac|docker|kind|"
        "interpreters|job|explore|planted-bugs|taint-matrix",
        file=sys.stderr,
    )
    return ExitCode.USAGE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
