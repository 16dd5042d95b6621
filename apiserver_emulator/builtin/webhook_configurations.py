"""Webhook configurations: defaults, and fields that admission needs. Source: pkg/apis/admissionregistration."""

from __future__ import annotations

from apiserver_emulator.strategy import BaseStrategy, RequestContext
from dra_api.objects import Obj
from dra_api.status import FieldError, invalid, required


class WebhookStrategy(BaseStrategy):
    """Webhook configurations: the defaults that admission relies on."""

    generation = True

    def default(self, obj: Obj) -> None:
        """SetDefaults_ValidatingWebhook."""
        for hook in obj.get("webhooks") or ():
            hook.setdefault("failurePolicy", "Fail")
            hook.setdefault("matchPolicy", "Equivalent")
            hook.setdefault("namespaceSelector", {})
            hook.setdefault("objectSelector", {})
            hook.setdefault("timeoutSeconds", 10)
            for rule in hook.get("rules") or ():
                rule.setdefault("scope", "*")
            service = (hook.get("clientConfig") or {}).get("service")
            if service:
                service.setdefault("port", 443)

    def canonicalize(self, obj: Obj) -> None:
        """Leave an empty list out."""
        if not obj.get("webhooks"):
            obj.pop("webhooks", None)

    def validate_create(self, obj: Obj, ctx: RequestContext) -> list[FieldError]:
        """The parts without which admission cannot work."""
        problems: list[FieldError] = []
        names: set[str] = set()
        for at, hook in enumerate(obj.get("webhooks") or ()):
            field = f"webhooks[{at}]"
            name = hook.get("name", "")
            if not name:
                problems.append(required(f"{field}.name"))
            elif name.count(".") < 2:
                problems.append(
                    invalid(f"{field}.name", name, "should be a domain with at least three segments separated by dots")
                )
            if name in names:
                problems.append(FieldError("FieldValueDuplicate", f"{field}.name", "", name))
            names.add(name)
            versions = hook.get("admissionReviewVersions") or []
            if not versions:
                problems.append(required(f"{field}.admissionReviewVersions", "must specify one of v1, v1beta1"))
            elif "v1" not in versions and "v1beta1" not in versions:
                problems.append(
                    invalid(f"{field}.admissionReviewVersions", versions, "must include at least one of v1, v1beta1")
                )
            if hook.get("sideEffects") not in ("None", "NoneOnDryRun"):
                problems.append(
                    FieldError(
                        "FieldValueNotSupported",
                        f"{field}.sideEffects",
                        'supported values: "None", "NoneOnDryRun"',
                        hook.get("sideEffects"),
                    )
                    if hook.get("sideEffects")
                    else required(f"{field}.sideEffects", "must specify one of None, NoneOnDryRun")
                )
            client = hook.get("clientConfig") or {}
            if ("url" in client) == ("service" in client):
                problems.append(required(f"{field}.clientConfig", "exactly one of url or service is required"))
            if not 1 <= hook.get("timeoutSeconds", 10) <= 30:
                problems.append(
                    invalid(
                        f"{field}.timeoutSeconds",
                        hook.get("timeoutSeconds"),
                        "the timeout value must be between 1 and 30 seconds",
                    )
                )
        return problems

    def validate_update(self, new: Obj, old: Obj, ctx: RequestContext) -> list[FieldError]:
        """As for a new one."""
        return self.validate_create(new, ctx)
