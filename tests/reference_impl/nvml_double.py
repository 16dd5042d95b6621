"""A module with pynvml's names over plain data: for the answers of NVML that no inventory gives.

The fake library is what integration tests use; this double is for single return codes and shapes.
"""

from __future__ import annotations

import ctypes
import queue
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any

import pynvml


@dataclass(slots=True)
class Card:
    """One GPU of the double. `errors` maps a function name to the return code that it answers with."""

    minor: int
    uuid: str
    name: str = "NVIDIA H100 80GB HBM3"
    memory: int = 80 << 30
    bus_id: str = ""
    mig: bool = False
    migs: dict[int, SimpleNamespace] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:
        """The pointer that NVML would return for this GPU."""
        return ctypes.c_void_p(id(self))


def mig_card(parent: int, index: int, *, profile: str, profile_id: int, start: int, size: int) -> SimpleNamespace:
    """One MIG device of a card: GPU instance `index`, compute instance 0."""
    return SimpleNamespace(
        uuid=f"MIG-{parent}-{index}",
        name=f"NVIDIA H100 80GB HBM3 MIG {profile}",
        gi=index,
        ci=0,
        profile=profile,
        profile_id=profile_id,
        start=start,
        size=size,
    )


class NvmlDouble(ModuleType):
    """The module; `cards` may change between calls, `events` feeds nvmlEventSetWait_v2."""

    def __init__(self, cards: list[Card], *, driver_version: str = "550.163.01") -> None:
        super().__init__("nvml_double")
        self.cards = cards
        self.driver_version = driver_version
        self.initialised = 0
        self.events: queue.Queue[SimpleNamespace | int] = queue.Queue()
        for name in dir(pynvml):
            if name.startswith(("NVML_", "nvmlEventType")) or name == "NVMLError":
                setattr(self, name, getattr(pynvml, name))

    def error(self, code: int) -> Exception:
        return pynvml.NVMLError(code)  # type: ignore[no-any-return]

    # -- the library -----------------------------------------------------------------------------------------------

    def nvmlInit(self) -> None:  # noqa: N802
        self.initialised += 1

    def nvmlShutdown(self) -> None:  # noqa: N802
        self.initialised -= 1

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Every query of a card."""
        answer = _ANSWERS.get(name)
        if answer is None:
            raise AttributeError(name)

        def call(subject: Any = None, *arguments: Any) -> Any:
            if isinstance(subject, Card) and name in subject.errors:
                raise self.error(subject.errors[name])
            return answer(self, subject, *arguments)

        return call


def _mig_handle(module: NvmlDouble, card: Card, index: int) -> Any:
    if index not in card.migs:
        raise module.error(pynvml.NVML_ERROR_NOT_FOUND)
    return card.migs[index]


def _profile(module: NvmlDouble, card: Card, index: int) -> Any:
    migs = list(card.migs.values())
    if index >= len(migs):
        raise module.error(pynvml.NVML_ERROR_NOT_SUPPORTED)
    mig = migs[index]
    return SimpleNamespace(
        id=mig.profile_id,
        name=f"MIG {mig.profile}",
        memorySizeMB=9728 * mig.size,
        multiprocessorCount=16,
        copyEngineCount=1,
        decoderCount=1,
        encoderCount=0,
        jpegCount=1,
        ofaCount=0,
    )


def _event(module: NvmlDouble, _set: Any, timeout_ms: int) -> Any:
    try:
        found = module.events.get(timeout=timeout_ms / 1000)
    except queue.Empty:
        raise module.error(pynvml.NVML_ERROR_TIMEOUT) from None
    if isinstance(found, int):
        raise module.error(found)
    return found


_ANSWERS: dict[str, Callable[..., Any]] = {
    "nvmlSystemGetDriverVersion": lambda m, _: m.driver_version,
    "nvmlSystemGetCudaDriverVersion": lambda m, _: 12040,
    "nvmlDeviceGetCount": lambda m, _: len(m.cards),
    "nvmlDeviceGetHandleByIndex": lambda m, index: m.cards[index],
    "nvmlDeviceGetMinorNumber": lambda m, c: c.minor,
    "nvmlDeviceGetUUID": lambda m, c: c.uuid,
    "nvmlDeviceGetName": lambda m, c: c.name,
    "nvmlDeviceGetBrand": lambda m, c: pynvml.NVML_BRAND_NVIDIA,
    "nvmlDeviceGetArchitecture": lambda m, c: pynvml.NVML_DEVICE_ARCH_HOPPER,
    "nvmlDeviceGetCudaComputeCapability": lambda m, c: (9, 0),
    "nvmlDeviceGetMemoryInfo": lambda m, c: SimpleNamespace(total=c.memory),
    "nvmlDeviceGetPciInfo": lambda m, c: SimpleNamespace(busId=c.bus_id or f"00000000:1{c.minor:X}:00.0"),
    "nvmlDeviceGetAddressingMode": lambda m, c: 1,
    "nvmlDeviceGetMigMode": lambda m, c: [int(c.mig), int(c.mig)],
    "nvmlDeviceGetMaxMigDeviceCount": lambda m, c: 7,
    "nvmlDeviceGetMigDeviceHandleByIndex": _mig_handle,
    "nvmlDeviceGetGpuInstanceId": lambda m, mig: mig.gi,
    "nvmlDeviceGetComputeInstanceId": lambda m, mig: mig.ci,
    "nvmlDeviceGetGpuInstanceById": lambda m, c, gi: next(mig for mig in c.migs.values() if mig.gi == gi),
    "nvmlGpuInstanceGetInfo": lambda m, mig: SimpleNamespace(
        profileId=mig.profile_id, placement=SimpleNamespace(start=mig.start, size=mig.size)
    ),
    "nvmlDeviceGetGpuInstanceProfileInfo": _profile,
    "nvmlEventSetCreate": lambda m, _: object(),
    "nvmlEventSetFree": lambda m, _: None,
    "nvmlDeviceRegisterEvents": lambda m, c, mask, events: None,
    "nvmlEventSetWait_v2": _event,
}
