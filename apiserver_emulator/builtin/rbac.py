"""Roles and their bindings: defaults and validation.

Strategies without state; `auth` decides what the objects allow.

Source: Kubernetes 1.36 pkg/apis/rbac/v1/defaults.go, pkg/apis/rbac/validation/validation.go.
"""

from __future__ import annotations

from apiserver_emulator.auth import RBAC
from apiserver_emulator.strategy import BaseStrategy, RequestContext
from dra_api.objects import Obj
from dra_api.status import FieldError, invalid, not_supported, required


class RoleStrategy(BaseStrategy):
    """Roles and ClusterRoles. `namespaced`: their rules cannot be about URLs."""

    def __init__(self, *, namespaced: bool) -> None:
        self._namespaced = namespaced

    def validate_create(self, obj: Obj, ctx: RequestContext) -> list[FieldError]:
        """Return the errors in the rules of a role: missing verbs, groups, resources or URLs."""
        rules = enumerate(obj.get("rules") or ())
        return [problem for at, rule in rules for problem in self._rule(rule, f"rules[{at}]", ctx.minor)]

    def validate_update(self, new: Obj, old: Obj, ctx: RequestContext) -> list[FieldError]:
        """As when it is created."""
        return self.validate_create(new, ctx)

    def _rule(self, rule: Obj, at: str, minor: int) -> list[FieldError]:
        # 1.37 reports a missing field without a text.
        text = "" if minor >= 37 else "verbs must contain at least one value"
        verbs = [] if rule.get("verbs") else [required(f"{at}.verbs", text)]
        if urls := rule.get("nonResourceURLs"):
            texts = ["namespaced rules cannot apply to non-resource URLs"] if self._namespaced else []
            if any(rule.get(name) for name in ("apiGroups", "resources", "resourceNames")):
                texts.append("rules cannot apply to both regular resources and non-resource URLs")
            return [*verbs, *(invalid(f"{at}.nonResourceURLs", urls, text) for text in texts)]
        problems = [
            required(f"{at}.{name}", f"resource rules must supply at least one {what}")
            for name, what in (("apiGroups", "api group"), ("resources", "resource"))
            if not rule.get(name)
        ]
        return [*problems, *verbs]


class RoleBindingStrategy(BaseStrategy):
    """Bindings: defaults of subjects; the role reference never changes. `kinds` are the roles that may be named."""

    def __init__(self, *kinds: str) -> None:
        self._kinds = kinds

    def default(self, obj: Obj) -> None:
        """API groups of role and subjects."""
        role = obj.setdefault("roleRef", {})
        role["apiGroup"] = role.get("apiGroup") or RBAC
        for subject in obj.get("subjects") or ():
            if subject.get("kind") in ("User", "Group"):
                subject["apiGroup"] = subject.get("apiGroup") or RBAC
        if not obj.get("subjects"):
            obj.pop("subjects", None)

    def validate_create(self, obj: Obj, ctx: RequestContext) -> list[FieldError]:
        """The role is one that there can be."""
        role = obj.get("roleRef") or {}
        problems: list[FieldError] = []
        if role.get("apiGroup") != RBAC:
            problems.append(not_supported("roleRef.apiGroup", role.get("apiGroup"), (RBAC,)))
        if role.get("kind") not in self._kinds:
            problems.append(not_supported("roleRef.kind", role.get("kind", ""), self._kinds))
        if not role.get("name"):
            problems.append(required("roleRef.name"))
        return problems + [
            problem
            for at, subject in enumerate(obj.get("subjects") or ())
            for problem in _subject(subject, f"subjects[{at}]")
        ]

    def validate_update(self, new: Obj, old: Obj, ctx: RequestContext) -> list[FieldError]:
        """As when it is created, and roleRef is immutable."""
        problems = self.validate_create(new, ctx)
        if new.get("roleRef") != old.get("roleRef"):
            problems.append(invalid("roleRef", new.get("roleRef"), "cannot change roleRef"))
        return problems


def _subject(subject: Obj, at: str) -> list[FieldError]:
    """ValidateRoleBindingSubject. Its names are checked only for service accounts."""
    problems = [] if subject.get("name") else [required(f"{at}.name")]
    kind, group = subject.get("kind", ""), subject.get("apiGroup", "")
    if kind not in ("ServiceAccount", "User", "Group"):
        return [*problems, not_supported(f"{at}.kind", kind, ("ServiceAccount", "User", "Group"))]
    wanted = "" if kind == "ServiceAccount" else RBAC
    if group != wanted:
        problems.append(not_supported(f"{at}.apiGroup", group, (wanted,)))
    return problems
