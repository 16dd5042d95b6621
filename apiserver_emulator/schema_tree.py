"""The type of an object as a tree of its fields, built lazily for built-in kinds and custom resources alike.

Built from published OpenAPI definitions (`definitions_tree`) or from a CRD's structural schema (`crd_tree`). Patches,
field ownership, defaulting, pruning and decoding walk this tree. Nodes are immutable and shared; they live as long as
the server.

Source of the extensions: x-kubernetes-list-type, -list-map-keys, -map-type, -patch-merge-key, -patch-strategy,
-int-or-string, -preserve-unknown-fields, -embedded-resource of the Kubernetes OpenAPI.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

Obj = dict[str, Any]

_QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_INT_OR_STRING = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
_FREE = frozenset(
    {
        "io.k8s.apimachinery.pkg.runtime.RawExtension",
        "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1",
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON",
    }
)
_ANY = frozenset(
    {
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray",
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool",
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray",
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON",
    }
)
# Marks objects of a structural schema without any known field: pruning leaves nothing of them.
_PRUNED = "x-dra-pruned"
# Only for kinds that DRA uses: the definitions do not distinguish a struct from a pointer to one.
_STRUCTS = frozenset({"DeviceClaim", "EventSource", "ObjectMeta", "ResourceClaimSpec"})
# Associative-list keys that the API defaults; structured-merge-diff takes them from the schema's `default`.
_KEY_DEFAULTS = {"protocol": "TCP"}


class Node:
    """One field's type. Attributes are computed on first use, so recursive types cost nothing."""

    def __init__(self, schema: Mapping[str, Any], definitions: Mapping[str, Any], site: Mapping[str, Any]) -> None:
        self.schema = schema
        self._definitions = definitions
        self._site = site  # the property schema that held the $ref: its extensions win

    def _resolve(self, schema: Any) -> Node:
        return _node(schema if isinstance(schema, dict) else {}, self._definitions)

    def _extension(self, name: str) -> Any:
        found = self._site.get(name)
        return found if found is not None else self.schema.get(name)

    @cached_property
    def name(self) -> str:
        """The definition's name, or an empty string for an inline type."""
        ref = self._site.get("$ref", "")
        return str(ref).rsplit("/", 1)[-1]

    @cached_property
    def type(self) -> str:
        """JSON type: object, array, string, integer, number, boolean; `int-or-string`, `quantity`, or "" (any)."""
        if self.name == _QUANTITY:
            return "quantity"
        if self.name == _INT_OR_STRING or self.schema.get("x-kubernetes-int-or-string"):
            return "int-or-string"
        if self.name in _ANY:
            return ""
        if self.name in _FREE:
            return "object"
        return str(self.schema.get("type") or "")

    @cached_property
    def format(self) -> str:
        """The OpenAPI format (int32, int64, byte, date-time …)."""
        return str(self.schema.get("format") or "")

    @cached_property
    def properties(self) -> dict[str, Node]:
        """Named fields."""
        found = self.schema.get("properties") or {}
        return {name: self._resolve(sub) for name, sub in found.items()}

    @cached_property
    def additional(self) -> Node | None:
        """The value type of a free-keyed map."""
        found = self.schema.get("additionalProperties")
        if found is None or found is False:
            return None
        return self._resolve(found if isinstance(found, dict) else {})

    @cached_property
    def items(self) -> Node | None:
        """The element type of a list."""
        found = self.schema.get("items")
        return self._resolve(found) if isinstance(found, dict) else None

    @cached_property
    def required(self) -> frozenset[str]:
        """Names of required fields."""
        return frozenset(self.schema.get("required") or ())

    @cached_property
    def free_form(self) -> bool:
        """Whether unknown fields are kept."""
        if self.schema.get("x-kubernetes-preserve-unknown-fields"):
            return True
        if self.schema.get(_PRUNED):
            return False
        return self.type in ("object", "") and not self.properties and self.additional is None

    @cached_property
    def list_type(self) -> str:
        """`atomic`, `set` or `map`."""
        return str(self._extension("x-kubernetes-list-type") or "atomic")

    @cached_property
    def map_keys(self) -> tuple[str, ...]:
        """Keys of an associative list."""
        return tuple(self._extension("x-kubernetes-list-map-keys") or ())

    @cached_property
    def key_defaults(self) -> dict[str, Any]:
        """Defaults of associative keys that a client may leave out."""
        if self.items is None:
            return {}
        found: dict[str, Any] = {}
        for key in self.map_keys:
            node = self.items.properties.get(key)
            if node is not None and "default" in node.schema:
                found[key] = node.schema["default"]
            elif key in _KEY_DEFAULTS and not self.schema.get("x-dra-custom"):
                found[key] = _KEY_DEFAULTS[key]
        return found

    @cached_property
    def atomic(self) -> bool:
        """True for maps and structs that have one owner as a whole."""
        return bool(self._extension("x-kubernetes-map-type") == "atomic")

    @cached_property
    def merge_key(self) -> str:
        """The strategic-merge key of a list, or an empty string."""
        return str(self._extension("x-kubernetes-patch-merge-key") or "")

    @cached_property
    def patch_strategies(self) -> frozenset[str]:
        """Strategic-merge strategies: merge, replace, retainKeys."""
        text = self._extension("x-kubernetes-patch-strategy") or ""
        return frozenset(part for part in str(text).split(",") if part)

    @cached_property
    def struct(self) -> bool:
        """True for a struct that Go holds by value, so that Go's JSON never lacks it."""
        return self.name.rpartition(".")[2] in _STRUCTS

    def child(self, name: str) -> Node | None:
        """Return the type of a field or of a map's value; None if the schema does not define it."""
        return self.properties.get(name) or self.additional


def _node(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Node:
    site = schema
    # Definitions do not refer to each other in a circle without a field between them.
    while (ref := schema.get("$ref")) is not None:
        schema = definitions.get(str(ref).rsplit("/", 1)[-1], {})
    return Node(schema, definitions, site)


class SchemaIndex:
    """Root types of built-in kinds by (group, version, kind)."""

    def __init__(self, definitions: Mapping[str, Any]) -> None:
        self.definitions = definitions
        self._names: dict[tuple[str, str, str], str] = {}
        for name, schema in definitions.items():
            for gvk in schema.get("x-kubernetes-group-version-kind") or ():
                self._names.setdefault((gvk["group"], gvk["version"], gvk["kind"]), name)
        self._roots: dict[tuple[str, str, str], Node] = {}

    def name(self, group: str, version: str, kind: str) -> str:
        """The definition's name, or an empty string."""
        return self._names.get((group, version, kind), "")

    def root(self, group: str, version: str, kind: str) -> Node | None:
        """Return the type of a kind; None if the definitions lack it."""
        key = (group, version, kind)
        found = self._roots.get(key)
        if found is None and key in self._names:
            found = self._roots[key] = _node({"$ref": f"#/{self._names[key]}"}, self.definitions)
        return found

    def definition(self, name: str) -> Node:
        """The type of one definition."""
        return _node({"$ref": f"#/{name}"}, self.definitions)


OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


def crd_tree(schema: Mapping[str, Any] | None, definitions: Mapping[str, Any]) -> Node:
    """The root type of a custom resource: its structural schema with the real ObjectMeta."""
    root = _marked(schema or {"type": "object", "x-kubernetes-preserve-unknown-fields": True})
    properties = dict(root.get("properties") or {})
    properties["apiVersion"] = {"type": "string"}
    properties["kind"] = {"type": "string"}
    properties["metadata"] = {"$ref": f"#/{OBJECT_META}"} if OBJECT_META in definitions else {"type": "object"}
    root["properties"] = properties
    root["type"] = "object"
    return _node(root, definitions)


_KEEPS_FIELDS = (
    "properties",
    "additionalProperties",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-embedded-resource",
)


def _marked(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of a structural schema in which objects without any known field are marked as pruned.

    Source: k8s.io/apiextensions-apiserver pkg/apiserver/schema/pruning: only x-kubernetes-preserve-unknown-fields keeps
    fields that the schema lacks (in a published OpenAPI definition, an object without properties may be any object).
    """
    found = dict(schema)
    if isinstance(found.get("properties"), dict):
        found["properties"] = {name: _marked(sub) for name, sub in found["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(found.get(key), dict):
            found[key] = _marked(found[key])
    if found.get("type") == "object" and not any(found.get(key) for key in _KEEPS_FIELDS):
        found[_PRUNED] = True
    return found
