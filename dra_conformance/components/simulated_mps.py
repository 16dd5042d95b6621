"""The simulated control program of MPS on a fake node, and which of its daemons run by its log.

A daemon is the file `control` in its pipe folder, as the real one leaves it, so that no process can be left running.
The program runs on the node, or in the container of a Deployment that the emulated kubelet runs; there it logs the
paths of the node in place of those of the container.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from dra_conformance.components.container_programs import MOUNTS
from dra_conformance.components.fake_executable import FakeExecutable

PROGRAM = "nvidia-cuda-mps-control"

MPS_CONTROL = f"""#!/bin/sh
# nvidia-cuda-mps-control, simulated: it logs its commands and starts no process.
pipe=$CUDA_MPS_PIPE_DIRECTORY
on_node=$pipe
for one in ${MOUNTS}; do
    case "$pipe/" in "${{one%%=*}}"/*) on_node=${{one#*=}}${{pipe#"${{one%%=*}}"}}; break ;; esac
done
[ ! -e "$0.fails" ] || {{ echo refused >&2; exit 3; }}
if [ "$1" = -d ]; then
    [ -d "$CUDA_MPS_LOG_DIRECTORY" ] || {{ echo "no folder for logs" >&2; exit 1; }}
    [ ! -e "$0.dies" ] || {{ echo "dead" >> "$0.log"; exit 0; }}
    echo "start $* pipe=$on_node devices=$CUDA_VISIBLE_DEVICES" >> "$0.log"
    : > "$pipe/control"
    : > "$CUDA_MPS_LOG_DIRECTORY/control.log"
else
    while read -r line; do
        [ -e "$pipe/control" ] || {{ echo "no control daemon (simulated)" >&2; exit 1; }}
        echo "command $line" >> "$0.log"
        [ "$line" != quit ] || {{ rm "$pipe/control"; echo "end pipe=$on_node" >> "$0.log"; }}
    done
fi
"""


def started_daemons(lines: Iterable[str]) -> dict[str, str]:
    """Return the MPS daemons that a log shows as started: pipe folder to the GPUs that the daemon serves."""
    found = [dict(word.partition("=")[::2] for word in line.split()) for line in lines if line.startswith("start ")]
    return {one["pipe"]: one["devices"] for one in found}


def running_daemons(lines: Iterable[str]) -> dict[str, str]:
    """Return the MPS daemons that a log shows as started and not as ended: pipe folder to GPUs."""
    running: dict[str, str] = {}
    for line in lines:
        if line.startswith("end pipe="):
            running.pop(line.removeprefix("end pipe="), None)
        running |= started_daemons([line])
    return running


def daemons_ended(driver_root: Path, folders: Iterable[Path]) -> None:
    """Log the end of the daemons with a pipe in one of these folders: their container has ended."""
    program = FakeExecutable(driver_root / "usr/bin" / PROGRAM)
    ended = [
        pipe for pipe in running_daemons(program.recorded()) if any(Path(pipe).is_relative_to(one) for one in folders)
    ]
    for pipe in ended:
        (Path(pipe) / "control").unlink(missing_ok=True)
        program.record(f"end pipe={pipe}")
