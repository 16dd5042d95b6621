"""A probe: a few requests as data, with the parts of the responses that are compared.

In every text of a step `{ns}` is the probe's own namespace (created at first use), `{id}` a name that only this probe
uses, and `{0.metadata.uid}` a field of the response to the first step. `{hook}` is the address of the webhooks
(`responder`), `{hook-ca}` their authority, and `{90 s ago}` a time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Query = Sequence[tuple[str, str]]

JSON = "application/json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"


@dataclass(frozen=True, slots=True)
class Step:
    """One request.

    `body` is JSON data, or bytes that are sent unchanged. `keep` is the part of the response to compare: `all`,
    `status` (code and reason), `code`, `none`, or paths such as `metadata.name` of its body. `until` repeats the
    request until the response has that code, `until_body` until these paths of its body have these values (None:
    absent), for at most `patience` seconds. `user` is (name, groups); None is the administrator. `managed` compares
    managedFields too. `at` are the keys of the part of the body that `keep` and `only` are about. `only` is the path of
    a list in the body, a path in its items and the value that remaining items have there. `events` makes it a watch
    that ends after so many events, or after `seconds`; `during` are steps while it is open. An object with the content
    type of protobuf is sent as protobuf.
    """

    method: str
    path: str
    body: Any = None
    query: Query = ()
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    keep: str | tuple[str, ...] = "all"
    until: int = 0
    until_body: Mapping[str, Any] = field(default_factory=dict)
    patience: float = 30.0
    user: tuple[str, tuple[str, ...]] | None = None
    managed: bool = False
    at: tuple[str, ...] = ()
    only: tuple[str, str, str] | None = None
    events: int = 0
    seconds: int = 2
    during: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class Probe:
    """A named sequence of steps. `id` is area/subject. `pods` waits for the namespace's service account.

    `gates_off` are further steps, after the control plane was restarted with every optional feature gate of DRA off.
    """

    id: str
    steps: tuple[Step, ...]
    gates_off: tuple[Step, ...] = ()
    pods: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def area(self) -> str:
        """The first part of its id."""
        return self.id.partition("/")[0]

    @property
    def slug(self) -> str:
        """A DNS label that only this probe uses."""
        # A DNS label has at most 63 characters and ends with a letter or digit.
        return re.sub(r"[^a-z0-9]+", "-", self.id.lower()).strip("-")[:63].strip("-")


def get(path: str, **more: Any) -> Step:
    """GET."""
    return Step("GET", path, **more)


def post(path: str, body: Any, **more: Any) -> Step:
    """POST."""
    return Step("POST", path, body, **more)


def put(path: str, body: Any, **more: Any) -> Step:
    """PUT."""
    return Step("PUT", path, body, **more)


def patch(path: str, body: Any, kind: str = MERGE, **more: Any) -> Step:
    """PATCH, by default with a merge patch."""
    return Step("PATCH", path, body, content_type=kind, **more)


def apply(path: str, body: Any, manager: str = "one", *, force: bool = False, **more: Any) -> Step:
    """Server-side apply."""
    # kube-apiserver requires a field manager for apply.
    query = [("fieldManager", manager), *([("force", "true")] if force else []), *more.pop("query", ())]
    return Step("PATCH", path, body, query=query, content_type=APPLY, **more)


def delete(path: str, body: Any = None, **more: Any) -> Step:
    """DELETE."""
    return Step("DELETE", path, body, **more)


def watch(path: str, events: int, *during: Step, query: Query = (), **more: Any) -> Step:
    """A watch for `events` events, with steps taken while it is open."""
    return Step("WATCH", path, query=query, events=events, during=during, **more)
