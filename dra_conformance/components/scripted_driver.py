"""A driver that a scenario scripts: the other end of the socket when the kubelet is the target.

It prepares any claim with one CDI device per request, unless scripted to fail, to return wrong data or to wait. The
scenario ends it with `stop`; its CDI files are in the node's folder and are removed with it.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import orjson

from dra_api.rpc import DRA_PLUGIN_TYPE, DRA_VERSIONS, ClaimRef, PluginServer, PreparedDevice, PrepareResult
from dra_conformance.core.invented_names import invented

Poke = Callable[[], None]
STRANGER = "00000000-0000-0000-0000-000000000000"
"""The uid of a claim that no kubelet requests."""


@dataclass(slots=True)
class Script:
    """How a driver responds to one method until a scenario changes it.

    `call_error` fails the whole call. `claim_error` fails one claim, `failing`, or every claim if that is empty.
    `omitted` is a claim without an entry in the response. `adds_stranger` adds an entry for a claim that was not
    requested. `held`: calls wait for `ScriptedDriver.release`.
    """

    call_error: str = ""
    claim_error: str = ""
    failing: str = ""
    omitted: str = ""
    adds_stranger: bool = False
    held: bool = False

    def error_of(self, claim: ClaimRef) -> str:
        """Return the error of a claim's entry; empty for success."""
        return self.claim_error if self.failing in ("", claim.name) else ""


class ScriptedDriver:
    """One instance of a scripted driver on one node.

    Args:
        name: the driver's name.
        node: the node's name, also the pool's.
        cdi_root: the folder for its CDI files.
        plugins_dir, registration_dir: the kubelet's folders.
        instance: distinguishes the sockets of several instances.
        poke: called after every call, to wake waiters.
    """

    def __init__(
        self,
        *,
        name: str,
        node: str,
        cdi_root: Path,
        plugins_dir: Path,
        registration_dir: Path,
        instance: str = "",
        poke: Poke,
    ) -> None:
        self.name = name
        self.node = node
        self.kind = f"{name}/device"
        self.hidden = False
        """Whether the name of the registration socket begins with a dot."""
        self.requests: dict[str, tuple[str, ...]] = {}
        self.unnamed: set[str] = set()
        self.device_ids: dict[str, tuple[str, ...]] = {}
        """CDI ids in place of the own one, for every device of a claim, or for that of `claim/request`."""
        self.without_spec: set[str] = set()
        """Claims for which no CDI file is written."""
        self.shared: set[str] = set()
        """Claims whose devices have share ids."""
        self.script = {"Prepare": Script(), "Unprepare": Script()}
        self.prepared: list[tuple[ClaimRef, ...]] = []
        self.unprepared: list[tuple[ClaimRef, ...]] = []
        self.registration_calls: list[str] = []
        """The methods of the registration service that the kubelet called, also those that failed."""
        self.failing_registration = ""
        """A method of the registration service whose calls fail."""
        self._held_registration = ""
        self.order: list[str] = []
        """`Prepare` when such a call begins and `Unprepare` when one ends, each with the claims."""
        self._cdi_root = cdi_root
        self._instance = instance
        self._plugins_dir = plugins_dir
        self._registration_dir = registration_dir
        self._poke = poke
        self._release = threading.Event()
        self._counter = threading.Lock()
        self.holding = 0
        """The number of calls that wait for `release`."""
        self.server: PluginServer | None = None

    @property
    def registration_socket(self) -> Path:
        """The registration socket of this instance."""
        return self._registration_dir / f"{'.' if self.hidden else ''}{self.name}{self._instance}-reg.sock"

    @property
    def plugin_socket(self) -> Path:
        """The service socket of this instance."""
        return self._plugins_dir / self.name / f"dra{self._instance}.sock"

    def start(
        self,
        *,
        announced: Sequence[str] = DRA_VERSIONS,
        plugin_type: str = DRA_PLUGIN_TYPE,
        endpoint: str | None = None,
        serves: bool = True,
    ) -> None:
        """Serve and register; without `serves`, register only.

        `announced` are the services in the response to GetInfo; all that the suite implements are served.
        """
        self.server = PluginServer(
            self,
            self.name,
            self.plugin_socket,
            self.registration_socket,
            endpoint=endpoint,
            # Concurrent calls of the kubelet must reach the scenario as such.
            serialize=False,
        )
        self.server.info = replace(self.server.info, type=plugin_type, supported_versions=tuple(announced))
        self.server.before_registration = self._register
        if serves:
            self.server.start()
        else:
            self.server.start_registration()

    def _register(self, method: str) -> None:
        self.registration_calls.append(method)
        self._poke()
        if method == self._held_registration:
            self._hold()
        if method == self.failing_registration:
            raise RuntimeError(f"scripted failure of {method}")

    def stop(self) -> None:
        """End both sockets and let go of calls that are held. Idempotent."""
        self._release.set()
        if self.server is not None:
            self.server.stop(grace=0.2)

    def hold_registration(self, method: str) -> None:
        """Respond to no call of a method of the registration service from now on until `release`."""
        self._release.clear()
        self._held_registration = method

    def hold(self, method: str) -> None:
        """Respond to no call of a method from now on until `release`."""
        self._release.clear()
        self.script[method].held = True

    def release(self) -> None:
        """Respond again as a driver that works, also to the calls that wait."""
        # New scripts first: calls that were held return with the new behaviour.
        self.script = {"Prepare": Script(), "Unprepare": Script()}
        self.failing_registration = ""
        self._held_registration = ""
        self._release.set()

    # -- the service -----------------------------------------------------------------------------------------------

    def prepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, PrepareResult]:
        """Prepare as scripted."""
        self.prepared.append(tuple(claims))
        self._note("Prepare", claims)
        script = self._wait("Prepare")
        answer = {claim.uid: self._prepare_one(claim, script) for claim in claims if claim.name != script.omitted}
        return {**answer, STRANGER: PrepareResult()} if script.adds_stranger else answer

    def unprepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, str]:
        """Unprepare as scripted."""
        self.unprepared.append(tuple(claims))
        self._poke()
        script = self._wait("Unprepare")
        answer = {claim.uid: script.error_of(claim) for claim in claims if claim.name != script.omitted}
        self._note("Unprepare", claims)
        return {**answer, STRANGER: ""} if script.adds_stranger else answer

    def _note(self, method: str, claims: Sequence[ClaimRef]) -> None:
        self.order.append(f"{method} {' '.join(sorted(claim.name for claim in claims))}")
        self._poke()

    def _wait(self, method: str) -> Script:
        """Wait while calls of a method are held, and return the script that applies then; it may fail the call."""
        if self.script[method].held:
            self._hold()
        script = self.script[method]
        if script.call_error:
            raise RuntimeError(script.call_error)
        return script

    def _hold(self) -> None:
        with self._counter:
            self.holding += 1
        # Longer than the kubelet's deadline of 45 s (rule DRA-268), but not for ever.
        self._release.wait(120)
        with self._counter:
            self.holding -= 1

    def device_id(self, claim: str, request: str) -> str:
        """The CDI id for one request of a claim."""
        return f"{self.kind}={claim}-{request}"

    @staticmethod
    def share_id(claim: str, request: str) -> str:
        """The share id for one request of a claim whose devices are shared."""
        return str(uuid.uuid5(uuid.NAMESPACE_DNS, invented(f"{request}.{claim}")))

    @staticmethod
    def variable(claim: str, request: str) -> str:
        """The environment variable that a container with one request of a claim sees."""
        return f"DEVICE_{claim}_{request}".replace("-", "_").upper()

    def _prepare_one(self, claim: ClaimRef, script: Script) -> PrepareResult:
        if error := script.error_of(claim):
            return PrepareResult(error=error)
        requests = self.requests.get(claim.name, ("gpu",))
        if claim.name not in self.without_spec:
            self._write_spec(claim, requests)
        return PrepareResult(
            tuple(
                PreparedDevice(
                    () if claim.name in self.unnamed else (request,),
                    self.node,
                    f"dev-{claim.name}-{request}",
                    self.device_ids.get(f"{claim.name}/{request}")
                    or self.device_ids.get(claim.name, (self.device_id(claim.name, request),)),
                    self.share_id(claim.name, request) if claim.name in self.shared else None,
                )
                for request in requests
            )
        )

    def _write_spec(self, claim: ClaimRef, requests: Sequence[str]) -> None:
        document = {
            # The first version with deviceNodes.hostPath.
            "cdiVersion": "0.5.0",
            "kind": self.kind,
            "devices": [
                {
                    "name": f"{claim.name}-{request}",
                    "containerEdits": {
                        "env": [f"{self.variable(claim.name, request)}=yes"],
                        # Any character device that may be opened, and any file, as long as the machine has them.
                        "deviceNodes": [{"path": f"/dev/{claim.name}-{request}", "hostPath": "/dev/null", "type": "c"}],
                        "mounts": [
                            {
                                "containerPath": f"/scripted/{claim.name}-{request}",
                                "hostPath": str(self._cdi_root),
                                "options": ["ro", "bind"],
                            }
                        ],
                    },
                }
                for request in requests
            ],
        }
        (self._cdi_root / f"{self.name}-{claim.name}.json").write_bytes(orjson.dumps(document))
