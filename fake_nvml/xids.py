"""Effects of an XID on a GPU, besides the event.

The catalogue is NVIDIA's (docs.nvidia.com/deploy/xid-errors); counters move in the same transaction as the event,
as a driver would have done by the time it reports. XIDs that are not listed have no effect and are
reported as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

EVENT_DOUBLE_BIT_ECC: Final = 0x2
EVENT_XID: Final = 0x8

#: Beside the type of an event of the system, as in src/events/event_sets.h: both kinds have the same small numbers.
SYSTEM_EVENT: Final = 1 << 62
SYSTEM_EVENT_UNBIND: Final = 1
SYSTEM_EVENT_BIND: Final = 2


@dataclass(frozen=True, slots=True)
class Effects:
    """Fields that are added to, fields that are set, and whether a double-bit event comes with it."""

    add: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    set: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    double_bit_ecc: bool = False


_UNCORRECTED_DRAM = {"ecc_uncorrected_volatile_dram": 1, "ecc_uncorrected_aggregate_dram": 1}
_UNCORRECTED_SRAM = {"ecc_uncorrected_volatile_sram": 1, "ecc_uncorrected_aggregate_sram": 1}

_EFFECTS: Final[Mapping[int, Effects]] = MappingProxyType(
    {
        48: Effects(
            add={**_UNCORRECTED_DRAM, "remapped_rows_uncorrected": 1},
            set={"remapped_rows_pending": 1},
            double_bit_ecc=True,
        ),
        63: Effects(add={"remapped_rows_uncorrected": 1}, set={"remapped_rows_pending": 1}),
        64: Effects(set={"remapped_rows_failure": 1}),
        79: Effects(set={"is_lost": 1}),
        92: Effects(add={"ecc_corrected_volatile_dram": 1, "ecc_corrected_aggregate_dram": 1}),
        94: Effects(add=_UNCORRECTED_SRAM),
        95: Effects(add=_UNCORRECTED_SRAM, set={"recovery_action": 1}),
        154: Effects(set={"recovery_action": 1}),
    }
)


def effects_of(xid: int) -> Effects:
    """The coupled changes of an XID; none for an unknown one."""
    return _EFFECTS.get(xid, Effects())
