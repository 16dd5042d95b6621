"""Binary layout of the state that all processes of a fake node share; the one description of it.

The file is `Header`, two copies of `State`, and a ring of `Event`. `src/gen_layout.py` writes `src/state/layout.h` from
these classes with a static assertion per size and offset, so the C library cannot drift from them. Little-endian,
natural alignment, no pointers: offsets are compile-time constants and every index read from the file is
bounds-checked. The classes have no `__dict__`, so that a misspelt field is an error in Python as well.

A file is made by `state.create_state` and lives until its node is closed; processes that still map it then see
`alive` at 0 and answer DRIVER_NOT_LOADED.
"""

from __future__ import annotations

from ctypes import Structure, c_char, c_int32, c_uint8, c_uint32, c_uint64
from typing import Final

from fake_nvml.fields import SCALARS, STRINGS

MAGIC: Final = 0x314C4D564E4B4146  # "FAKNVML1", little-endian
LAYOUT_VERSION: Final = 3

MAX_GPUS: Final = 64
MAX_PROFILES: Final = 18  # NVML_GPU_INSTANCE_PROFILE_COUNT of the newest branch known
MAX_STARTS: Final = 8
MAX_GPU_INSTANCES: Final = 15  # a binary tree over 8 memory slices: 1 + 2 + 4 + 8
MAX_COMPUTE_INSTANCES: Final = 8
MAX_LINKS: Final = 18
MAX_FAULTS: Final = 32
MAX_PROCESSES: Final = 16
RING_SIZE: Final = 4096
STRING_SIZE: Final = 96
AFFINITY_WORDS: Final = 16
SCALAR_COUNT: Final = len(SCALARS)
STRING_COUNT: Final = len(STRINGS)


class Scalar(Structure):
    """A number and the return code it is answered with (0: the number is valid)."""

    __slots__ = ()
    _fields_ = [("value", c_uint64), ("rc", c_int32), ("reserved", c_uint32)]


class Text(Structure):
    """A text and the return code it is answered with."""

    __slots__ = ()
    _fields_ = [("text", c_char * STRING_SIZE), ("rc", c_int32)]


class Link(Structure):
    """One NVLink: its far end and error counters."""

    __slots__ = ()
    _fields_ = [
        ("present", c_uint32),
        ("active", c_uint32),
        ("remote_type", c_uint32),
        ("domain", c_uint32),
        ("bus", c_uint32),
        ("device", c_uint32),
        ("pci_device_id", c_uint32),
        ("reserved", c_uint32),
        ("errors", c_uint64 * 5),
    ]


class Profile(Structure):
    """One GPU instance profile of a board: a row of `nvidia-smi mig -lgip`."""

    __slots__ = ()
    _fields_ = [
        ("present", c_uint32),
        ("id", c_uint32),
        ("p2p", c_uint32),
        ("slices", c_uint32),
        ("instances", c_uint32),
        ("multiprocessors", c_uint32),
        ("copy_engines", c_uint32),
        ("decoders", c_uint32),
        ("encoders", c_uint32),
        ("jpegs", c_uint32),
        ("ofas", c_uint32),
        ("size", c_uint32),
        ("start_count", c_uint32),
        ("starts", c_uint32 * MAX_STARTS),
        ("capabilities", c_uint32),
        ("memory_mib", c_uint64),
        ("name", c_char * 48),
    ]


class ComputeInstance(Structure):
    """A live compute instance; its serial marks handles of a destroyed one as stale."""

    __slots__ = ()
    _fields_ = [
        ("used", c_uint32),
        ("serial", c_uint32),
        ("profile", c_uint32),
        ("start", c_uint32),
        ("size", c_uint32),
        ("mig_index", c_uint32),
    ]


class GpuInstance(Structure):
    """A live GPU instance at its place in the table (the index is its NVML id)."""

    __slots__ = ()
    _fields_ = [
        ("used", c_uint32),
        ("serial", c_uint32),
        ("profile", c_uint32),
        ("start", c_uint32),
        ("size", c_uint32),
        ("reserved", c_uint32),
        ("compute", ComputeInstance * MAX_COMPUTE_INSTANCES),
    ]


class Process(Structure):
    """A process that uses the GPU."""

    __slots__ = ()
    _fields_ = [
        ("used", c_uint32),
        ("pid", c_uint32),
        ("graphics", c_uint32),
        ("gi", c_uint32),
        ("ci", c_uint32),
        ("utilization", c_uint32),
        ("memory", c_uint64),
    ]


class Gpu(Structure):
    """Everything one GPU answers."""

    __slots__ = ()
    _fields_ = [
        ("domain", c_uint32),
        ("bus", c_uint32),
        ("device", c_uint32),
        ("pci_device_id", c_uint32),
        ("pci_subsystem_id", c_uint32),
        ("pci_class", c_uint32),
        ("present", c_uint32),
        ("reserved", c_uint32),
        ("cluster_uuid", c_uint8 * 16),
        ("cpu_affinity", c_uint64 * AFFINITY_WORDS),
        ("memory_affinity", c_uint64),
        ("scalars", Scalar * SCALAR_COUNT),
        ("strings", Text * STRING_COUNT),
        ("links", Link * MAX_LINKS),
        ("profiles", Profile * MAX_PROFILES),
        ("mig_uuids", (c_uint8 * 16) * (MAX_GPU_INSTANCES * MAX_COMPUTE_INSTANCES)),
        ("instances", GpuInstance * MAX_GPU_INSTANCES),
        ("processes", Process * MAX_PROCESSES),
    ]


class Fault(Structure):
    """A rule that changes what a function does; see `Node.inject_fault`."""

    __slots__ = ()
    _fields_ = [
        ("active", c_uint32),
        ("rc", c_int32),
        ("gpu", c_int32),
        ("pid", c_uint32),
        ("after", c_uint32),
        ("times", c_uint32),
        ("delay_ms", c_uint32),
        ("seen", c_uint32),
        ("every", c_uint32),
        ("probability", c_uint32),
        ("seed", c_uint32),
        ("hang", c_uint32),
        ("hits", c_uint64),
        ("program", c_char * 16),
        ("function", c_char * 80),
    ]


class State(Structure):
    """One complete copy of the node; readers see exactly one generation of it."""

    __slots__ = ()
    _fields_ = [
        ("gpu_count", c_uint32),
        ("cuda_version", c_uint32),
        ("alive", c_uint32),
        ("fault_count", c_uint32),
        ("log_calls", c_uint32),
        ("init_rc", c_int32),
        ("next_serial", c_uint32),
        ("event_head", c_uint64),
        ("events_dropped", c_uint64),
        ("removed", c_uint64),
        ("driver_version", Text),
        ("nvml_version", Text),
        ("driver_branch", Text),
        ("reserved", c_uint32 * 2),
        ("faults", Fault * MAX_FAULTS),
        ("gpus", Gpu * MAX_GPUS),
    ]


class Event(Structure):
    """One event of the ring; `seq` counts from 1 for the life of the node."""

    __slots__ = ()
    _fields_ = [
        ("seq", c_uint64),
        ("type", c_uint64),
        ("data", c_uint64),
        ("gpu", c_uint32),
        ("gi", c_uint32),
        ("ci", c_uint32),
        ("reserved", c_uint32),
    ]


class Header(Structure):
    """The first page: what the file is, and which of the two copies is current (`gen & 1`)."""

    __slots__ = ()
    _fields_ = [
        ("magic", c_uint64),
        ("layout_version", c_uint32),
        ("reserved", c_uint32),
        ("file_size", c_uint64),
        ("epoch", c_uint64),
        ("gen", c_uint64),
        ("padding", c_uint8 * (4096 - 40)),
    ]


STRUCTURES: Final[tuple[type[Structure], ...]] = (
    Scalar,
    Text,
    Link,
    Profile,
    ComputeInstance,
    GpuInstance,
    Process,
    Gpu,
    Fault,
    State,
    Event,
    Header,
)
