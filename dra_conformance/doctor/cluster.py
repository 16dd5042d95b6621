"""Checks of the cluster of a kubeconfig: release, APIs, gates, permissions, drivers, double booking, leftovers.

Read-only: GET, LIST, and SelfSubjectAccessReviews, which the server does not store. Pods are listed only if a node has
a device plugin and a driver publishes devices.
"""

from __future__ import annotations

import stat
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from dra_api.bind_request_crd import lacking_fields
from dra_api.client import ApiError, KubeClient
from dra_api.objects import (
    BIND_REQUESTS,
    COMPUTE_DOMAINS,
    DEVICE_CLASSES,
    NAMESPACES,
    NODES,
    RESOURCE_SLICES,
    Obj,
)
from dra_api.transport import TransportError
from dra_conformance.control_plane import own_access
from dra_conformance.control_plane.kubeconfig import KubeconfigControlPlane
from dra_conformance.core.errors import TargetUnreachable, Untestable, UsageError
from dra_conformance.core.labels import RUN_LABEL
from dra_conformance.core.options import RunOptions
from dra_conformance.core.rules.window import Version
from dra_conformance.doctor.finding import Finding, missing, ok, wrong
from dra_conformance.oracle import DoubleOffer, DoubleUse, double_offers, double_uses
from dra_conformance.oracle.live import read_cluster
from dra_conformance.rbac import roles

_AREA, _PERMISSIONS = "Cluster", "Rights"
_KNOWN = (Version(1, 34), Version(1, 37))
_USABLE = ("v1", "v1beta2", "v1beta1")
_OPTIONAL = {"bind-requests": BIND_REQUESTS, "imex": COMPUTE_DOMAINS}


def look(options: RunOptions) -> Iterator[Finding]:
    """Yield the findings; none if the run starts its own control plane."""
    if options.component("control-plane").kind != "kubeconfig":
        return
    plane = KubeconfigControlPlane(options.component("control-plane").argument)
    yield from _files(plane.files)
    try:
        plane.start()
    except UsageError as error:
        if any(file.is_file() for file in plane.files):  # else it is reported already
            yield wrong(_AREA, "kubeconfig", error.message, error.hint)
        return
    except TargetUnreachable as error:
        yield wrong(_AREA, "API server", error.message, error.hint or "`kubectl version` must work with it.")
        return
    try:
        client = KubeClient(plane.transport(), user_agent="dra-conformance")
        yield _version(plane.version())
        yield from _apis(client, options)
        yield _gates(plane)
        yield from _permissions(client, options)
        yield from _drivers(client, options)
        yield _double_booking(client)
        yield _leftovers(client)
    except (ApiError, TransportError) as error:
        yield wrong(_AREA, "API server", f"it stopped answering: {error}", "Try again when the cluster is well.")
    finally:
        plane.stop()


def _files(paths: Sequence[Path]) -> Iterator[Finding]:
    """Yield a finding for each file; files that do not exist are problems only if no other one does, as for kubectl."""
    there = [path for path in paths if path.is_file()]
    if not there:
        cause = f"no such file: {', '.join(map(str, paths))}"
        yield missing(_AREA, "kubeconfig", cause, "Use --control-plane kubeconfig:FILE, or set KUBECONFIG.")
    for path in there:
        yield _file(path)


def _file(path: Path) -> Finding:
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        cause = f"others can read it (mode {mode:04o}), and it may hold keys"
        return wrong(_AREA, "kubeconfig", cause, f"chmod 600 {path}", found=str(path), needed=False)
    return ok(_AREA, "kubeconfig", str(path))


def _version(text: str) -> Finding:
    low, high = _KNOWN
    try:
        version = Version.parse(text)
    except ValueError:
        return wrong(_AREA, "release", "the server reports no version", "Is this a Kubernetes API server?", found=text)
    if not low <= version <= high:
        cause = f"the suite knows Kubernetes {low} to {high}"
        return wrong(_AREA, "release", cause, "Take a release of the suite that knows it.", found=text)
    return ok(_AREA, "release", text)


def _apis(client: KubeClient, options: RunOptions) -> Iterator[Finding]:
    served = list(client.served("resource.k8s.io"))
    usable = [version for version in _USABLE if version in served]
    if not usable:
        cause = "resource.k8s.io is not served in v1, v1beta2 or v1beta1"
        way_out = "Kubernetes serves v1 since 1.34; before, --runtime-config and the gate DynamicResourceAllocation."
        yield missing(_AREA, "resource.k8s.io", cause, way_out)
    else:
        yield ok(_AREA, "resource.k8s.io", ", ".join(served))
    for profile, resource in _OPTIONAL.items():
        asked = profile in options.profile
        lacking = lacking_fields(client, options.protocol) if resource == BIND_REQUESTS else ()
        if lacking:
            cause = f"the CRD is not that of {options.protocol}: it lacks {', '.join(lacking)}"
            yield wrong(
                _AREA, str(resource), cause, "Install that CRD, or choose its revision with --revision.", needed=asked
            )
        elif client.serves(resource):
            yield ok(_AREA, str(resource), resource.version, needed=asked)
        else:
            way_out = f"Install its CRD; without it the scenarios of profile {profile} are not-applicable."
            yield missing(_AREA, str(resource), "not served", way_out, needed=asked)


def _gates(plane: KubeconfigControlPlane) -> Finding:
    gates = plane.feature_gates
    if not gates:
        cause = "this user may not read /metrics, which has the feature gates of the API server"
        way_out = "Grant get on the non-resource URL /metrics; else the release's defaults are assumed."
        return missing(_AREA, "feature gates", cause, way_out, needed=False)
    off = sorted(name for name, on in gates.items() if name.startswith("DRA") and not on)
    return ok(_AREA, "feature gates", f"DRA gates off: {', '.join(off) or 'none'}")


def _permissions(client: KubeClient, options: RunOptions) -> Iterator[Finding]:
    """Yield one finding per role, with all missing permissions in one sentence."""
    answers: dict[tuple[str, str, str], bool] = {}
    # groupby needs them sorted by role, which `questions` does.
    for role, asked in groupby(roles.questions(options), key=lambda question: question[0]):
        refused: defaultdict[str, list[str]] = defaultdict(list)
        count = 0
        for _, group, resource, verb in asked:
            count += 1
            key = (group, resource, verb)
            # Roles share permissions; each is reviewed once.
            if key not in answers:
                answers[key] = own_access.may(client, verb, group, resource)
            if not answers[key]:
                refused[f"{resource}.{group}" if group else resource].append(verb)
        if refused:
            denied = "; ".join(f"{', '.join(verbs)} {what}" for what, verbs in refused.items())
            way_out = "`dra-conformance rbac --user NAME`, with the same options, prints what is needed."
            yield wrong(_PERMISSIONS, role, f"may not {denied}", way_out, found=f"{count} asked")
        else:
            yield ok(_PERMISSIONS, role, f"all {count} that it needs")


def _drivers(client: KubeClient, options: RunOptions) -> Iterator[Finding]:
    """Yield whether the driver under test publishes ResourceSlices, if it is the cluster's."""
    name = options.driver_name
    ours = options.component("driver").kind != "cluster"
    try:
        published = [obj for obj in client.list(RESOURCE_SLICES).items if obj["spec"].get("driver") == name]
        classes = client.list(DEVICE_CLASSES).items
    except ApiError:
        return  # the permissions have a finding about it
    except LookupError:
        return
    if published:
        nodes = len({obj["spec"].get("nodeName") for obj in published})
        yield ok(_AREA, "driver", f"{name}: {len(published)} ResourceSlices on {nodes} nodes", needed=not ours)
    elif not ours:
        cause = f"{name} publishes no ResourceSlice"
        yield missing(_AREA, "driver", cause, "Is it installed, and is --driver-name right?", needed=False)
    if options.device_class and options.device_class not in {obj["metadata"]["name"] for obj in classes}:
        there = ", ".join(obj["metadata"]["name"] for obj in classes) or "none"
        yield missing(_AREA, "DeviceClass", f"there is no {options.device_class}", f"There are: {there}.")


def _double_booking(client: KubeClient) -> Finding:
    """Return whether nodes offer devices both by a device plugin and by DRA, or pods use them in both ways."""
    name = "double booking"
    try:
        nodes, slices = client.list(NODES).items, client.list(RESOURCE_SLICES, limit=1).items
        if not slices or not any(map(_has_device_plugin, nodes)):
            return ok(_AREA, name, "no device plugin beside a driver", needed=False)
        cluster = read_cluster(client)
    except (ApiError, LookupError) as error:
        way_out = "Grant list on nodes, pods, and the objects of resource.k8s.io."
        return missing(_AREA, name, f"not checked: {error}", way_out, needed=False)
    except Untestable as error:
        return missing(_AREA, name, f"not checked: {error}", "`kubectl dra conflicts` reports more.", needed=False)
    found: list[DoubleUse | DoubleOffer] = [*double_uses(cluster), *double_offers(cluster)]
    if not found:
        return ok(_AREA, name, "no device is offered by a device plugin and by DRA", needed=False)
    first, more = found[0], f", and {len(found) - 1} more" if len(found) > 1 else ""
    way_out = "Let one of the two serve the devices of a node; `kubectl dra conflicts` lists all findings."
    return wrong(_AREA, name, f"node {first.node}: {first.message}{more}", way_out, needed=False)


def _has_device_plugin(node: Obj) -> bool:
    """Return whether a node shows extended resources of which it has some."""
    allocatable = (node.get("status") or {}).get("allocatable") or {}
    return any("/" in resource and str(amount) != "0" for resource, amount in allocatable.items())


def _leftovers(client: KubeClient) -> Finding:
    try:
        found = client.list(NAMESPACES, label_selector=RUN_LABEL).items
    except ApiError:
        return missing(_AREA, "leftovers", "this user may not list namespaces", "See Rights.", needed=False)
    runs = sorted({str(obj["metadata"]["labels"][RUN_LABEL]) for obj in found})
    if runs:
        cause = f"namespaces of the runs {', '.join(runs)} are there: running now, or killed"
        way_out = f"`dra-conformance cleanup --run-id {runs[0]}`"
        return wrong(_AREA, "leftovers", cause, way_out, found=f"{len(found)} namespaces", needed=False)
    return ok(_AREA, "leftovers", "none")
