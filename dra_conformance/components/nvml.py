"""The NVML library under test: the fake one with a node of its own for the scenario, or the one of this machine.

`--nvml` selects it. The scenarios use both through the same unmodified pynvml and, for calls that pynvml never makes
(NULL, wrong versions, short buffers), through the C functions of the same library. MIG instances and modes that a
scenario changes on a real GPU are restored when it ends.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from functools import cache
from itertools import takewhile
from pathlib import Path
from types import ModuleType
from typing import Any

import fake_nvml
from dra_conformance.components.context import ScenarioContext
from dra_conformance.components.nvml_child import Child
from dra_conformance.core.errors import Untestable
from dra_conformance.core.events import NvmlChanged
from dra_conformance.core.thread_failures import modules_of
from fake_nvml.binding import MODULE

OK = 0
_WORK = 120.0  # seconds that another process may be busy
_OWN = __name__.partition(".")[0]


def is_error_of_library(error: BaseException) -> bool:
    """Return whether the fake node or a pynvml module raised an error, or code that they called."""
    # The frames behind the last one of the harness.
    called = list(takewhile(lambda name: name.partition(".")[0] != _OWN, reversed(modules_of(error))))
    return any(name.partition(".")[0] in ("fake_nvml", "pynvml") or name.startswith(MODULE) for name in called)


@cache
def _error_names(module: ModuleType) -> dict[int, str]:
    """Return the names of NVML's return codes, without their prefix."""
    return {
        value: name.removeprefix("NVML_ERROR_").removeprefix("NVML_")
        for name, value in vars(module).items()
        if name == "NVML_SUCCESS" or name.startswith("NVML_ERROR_")
    }


class NvmlLibrary:
    """NVML for one scenario; `inventory` names the fake's GPUs, None selects those of the run."""

    def __init__(self, world: ScenarioContext, *, inventory: str | None = None) -> None:
        self.world = world
        self.real = world.run.options.nvml == "real"
        self.cleanup = ExitStack()
        self.children = ExitStack()
        self._inits = 0
        if self.real:
            self.fake: Any = None
            self.module = fake_nvml.load_pynvml(None)
        else:
            name = inventory or world.run.options.inventory
            world.run.components.work.mkdir(parents=True, exist_ok=True, mode=0o700)
            folder = world.run.components.work / f"nvml{world.suffix.rpartition('-')[2]}"
            world.run.inventory(name)  # for the report
            # Not the run's copy: the fake reads it, and is the component under test here.
            self.fake = fake_nvml.Node.create(name, folder)
            self.module = world.run.pynvml_pool.load(self.fake)
            self.cleanup.callback(world.run.pynvml_pool.give_back, self.module)  # runs second, when the node is closed
            self.cleanup.callback(self.fake.close)
        world.log.emit(NvmlChanged(action="load", real=self.real, inventory=inventory or world.run.options.inventory))

    @property
    def node(self) -> Any:
        """The fake node behind the library. Raises Untestable for real GPUs, which cannot be changed like this."""
        if self.fake is None:
            raise Untestable("the GPUs of this machine cannot be changed like fake ones")
        return self.fake

    @property
    def root(self) -> Path:
        """The folder below which /dev, /proc and /sys of the library's machine are found."""
        return Path("/") if self.fake is None else Path(self.fake.driver_root)

    @property
    def library(self) -> Path:
        """The file of the library, as another process of this machine finds it."""
        if self.fake is not None:
            return Path(self.fake.driver_root) / "usr/lib64/libnvidia-ml.so.1"
        handle = self.lib  # mapped now
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
            found = [line.split()[-1] for line in file if "libnvidia-ml.so" in line]
        if handle is None or not found:
            raise Untestable("the file of this machine's NVML cannot be found")
        return Path(found[0]).parent / "libnvidia-ml.so.1"

    # -- the session -------------------------------------------------------------------------------------------

    def init(self) -> None:
        """Call nvmlInit once more. Raises Untestable if this machine has no NVML; the fake's error ends the step."""
        try:
            self.module.nvmlInit()
        except self.module.NVMLError as error:
            if not self.real:
                raise
            raise Untestable(f"nvmlInit: {error}") from error
        self._inits += 1

    @property
    def lib(self) -> Any:
        """The C functions of the library, which is loaded but not necessarily initialised."""
        # pynvml loads the library in nvmlInit.
        if self.module.nvmlLib is None:
            self.init()
            self.module.nvmlShutdown()
            self._inits -= 1
        return self.module.nvmlLib

    def call(self, function: str, *arguments: Any) -> int:
        """Call a C function and return its code; sessions that it opens or closes are counted."""
        code = int(getattr(self.lib, function)(*arguments))
        if code == OK and function.startswith("nvmlInit"):
            self._inits += 1
        elif code == OK and function == "nvmlShutdown":
            self._inits -= 1
        return code

    def error_string(self, code: Any) -> str:
        """Return the text of nvmlErrorString, which works without a session."""
        function = self.lib.nvmlErrorString
        # By default ctypes takes the result for an int, which cuts the pointer.
        function.restype = ctypes.c_char_p
        text: bytes = function(code)
        return text.decode()

    def shut_down(self) -> None:
        """Close all sessions of this scenario."""
        while self._inits:
            self._inits -= 1
            with suppress(self.module.NVMLError):
                self.module.nvmlShutdown()

    # -- devices -----------------------------------------------------------------------------------------------

    @property
    def handles(self) -> list[Any]:
        """The handles of all GPUs, by index."""
        return [self.module.nvmlDeviceGetHandleByIndex(i) for i in range(self.module.nvmlDeviceGetCount())]

    def handle(self, index: int = 0) -> Any:
        """Return the handle of a GPU. Raises Untestable if there is no such GPU."""
        if index >= self.module.nvmlDeviceGetCount():
            raise Untestable(f"there is no GPU {index}")
        return self.module.nvmlDeviceGetHandleByIndex(index)

    def outcome(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return the result of a pynvml call, or the name of the error that it raises, such as NOT_FOUND."""
        try:
            return function(*arguments)
        except self.module.NVMLError as error:
            return self.error_name(error.value)

    def error_name(self, code: int) -> str:
        """Return the name of a return code without NVML_ERROR_; the number of an unknown one."""
        return str(_error_names(self.module).get(code, code))

    # -- MIG ---------------------------------------------------------------------------------------------------

    def enable_mig(self, handle: Any) -> None:
        """Switch MIG on, without instances. Raises Untestable if the GPU cannot do that now."""
        nvml = self.module
        try:
            before = nvml.nvmlDeviceGetMigMode(handle)[0]
            if before == 1 and self.real:
                raise Untestable("MIG is on already on this GPU; its instances may be in use")
            if nvml.nvmlDeviceSetMigMode(handle, 1) not in (None, OK) or nvml.nvmlDeviceGetMigMode(handle)[0] != 1:
                raise Untestable("this GPU does not switch MIG on without a reset")
        except nvml.NVMLError as error:
            raise Untestable(f"MIG: {error}") from error
        self.cleanup.callback(self._restore_mig, handle, before)

    def _restore_mig(self, handle: Any, mode: int) -> None:
        if self.fake is not None:
            return  # the node is removed as a whole
        self.destroy_instances(handle)
        with suppress(self.module.NVMLError):
            self.module.nvmlDeviceSetMigMode(handle, mode)

    def profiles(self, handle: Any) -> dict[int, Any]:
        """Return the GPU instance profiles of a GPU by id."""
        found: dict[int, Any] = {}
        for number in range(self.module.NVML_GPU_INSTANCE_PROFILE_COUNT):
            info = self.outcome(self.module.nvmlDeviceGetGpuInstanceProfileInfo, handle, number)
            if not isinstance(info, str):
                found[info.id] = info
        return found

    def instances(self, handle: Any) -> list[Any]:
        """Return the handles of all GPU instances."""
        found: list[Any] = []
        for profile in self.profiles(handle).values():
            # A GPU has at most seven GPU instances.
            array, count = (self.module.c_nvmlGpuInstance_t * 8)(), ctypes.c_uint(0)
            if self.call("nvmlDeviceGetGpuInstances", handle, profile.id, array, ctypes.byref(count)) == OK:
                found += [array[place] for place in range(count.value)]
        return found

    def placements(self, handle: Any, profile: int) -> list[tuple[int, int]]:
        """Return the possible placements of a profile: start and size in memory slices."""
        count = ctypes.c_uint(0)
        name = "nvmlDeviceGetGpuInstancePossiblePlacements_v2"
        self.call(name, handle, profile, None, ctypes.byref(count))
        rows = (self.module.c_nvmlGpuInstancePlacement_t * max(count.value, 1))()
        self.call(name, handle, profile, rows, ctypes.byref(count))
        return [(rows[place].start, rows[place].size) for place in range(count.value)]

    def create_instance(self, handle: Any, profile: int, *, start: int | None = None) -> Any:
        """Create a GPU instance and return its handle, or the name of the error."""
        if start is None:
            return self.outcome(self.module.nvmlDeviceCreateGpuInstance, handle, profile)
        place = self.module.c_nvmlGpuInstancePlacement_t()
        place.start, place.size = start, dict(self.placements(handle, profile)).get(start, 1)
        created = self.module.c_nvmlGpuInstance_t()
        code = self.call(
            "nvmlDeviceCreateGpuInstanceWithPlacement", handle, profile, ctypes.byref(place), ctypes.byref(created)
        )
        return created if code == OK else self.error_name(code)

    def create_compute(self, instance: Any) -> Any:
        """Create a compute instance over a whole GPU instance. Raises Untestable if no profile covers it."""
        info = self.module.nvmlGpuInstanceGetInfo(instance)
        slices = self.profiles(info.device)[info.profileId].sliceCount
        for number in range(self.module.NVML_COMPUTE_INSTANCE_PROFILE_COUNT):
            found = self.outcome(self.module.nvmlGpuInstanceGetComputeInstanceProfileInfo, instance, number, 0)
            if not isinstance(found, str) and found.sliceCount == slices:
                return self.module.nvmlGpuInstanceCreateComputeInstance(instance, found.id)
        raise Untestable("no compute instance profile covers the GPU instance")

    def compute_instances(self, instance: Any) -> list[Any]:
        """Return the handles of the compute instances in a GPU instance."""
        found: list[Any] = []
        for number in range(self.module.NVML_COMPUTE_INSTANCE_PROFILE_COUNT):
            array, count = (self.module.c_nvmlComputeInstance_t * 8)(), ctypes.c_uint(0)
            if self.call("nvmlGpuInstanceGetComputeInstances", instance, number, array, ctypes.byref(count)) == OK:
                found += [array[place] for place in range(count.value)]
        return found

    def destroy_instances(self, handle: Any) -> None:
        """Destroy every instance of a GPU."""
        for instance in self.instances(handle):
            for compute in self.compute_instances(instance):
                self.outcome(self.module.nvmlComputeInstanceDestroy, compute)
            self.outcome(self.module.nvmlGpuInstanceDestroy, instance)

    def mig_devices(self, handle: Any) -> list[Any]:
        """Return the handles of a GPU's MIG devices, by index."""
        found = []
        for index in range(self.module.nvmlDeviceGetMaxMigDeviceCount(handle)):
            device = self.outcome(self.module.nvmlDeviceGetMigDeviceHandleByIndex, handle, index)
            if not isinstance(device, str):
                found.append(device)
        return found

    # -- other processes, and the end --------------------------------------------------------------------------

    def environment(self) -> dict[str, str]:
        """Return the environment in which another process loads the same library."""
        return {**os.environ, **(self.fake.env() if self.fake is not None else {})}

    def child(self, code: str, *arguments: str, environment: Mapping[str, str] | None = None) -> Child:
        """Start another process that runs Python `code`; it is killed at the end of the scenario at the latest."""
        process = Child(sys.executable, code, arguments, {**self.environment(), **(environment or {})})
        self.children.callback(process.kill)
        if not process.began:
            raise Untestable("another process does not start on this machine")
        return process

    def patience(self, *, long: bool = False) -> float:
        """Return how many seconds a process may take for an answer; `long` for one with work to do."""
        patience = self.world.run.patience
        return max(_WORK, patience) if long else patience

    def unprivileged_folder(self) -> str:
        """Open the fake node's folder to processes without privileges and return it; empty for real GPUs.

        Raises Untestable unless this process is root, which alone can start such processes.
        """
        if os.geteuid() != 0:
            raise Untestable("only root can start a process without privileges")
        if self.fake is None:
            return ""
        # Others may enter the folder and read the state, but not list or change anything.
        self.fake.directory.chmod(0o711)
        self.fake.state_path.chmod(0o644)
        return str(self.fake.directory)

    def end(self) -> None:
        """Restore what the scenario changed and release the library."""
        self.children.close()  # first: a blocked process may hold resources that the others wait for
        if self.real:  # instances are destroyed while the library is still initialised
            self.cleanup.close()
        self.shut_down()
        self.cleanup.close()
