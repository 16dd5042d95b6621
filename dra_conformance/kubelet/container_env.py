"""The variables and the command line of a container, as a kubelet makes them from a pod.

Source: pkg/kubelet/kubelet_pods.go (makeEnvironmentVariables, podFieldSelectorRuntimeValue),
third_party/forked/golang/expansion/expand.go and pkg/fieldpath/fieldpath.go of Kubernetes 1.37.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dra_api.objects import Obj, meta, name_of, namespace_of, uid_of
from dra_conformance.kubelet.errors import KubeletError

_REFERENCE = re.compile(r"\$(?:\$|\(([^)]*)\))")
_KEYED = re.compile(r"metadata\.(labels|annotations)\['([^']+)'\]")

_FIELDS: Mapping[str, Callable[[Obj], str]] = {
    "metadata.name": name_of,
    "metadata.namespace": namespace_of,
    "metadata.uid": uid_of,
    "spec.nodeName": lambda pod: str(pod["spec"].get("nodeName", "")),
    "spec.serviceAccountName": lambda pod: str(pod["spec"].get("serviceAccountName", "default")),
    "status.hostIP": lambda pod: _status(pod, "hostIP"),
    "status.hostIPs": lambda pod: _addresses(pod, "hostIPs"),
    "status.podIP": lambda pod: _status(pod, "podIP"),
    "status.podIPs": lambda pod: _addresses(pod, "podIPs"),
}


def environment(pod: Obj, container: Mapping[str, Any]) -> dict[str, str]:
    """Return the variables of a container: literal values, with references to earlier ones, and fields of the pod.

    Raises KubeletError for a source that is not emulated: files, resources, Secrets and ConfigMaps.
    """
    found: dict[str, str] = {}
    for entry in container.get("env") or ():
        source = entry.get("valueFrom")
        if source is None:
            found[entry["name"]] = expand(str(entry.get("value") or ""), found)
            continue
        path = (source.get("fieldRef") or {}).get("fieldPath")
        if path is None:
            raise KubeletError(f"variable {entry['name']}: a value from {', '.join(source)} is not emulated")
        found[entry["name"]] = field_of(pod, str(path))
    return found


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Return a text with the value of each `$(NAME)`; `$$` is a dollar, and an unknown name stays as it is."""

    def value(match: re.Match[str]) -> str:
        if match[1] is None:
            return "$"
        return variables.get(match[1], match[0])

    return _REFERENCE.sub(value, text)


def field_of(pod: Obj, path: str) -> str:
    """Return a field of a pod that the downward API has. Raises KubeletError for another one."""
    if (keyed := _KEYED.fullmatch(path)) is not None:
        return str((meta(pod).get(keyed[1]) or {}).get(keyed[2], ""))
    if (read := _FIELDS.get(path)) is None:
        raise KubeletError(f"the downward API has no field {path}")
    return read(pod)


def command_line(container: Mapping[str, Any], variables: Mapping[str, str]) -> list[str]:
    """Return the words of a container's command and arguments, with the values of its variables."""
    words = [*(container.get("command") or ()), *(container.get("args") or ())]
    return [expand(str(word), variables) for word in words]


def probe_command(container: Mapping[str, Any], words: Sequence[str]) -> list[str]:
    """Return the words of an exec probe, with the literal variables of its container.

    Source: pkg/kubelet/container/helpers.go (ExpandContainerCommandOnlyStatic).
    """
    literal = {one["name"]: str(one.get("value") or "") for one in container.get("env") or () if "valueFrom" not in one}
    return [expand(str(word), literal) for word in words]


def _status(pod: Obj, key: str) -> str:
    return str((pod.get("status") or {}).get(key, ""))


def _addresses(pod: Obj, key: str) -> str:
    return ",".join(str(one["ip"]) for one in (pod.get("status") or {}).get(key) or ())
