"""Namespaces: the finalizer, the label, the phase. Source: pkg/registry/core/namespace/strategy.go."""

from __future__ import annotations

from collections.abc import Mapping

from apiserver_emulator.strategy import BaseStrategy, RequestContext
from dra_api.objects import Obj


class NamespaceStrategy(BaseStrategy):
    """Namespaces: the kubernetes finalizer, the name label, the phase."""

    def default(self, obj: Obj) -> None:
        """SetDefaults_Namespace: the well-known name label."""
        name = obj["metadata"].get("name")
        if name:
            obj["metadata"].setdefault("labels", {})["kubernetes.io/metadata.name"] = name

    def prepare_create(self, obj: Obj, ctx: RequestContext) -> None:
        """Start active, held by its finalizer."""
        obj["status"] = {"phase": "Active"}
        spec = obj.setdefault("spec", {})
        finalizers = spec.setdefault("finalizers", [])
        if "kubernetes" not in finalizers:
            finalizers.append("kubernetes")

    def canonicalize(self, obj: Obj) -> None:
        """Set the name label once more: `default` runs before a generated name is known."""
        self.default(obj)

    def prepare_update(self, new: Obj, old: Obj, ctx: RequestContext) -> None:
        """Restore finalizers and status; the subresource `finalize` changes spec.finalizers only."""
        if ctx.subresource == "finalize":
            spec = new.get("spec") or {}
            new_finalizers = spec.get("finalizers")
            new["status"] = old.get("status", {})
            if new_finalizers:
                new["spec"] = {"finalizers": new_finalizers}
            else:
                new["spec"] = {}
            return
        new["spec"] = old.get("spec", {})
        if ctx.subresource == "status":
            for condition in (new.get("status") or {}).get("conditions") or ():
                condition.setdefault("lastTransitionTime", None)
        else:
            new["status"] = old.get("status", {})

    def on_delete(self, obj: Obj, now: str) -> None:
        """Set the phase of a namespace that is being deleted."""
        obj.setdefault("status", {})["phase"] = "Terminating"


def namespace_fields(obj: Obj) -> Mapping[str, str]:
    """By which fields namespaces can be selected."""
    return {"status.phase": (obj.get("status") or {}).get("phase", "")}
