"""`python -m verification build` builds the peers where Go is present;
`python -m verification check [NAME ...]` runs the suite against them, compares the embedded control plane with the
real one, lets upstream's allocator duel with ours and tries the roles that are printed, two of these beside each other;
`python -m verification fidelity [--write]` is the comparison alone, request by request;
`python -m verification access` tries the roles that `dra-conformance rbac` prints on the real API server;
`python -m verification docker` tries `--control-plane k3s` on a Docker engine and a container of its own.

What a peer is known to break stands in `verification/expected/*.yaml`, rule by rule, with the reason. `check` fails
on any difference from that, better or worse: neither the peer nor the suite may change its verdict unseen.
Where Go or a built peer is absent, one line says so; with CI=true that is a failure.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from verification import judging

HERE = Path(__file__).resolve().parent
BIN = HERE / "bin"
DUEL_CASES = 2000
OLD_CASES, OLD_DUEL_TAKES = 500, 10.0
DUEL_TAKES, FIDELITY_TAKES, ACCESS_TAKES, DOCKER_TAKES = 35.0, 56.0, 300.0, 120.0  # seconds, on two cores


def required() -> bool:
    """Whether an absent peer is a failure."""
    return os.environ.get("CI", "").lower() == "true"


def absent(reason: str) -> int:
    """Say in one line that a peer is missing; the exit code of that."""
    print(f"peers: {reason}" + ("; CI requires it" if required() else "; its verdicts were not checked"))
    return 1 if required() else 0


def expectations() -> list[dict[str, Any]]:
    """The peers, each with its module, command, options and known outcome."""
    return [yaml.safe_load(path.read_text()) for path in sorted((HERE / "expected").glob("*.yaml"))]


def build() -> int:
    """Build every peer into verification/bin."""
    go = shutil.which("go")
    if go is None:
        return absent("Go is not installed, so no peer can be built")
    BIN.mkdir(exist_ok=True)
    for peer in expectations():
        if "package" not in peer and "parts" not in peer:
            continue  # judged here, built by the descriptor of the same program
        print(f"peers: building {peer['name']} {peer['version']}", flush=True)
        for part in peer.get("parts") or ({},):
            if not _build(go, {**peer, **part}):
                print(f"peers: building {peer['name']} failed")
                return 1
        target = BIN / peer["program"]
        for name in peer.get("links") or ():
            link = BIN / name
            link.unlink(missing_ok=True)
            link.symlink_to(target.name)
    return 0


def without_containers() -> str:
    """What a real kubelet lacks on this machine, in one sentence; empty where containers run."""
    from dra_conformance.core.errors import SuiteError
    from dra_conformance.kubelet.real import requirements

    try:
        requirements.require("", bin_dir=str(BIN))
    except SuiteError as error:
        return error.message
    return ""


def _build(go: str, program: dict[str, Any]) -> bool:
    """Build one program of a peer; whether that went well."""
    flags = [
        "-trimpath",
        *(word for key in ("ldflags", "tags", "modfile") if key in program for word in (f"-{key}", program[key])),
    ]
    command = [go, "build", *flags, "-o", str(BIN / program["program"]), program["package"]]
    environment = {**os.environ, **program.get("env", {})}
    return (
        subprocess.run(command, cwd=HERE / "programs" / program["module"], env=environment, check=False).returncode == 0
    )


def check(names: Sequence[str] = ()) -> int:
    """Run the suite against every peer, the duel, the probes and the printed roles; or what is named of these."""
    jobs: list[judging.Job] = []
    worst = 0
    judged = [peer for peer in expectations() if peer.get("judged_by") not in ("duel", "tests", "docker")]
    for peer in judged:
        if names and peer["name"] not in names:
            continue
        if not (BIN / peer["program"]).exists():
            worst = max(worst, absent(f"{peer['name']} is not built (make third-party)"))
            continue
        if peer.get("needs") == "containers" and (reason := without_containers()):
            print(f"peers: {peer['name']}: {reason}; its verdicts were not checked")
            continue  # no machine of a CI service is to blame for that
        jobs.append(judging.of_peer(peer, bin_dir=BIN))
    commands = {
        "duel": (
            DUEL_TAKES,
            ["verification.differential", "--cases", str(DUEL_CASES)],
        ),  # with a fresh seed, which it prints
        "duel 1.36": (
            DUEL_TAKES,
            ["verification.differential", "--cases", str(DUEL_CASES), "--bug-compatible", "1.36"],
        ),
        **{
            f"duel {name}": (
                OLD_DUEL_TAKES,
                ["verification.differential", "--cases", str(OLD_CASES), "--bug-compatible", name],
            )
            for name in ("1.34", "1.35", "1.36.2")
        },
        "fidelity": (FIDELITY_TAKES, ["verification", "fidelity"]),
        "access": (ACCESS_TAKES, ["verification", "access"]),
        "docker": (DOCKER_TAKES, ["verification", "docker"]),
    }
    if not (BIN / "dra-allocator").exists():
        commands = {name: command for name, command in commands.items() if not name.startswith("duel")}
    jobs += [
        judging.of_command(name, takes, [sys.executable, "-m", *words])
        for name, (takes, words) in commands.items()
        if not names or name in names
    ]
    if unknown := set(names) - {job.name for job in jobs}:
        there = ", ".join(sorted([*commands, *(peer["name"] for peer in judged)]))
        print(f"peers: nothing to check is called {', '.join(sorted(unknown))}; there is {there}", file=sys.stderr)
        return 4
    return max(worst, judging.run(jobs))


def main() -> int:
    """Run the sub-command; its exit code."""
    if {"-h", "--help"} & set(sys.argv[1:2]):
        print(__doc__)
        return 0
    if sys.argv[1:2] == ["check"]:
        return check(sys.argv[2:])
    if sys.argv[1:2] == ["fidelity"]:
        from verification.fidelity import command  # imports both control planes; nobody else pays for that

        return command.main(sys.argv[2:], bin_dir=BIN, absent=absent)
    if sys.argv[1:2] == ["access"]:
        from verification.rbac_ablation import command as access

        return access.main(sys.argv[2:], bin_dir=BIN, absent=absent)
    if sys.argv[1:] == ["docker"]:
        from verification.docker_engine import command as engine

        return engine.main(bin_dir=BIN, absent=absent)
    if sys.argv[1:] != ["build"]:
        print("usage: python -m verification build|check [NAME ...]|fidelity|access|docker", file=sys.stderr)
        return 4
    return build()


if __name__ == "__main__":
    sys.exit(main())
