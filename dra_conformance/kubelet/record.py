"""The kubelet's event log: a function that receives typed events, injected by the owner of the kubelet.

The kinds are in `dra_conformance.core.events.kinds.kubelet`.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from dra_conformance.core.events import KubeletEvent

Log = Callable[[KubeletEvent], None]
"""Receives each event of a kubelet, with its node."""

Record = Callable[[KubeletEvent], None]
"""Records an event of the kubelet's parts, which leave `node` empty."""


def recorder(log: Log, node: str) -> Record:
    """Return a function that sets an event's node and passes it to `log`."""

    def record(event: KubeletEvent) -> None:
        log(msgspec.structs.replace(event, node=node))

    return record


def silent(event: KubeletEvent) -> None:
    """Discard an event."""
