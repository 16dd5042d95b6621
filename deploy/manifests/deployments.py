"""The reference components that run once in a cluster: a Deployment with an account and a role."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from deploy.manifests.parts import account, object_of, pod_of, workload
from dra_api.objects import Obj

_HEALTH_PORT = 8081


def deployment(
    component: str, arguments: Sequence[str] = (), *, role: str = "", own: Collection[str] = ()
) -> list[Obj]:
    """Return the Deployment of a component with its account and role. It runs without root and writes nothing.

    Args:
        component: its name as a program.
        arguments: its options.
        role: its name in the permission table, if that is another one.
        own: resources that it requests in its own namespace only.
    """
    name = f"reference-{component}"
    where = ("--health-probe-bind-address", f":{_HEALTH_PORT}")
    pod = pod_of(component, ["--in-cluster", *where, *arguments], account=name)
    (container,) = pod["containers"]
    container |= {
        "ports": [{"name": "health", "containerPort": _HEALTH_PORT}],
        # `start` waits up to a minute for the API server.
        "startupProbe": {**_probe("healthz"), "failureThreshold": 60, "periodSeconds": 2},
        "readinessProbe": _probe("readyz"),
        "livenessProbe": _probe("healthz"),
    }
    spec = {
        "replicas": 1,
        # No component elects a leader here: two at a time would do the work of one twice.
        "strategy": {"type": "Recreate"},
        **workload(name, pod),
    }
    return [*account(role or component, name, own=own), {**object_of("apps/v1", "Deployment", name), "spec": spec}]


def _probe(path: str) -> Obj:
    return {"httpGet": {"path": f"/{path}", "port": "health"}, "timeoutSeconds": 10}
