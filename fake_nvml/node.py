"""A fake node: its folder, its shared state, and the operations of tests on it.

`Node.create` creates a folder (0700) with the state file, a driver root and copies of the library. The node exists
until `close` (or the end of the `with` block): processes that use it then get Driver Not Loaded, and the folder is
removed. `Node.open` attaches to a node of another process and does not remove it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from pathlib import Path
from types import TracebackType
from typing import Any

from fake_nvml import call_log, driver_root, faults, incidents
from fake_nvml.boards import NOT_SUPPORTED, check_value, describe_field
from fake_nvml.documents import nearest
from fake_nvml.errors import FakeNvmlError, StateError
from fake_nvml.faults import error_code
from fake_nvml.fields import SCALARS, STRINGS
from fake_nvml.inventory import Inventory
from fake_nvml.layout import MAX_LINKS, MAX_PROCESSES, State
from fake_nvml.library import control_path, library_path, private_copy
from fake_nvml.state import (
    NO_INSTANCE,
    RC_NOT_SUPPORTED,
    StateFile,
    create_state,
    get_field,
    objection,
    read_first,
    set_field,
)
from fake_nvml.view import GpuView, view


class Node:
    """A fake node; see the module."""

    def __init__(self, directory: Path, state: StateFile, *, name: str, owned: bool) -> None:
        self.directory = directory
        self.name = name
        self._state = state
        self._owned = owned
        self._mutex = threading.Lock()
        self._closed = False

    @classmethod
    def create(
        cls, inventory: Inventory | str | Path, directory: Path | str | None = None, *, name: str | None = None
    ) -> Node:
        """Make a node.

        Args:
            inventory: an inventory, the name of a shipped one, or a path.
            directory: its folder; created if missing (0700), must be empty. None: a temporary folder.
            name: the node's name, from which `auto` UUIDs and serials are derived; by default the folder's name.

        Raises: InventoryError, LibraryMissingError, FakeNvmlError for a folder that is in use.
        """
        if not isinstance(inventory, Inventory):
            inventory = Inventory.load(inventory)
        # Both libraries first: an incomplete installation must not leave a folder behind.
        library, _ = library_path(), control_path()
        folder = Path(tempfile.mkdtemp(prefix="fake-nvml-")) if directory is None else Path(directory).resolve()
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if any(folder.iterdir()):
                raise FakeNvmlError(f"{folder} is not empty: give a folder of its own to every node")
            # mkdir does not change the mode of a folder that exists.
            folder.chmod(0o700)
        except OSError as error:
            raise FakeNvmlError(f"no node can be made in {folder}: {error.strerror}") from error
        try:
            create_state(folder / "state", inventory, name or folder.name)
            node = cls(folder, StateFile(folder / "state"), name=name or folder.name, owned=True)
            driver_root.create(node.driver_root, library, node.read())
        except OSError as error:  # a full disk: nothing half made stays in the folder, which was empty
            shutil.rmtree(folder, ignore_errors=True)
            raise FakeNvmlError(f"no node can be made in {folder}: {error.strerror}") from error
        return node

    @classmethod
    def open(cls, directory: Path | str) -> Node:
        """Attach to a node that exists; closing leaves it in place."""
        folder = Path(directory).resolve()
        return cls(folder, StateFile(folder / "state"), name=folder.name, owned=False)

    # ---- where things are ----

    @property
    def state_path(self) -> Path:
        """The shared state file; the environment variable FAKE_NVML_STATE names it."""
        return self.directory / "state"

    @property
    def driver_root(self) -> Path:
        """A folder with /usr/lib64/libnvidia-ml.so.1, /dev and /proc/driver/nvidia as a driver installs them.

        The device files are character devices only if this process may create them (root with CAP_MKNOD and a
        filesystem that allows it); otherwise they are empty plain files of the same name.
        """
        return self.directory / "driver"

    def copy_library(self) -> Path:
        """A new copy of the library for this process to load beside others (see `binding`).

        Its SONAME differs, so that loading it never replaces the machine's own `libnvidia-ml.so.1`. The caller
        may delete the file once it is loaded.
        """
        return private_copy(library_path(), self.directory / "loaded")

    def env(self) -> dict[str, str]:
        """Environment for a process of this node: finds the fake first, and this node's state."""
        inherited = os.environ.get("LD_LIBRARY_PATH", "")
        here = str(self.driver_root / "usr" / "lib64")
        return {
            "FAKE_NVML_STATE": str(self.state_path),
            "LD_LIBRARY_PATH": f"{here}:{inherited}" if inherited else here,
        }

    # ---- reading ----

    def read(self) -> State:
        """A copy of the whole state, of one generation."""
        return self._state.read()

    @property
    def generation(self) -> int:
        """Number of changes to the node so far."""
        return self._state.generation

    def wait_change(self, generation: int, timeout: float) -> bool:
        """Sleep until something changed after `generation`; False when `timeout` seconds passed first."""
        return self._state.wait_change(generation, timeout)

    @property
    def gpus(self) -> tuple[GpuView, ...]:
        """The GPUs of the node at this moment."""
        state = self.read()
        return tuple(view(state, index) for index in range(state.gpu_count))

    def get(self, gpu: int | str, field: str) -> int | str:
        """The value of one field; "N/A" when the GPU answers Not Supported."""
        state = self.read()
        index = self._index(state, gpu)
        self._field(field)
        value, rc = get_field(state.gpus[index], field)
        if rc == RC_NOT_SUPPORTED:
            return NOT_SUPPORTED
        return value

    # ---- changing ----

    def change(self) -> Any:
        """A transaction over the raw state: `with node.change() as txn: txn.state.gpus[0]…`."""
        return self._state.change()

    def set(self, gpu: int | str, field: str, value: int | str) -> None:
        """Set one field of a GPU; see `fake_nvml.fields` for the names and units.

        Args:
            gpu: index or UUID.
            field: a name from `fake_nvml.fields`.
            value: a number or text; "N/A" makes the GPU answer Not Supported.

        Raises: FakeNvmlError for an unknown GPU or field, a value it cannot hold, or one that the GPU cannot have
            beside its other values and the node's other GPUs; nothing is changed then.
        """
        self._field(field)
        checked = check_value(field, value)
        if checked is None:
            raise FakeNvmlError(f"{field} must be {describe_field(field)} or {NOT_SUPPORTED}; it is {value!r}")
        with self._state.change() as txn:
            index = self._index(txn.state, gpu)
            set_field(txn.state.gpus[index], field, checked)
            wrong = objection(txn.state, index, field)
            if wrong is not None:
                raise FakeNvmlError(f"{field} of GPU {index} cannot be {value!r}: {wrong}")

    def set_link(self, gpu: int | str, link: int, *, active: bool) -> None:
        """Bring one NVLink of a GPU down or up."""
        with self._state.change() as txn:
            # Any valid index will do: the check below refuses the link.
            entry = txn.state.gpus[self._index(txn.state, gpu)].links[link if 0 <= link < MAX_LINKS else 0]
            if not 0 <= link < MAX_LINKS or not entry.present:
                raise FakeNvmlError(f"GPU {gpu} has no NVLink {link}")
            entry.active = int(active)

    def set_process(
        self,
        gpu: int | str,
        pid: int,
        *,
        memory: int,
        utilization: int = 0,
        graphics: bool = False,
        gi: int = NO_INSTANCE,
        ci: int = NO_INSTANCE,
    ) -> None:
        """Let process `pid` hold `memory` bytes of a GPU (or of a MIG device) and keep it busy for `utilization`
        percent of the time; 0 bytes ends it.
        """
        with self._state.change() as txn:
            device = txn.state.gpus[self._index(txn.state, gpu)]
            stored = incidents.hold(
                device, pid, memory=memory, utilization=utilization, graphics=graphics, gi=gi, ci=ci
            )
            if not stored:
                raise FakeNvmlError(f"GPU {gpu} already has {MAX_PROCESSES} processes")
            wrong = objection(txn.state, self._index(txn.state, gpu), "memory_used")
            if wrong is not None:
                raise FakeNvmlError(f"process {pid} cannot hold {memory} bytes of GPU {gpu}: {wrong}")

    # ---- events and faults ----

    def inject_xid(self, gpu: int | str, xid: int, *, gi: int = NO_INSTANCE, ci: int = NO_INSTANCE) -> None:
        """Report an XID on a GPU, with what that XID does to the GPU, in one transaction.

        Args:
            gpu: index or UUID.
            xid: the number; unknown ones are passed on untouched.
            gi, ci: the MIG instance it happened in; by default the whole GPU (0xFFFFFFFF).

        Source: NVIDIA's Xid catalogue; coupled counters as in `fake_nvml.xids`.
        """
        if not 0 <= xid < 2**32:
            raise FakeNvmlError(f"an XID is a number from 0 to {2**32 - 1}; it is {xid}")
        with self._state.change() as txn:
            index = self._index(txn.state, gpu)
            incidents.report_xid(txn, index, xid, gi=gi, ci=ci)

    def inject_event(self, gpu: int | str, kind: int, data: int) -> None:
        """Report any other NVML event (`nvmlEventType*` bit) on a GPU."""
        with self._state.change() as txn:
            txn.event(self._index(txn.state, gpu), kind, data)

    def lose_gpu(self, gpu: int | str) -> None:
        """XID 79: the GPU falls off the bus; every call on it answers GPU_IS_LOST, in all processes."""
        self.inject_xid(gpu, 79)

    def recover_gpu(self, gpu: int | str) -> None:
        """Undo `lose_gpu` and a required reset, as a power cycle would; volatile ECC counters start again."""
        with self._state.change() as txn:
            incidents.recover(txn.state.gpus[self._index(txn.state, gpu)])

    def inject_fault(
        self,
        function: str,
        *,
        error: str | int = "SUCCESS",
        times: int = 0,
        after: int = 0,
        every: int = 1,
        probability: float = 1.0,
        seed: int = 0,
        delay: float = 0.0,
        hang: bool = False,
        gpu: int | str | None = None,
        pid: int = 0,
        program: str = "",
    ) -> int:
        """Make NVML functions fail, be slow or hang.

        Args:
            function: the symbol, with its version, for example "nvmlDeviceGetHandleByIndex_v2" (a name without
                version also matches its newest version if only that is called); "nvmlDeviceGet*" for all with
                this prefix.
            error: what it returns; "SUCCESS" with a `delay` only slows it.
            times: how often; 0 for always.
            after: calls that are let through first.
            every: of the calls after that, only every n-th.
            probability: of each of these, from above 0 to 1; drawn from `seed` and the number of the call, so that
                one seed gives the same sequence of faults again.
            seed: see `probability`.
            delay: seconds the call takes first.
            hang: the call hangs until the rule is cleared, the driver is reloaded or the node ends.
            gpu: only calls on this GPU; None for all.
            pid: only calls of this process; 0 for all.
            program: only processes of this name, as /proc/PID/comm has it; empty for all.

        Returns: the number of the rule, for `clear_faults` and `fault_hits`.
        Raises: FakeNvmlError for a rule that could never act.
        """
        rule = faults.FaultRule(
            function=function,
            code=error_code(error),
            times=times,
            after=after,
            every=every,
            probability=probability,
            seed=seed,
            delay=delay,
            hang=hang,
            pid=pid,
            program=program,
        )
        faults.check(rule)
        with self._state.change() as txn:
            return faults.arm(txn.state, rule, -1 if gpu is None else self._index(txn.state, gpu))

    def fault_hits(self, rule: int) -> int:
        """How often a rule has acted."""
        return int(self.read().faults[rule].hits)

    def clear_faults(self, rule: int | None = None) -> None:
        """Remove one rule, or all; the functions behave as before and calls that hang come back."""
        with self._state.change() as txn:
            faults.clear(txn.state, rule)

    # ---- the call log ----

    def log_calls(self, on: bool = True) -> None:
        """Start (with an empty log) or stop writing down which process calls which function.

        Processes that may not write to the node's folder leave no line. The log stops growing at 64 MiB.
        """
        if on:
            call_log.start(self.directory / call_log.FILE)
        with self._state.change() as txn:
            txn.state.log_calls = int(on)

    def calls(self) -> list[call_log.Call]:
        """Return the logged calls, oldest first."""
        return call_log.read(self.directory / call_log.FILE)

    def remove_gpu(self, gpu: int | str) -> None:
        """Take a GPU away, as a bind to vfio does: NVML counts one less, and later ones move up an index."""
        with self._state.change() as txn:
            index = self._index(txn.state, gpu)
            incidents.unbind(txn, index)

    def restore_gpu(self, gpu: int | str) -> None:
        """Bring a removed GPU back to its place."""
        with self._state.change() as txn:
            index = self._index(txn.state, gpu)
            incidents.bind(txn, index)

    def fail_init(self, error: str | int) -> None:
        """Make nvmlInit answer `error` (for example DRIVER_NOT_LOADED); "SUCCESS" ends it."""
        code = error_code(error)
        with self._state.change() as txn:
            txn.state.init_rc = code

    def reload_driver(self) -> None:
        """As a driver reload: open sessions answer Driver Not Loaded until they call nvmlInit again."""
        with self._state.change() as txn:
            for index in range(txn.state.gpu_count):
                incidents.reset_volatile(txn.state.gpus[index])
            txn.reload_driver()

    def reset(self, gpu: int | str) -> None:
        """A GPU reset: pending modes become current, MIG instances and processes are gone."""
        with self._state.change() as txn:
            incidents.reset(txn.state.gpus[self._index(txn.state, gpu)])
        # After the transaction: `read` needs the lock that a transaction holds.
        self.sync_driver_root()

    def restore(self) -> None:
        """Everything as it was when the node was made: values, MIG instances, processes, faults; events stay sent."""
        first = read_first(self.directory)
        with self._state.change() as txn:
            incidents.restore(txn.state, first)
        self.sync_driver_root()

    def sync_driver_root(self) -> None:
        """Make the MIG capability files under `driver_root` match the live instances.

        The library does so itself for the instances that programs make and destroy; this repairs what a program that
        was killed in between left, and what was changed behind the library's back.
        """
        driver_root.sync(self.driver_root, self.read())

    # ---- the end ----

    def keep(self) -> None:
        """Leave the node in place when this object is closed, for other processes."""
        self._owned = False

    def own(self) -> None:
        """End the node when this object is closed."""
        self._owned = True

    def close(self) -> None:
        """End the node: processes that use it get Driver Not Loaded, waiters wake, the folder goes. Idempotent."""
        with self._mutex:
            if self._closed:
                return
            self._closed = True
        if self._owned:
            try:
                with self._state.change() as txn:
                    txn.state.alive = 0
            except StateError:
                pass  # the folder was removed by someone else: it cannot be in use
        self._state.close()
        if self._owned:
            shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self) -> Node:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _index(self, state: State, gpu: int | str) -> int:
        count = int(state.gpu_count)
        if isinstance(gpu, str):
            for index in range(count):
                if get_field(state.gpus[index], "uuid")[0] == gpu:
                    return index
            raise FakeNvmlError(f"no GPU of node {self.name} has UUID {gpu}")
        if not 0 <= gpu < count:
            raise FakeNvmlError(f"node {self.name} has GPUs 0 to {count - 1}, not {gpu}")
        return gpu

    def _field(self, name: str) -> None:
        if name not in SCALARS and name not in STRINGS:
            raise FakeNvmlError(f"no field is called {name!r}. {nearest(name, [*SCALARS, *STRINGS])}")
