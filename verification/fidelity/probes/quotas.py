"""ResourceQuotas: validation, the status that the quota controller writes, refusals, charges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from verification.fidelity.probe import Probe, Step, delete, get, patch, post, put
from verification.fidelity.probes.objects import CLAIMS, LEASES, NS, claim, exact

_QUOTAS = NS + "/resourcequotas"
_COUNT = "count/resourceclaims.resource.k8s.io"
_GPUS = "gpu.deviceclass.resource.k8s.io/devices"
_DRY_RUN = (("dryRun", "All"),)


def _quota(hard: Any, name: str = "q", **spec: Any) -> Any:
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": name}, "spec": {"hard": hard, **spec}}


def _claim(name: str, count: int = 1, **exactly: Any) -> Any:
    request = exact()
    request["exactly"] |= {"deviceClassName": "gpu", "count": count, **exactly}
    return claim(name, request)


def _enforced(hard: Any, name: str = "q") -> tuple[Step, ...]:
    """Create a quota, and wait until admission refuses what it leaves no room for: a Lease."""
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": f"after-{name}"}}
    full = {"count/leases.coordination.k8s.io": "0", **hard}
    used = {"status.used": dict.fromkeys(full, "0")}
    return (
        post(_QUOTAS, _quota(full, name)),
        get(f"{_QUOTAS}/{name}", until_body=used, managed=True),
        post(LEASES, lease, query=_DRY_RUN, until=403),
    )


def _validated() -> Iterator[Probe]:
    table = {
        "name": {"gpus": "1"},
        "slashes": {"count/a/b": "1"},
        "upper": {"Count/B_": "1"},
        "negative": {_COUNT: "-1"},
        "fraction": {_COUNT: "500m"},
        "fraction-request": {"requests.example.com/gpu": "500m"},
        "standard": {"cpu": "1", "pods": "2", "requests.storage": "1Gi", "hugepages-2Mi": "4Mi"},
        "format": {_COUNT: 3, _GPUS: "1k"},
        "none": {},
    }
    for name, hard in table.items():
        yield Probe(f"quota/create-{name}", (post(_QUOTAS, _quota(hard)),))
    broken = patch(_QUOTAS + "/q", {"spec": {"hard": {"gpus": "1"}}})
    status = patch(_QUOTAS + "/q/status", {"status": {"used": {"gpus": "-1"}}})
    yield Probe("quota/update-invalid", (post(_QUOTAS, _quota({_COUNT: "1"}), keep="none"), broken, status))


def _charged() -> Iterator[Probe]:
    left = get(_QUOTAS + "/q", keep=("status",), managed=True)
    yield Probe(
        "quota/exceeded",
        (
            *_enforced({_COUNT: "2", _GPUS: "4"}),
            post(CLAIMS, _claim("a", 3)),
            left,
            post(CLAIMS, _claim("b", 2)),
            post(CLAIMS, _claim("c")),
            post(CLAIMS, _claim("d", 2)),
            left,
        ),
    )
    yield Probe(
        "quota/all-devices", (*_enforced({_GPUS: "31"}), post(CLAIMS, _claim("a", 0, allocationMode="All")), left)
    )
    yield Probe("quota/dry-run", (*_enforced({_COUNT: "1"}), post(CLAIMS, _claim("a"), query=_DRY_RUN), left))
    generated = {**_claim("a", 2), "metadata": {"generateName": "made-"}}
    yield Probe("quota/generated-name", (*_enforced({_GPUS: "1"}), post(CLAIMS, generated, keep="status")))
    taken = (post(CLAIMS, _claim("a"), keep="code"), post(CLAIMS, _claim("a")), left)
    yield Probe("quota/taken-name", (*_enforced({_COUNT: "5"}), *taken))


def _calculated() -> Iterator[Probe]:
    def used(amount: str) -> Step:
        return get(_QUOTAS + "/q", until_body={"status.used": {_COUNT: amount}}, keep=("status",))

    first = post(CLAIMS, _claim("a"), keep="none")
    limited = post(_QUOTAS, _quota({_COUNT: "3"}), keep="none")
    yield Probe("quota/existing", (first, limited, used("1"), delete(CLAIMS + "/a", keep="code"), used("0")))
    changed = put(_QUOTAS + "/q", _quota({_GPUS: "3"}), keep="code")
    after = get(_QUOTAS + "/q", until_body={"status.used": {_GPUS: "1"}}, keep=("status",))
    yield Probe("quota/other-limits", (first, limited, used("1"), changed, after))
    exceeded = (patch(CLAIMS + "/a", {"metadata": {"labels": {"a": "b"}}}, keep="code"),)
    yield Probe("quota/lowered", (first, post(_QUOTAS, _quota({_COUNT: "0"}), keep="none"), used("1"), *exceeded))


def probes() -> Iterator[Probe]:
    """All probes of this module."""
    yield from _validated()
    yield from _charged()
    yield from _calculated()
