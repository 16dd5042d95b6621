"""The warnings of API versions that a release still serves but has deprecated. Pure functions.

Source: k8s.io/api/resource/*/zz_generated.prerelease-lifecycle.go, release 1.36.
"""

from __future__ import annotations

from collections.abc import Mapping

from apiserver_emulator.resource_types import ResourceTable
from dra_api.request import RequestInfo
from dra_api.transport import Response

# version → (minor that deprecates it, minor that no longer serves it)
_LIVES: Mapping[str, tuple[int, int]] = {"v1alpha3": (36, 39), "v1beta1": (35, 38), "v1beta2": (36, 39)}
_YOUNGER = frozenset(  # they came with 1.36
    {("v1beta2", "devicetaintrules"), ("v1alpha3", "resourcepoolstatusrequests")}
)


def warned(answer: Response, info: RequestInfo, table: ResourceTable, *, kubernetes_version: str) -> Response:
    """Return the response, with a Warning header if the requested API version is deprecated."""
    life = _LIVES.get(info.version) if info.group == "resource.k8s.io" else None
    if life is None or (info.version, info.resource) in _YOUNGER:
        return answer
    resource = table.served(info.group, info.version, info.resource)
    if resource is None or int(kubernetes_version.split(".")[1]) < life[0]:
        return answer
    text = (
        f'299 - "{info.group}/{info.version} {resource.kind} is deprecated in v1.{life[0]}+, '
        f'unavailable in v1.{life[1]}+"'
    )
    others = answer.headers.get("warning")
    headers = {**answer.headers, "warning": f"{text}, {others}" if others else text}
    return Response(answer.status, headers, answer.body)
