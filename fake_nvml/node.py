"""A fake node: its folder, its shared state, and everything a test does to it.

`Node.create` makes a folder (0700) that holds the state file, a driver root and copies of the library; the node
lives until `close` (or the end of the `with` block), which tells every process that uses it that the driver is gone
and removes the folder. `Node.open` attaches to a node that another process made, and leaves it in place when
closed.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from fake_nvml import driver_root
from fake_nvml.boards import NOT_SUPPORTED, check_value, describe_field
from fake_nvml.documents import nearest
from fake_nvml.errors import FakeNvmlError, StateError
from fake_nvml.fields import SCALARS, STRINGS
from fake_nvml.inventory import Inventory
from fake_nvml.layout import MAX_FAULTS, MAX_LINKS, MAX_PROCESSES, State
from fake_nvml.library import library_path
from fake_nvml.state import NO_INSTANCE, RC_NOT_SUPPORTED, StateFile, Transaction, create_state, get_field, set_field
from fake_nvml.xids import EVENT_DOUBLE_BIT_ECC, EVENT_XID, effects_of

#: NVML return codes by the name that `inject_fault` and the command take.
ERRORS: Final[Mapping[str, int]] = {
    "SUCCESS": 0,
    "UNINITIALIZED": 1,
    "INVALID_ARGUMENT": 2,
    "NOT_SUPPORTED": 3,
    "NO_PERMISSION": 4,
    "ALREADY_INITIALIZED": 5,
    "NOT_FOUND": 6,
    "INSUFFICIENT_SIZE": 7,
    "INSUFFICIENT_POWER": 8,
    "DRIVER_NOT_LOADED": 9,
    "TIMEOUT": 10,
    "IRQ_ISSUE": 11,
    "LIBRARY_NOT_FOUND": 12,
    "FUNCTION_NOT_FOUND": 13,
    "CORRUPTED_INFOROM": 14,
    "GPU_IS_LOST": 15,
    "RESET_REQUIRED": 16,
    "OPERATING_SYSTEM": 17,
    "LIB_RM_VERSION_MISMATCH": 18,
    "IN_USE": 19,
    "MEMORY": 20,
    "NO_DATA": 21,
    "VGPU_ECC_NOT_SUPPORTED": 22,
    "INSUFFICIENT_RESOURCES": 23,
    "FREQ_NOT_SUPPORTED": 24,
    "ARGUMENT_VERSION_MISMATCH": 25,
    "DEPRECATED": 26,
    "NOT_READY": 27,
    "GPU_NOT_FOUND": 28,
    "INVALID_STATE": 29,
    "RESET_TYPE_NOT_SUPPORTED": 30,
    "UNKNOWN": 999,
}


@dataclass(frozen=True, slots=True)
class GpuView:
    """What one GPU is, read at one moment."""

    index: int
    uuid: str
    name: str
    bus_id: str
    minor: int
    mig_enabled: bool
    lost: bool


def error_code(error: str | int) -> int:
    """The NVML return code for a name such as "GPU_IS_LOST" (with or without "NVML_ERROR_") or a number.

    Raises: FakeNvmlError for an unknown name.
    """
    if isinstance(error, int):
        return error
    name = error.upper().removeprefix("NVML_ERROR_").removeprefix("NVML_")
    if name not in ERRORS:
        raise FakeNvmlError(f"no NVML error is called {error!r}. {nearest(name, ERRORS)}")
    return ERRORS[name]


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
            directory: where; made if missing (0700), must be empty. None: a temporary folder.
            name: the node's name, from which `auto` UUIDs and serials are made; by default the folder's name.

        Raises: InventoryError, LibraryMissingError, FakeNvmlError for a folder that is in use.
        """
        if not isinstance(inventory, Inventory):
            inventory = Inventory.load(inventory)
        folder = Path(tempfile.mkdtemp(prefix="fake-nvml-")) if directory is None else Path(directory).resolve()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise FakeNvmlError(f"{folder} is not empty: give a folder of its own to every node")
        folder.chmod(0o700)
        library = library_path()
        create_state(folder / "state", inventory, name or folder.name)
        node = cls(folder, StateFile(folder / "state"), name=name or folder.name, owned=True)
        driver_root.create(node.driver_root, library, node.read())
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

        The device files are real character devices only where this process may make them (root with CAP_MKNOD and a
        filesystem that allows it); else they are empty plain files of the same name.
        """
        return self.directory / "driver"

    def copy_library(self) -> Path:
        """A new copy of the library for this process to load beside others (see `binding`).

        Its SONAME differs, so that loading it never stands in for the machine's own `libnvidia-ml.so.1`. The caller
        may delete the file once it is loaded.
        """
        folder = self.directory / "loaded"
        folder.mkdir(mode=0o700, exist_ok=True)
        data = library_path().read_bytes()
        changed = data.replace(b"libnvidia-ml.so.1\0", b"libnvidia-fn.so.1\0")
        if changed == data:
            raise FakeNvmlError(f"{library_path()} has no SONAME libnvidia-ml.so.1: build it again")
        fd, name = tempfile.mkstemp(prefix="libnvidia-ml.", suffix=".so", dir=folder)
        with os.fdopen(fd, "wb") as file:
            file.write(changed)
        return Path(name)

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
        """What the node has now."""
        state = self.read()
        return tuple(_view(state, index) for index in range(state.gpu_count))

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

        Raises: FakeNvmlError for an unknown GPU or field, or a value it cannot hold.
        """
        self._field(field)
        checked = check_value(field, value)
        if checked is None:
            raise FakeNvmlError(f"{field} must be {describe_field(field)} or {NOT_SUPPORTED}; it is {value!r}")
        with self._state.change() as txn:
            set_field(txn.state.gpus[self._index(txn.state, gpu)], field, checked)

    def set_error(self, gpu: int | str, field: str, error: str | int) -> None:
        """Make the getters of one field answer an NVML error; "SUCCESS" brings the value back."""
        self._field(field)
        code = error_code(error)
        with self._state.change() as txn:
            set_field(txn.state.gpus[self._index(txn.state, gpu)], field, None, rc=code)

    def set_link(self, gpu: int | str, link: int, *, active: bool) -> None:
        """Bring one NVLink of a GPU down or up."""
        with self._state.change() as txn:
            entry = txn.state.gpus[self._index(txn.state, gpu)].links[link if 0 <= link < MAX_LINKS else 0]
            if not 0 <= link < MAX_LINKS or not entry.present:
                raise FakeNvmlError(f"GPU {gpu} has no NVLink {link}")
            entry.active = int(active)

    def set_process(
        self, gpu: int | str, pid: int, *, memory: int, gi: int = NO_INSTANCE, ci: int = NO_INSTANCE
    ) -> None:
        """Let process `pid` hold `memory` bytes of a GPU (or of a MIG device); 0 bytes ends it."""
        with self._state.change() as txn:
            device = txn.state.gpus[self._index(txn.state, gpu)]
            rows = [row for row in device.processes if row.used and row.pid == pid and row.gi == gi and row.ci == ci]
            if not rows and memory:
                rows = [row for row in device.processes if not row.used][:1]
                if not rows:
                    raise FakeNvmlError(f"GPU {gpu} already has {MAX_PROCESSES} processes")
            for row in rows:
                row.used, row.pid, row.memory, row.gi, row.ci = int(memory > 0), pid, memory, gi, ci
            used = sum(row.memory for row in device.processes if row.used)
            set_field(device, "memory_used", used)

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
            effects = effects_of(xid)
            device = txn.state.gpus[index]
            for field, amount in effects.add.items():
                value, rc = get_field(device, field)
                if rc == 0:
                    set_field(device, field, int(value) + amount)
            for field, amount in effects.set.items():
                _, rc = get_field(device, field)
                if rc == 0:
                    set_field(device, field, amount)
            txn.event(index, EVENT_XID, xid, gi=gi, ci=ci)
            if effects.double_bit_ecc:
                txn.event(index, EVENT_DOUBLE_BIT_ECC, 0, gi=gi, ci=ci)

    def inject_event(self, gpu: int | str, kind: int, data: int = 0) -> None:
        """Report any other NVML event (`nvmlEventType*` bit) on a GPU."""
        with self._state.change() as txn:
            txn.event(self._index(txn.state, gpu), kind, data)

    def lose_gpu(self, gpu: int | str) -> None:
        """XID 79: the GPU falls off the bus; every call on it answers GPU_IS_LOST, in all processes."""
        self.inject_xid(gpu, 79)

    def recover_gpu(self, gpu: int | str) -> None:
        """Undo `lose_gpu` and a required reset, as a power cycle would; volatile ECC counters start again."""
        with self._state.change() as txn:
            device = txn.state.gpus[self._index(txn.state, gpu)]
            set_field(device, "is_lost", 0)
            set_field(device, "reset_required", 0)
            for field in SCALARS:
                if "_volatile_" in field and get_field(device, field)[1] == 0:
                    set_field(device, field, 0)
            if get_field(device, "recovery_action")[1] == 0:
                set_field(device, "recovery_action", 0)

    def inject_fault(
        self,
        function: str,
        *,
        error: str | int = "SUCCESS",
        times: int = 0,
        after: int = 0,
        delay: float = 0.0,
        gpu: int | str | None = None,
        pid: int = 0,
    ) -> int:
        """Make one NVML function fail or be slow.

        Args:
            function: the symbol, with its version, for example "nvmlDeviceGetHandleByIndex_v2" (a name without
                version is also taken for its newest one where only that is called).
            error: what it returns; "SUCCESS" with a `delay` only slows it.
            times: how often; 0 for always.
            after: calls that are let through first.
            delay: seconds the call takes first.
            gpu: only calls on this GPU; None for all.
            pid: only calls of this process; 0 for all.

        Returns: the number of the rule, for `clear_faults`.
        """
        code = error_code(error)
        if not function.startswith("nvml") or len(function) > 79:
            raise FakeNvmlError(f"{function!r} is no NVML function")
        if code == 0 and not delay:
            raise FakeNvmlError("a fault needs an error other than SUCCESS, or a delay")
        with self._state.change() as txn:
            index = -1 if gpu is None else self._index(txn.state, gpu)
            for number in range(MAX_FAULTS):
                rule = txn.state.faults[number]
                if rule.active:
                    continue
                rule.active, rule.rc, rule.gpu, rule.pid = 1, code, index, pid
                rule.after, rule.times, rule.delay_ms = after, times, int(delay * 1000)
                rule.seen, rule.hits, rule.function = 0, 0, function.encode()
                _count_faults(txn)
                return number
        raise FakeNvmlError(f"{MAX_FAULTS} faults are armed already: clear some first")

    def fault_hits(self, rule: int) -> int:
        """How often a rule has acted."""
        return int(self.read().faults[rule].hits)

    def clear_faults(self, rule: int | None = None) -> None:
        """Remove one rule, or all; the functions behave as before."""
        with self._state.change() as txn:
            for number in range(MAX_FAULTS):
                if rule is None or rule == number:
                    txn.state.faults[number].active = 0
            _count_faults(txn)

    def fail_init(self, error: str | int) -> None:
        """Make nvmlInit answer `error` (for example DRIVER_NOT_LOADED); "SUCCESS" ends it."""
        code = error_code(error)
        with self._state.change() as txn:
            txn.state.init_rc = code

    def reload_driver(self) -> None:
        """As a driver reload: open sessions answer Driver Not Loaded until they call nvmlInit again."""
        with self._state.change() as txn:
            for index in range(txn.state.gpu_count):
                for field in SCALARS:
                    if "_volatile_" in field and get_field(txn.state.gpus[index], field)[1] == 0:
                        set_field(txn.state.gpus[index], field, 0)
            txn.reload_driver()

    def reset(self, gpu: int | str) -> None:
        """A GPU reset: pending modes become current, MIG instances and processes are gone."""
        with self._state.change() as txn:
            device = txn.state.gpus[self._index(txn.state, gpu)]
            for pending, current in (
                ("ecc_mode_pending", "ecc_mode_current"),
                ("mig_mode_pending", "mig_mode_current"),
            ):
                value, rc = get_field(device, pending)
                if rc == 0:
                    set_field(device, current, value)
            set_field(device, "reset_required", 0)
            for instance in device.instances:
                instance.used = 0
                for compute in instance.compute:
                    compute.used = 0
            for row in device.processes:
                row.used = 0

    def sync_driver_root(self) -> None:
        """Make the MIG capability files under `driver_root` match the live instances.

        Programs of the node create instances through NVML, in C; whoever reads the files afterwards calls this first.
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
                pass  # the folder was removed by someone else: nobody can be using it
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


def _count_faults(txn: Transaction) -> None:
    txn.state.fault_count = sum(1 for rule in txn.state.faults if rule.active)


def _view(state: State, index: int) -> GpuView:
    gpu = state.gpus[index]
    return GpuView(
        index=index,
        uuid=str(get_field(gpu, "uuid")[0]),
        name=str(get_field(gpu, "name")[0]),
        bus_id=f"{gpu.domain:08X}:{gpu.bus:02X}:{gpu.device:02X}.0",
        minor=int(get_field(gpu, "minor_number")[0]),
        mig_enabled=get_field(gpu, "mig_mode_current") == (1, 0),
        lost=get_field(gpu, "is_lost")[0] == 1,
    )
