"""CEL selectors of classes and requests; the verdict for each device is cached with the device.

Source: allocator selectorsMatch (v0.36): class selectors first, then the request's, all must be true; a runtime error,
a result that is no bool and a cost above the limit are errors, not "no"; rules DRA-158 to DRA-164.
"""

from __future__ import annotations

from functools import lru_cache

from dra_api import cel
from reference_impl.scheduler.allocator.model import AllocationError, Claim, Device, DeviceClass, Features, SubRequest


class SelectorError(AllocationError):
    """A selector failed on a device.

    The message names request, or class, the selector's index, its expression, the cause and the device.
    """


_SHOWN = 200  # characters of an expression; it may have 10 KiB


@lru_cache(maxsize=1024)
def program(expression: str, *, lists: bool) -> cel.Selector:
    """Return the compiled expression as the scheduler compiles it: it may use fields whose gate is off."""
    return cel.compile_selector(expression, list_type_attributes=lists, stored=True)


def view_of(device: Device, *, lists: bool) -> cel.DeviceView:
    """Return the variable `device` of an expression. Raises cel.CelError for a list attribute without `lists`."""
    key = ("view", lists)
    known: cel.DeviceView | None = device.verdicts.get(key)
    if known is None:
        known = device.verdicts[key] = cel.DeviceView(
            device.id.driver,
            device.raw.get("attributes"),
            device.raw.get("capacity"),
            device.allow_multiple,
            list_type_attributes=lists,
        )
    return known


def verdict(expression: str | None, device: Device, features: Features) -> bool | str:
    """True, False, or the text of the error; remembered as long as the device is current."""
    if expression is None:
        return "unsupported selector type: it is not a CEL selector"
    lists = features.list_attributes
    readable = lists or features.readable_lists
    key = ("verdict", lists, readable, expression)
    known: bool | str | None = device.verdicts.get(key)
    if known is None:
        try:
            known = program(expression, lists=lists).matches(view_of(device, lists=readable))
        except cel.CelCompileError as error:
            known = f"CEL compile error: {error}"
        except cel.CelError as error:
            known = f"CEL runtime error: {error}"
        device.verdicts[key] = known
    return known


def matches(device: Device, request: SubRequest, device_class: DeviceClass, claim: Claim, features: Features) -> bool:
    """Return whether `device` passes the selectors of the class and of the request. Raises SelectorError."""
    for where, expressions in (
        (f"class {device_class.name}", device_class.selectors),
        (f"claim {claim.key}, request {request.name}", request.selectors),
    ):
        for index, expression in enumerate(expressions):
            answer = verdict(expression, device, features)
            if isinstance(answer, str):
                raise SelectorError(f"{where}: selector #{index}{shown(expression)}: {answer} (on device {device.id})")
            if not answer:
                return False
    return True


def shown(expression: str | None) -> str:
    """Return an expression as a message repeats it: on one line, and not without end."""
    if expression is None:
        return ""
    line = " ".join(expression.split())
    return f" ({line if len(line) <= _SHOWN else line[:_SHOWN] + '…'})"
