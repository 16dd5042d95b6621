"""The loop of every reference controller: informers feed a work queue, workers reconcile its keys.

A `Loop` owns its informers, its queue and its worker threads between `start` and `stop`. A key whose reconciliation
raises is tried again with exponential back-off.

Source: the controller pattern of sample-controller and controller-runtime (kubernetes/community,
contributors/devel/sig-api-machinery/controllers.md).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Hashable, Sequence
from typing import Generic, TypeVar

from dra_api.clock import Clock
from dra_api.informer import Informer
from dra_api.workqueue import WorkQueue
from reference_impl.errors import log_failed
from reference_impl.recorder import EventRecorder

log = logging.getLogger(__name__)

K = TypeVar("K", bound=Hashable)


class Loop(Generic[K]):
    """Informers, a queue and workers.

    `reconcile` gets one key at a time (two workers never have the same key). `recorder` is started and stopped with the
    loop. `workers` is the number of threads;
    `base_delay` and `max_delay`, in seconds, are the back-off after a failure; `sync_timeout`, in seconds, bounds how
    long `start` waits for the first lists.
    """

    def __init__(
        self,
        name: str,
        reconcile: Callable[[K], None],
        *,
        informers: Sequence[Informer],
        clock: Clock,
        recorder: EventRecorder | None = None,
        workers: int = 4,
        base_delay: float = 0.05,
        max_delay: float = 30.0,
        sync_timeout: float = 60.0,
    ) -> None:
        self.name = name
        self.queue: WorkQueue[K] = WorkQueue(clock, base_delay=base_delay, max_delay=max_delay)
        self.stopping = threading.Event()
        self._reconcile = reconcile
        self._informers = informers
        self._recorder = recorder
        self._workers = workers
        self._sync_timeout = sync_timeout
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Fill the informers, then start the workers. Raises TimeoutError if the API server does not return the
        lists.
        """
        if self._recorder is not None:
            self._recorder.start()
        for informer in self._informers:
            informer.start()
        # All are started before the first wait, so that they list in parallel.
        for informer in self._informers:
            if trouble := informer.wait_served(self._sync_timeout):
                self.stop()
                raise TimeoutError(f"{self.name} {trouble}")
        for number in range(self._workers):
            thread = threading.Thread(target=self._work, name=f"{self.name}-{number}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def stop(self) -> None:
        """End workers and informers and wait for them. Idempotent."""
        self.stopping.set()
        self.queue.shut_down()
        for informer in self._informers:
            informer.stop()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(timeout=10)
        if self._recorder is not None:
            self._recorder.stop()  # last: it still writes what the workers reported

    def _work(self) -> None:
        while (key := self.queue.get()) is not None:
            try:
                self._reconcile(key)
            except Exception as error:  # even a bug must cost one key, not the worker
                log_failed(log, f"{self.name}: {key}", error, level=logging.INFO)
                self.queue.add_rate_limited(key)
            else:
                self.queue.forget(key)
            finally:
                self.queue.done(key)
