"""CustomResourceDefinitions: served as soon as they are stored.

`CrdController` updates the resource table after each commit of a definition; it has no thread. The rules of the custom
resources themselves are in `strategy`.

Source: k8s.io/apiextensions-apiserver pkg/apis/apiextensions/validation, pkg/registry/customresourcedefinition.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import orjson

from apiserver_emulator.controllers.namespaces import CRD_FINALIZER, CRDS
from apiserver_emulator.core import Core
from apiserver_emulator.crd.definition_checks import LABEL, LABEL_TEXT, stored_errors, version_errors
from apiserver_emulator.crd.strategy import CustomStrategy, read_path
from apiserver_emulator.pods.binding import set_condition
from apiserver_emulator.resource_types import Column, ResourceType, version_priority
from apiserver_emulator.store import Event, TypeKey
from apiserver_emulator.strategy import BaseStrategy, RequestContext
from dra_api.clock import timestamp
from dra_api.status import FieldError, invalid, not_supported, required

Obj = dict[str, Any]


class CrdStrategy(BaseStrategy):
    """The rules of definitions."""

    status_subresource = True
    generation = True

    def default(self, obj: Obj) -> None:
        """SetDefaults_CustomResourceDefinition."""
        spec = obj.setdefault("spec", {})
        names = spec.setdefault("names", {})
        if names.get("kind"):
            names.setdefault("singular", names["kind"].lower())
            names.setdefault("listKind", names["kind"] + "List")
        spec.setdefault("conversion", {"strategy": "None"})

    def prepare_create(self, obj: Obj, ctx: RequestContext) -> None:
        """Names are accepted and the definition is established at once."""
        super().prepare_create(obj, ctx)
        now = timestamp(ctx.now())
        obj["status"] = self._status(obj, {"conditions": []}, now)

    def _status(self, obj: Obj, status: Obj, now: str) -> Obj:
        names = obj["spec"].get("names") or {}
        for kind, reason, message in (
            ("NamesAccepted", "NoConflicts", "no conflicts found"),
            ("Established", "InitialNamesAccepted", "the initial names have been accepted"),
        ):
            set_condition(
                status,
                {"type": kind, "status": "True", "lastTransitionTime": now, "reason": reason, "message": message},
            )
        status["acceptedNames"] = dict(names)
        # Former storage versions stay: objects may still be stored in them.
        stored = list(status.get("storedVersions") or ())
        for version in obj["spec"].get("versions") or ():
            name = version.get("name") or ""
            if version.get("storage") and name not in stored:
                stored.append(name)
                break  # a definition with two is refused
        status["storedVersions"] = stored
        return status

    def prepare_update(self, new: Obj, old: Obj, ctx: RequestContext) -> None:
        """A changed spec is accepted at once."""
        super().prepare_update(new, old, ctx)
        if not ctx.subresource and new["spec"] != old["spec"]:
            status = {**(old.get("status") or {})}
            # Copies: `set_condition` changes the list in place, and the old object is shared.
            status["conditions"] = [dict(c) for c in status.get("conditions") or ()]
            new["status"] = self._status(new, status, timestamp(ctx.now()))

    def validate_create(self, obj: Obj, ctx: RequestContext) -> list[FieldError]:
        """Check that the definition can be served."""
        problems = self._errors(obj)
        spec, name = obj["spec"], obj["metadata"].get("name")
        wanted = f"{(spec.get('names') or {}).get('plural', '')}.{spec.get('group', '')}"
        if not any(each.reason == "FieldValueRequired" for each in problems) and name != wanted:
            problems.append(invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group'))
        return problems

    def _errors(self, obj: Obj) -> list[FieldError]:
        spec = obj["spec"]
        names = spec.get("names") or {}
        problems: list[FieldError] = []
        for field, value in (("spec.group", spec.get("group")), ("spec.names.plural", names.get("plural")),
                             ("spec.names.kind", names.get("kind")),
                             ("spec.names.singular", names.get("singular")),
                             ("spec.names.listKind", names.get("listKind"))):  # fmt: skip
            if not value:
                problems.append(required(field))
        if spec.get("scope") not in ("Cluster", "Namespaced"):
            problems.append(
                not_supported("spec.scope", spec.get("scope", ""), ["Cluster", "Namespaced"])
                if spec.get("scope")
                else required("spec.scope")
            )
        if spec.get("group") and "." not in spec["group"]:
            problems.append(invalid("spec.group", spec["group"], "should be a domain with at least one dot"))
        problems += _name_errors(names)
        return problems + version_errors(spec) + stored_errors(obj)

    def validate_update(self, new: Obj, old: Obj, ctx: RequestContext) -> list[FieldError]:
        """Group, scope, kind and plural never change; nothing of a status is checked."""
        if ctx.subresource:
            return []
        problems = self._errors(new)
        for path in (("group",), ("scope",), ("names", "kind"), ("names", "plural")):
            before, after = read_path(old["spec"], path), read_path(new["spec"], path)
            if before != after:
                problems.append(invalid("spec." + ".".join(path), after, "field is immutable"))
        return problems

    def on_delete(self, obj: Obj, now: str) -> None:
        """A definition waits for the deletion of its objects."""
        finalizers = obj["metadata"].setdefault("finalizers", [])
        if CRD_FINALIZER not in finalizers:
            finalizers.append(CRD_FINALIZER)
        set_condition(
            obj.setdefault("status", {}),
            {
                "type": "Terminating",
                "status": "True",
                "lastTransitionTime": now,
                "reason": "InstanceDeletionPending",
                "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
            },
        )


def _name_errors(names: Obj) -> list[FieldError]:
    """Return the errors in the names of a kind. Kinds may have mixed case, all other names are DNS labels."""
    values = [("plural", names.get("plural")), ("singular", names.get("singular"))]
    values += [(name, names.get(name)) for name in ("kind", "listKind")]
    for field in ("shortNames", "categories"):
        values += [(f"{field}[{at}]", name) for at, name in enumerate(names.get(field) or ())]
    problems = []
    for field, value in values:
        mixed = field in ("kind", "listKind")
        if value and not LABEL.match(value.lower() if mixed else value):
            text = f"may have mixed case, but should otherwise match: {LABEL_TEXT}" if mixed else LABEL_TEXT
            problems.append(invalid(f"spec.names.{field}", value, text))
    return problems


def crd_resource() -> ResourceType:
    """The resource type of definitions themselves."""

    return ResourceType(
        CRDS[0],
        CRDS[1],
        "CustomResourceDefinition",
        ("v1",),
        "v1",
        namespaced=False,
        short_names=("crd", "crds"),
        categories=("api-extensions",),
        subresources=("status",),
        strategy=CrdStrategy(),
        columns=(Column("Created At", lambda obj: obj["metadata"].get("creationTimestamp", "")),),
    )


class CrdController:
    """Keeps the resource table in step with the stored definitions."""

    def __init__(self, core: Core) -> None:
        self._core = core
        core.store.on_commit(self._look)

    def _look(self, kind: TypeKey, event: Event) -> None:
        if kind != CRDS:
            return
        spec = event.record.obj["spec"]
        key: TypeKey = (spec["group"], spec["names"]["plural"])
        if event.type == "DELETED":
            # The table first, so that no watch opens after `drop` has ended the others.
            self._core.resources.remove(*key)
            self._core.store.drop(key)
            return
        # A change of status or metadata leaves the resource type as it is.
        if event.old is not None and event.old.obj["spec"] == spec:
            return
        self._core.resources.add(self.custom_resource(event.record.obj))

    def custom_resource(self, crd: Obj) -> ResourceType:
        """Return the resource type of a definition."""
        spec = crd["spec"]
        names = spec["names"]
        versions = sorted((v["name"] for v in spec["versions"] if v.get("served")), key=version_priority)
        storage = next(v for v in spec["versions"] if v.get("storage"))
        schemas: dict[str, Obj] = {
            v["name"]: (v.get("schema") or {}).get("openAPIV3Schema") or {} for v in spec["versions"]
        }
        selectable = tuple(f["jsonPath"].lstrip(".") for f in storage.get("selectableFields") or ())

        def fields(obj: Obj) -> Mapping[str, str]:
            found: dict[str, str] = {}
            for path in selectable:
                value = read_path(obj, tuple(path.split(".")))
                if isinstance(value, bool):
                    value = "true" if value else "false"
                found[path] = "" if value is None else str(value)
            return found

        has_status = any("status" in (v.get("subresources") or {}) for v in spec["versions"])
        return ResourceType(
            group=spec["group"],
            plural=names["plural"],
            kind=names["kind"],
            versions=tuple(versions),
            storage_version=storage["name"],
            namespaced=spec["scope"] == "Namespaced",
            singular=names.get("singular", ""),
            list_kind=names.get("listKind", ""),
            short_names=tuple(names.get("shortNames") or ()),
            categories=tuple(names.get("categories") or ()),
            subresources=("status",) if has_status else (),
            strategy=CustomStrategy(
                kind=names["kind"],
                schema=schemas[storage["name"]],
                definitions=self._core.schemas.definitions,
                has_status=has_status,
            ),
            fields=fields,
            field_names=selectable,
            columns=tuple(_column(c) for c in storage.get("additionalPrinterColumns") or ()),
            schemas=schemas,
            custom=True,
        )


_STEP = re.compile(r"""\.?([A-Za-z0-9_\-/\0]+)|\[\?\(@\.([A-Za-z0-9_]+)\s*==\s*['"]([^'"]*)['"]\)\]|\[(\d+|\*)\]""")


def _column(definition: Obj) -> Column:
    path = definition["jsonPath"]

    def cell(obj: Obj) -> object:
        return json_path(obj, path)

    return Column(
        definition["name"],
        cell,
        type=definition.get("type", "string"),
        format=definition.get("format", ""),
        description=definition.get("description", ""),
        priority=int(definition.get("priority", 0)),
    )


def json_path(obj: Obj, path: str) -> object:
    """The part of JSONPath that printer columns use: fields, indices, [?(@.a=="b")]."""
    found: Any = obj
    # An escaped dot belongs to a name: NUL stands for it while the path is split.
    for match in _STEP.finditer(path.replace("\\.", "\0")):
        name, key, wanted, index = match.groups()
        if name is not None:
            name = name.replace("\0", ".")
            found = found.get(name) if isinstance(found, dict) else None
        elif key is not None:
            items = found if isinstance(found, list) else []
            found = next((i for i in items if isinstance(i, dict) and str(i.get(key)) == wanted), None)
        # A column shows only the first result, as upstream's table converter does.
        elif index == "*":
            found = found[0] if isinstance(found, list) and found else None
        else:
            found = found[int(index)] if isinstance(found, list) and int(index) < len(found) else None
        if found is None:
            return None
    return found if isinstance(found, (str, int, float, bool)) else orjson.dumps(found).decode()
