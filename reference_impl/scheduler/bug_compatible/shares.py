"""The consumption of shared devices as releases compute it.

Deviations: until 1.36 negative-shares and ranges-in-64-bits, since 1.37 unusable-capacity-ends-attempt. A range with
steps is computed with Quantity.Value(): fractions are rounded up. Until 1.36, integers beyond int64 wrap around. Since
1.37 such a request, and a negative one, is an error, and DRAFractionalCapacityRange has thousandths computed instead.

Source: structured/internal/experimental/consumable_capacity.go, v0.36.2 and v0.37.2: CmpRequestOverCapacity,
roundUpRange, violateValidRange, useMilli.
"""

from __future__ import annotations

from dataclasses import dataclass

from dra_api.objects import Obj
from dra_api.quantity import Format, Quantity
from reference_impl.scheduler.allocator import capacity
from reference_impl.scheduler.allocator.model import (
    AllocationError,
    Capacity,
    Device,
    Features,
    SubRequest,
    qualified,
)
from reference_impl.scheduler.bug_compatible.deviations import Release

_BILLION = 10**9
_MILLION = 10**6
_MOST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """How a release computes: `wraps` around beyond 64 bits, or in `thousandths`."""

    wraps: bool
    thousandths: bool

    @classmethod
    def of(cls, release: Release, features: Features) -> Arithmetic:
        """Return the arithmetic of a release."""
        return cls(release.has("ranges-in-64-bits"), features.fractional_ranges and release.minor >= 37)


def acceptable(device: Device, request: SubRequest, arithmetic: Arithmetic) -> bool:
    """Return whether the total capacities of the device can satisfy the request.

    Until 1.36 a negative request always fits. Since 1.37 it raises AllocationError, as one beyond 64 bits does.
    """
    if arithmetic.wraps and not device.allow_multiple:
        return capacity.acceptable(device, request, shared=False)
    wanted = _wanted(device, request)
    if not wanted.keys() <= device.capacity.keys():
        return False
    consumed = {name: consumption(one, wanted.get(name), arithmetic) for name, one in device.capacity.items()}
    if not arithmetic.wraps and any(value.sign < 0 for value in consumed.values()):
        raise AllocationError(f"request {request.name}: capacity value for device {device.id} is negative")
    return all(
        consumed[name] <= one.value
        and not capacity.violates(one, consumed[name])
        and not _is_between_steps(one, consumed[name], arithmetic)
        for name, one in device.capacity.items()
    )


def consumed_by(device: Device, request: SubRequest, arithmetic: Arithmetic) -> dict[str, Quantity]:
    """Return the consumption of every capacity by a shared device's result, by the names that the slice uses."""
    wanted = _wanted(device, request)
    return {one.name: consumption(one, wanted.get(name), arithmetic) for name, one in device.capacity.items()}


def consumption(one: Capacity, requested: Quantity | None, arithmetic: Arithmetic) -> Quantity:
    """Return the consumption of one capacity for a request of `requested` (None: not in the request).

    Raises AllocationError since 1.37 for what the arithmetic cannot express.
    """
    valid: Obj | None = (one.policy or {}).get("validRange")
    if requested is None or valid is None or valid.get("step") is None:
        return capacity.consumption(one, requested)
    minimum, step = (Quantity.parse(str(valid[key])) for key in ("min", "step"))
    if requested < minimum:
        return minimum
    if _in_thousandths(valid, arithmetic):
        asked = _thousandths(requested)
        if asked is None:
            raise _unusable(requested)
        least, size = _milli(minimum), _milli(step)
        amount = least + -(-(asked - least) // size) * size
        if amount > _MOST:
            raise _unusable(requested)
        return Quantity(amount, scale=-3, format=step.format)
    least, size = _int64(minimum), _int64(step)
    if not arithmetic.wraps and requested > Quantity(_MOST):
        raise _unusable(requested)
    added = _wrapped(_int64(requested) - least)
    # Division in Go truncates.
    steps = abs(added) // size * (1 if added >= 0 else -1) + bool(added % size)
    if not arithmetic.wraps and least >= 0 and steps > (_MOST - least) // size:
        raise _unusable(requested)
    return Quantity(_wrapped(least + size * steps), format=Format.BINARY_SI)


def _wanted(device: Device, request: SubRequest) -> dict[str, Quantity]:
    return {qualified(name, device.id.driver): quantity for name, quantity in request.capacity}


def _is_between_steps(one: Capacity, consumed: Quantity, arithmetic: Arithmetic) -> bool:
    policy = one.policy or {}
    valid = policy.get("validRange") or {}
    if valid.get("step") is None:
        return False
    if policy.get("default") is not None and consumed == Quantity.parse(str(policy["default"])):
        return False
    minimum, step = (Quantity.parse(str(valid[key])) for key in ("min", "step"))
    if _in_thousandths(valid, arithmetic):
        taken = _thousandths(consumed)
        return taken is None or bool((taken - _milli(minimum)) % _milli(step))
    return bool(_wrapped(_int64(consumed) - _int64(minimum)) % _int64(step))


def _in_thousandths(valid: Obj, arithmetic: Arithmetic) -> bool:
    """Return whether a range is computed in thousandths: if it can be, and the feature is on."""
    if not arithmetic.thousandths:
        return False
    bounds = [_thousandths(Quantity.parse(str(valid[key]))) for key in ("min", "max", "step") if valid.get(key)]
    return all(bound is not None for bound in bounds) and _milli(Quantity.parse(str(valid["step"]))) >= 1


def _thousandths(quantity: Quantity) -> int | None:
    """Return a quantity in thousandths, or None if it is none that fits into 64 bits."""
    exact = quantity.scaled_value(-9)
    return None if exact % _MILLION or abs(exact // _MILLION) > _MOST else exact // _MILLION


def _milli(quantity: Quantity) -> int:
    return quantity.scaled_value(-9) // _MILLION


def _unusable(requested: Quantity) -> AllocationError:
    return AllocationError(f"capacity request {requested} cannot be represented in the device's range arithmetic")


def _int64(quantity: Quantity) -> int:
    """Return Quantity.Value(): rounded up, the low 64 bits."""
    return _wrapped(-(-quantity.scaled_value(-9) // _BILLION))


def _wrapped(number: int) -> int:
    return (number + 2**63) % 2**64 - 2**63
