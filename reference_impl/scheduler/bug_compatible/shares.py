"""The consumption of shared devices as releases compute it: `negative-shares`, `ranges-in-64-bits`.

Source: structured/internal/experimental/consumable_capacity.go, v0.36.2: CmpRequestOverCapacity, roundUpRange,
violateValidRange. A range with steps is computed with Quantity.Value(): fractions are rounded up, and integers beyond
int64 wrap around.
"""

from __future__ import annotations

from dra_api.objects import Obj
from dra_api.quantity import Format, Quantity
from reference_impl.scheduler.allocator import capacity
from reference_impl.scheduler.allocator.model import Capacity, Device, SubRequest, qualified

_BILLION = 10**9


def acceptable(device: Device, request: SubRequest, *, shared: bool) -> bool:
    """Return whether the total capacities of the device can satisfy the request; a negative request always fits."""
    if not shared:
        return capacity.acceptable(device, request, shared=False)
    wanted = _wanted(device, request)
    if not wanted.keys() <= device.capacity.keys():
        return False
    for name, one in device.capacity.items():
        consumed = consumption(one, wanted.get(name))
        if consumed > one.value or capacity.violates(one, consumed) or _is_between_steps(one, consumed):
            return False
    return True


def consumed_by(device: Device, request: SubRequest) -> dict[str, Quantity]:
    """Return the consumption of every capacity by a shared device's result, by the names that the slice uses."""
    wanted = _wanted(device, request)
    return {one.name: consumption(one, wanted.get(name)) for name, one in device.capacity.items()}


def consumption(one: Capacity, requested: Quantity | None) -> Quantity:
    """Return the consumption of one capacity for a request of `requested` (None: not in the request)."""
    valid: Obj | None = (one.policy or {}).get("validRange")
    if requested is None or valid is None or valid.get("step") is None:
        return capacity.consumption(one, requested)
    minimum = Quantity.parse(str(valid["min"]))
    if requested < minimum:
        return minimum
    least, step = _int64(minimum), _int64(Quantity.parse(str(valid["step"])))
    added = _wrapped(_int64(requested) - least)
    # Division in Go truncates.
    steps = abs(added) // step * (1 if added >= 0 else -1) + bool(added % step)
    return Quantity(_wrapped(least + step * steps), format=Format.BINARY_SI)


def _wanted(device: Device, request: SubRequest) -> dict[str, Quantity]:
    return {qualified(name, device.id.driver): quantity for name, quantity in request.capacity}


def _is_between_steps(one: Capacity, consumed: Quantity) -> bool:
    policy = one.policy or {}
    valid = policy.get("validRange") or {}
    if valid.get("step") is None:
        return False
    if policy.get("default") is not None and consumed == Quantity.parse(str(policy["default"])):
        return False
    least, step = (_int64(Quantity.parse(str(valid[key]))) for key in ("min", "step"))
    return bool(_wrapped(_int64(consumed) - least) % step)


def _int64(quantity: Quantity) -> int:
    """Return Quantity.Value(): rounded up, the low 64 bits."""
    return _wrapped(-(-quantity.scaled_value(-9) // _BILLION))


def _wrapped(number: int) -> int:
    return (number + 2**63) % 2**64 - 2**63
