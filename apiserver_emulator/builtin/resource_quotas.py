"""The strategy of ResourceQuotas: names and amounts of the limits.

Source: pkg/apis/core/validation/validation.go (ValidateResourceQuota), release 1.37. Scopes are stored unchecked.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from apiserver_emulator.dra.device_class import is_extended_resource_name
from apiserver_emulator.metadata import qualified_name_problems
from apiserver_emulator.strategy import BaseStrategy, RequestContext
from dra_api.quantity import Quantity
from dra_api.status import FieldError, invalid

Obj = dict[str, Any]

_OBJECTS = frozenset(
    {
        "pods",
        "resourcequotas",
        "services",
        "replicationcontrollers",
        "secrets",
        "persistentvolumeclaims",
        "configmaps",
        "services.nodeports",
        "services.loadbalancers",
    }
)
_AMOUNTS = frozenset(
    {"cpu", "memory", "ephemeral-storage", "limits.cpu", "limits.memory", "limits.ephemeral-storage"}
    | {"requests.cpu", "requests.memory", "requests.storage", "requests.ephemeral-storage"}
)
_HUGE_PAGES = ("hugepages-", "requests.hugepages-")


class ResourceQuotaStrategy(BaseStrategy):
    """The rules of quotas."""

    status_subresource = True

    def default(self, obj: Obj) -> None:
        """Add the empty struct that Go always serializes, and drop an empty map of limits, which it never does."""
        spec = obj.setdefault("spec", {})
        if not spec.get("hard"):
            spec.pop("hard", None)

    def prepare_create(self, obj: Obj, ctx: RequestContext) -> None:
        """A new quota has an empty status, which the quota controller fills."""
        obj["status"] = {}

    def validate_create(self, obj: Obj, ctx: RequestContext) -> list[FieldError]:
        """The limits in the spec."""
        return list(_limits((obj.get("spec") or {}).get("hard") or {}, "spec.hard"))

    def validate_update(self, new: Obj, old: Obj, ctx: RequestContext) -> list[FieldError]:
        """The limits in the spec, or limits and usage in the status."""
        if ctx.subresource != "status":
            return self.validate_create(new, ctx)
        status = new.get("status") or {}
        return [problem for name in ("hard", "used") for problem in _limits(status.get(name) or {}, f"status.{name}")]


def _limits(amounts: Obj, path: str) -> Iterator[FieldError]:
    for name, text in amounts.items():
        where = f"{path}[{name}]"
        problems = qualified_name_problems(name)
        if "/" not in name and not _is_standard(name):
            if not problems:
                problems = ["must be a standard resource type or fully qualified"]
            problems.append("must be a standard resource for quota")
        yield from (invalid(where, name, problem) for problem in problems)
        amount = Quantity.parse(str(text))
        if amount.sign < 0:
            yield invalid(where, str(text), "must be greater than or equal to 0")
        if (name in _OBJECTS or is_extended_resource_name(name)) and amount.milli_value % 1000:
            yield invalid(where, str(text), "must be an integer")


def _is_standard(name: str) -> bool:
    return name in _OBJECTS or name in _AMOUNTS or name.startswith(_HUGE_PAGES)
