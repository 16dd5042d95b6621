"""Answers: objects and lists as JSON, as Tables for kubectl, as PartialObjectMetadata; content negotiation.

Pure functions over records; nothing is kept.

Source: k8s.io/apiserver pkg/endpoints/handlers/response.go, KEP-555 (server-side get).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson
import yaml

from apiserver_emulator.resource_types import Column, ResourceType
from apiserver_emulator.store import Record
from dra_api.clock import parse_timestamp
from dra_api.status import not_acceptable

Obj = dict[str, Any]

JSON = "application/json"
PROTOBUF = "application/vnd.kubernetes.protobuf"
ACCEPTED = (JSON, "application/yaml", PROTOBUF)


@dataclass(frozen=True, slots=True)
class View:
    """How the client wants objects: `kind` is "", "Table" or "PartialObjectMetadata"."""

    kind: str = ""
    yaml: bool = False

    @property
    def content_type(self) -> str:
        """The Content-Type of an answer."""
        return "application/yaml" if self.yaml else JSON


PLAIN = View()


def negotiate(accept: str) -> View:
    """Choose from an Accept header. Raises 406 when nothing offered fits."""
    if not accept or accept in ("*/*", JSON):
        return PLAIN
    for choice in accept.split(","):
        fields = [part.strip() for part in choice.split(";")]
        media = fields[0].lower()
        if media not in (JSON, "application/yaml", "*/*", "application/*"):
            continue
        params = dict(part.split("=", 1) for part in fields[1:] if "=" in part)
        wanted = params.get("as", "")
        if wanted:
            known = {"Table": "Table", "PartialObjectMetadata": "PartialObjectMetadata",
                     "PartialObjectMetadataList": "PartialObjectMetadata"}  # fmt: skip
            if params.get("g") != "meta.k8s.io" or params.get("v", "v1") != "v1" or wanted not in known:
                continue
            return View(known[wanted])
        return View(yaml=media == "application/yaml")
    raise not_acceptable(ACCEPTED)


def partial(obj: Obj) -> Obj:
    """An object as PartialObjectMetadata."""
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": obj["metadata"]}


def age(created: str, now: datetime) -> str:
    """A creation time as kubectl shows it (duration.HumanDuration)."""
    if not created:
        return "<unknown>"
    return human_duration(int((now - parse_timestamp(created)).total_seconds()))


def human_duration(seconds: int) -> str:
    """k8s.io/apimachinery pkg/util/duration.HumanDuration."""
    # Upstream tolerates clocks that differ by less than two seconds.
    if seconds < -1:
        return "<invalid>"
    if seconds < 0:
        return "0s"
    if seconds < 120:
        return f"{seconds}s"
    minutes = seconds // 60
    if minutes < 10:
        rest = seconds % 60
        return f"{minutes}m{rest}s" if rest else f"{minutes}m"
    if minutes < 180:
        return f"{minutes}m"
    hours = seconds // 3600
    if hours < 8:
        rest = minutes % 60
        return f"{hours}h{rest}m" if rest else f"{hours}h"
    if hours < 48:
        return f"{hours}h"
    if hours < 192:
        rest = hours % 24
        return f"{hours // 24}d{rest}h" if rest else f"{hours // 24}d"
    days = hours // 24
    if days < 730:
        return f"{days}d"
    if days < 8 * 365:
        rest = days % 365
        return f"{days // 365}y{rest}d" if rest else f"{days // 365}y"
    return f"{days // 365}y"


NAME_COLUMN = Column(
    "Name",
    lambda obj: obj["metadata"]["name"],
    format="name",
    description="Name must be unique within a namespace.",
)


def table(
    resource: ResourceType,
    records: Sequence[Record],
    *,
    now: datetime,
    include: str,
    metadata: Mapping[str, object],
    convert: Callable[[Obj], Obj] | None,
    headers: bool = True,
) -> Obj:
    """A meta.k8s.io/v1 Table; `include` is the includeObject parameter (None, Metadata, Object)."""
    columns = [NAME_COLUMN, *resource.columns]
    definitions = [
        {"name": c.name, "type": c.type, "format": c.format, "description": c.description, "priority": c.priority}
        for c in columns
    ]
    # A definition of a custom resource with columns lists all of them.
    with_age = not any(column.name == "Age" for column in columns) and not (resource.custom and resource.columns)
    if with_age:
        definitions.append(
            {"name": "Age", "type": "string", "format": "", "description": "Time since creation.", "priority": 0}
        )
    rows = []
    for record in records:
        cells = [column.cell(record.obj) for column in columns]
        cells = [
            age(str(c), now) if col.type == "date" and c is not None else c
            for c, col in zip(cells, columns, strict=True)
        ]
        if with_age:
            cells.append(age(record.obj["metadata"].get("creationTimestamp", ""), now))
        row: Obj = {"cells": cells}
        if include == "Object":
            row["object"] = convert(record.copy()) if convert else record.obj
        elif include != "None":
            row["object"] = partial(record.obj)
        rows.append(row)
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": dict(metadata),
        "columnDefinitions": definitions if headers else None,
        "rows": rows,
    }


_HEADS = re.compile(rb'\A\{"(?:apiVersion|kind)":"[^"\\]*","(?:apiVersion|kind)":"[^"\\]*",')


def bare(item: bytes) -> bytes:
    """An object's JSON without its kind and apiVersion, as items of a list are written."""
    # Most objects begin with the two; to decode the others costs more than everything else that a list does.
    if (head := _HEADS.match(item)) is not None:
        return b"{" + item[head.end() :]
    found = orjson.loads(item)
    found.pop("kind", None)
    found.pop("apiVersion", None)
    return orjson.dumps(found)


def list_body(api_version: str, kind: str, metadata: Mapping[str, object], items: list[bytes]) -> bytes:
    """A list answer spliced from the items' JSON."""
    head = orjson.dumps({"kind": kind, "apiVersion": api_version, "metadata": metadata})
    return b'%b,"items":[%b]}' % (head[:-1], b",".join(items))


def to_yaml(body: bytes) -> bytes:
    """A JSON answer as YAML."""
    return yaml.safe_dump(orjson.loads(body), sort_keys=True).encode()
