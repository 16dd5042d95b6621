"""Does a device suit a request? Selectors, taints, capacity: each question a pure function.

Amounts are integers in billionths, exact for every quantity that the API stores.

Source: KEP-4381 (selectors), KEP-5055 (taints), KEP-5075 (capacity); rules DRA-158 to DRA-164, DRA-201 to DRA-208,
DRA-213 to DRA-219.
"""

from __future__ import annotations

from collections.abc import Iterable

from dra_api.quantity import Format, Quantity
from dra_conformance.oracle.pools import Listed
from dra_conformance.oracle.schema import Capacity, DeviceClass, Selector, Taint, Toleration, Wish


def amount(quantity: Quantity) -> int:
    """A quantity in billionths."""
    return quantity.scaled_value(-9)


# -- selectors -----------------------------------------------------------------------------------------------------


def unselected(listed: Listed, wish: Wish, device_class: DeviceClass) -> tuple[str, bool]:
    """Why the selectors of class or request do not select a device, and whether it is because one failed."""
    name = device_class.metadata.name
    return _first_refusal(listed, device_class.spec.selectors, f"class {name}") or (
        _first_refusal(listed, wish.selectors, "the request") or ("", False)
    )


def _first_refusal(listed: Listed, selectors: Iterable[Selector], owner: str) -> tuple[str, bool] | None:
    for number, selector in enumerate(selectors):
        if selector.cel is None:
            return f"selector #{number} of {owner} is of an unknown kind", True
        answer = listed.answer(selector.cel.expression)
        if isinstance(answer, str):
            return f"selector #{number} of {owner} fails: {answer}", True
        if not answer:
            return f"selector #{number} of {owner} is false: {selector.cel.expression}", False
    return None


# -- taints --------------------------------------------------------------------------------------------------------


def untolerated(listed: Listed, wish: Wish) -> list[Taint]:
    """The taints that keep a request from a device (DRA-213 to DRA-219)."""
    return [
        taint
        for taint in listed.taints
        if taint.effect in ("NoSchedule", "NoExecute") and not any(_tolerates(one, taint) for one in wish.tolerations)
    ]


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect not in ("", taint.effect) or toleration.key not in ("", taint.key):
        return False
    if toleration.operator == "Exists":
        return True
    return toleration.operator in ("", "Equal") and toleration.value == taint.value


# -- capacity ------------------------------------------------------------------------------------------------------


def qualified(name: str, driver: str) -> str:
    """A name with its domain: the driver's, where it has none of its own."""
    return name if "/" in name else f"{driver}/{name}"


def wanted_capacity(listed: Listed, wish: Wish) -> dict[str, int]:
    """What a request asks of each capacity, by qualified name."""
    return {qualified(name, listed.driver): amount(value) for name, value in wish.capacity.requests.items()}


def too_small(listed: Listed, wish: Wish, *, shared: bool) -> tuple[str, str]:
    """The rule and the reason why a device could never serve a request's capacity; empty texts where it could."""
    offered = {qualified(name, listed.driver): found for name, found in listed.device.capacity.items()}
    wanted = wanted_capacity(listed, wish)
    for name, value in wanted.items():
        if name not in offered:
            return "DRA-207", f"has no capacity {name}, which the request asks for"
        if not shared and value > amount(offered[name].value):
            return "DRA-208", f"has {offered[name].value} of {name}, less than the request asks for"
    if not shared:
        return "", ""
    for name, capacity in offered.items():
        taken = consumption(capacity, wanted.get(name))
        if (rule := _policy_broken(capacity, taken)) or taken > amount(capacity.value):
            return rule or "DRA-212", f"cannot give {show(taken)} of {name} (value {capacity.value})"
    return "", ""


def consumption(capacity: Capacity, wanted: int | None) -> int:
    """What a request for `wanted` takes of a shared device's capacity (DRA-202 to DRA-204, DRA-206)."""
    policy = capacity.request_policy
    if wanted is None:
        return amount(policy.default if policy and policy.default is not None else capacity.value)
    if policy and (valid := policy.valid_range):
        least = amount(valid.min)
        step = amount(valid.step) if valid.step is not None else 0
        over = wanted - least
        return least if over <= 0 else wanted if step <= 0 else least + (over + step - 1) // step * step
    if policy and policy.valid_values:
        return min((value for value in map(amount, policy.valid_values) if value >= wanted), default=wanted)
    return wanted


def _policy_broken(capacity: Capacity, taken: int) -> str:
    """The rule by which a policy forbids an amount; its default is always allowed."""
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
    """Whether a range has parts of a unit, which releases before 1.37 round in their own way."""
    valid = capacity.request_policy.valid_range if capacity.request_policy else None
    bounds = (valid.min, valid.max, valid.step) if valid else ()
    return any(bound is not None and amount(bound) % 10**9 for bound in bounds)


def show(billionths: int | None) -> str:
    """An amount as messages say it: 80Gi, 7, 250m."""
    if billionths is None:
        return "nothing"
    whole, rest = divmod(billionths, 10**9)
    if rest:
        return str(Quantity(billionths, scale=-9))
    return str(Quantity(whole, format=Format.BINARY_SI if whole % 1024 == 0 else Format.DECIMAL_SI))
