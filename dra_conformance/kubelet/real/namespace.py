"""PID and mount namespaces of a node, so that a real kubelet leaves nothing behind.

Process 1 of the namespaces is `dra-node init`. Programs in them have empty folders where kubelet and containerd keep
data that no option moves (/run, /var/lib, /var/log), and kernel settings that already have the values a kubelet sets,
so that it changes none of the machine's. When process 1 exits, the kernel kills all other processes, including
containers and shims, and unmounts everything. Process 1 exits when the harness does.

Linux with util-linux's `unshare`, `nsenter` and `setpriv`, as root.
"""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from dra_api.clock import RealClock
from dra_conformance.core.isolation import NONE, Isolation
from dra_conformance.core.process import ManagedProcess
from dra_conformance.core.started_programs import reap_adopted
from dra_conformance.kubelet.errors import KubeletError

_HIDDEN = ("/run", "/var/lib", "/var/log")
# The values that a kubelet sets at its start (pkg/kubelet/cm/container_manager_linux.go, setupKernelTunables, 1.36).
_SETTINGS = {
    "/proc/sys/vm/overcommit_memory": "1",
    "/proc/sys/vm/panic_on_oom": "0",
    "/proc/sys/kernel/panic": "10",
    "/proc/sys/kernel/panic_on_oops": "1",
    "/proc/sys/kernel/keys/root_maxkeys": "1000000",
    "/proc/sys/kernel/keys/root_maxbytes": "25000000",
}
# The number in dra_conformance/go_programs/containers/node/init.go. A program of another number behaves differently.
_INTERFACE = 2
_OLDER = "flag provided but not defined: -interface"
_READY_TIMEOUT = 20.0
_END_TIMEOUT = 20.0
_TURN = 0.01


class NodeNamespace:
    """Namespaces for the programs of one node.

    Folders in `keep` stay visible. `binds` has folders of the machine by the path at which the node's programs see
    them. `log` receives the output of process 1.

    The kernel removes them when the thread that called `start` ends.
    """

    def __init__(
        self,
        init: Path,
        *,
        keep: Sequence[Path],
        log: Path,
        binds: Mapping[Path, Path] | None = None,
        isolation: Isolation = NONE,
    ) -> None:
        words = ["setpriv", "--pdeathsig", "KILL", "--"]
        words += ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--mount-proc"]
        words += ["--", str(init), "init", f"-interface={_INTERFACE}"]
        words += [f"-hide={path}" for path in _HIDDEN]
        words += [f"-keep={path}" for path in dict.fromkeys(keep) if _below(path, _HIDDEN)]
        words += [f"-bind={source}={target}" for target, source in (binds or {}).items()]
        words += [f"-value={path}={text}" for path, text in _SETTINGS.items()]
        self._process = ManagedProcess("node", words, log_path=log, isolation=isolation)
        self._log = log
        self._first: int | None = None

    def start(self) -> None:
        """Create them. Raises KubeletError with the obstacle."""
        # The log may have the line `ready` of the time before a reboot.
        begin = self._log.stat().st_size if self._log.exists() else 0
        self._process.start()
        clock, never = RealClock(), threading.Event()
        deadline = clock.monotonic() + _READY_TIMEOUT
        while b"ready\n" not in (said := self._log.read_bytes()[begin:]):
            if not self._process.running or clock.monotonic() > deadline:
                self.end()
                message = said.decode(errors="replace").strip() or "no output"
                if _OLDER in message or message.startswith("init: interface "):
                    raise KubeletError(
                        "dra-node is of another version of the harness; "
                        "`dra-conformance control-plane install 1.37.2 --build --containers` builds it"
                    )
                raise KubeletError(f"a node cannot have namespaces of its own here: {message}")
            clock.wait(never, _TURN)
        children = (
            Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text(encoding="utf-8").split()
        )
        # A pidfd, because the number of a process that has ended can be used again.
        self._first = os.pidfd_open(int(children[0]))

    @property
    def root(self) -> Path:
        """The root directory of the node's programs, as this process sees it."""
        return Path(f"/proc/{self._process.pid}/root")

    @property
    def running(self) -> bool:
        """Whether process 1 is alive."""
        return self._process.running

    def command(self, words: Sequence[str]) -> list[str]:
        """Return a command line that runs `words` inside; it is killed with the harness."""
        pid = self._process.pid
        # unshare itself stays in the old PID namespace; only its children are in the new one.
        inside = [f"--mount=/proc/{pid}/ns/mnt", f"--pid=/proc/{pid}/ns/pid_for_children"]
        return ["setpriv", "--pdeathsig", "KILL", "--", "nsenter", *inside, "--", *words]

    def end(self) -> None:
        """Kill everything inside and wait until the kernel is done with it. Idempotent."""
        self._process.kill()
        if self._first is not None:
            # Process 1 of a PID namespace has ended when all others have, and were waited for.
            clock = RealClock()
            deadline = clock.monotonic() + _END_TIMEOUT
            while not select.select([self._first], [], [], _TURN)[0] and clock.monotonic() < deadline:
                reap_adopted()
            os.close(self._first)
            self._first = None
            reap_adopted()


def _below(path: Path, roots: Sequence[str]) -> bool:
    return any(path.resolve().is_relative_to(Path(root).resolve()) for root in roots)
