"""The ValidatingWebhookConfiguration with which an API server calls the webhook of a scenario.

It applies to namespaces with a label of the scenario, so it does not affect other claims, and is deleted with the
scenario. It has a second webhook for labelled objects with an unused address: when a dry run fails because of it, the
API server has loaded the configuration, independently of the tested webhook.

Source: admissionregistration.k8s.io/v1; the rules of NVIDIA's chart (deployments/helm, webhook) at 95932046.
"""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path

from dra_api.client import ApiError, Forbidden, KubeClient
from dra_api.objects import NAMESPACES, RESOURCE_CLAIMS, VALIDATING_WEBHOOKS, Obj
from dra_conformance.components.context import ScenarioContext
from dra_conformance.core.errors import Untestable
from dra_conformance.rbac import missing
from dra_conformance.rbac.table import HARNESS

SELECTED = "dra-conformance/webhook"
PROBE = "dra-conformance/probe"
RULE = {
    "apiGroups": ["resource.k8s.io"],
    "apiVersions": ["v1", "v1beta1", "v1beta2"],
    "operations": ["CREATE", "UPDATE"],
    "resources": ["resourceclaims", "resourceclaimtemplates"],
    "scope": "Namespaced",
}
_LIST_WEBHOOKS = (HARNESS, VALIDATING_WEBHOOKS.group, VALIDATING_WEBHOOKS.plural, "list")
# Nothing listens there: the error for a probe names its webhook, so the API server has loaded the configuration.
_NOWHERE = "https://127.0.0.1:1/"


def configuration(name: str, *, url: str, authority: Path, value: str, timeout: int) -> Obj:
    """Return the configuration `name` for namespaces whose label SELECTED has `value`. `timeout` in seconds."""
    common = {
        "rules": [RULE],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "failurePolicy": "Fail",
        "namespaceSelector": {"matchLabels": {SELECTED: value}},
    }
    bundle = base64.b64encode(authority.read_bytes()).decode()
    return {
        "apiVersion": VALIDATING_WEBHOOKS.api_version,
        "kind": VALIDATING_WEBHOOKS.kind,
        "metadata": {"name": name},
        "webhooks": [
            {
                **common,
                "name": "subject.dra-conformance.test",
                "clientConfig": {"url": url, "caBundle": bundle},
                "objectSelector": {"matchExpressions": [{"key": PROBE, "operator": "DoesNotExist"}]},
                "timeoutSeconds": timeout,
            },
            {
                **common,
                "name": "probe.dra-conformance.test",
                "clientConfig": {"url": _NOWHERE, "caBundle": bundle},
                "objectSelector": {"matchExpressions": [{"key": PROBE, "operator": "Exists"}]},
                "timeoutSeconds": 1,
            },
        ],
    }


def register(world: ScenarioContext, *, url: str, authority: Path) -> None:
    """Register the webhook for the scenario's namespace, and wait until the API server calls it.

    Raises Untestable if the API server does not load the configuration within the run's patience.
    """
    # The API accepts 1 to 30 seconds.
    timeout = max(1, min(30, round(world.run.patience)))
    name, value = world.name("webhook"), world.suffix
    _load(world, configuration(name, url=url, authority=authority, value=value, timeout=timeout))


def register_unreachable(world: ScenarioContext, *, fields: Obj, rule: Obj, name: str = "webhook") -> None:
    """Register a webhook that cannot be reached, for claims and templates of the scenario's namespace.

    `fields` replace those of the webhook, and `rule` those of its rule. With failurePolicy Fail, every write that
    matches is refused. Raises Untestable like `register`.
    """
    at_claims = {"rules": [{**RULE, **rule}], "clientConfig": {"url": _NOWHERE}, "timeoutSeconds": 1, **fields}
    _register(world, name, [{**at_claims, "name": "subject.dra-conformance.test"}])


def register_answering(world: ScenarioContext, addresses: Mapping[str, Path], *, rule: Obj) -> None:
    """Register a webhook for each URL, in one configuration, like `register_unreachable`.

    `addresses` has the authority of the certificate for each URL.
    """
    unlabelled = {"matchExpressions": [{"key": PROBE, "operator": "DoesNotExist"}]}
    hooks = [
        {
            "name": f"subject-{at}.dra-conformance.test",
            "rules": [{**RULE, **rule}],
            "clientConfig": {"url": url, "caBundle": base64.b64encode(authority.read_bytes()).decode()},
            "objectSelector": unlabelled,
        }
        for at, (url, authority) in enumerate(addresses.items())
    ]
    _register(world, "webhook", hooks)


def _register(world: ScenarioContext, name: str, hooks: Iterable[Obj]) -> None:
    """Register webhooks for the scenario's namespace in one configuration, with one that shows when it is loaded."""
    common: Obj = {
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "failurePolicy": "Fail",
        "namespaceSelector": {"matchLabels": {SELECTED: world.suffix}},
    }
    probe = {
        "name": "probe.dra-conformance.test",
        "rules": [RULE],
        "clientConfig": {"url": _NOWHERE},
        "objectSelector": {"matchExpressions": [{"key": PROBE, "operator": "Exists"}]},
        "timeoutSeconds": 1,
    }
    _load(
        world,
        {
            "apiVersion": VALIDATING_WEBHOOKS.api_version,
            "kind": VALIDATING_WEBHOOKS.kind,
            "metadata": {"name": world.name(name)},
            "webhooks": [{**common, **hook} for hook in (*hooks, probe)],
        },
    )


def _load(world: ScenarioContext, made: Obj) -> None:
    """Create a configuration, and wait until the API server has loaded it. Raises Untestable."""
    world.client.patch(NAMESPACES, world.namespace, {"metadata": {"labels": {SELECTED: world.suffix}}})
    world.create(made)
    clock = world.log.clock
    deadline = clock.monotonic() + max(world.run.patience, 5.0)
    while not _notices(world):
        if clock.monotonic() > deadline:
            raise Untestable("the API server takes no notice of the webhook's configuration")
        clock.wait(threading.Event(), 0.05)


def _notices(world: ScenarioContext) -> bool:
    request = {"name": "r", "exactly": {"deviceClassName": "any"}}
    claim = {
        "apiVersion": RESOURCE_CLAIMS.api_version,
        "kind": RESOURCE_CLAIMS.kind,
        "metadata": {"name": "probe", "namespace": world.namespace, "labels": {PROBE: ""}},
        "spec": {"devices": {"requests": [request]}},
    }
    try:
        # A dry run calls webhooks without side effects, which the configuration declares, and stores nothing.
        world.client.create(RESOURCE_CLAIMS, claim, dry_run=True)
    except ApiError as error:
        # The webhook under test may refuse the probe, too, if it matches; both are in one configuration.
        if "dra-conformance.test" in error.message and "failed calling webhook" in error.message:
            return True
        raise Untestable(f"the API server refuses an ordinary claim: {error.message}") from error
    return False


def not_registered_for_claims(client: KubeClient) -> str:
    """Return why no webhook of the cluster is known to validate ResourceClaims, or an empty text."""
    try:
        found = client.list(VALIDATING_WEBHOOKS).items
    except ApiError as error:
        why = missing.say(_LIST_WEBHOOKS) if isinstance(error, Forbidden) else str(error)
        return f"whether a webhook of the cluster is registered for ResourceClaims is not known: {why}"
    rules = [rule for obj in found for hook in obj.get("webhooks") or () for rule in hook.get("rules") or ()]
    registered = any(
        "resource.k8s.io" in (rule.get("apiGroups") or ()) and "resourceclaims" in (rule.get("resources") or ())
        for rule in rules
    )
    return "" if registered else "no webhook of the cluster is registered for ResourceClaims"
