"""The time limit of the binder's requests for the claims of a pod: one for all requests of an attempt (KAI-163).

An API server that does not respond would otherwise hold a worker for ever, and the BindRequest would never be Failed.

Source: KAI-Scheduler 0.12.0 pkg/binder/plugins/k8s-plugins/dynamicresources/dra.go (Bind), cmd/binder/app/options.go
(volume-binding-timeout-seconds, which is the limit for claims, too).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from dra_api.client import KubeClient
from dra_api.clock import Clock
from dra_api.objects import Obj, name_of, namespace_of
from dra_api.transport import TransportError
from reference_impl.binder.failure import BindFailure
from reference_impl.deadline import WithDeadline


class ClaimTime:
    """The limit of `seconds`. Requests for claims use `client`, which sends them through the caller's client."""

    def __init__(self, client: KubeClient, *, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds
        self._of_thread = threading.local()  # each worker makes an attempt of its own
        self.client = client.over(WithDeadline(client.transport, self.left, "the time limit for claims has passed"))

    @contextmanager
    def limited(self, pod: Obj) -> Iterator[None]:
        """Let the limit hold for all requests of this block together. Raises BindFailure if it has passed."""
        self._of_thread.until = self._clock.monotonic() + self._seconds
        try:
            yield
        except TransportError as error:
            if self.left() > 0:
                raise
            raise BindFailure(
                f"DynamicResources: pod {namespace_of(pod)}/{name_of(pod)}: the API server has not responded to the "
                f"requests for its claims within {self._seconds:g} s: {error}"
            ) from error
        finally:
            del self._of_thread.until

    def left(self) -> float:
        """Return the seconds that a request of this thread may take: outside of a block, the whole limit."""
        until: float | None = getattr(self._of_thread, "until", None)
        return self._seconds if until is None else until - self._clock.monotonic()
