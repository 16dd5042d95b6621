"""Faults in the control of the fake NVML: errors about mistakes in its files, fault rules, PCI drivers and nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dra_conformance.engine.mutation import Patch, mutant
from fake_nvml.errors import FakeNvmlError, InventoryError


@mutant("errors-without-line", rule="NVML-079")
def _(patch: Patch) -> None:
    """The error about a mistake in a file names the key only."""
    patch.replace(
        "fake_nvml.documents:Document.error",
        lambda self, where, message: InventoryError(f"{self.path}: {'.'.join(map(str, where))}: {message}"),
    )


@mutant("unknown-keys-accepted", rule="NVML-079")
def _(patch: Patch) -> None:
    """A key that means nothing is ignored."""
    patch.replace("fake_nvml.documents:Document.known", lambda self, where, value, allowed: None)


@mutant("duplicate-identity-blames-first-gpu", rule="NVML-079")
def _(patch: Patch) -> None:
    """The error about an identity of two GPUs names the first of them."""

    def unique(original: Callable[..., None]) -> Callable[..., None]:
        def check(document: Any, gpus: Any) -> None:
            try:
                original(document, gpus)
            except InventoryError as error:
                raise document.error(("gpus", 0), str(error).rpartition(": ")[2]) from error

        return check

    patch.wrap("fake_nvml.inventory:_unique", unique)


@mutant("refused-change-names-no-field", rule="NVML-079")
def _(patch: Patch) -> None:
    """The error about a change that a GPU cannot have does not name the field."""

    def objection(original: Callable[..., str | None]) -> Callable[..., str | None]:
        def object_to(state: Any, index: int, field: str) -> str | None:
            if original(state, index, field) is not None:
                raise FakeNvmlError("this change is impossible")
            return None

        return object_to

    patch.wrap("fake_nvml.node:objection", objection)


@mutant("fault-on-calls-of-all-gpus", rule="NVML-077")
def _(patch: Patch) -> None:
    """A fault rule for one GPU acts on the calls of all GPUs."""
    patch.source("calls/faults.c", "        if (rule->gpu >= 0 && rule->gpu != gpu) continue;", "        (void)gpu;")


@mutant("fault-from-the-first-call", rule="NVML-077")
def _(patch: Patch) -> None:
    """A fault rule lets no call through first."""
    patch.wrap(
        "fake_nvml.faults:arm", lambda original: lambda state, rule, gpu: original(state, replace(rule, after=0), gpu)
    )


@mutant("fault-seed-ignored", rule="NVML-077")
def _(patch: Patch) -> None:
    """Fault rules with different seeds act on the same calls."""
    patch.source("calls/faults.c", "draw(rule->seed, rule->seen)", "draw(0, rule->seen)")


@mutant("cleared-faults-stay", rule="NVML-077")
def _(patch: Patch) -> None:
    """Fault rules act although they were cleared."""
    patch.replace("fake_nvml.faults:clear", lambda state, number: None)


@mutant("fault-without-delay", rule="NVML-077")
def _(patch: Patch) -> None:
    """A call that a fault rule delays returns at once."""
    patch.source("calls/faults.c", "        if (rule->delay_ms != 0) sleep_ms(rule->delay_ms);", "")


@mutant("bind-without-override", rule="NVML-089")
def _(patch: Patch) -> None:
    """A device is bound to the driver whose file was written, whatever its driver_override is."""

    def bind(original: Callable[..., None]) -> Callable[..., None]:
        def forced(driver: Any, device: Any, address: str) -> None:
            (device / "driver_override").write_text(driver.name)
            original(driver, device, address)

        return forced

    patch.wrap("fake_nvml.pci_kernel:_bind", bind)


@mutant("vfio-file-left-behind", rule="NVML-089")
def _(patch: Patch) -> None:
    """The file of an IOMMU group stays when vfio-pci loses the GPU."""

    def unbind(driver: Any, device: Any, address: str) -> None:
        (driver / address).unlink()
        (device / "driver").unlink()

    patch.replace("fake_nvml.pci_kernel:_unbind", unbind)


@mutant("identities-of-all-nodes", rule="NVML-090")
def _(patch: Patch) -> None:
    """GPUs have the same UUIDs in every node."""
    patch.wrap("fake_nvml.state:gpu_uuid", lambda original: lambda node, index: original("node", index))


@mutant("variables-without-folder-of-library", rule="NVML-090")
def _(patch: Patch) -> None:
    """The environment of a node does not lead to its library."""
    patch.wrap(
        "fake_nvml.node:Node.env",
        lambda original: lambda self: {"FAKE_NVML_STATE": original(self)["FAKE_NVML_STATE"]},
    )


@mutant("variables-without-state", rule="NVML-090")
def _(patch: Patch) -> None:
    """The environment of a node does not name its state."""
    patch.wrap(
        "fake_nvml.node:Node.env",
        lambda original: lambda self: {"LD_LIBRARY_PATH": original(self)["LD_LIBRARY_PATH"]},
    )


@mutant("damaged-node-without-reason", rule="NVML-090")
def _(patch: Patch) -> None:
    """The error about a state file of another version does not say that it is."""
    patch.replace("fake_nvml.state:_unreadable", lambda path: "it cannot be used")


@mutant("call-log-is-never-stopped", rule="NVML-090")
def _(patch: Patch) -> None:
    """Calls are logged until the node ends."""
    patch.wrap("fake_nvml.node:Node.log_calls", lambda original: lambda self, on=True: original(self) if on else None)
