"""The state file of a node: made from an inventory, read and changed in transactions.

`create_state` writes a new file and renames it into place. `StateFile` maps it through the control library (the
same C code that the fake NVML uses), so a change made here is one generation for every process, and a process
killed inside a transaction leaves the former generation. The file lives until `Node.close`, which marks it dead
before removing it.
"""

from __future__ import annotations

import ctypes
import errno
import os
import secrets
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from fake_nvml.boards import NOT_SUPPORTED
from fake_nvml.errors import StateError
from fake_nvml.fields import SCALARS, STRINGS
from fake_nvml.inventory import GpuSpec, Inventory, gpu_serial, gpu_uuid, mig_uuids
from fake_nvml.layout import (
    LAYOUT_VERSION,
    MAGIC,
    MAX_COMPUTE_INSTANCES,
    MAX_GPU_INSTANCES,
    RING_SIZE,
    Event,
    Gpu,
    Header,
    State,
)
from fake_nvml.library import control_path
from fake_nvml.possible import OWN, Read, contradiction, shared

FILE_SIZE: Final = ctypes.sizeof(Header) + 2 * ctypes.sizeof(State) + RING_SIZE * ctypes.sizeof(Event)

FIRST: Final = "first"  # the file that keeps the node as it was made, for `Node.restore`

RC_NOT_SUPPORTED: Final = 3
NO_INSTANCE: Final = 0xFFFFFFFF
_FIRST_SERIAL: Final = 1

SCALAR_INDEX: Final = {name: index for index, name in enumerate(SCALARS)}
STRING_INDEX: Final = {name: index for index, name in enumerate(STRINGS)}


def set_field(gpu: Gpu, name: str, value: int | str | None, *, rc: int = 0) -> None:
    """Write one field of a GPU; `value` None keeps the number and changes only the return code."""
    if value == NOT_SUPPORTED:
        value, rc = None, RC_NOT_SUPPORTED
    if name in STRING_INDEX:
        text = gpu.strings[STRING_INDEX[name]]
        if value is not None:
            text.text = str(value).encode()
        text.rc = rc
        return
    scalar = gpu.scalars[SCALAR_INDEX[name]]
    if value is not None:
        # Two's complement: the field is unsigned.
        scalar.value = int(value) & 0xFFFFFFFFFFFFFFFF
    scalar.rc = rc


def get_field(gpu: Gpu, name: str) -> tuple[int | str, int]:
    """Value and return code of one field of a GPU."""
    if name in STRING_INDEX:
        text = gpu.strings[STRING_INDEX[name]]
        return text.text.decode(errors="replace"), int(text.rc)
    scalar = gpu.scalars[SCALAR_INDEX[name]]
    value = int(scalar.value)
    return (value - 2**64 if value >= 2**63 else value), int(scalar.rc)


def objection(state: State, index: int, field: str) -> str | None:
    """Return why GPU `index` is impossible after a change of `field`; None if it is possible."""

    def reader(gpu: Gpu) -> Read:
        def read(name: str) -> int | str:
            value, rc = get_field(gpu, name)
            return value if rc == 0 else NOT_SUPPORTED

        return read

    gpus = [reader(gpu) for gpu in state.gpus[: state.gpu_count]]
    wrong = contradiction(gpus[index], (field,))
    if wrong is not None:
        return wrong[1]
    other = shared(gpus, index, field) if field in OWN else None
    if other is not None:
        return f"GPU {other} has it; each GPU of a node has its own"
    if field == "mig_mode_current" and gpus[index](field) == 0 and any(row.used for row in state.gpus[index].instances):
        return "it has GPU instances; destroy them first, or reset the GPU"
    return None


def tree_id(start: int, size: int) -> int:
    """Id of a GPU instance: its place in the binary tree over eight memory slices (as `tree_id` in mig_instances.c)."""
    first = 0 if size >= 8 else 1 if size >= 4 else 3 if size >= 2 else 7
    return first + start // size


def render(inventory: Inventory, node: str) -> State:
    """The complete first generation of a node called `node`."""
    state = State()
    state.gpu_count = len(inventory.gpus)
    state.cuda_version = inventory.cuda_version
    state.alive = 1
    state.next_serial = _FIRST_SERIAL
    for name in ("driver_version", "nvml_version", "driver_branch"):
        getattr(state, name).text = getattr(inventory, name).encode()
    for index, spec in enumerate(inventory.gpus):
        _render_gpu(state.gpus[index], spec, index, node, inventory.driver_version)
    return state


def _render_gpu(gpu: Gpu, spec: GpuSpec, index: int, node: str, driver: str) -> None:
    ctypes.memmove(ctypes.byref(gpu), _nameless(spec), ctypes.sizeof(Gpu))
    uuid = spec.uuid or gpu_uuid(node, index)
    computed: dict[str, int | str] = {
        "minor_number": index,
        "board_id": spec.domain << 16 | spec.bus << 8 | spec.device,
        "is_lost": 0,
        "reset_required": 0,
        "gsp_version": driver,
        "uuid": uuid,
        "serial": spec.serial or gpu_serial(node, spec.module or index),
    }
    for name, value in computed.items():
        # A configured value takes precedence.
        if spec.value(name) == NOT_SUPPORTED:
            set_field(gpu, name, value)
    ctypes.memmove(gpu.mig_uuids, _mig_uuids(uuid), ctypes.sizeof(gpu.mig_uuids))
    for number, instance in enumerate(spec.mig):
        # The driver derives the id from the placement, not from the order of creation.
        slot = gpu.instances[tree_id(instance.start, instance.profile.size)]
        slot.used, slot.profile = 1, instance.profile.id
        slot.start, slot.size = instance.start, instance.profile.size
        compute = slot.compute[0]
        # Handles name the place of an instance too, so that the first ones can share a serial.
        slot.serial = compute.serial = _FIRST_SERIAL
        # The numbers are NVML_COMPUTE_INSTANCE_PROFILE_*: the profile that fills the GPU instance.
        compute.used, compute.profile = 1, {1: 0, 2: 1, 3: 2, 4: 3, 7: 4}[instance.profile.slices]
        compute.size, compute.mig_index = instance.profile.size, number


@lru_cache(maxsize=64)
def _nameless(spec: GpuSpec) -> bytes:
    """Return the row of a GPU of this kind without its identity: most of its bytes, the same in every node."""
    gpu = Gpu()
    gpu.present = 1
    gpu.domain, gpu.bus, gpu.device = spec.domain, spec.bus, spec.device
    gpu.pci_device_id, gpu.pci_subsystem_id = spec.board.pci_device_id, spec.board.pci_subsystem_id
    gpu.pci_class = spec.board.pci_class
    for name in (*SCALARS, *STRINGS):
        set_field(gpu, name, spec.value(name))
    ctypes.memmove(gpu.cluster_uuid, spec.cluster_uuid, 16)
    for cpu in spec.cpus:
        gpu.cpu_affinity[cpu // 64] |= 1 << (cpu % 64)
    numa, rc = get_field(gpu, "numa_node")
    if rc == 0 and isinstance(numa, int) and 0 <= numa < 64:
        gpu.memory_affinity = 1 << numa
    links, _ = get_field(gpu, "nvlink_count")  # 0 if it is not supported
    for link in range(int(links) if spec.nvlink_switches else 0):
        address = spec.nvlink_switches[link % len(spec.nvlink_switches)]
        domain, bus, device = address.split(":")
        entry = gpu.links[link]
        entry.present, entry.active, entry.remote_type = 1, 1, 2  # NVML_NVLINK_DEVICE_TYPE_SWITCH
        entry.domain, entry.bus, entry.device = int(domain, 16), int(bus, 16), int(device.split(".")[0], 16)
        entry.pci_device_id = 0x22A310DE  # NVSwitch of the third generation
    for row in spec.board.profiles:
        profile = gpu.profiles[row.enum]
        profile.present, profile.id = 1, row.id
        profile.slices, profile.instances, profile.multiprocessors = row.slices, row.instances, row.multiprocessors
        profile.copy_engines, profile.decoders, profile.encoders = row.copy_engines, row.decoders, row.encoders
        profile.jpegs, profile.ofas, profile.size = row.jpegs, row.ofas, row.size
        profile.start_count = len(row.starts)
        for place, start in enumerate(row.starts):
            profile.starts[place] = start
        profile.memory_mib, profile.name = row.memory_mib, row.name.encode()
    return bytes(gpu)


@lru_cache(maxsize=64)
def _mig_uuids(gpu: str) -> bytes:
    """The UUIDs of all MIG devices that a GPU may ever have, as they lie in its state."""
    return mig_uuids(gpu, MAX_GPU_INSTANCES, MAX_COMPUTE_INSTANCES)


def read_first(directory: Path) -> bytes:
    """The first generation of the node in `directory`, as `create_state` keeps it beside the state."""
    try:
        return zlib.decompress((directory / FIRST).read_bytes())
    except (OSError, zlib.error) as error:
        raise StateError(f"{directory / FIRST}: what the node was made as cannot be read: {error}") from error


def create_state(path: Path, inventory: Inventory, node: str, *, mode: int = 0o600) -> None:
    """Write the state file of a new node, atomically.

    Args:
        path: of the file; its folder must exist.
        inventory: the GPUs of the node.
        node: the node's name, from which `auto` identities are derived.
        mode: permission bits; processes that may only read it cannot change the node.

    Raises: OSError if there is no room for everything that the node can write later.
    """
    header = Header(magic=MAGIC, layout_version=LAYOUT_VERSION, file_size=FILE_SIZE, gen=0)
    # Random: a session of a former node in the same folder must not match this one.
    header.epoch = secrets.randbits(62)
    state = render(inventory, node)
    used = State.gpus.offset + state.gpu_count * ctypes.sizeof(Gpu)
    fresh = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        os.pwrite(fd, bytes(header), 0)
        os.pwrite(fd, memoryview(state).cast("B")[:used], ctypes.sizeof(Header))
        os.ftruncate(fd, FILE_SIZE)  # the rest stays sparse
        _reserve(fd, used)
    finally:
        os.close(fd)
    # A process that opens the path finds a complete state or none.
    fresh.replace(path)
    (path.parent / FIRST).write_bytes(zlib.compress(memoryview(state).cast("B")[:used], 1))


def _reserve(fd: int, used: int) -> None:
    """Room on the disk for what is written through the mapping: both copies as far as they are used, and the ring.

    A disk that is full later would end a program in the middle of a call (SIGBUS), as no hardware does.
    """
    first = ctypes.sizeof(Header)
    second = first + ctypes.sizeof(State)
    ring = second + ctypes.sizeof(State)
    for offset, length in ((first, used), (second, used), (ring, FILE_SIZE - ring)):
        try:
            os.posix_fallocate(fd, offset, length)
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):  # a file system that cannot promise room
                raise


def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(str(control_path()))
    signatures: dict[str, tuple[Any, list[Any]]] = {
        "fnvml_open": (ctypes.c_void_p, [ctypes.c_char_p, ctypes.POINTER(ctypes.c_int)]),
        "fnvml_close": (None, [ctypes.c_void_p]),
        "fnvml_begin": (ctypes.c_void_p, [ctypes.c_void_p, ctypes.POINTER(ctypes.c_int)]),
        "fnvml_commit": (None, [ctypes.c_void_p]),
        "fnvml_abort": (None, [ctypes.c_void_p]),
        "fnvml_event": (
            None,
            [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint32],
        ),
        "fnvml_bump_epoch": (None, [ctypes.c_void_p]),
        "fnvml_snapshot": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint64]),
        "fnvml_generation": (ctypes.c_uint64, [ctypes.c_void_p]),
        "fnvml_wait": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_int64]),
        "fnvml_file_size": (ctypes.c_uint64, []),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    if library.fnvml_file_size() != FILE_SIZE:
        raise StateError(
            f"{control_path()} was built from another layout: run `python -m fake_nvml.build` "
            f"({library.fnvml_file_size()} bytes there, {FILE_SIZE} here)"
        )
    return library


def _unreadable(path: Path) -> str:
    """Why a state file that is there cannot be used: made by another version, or damaged."""
    try:
        with path.open("rb") as file:
            size, header = path.stat().st_size, Header.from_buffer_copy(file.read(ctypes.sizeof(Header)))
    except (OSError, ValueError):
        return "it is damaged: too short"
    if header.magic != MAGIC:
        return "it is damaged, or no node's state"
    if header.layout_version != LAYOUT_VERSION:
        return f"its layout is version {header.layout_version}, this fake_nvml reads version {LAYOUT_VERSION}"
    return f"it is damaged: {size} bytes of {FILE_SIZE}"


class Transaction:
    """An open change: `state` is the copy to edit; `event` adds to the ring. Ends with the `with` block."""

    def __init__(
        self, state: State, emit: Callable[[int, int, int, int, int], None], reload: Callable[[], None]
    ) -> None:
        self.state = state
        self._emit = emit
        self._reload = reload

    def event(self, gpu: int, kind: int, data: int, *, gi: int = NO_INSTANCE, ci: int = NO_INSTANCE) -> None:
        """Append an event for GPU `gpu`; seen by waiters when the transaction commits."""
        self._emit(gpu, kind, data, gi, ci)

    def reload_driver(self) -> None:
        """Make every open NVML session of every process answer Driver Not Loaded until its next nvmlInit."""
        self._reload()


class StateFile:
    """An open state file. Usable from several threads; transactions of all processes are one after another."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._library = _library()
        self._mutex = threading.Lock()
        # Calls without the mutex: the last of them unmaps what was closed meanwhile.
        self._guard = threading.Lock()
        self._inside = 0
        self._closed: int | None = None
        rc = ctypes.c_int(0)
        self._node: int | None = self._library.fnvml_open(str(path).encode(), ctypes.byref(rc))
        if not self._node:
            reason = {
                4: "no permission",
                9: "it does not exist or is not a regular file; `fake-nvml create` makes a node",
                18: f"{_unreadable(path)}. `fake-nvml remove {path.parent}` takes it away; then create the node again",
            }.get(rc.value, f"NVML code {rc.value}")
            raise StateError(f"cannot open the node state {path}: {reason}")

    def _open(self) -> int:
        if self._node is None:
            raise StateError(f"the node state {self.path} was closed")
        return self._node

    @contextmanager
    def change(self) -> Iterator[Transaction]:
        """One transaction: commits at the end of the block, leaves everything as it was if the block raises."""
        with self._mutex:
            node, rc = self._open(), ctypes.c_int(0)
            address = self._library.fnvml_begin(node, ctypes.byref(rc))
            if not address:
                reason = "no permission to write" if rc.value == 4 else f"NVML code {rc.value}"
                raise StateError(f"cannot change the node state {self.path}: {reason}")
            done = False
            try:
                yield Transaction(
                    State.from_address(address),
                    lambda gpu, kind, data, gi, ci: self._library.fnvml_event(node, gpu, kind, data, gi, ci),
                    lambda: self._library.fnvml_bump_epoch(node),
                )
                done = True
            finally:
                # KeyboardInterrupt too must not leave the transaction open, hence `finally`.
                (self._library.fnvml_commit if done else self._library.fnvml_abort)(node)

    def read(self) -> State:
        """A copy of one generation; GPUs beyond the node's count are zero."""
        with self._mutex:
            node = self._open()
            state = State()
            # The part before the GPUs first, then as many GPUs as there are: State has room for many more.
            for size in (State.gpus.offset, None):
                length = size or State.gpus.offset + min(state.gpu_count, len(state.gpus)) * ctypes.sizeof(Gpu)
                rc = self._library.fnvml_snapshot(node, 0, ctypes.byref(state), length)
                if rc:
                    raise StateError(f"cannot read the node state {self.path}: NVML code {rc}")
            return state

    @property
    def generation(self) -> int:
        """Number of changes so far."""
        with self._mapped() as node:
            return int(self._library.fnvml_generation(node))

    def wait_change(self, generation: int, timeout: float) -> bool:
        """Sleep until the generation is another than `generation`; False when `timeout` seconds passed first."""
        # Without the mutex: a wait must not hold up changes by other threads.
        with self._mapped() as node:
            self._library.fnvml_wait(node, generation, int(timeout * 1e9))
            return int(self._library.fnvml_generation(node)) != generation

    @contextmanager
    def _mapped(self) -> Iterator[int]:
        """The open node, which stays mapped until the end of the block; the mutex is not held."""
        with self._guard:
            node = self._open()
            self._inside += 1
        try:
            yield node
        finally:
            with self._guard:
                self._inside -= 1
            self._unmap()

    def close(self) -> None:
        """Unmap, when the last call has returned; idempotent. The file stays."""
        with self._mutex, self._guard:
            self._node, self._closed = None, self._node or self._closed
        self._unmap()

    def _unmap(self) -> None:
        with self._guard:
            if self._inside or self._closed is None:
                return
            node, self._closed = self._closed, None
        self._library.fnvml_close(node)
