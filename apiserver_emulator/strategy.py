"""The interface between the write operations and the rules of a kind.

A `Strategy` belongs to one (group, plural) and only gets objects of the storage version; a `Conversion` translates
served versions. Both are part of a `ResourceType` and live as long as the server.
The order of calls is that of `k8s.io/apiserver/pkg/registry/rest`:

create: to_storage → default → prepare_create → (authorize) → validate_create → canonicalize → (admission) → store
update: to_storage → default → prepare_update → (authorize) → validate_update → canonicalize → (admission) → store
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from dra_api.request import User
from dra_api.status import FieldError, StatusError

__all__ = [
    "BaseStrategy",
    "Conversion",
    "FieldError",
    "RequestContext",
    "StatusError",
    "Strategy",
]

Obj = dict[str, Any]


@dataclass(slots=True)
class RequestContext:
    """One request, as far as strategies need it.

    `verb` is the authorization verb (create, update, patch, delete …), `subresource` "" or "status" …, `version` the
    API version of the request. `allowed(verb, group, resource, subresource, namespace, name)` returns the
    authorizer's decision about the same user; `lookup(group, plural, namespace, name)` reads another object, which
    must not be mutated; `warnings` become `Warning: 299` headers of the response; `options` are the options of the
    write, which admission webhooks get.
    """

    user: User
    verb: str
    group: str
    plural: str
    version: str
    subresource: str
    namespace: str
    name: str
    dry_run: bool
    feature_gates: Mapping[str, bool]
    kubernetes_version: str
    namespace_labels: Callable[[str], Mapping[str, str]]
    lookup: Callable[[str, str, str, str], Obj | None]
    allowed: Callable[[str, str, str, str, str, str], bool]
    now: Callable[[], datetime]
    warnings: list[str] = field(default_factory=list)
    options: Obj = field(default_factory=dict)

    def enabled(self, gate: str) -> bool:
        """Whether a feature gate is on; an unknown gate is off."""
        return self.feature_gates.get(gate, False)

    @property
    def minor(self) -> int:
        """The minor of the emulated release: 36 for "1.36"."""
        return int(self.kubernetes_version.split(".")[1])

    def warn(self, text: str) -> None:
        """Add a warning to the response."""
        self.warnings.append(text)


class Strategy(Protocol):
    """The rules of one resource. Objects are of the storage version; mutate only the one under construction."""

    def default(self, obj: Obj) -> None:
        """Fill in defaults, as `SetDefaults_*` does."""

    def prepare_create(self, obj: Obj, ctx: RequestContext) -> None:
        """Drop fields that a client may not set (status, disabled fields)."""

    def validate_create(self, obj: Obj, ctx: RequestContext) -> list[FieldError]:
        """Return all errors in a new object, in upstream's order."""

    def prepare_update(self, new: Obj, old: Obj, ctx: RequestContext) -> None:
        """Restore what this (sub)resource may not change; increase metadata.generation if the kind has one."""

    def validate_update(self, new: Obj, old: Obj, ctx: RequestContext) -> list[FieldError]:
        """Return all errors in the change, in upstream's order."""

    def canonicalize(self, obj: Obj) -> None:
        """Normalize a valid object before it is admitted and stored; its name is final."""

    def authorize(self, obj: Obj | None, old: Obj | None, ctx: RequestContext) -> None:
        """Raise `status.forbidden(…)` if the user may not make this change (admission, such as NodeRestriction).

        Called for create (obj), update and patch (obj, old), delete (old), and once with both None for list, watch
        and deletecollection (`ctx.verb`; `ctx.name` is empty).
        """


class Conversion(Protocol):
    """Between a served version and the storage version. May mutate and return its argument."""

    def to_storage(self, obj: Obj, version: str) -> Obj:
        """From `version` to the storage version (apiVersion included)."""

    def from_storage(self, obj: Obj, version: str) -> Obj:
        """From the storage version to `version`. The argument is a private copy."""


class BaseStrategy:
    """The default strategy, without defaults and validation; kinds override methods.

    With `status_subresource`, create drops `status`, an update of the main resource keeps the stored status and an
    update of `status` keeps everything else but managedFields. With `generation`, a change outside of metadata and
    status increases metadata.generation, as upstream's strategies do in `PrepareForUpdate`.
    """

    status_subresource = False
    generation = False

    def default(self, obj: Obj) -> None:
        """Set no defaults."""

    def prepare_create(self, obj: Obj, ctx: RequestContext) -> None:
        """Drop the status if there is a status subresource; start the generation."""
        if self.status_subresource:
            obj.pop("status", None)
        if self.generation:
            obj["metadata"]["generation"] = 1

    def validate_create(self, obj: Obj, ctx: RequestContext) -> list[FieldError]:
        """Return no errors."""
        return []

    def prepare_update(self, new: Obj, old: Obj, ctx: RequestContext) -> None:
        """Restore status or everything else, depending on the subresource."""
        if ctx.subresource == "status":
            keep_all_but_status(new, old)
            return
        if self.status_subresource:
            if "status" in old:
                new["status"] = old["status"]
            else:
                new.pop("status", None)
        if self.generation:
            bump_generation(new, old)

    def validate_update(self, new: Obj, old: Obj, ctx: RequestContext) -> list[FieldError]:
        """Return no errors."""
        return []

    def canonicalize(self, obj: Obj) -> None:
        """Change nothing."""

    def authorize(self, obj: Obj | None, old: Obj | None, ctx: RequestContext) -> None:
        """Allow everything that the authorizer allows."""


def keep_all_but_status(new: Obj, old: Obj) -> None:
    """Make `new` equal to `old` except for status, resourceVersion and managedFields."""
    status = new.get("status")
    meta = dict(old["metadata"])
    for name in ("managedFields", "resourceVersion"):
        if name in new["metadata"]:
            meta[name] = new["metadata"][name]
        else:
            meta.pop(name, None)
    new.clear()
    new.update(old)
    new["metadata"] = meta
    if status is None:
        new.pop("status", None)
    else:
        new["status"] = status


def bump_generation(new: Obj, old: Obj) -> None:
    """Set metadata.generation: one more than before if anything outside of metadata and status differs."""
    generation = int(old["metadata"].get("generation", 0))
    skipped = ("metadata", "status", "apiVersion", "kind")
    before = {k: v for k, v in old.items() if k not in skipped}
    after = {k: v for k, v in new.items() if k not in skipped}
    generation = generation + 1 if before != after else generation
    if generation:
        new["metadata"]["generation"] = generation
