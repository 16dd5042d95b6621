"""The table of messages: which field number of which message is what in JSON. Read once a process, never changed."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from apiserver_emulator.protobuf.wire import ProtobufError

META = "k8s.io.apimachinery.pkg.apis.meta.v1"
# Kinds that every group version has, in whatever apiVersion a client writes them.
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


@dataclass(frozen=True, slots=True)
class Field:
    """One field. `type` is a scalar's name or a message's full name."""

    number: int
    name: str
    type: str
    repeated: bool
    map: bool
    inline: bool
    omit_zero: bool


@dataclass(frozen=True, slots=True)
class Message:
    """One message with its fields by number."""

    name: str
    fields: dict[int, Field]


@lru_cache(maxsize=1)
def _document() -> tuple[dict[str, str], dict[str, Message]]:
    raw = json.loads(gzip.decompress(files(__package__).joinpath("messages.json.gz").read_bytes()))
    messages: dict[str, Message] = {}
    for name, entries in raw["messages"].items():
        fields = {
            int(number): Field(int(number), json_name, type_, "r" in flags, "m" in flags, "i" in flags, "z" in flags)
            for number, (json_name, type_, flags) in entries.items()
        }
        messages[name] = Message(name, dict(sorted(fields.items())))
    return raw["groups"], messages


def message(name: str) -> Message:
    """A message by its full name. Raises ProtobufError for one that the table lacks."""
    found = _document()[1].get(name)
    if found is None:
        raise ProtobufError(f"no message {name} in the field table")
    return found


def message_of_kind(api_version: str, kind: str) -> Message:
    """The message of a kind. Raises ProtobufError for a kind without a protobuf form (custom resources have none)."""
    groups, messages = _document()
    group, _, version = api_version.rpartition("/")
    package = groups.get(group)
    found = messages.get(f"{package}.{version}.{kind}") if package else None
    if found is None and kind in _META_KINDS:
        found = messages.get(f"{META}.{kind}")
    if found is None:
        raise ProtobufError(f"kind {kind} in {api_version} has no protobuf form here: send JSON")
    return found
