"""The worker of a controller that the harness plays."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar

from dra_api.client import ApiError
from dra_api.threads import report_exception
from dra_api.transport import TransportError
from dra_api.workqueue import WorkQueue

K = TypeVar("K", bound=Hashable)


def reconcile(queue: WorkQueue[K], sync: Callable[[K], None]) -> None:
    """Call `sync` for each key until the queue ends; a key whose request failed comes again, later each time."""
    while (key := queue.get()) is not None:
        try:
            sync(key)
        except (ApiError, TransportError):
            queue.add_rate_limited(key)
        except Exception as error:
            report_exception(error)
        else:
            queue.forget(key)
        finally:
            queue.done(key)
