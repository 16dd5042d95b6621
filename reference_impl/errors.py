"""Errors of components: one that its user can fix, and the difference between failed requests and bugs."""

from __future__ import annotations

import logging

from dra_api.client import ApiError, KubeClient
from dra_api.objects import Resource
from dra_api.transport import TransportError


class ComponentError(Exception):
    """A component cannot be built or started, for a reason that its user can fix. Shown in one line, without traceback.

    Raise it in `build` or `Component.start`; every exception other than API, transport and OS errors is a bug and shows
    its traceback.
    """


def require_served(client: KubeClient, resource: Resource) -> None:
    """Raise ComponentError unless the API server serves a version of this resource that the client can use."""
    try:
        client.require(resource)
    except LookupError as error:
        raise ComponentError(str(error)) from error


def log_failed(log: logging.Logger, what: str, error: Exception, *, level: int) -> None:
    """Log at `level` what a request can raise, and everything else as a bug, with its traceback."""
    expected = isinstance(error, (ApiError, TransportError, OSError))
    log.log(level if expected else logging.ERROR, "%s: %s", what, error, exc_info=not expected)
