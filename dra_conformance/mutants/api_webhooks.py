"""Faults of how the API server calls validating admission webhooks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dra_conformance.engine.mutation import Patch, mutant

_WEBHOOKS = "apiserver_emulator.webhooks"
_Function = Callable[..., Any]


def _rules(patch: Patch, **ignored: list[str] | str) -> None:
    """Match the rules of webhooks with these fields in place of their own."""

    def make(original: _Function) -> _Function:
        def matches(rule: Any, resource: Any, operation: Any, info: Any, version: Any) -> Any:
            return original({**rule, **ignored}, resource, operation, info, version)

        return matches

    patch.wrap(f"{_WEBHOOKS}:_rule_matches", make)


def _selected(patch: Patch, change: Callable[[Any, Any, Any], tuple[Any, Any, Any]]) -> None:
    """Select by another webhook, object or old object."""

    def make(original: _Function) -> _Function:
        def selected(self: Any, hook: Any, resource: Any, info: Any, obj: Any, old: Any) -> Any:
            hook, obj, old = change(hook, obj, old)
            return original(self, hook, resource, info, obj, old)

        return selected

    patch.wrap(f"{_WEBHOOKS}:ValidatingWebhooks._selected", make)


@mutant("webhooks-review-all-operations", rule="DRA-670")
def _(patch: Patch) -> None:
    """A webhook of updates reviews creations."""
    _rules(patch, operations=["*"])


@mutant("webhooks-review-all-groups", rule="DRA-670")
def _(patch: Patch) -> None:
    """The group of a rule does not matter."""
    _rules(patch, apiGroups=["*"])


@mutant("webhooks-review-all-versions", rule="DRA-670")
def _(patch: Patch) -> None:
    """The version of a rule does not matter, also with matchPolicy Exact."""
    _rules(patch, apiVersions=["*"])


@mutant("webhooks-review-all-scopes", rule="DRA-670")
def _(patch: Patch) -> None:
    """A webhook of cluster-scoped objects reviews those of namespaces."""
    _rules(patch, scope="*")


@mutant("webhooks-review-all-subresources", rule="DRA-670")
def _(patch: Patch) -> None:
    """A webhook of the status reviews all updates."""
    _rules(patch, resources=["*/*"])


@mutant("webhooks-review-one-version", rule="DRA-670")
def _(patch: Patch) -> None:
    """A webhook of an equivalent version does not review the request."""

    def make(original: _Function) -> _Function:
        def match(self: Any, hook: Any, resource: Any, operation: Any, info: Any) -> Any:
            return original(self, {**hook, "matchPolicy": "Exact"}, resource, operation, info)

        return match

    patch.wrap(f"{_WEBHOOKS}:ValidatingWebhooks._rule_match", make)


@mutant("webhooks-ignore-object-selectors", rule="DRA-670")
def _(patch: Patch) -> None:
    """The labels of the object do not matter."""
    _selected(patch, lambda hook, obj, old: ({**hook, "objectSelector": None}, obj, old))


@mutant("webhooks-ignore-namespace-selectors", rule="DRA-670")
def _(patch: Patch) -> None:
    """The labels of the namespace do not matter."""
    _selected(patch, lambda hook, obj, old: ({**hook, "namespaceSelector": None}, obj, old))


@mutant("webhooks-ignore-conditions", rule="DRA-670")
def _(patch: Patch) -> None:
    """Match conditions do not count."""
    patch.replace(f"{_WEBHOOKS}:_conditions_hold", lambda hook, resource, request: True)


@mutant("first-condition-of-a-webhook-counts", rule="DRA-670")
def _(patch: Patch) -> None:
    """Of the match conditions of a webhook only the first one counts."""

    def make(original: _Function) -> _Function:
        def hold(hook: Any, resource: Any, request: Any) -> Any:
            return original({**hook, "matchConditions": hook["matchConditions"][:1]}, resource, request)

        return hold

    patch.wrap(f"{_WEBHOOKS}:_conditions_hold", make)


@mutant("webhooks-select-by-the-new-object", rule="DRA-670")
def _(patch: Patch) -> None:
    """The old object of an update is not looked at, so that a client can remove the label."""
    _selected(patch, lambda hook, obj, old: (hook, obj, old if obj is None else None))


@mutant("webhooks-select-by-the-old-object", rule="DRA-670")
def _(patch: Patch) -> None:
    """The new object of an update is not looked at."""
    _selected(patch, lambda hook, obj, old: (hook, obj if old is None else None, old))


def _policy(patch: Patch, policy: str) -> None:
    def make(original: _Function) -> _Function:
        def call(self: Any, hook: Any, *request: Any) -> Any:
            return original(self, {**hook, "failurePolicy": policy}, *request)

        return call

    patch.wrap(f"{_WEBHOOKS}:ValidatingWebhooks._call", make)


@mutant("webhooks-must-not-fail", rule="DRA-671")
def _(patch: Patch) -> None:
    """A failurePolicy of Ignore is not read."""
    _policy(patch, "Fail")


@mutant("webhooks-do-not-review-dry-runs", rule="DRA-671")
def _(patch: Patch) -> None:
    """Dry runs are not reviewed."""

    def make(original: _Function) -> _Function:
        def review(self: Any, resource: Any, operation: Any, info: Any, ctx: Any, *objects: Any) -> None:
            # The harness finds out by a dry run whether the configuration is loaded.
            if not ctx.dry_run or (objects[0] or {})["metadata"]["name"] == "probe":
                original(self, resource, operation, info, ctx, *objects)

        return review

    patch.wrap(f"{_WEBHOOKS}:ValidatingWebhooks.review", make)
