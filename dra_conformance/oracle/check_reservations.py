"""Check of reservedFor: only with an allocation, each consumer once, and on a node where the allocation is usable.

Pods are checked only if the cluster data has any.

Source: k8s.io/kubernetes pkg/apis/resource/validation (v1.36); rules DRA-083, DRA-086, DRA-112, DRA-118, DRA-128,
DRA-130.
"""

from __future__ import annotations

from collections import Counter

from dra_conformance.oracle import nodes
from dra_conformance.oracle.findings import Findings
from dra_conformance.oracle.schema import Consumer, Pod
from dra_conformance.oracle.verdict import Case

MAX_CONSUMERS = 256
FINALIZER = "resource.kubernetes.io/delete-protection"
PATH = "status.reservedFor"


def check(case: Case, findings: Findings) -> None:
    """Check `status.reservedFor`."""
    broken, remark = findings.broken, findings.remark
    claim = case.claim
    consumers, allocation = claim.status.reserved_for, claim.status.allocation
    if consumers and allocation is None:
        broken("DRA-083", "the claim is reserved, yet not allocated", PATH)
    if len(consumers) > MAX_CONSUMERS:
        broken("DRA-086", f"{len(consumers)} consumers are more than {MAX_CONSUMERS}", PATH)
    for uid, count in Counter(consumer.uid for consumer in consumers).items():
        if count > 1:
            broken("DRA-086", f"the consumer with uid {uid} is listed {count} times", PATH)
    if allocation is None:
        return
    if consumers and FINALIZER not in claim.metadata.finalizers:
        remark("DRA-128", f"the claim is in use, yet lacks the finalizer {FINALIZER}", "metadata.finalizers")
    for number, consumer in enumerate(consumers):
        if consumer.resource == "pods" and not consumer.api_group and case.cluster.pods:
            _check_pod(case, consumer, f"{PATH}[{number}]", findings)
    reserved = {consumer.uid for consumer in consumers}
    for pod in case.cluster.pods:
        if _uses(case, pod) and pod.metadata.uid not in reserved and pod.spec.node_name and not _ended(pod):
            remark("DRA-118", f"pod {pod.metadata.name} is bound and uses the claim, yet has no reservation", PATH)


def _check_pod(case: Case, consumer: Consumer, path: str, findings: Findings) -> None:
    broken, remark = findings.broken, findings.remark
    pod = case.cluster.pods_by_uid.get(consumer.uid)
    if pod is None:
        remark("DRA-112", f"the claim is reserved for pod {consumer.name}, which does not exist with that UID", path)
        return
    if not _uses(case, pod):
        broken("DRA-128", f"the claim is reserved for pod {consumer.name}, which does not use it", path)
    if pod.spec.node_name and case.claim.status.allocation is not None:
        node = case.cluster.node_view(pod.spec.node_name)
        fits = nodes.selects(case.claim.status.allocation.node_selector, node)
        if fits is False:
            text = f"pod {consumer.name} is on node {node.name}, which the allocation's node selector excludes"
            broken("DRA-130", text, path)
        elif fits is None:
            text = f"unknown whether the allocation's node selector selects node {node.name}: no such Node"
            remark("DRA-130", text, path)


def _uses(case: Case, pod: Pod) -> bool:
    claim = case.claim.metadata
    return pod.metadata.namespace == claim.namespace and claim.name in pod.claim_names


def _ended(pod: Pod) -> bool:
    return pod.status.phase in ("Succeeded", "Failed")
