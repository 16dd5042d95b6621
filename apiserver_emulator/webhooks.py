"""Validating admission webhooks: called over HTTPS with AdmissionReview v1 after validation, before the store.

Configurations are read from the store on each write that might match. HTTP pools belong to this object; `close` ends
them.

Source: k8s.io/apiserver pkg/admission/plugin/webhook (matching, texts), admission.k8s.io/v1.
"""

from __future__ import annotations

import base64
import importlib
import ssl
import threading
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit, urlunsplit

import orjson
import urllib3

from apiserver_emulator import webhook_answers
from apiserver_emulator.core import Core
from apiserver_emulator.resource_types import ResourceType
from apiserver_emulator.selectors import structured_selector
from apiserver_emulator.store import Record
from apiserver_emulator.strategy import RequestContext
from apiserver_emulator.webhook_answers import Answer, CallError, Status
from dra_api.gotext import go_quote
from dra_api.request import RequestInfo
from dra_api.status import StatusError, forbidden, internal_error

Obj = dict[str, Any]

CONFIGURATIONS = ("admissionregistration.k8s.io", "validatingwebhookconfigurations")
# Never reviewed: a broken webhook must not block the removal of its own configuration.
_EXEMPT = frozenset({CONFIGURATIONS, (CONFIGURATIONS[0], "mutatingwebhookconfigurations")})
CONDITION_VARIABLES = ("object", "oldObject", "request", "authorizer")
"""The variables of match conditions."""
_REVIEW_VERSIONS = ("v1", "v1beta1")
MAX_PARALLEL = 8


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one webhook said about a request. `refusal`: why the request is not carried out; None if it is allowed."""

    warnings: tuple[str, ...] = ()
    refusal: StatusError | None = None


class ValidatingWebhooks:
    """Calls the webhooks of ValidatingWebhookConfigurations.

    `service_addresses` maps (namespace, service name) to "host:port": there is no cluster network to resolve services.
    """

    def __init__(self, core: Core) -> None:
        self._core = core
        # Writes review at the same time, on many threads: without the lock, two of them could create one pool each, of
        # which `close` would find one.
        self._lock = threading.Lock()
        self._pools: dict[bytes, urllib3.PoolManager] = {}
        self.service_addresses: dict[tuple[str, str], str] = {}

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            for pool in self._pools.values():
                pool.clear()
            self._pools.clear()

    def _configurations(self) -> list[Record]:
        return self._core.store.snapshot(CONFIGURATIONS)[0]

    def any(self) -> bool:
        """Whether there is any configuration."""
        return bool(self._configurations())

    def interested(self, resource: ResourceType, operation: str, info: RequestInfo) -> bool:
        """Whether some hook's rules match the request."""
        if resource.key in _EXEMPT or not self.any():
            return False
        return any(self._rule_match(hook, resource, operation, info) for hook in self._hooks())

    def _hooks(self) -> list[Obj]:
        return [hook for record in self._configurations() for hook in record.obj.get("webhooks") or ()]

    def review(
        self,
        resource: ResourceType,
        operation: str,
        info: RequestInfo,
        ctx: RequestContext,
        obj: Obj | None,
        old: Obj | None,
        options: Obj,
    ) -> None:
        """Call all matching hooks. Warnings are added, and the first refusal is raised, in the order of the hooks."""
        matching: list[tuple[Obj, str]] = []
        for hook in self._hooks():
            version = self._rule_match(hook, resource, operation, info)
            if not version or not self._selected(hook, resource, info, obj, old):
                continue
            if hook.get("matchConditions"):
                request = self._request(version, resource, operation, info, ctx, obj, old, options)
                if not _conditions_hold(hook, resource, request):
                    continue
            matching.append((hook, version))
        if not matching:
            return

        def call(hook: Obj, version: str) -> Verdict:
            try:
                return self._call(hook, version, resource, operation, info, ctx, obj, old, options)
            except StatusError as error:  # no bug, so it must not hide the warnings and bugs of other webhooks
                return Verdict(refusal=error)

        if len(matching) == 1:
            verdicts = [call(*matching[0])]
        else:
            # Threads of this review only: one that all reviews share can be closed under a review, and a webhook that
            # writes objects itself would wait for a thread that its own review holds.
            count = min(len(matching), MAX_PARALLEL)
            with ThreadPoolExecutor(count, thread_name_prefix="apiserver-webhook") as threads:
                calls = [threads.submit(call, *each) for each in matching]
            # All calls have ended, also after a refusal. A bug in one of them is raised here.
            verdicts = [each.result() for each in calls]
        for verdict in verdicts:
            for warning in verdict.warnings:
                ctx.warn(warning)
        for verdict in verdicts:
            if verdict.refusal is not None:
                raise verdict.refusal

    # --- matching ----------------------------------------------------------------------------------------------

    def _rule_match(self, hook: Obj, resource: ResourceType, operation: str, info: RequestInfo) -> str:
        """Return the version of the object that the webhook gets; empty if no rule matches."""
        # Equivalent is the default: a rule for any served version matches, the request's own version first.
        candidates = [info.version, *(v for v in resource.versions if v != info.version)]
        if hook.get("matchPolicy") == "Exact":
            candidates = candidates[:1]
        for version in candidates:
            for rule in hook.get("rules") or ():
                if _rule_matches(rule, resource, operation, info, version):
                    return version
        return ""

    def _selected(self, hook: Obj, resource: ResourceType, info: RequestInfo, obj: Obj | None, old: Obj | None) -> bool:
        selector = hook.get("namespaceSelector")
        if selector:
            # Without labels the selector is ignored: cluster-scoped objects other than namespaces.
            labels = None
            if resource.namespaced:
                labels = self._core.namespace_labels(info.namespace)
            elif resource.key == ("", "namespaces"):
                labels = ((obj or old or {"metadata": {}})["metadata"]).get("labels") or {}
            if labels is not None and not structured_selector(selector)(labels):
                return False
        selector = hook.get("objectSelector")
        if selector:
            match = structured_selector(selector)
            # One side is enough: an update that removes the label is still reviewed.
            sides = [side["metadata"].get("labels") or {} for side in (obj, old) if side is not None]
            if not any(match(labels) for labels in sides):
                return False
        return True

    # --- calling -----------------------------------------------------------------------------------------------

    def _call(
        self,
        hook: Obj,
        version: str,
        resource: ResourceType,
        operation: str,
        info: RequestInfo,
        ctx: RequestContext,
        obj: Obj | None,
        old: Obj | None,
        options: Obj,
    ) -> Verdict:
        request = self._request(version, resource, operation, info, ctx, obj, old, options)
        name = hook.get("name", "")
        timeout = float(hook.get("timeoutSeconds", 10))
        try:
            answer = self._post(hook, request, timeout)
        except CallError as error:
            if hook.get("failurePolicy") == "Ignore":
                return Verdict()
            return Verdict(refusal=internal_error(f"failed calling webhook {go_quote(name)}: {error}"))
        return Verdict(tuple(answer.warnings), None if answer.allowed else denial(name, answer.status))

    def _request(
        self,
        version: str,
        resource: ResourceType,
        operation: str,
        info: RequestInfo,
        ctx: RequestContext,
        obj: Obj | None,
        old: Obj | None,
        options: Obj,
    ) -> Obj:
        converter = self._core.converter(resource, version)

        def shown(value: Obj | None) -> Obj | None:
            if value is None or converter is None:
                return value
            # A copy: converters may change their argument.
            return converter(orjson.loads(orjson.dumps(value)))

        kind = {"group": resource.group, "version": version, "kind": resource.kind}
        target = {"group": resource.group, "version": version, "resource": resource.plural}
        request: Obj = {
            "uid": str(uuid.uuid4()),
            "kind": kind,
            "resource": target,
            "requestKind": {**kind, "version": info.version},
            "requestResource": {**target, "version": info.version},
            "operation": operation,
            "userInfo": {
                "username": ctx.user.name,
                "uid": ctx.user.uid,
                "groups": list(ctx.user.groups),
                "extra": {k: list(v) for k, v in ctx.user.extra.items()},
            },
            "object": shown(obj),
            "oldObject": shown(old),
            "dryRun": ctx.dry_run,
            "options": options,
        }
        # Without name: the deletion of a collection, whose webhooks get the objects one after the other.
        name = ((obj or old or {"metadata": {}})["metadata"]).get("name", "")
        if name and info.verb != "deletecollection":
            request["name"] = name
        if resource.namespaced:
            request["namespace"] = info.namespace
        elif resource.key == ("", "namespaces"):
            request["namespace"] = name
        if info.subresource:
            request["subResource"] = request["requestSubResource"] = info.subresource
        return request

    def _post(self, hook: Obj, request: Obj, timeout: float) -> Answer:
        # The first one that the server supports too: the list is in the webhook's order of preference.
        offered = hook.get("admissionReviewVersions") or ()
        review_version = next((version for version in offered if version in _REVIEW_VERSIONS), "v1")
        review = {"kind": "AdmissionReview", "apiVersion": f"admission.k8s.io/{review_version}", "request": request}
        url = self._url(hook.get("clientConfig") or {}, timeout)
        pool = self._pool(hook.get("clientConfig") or {})
        shown = url.split("?", 1)[0]
        try:
            answer = _within(
                timeout,
                lambda: _exchange(pool, url, orjson.dumps(review), timeout),
            )
            if answer is None:
                raise CallError(f"failed to call webhook: Post {go_quote(url)}: context deadline exceeded")
        except urllib3.exceptions.HTTPError as error:
            raise CallError(f"failed to call webhook: Post {go_quote(url)}: {error}") from error
        if answer.status != 200:
            raise CallError(f"failed to call webhook: the server answered {answer.status} at {shown}")
        if len(answer.body) > webhook_answers.MAX_SIZE:
            raise CallError(f"failed to call webhook: the answer is longer than {webhook_answers.MAX_SIZE} bytes")
        return webhook_answers.read(answer.body, api_version=str(review["apiVersion"]), uid=str(request["uid"]))

    def _url(self, client: Obj, timeout: float) -> str:
        query = urlencode({"timeout": f"{int(timeout)}s"})
        if "url" in client:
            parts = urlsplit(client["url"])
            return urlunsplit((parts.scheme, parts.netloc, parts.path, query, ""))
        service = client.get("service") or {}
        key = (service.get("namespace", ""), service.get("name", ""))
        address = self.service_addresses.get(key)
        if address is None:
            raise CallError(
                f"service {go_quote(key[1])} not found: the embedded control plane has no cluster network; give the "
                "webhook a clientConfig.url, or register the service's address"
            )
        return f"https://{address}/{str(service.get('path', '')).lstrip('/')}?{query}"

    def _pool(self, client: Obj) -> urllib3.PoolManager:
        service = client.get("service")
        bundle = base64.b64decode(client.get("caBundle") or "")
        # The certificate is for the service's DNS name, whatever address the connection uses.
        name = f"{service.get('name')}.{service.get('namespace')}.svc" if service else ""
        # One pool for each CA bundle and server name: both belong to the TLS settings.
        key = bundle + b"\0" + name.encode()
        with self._lock:
            pool = self._pools.get(key)
            if pool is None:
                context = ssl.create_default_context(cadata=bundle.decode() if bundle else None)
                extra: dict[str, Any] = {"server_hostname": name, "assert_hostname": name} if name else {}
                pool = self._pools[key] = urllib3.PoolManager(ssl_context=context, maxsize=MAX_PARALLEL, **extra)
            return pool


@dataclass(frozen=True, slots=True)
class _HTTPAnswer:
    """An HTTP response. `body` ends one byte after the limit of its size."""

    status: int
    body: bytes


def _exchange(pool: urllib3.PoolManager, url: str, body: bytes, timeout: float) -> _HTTPAnswer:
    answer = pool.request(
        "POST",
        url,
        body=body,
        headers={"Content-Type": "application/json", "Accept": "application/json, */*"},
        timeout=timeout,
        retries=False,
        preload_content=False,
    )
    content = answer.read(webhook_answers.MAX_SIZE + 1)
    if len(content) > webhook_answers.MAX_SIZE:
        answer.close()  # the rest has no reader
    else:
        answer.release_conn()
    return _HTTPAnswer(answer.status, content)


def _within(seconds: float, call: Callable[[], _HTTPAnswer]) -> _HTTPAnswer | None:
    """Return the response of a call, None after `seconds`. A socket's timeout would start again with every byte."""
    found: list[_HTTPAnswer] = []
    failed: list[Exception] = []

    def run() -> None:
        try:
            found.append(call())
        except Exception as error:  # raised by the caller, below
            failed.append(error)

    thread = threading.Thread(target=run, name="apiserver-webhook-call", daemon=True)
    thread.start()
    thread.join(seconds)
    if failed:
        raise failed[0]
    return found[0] if found else None


def _rule_matches(rule: Obj, resource: ResourceType, operation: str, info: RequestInfo, version: str) -> bool:
    operations = rule.get("operations") or ()
    if "*" not in operations and operation not in operations:
        return False
    groups, versions = rule.get("apiGroups") or (), rule.get("apiVersions") or ()
    if "*" not in groups and resource.group not in groups:
        return False
    if "*" not in versions and version not in versions:
        return False
    scope = rule.get("scope", "*")
    if scope == "Namespaced" and not resource.namespaced:
        return False
    if scope == "Cluster" and resource.namespaced:
        return False
    for pattern in rule.get("resources") or ():
        plural, _, sub = pattern.partition("/")
        if plural not in ("*", resource.plural):
            continue
        if sub in ("*", info.subresource):
            return True
    return False


def _conditions_hold(hook: Obj, resource: ResourceType, request: Obj) -> bool:
    """Return whether each match condition of a webhook is true for a request.

    Raises 403 if one cannot be evaluated, none is false, and the webhook must not be skipped. Not emulated: conditions
    that call the authorizer count as true.
    """
    # Imported on use: the compiler's tables cost start-up time that most servers need not pay.
    cel = importlib.import_module("dra_api.cel")
    values = {"object": request["object"], "oldObject": request["oldObject"]}
    values["request"] = {name: value for name, value in request.items() if name not in values}
    problems: list[str] = []
    for condition in hook["matchConditions"]:
        if "authorizer" in condition["expression"]:
            continue
        try:
            if cel.compile_rule(condition["expression"], variables=CONDITION_VARIABLES).evaluate(values) is not True:
                return False
        except cel.CelError as error:
            problems.append(f"expression '{condition['expression']}' resulted in error: {error}")
    if not problems:
        return True
    if hook.get("failurePolicy") == "Ignore":
        return False
    text = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
    raise forbidden(resource.group, resource.plural, request.get("name", ""), text)


def denial(name: str, status: Status) -> StatusError:
    """Return the refusal of a request by the webhook of a name."""
    denied = f'admission webhook "{name}" denied the request'
    if status.message:
        text = f"{denied}: {status.message}"
    elif status.reason:
        text = f"{denied}: {status.reason}"
    else:
        text = f"{denied} without explanation"
    # A denial is never a success, and HTTP has no codes of four digits, whatever code the webhook set.
    code = status.code if 400 <= status.code <= 999 else 400
    return StatusError(code, status.reason, text, details=status.details)
