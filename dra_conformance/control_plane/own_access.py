"""What the user of a connection may do, as the API server says (SelfSubjectAccessReview, which it does not store)."""

from __future__ import annotations

from dra_api.client import ApiError, KubeClient
from dra_api.objects import Resource
from dra_api.transport import TransportError

REVIEWS = Resource(
    "authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", namespaced=False
)


def may(client: KubeClient, verb: str, group: str, resource: str) -> bool:
    """Return whether the client's user may do `verb` on a resource, such as `pods` or `pods/status`.

    Raises ApiError if the review is refused, and TransportError.
    """
    plural, _, subresource = resource.partition("/")
    attributes = {"group": group, "resource": plural, "subresource": subresource, "verb": verb}
    body = {"apiVersion": REVIEWS.api_version, "kind": REVIEWS.kind, "spec": {"resourceAttributes": attributes}}
    status = client.create(REVIEWS, body).get("status")
    return isinstance(status, dict) and status.get("allowed") is True


def may_do_everything(client: KubeClient) -> bool:
    """Return whether the client's user has every permission; False if the API server does not say."""
    try:
        return may(client, "*", "*", "*")
    except (ApiError, TransportError):
        return False
