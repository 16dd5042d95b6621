"""A user for each role within one run, so that a permission can be removed from one role only.

A run uses one kubeconfig, and RBAC sees users, not user agents. The kubeconfig therefore belongs to a user that may
only impersonate, and each request is sent in the name of the user that represents its agent. Users and roles are
removed with the control plane.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import orjson

from dra_api.clock import RealClock
from dra_api.objects import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, Obj
from dra_api.transport import Transport, WithHeaders
from dra_conformance.rbac.check import Need
from dra_conformance.rbac.table import AGENTS, CLEANUP, COMPONENTS, HARNESS
from verification.rbac_ablation.environment import METRICS, Environment, reduced, role_of

_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_KNOWN_WITHIN, _TURN = 60.0, 0.02
_IMPERSONATE = {"apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"]}


class ByHolder(WithHeaders):
    """Transport that sends each request in the name of the user that represents its agent."""

    def __init__(self, inner: Transport, users: Mapping[str, str]) -> None:
        def named(headers: Mapping[str, str]) -> Mapping[str, str]:
            # Requests of an unknown agent belong to the harness.
            role = AGENTS.get(headers.get("User-Agent", ""), HARNESS)
            return {**headers, "Impersonate-User": users[role]}

        super().__init__(inner, named)


class RoleUsers:
    """The users of one control plane: one per role with all permissions, and one per removed verb."""

    def __init__(self, made: Environment, roles: Sequence[Obj], *, printed_for: str) -> None:
        self._made = made
        self._taken = 0
        self._rules: dict[str, list[Obj]] = {
            role_of(cluster_role, printed_for): cluster_role["rules"] for cluster_role in roles
        }
        self._whole = {role: f"only-{role}" for role in (HARNESS, CLEANUP, *COMPONENTS)}
        for role, user in self._whole.items():
            self._let(user, self._rules[role])
        self._let("actor", [METRICS, _IMPERSONATE])
        self.kubeconfig: Path = made.plane.kubeconfig_for("actor")

    def granted(self) -> list[Need]:
        """Every verb of every role."""
        return sorted(
            (role, rule["apiGroups"][0], name, verb)
            for role, rules in self._rules.items()
            for rule in rules
            for name in rule["resources"]
            for verb in rule["verbs"]
        )

    def without(self, needs: Sequence[Need]) -> list[Mapping[str, str]]:
        """Return, for each permission, users whose role lacks it, once the server enforces that.

        Raises: TimeoutError if the server still allows a removed permission, or does not allow another one.
        """
        users: list[tuple[Need, str]] = []
        for need in needs:
            role, group, resource, verb = need
            self._taken += 1
            users.append((need, f"without-{self._taken}"))
            self._let(users[-1][1], reduced({"rules": self._rules[role]}, group, resource, verb))
        # A second loop: the API server's cache takes them up together.
        for need, user in users:
            self._wait_known(need, user)
        return [{**self._whole, need[0]: user} for need, user in users]

    # -- inside ----------------------------------------------------------------------------------------------------

    def _let(self, user: str, rules: list[Obj]) -> None:
        """A role and a binding for one user."""
        self._made.admin.create(CLUSTER_ROLES, {"metadata": {"name": user}, "rules": rules})
        cluster_role = {"apiGroup": CLUSTER_ROLES.group, "kind": CLUSTER_ROLES.kind, "name": user}
        subjects = [{"apiGroup": CLUSTER_ROLES.group, "kind": "User", "name": user}]
        binding = {"metadata": {"name": user}, "roleRef": cluster_role, "subjects": subjects}
        self._made.admin.create(CLUSTER_ROLE_BINDINGS, binding)

    def _wait_known(self, taken: Need, user: str) -> None:
        """Poll until the authorizer's cache has the role: a remaining permission is allowed, the removed one is not."""
        left = next(each for each in self.granted() if each[0] == taken[0] and each != taken)
        clock, never = RealClock(), threading.Event()
        deadline = clock.monotonic() + _KNOWN_WITHIN
        while not self._allowed(user, left):
            if clock.monotonic() > deadline:
                raise TimeoutError(f"the API server does not know the role of {user} after {_KNOWN_WITHIN:g} s")
            clock.wait(never, _TURN)
        # With such a role a trial would prove nothing.
        if self._allowed(user, taken):
            raise TimeoutError(f"the API server still allows {user} what was taken: {taken}")

    def _allowed(self, user: str, need: Need) -> bool:
        _, group, name, verb = need
        resource, _, sub = name.partition("/")
        about = {"group": group, "resource": resource, "subresource": sub, "verb": verb}
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview"}
        body = orjson.dumps({**review, "spec": {"user": user, "resourceAttributes": about}})
        answer = self._made.admin.transport.request("POST", _REVIEWS, body=body)
        return bool(orjson.loads(answer.body)["status"]["allowed"])
