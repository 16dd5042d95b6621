"""Kinds with a rule or two of their own, and those that only have a status. Source: pkg/registry/*/strategy.go."""

from __future__ import annotations

from apiserver_emulator.node_authorizer import restrict_lease
from apiserver_emulator.strategy import BaseStrategy, RequestContext
from dra_api.objects import Obj
from dra_api.status import FieldError, forbidden_field, invalid, required

HIGHEST_USER_PRIORITY = 1_000_000_000


class StatusStrategy(BaseStrategy):
    """Kinds with a status subresource."""

    status_subresource = True


class GenerationStrategy(BaseStrategy):
    """Kinds with a status subresource and a generation that counts spec changes."""

    status_subresource = True
    generation = True


class WorkloadStrategy(GenerationStrategy):
    """Deployments, daemon sets and their like: stored with the defaults that clients look at, not acted upon."""

    def default(self, obj: Obj) -> None:
        """The few defaults that kubectl and operators read."""
        spec = obj.setdefault("spec", {})
        if obj.get("kind") in ("Deployment", "StatefulSet", "ReplicaSet"):
            spec.setdefault("replicas", 1)
        if obj.get("kind") in ("Deployment", "DaemonSet", "StatefulSet"):
            spec.setdefault("revisionHistoryLimit", 10)

    def prepare_update(self, new: Obj, old: Obj, ctx: RequestContext) -> None:
        """Count changes of a Deployment's annotations, too: they are copied into its replica sets."""
        super().prepare_update(new, old, ctx)
        before, after = old["metadata"], new["metadata"]
        annotated = (before.get("annotations") or {}) != (after.get("annotations") or {})
        if new.get("kind") == "Deployment" and annotated and not ctx.subresource:
            after["generation"] = int(before.get("generation", 0)) + 1

    def validate_create(self, obj: Obj, ctx: RequestContext) -> list[FieldError]:
        """The selector must be there and match the template."""
        spec = obj["spec"]
        selector = spec.get("selector")
        labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
        if selector is None:
            return [required("spec.selector")]
        wanted = selector.get("matchLabels") or {}
        if any(labels.get(k) != v for k, v in wanted.items()):
            return [invalid("spec.template.metadata.labels", labels, "`selector` does not match template `labels`")]
        return []

    def validate_update(self, new: Obj, old: Obj, ctx: RequestContext) -> list[FieldError]:
        """The selector never changes."""
        if new["spec"].get("selector") != old["spec"].get("selector"):
            return [invalid("spec.selector", new["spec"].get("selector"), "field is immutable")]
        return []


class LeaseStrategy(BaseStrategy):
    """Leases: a few range checks."""

    def default(self, obj: Obj) -> None:
        """Add the empty struct that Go always serializes."""
        obj.setdefault("spec", {})

    def authorize(self, obj: Obj | None, old: Obj | None, ctx: RequestContext) -> None:
        """NodeRestriction."""
        if obj is not None and old is None:
            restrict_lease(obj["metadata"].get("name", ""), ctx.user)

    def validate_create(self, obj: Obj, ctx: RequestContext) -> list[FieldError]:
        """validateLeaseSpec."""
        spec = obj.get("spec") or {}
        problems: list[FieldError] = []
        seconds = spec.get("leaseDurationSeconds")
        if seconds is not None and seconds <= 0:
            problems.append(invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0"))
        transitions = spec.get("leaseTransitions")
        if transitions is not None and transitions < 0:
            problems.append(invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0"))
        return problems

    def validate_update(self, new: Obj, old: Obj, ctx: RequestContext) -> list[FieldError]:
        """The same as for a new lease."""
        return self.validate_create(new, ctx)


class PriorityClassStrategy(BaseStrategy):
    """The rules of priority classes: preemptionPolicy defaults to PreemptLowerPriority."""

    def prepare_create(self, obj: Obj, ctx: RequestContext) -> None:
        """Set the generation, which no update changes."""
        obj["metadata"]["generation"] = 1

    def default(self, obj: Obj) -> None:
        """SetDefaults_PriorityClass."""
        obj.setdefault("preemptionPolicy", "PreemptLowerPriority")

    def validate_create(self, obj: Obj, ctx: RequestContext) -> list[FieldError]:
        """The highest values belong to the system."""
        if obj.get("value", 0) > HIGHEST_USER_PRIORITY and not obj["metadata"]["name"].startswith("system-"):
            text = f"maximum allowed value of a user defined priority is {HIGHEST_USER_PRIORITY}"
            return [forbidden_field("value", text)]
        return []

    def validate_update(self, new: Obj, old: Obj, ctx: RequestContext) -> list[FieldError]:
        """Value and preemption policy never change."""
        problems: list[FieldError] = []
        if new.get("value") != old.get("value"):
            problems.append(forbidden_field("value", "may not be changed in an update."))
        if new.get("preemptionPolicy") != old.get("preemptionPolicy"):
            problems.append(invalid("preemptionPolicy", new.get("preemptionPolicy"), "field is immutable"))
        return problems
