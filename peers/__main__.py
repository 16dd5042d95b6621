"""`python -m peers build` builds the peers where Go is present; `python -m peers check` runs the suite against them,
compares the embedded control plane with the real one and lets upstream's allocator duel with ours;
`python -m peers fidelity [--write]` is the comparison alone, request by request;
`python -m peers access` tries the roles that `dra-conformance rbac` prints on the real API server.

What a peer is known to break stands in `peers/expected/*.yaml`, rule by rule, with the reason. `check` fails on any
difference from that, better or worse: neither the peer nor the suite may change its verdict unseen.
Where Go or a built peer is absent, one line says so; with CI=true that is a failure.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import orjson
import yaml

from dra_api.clock import RealClock

HERE = Path(__file__).resolve().parent
BIN = HERE / "bin"
DUEL_CASES = 2000


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
    """Build every peer into peers/bin."""
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
    from dra_conformance.errors import SuiteError
    from dra_conformance.kubelet.real import needs

    try:
        needs.require("", bin_dir=str(BIN))
    except SuiteError as error:
        return error.message
    return ""


def _build(go: str, program: dict[str, Any]) -> bool:
    """Build one program of a peer; whether that went well."""
    flags = [
        "-trimpath",
        *(word for key in ("ldflags", "tags") if key in program for word in (f"-{key}", program[key])),
    ]
    command = [go, "build", *flags, "-o", str(BIN / program["program"]), program["package"]]
    environment = {**os.environ, **program.get("env", {})}
    return subprocess.run(command, cwd=HERE / program["module"], env=environment, check=False).returncode == 0


def check() -> int:
    """Run the suite against every peer and compare with what is known of it; then the duel and the probes."""
    from peers.fidelity import command  # imports both control planes; nobody else pays for that

    worst = 0
    for peer in expectations():
        if peer.get("judged_by") in ("duel", "tests"):
            continue  # no driver, nothing for the suite to run
        if not (BIN / peer["program"]).exists():
            worst = max(worst, absent(f"{peer['name']} is not built (make peers)"))
            continue
        if peer.get("needs") == "containers" and (reason := without_containers()):
            print(f"peers: {peer['name']}: {reason}; its verdicts were not checked")
            continue  # no machine of a CI service is to blame for that
        worst = max(worst, _check(peer))
    if (BIN / "dra-allocator").exists():
        duel = [sys.executable, "-m", "peers.duel", "--cases", str(DUEL_CASES)]  # with a fresh seed, which it prints
        for more in ([], ["--bug-compatible", "1.36"]):
            worst = max(worst, int(subprocess.run([*duel, *more], check=False).returncode != 0))
    return max(worst, command.main([], bin_dir=BIN, absent=absent))


def _check(peer: dict[str, Any]) -> int:
    """Compare one peer's verdicts with what is known; a difference is asked once more before it counts."""
    rules = _verdicts(peer)
    if rules is None:
        return 1
    known = {row["rule"]: row for row in peer.get("breaks") or ()}
    passed = sum(row["status"] == "passed" for row in rules.values())
    broken = sum(row["status"] in _BROKEN for row in rules.values())
    print(f"peers: {peer['name']} {peer['version']}: {passed} rules kept, {broken} broken", flush=True)
    differing = _differences(rules, known)
    if not differing:
        return 0
    # A machine that stalls can make a peer look slow. Rules that differ are judged again, alone, and both is told.
    again = _verdicts(peer, only=sorted(differing)) or {}
    still = _differences({rule: again.get(rule, rules.get(rule)) for rule in differing}, known, among=differing)
    for rule, told in sorted(differing.items()):
        print(f"  {told}" if rule in still else f"  unstable: {told}; as known when it was judged again alone")
    return 1 if still else 0


_BROKEN = ("failed", "error", "untestable", "flaky")


def _differences(
    rules: Mapping[str, Any], known: Mapping[str, Any], *, among: Iterable[str] | None = None
) -> dict[str, str]:
    """Rules whose verdict is not what is known of the peer, each with what is different, in words."""
    found: dict[str, str] = {}
    for rule in set(known) | set(rules) if among is None else set(among):
        row = rules.get(rule) or {"status": "not judged", "reason": ""}
        expected = known[rule].get("status", "failed") if rule in known else None
        if expected is None and row["status"] in _BROKEN:
            found[rule] = f"new: {rule} {row['status']}: {row['reason']}"
        elif expected is not None and row["status"] not in _BROKEN:
            found[rule] = f"gone: {rule} is no longer broken ({known[rule]['reason']})"
        elif expected is not None and row["status"] != expected:
            found[rule] = f"changed: {rule} is {row['status']}, known as {expected}"
    return found


@contextmanager
def _running(peer: dict[str, Any], folder: Path) -> Iterator[None]:
    """A served control plane in `folder` and the peer running on it, started by us and not by the suite."""
    serve = [sys.executable, "-m", "dra_conformance", "control-plane", "serve", "--dir", str(folder)]
    with subprocess.Popen([*serve, *peer["serve"]], stdout=subprocess.PIPE, text=True) as plane:
        try:
            if not any(line.startswith("Ctrl-C") for line in plane.stdout or ()):
                raise RuntimeError(f"peers: {peer['name']}: the control plane is not served")
            words = [word.replace("{bin}", str(BIN)).replace("{dir}", str(folder)) for word in peer["running"]]
            with (folder / "driver.log").open("wb") as log, subprocess.Popen(words, stdout=log, stderr=log) as driver:
                try:
                    _wait_for(folder / peer["socket"], driver)
                    yield
                    if driver.poll() is not None:
                        raise RuntimeError(f"peers: {peer['name']} ended in the run; it was to be left alone")
                finally:
                    driver.terminate()
        finally:
            plane.terminate()


def _wait_for(socket: Path, driver: subprocess.Popen[bytes]) -> None:
    clock, never = RealClock(), threading.Event()
    for _ in range(300):
        if socket.exists():
            return
        if driver.poll() is not None:
            break
        clock.wait(never, 0.1)  # another program's socket: there is no event to wait for
    raise RuntimeError(f"peers: the driver made no {socket.name} (exit code {driver.poll()})")


def _verdicts(peer: dict[str, Any], *, only: Sequence[str] = ()) -> dict[str, Any] | None:
    """Run the suite against a peer, all of its rules or `only` some; the rules of the report by id."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="dra-peer-"))
        out = Path(folder) / "report"
        if "running" in peer:
            stack.enter_context(_running(peer, Path(folder)))
        words = [word.replace("{bin}", str(BIN)).replace("{dir}", folder) for word in peer["options"]]
        words += [word for rule in only for word in ("--rule", rule)]
        command = [sys.executable, "-m", "dra_conformance", "run", "--out", str(out), "--progress", "none", *words]
        result = subprocess.run(command, check=False, capture_output=True, text=True)
        if not (out / "report.json").is_file():
            print(f"peers: {peer['name']}: no report\n{result.stdout[-2000:]}{result.stderr[-2000:]}")
            return None
        report = orjson.loads((out / "report.json").read_bytes())
    rules: dict[str, Any] = {rule["id"]: rule for rule in report["rules"]}
    return rules


def main() -> int:
    """Run the sub-command; its exit code."""
    commands = {"build": build, "check": check}
    if sys.argv[1:2] == ["fidelity"]:
        from peers.fidelity import command  # imports both control planes; nobody else pays for that

        return command.main(sys.argv[2:], bin_dir=BIN, absent=absent)
    if sys.argv[1:2] == ["access"]:
        from peers.access import command as access

        return access.main(sys.argv[2:], bin_dir=BIN, absent=absent)
    if len(sys.argv) != 2 or sys.argv[1] not in commands:
        print("usage: python -m peers build|check|fidelity|access", file=sys.stderr)
        return 4
    return commands[sys.argv[1]]()


if __name__ == "__main__":
    sys.exit(main())
