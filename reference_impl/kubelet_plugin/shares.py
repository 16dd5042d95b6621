"""Devices that several claims share: their fields in a slice.

The API server and the scheduler count shares and memory; nothing on the node enforces them. With `memory-and-cores` the
plugin also refuses a share beyond what is left of the device, and gives containers their limits
(`reference_impl.kubelet_plugin.limiter`).

Source: KEP-5075 (consumable capacity); cmd/gpu-kubelet-plugin consumable_shares.go at 95932046; Project-HAMi/
k8s-dra-driver at ebeaad9 for cores; rules NV-010, NV-011, NV-043 to NV-045, NV-065 to NV-067, HAMI-001 to HAMI-003.
"""

from __future__ import annotations

from dataclasses import dataclass

from dra_api.objects import Obj
from dra_api.quantity import Quantity
from reference_impl.kubelet_plugin.options import OptionError
from reference_impl.kubelet_plugin.partitions import MEBI, binary_quantity

WORDS = ("disabled", "unlimited", "memory", "memory-and-cores")
CORES = 100


@dataclass(frozen=True, slots=True)
class ShareMode:
    """The mode of sharing: one of WORDS, or `count` shares for each device."""

    word: str = "disabled"
    count: int = 0

    @classmethod
    def parse(cls, text: str) -> ShareMode:
        """Read the value of --consumable-shares. Raises OptionError (rule NV-011)."""
        if text in WORDS:
            return cls(text)
        if text.isdecimal() and int(text) > 0:
            return cls("count", int(text))
        raise OptionError(f"--consumable-shares {text!r}: choose {', '.join(WORDS)} or a number from 1 on")

    @property
    def enabled(self) -> bool:
        """Return whether devices are shared at all."""
        return self.word != "disabled"

    @property
    def limited(self) -> bool:
        """Return whether a share has limits on the node: HAMi's mode."""
        return self.word == "memory-and-cores"

    def entry(self, device: Obj) -> Obj:
        """Return a device of a slice that may be allocated more than once (rules NV-043 to NV-045)."""
        if not self.enabled:
            return device
        capacity: Obj = {**(device.get("capacity") or {})}
        if "memory" in capacity:
            total = binary_quantity(int(Quantity.parse(str(capacity["memory"]["value"])).value) // MEBI * MEBI)
            whole = self.word == "memory" or self.limited
            capacity["memory"] = {
                "value": total,
                "requestPolicy": {
                    "default": total if whole else "0",
                    "validRange": {"min": "1Mi" if whole else "0", "max": total, "step": "1Mi"},
                },
            }
        if self.word == "count":
            capacity["shares"] = _counted(self.count, default=1, least=1)
        if self.limited:
            capacity["cores"] = _counted(CORES, default=CORES, least=0)
        return {**device, "allowMultipleAllocations": True, "capacity": capacity}


def _counted(total: int, *, default: int, least: int) -> Obj:
    return {
        "value": str(total),
        "requestPolicy": {
            "default": str(default),
            "validRange": {"min": str(least), "max": str(total), "step": "1"},
        },
    }
