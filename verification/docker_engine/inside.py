"""Entry point inside the namespaces: `python -m verification.docker_engine.inside FOLDER BIN_DIR RELEASE`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from dra_api.clock import RealClock
from verification.docker_engine import compare, flags, place, troubles
from verification.docker_engine.docker import Engine
from verification.docker_engine.runs import Runs


def main(folder: Path, bin_dir: Path, release: str) -> int:
    """Start the engine and look at everything; 1 when something is wrong."""
    only = sys.argv[4:]
    place.settle()
    wrong = 0
    clock = RealClock()
    with Engine(folder, bin_dir=bin_dir, cgroup=folder.name) as engine:
        began = clock.monotonic()
        runs = Runs(engine, engine.load(release), folder=folder, bin_dir=bin_dir)
        broken = engine.load_broken(release)
        print(f"docker: the images are made in {clock.monotonic() - began:.0f} s", flush=True)
        parts: dict[str, Callable[[], Iterator[str]]] = {
            "flags": lambda: flags.look(runs, folder),
            "troubles": lambda: troubles.look(runs, broken),
            "verdicts": lambda: compare.look(runs),
            "doctor": lambda: _doctor(runs),
        }
        for name, look in parts.items():
            if only and name not in only:
                continue
            began = clock.monotonic()
            try:
                found = list(look())
            # A check that cannot go on is one finding; the other parts still run.
            except AssertionError as error:
                found = [f"{error}\n{_last_words(engine)}"]
            print(f"docker: {name}: {len(found)} wrong ({clock.monotonic() - began:.0f} s)", flush=True)
            wrong += len(found)
            for line in found:
                print(f"  {line}", flush=True)
    return 1 if wrong else 0


def _doctor(runs: Runs) -> Iterator[str]:
    command = [sys.executable, "-m", "dra_conformance", "doctor", "--control-plane", "k3s"]
    done = subprocess.run(command, env=runs.environment(), capture_output=True, text=True, check=False)
    (line,) = [each for each in done.stdout.splitlines() if "Docker (" in each] or [""]
    version = runs.engine.client.version()["Version"]
    if version not in line:
        yield f"doctor does not report Docker {version}: {line or done.stdout + done.stderr}"


def _last_words(engine: Engine) -> str:
    said = [
        f"{each.name} ({each.status}): {each.logs(tail=15).decode(errors='replace')}"
        for each in engine.client.containers.list(all=True)
    ]
    return "\n".join(said) or "no container is left whose log shows why"


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]))
