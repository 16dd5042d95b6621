"""Faults in the permissions of nodes at the API server, which api_nodes.feature must catch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dra_conformance.engine.mutation import Patch, mutant

_EMULATOR = "apiserver_emulator"
_NODES = f"{_EMULATOR}.node_authorizer"
_SLICES = f"{_EMULATOR}.dra.resource_slice"
_BY_NODES = "claims/api_nodes#a-node-does-a-slice-what"


@mutant("a-node-publishes-for-others", rule="DRA-080", scenario=f"{_BY_NODES}[does-not-create-of-another-node]")
def _(patch: Patch) -> None:
    """The node of a slice is not checked on creation."""
    patch.replace(f"{_SLICES}:ResourceSliceStrategy.authorize", lambda self, obj, old, ctx: None)


@mutant("a-node-cannot-create-slices", rule="DRA-080", scenario=f"{_BY_NODES}[creates-of-its-own]")
def _(patch: Patch) -> None:
    """Nodes cannot create slices at all."""
    patch.replace(f"{_SLICES}:node_of", lambda ctx: "another-node" if ctx.user.groups else None)


@mutant(
    "a-node-deletes-slices-of-others",
    rule="DRA-080",
    scenario="claims/api_nodes#a-node-does-an-existing-slice-what[does-not-delete-of-another-node]",
)
def _(patch: Patch) -> None:
    """The node of a slice is not checked on deletion."""
    patch.wrap(f"{_NODES}:NodeAuthorizer._slice", lambda original: lambda self, node, info: (True, ""))
    patch.replace(f"{_SLICES}:ResourceSliceStrategy.authorize", lambda self, obj, old, ctx: None)


@mutant(
    "a-node-cannot-delete-slices",
    rule="DRA-080",
    scenario="claims/api_nodes#a-node-deletes-an-existing-slice-of-its-own",
)
def _(patch: Patch) -> None:
    """A node can create its slices, but not delete them."""
    patch.wrap(
        f"{_NODES}:NodeAuthorizer._slice",
        lambda original: (
            lambda self, node, info: (False, "no") if info.verb == "delete" else original(self, node, info)
        ),
    )


@mutant("a-node-sees-all-slices", rule="DRA-081")
def _(patch: Patch) -> None:
    """A node may list and watch without a selector."""
    patch.wrap(f"{_NODES}:NodeAuthorizer._slice", lambda original: lambda self, node, info: (True, ""))


def _without_operator(patch: Patch) -> None:
    """Look at field and value of a field selector only, so that it may exclude the node."""
    patch.replace(
        f"{_NODES}:_selects",
        lambda info, field, value: info.field_selector in (f"{field}={value}", f"{field}!={value}"),
    )


@mutant("a-node-sees-the-slices-of-all-others", rule="DRA-081")
def _(patch: Patch) -> None:
    """A node may list and watch the slices of all nodes but itself."""
    _without_operator(patch)


@mutant("a-node-deletes-the-slices-of-all-others", rule="DRA-081b")
def _(patch: Patch) -> None:
    """A node may delete the slices of all nodes but itself."""
    _without_operator(patch)


@mutant("a-node-deletes-all-slices", rule="DRA-081b")
def _(patch: Patch) -> None:
    """A node may delete slices by a collection request without a selector."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def authorize(self: Any, node: str, info: Any) -> Any:
            return (True, "") if info.verb == "deletecollection" else original(self, node, info)

        return authorize

    patch.wrap(f"{_NODES}:NodeAuthorizer._slice", make)


@mutant("a-collection-of-slices-ignores-its-selector", rule="DRA-081b")
def _(patch: Patch) -> None:
    """A collection request with a field selector deletes all slices of the cluster."""
    patch.wrap(
        "apiserver_emulator.handlers.read:Reader.predicate",
        lambda original: (
            lambda self, resource, request, info: (
                None if info.verb == "deletecollection" else original(self, resource, request, info)
            )
        ),
    )


@mutant("a-node-cannot-list-slices", rule="DRA-081")
def _(patch: Patch) -> None:
    """A node cannot list its slices, even with a selector."""
    patch.replace(f"{_NODES}:_selects", lambda info, field, value: False)


@mutant("claims-for-extended-resources-unreadable", rule="DRA-081c")
def _(patch: Patch) -> None:
    """A node cannot read a claim that only extendedResourceClaimStatus of its pod names (kubernetes#138792)."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def claims(pod: Any) -> Any:
            status = {**(pod.get("status") or {}), "extendedResourceClaimStatus": None}
            return original({**pod, "status": status})

        return claims

    patch.wrap(f"{_NODES}:_claims", make)
