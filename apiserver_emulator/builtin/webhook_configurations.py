"""Webhook configurations: defaults, and fields that admission needs. Source: pkg/apis/admissionregistration."""

from __future__ import annotations

import importlib

from apiserver_emulator.metadata import qualified_name_problems
from apiserver_emulator.strategy import BaseStrategy, RequestContext
from apiserver_emulator.webhooks import CONDITION_VARIABLES
from dra_api.objects import Obj
from dra_api.status import FieldError, duplicate, invalid, required


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
            problems += _condition_errors(hook.get("matchConditions") or [], f"{field}.matchConditions")
        return problems

    def validate_update(self, new: Obj, old: Obj, ctx: RequestContext) -> list[FieldError]:
        """As for a new one."""
        return self.validate_create(new, ctx)


def _condition_errors(conditions: list[Obj], path: str) -> list[FieldError]:
    """Return the errors in match conditions: each has a name of its own and an expression that compiles."""
    problems: list[FieldError] = []
    names: set[str] = set()
    for at, condition in enumerate(conditions):
        where = f"{path}[{at}]"
        name, expression = str(condition.get("name", "")), str(condition.get("expression", ""))
        if not expression.strip():
            problems.append(required(f"{where}.expression"))
        else:
            problems += _expression_errors(expression, f"{where}.expression")
        if not name:
            problems.append(required(f"{where}.name"))
        else:
            problems += [invalid(f"{where}.name", name, text) for text in qualified_name_problems(name)]
            if name in names:
                problems.append(duplicate(f"{where}.name", name))
        names.add(name)
    return problems


def _expression_errors(expression: str, path: str) -> list[FieldError]:
    # Imported on use: the compiler's tables cost start-up time that most servers need not pay.
    cel = importlib.import_module("dra_api.cel")
    try:
        compiled = cel.compile_rule(expression, variables=CONDITION_VARIABLES)
    except cel.CelCompileError as error:
        return [invalid(path, expression, f"compilation failed: {error}")]
    if compiled.output_type in ("bool", "dyn"):
        return []
    return [invalid(path, expression, "must evaluate to bool")]
