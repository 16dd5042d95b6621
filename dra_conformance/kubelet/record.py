"""The kubelet's event log: a function that receives typed events, injected by the owner of the kubelet.

The kinds are in `dra_conformance.core.events.kinds.kubelet`.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from dra_conformance.core.events import KubeletEvent
from dra_conformance.core.events.log import encode

Log = Callable[[KubeletEvent], None]
"""Receives each event of a kubelet, with its node."""

Record = Callable[[KubeletEvent], None]
"""Records an event of the kubelet's parts, which leave `node` empty."""


def recorder(log: Log, node: str) -> Record:
    """Return a function that sets an event's node and passes it to `log`."""

    def record(event: KubeletEvent) -> None:
        made = msgspec.structs.replace(event, node=node)
        # A value of the wrong type is an error of the kubelet, and not of the report that is made from the log.
        msgspec.json.decode(encode(made), type=type(made))
        log(made)

    return record


def silent(event: KubeletEvent) -> None:
    """Discard an event."""
