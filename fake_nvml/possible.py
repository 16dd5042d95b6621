"""Checks of a GPU's values: contradictions between them, and identities that another GPU of the node has.

They run before an inventory becomes a node and before a changed field is committed. They change nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

#: Reads one field of a GPU; a text where the GPU does not support it.
Read = Callable[[str], int | str]

#: What each GPU of a node has for itself alone.
OWN: Final = ("uuid", "minor_number")

#: The fields before are together never more than the one after.
_AT_MOST: Final[tuple[tuple[tuple[str, ...], str], ...]] = (
    (("memory_used", "memory_reserved"), "memory_total"),
    (("bar1_used",), "bar1_total"),
    (("power_limit",), "power_limit_max"),
    (("power_limit_min",), "power_limit"),
    (("pcie_width",), "pcie_width_max"),
    (("pcie_generation",), "pcie_generation_max"),
)


def contradiction(read: Read, fields: Sequence[str] | None = None) -> tuple[str, str] | None:
    """Return the first field that contradicts the GPU's other fields, and the reason.

    Args:
        read: returns the GPU's values.
        fields: only contradictions of these; None: all.
    """
    for parts, whole in _AT_MOST:
        named = [name for name in (*parts, whole) if fields is None or name in fields]
        top, numbers = read(whole), {name: read(name) for name in parts}
        known = {name: number for name, number in numbers.items() if isinstance(number, int)}
        if not named or not isinstance(top, int) or parts[0] not in known or sum(known.values()) <= top:
            continue
        if parts[0] == "memory_used":
            return named[0], f"{sum(known.values())} bytes of a GPU that has {top} (used and reserved)"
        return named[0], f"{parts[0]} {known[parts[0]]} is above {whole} {top}"
    return None


def shared(gpus: Sequence[Read], index: int, field: str) -> int | None:
    """Return another GPU with GPU `index`'s value of `field`, one of `OWN`; None if there is none."""
    value = gpus[index](field)
    return next((other for other, read in enumerate(gpus) if other != index and read(field) == value), None)
