"""The webhook of a run: its start, its endpoint, and direct calls of the harness.

The harness creates address, certificate and key; the webhook must serve HTTPS with them. The reference is started for
every scenario. A program (`exec:`) runs until the end of the run, once for each set of feature gates.

Source: admission.k8s.io/v1 and k8s.io/apiserver pkg/admission/plugin/webhook, v0.36.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path

from dra_api.certificates import CertificateError, Certificates, make
from dra_api.component import Component
from dra_api.feature_gates import gate_list
from dra_conformance.components import readiness
from dra_conformance.components.context import RunContext
from dra_conformance.core.component_spec import WEBHOOK_PLACEHOLDERS, ComponentSpec, fill
from dra_conformance.core.errors import StartFailed, TargetUnreachable
from dra_conformance.core.events import ComponentChanged
from dra_conformance.core.isolation import NONE
from dra_conformance.core.process import ManagedProcess
from reference_impl.errors import ComponentError

HOST = "127.0.0.1"
GATES = ("TimeSlicingSettings", "MPSSupport")
_ANSWER_LIMIT = 1 << 20
_REFERENCE = (
    *(sys.executable, "-m", "reference_impl", "webhook", "--until-stdin-closes", "--host", "{host}"),
    *("--port", "{port}", "--tls-cert-file", "{tls_cert}", "--tls-private-key-file", "{tls_key}"),
    "--driver-feature-gates={feature_gates}",
)


@dataclass(frozen=True, slots=True)
class Reply:
    """The result of a call: an HTTP response, or the `problem` without one."""

    status: int = 0
    content_type: str = ""
    body: bytes = b""
    problem: str = ""

    def __str__(self) -> str:
        if self.problem:
            return f"no answer: {self.problem}"
        return _printable(f"HTTP {self.status} {self.content_type}: {self.body[:400].decode(errors='replace')}")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address of a webhook. `authority` is the CA of its certificate."""

    port: int
    path: str
    authority: Path

    @property
    def url(self) -> str:
        """The URL for admission reviews."""
        return f"https://{HOST}:{self.port}{self.path}"

    def call(
        self,
        method: str,
        path: str,
        body: bytes | None,
        *,
        timeout: float,
        content_type: str | None = None,
        scheme: str = "https",
    ) -> Reply:
        """Send one request on a new connection. `timeout` in seconds; the reply has any error as `problem`."""
        headers = {"Content-Type": content_type} if content_type else {}
        connection = (
            HTTPSConnection(
                HOST, self.port, timeout=timeout, context=ssl.create_default_context(cafile=str(self.authority))
            )
            if scheme == "https"
            else HTTPConnection(HOST, self.port, timeout=timeout)
        )
        late = threading.Event()
        try:
            connection.connect()
            with _cut_off(connection.sock, timeout, late):
                connection.request(method, path, body=body, headers=headers)
                answer = connection.getresponse()
                # Bounded, because a faulty webhook may send without end.
                content = answer.read(_ANSWER_LIMIT)
        except (OSError, HTTPException) as error:
            return Reply(problem=_problem(error, timeout, late=late.is_set()))
        finally:
            connection.close()
        # To the reader the shutdown looks like the end of the body.
        if late.is_set():
            return Reply(problem=_too_late(timeout))
        return Reply(answer.status, answer.getheader("Content-Type") or "", content)


@contextlib.contextmanager
def _cut_off(held: socket.socket, seconds: float, late: threading.Event) -> Iterator[None]:
    """End a connection after a total number of seconds: a socket's timeout starts again with every byte."""

    def cut() -> None:
        late.set()
        with contextlib.suppress(OSError):
            socket.socket.shutdown(held, socket.SHUT_RDWR)  # not the TLS one, which is not safe beside a reader

    timer = threading.Timer(seconds, cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _problem(error: Exception, timeout: float, *, late: bool) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    if late or isinstance(error, TimeoutError):
        return _too_late(timeout)
    if "WRONG_VERSION_NUMBER" in text or "RECORD_LAYER_FAILURE" in text:
        return f"no TLS is spoken there; does it serve plain HTTP? ({text})"
    return _printable(text)


def _too_late(timeout: float) -> str:
    return f"no complete answer came within {timeout:g} s"


def _printable(text: str) -> str:
    """Return text of a program in a form that is safe in reports."""
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)


class WebhookComponent:
    """The webhook of a run. `work` is the run's temporary folder, for certificate and key."""

    def __init__(self, run: RunContext, spec: ComponentSpec, *, work: Path) -> None:
        self._run = run
        self._spec = spec
        self._work = work
        self._made: Certificates | None = None
        self._parts: dict[tuple[bool, ...], tuple[Component, Endpoint]] = {}
        self._processes: dict[str, tuple[ManagedProcess, Endpoint]] = {}
        self.endpoint: Endpoint | None = None
        """The endpoint of the scenario's webhook; None for a webhook of the cluster."""

    @property
    def programs(self) -> list[ManagedProcess]:
        """The programs of the webhook under test, for all feature gates."""
        return [process for process, _ in self._processes.values() if process.isolation is not NONE]

    def start(self, gates: Mapping[str, bool] | None = None) -> None:
        """Start the webhook for a scenario; gates of GATES that are not given are off.

        Raises TargetUnreachable for a program that exits or does not listen, and if no certificate can be created.
        """
        if self._spec.kind not in ("reference", "exec"):
            return
        self.release()
        wanted = {gate: (gates or {}).get(gate, False) for gate in GATES}
        if self._spec.in_process:
            self._start_reference(wanted)
        else:
            self._start_process(gate_list(wanted))

    def release(self) -> None:
        """End the use by a scenario: the webhook continues to run, for later scenarios with the same gates."""
        self.endpoint = None

    def stop(self) -> None:
        """Stop everything that was started. Idempotent."""
        self.release()
        for process, _ in self._processes.values():
            process.stop()
        self._processes.clear()
        for part, _ in self._parts.values():
            part.stop()
        self._parts.clear()

    # -- inside ----------------------------------------------------------------------------------------------------

    def _start_reference(self, gates: Mapping[str, bool]) -> None:
        key = tuple(gates.values())
        if key in self._parts:
            self.endpoint = self._parts[key][1]
            return
        # Deferred: only scenarios with the reference webhook load it.
        from reference_impl.kubelet_plugin.configs import EnabledSharing
        from reference_impl.webhook import Webhook, WebhookOptions

        made = self._certificates()
        part = Webhook(
            options=WebhookOptions(
                host=HOST,
                port=0,
                certificate=made.certificate,
                key=made.key,
                gates=EnabledSharing(time_slicing=gates["TimeSlicingSettings"], mps=gates["MPSSupport"]),
            )
        )
        try:
            part.start()
        except ComponentError as error:
            # The harness chose the address and made the certificate, so there is nothing for the user to fix.
            raise StartFailed("webhook", error) from error
        self._run.log.emit(ComponentChanged(component="webhook", implementation="reference", action="start"))
        self.endpoint = self._endpoint(part.address[1])
        self._parts[key] = part, self.endpoint

    def _start_process(self, gates: str) -> None:
        command = list(self._spec.command) if self._spec.kind == "exec" else list(_REFERENCE)
        # A program whose command line has no gates is the same for all of them.
        key = gates if any("{feature_gates}" in word for word in command) else ""
        held = self._processes.get(key)
        if held is not None and held[0].running:
            self.endpoint = held[1]
            return
        endpoint = self._endpoint(readiness.free_port())
        folder = self._run.target_folder("webhook")
        made = self._certificates()
        own = [str(self._run.isolation.copy(path, folder)) for path in (made.certificate, made.key)]
        kubeconfig = self._run.target_kubeconfig("webhook", through_proxy=False)
        filled = (HOST, str(endpoint.port), *own, gates, str(kubeconfig))
        values = dict(zip(WEBHOOK_PLACEHOLDERS, filled, strict=True))
        process = ManagedProcess(
            "webhook",
            [fill(word, values) for word in command],
            log_path=self._run.log_of("webhook"),
            env={"KUBECONFIG": values["kubeconfig"], "TMPDIR": str(folder)},
            isolation=self._run.isolation.with_folders(folder) if self._spec.kind == "exec" else NONE,
        )
        # The scenario in which it exited has reported that; a cluster would restart it too.
        action = "start" if held is None else "restart"
        self._run.log.emit(ComponentChanged(component="webhook", implementation=self._spec.kind, action=action))
        process.start()
        # Before the wait, so that `stop` ends a webhook that never listens.
        self._processes[key] = (process, endpoint)
        self._wait_listening(process, endpoint)
        self.endpoint = endpoint

    def _wait_listening(self, process: ManagedProcess, endpoint: Endpoint) -> None:
        clock = self._run.log.clock
        seconds = max(self._run.patience, 20.0)
        deadline = clock.monotonic() + seconds
        while not _listens(endpoint.port):
            said = process.quoted_output() or ", without any output"
            hint = "docs/how-to/webhook.md describes what a webhook receives and must do."
            if not process.running:
                message = f"the webhook ended with exit code {process.exit_code} before it listened{said}"
                raise TargetUnreachable(message, hint=hint)
            if clock.monotonic() > deadline:
                message = f"{seconds:g} s after its start the webhook does not listen on {HOST}:{endpoint.port}{said}"
                raise TargetUnreachable(message, hint=hint)
            clock.wait(threading.Event(), 0.05)

    def _endpoint(self, port: int) -> Endpoint:
        return Endpoint(port, self._run.options.webhook_path, self._certificates().authority)

    def _certificates(self) -> Certificates:
        if self._made is None:
            folder = self._work / "webhook"
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            try:
                self._made = make(folder)
            except CertificateError as error:
                raise TargetUnreachable(f"the webhook cannot be given a certificate: {error}") from error
        return self._made


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection((HOST, port), timeout=1.0):
        return True
    return False
