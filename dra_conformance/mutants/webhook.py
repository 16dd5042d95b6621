"""Mutants of the reference admission webhook."""

from __future__ import annotations

import socket
import socketserver
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from dra_api.threads import started
from dra_conformance.engine.mutation import Patch, mutant
from reference_impl.kubelet_plugin.configs import ConfigError, EnabledSharing

REVIEW = "reference_impl.webhook.review"
SERVER = "reference_impl.webhook.server"
DOCUMENT = "reference_impl.webhook.document"
CONFIGS = "reference_impl.kubelet_plugin.configs"


def change_answer(patch: Patch, change: Callable[[dict[str, Any]], object]) -> None:
    """Apply `change` to every AdmissionReview that is returned."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def answer(*args: Any, **more: Any) -> Any:
            found = original(*args, **more)
            change(found)
            return found

        return answer

    patch.wrap(f"{REVIEW}:answer", make)


def change_decision(patch: Patch, when: Callable[[dict[str, Any]], bool]) -> None:
    """Admit what should be refused, if `when` is true for the status of the refusal."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def decide(*args: Any, **more: Any) -> Any:
            found = original(*args, **more)
            return {"allowed": True} if when(found.get("status") or {}) else found

        return decide

    patch.wrap(f"{REVIEW}:decide", make)


def change_responses(patch: Patch, change: Callable[..., tuple[int, bytes, bytes]]) -> None:
    """Respond to every request by `change`, which gets the original function and its arguments."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def response(path: str, content_type: bytes, body: bytes | None, gates: EnabledSharing) -> Any:
            return change(original, path, content_type, body, gates)

        return response

    patch.wrap(f"{SERVER}:response", make)


def forgive(patch: Patch, text: str) -> None:
    """Pass configurations whose problem holds this text."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def problems_in(*args: Any, **more: Any) -> Any:
            return (problem for problem in original(*args, **more) if text not in problem)

        return problems_in

    patch.wrap(f"{REVIEW}:problems_in", make)


def reword(patch: Patch, old: str, new: str) -> None:
    """Change the text of every problem."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def problems_in(*args: Any, **more: Any) -> Any:
            return (problem.replace(old, new) for problem in original(*args, **more))

        return problems_in

    patch.wrap(f"{REVIEW}:problems_in", make)


# -- the protocol ------------------------------------------------------------------------------------------------------


@mutant("webhook-reads-any-content-type", rule="NV-129")
def _(patch: Patch) -> None:
    """A body with another content type than JSON is read."""
    change_responses(patch, lambda original, path, content_type, *more: original(path, b"application/json", *more))


@mutant("webhook-reads-patches", rule="NV-129")
def _(patch: Patch) -> None:
    """Any content type that begins like that of JSON is read."""

    def change(original: Callable[..., Any], path: str, content_type: bytes, *more: Any) -> Any:
        kind = b"application/json"
        return original(path, kind if content_type.startswith(kind) else content_type, *more)

    change_responses(patch, change)


@mutant("webhook-without-tls", rule="NV-129a")
def _(patch: Patch) -> None:
    """The webhook serves plain HTTP."""
    patch.wrap(f"{SERVER}:Webhook.start", lambda original: lambda self: original(_without_tls(self)))


def _without_tls(webhook: Any) -> Any:
    webhook.options = replace(webhook.options, certificate=None, key=None)
    return webhook


@mutant(
    "webhook-serves-http-beside-tls",
    rule="NV-129a",
    scenario="webhook/protocol#the-webhook-rejects-reviews-without-tls",
)
def _(patch: Patch) -> None:
    """Clients without a TLS handshake are served plain HTTP."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def start(self: Any) -> None:
            plain = _without_tls(type(self)(options=self.options))
            original(self)
            original(plain)
            splitter = _Splitter(("127.0.0.1", 0), _Split)
            splitter.secure, splitter.plain = self.address, plain.address
            self.address = splitter.server_address
            started(splitter.serve_forever, name="splitter")

        return start

    patch.wrap(f"{SERVER}:Webhook.start", make)


class _Splitter(socketserver.ThreadingTCPServer):
    """Connects clients with a TLS handshake to one server, and all others to another."""

    daemon_threads = True
    secure: tuple[str, int]
    plain: tuple[str, int]


class _Split(socketserver.BaseRequestHandler):
    server: _Splitter

    def handle(self) -> None:
        # 0x16 is the first byte of a TLS handshake record; MSG_PEEK leaves it for the server.
        secure = self.request.recv(1, socket.MSG_PEEK) == b"\x16"
        with socket.create_connection(self.server.secure if secure else self.server.plain) as there:
            started(lambda: _copy(self.request, there), name="splitter-requests")
            _copy(there, self.request)


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)


@mutant("webhook-accepts-every-kind-of-review", rule="NV-130")
def _(patch: Patch) -> None:
    """The kind of the document is not checked."""
    patch.replace(f"{REVIEW}:request_of", lambda review: review.get("request") or {})


@mutant("webhook-accepts-invalid-json", rule="NV-130")
def _(patch: Patch) -> None:
    """A body that is not JSON counts as an empty review."""
    empty = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {}}

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def read(body: bytes) -> Any:
            try:
                return original(body)
            except ValueError:
                return empty

        return read

    patch.wrap(f"{DOCUMENT}:read", make)


@mutant("webhook-omits-the-uid", rule="NV-131")
def _(patch: Patch) -> None:
    """The response has no uid."""
    change_answer(patch, lambda found: found["response"].pop("uid"))


@mutant("webhook-refuses-with-an-http-error", rule="NV-131")
def _(patch: Patch) -> None:
    """A refusal is an HTTP 403 instead of an AdmissionReview."""

    def change(original: Callable[..., Any], *request: Any) -> Any:
        status, body, content_type = original(*request)
        return 403 if b'"allowed":false' in body else status, body, content_type

    change_responses(patch, change)


@mutant("webhook-response-without-kind", rule="NV-131a")
def _(patch: Patch) -> None:
    """The response has no kind and no apiVersion."""
    change_answer(patch, lambda found: (found.pop("kind"), found.pop("apiVersion")))


@mutant("webhook-responds-in-v1beta1", rule="NV-131a")
def _(patch: Patch) -> None:
    """The response has an older version than the request."""
    change_answer(patch, lambda found: found.update(apiVersion="admission.k8s.io/v1beta1"))


@mutant("webhook-responds-as-text", rule="NV-131b")
def _(patch: Patch) -> None:
    """The response is declared as plain text."""
    change_responses(patch, lambda original, *request: (*original(*request)[:2], b"text/plain"))


@mutant("webhook-is-never-ready", rule="NV-131c")
def _(patch: Patch) -> None:
    """There is nothing at /readyz."""
    change_responses(patch, lambda original, path, *more: original("/not-found" if path == "/readyz" else path, *more))


@mutant("webhook-admits-other-resources", rule="NV-132")
def _(patch: Patch) -> None:
    """Unknown resources are admitted."""
    change_decision(patch, lambda status: status.get("message", "").startswith("expected resource"))


@mutant("webhook-admits-unknown-versions", rule="NV-132")
def _(patch: Patch) -> None:
    """A version that does not exist is read like v1."""
    patch.replace(f"{REVIEW}:VERSIONS", ("v1", "v1beta2", "v1beta1", "v9"))


@mutant("webhook-accepts-malformed-claims", rule="NV-132a")
def _(patch: Patch) -> None:
    """An object of the wrong shape is treated as empty."""
    patch.replace(f"{REVIEW}:_a", lambda value, kind, where: value if isinstance(value, kind) else kind())


@mutant("webhook-disconnects-on-malformed-claims", rule="NV-132a")
def _(patch: Patch) -> None:
    """An object of the wrong shape ends the request with an internal error."""

    def hang_up(value: Any, kind: type, where: str) -> Any:
        if value is not None and not isinstance(value, kind):
            raise OSError(where)
        return value or kind()

    patch.replace(f"{REVIEW}:_a", hang_up)


# -- configurations ----------------------------------------------------------------------------------------------------


@mutant("webhook-supports-v1-only", rule="NV-133")
def _(patch: Patch) -> None:
    """Claims in older versions are refused."""
    patch.replace(f"{REVIEW}:VERSIONS", ("v1",))


@mutant("webhook-rejects-mig-configuration", rule="NV-133")
def _(patch: Patch) -> None:
    """MigDeviceConfig is refused like a kind that does not exist."""

    def make(original: tuple[type, ...]) -> tuple[type, ...]:
        return tuple(kind for kind in original if kind.__name__ != "MigDeviceConfig")

    patch.wrap(f"{REVIEW}:_RECOGNIZED", make)


@mutant("webhook-drops-unknown-fields", rule="NV-133a")
def _(patch: Patch) -> None:
    """Unknown fields are dropped without an error."""
    forgive(patch, "unknown field")


@mutant("webhook-checks-top-level-fields-only", rule="NV-133a")
def _(patch: Patch) -> None:
    """Only the outermost fields are read strictly."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda value, schema, where: [] if where else original(value, schema, where)

    patch.wrap(f"{CONFIGS}:_unknown", make)


@mutant("webhook-admits-unknown-kinds", rule="NV-133b")
def _(patch: Patch) -> None:
    """An unknown kind is treated as a kind of another driver."""
    forgive(patch, "no kind")


@mutant("webhook-admits-configurations-without-kind", rule="NV-133b")
def _(patch: Patch) -> None:
    """Configuration without a kind is admitted."""
    forgive(patch, "Object 'Kind' is missing")


@mutant("webhook-ignores-api-version", rule="NV-133b")
def _(patch: Patch) -> None:
    """Only the kind of a configuration is checked."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def decode(parameters: Any, **more: Any) -> Any:
            return original({**parameters, "apiVersion": "resource.nvidia.com/v1beta1"}, **more)

        return decode

    patch.wrap(f"{CONFIGS}:decode", make)


@mutant("webhook-admits-unknown-strategies", rule="NV-133c")
def _(patch: Patch) -> None:
    """Any strategy is admitted."""
    forgive(patch, "unknown GPU sharing strategy")


@mutant(
    "webhook-admits-unknown-intervals",
    rule="NV-133c",
    scenario="webhook/sharing#an-unknown-time-slice-such-as-interval-is-refused-with-the-known-ones",
)
def _(patch: Patch) -> None:
    """Any time slice is admitted."""
    forgive(patch, "unknown time-slice interval")


@mutant("webhook-admits-any-percentage", rule="NV-133c")
def _(patch: Patch) -> None:
    """The thread percentage is not checked."""
    forgive(patch, "active thread percentage")


@mutant("webhook-admits-updates", rule="NV-133d")
def _(patch: Patch) -> None:
    """Only create requests are validated."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def decide(request: Any, **more: Any) -> Any:
            return {"allowed": True} if request.get("operation") == "UPDATE" else original(request, **more)

        return decide

    patch.wrap(f"{REVIEW}:decide", make)


@mutant("webhook-refuses-updates", rule="NV-133d")
def _(patch: Patch) -> None:
    """The spec of a claim cannot change, so every update is refused."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def decide(request: Any, **more: Any) -> Any:
            if request.get("operation") == "UPDATE":
                # The message that the scenario expects of a wrong update, so that only the good update fails.
                return {"allowed": False, "status": {"reason": "Invalid", "message": 'unknown field "sharin"'}}
            return original(request, **more)

        return decide

    patch.wrap(f"{REVIEW}:decide", make)


@mutant("webhook-accepts-duplicate-fields", rule="NV-133e")
def _(patch: Patch) -> None:
    """If a field occurs twice, the last value is used."""
    patch.replace(f"{REVIEW}:repeated_fields", lambda *parameters: [])


@mutant("webhook-accepts-any-type", rule="NV-133f")
def _(patch: Patch) -> None:
    """Values of the wrong type are admitted."""
    forgive(patch, "wrong type")


@mutant("webhook-omits-field-of-wrong-type", rule="NV-133f")
def _(patch: Patch) -> None:
    """The refusal of a value of the wrong type does not name its field."""
    reword(patch, ".opaque.parameters", "")


@mutant("webhook-admits-domains-without-id", rule="NV-133g")
def _(patch: Patch) -> None:
    """ComputeDomain configurations are not validated."""
    forgive(patch, "domainID cannot be empty")


@mutant("webhook-disconnects-without-interval", rule="NV-133h")
def _(patch: Patch) -> None:
    """A time slice without an interval ends the request without a review, as in the upstream webhook."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def validate(config: Any, *gates: Any) -> None:
            if getattr(getattr(config, "sharing", None), "interval", None) is not None:
                raise OSError("nil pointer")
            original(config, *gates)

        return validate

    patch.wrap(f"{CONFIGS}:validate", make)


@mutant("webhook-reports-first-problem-only", rule="NV-134")
def _(patch: Patch) -> None:
    """Only the first of two mistakes is reported."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def problems_in(*args: Any, **more: Any) -> Any:
            return list(original(*args, **more))[:1]

        return problems_in

    patch.wrap(f"{REVIEW}:problems_in", make)


@mutant("webhook-counts-invalid-configurations-only", rule="NV-134")
def _(patch: Patch) -> None:
    """The index in a field path counts only the invalid configurations."""
    reword(patch, "config[2]", "config[1]")


@mutant("webhook-template-paths-of-claims", rule="NV-135")
def _(patch: Patch) -> None:
    """Field paths in a template are those of a claim."""
    reword(patch, "spec.spec.", "spec.")


@mutant("webhook-validates-other-drivers", rule="NV-136")
def _(patch: Patch) -> None:
    """Configuration of every driver is validated."""
    patch.replace(f"{REVIEW}:is_checked", lambda opaque: True)


@mutant("webhook-checks-first-driver-only", rule="NV-136")
def _(patch: Patch) -> None:
    """A claim is validated only if its first configuration is for the GPU driver."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def problems_in(obj: Any, where: tuple[str, ...], **more: Any) -> Any:
            found = obj
            # The path of the devices in a claim or in a template.
            for step in where:
                found = found.get(step) or {}
            first = (found.get("config") or [{}])[0].get("opaque") or {}
            return original(obj, where, **more) if first.get("driver") == "gpu.nvidia.com" else ()

        return problems_in

    patch.wrap(f"{REVIEW}:problems_in", make)


@mutant("webhook-does-not-validate-compute-domains", rule="NV-317")
def _(patch: Patch) -> None:
    """Configuration of the ComputeDomain driver is admitted without validation."""
    patch.replace(f"{REVIEW}:is_checked", lambda opaque: opaque.get("driver") == "gpu.nvidia.com")


@mutant("webhook-checks-domains-for-emptiness-only", rule="NV-317")
def _(patch: Patch) -> None:
    """Any text is the id of a ComputeDomain."""
    forgive(patch, "label value")


@mutant("webhook-refuses-compute-domains", rule="NV-317")
def _(patch: Patch) -> None:
    """Configuration of a ComputeDomain is refused."""
    kinds = ("GpuConfig", "MigDeviceConfig", "VfioDeviceConfig")
    patch.wrap(f"{REVIEW}:_RECOGNIZED", lambda known: tuple(one for one in known if one.__name__ in kinds))


@mutant("webhook-refuses-pass-through", rule="NV-318")
def _(patch: Patch) -> None:
    """VfioDeviceConfig is refused."""
    patch.wrap(f"{REVIEW}:_RECOGNIZED", lambda known: tuple(one for one in known if one.__name__ != "VfioDeviceConfig"))


@mutant("webhook-admits-any-backend-policy", rule="NV-318")
def _(patch: Patch) -> None:
    """The backend policy is not checked."""
    forgive(patch, "backend policy")


@mutant("webhook-admits-mig-time-slice", rule="NV-139")
def _(patch: Patch) -> None:
    """MigDeviceConfig can have a time slice."""
    forgive(patch, "sharing.timeSlicingConfig")


@mutant("webhook-refuses-mps-settings-beside-time-slicing", rule="NV-140")
def _(patch: Patch) -> None:
    """Configuration that the driver refuses later is refused by the webhook."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def validate(config: Any, *gates: Any) -> None:
            sharing = getattr(config, "sharing", None)
            if sharing is not None and sharing.strategy == "TimeSlicing" and sharing.mps is not None:
                raise ConfigError("cannot use MpsConfig with the 'TimeSlicing' strategy")
            original(config, *gates)

        return validate

    patch.wrap(f"{CONFIGS}:validate", make)


def with_gates(patch: Patch, **gates: bool) -> None:
    """Run the webhook with these gates, and ignore its configuration."""
    change_responses(patch, lambda original, *request: original(*request[:-1], replace(request[-1], **gates)))


@mutant("webhook-ignores-the-gate-of-time-slicing", rule="NV-141")
def _(patch: Patch) -> None:
    """Time slicing is admitted without its gate."""
    with_gates(patch, time_slicing=True)


@mutant("webhook-ignores-the-gate-of-mps", rule="NV-141")
def _(patch: Patch) -> None:
    """MPS is admitted without its gate."""
    with_gates(patch, mps=True)


@mutant("webhook-never-turns-gates-on", rule="NV-141a")
def _(patch: Patch) -> None:
    """The gates stay off."""
    with_gates(patch, time_slicing=False, mps=False)


@mutant("webhook-requires-settings", rule="NV-141a")
def _(patch: Patch) -> None:
    """A strategy without settings of its own is refused."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def validate(config: Any, *gates: Any) -> None:
            sharing = getattr(config, "sharing", None)
            if sharing is not None and sharing.mps is None and sharing.interval is None:
                raise ConfigError("a strategy needs its settings")
            original(config, *gates)

        return validate

    patch.wrap(f"{CONFIGS}:validate", make)


@mutant("webhook-admits-kinds-without-configuration", rule="NV-133b")
def _(patch: Patch) -> None:
    """A ComputeDomain is admitted as configuration, although no device takes it."""
    patch.replace(f"{REVIEW}:_RECOGNIZED", (object,))
