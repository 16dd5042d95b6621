"""Whether a device satisfies a request: selectors, taints and capacity. Pure functions.

Amounts are integers in billionths, exact for every quantity that the API stores.

Source: KEP-4381 (selectors), KEP-5055 (taints), KEP-5075 (capacity); rules DRA-158 to DRA-164, DRA-201 to DRA-208,
DRA-213 to DRA-219.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dra_api.quantity import Format, Quantity
from dra_conformance.oracle.pools import PoolDevice
from dra_conformance.oracle.schema import Capacity, DeviceClass, ExactDeviceRequest, Selector, Taint, Toleration


def amount(quantity: Quantity) -> int:
    """Return a quantity in billionths."""
    return quantity.scaled_value(-9)


# -- selectors -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RefusingSelector:
    """A selector that does not select a device. `class_name` is empty for a selector of the request.

    `error` is the reason if the selector cannot be evaluated; `expression` is empty for an unknown type of selector.
    """

    class_name: str
    number: int
    expression: str
    error: str = ""

    def __str__(self) -> str:
        who = f"selector #{self.number} of {f'class {self.class_name}' if self.class_name else 'the request'}"
        if not self.expression:
            return f"{who} {self.error}"
        return f"{who} fails: {self.error}" if self.error else f"{who} is false: {self.expression}"


def refusing_selector(
    pool_device: PoolDevice, request: ExactDeviceRequest, device_class: DeviceClass
) -> RefusingSelector | None:
    """Return the first selector of class and request that does not select a device; None if all are true."""
    return _first_refusal(pool_device, device_class.spec.selectors, device_class.metadata.name) or _first_refusal(
        pool_device, request.selectors, ""
    )


def unselected(pool_device: PoolDevice, request: ExactDeviceRequest, device_class: DeviceClass) -> tuple[str, bool]:
    """Return why the selectors of class and request do not select a device, and whether evaluating one failed.

    The reason is empty if all selectors are true.
    """
    found = refusing_selector(pool_device, request, device_class)
    return (str(found), bool(found.error)) if found else ("", False)


def class_selects(device_class: DeviceClass, pool_device: PoolDevice) -> bool:
    """Whether the selectors of a class select a device; one whose evaluation fails does not."""
    return _first_refusal(pool_device, device_class.spec.selectors, device_class.metadata.name) is None


def _first_refusal(pool_device: PoolDevice, selectors: Iterable[Selector], class_name: str) -> RefusingSelector | None:
    for number, selector in enumerate(selectors):
        if selector.cel is None:
            return RefusingSelector(class_name, number, "", "has an unknown type")
        matches = pool_device.matches(selector.cel.expression)
        if matches is not True:
            error = matches if isinstance(matches, str) else ""
            return RefusingSelector(class_name, number, selector.cel.expression, error)
    return None


# -- taints --------------------------------------------------------------------------------------------------------


def untolerated(pool_device: PoolDevice, request: ExactDeviceRequest) -> list[Taint]:
    """Return the taints that the request does not tolerate (DRA-213 to DRA-219)."""
    return [
        taint
        for taint in pool_device.taints
        if taint.effect in ("NoSchedule", "NoExecute") and not any(tolerates(one, taint) for one in request.tolerations)
    ]


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Whether a toleration covers a taint (DRA-217, DRA-218)."""
    # An empty effect or key matches every taint.
    if toleration.effect not in ("", taint.effect) or toleration.key not in ("", taint.key):
        return False
    if toleration.operator == "Exists":
        return True
    return toleration.operator in ("", "Equal") and toleration.value == taint.value


# -- capacity ------------------------------------------------------------------------------------------------------


def qualified(name: str, driver: str) -> str:
    """Return a name with its domain, which is the driver name by default."""
    return name if "/" in name else f"{driver}/{name}"


def requested_capacity(pool_device: PoolDevice, request: ExactDeviceRequest) -> dict[str, int]:
    """Return the requested amount of each capacity in billionths, by qualified name."""
    return {qualified(name, pool_device.driver): amount(value) for name, value in request.capacity.requests.items()}


def too_small(pool_device: PoolDevice, request: ExactDeviceRequest, *, shared: bool) -> tuple[str, str]:
    """Return the rule and the reason why a device could never serve a request's capacity; empty texts if it could."""
    # Names with and without the driver's domain are the same capacity.
    offered = {qualified(name, pool_device.driver): found for name, found in pool_device.device.capacity.items()}
    requested = requested_capacity(pool_device, request)
    for name, value in requested.items():
        if name not in offered:
            return "DRA-207", f"has no capacity {name}, which is requested"
        if not shared and value > amount(offered[name].value):
            return "DRA-208", f"has {offered[name].value} of {name}, less than requested"
    if not shared:
        return "", ""
    for name, capacity in offered.items():
        taken = consumption(capacity, requested.get(name))
        if (rule := _policy_broken(capacity, taken)) or taken > amount(capacity.value):
            return rule or "DRA-212", f"cannot provide {show(taken)} of {name} (value {capacity.value})"
    return "", ""


def consumption(capacity: Capacity, requested: int | None) -> int:
    """Return what a request consumes of a shared device's capacity, in billionths (DRA-202 to DRA-204, DRA-206).

    `requested` is None if the request does not name the capacity.
    """
    policy = capacity.request_policy
    if requested is None:
        return amount(policy.default if policy and policy.default is not None else capacity.value)
    if policy and (valid := policy.valid_range):
        least = amount(valid.min)
        step = amount(valid.step) if valid.step is not None else 0
        over = requested - least
        return least if over <= 0 else requested if step <= 0 else least + (over + step - 1) // step * step
    if policy and policy.valid_values:
        return min((value for value in map(amount, policy.valid_values) if value >= requested), default=requested)
    return requested


def _policy_broken(capacity: Capacity, taken: int) -> str:
    """Return the rule by which a policy forbids an amount; its default is always allowed."""
    policy = capacity.request_policy
    if policy is None or (policy.default is not None and taken == amount(policy.default)):
        return ""
    if policy.valid_range is not None:
        most = policy.valid_range.max
        return "DRA-205" if most is not None and taken > amount(most) else ""
    if policy.valid_values:
        return "" if taken in map(amount, policy.valid_values) else "DRA-206"
    return ""


def fractional(capacity: Capacity) -> bool:
    """Whether a range has bounds or a step below one unit, which releases before 1.37 round differently."""
    valid = capacity.request_policy.valid_range if capacity.request_policy else None
    bounds = (valid.min, valid.max, valid.step) if valid else ()
    return any(bound is not None and amount(bound) % 10**9 for bound in bounds)


def show(billionths: int | None) -> str:
    """Return an amount as text for messages: 80Gi, 7, 250m."""
    if billionths is None:
        return "nothing"
    whole, rest = divmod(billionths, 10**9)
    if rest:
        return str(Quantity(billionths, scale=-9))
    return str(Quantity(whole, format=Format.BINARY_SI if whole % 1024 == 0 else Format.DECIMAL_SI))
