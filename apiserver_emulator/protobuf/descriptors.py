"""Descriptors of Kubernetes' messages: classes to parse and serialize them, and how JSON has each field.

`descriptors.binpb.gz` is a FileDescriptorSet that `tools/gen_protobuf_descriptors.py` generates. It is loaded once per
process into a pool of its own: other packages may register messages of the same names in the default pool.
"""

from __future__ import annotations

import gzip
import threading
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from google.protobuf import descriptor_pb2, message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message

from apiserver_emulator.protobuf.errors import ProtobufError

GROUPS = {
    "": "k8s.io.api.core",
    "admissionregistration.k8s.io": "k8s.io.api.admissionregistration",
    "apiextensions.k8s.io": "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions",
    "apps": "k8s.io.api.apps",
    "authentication.k8s.io": "k8s.io.api.authentication",
    "authorization.k8s.io": "k8s.io.api.authorization",
    "batch": "k8s.io.api.batch",
    "coordination.k8s.io": "k8s.io.api.coordination",
    "events.k8s.io": "k8s.io.api.events",
    "meta.k8s.io": "k8s.io.apimachinery.pkg.apis.meta",
    "node.k8s.io": "k8s.io.api.node",
    "policy": "k8s.io.api.policy",
    "rbac.authorization.k8s.io": "k8s.io.api.rbac",
    "resource.k8s.io": "k8s.io.api.resource",
    "scheduling.k8s.io": "k8s.io.api.scheduling",
    "storage.k8s.io": "k8s.io.api.storage",
}
META = "k8s.io.apimachinery.pkg.apis.meta.v1"
# Kinds that exist in every group version, under whatever apiVersion a client writes.
_META_KINDS = frozenset(
    {
        "CreateOptions",
        "DeleteOptions",
        "GetOptions",
        "ListOptions",
        "PatchOptions",
        "Status",
        "UpdateOptions",
        "WatchEvent",
    }
)

OPTIONS_FILE = "apiserver_emulator/json.proto"
OPTIONS_PACKAGE = "apiserver_emulator"
INLINE, OMIT_ZERO, MAP = 50001, 50002, 50003
"""Numbers of the custom options of fields, which Go has as JSON struct tags."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field. `message` is the full name of its message type, empty for scalars; `name` is its name in JSON.

    `inline`: its fields are fields of the enclosing object. `omit_zero`: a zero value is omitted. `map`: repeated
    entries of key and value are an object.
    """

    descriptor: FieldDescriptor
    message: str
    name: str
    repeated: bool
    inline: bool
    omit_zero: bool
    map: bool


@dataclass(frozen=True, slots=True)
class Type:
    """One message type: its fields by number, and the names that its JSON object may have."""

    name: str
    fields: dict[int, Field]
    names: frozenset[str]


_LOCK = threading.Lock()


def _pool() -> DescriptorPool:
    with _LOCK:  # `cache` alone could load two pools, whose classes do not fit together
        return _load_pool()


@cache
def _load_pool() -> DescriptorPool:
    pool = DescriptorPool()
    # The pool is empty at first: the options of fields need the definition that they extend.
    pool.AddSerializedFile(descriptor_pb2.DESCRIPTOR.serialized_pb)
    raw = gzip.decompress(files(__package__).joinpath("descriptors.binpb.gz").read_bytes())
    for file in descriptor_pb2.FileDescriptorSet.FromString(raw).file:
        pool.AddSerializedFile(file.SerializeToString())
    return pool


@cache
def _options_class() -> type[Message]:
    """Return the FieldOptions of the pool, which has the custom options, unlike that of the default pool."""
    return message_factory.GetMessageClass(_pool().FindMessageTypeByName("google.protobuf.FieldOptions"))


@cache
def message_class(name: str) -> type[Message]:
    """Return the class of a message by its full name. Raises KeyError."""
    return message_factory.GetMessageClass(_pool().FindMessageTypeByName(name))


@cache
def class_of_kind(api_version: str, kind: str) -> type[Message]:
    """Return the message class of a kind. Raises ProtobufError for custom resources and other kinds without one."""
    group, _, version = api_version.rpartition("/")
    names = [f"{GROUPS[group]}.{version}.{kind}"] if group in GROUPS else []
    if kind in _META_KINDS:
        names.append(f"{META}.{kind}")
    for name in names:
        try:
            return message_class(name)
        except KeyError:
            continue
    raise ProtobufError(f"kind {kind} in {api_version} has no protobuf form here: send JSON")


@cache
def type_of(full_name: str) -> Type:
    """Return the fields of a message and their form in JSON."""
    descriptor: Descriptor = _pool().FindMessageTypeByName(full_name)
    fields = {field.number: _field(field) for field in descriptor.fields}
    names: set[str] = set()
    for field in fields.values():
        names |= type_of(field.message).names if field.inline else {field.name}
    return Type(full_name, dict(sorted(fields.items())), frozenset(names))


def _field(descriptor: FieldDescriptor) -> Field:
    extensions = _pool().FindFileByName(OPTIONS_FILE).extensions_by_name
    options: Any = _options_class().FromString(descriptor.GetOptions().SerializeToString())
    return Field(
        descriptor,
        descriptor.message_type.full_name if descriptor.message_type is not None else "",
        descriptor.json_name,
        descriptor.is_repeated,
        options.Extensions[extensions["inline"]],
        options.Extensions[extensions["omit_zero"]],
        options.Extensions[extensions["map"]],
    )
