"""The kubelet's diary: one typed door to the injected log.

Kinds of records: `kubelet-state` (life of the kubelet), `kubelet-registration` (each step of a handshake),
`kubelet-connection`, `kubelet-call` (each gRPC call), `kubelet-pod`, `kubelet-claim`, `kubelet-slices`,
`kubelet-health`, `kubelet-cdi` and `kubelet-problem` (something failed, in one sentence). Every record carries `node`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

Log = Callable[[str, Mapping[str, Any]], None]


class Record(Protocol):
    """Write one record: its kind without `kubelet-`, and its data."""

    def __call__(self, kind: str, **data: Any) -> None:
        """Append it to the log."""
        ...


def recorder(log: Log, node: str) -> Record:
    """A `Record` that writes to `log` for one node."""

    def record(kind: str, **data: Any) -> None:
        log(f"kubelet-{kind}", {"node": node, **data})

    return record


def silent(kind: str, data: Mapping[str, Any]) -> None:
    """A log that keeps nothing."""
