"""Mutants of the daemon program of ComputeDomains."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dra_api.client import Conflict
from dra_api.objects import COMPUTE_DOMAIN_CLIQUES, PODS
from dra_conformance.engine.mutation import Patch, mutant
from dra_conformance.mutants.imex_controller import CLIQUES, LABEL
from dra_conformance.mutants.imex_several_nodes import DAEMON

MODULE = "reference_impl.compute_domain.imex_daemon"
IMEX = "reference_impl.compute_domain.imex_process"
PROCESS = f"{IMEX}:ImexProcess"
NAMES = "reference_impl.compute_domain.peer_names"


@mutant("clique-created-once", rule="NV-392")
def _(patch: Patch) -> None:
    """A daemon that has joined does not join again when its clique is gone."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        joined: dict[str, Any] = {}

        def join(self: Any, pod: Any) -> Any:
            pod_name = self._settings.pod_name
            if pod_name in joined and not self._cliques.list():
                return joined[pod_name]
            joined[pod_name] = original(self, pod)
            return joined[pod_name]

        return join

    patch.wrap(f"{DAEMON}.join", make)


@mutant("nodes-file-with-two-names", rule="NV-393")
def _(patch: Patch) -> None:
    """The nodes file has only the first two names."""
    patch.wrap(f"{NAMES}:nodes_text", lambda original: lambda limit: original(2))


@mutant("own-name-missing", rule="NV-394")
def _(patch: Patch) -> None:
    """The hosts file of a daemon has the names of the others only."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def write(self: Any, names: Any) -> None:
            original(self, {name: address for name, address in names.items() if address != self._settings.pod_ip})

        return write

    patch.wrap(f"{DAEMON}.write_hosts", make)


@mutant("hosts-file-replaced", rule="NV-394")
def _(patch: Patch) -> None:
    """The hosts file has the names of the daemons and nothing else."""
    patch.wrap(f"{NAMES}:hosts_text", lambda original: lambda text, names: original("", names))


@mutant("entries-of-other-cliques-have-names", rule="NV-394")
def _(patch: Patch) -> None:
    """The hosts file has the names of all entries, whichever clique they are of."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def addresses(daemons: Any, *, clique_id: str, limit: int) -> Any:
            return original([{**one, "cliqueID": clique_id} for one in daemons], clique_id=clique_id, limit=limit)

        return addresses

    patch.wrap(f"{NAMES}:addresses", make)


@mutant("comment-with-each-change", rule="NV-395")
def _(patch: Patch) -> None:
    """Each change of the clique adds a comment to the hosts file."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda text, names: original(text.replace("# Compute", "#  Compute"), names)

    patch.wrap(f"{NAMES}:hosts_text", make)


@mutant("running-imex-gets-no-signal", rule="NV-396")
def _(patch: Patch) -> None:
    """A running nvidia-imex gets no signal."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def start(self: Any) -> None:
            if self.pid is None:
                original(self)

        return start

    patch.wrap(f"{PROCESS}.start_or_update", make)


@mutant("imex-started-again-for-each-peer", rule="NV-396")
def _(patch: Patch) -> None:
    """A running nvidia-imex is killed when its peers change, and started again."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def start(self: Any) -> None:
            if self.pid is None:
                original(self)
            else:
                self._process.send_signal(signal.SIGKILL)

        return start

    patch.wrap(f"{PROCESS}.start_or_update", make)


@mutant("set-of-addresses-compared", rule="NV-397")
def _(patch: Patch) -> None:
    """The hosts file is written only if the set of addresses has changed."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def update(self: Any, daemons: Any) -> None:
            if {daemon.get("ipAddress") for daemon in daemons} != set(self._names.values()):
                original(self, daemons)

        return update

    patch.wrap(f"{DAEMON}.update_peers", make)


@mutant("impossible-index-ends-the-daemon", rule="NV-398")
def _(patch: Patch) -> None:
    """An entry with an impossible index ends the daemon that sees it."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def update(self: Any, daemons: Any) -> None:
            if any(not 0 <= daemon["index"] < self._settings.max_nodes for daemon in daemons):
                self.fail("an index is out of range")
            else:
                original(self, daemons)

        return update

    patch.wrap(f"{DAEMON}.update_peers", make)


@mutant("imex-not-watched", rule="NV-399")
def _(patch: Patch) -> None:
    """An nvidia-imex that ends is not started again."""
    patch.replace(f"{PROCESS}._watch", lambda self: None)


@mutant("failure-is-only-logged", rule="NV-400")
def _(patch: Patch) -> None:
    """A daemon that cannot start nvidia-imex stays in its clique."""
    patch.replace(f"{DAEMON}.fail", lambda self, reason: None)


@mutant("entry-stays-at-the-end", rule="NV-401")
def _(patch: Patch) -> None:
    """A daemon ends without removing its entry."""
    patch.replace(f"{DAEMON}.leave", lambda self: None)


@mutant("imex-outlives-its-daemon", rule="NV-401")
def _(patch: Patch) -> None:
    """A daemon ends and leaves nvidia-imex behind."""
    patch.replace(f"{PROCESS}.stop", lambda self: None)


@mutant("entry-stays-after-a-conflict", rule="NV-401c")
def _(patch: Patch) -> None:
    """A daemon that ends does not remove its entry if another update of the clique was faster."""

    def leave(self: Any) -> None:
        settings = self._settings
        with contextlib.suppress(Conflict):
            self._writer.leave_as(settings.domain_uid, settings.clique_id, node=settings.node_name, ip=settings.pod_ip)

    patch.replace(f"{DAEMON}.leave", leave)


@mutant("daemons-wait-for-each-other-at-the-end", rule="NV-448")
def _(patch: Patch) -> None:
    """A daemon that ends waits for the entry of each other one to go, half a minute at most."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def leave(self: Any) -> None:
            name = f"{self._settings.domain_uid}.{self._settings.clique_id}"
            for _ in range(100):
                clique = self._client.find(COMPUTE_DOMAIN_CLIQUES, name, self._settings.pod_namespace) or {}
                if len(clique.get("daemons") or ()) < 2:
                    break
                self._clock.wait(threading.Event(), 0.3)
            original(self)

        return leave

    patch.wrap(f"{DAEMON}.leave", make)


@mutant("daemon-leaves-before-it-joins", rule="NV-402")
def _(patch: Patch) -> None:
    """A daemon that starts removes the entry of its predecessor, and joins a moment later."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def start(self: Any) -> None:
            self.leave()
            self._clock.wait(threading.Event(), 0.5)
            original(self)

        return start

    patch.wrap(f"{DAEMON}.start", make)


@mutant("ready-for-ever", rule="NV-403")
def _(patch: Patch) -> None:
    """An entry that is Ready stays Ready."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def joined(daemons: Any, *, node: str, ready: bool, **named: Any) -> Any:
            was = any(one["nodeName"] == node and one.get("status") == "Ready" for one in daemons)
            return original(daemons, node=node, ready=ready or was, **named)

        return joined

    patch.wrap(f"{CLIQUES}:joined", make)


@mutant("every-entry-not-ready", rule="NV-403")
def _(patch: Patch) -> None:
    """A daemon that is not ready makes all entries of its clique NotReady."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def joined(daemons: Any, *, ready: bool, **named: Any) -> Any:
            found = original(daemons, ready=ready, **named)
            return found if ready else [{**one, "status": "NotReady"} for one in found]

        return joined

    patch.wrap(f"{CLIQUES}:joined", make)


@mutant("ready-in-the-output-suffices", rule="NV-404")
def _(patch: Patch) -> None:
    """The check looks for READY in the output of nvidia-imex-ctl."""
    patch.replace(f"{IMEX}:reports_ready", lambda code, output: code == 0 and b"READY" in output)


@mutant("exit-code-of-the-control-command-ignored", rule="NV-404")
def _(patch: Patch) -> None:
    """The check reads the output of nvidia-imex-ctl only."""
    patch.replace(f"{IMEX}:reports_ready", lambda code, output: output == b"READY\n")


@mutant("output-of-the-control-command-ignored", rule="NV-404")
def _(patch: Patch) -> None:
    """The check looks at the exit code of nvidia-imex-ctl only."""
    patch.replace(f"{IMEX}:reports_ready", lambda code, output: code == 0)


@mutant("pod-without-a-clique-not-labelled", rule="NV-405")
def _(patch: Patch) -> None:
    """The daemon of a node without a clique does nothing at all."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def start(self: Any) -> None:
            if self._settings.clique_id:
                original(self)

        return start

    patch.wrap(f"{DAEMON}.start", make)


@mutant("node-without-a-clique-joins-one", rule="NV-405")
def _(patch: Patch) -> None:
    """The daemon of a node without a clique joins a clique called none."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def start(self: Any) -> None:
            original(self)
            if not self._settings.clique_id:
                self._settings = replace(self._settings, clique_id="none")
                self.join(self._client.get(PODS, self._settings.pod_name, self._settings.pod_namespace))

        return start

    patch.wrap(f"{DAEMON}.start", make)


@mutant("runs-without-cdi-edits", rule="NV-406")
def _(patch: Patch) -> None:
    """A daemon without the CDI edits runs as on a node without a clique."""
    patch.replace(f"{MODULE}:require_edits", lambda environment: None)


@mutant("names-of-sixteen-daemons", rule="NV-425")
def _(patch: Patch) -> None:
    """The hosts file has the names of sixteen daemons at most."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args, **named: dict(list(original(*args, **named).items())[:16])

    patch.wrap(f"{NAMES}:addresses", make)


@mutant("names-of-all-cliques", rule="NV-428")
def _(patch: Patch) -> None:
    """The hosts file has the daemons of all cliques of the ComputeDomain."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def update(self: Any, daemons: Any) -> None:
            settings = self._settings
            selector = f"{LABEL}={settings.domain_uid}"
            cliques = self._client.list(COMPUTE_DOMAIN_CLIQUES, settings.pod_namespace, label_selector=selector).items
            entries = [entry for clique in cliques for entry in clique.get("daemons") or ()]
            original(self, [{**entry, "cliqueID": settings.clique_id} for entry in entries])

        return update

    patch.wrap(f"{DAEMON}.update_peers", make)


@mutant("shared-index-kept", rule="NV-443")
def _(patch: Patch) -> None:
    """A daemon keeps its index whichever the others have."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def joined(daemons: Any, *, node: str, **named: Any) -> Any:
            own = next((one for one in daemons if one["nodeName"] == node), None)
            found = original(daemons, node=node, **named)
            if own is None:
                return found
            return [{**one, "index": own["index"]} if one["nodeName"] == node else one for one in found]

        return joined

    patch.wrap(f"{CLIQUES}:joined", make)


@mutant("corrected-entry-has-another-index", rule="NV-444")
def _(patch: Patch) -> None:
    """A daemon whose entry has another address joins as a new one."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def joined(daemons: Any, *, node: str, ip: str, **named: Any) -> Any:
            kept = [one for one in daemons if one["nodeName"] != node or one["ipAddress"] == ip]
            return original(kept, node=node, ip=ip, **named)

        return joined

    patch.wrap(f"{CLIQUES}:joined", make)


@mutant("address-written-once", rule="NV-444")
def _(patch: Patch) -> None:
    """A daemon keeps the address that its entry has."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def joined(daemons: Any, *, node: str, ip: str, **named: Any) -> Any:
            kept = [one["ipAddress"] for one in daemons if one["nodeName"] == node]
            return original(daemons, node=node, ip=kept[0] if kept else ip, **named)

        return joined

    patch.wrap(f"{CLIQUES}:joined", make)


@mutant("entry-of-successor-removed", rule="NV-401b")
def _(patch: Patch) -> None:
    """A daemon that ends removes the entry of its node, whatever address it has."""
    patch.replace(
        "reference_impl.compute_domain.cliques:without_own",
        lambda daemons, *, node, ip: [daemon for daemon in daemons if daemon["nodeName"] != node],
    )


@mutant("daemon-ends-with-the-api-server", rule="NV-433")
def _(patch: Patch) -> None:
    """A daemon whose watches fail ends, and its IMEX process with it."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def informer(self: Any, *args: Any) -> Any:
            found = original(self, *args)
            failed = found._failed

            def end(error: Exception) -> None:
                failed(error)
                self.fail(f"the API server is away: {error}")

            found._failed = end
            return found

        return informer

    patch.wrap(f"{DAEMON}._informer", make)
