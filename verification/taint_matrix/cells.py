"""The dimensions of the matrix, and its cells. Pure data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from typing import Any

EXTENDED = "extended resource"
GROUP = "PodGroup"
SLICE = "slice"
NO_SELECTOR = "rule without selector"

DIMENSIONS: Mapping[str, tuple[Any, ...]] = {
    "source": (
        SLICE,
        "rule for driver",
        "rule for driver, pool",
        "rule for pool",
        "rule for driver, pool, device",
        "rule for device",
        NO_SELECTOR,
    ),
    "effect": ("NoExecute", "NoSchedule", "None"),
    "value": ("bad", ""),
    "since": ("now", "2020"),
    "users": ("1", "2", EXTENDED),
    "operator": ("no toleration", "Exists", "Equal"),
    "key": ("health", "lease", ""),
    "tolerated_value": ("", "bad", "fair"),
    "tolerated_effect": ("NoExecute", "NoSchedule", ""),
    "seconds": (None, -5, 0, 30, 3600),
    "beside": (
        "",
        "health=fair:NoExecute",
        "health=bad:NoSchedule",
        "lease=bad:NoExecute",
        "health=bad:None",
    ),
    "other": (
        "",
        "{key: health, operator: Exists, effect: NoExecute}",
        "{key: health, operator: Exists, effect: NoExecute, tolerationSeconds: 3600}",
        "{key: lease, operator: Equal, value: bad}",
    ),
}
"""The values of each dimension. `beside` is a second taint of the device, in its slice; `other` a second toleration."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell: a value of each dimension."""

    source: str
    effect: str
    value: str
    since: str
    users: str
    operator: str
    key: str
    tolerated_value: str
    tolerated_effect: str
    seconds: int | None
    beside: str
    other: str

    @property
    def values(self) -> tuple[Any, ...]:
        """The values in the order of the dimensions."""
        return astuple(self)

    @property
    def taint(self) -> str:
        """The taint as steps write it."""
        return f"health{'=' if self.value else ''}{self.value}:{self.effect}"

    @property
    def tolerations(self) -> str:
        """The tolerations as YAML; empty if there is none."""
        first = ""
        if self.operator != "no toleration":
            named = {
                "key": self.key,
                "operator": self.operator,
                "value": self.tolerated_value,
                "effect": self.tolerated_effect,
                "tolerationSeconds": self.seconds,
            }
            first = ", ".join(f"{name}: {value}" for name, value in named.items() if value not in ("", None))
        several = ", ".join(filter(None, (first and f"{{{first}}}", self.other)))
        return several and f"[{several}]"


NAMES = tuple(one.name for one in fields(Cell))


def is_possible(given: Mapping[str, Any]) -> bool:
    """Return whether a cell can have these values, of some or all dimensions; equal cells count once.

    The API server refuses operator Exists with a value. Pods cannot tolerate taints of extended resources. A time of
    the taint and tolerationSeconds matter for NoExecute only.
    """

    def has(name: str, *values: Any) -> bool:
        return name not in given or given[name] in values

    if given.get("users") == EXTENDED and not (has("operator", "no toleration") and has("other", "")):
        return False
    if given.get("operator") == "no toleration" and not (
        has("key", "health")
        and has("tolerated_value", "")
        and has("tolerated_effect", "NoExecute")
        and has("seconds", None)
        and has("other", "")
    ):
        return False
    if given.get("operator") == "Exists" and not has("tolerated_value", ""):
        return False
    if given.get("seconds") is not None and not has("tolerated_effect", "NoExecute"):
        return False
    return not (given.get("since") == "2020" and not has("effect", "NoExecute"))


def cells(*, only: Mapping[str, tuple[Any, ...]] | None = None) -> Iterator[Cell]:
    """Yield all cells in a fixed order; `only` replaces the values of dimensions."""
    dimensions = {**DIMENSIONS, **(only or {})}

    def extended(chosen: dict[str, Any], names: Sequence[str]) -> Iterator[Cell]:
        if not names:
            yield Cell(**chosen)
            return
        name, *rest = names
        for value in dimensions[name]:
            more = {**chosen, name: value}
            if is_possible(more):
                yield from extended(more, rest)

    yield from extended({}, NAMES)


SINGLE: Mapping[str, tuple[Any, ...]] = {"beside": ("",), "other": ("",)}
"""The cells with one taint and at most one toleration."""

GROUPS: Mapping[str, tuple[Any, ...]] = {
    **DIMENSIONS,
    **SINGLE,
    "source": (SLICE, "rule for driver, pool", "rule for device"),
    "value": ("bad",),
    "since": ("now",),
    "users": (GROUP,),
    "operator": ("no toleration", "Exists"),
    "key": ("health", "lease"),
    "tolerated_effect": ("NoExecute", ""),
    "seconds": (None, 0, 30),
}
"""Values for the pods of a PodGroup, which need other feature gates than the rest of the matrix."""

_EVICTING: Mapping[str, tuple[Any, ...]] = {
    "source": (SLICE,),
    "effect": ("NoExecute",),
    "value": ("bad",),
    "since": ("now",),
    "users": ("1",),
    "operator": ("Exists", "Equal"),
}
DENSE: tuple[Mapping[str, tuple[Any, ...]], ...] = (
    {**_EVICTING, **SINGLE, "seconds": (None,), "tolerated_effect": ("NoExecute", "NoSchedule")},
    {
        **_EVICTING,
        "key": ("health", "lease"),
        "tolerated_value": ("", "bad"),
        "tolerated_effect": ("NoExecute",),
        "seconds": (None,),
        "beside": ("health=fair:NoExecute", "lease=bad:NoExecute"),
        "other": ("",),
    },
    {
        **_EVICTING,
        **SINGLE,
        "source": (SLICE, "rule for driver"),
        "since": ("2020",),
        "operator": ("Exists",),
        "key": ("health",),
        "tolerated_effect": ("NoExecute",),
        "seconds": (None, 30, 3600),
    },
)
"""Parts of the matrix with all their cells: one NoExecute taint with every toleration, two with some, one of long ago.

Whether a value is compared shows only in cells with certain values in six dimensions, which pairs do not guarantee.
"""
