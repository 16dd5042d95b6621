"""Faults in the simulated nvidia-imex, in the fake nodes of machines, and in the mounted files of PCI drivers."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from dra_conformance.engine.mutation import Patch, mutant


@mutant("imex-lost-peer-stays-connected", rule="NVML-091")
def _(patch: Patch) -> None:
    """A peer that was connected once is shown as connected."""

    def received(original: Callable[..., Any]) -> Callable[..., Any]:
        def read(address: str, port: int, timeout: float) -> tuple[bytes, bytes]:
            line, rest = original(address, port, timeout)
            return line, rest.replace(b'"lost"', b'"connected"')

        return read

    patch.wrap("fake_nvml.imex:_received", received)


@mutant("imex-control-ignores-quorum", rule="NVML-091")
def _(patch: Patch) -> None:
    """The control command prints READY whatever the daemon answers."""
    patch.wrap(
        "fake_nvml.imex:_received",
        lambda original: lambda address, port, timeout: (b"READY", original(address, port, timeout)[1]),
    )


@mutant("imex-last-line-of-hosts-counts", rule="NVML-091")
def _(patch: Patch) -> None:
    """A name with several addresses has the last of them."""

    def resolve(original: Callable[..., dict[str, str]]) -> Callable[..., dict[str, str]]:
        def last(names: Any, environment: Any) -> dict[str, str]:
            found = original(names, environment)
            return {name: "10.0.0.2" if address == "10.0.0.1" else address for name, address in found.items()}

        return last

    patch.wrap("fake_nvml.imex:resolve", resolve)


@mutant("machine-node-made-at-each-start", rule="NVML-092")
def _(patch: Patch) -> None:
    """The fake node of a machine is made again although its inventory is the same."""

    def provision(original: Callable[..., bool]) -> Callable[..., bool]:
        def again(directory: Any, *, machine: str, inventories: Any) -> bool:
            record = directory.with_name(f"{directory.name}.inventory")
            record.unlink(missing_ok=True)
            return original(directory, machine=machine, inventories=inventories)

        return again

    patch.wrap("fake_nvml.provision:provision", provision)


@mutant("machine-without-inventory-of-its-own", rule="NVML-092")
def _(patch: Patch) -> None:
    """Every machine has the default inventory."""
    patch.wrap(
        "fake_nvml.provision:_source", lambda original: lambda inventories, machine: original(inventories, "default")
    )


@mutant("machine-inventory-by-name-only", rule="NVML-092")
def _(patch: Patch) -> None:
    """A file with an inventory is taken for the name of a shipped one."""
    patch.wrap(
        "fake_nvml.provision:_inventory",
        lambda original: lambda source, text: original(source, "t4" if "gpus" in text else text),
    )


@mutant("refused-bind-succeeds-for-program", rule="NVML-089")
def _(patch: Patch) -> None:
    """A write to a mounted bind file returns success although the kernel refuses it."""

    def answer(original: Callable[..., bytes]) -> Callable[..., bytes]:
        def accepted(opcode: int, body: bytes, file: Any) -> bytes:
            try:
                return original(opcode, body, file)
            except OSError:
                return bytes(8) if opcode != 16 else struct.pack("<II", struct.unpack_from("<QQI", body)[2], 0)

        return accepted

    patch.wrap("fake_nvml.bind_files:BindFiles._answer", answer)
