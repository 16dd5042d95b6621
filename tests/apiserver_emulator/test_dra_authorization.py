"""Authorization of writes: status, node restriction, admin access (rules DRA-080, DRA-096 to DRA-099).

Expected outcomes are those of kube-apiserver 1.36.2, all of them 422 with cause Forbidden except for node restriction.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest
from dra_harness import Obj, context, resource_of, write

from apiserver_emulator.dra.authorization import NODE_NAME_EXTRA
from dra_api.request import User
from dra_api.status import StatusError
from verification.fidelity.dra_cases import ALL_ON, allocation, device_status, many, result, slice_of, status

DRIVER = "gpu.example.com"
OTHER = "nic.example.com"
PLUGIN = "system:serviceaccount:dra:plugin"
NODE_A = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-a"]}]}]}
BY_LABEL = {
    "nodeSelectorTerms": [
        {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["node-a"]}]}
    ]
}
RESULTS = (result(), result(device="e"), result(driver=OTHER))
ON_A = status(allocation=allocation(*RESULTS, nodeSelector=NODE_A))


class Rbac:
    """Allows exactly the given (verb, resource/subresource, namespace, name); "*" is any name."""

    def __init__(self, *rules: tuple[str, str, str, str]) -> None:
        self._rules = rules

    def __call__(self, verb: str, group: str, resource: str, subresource: str, namespace: str, name: str) -> bool:
        wanted = (verb, f"{resource}/{subresource}", namespace)
        return group == "resource.k8s.io" and any(wanted == rule[:3] and rule[3] in ("*", name) for rule in self._rules)


BINDING = ("update", "resourceclaims/binding", "", "*")
ASSOCIATED = ("associated-node:update", "resourceclaims/driver", "ns", DRIVER)
ARBITRARY = ("arbitrary-node:update", "resourceclaims/driver", "ns", DRIVER)


def plugin(*nodes: str, name: str = PLUGIN) -> User:
    return User(name, extra={NODE_NAME_EXTRA: nodes} if nodes else {})


def causes(
    new: Obj,
    old: Obj,
    *,
    rbac: Rbac,
    user: User | None = None,
    verb: str = "update",
    gates: dict[str, bool] | None = None,
) -> list[tuple[str, str]]:
    answer = write(
        new,
        op="status",
        old=old,
        verb=verb,
        gates={**ALL_ON, **(gates or {})},
        user=user or plugin("node-a"),
        allowed=rbac,
    )
    return [(error.reason, error.field) for error in answer.errors]


def with_devices(obj: Obj, *entries: Obj) -> Obj:
    found = copy.deepcopy(obj)
    found["status"]["devices"] = list(entries)
    return found


FORBIDDEN_BINDING = [("FieldValueForbidden", "status.allocation")]
FORBIDDEN_DEVICES = [("FieldValueForbidden", "status.devices")]
PENDING = status()


class TestBinding:
    """DRA-096."""

    def test_allocation_needs_binding(self) -> None:
        assert causes(ON_A, PENDING, rbac=Rbac()) == FORBIDDEN_BINDING
        assert causes(ON_A, PENDING, rbac=Rbac(BINDING)) == []

    def test_reserved_for_needs_it_too_and_names_allocation(self) -> None:
        new = copy.deepcopy(ON_A)
        new["status"]["reservedFor"] = [{"resource": "pods", "name": "p", "uid": "u"}]
        assert causes(new, ON_A, rbac=Rbac()) == FORBIDDEN_BINDING
        assert causes(ON_A, new, rbac=Rbac()) == FORBIDDEN_BINDING

    def test_deallocation_needs_it(self) -> None:
        assert causes(PENDING, ON_A, rbac=Rbac()) == FORBIDDEN_BINDING

    def test_the_verb_follows_the_request(self) -> None:
        assert causes(ON_A, PENDING, rbac=Rbac(BINDING), verb="patch") == FORBIDDEN_BINDING
        assert causes(ON_A, PENDING, rbac=Rbac(("patch", *BINDING[1:])), verb="patch") == []

    def test_a_grant_in_the_namespace_is_not_enough(self) -> None:
        assert causes(ON_A, PENDING, rbac=Rbac(("update", "resourceclaims/binding", "ns", "*"))) == FORBIDDEN_BINDING

    def test_gate_off(self) -> None:
        gates = {"DRAResourceClaimGranularStatusAuthorization": False}
        assert causes(ON_A, PENDING, rbac=Rbac(), gates=gates) == []

    def test_text(self) -> None:
        answer = write(ON_A, op="status", old=PENDING, gates=ALL_ON, user=User("someone"), allowed=Rbac())
        assert answer.errors[0].body == (
            "Forbidden: changing status.allocation or status.reservedFor requires "
            'resource="resourceclaims/binding", verb="update" permission: resourceclaims.resource.k8s.io is forbidden: '
            'User "someone" cannot update resource "resourceclaims/binding" in API group "resource.k8s.io" at the '
            "cluster scope"
        )


class TestDriver:
    """DRA-097, DRA-098."""

    def test_own_node_and_driver(self) -> None:
        assert causes(with_devices(ON_A, device_status()), ON_A, rbac=Rbac(ASSOCIATED)) == []

    @pytest.mark.parametrize(
        ("name", "user", "claim"),
        [
            ("token of another node", plugin("node-b"), ON_A),
            ("token not bound to a pod", plugin(), ON_A),
            ("two node names", plugin("node-a", "node-b"), ON_A),
            ("no service account", plugin("node-a", name="someone"), ON_A),
            ("no node selector", plugin("node-a"), status(allocation=allocation(*RESULTS))),
            ("node by label", plugin("node-a"), status(allocation=allocation(*RESULTS, nodeSelector=BY_LABEL))),
        ],
    )
    def test_associated_counts_only_on_the_own_node(self, name: str, user: User, claim: Obj) -> None:
        new = with_devices(claim, device_status())
        assert causes(new, claim, rbac=Rbac(ASSOCIATED), user=user) == FORBIDDEN_DEVICES
        assert causes(new, claim, rbac=Rbac(ARBITRARY), user=user) == []

    def test_another_driver(self) -> None:
        assert causes(with_devices(ON_A, device_status(driver=OTHER)), ON_A, rbac=Rbac(ASSOCIATED)) == FORBIDDEN_DEVICES

    def test_removing_another_drivers_entry(self) -> None:
        old = with_devices(ON_A, device_status(driver=OTHER))
        assert causes(with_devices(ON_A), old, rbac=Rbac(ASSOCIATED)) == FORBIDDEN_DEVICES

    def test_patch_needs_the_patch_verb(self) -> None:
        new = with_devices(ON_A, device_status())
        assert causes(new, ON_A, rbac=Rbac(ASSOCIATED), verb="patch") == FORBIDDEN_DEVICES
        grant = ("associated-node:patch", *ASSOCIATED[1:])
        assert causes(new, ON_A, rbac=Rbac(grant), verb="patch") == []

    def test_another_namespace(self) -> None:
        grant = (ASSOCIATED[0], ASSOCIATED[1], "other", DRIVER)
        assert causes(with_devices(ON_A, device_status()), ON_A, rbac=Rbac(grant)) == FORBIDDEN_DEVICES

    def test_one_cause_a_driver_and_one_for_binding(self) -> None:
        new = with_devices(ON_A, device_status(), device_status(driver=OTHER))
        new["status"]["reservedFor"] = [{"resource": "pods", "name": "p", "uid": "u"}]
        assert causes(new, ON_A, rbac=Rbac()) == FORBIDDEN_BINDING + FORBIDDEN_DEVICES * 2

    def test_the_driver_may_not_change_reserved_for(self) -> None:
        new = copy.deepcopy(ON_A)
        new["status"]["reservedFor"] = [{"resource": "pods", "name": "p", "uid": "u"}]
        assert causes(new, ON_A, rbac=Rbac(ASSOCIATED)) == FORBIDDEN_BINDING

    def test_text_lists_the_verbs(self) -> None:
        answer = write(
            with_devices(ON_A, device_status()),
            op="status",
            old=ON_A,
            gates=ALL_ON,
            user=plugin("node-a"),
            allowed=Rbac(),
        )
        assert answer.errors[0].body == (
            'Forbidden: changing status.devices requires resource="resourceclaims/driver", '
            'verb="[associated-node:update arbitrary-node:update]" permission: resourceclaims.resource.k8s.io '
            f'"{DRIVER}" is forbidden: User "{PLUGIN}" cannot associated-node:update resource "resourceclaims/driver" '
            'in API group "resource.k8s.io" in the namespace "ns"'
        )


class TestUnchangedEntries:
    """DRA-099."""

    FIRST = device_status(data={"a": 1})
    SECOND = device_status(driver=OTHER, data={"b": 2})
    OLD = with_devices(ON_A, FIRST, SECOND)

    def test_no_op_and_reorder(self) -> None:
        assert causes(self.OLD, self.OLD, rbac=Rbac()) == []
        assert causes(with_devices(ON_A, self.SECOND, self.FIRST), self.OLD, rbac=Rbac()) == []

    def test_reserved_for_only(self) -> None:
        new = copy.deepcopy(self.OLD)
        new["status"]["reservedFor"] = [{"resource": "pods", "name": "p", "uid": "u"}]
        assert causes(new, self.OLD, rbac=Rbac(BINDING)) == []

    def test_deallocation_drops_entries_without_driver_permission(self) -> None:
        assert causes(PENDING, self.OLD, rbac=Rbac(BINDING)) == []

    def test_a_changed_condition(self) -> None:
        condition = {"type": "Ready", "status": "True", "reason": "R", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        new = with_devices(ON_A, {**self.FIRST, "conditions": [condition]}, self.SECOND)
        assert causes(new, self.OLD, rbac=Rbac(BINDING)) == FORBIDDEN_DEVICES


class TestNodeRestriction:
    """DRA-080: 403, not 422."""

    NODE = User("system:node:node-a", groups=("system:nodes", "system:authenticated"))

    def authorize(self, verb: str, obj: Obj, *, user: User = NODE, restricted: bool = True) -> None:
        resource = resource_of("ResourceSlice", node_restriction=restricted)
        ctx = context(resource, verb=verb, user=user)
        new, old = (obj, None) if verb == "create" else (None, obj)
        resource.strategy.authorize(new, old, ctx)

    @pytest.mark.parametrize("verb", ["create", "delete"])
    def test_own_slices(self, verb: str) -> None:
        self.authorize(verb, slice_of())

    @pytest.mark.parametrize("verb", ["create", "delete"])
    @pytest.mark.parametrize(
        "obj",
        [
            slice_of(nodeName="node-b"),
            slice_of(drop=("nodeName",), allNodes=True),
            slice_of(drop=("nodeName",), perDeviceNodeSelection=True),
        ],
        ids=["other node", "all nodes", "per device"],
    )
    def test_foreign_slices(self, verb: str, obj: Obj) -> None:
        with pytest.raises(StatusError) as caught:
            self.authorize(verb, obj)
        assert (caught.value.code, caught.value.reason) == (403, "Forbidden")
        assert f"can only {verb} ResourceSlice with the same NodeName as the requesting node" in caught.value.message
        assert "causes" not in caught.value.details

    def test_other_users_are_not_restricted(self) -> None:
        self.authorize("create", slice_of(nodeName="node-b"), user=User("admin"))
        self.authorize("create", slice_of(nodeName="node-b"), user=User("system:node:node-a"))

    def test_plugin_off(self) -> None:
        self.authorize("create", slice_of(nodeName="node-b"), restricted=False)


def test_admin_access_is_reported_once() -> None:
    requests: list[dict[str, Any]] = many(
        3, lambda at: {"name": f"r{at}", "exactly": {"deviceClassName": "g", "adminAccess": True}}
    )
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "x", "namespace": "ns"},
        "spec": {"devices": {"requests": requests}},
    }
    answer = write(claim, gates=ALL_ON)
    assert [error.field for error in answer.errors] == ["spec.devices.requests[0].adminAccess"]
    assert answer.errors[0].body == (
        "Forbidden: admin access to devices requires the `resource.kubernetes.io/admin-access: true` label on the "
        "containing namespace"
    )
