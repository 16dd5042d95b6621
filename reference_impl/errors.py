"""The error of a component that cannot start, for a reason that its user can fix."""

from __future__ import annotations

from dra_api.client import KubeClient
from dra_api.objects import Resource


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
