"""Consumable capacity (KEP-5075): what a request takes from a device that several may share, and whether it fits.

Pure functions. Amounts are integers in billionths.

Source: k8s.io/dynamic-resource-allocation/structured/internal/incubating/consumable_capacity.go (v0.36); rules DRA-201
to DRA-212.
"""

from __future__ import annotations

from dra_api.objects import Obj
from dra_api.quantity import Quantity
from reference_impl.scheduler.allocator.model import Capacity, Device, SubRequest, amount, qualified


def shareable(device: Device, *, enabled: bool) -> bool:
    """Return whether several results may name `device` (never "in use", only used up)."""
    return enabled and device.allow_multiple


def acceptable(device: Device, request: SubRequest, *, shared: bool) -> bool:
    """Return whether the total capacities of the device can satisfy the request (DRA-205 to DRA-208)."""
    wanted = {qualified(name, device.id.driver): quantity for name, quantity in request.capacity}
    for name, quantity in wanted.items():
        capacity = device.capacity.get(name)
        if capacity is None:
            return False
        # A device that is not shared is allocated as a whole: its capacity only has to suffice.
        if not shared and quantity > capacity.value:
            return False
    if not shared:
        return True
    for name, capacity in device.capacity.items():
        consumed = consumption(capacity, wanted.get(name))
        # A negative share would leave more for others than the device has (DRA-205c).
        if consumed.sign < 0 or consumed > capacity.value or violates(capacity, consumed):
            return False
    return True


def consumption(capacity: Capacity, requested: Quantity | None) -> Quantity:
    """Return the consumption of one capacity for a request of `requested` (None: not in the request) (DRA-202 to
    DRA-204).
    """
    policy = capacity.policy or {}
    if requested is None:
        return Quantity.parse(str(policy["default"])) if policy.get("default") is not None else capacity.value
    if policy.get("validRange"):
        return round_up_to_range(requested, policy["validRange"])
    if policy.get("validValues"):
        return round_up_to_value(requested, policy["validValues"])
    return requested


def round_up_to_range(requested: Quantity, valid: Obj) -> Quantity:
    """Return the smallest min + k × step that is not below `requested`."""
    minimum = Quantity.parse(str(valid["min"]))
    if requested <= minimum:
        return minimum
    if valid.get("step") is None:
        return requested
    base, step = amount(minimum), amount(valid["step"])
    # Division that rounds up.
    steps = -(-(requested.scaled_value(-9) - base) // step)
    return Quantity(base + steps * step, scale=-9, format=requested.format)


def round_up_to_value(requested: Quantity, valid: list[object]) -> Quantity:
    """Return the smallest valid value that is not below `requested`; above all of them, `requested` itself."""
    candidates = [value for value in (Quantity.parse(str(text)) for text in valid) if value >= requested]
    return min(candidates, default=requested)


def violates(capacity: Capacity, consumed: Quantity) -> bool:
    """Return whether `consumed` breaks the capacity's policy; the default never does."""
    policy = capacity.policy or {}
    if policy.get("default") is not None and consumed == Quantity.parse(str(policy["default"])):
        return False
    if valid := policy.get("validRange"):
        maximum = valid.get("max")
        return maximum is not None and consumed > Quantity.parse(str(maximum))
    if values := policy.get("validValues"):
        return all(consumed != Quantity.parse(str(value)) for value in values)
    return False


def consumed_by(device: Device, request: SubRequest) -> dict[str, Quantity]:
    """Return the consumption of every capacity by a shared device's result, by the names that the slice uses."""
    wanted = {qualified(name, device.id.driver): quantity for name, quantity in request.capacity}
    return {capacity.name: consumption(capacity, wanted.get(name)) for name, capacity in device.capacity.items()}
