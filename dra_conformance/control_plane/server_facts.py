"""What a running API server reports about itself: its release and its feature gates."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import orjson

from dra_api.kubeconfig import KubeconfigError
from dra_api.objects import Obj
from dra_api.transport import Response, Transport, TransportError
from dra_conformance.core.errors import TargetUnreachable

_GATE = re.compile(rb'^kubernetes_feature_enabled\{name="([^"]+)"[^}]*\} ([01])', re.MULTILINE)
_TAG = re.compile(r":v((\d+\.\d+)\.\d+)")
_PATIENCE = 10.0


def version_of(connect: Callable[[], Transport], *, plane: str) -> str:
    """Return the gitVersion of an API server. Raises TargetUnreachable that names the control plane `plane`."""
    try:
        answer = connect().request("GET", "/version", timeout=_PATIENCE)
    except (KubeconfigError, TransportError) as error:
        raise TargetUnreachable(f"--control-plane {plane}: its API server does not answer: {error}") from None
    try:
        reported = str(version_in(answer).get("gitVersion") or "")
    except TargetUnreachable as error:
        raise TargetUnreachable(f"--control-plane {plane}: {error}") from None
    if not reported:
        raise TargetUnreachable(f"--control-plane {plane}: the answer of its API server to /version has no gitVersion")
    return reported


def version_in(answer: Response) -> Obj:
    """Return the content of an answer to /version. Raises TargetUnreachable for another answer."""
    if answer.status != 200:
        raise TargetUnreachable(f"the API server answered {answer.status} to /version")
    try:
        found = orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        found = None
    if not isinstance(found, dict):
        raise TargetUnreachable("the API server answered /version with something that is not a JSON object")
    return found


def gates_of(transport: Transport) -> Mapping[str, bool]:
    """Return the feature gates that an API server shows at /metrics."""
    answer = transport.request("GET", "/metrics", headers={"Accept": "text/plain"}, timeout=_PATIENCE)
    return {name.decode(): value == b"1" for name, value in _GATE.findall(answer.body)}


def differing(planned: Mapping[str, bool], reported: Mapping[str, bool]) -> list[str]:
    """Return the planned gates that an API server has the other way, as phrases such as `DRADeviceTaints is off`."""
    return [
        f"{name} is {'on' if reported[name] else 'off'}"
        for name, on in sorted(planned.items())
        if reported.get(name, on) != on
    ]


def release_of(image: str) -> tuple[str, str] | None:
    """Return the release that the tag of an image names, as `1.37.2` and `1.37`; None if it names none."""
    found = _TAG.search(image)
    return (found[1], found[2]) if found else None


def minor_of(version: str) -> tuple[int, ...]:
    """Return the minor release of a version such as v1.37.2, as (1, 37)."""
    return tuple(int(part) for part in version.removeprefix("v").split(".")[:2])
