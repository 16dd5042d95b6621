"""Daemons of ComputeDomains as programs: their files, their IMEX processes, their probes and their ends.

The pods run where a label puts them, as in a cluster. nvidia-imex is simulated: its connections over the addresses of
the pods are real, and it reports which nodes it is connected to.
"""

from __future__ import annotations

import copy
import functools
import os
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from dra_api import regular_file
from dra_api.client import Conflict, NotFound
from dra_api.objects import COMPUTE_DOMAIN_CLIQUES, NODES, PODS, Obj, meta, name_of, namespace_of, uid_of
from dra_conformance.components.daemon_containers import DaemonContainer
from dra_conformance.components.daemon_pods import DaemonEnd, DaemonPods, is_ready_pod
from dra_conformance.components.daemon_programs import DAEMON, FOREIGN_LINE
from dra_conformance.core import manifests
from dra_conformance.core.errors import Untestable
from dra_conformance.engine.vocabulary import given, then, when, words
from dra_conformance.engine.world import Seen, Value, World, in_words, show
from dra_conformance.steps.compute_domains import (
    CLIQUE_LABEL,
    CLIQUE_OF_NODE,
    CLIQUE_WRITES,
    LABEL,
    domain,
    ensure_driver_namespace,
)
from dra_conformance.steps.uids import CreatedDomains
from fake_nvml import imex

QUERY_SECONDS = 2.0
READY_WITHIN, READY_FACTOR = 10.0, 4.0
"""Least seconds to wait for programs, and how much longer they take than objects: each daemon starts an IMEX process,
and each check is a process, too."""
PYTHON_FACTOR = 12.0
"""The same for the reference as a process: each daemon and each check starts a Python interpreter."""
STAYS_SECONDS = 1.5
"""Seconds in which a container is checked at least once."""
GRACE_SECONDS = 20.0
"""Seconds in which a daemon ends: it may try for 10 to remove its entry. Pods have 30."""
PEER = "compute-domain-daemon-"


@dataclass(slots=True)
class Daemons:
    """The daemon pods of the scenario, and what steps remember of IMEX processes, by domain and node."""

    pods: DaemonPods | None = None
    remembered: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)


def run_daemons(world: World) -> DaemonPods:
    """Return the daemon pods, which run from the first call to the end of the scenario."""
    state = world.state(Daemons)
    if state.pods is None:
        ensure_driver_namespace(world)
        state.pods = DaemonPods(world)
        world.cleanup.callback(state.pods.stop)
        state.pods.start()
    return state.pods


def uid_in(world: World, name: str) -> str:
    """Return the uid of a ComputeDomain of the scenario, also of one that is deleted."""
    created = world.state(CreatedDomains).of_name.get(name)
    return uid_of(created) if created else uid_of(domain(world, name))


def ready_within(world: World) -> float:
    """Return the seconds to wait for programs."""
    is_python = world.run.components.spec(DAEMON).is_reference_process
    return max(READY_WITHIN, (PYTHON_FACTOR if is_python else READY_FACTOR) * world.run.patience)


def eventually(world: World, what: str, look: Callable[[], Seen[Value | None]], *, expected: Value | None) -> None:
    """Check that a condition comes to hold; programs are given more time than objects."""
    world.eventually(what, look, expected=expected, within=ready_within(world))


def container_of(world: World, node: str, name: str) -> DaemonContainer:
    """Return the container that runs for a domain on a node. Raises Untestable if there is none."""
    uid = uid_in(world, name)
    pods = run_daemons(world)
    world.require(
        f"{node} has a daemon pod of ComputeDomain {name}",
        lambda: (pods.container(world.name(node), uid) is not None, "no pod"),
    )
    container = pods.container(world.name(node), uid)
    if container is None:
        raise Untestable(f"the daemon pod of {node} in ComputeDomain {name} is gone")
    return container


def imex_of(world: World, node: str, name: str) -> dict[str, Any]:
    """Return the state of a node's IMEX process; empty if none answers."""
    container = run_daemons(world).container(world.name(node), uid_in(world, name))
    if container is None:
        return {}
    try:
        return imex.query(container.ip, imex.CONTROL_PORT, timeout=QUERY_SECONDS)
    except (OSError, ValueError):
        return {}


def why_ended(world: World, node: str, name: str) -> str:
    """Return why a node's daemon has ended by itself, which ends its IMEX process as well; empty while it runs."""
    container = run_daemons(world).container(world.name(node), uid_in(world, name))
    return "" if container is None else container.why_ended()


def entry_of(world: World, node: str, name: str) -> Obj:
    """Return the entry of a node in the cliques of a domain; empty if there is none."""
    cliques = world.client.list(
        COMPUTE_DOMAIN_CLIQUES, world.driver_namespace, label_selector=f"{LABEL}={uid_in(world, name)}"
    ).items
    entries = [entry for clique in cliques for entry in clique.get("daemons") or ()]
    return next((entry for entry in entries if entry["nodeName"] == world.name(node)), {})


def peer_names(text: str) -> dict[str, list[str]]:
    """Return the addresses of each daemon's name in a hosts file."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        fields = line.partition("#")[0].split()
        for name in fields[1:]:
            if name.startswith(PEER):
                found.setdefault(name, []).append(fields[0])
    return found


def hosts_of(world: World, node: str, name: str) -> str:
    """Return the hosts file of a node's daemon; empty if it cannot be read."""
    try:
        return regular_file.read_text(container_of(world, node, name).files.hosts)
    except (OSError, UnicodeDecodeError):
        return ""


@given("the IMEX daemons of ComputeDomains run")
def _(world: World) -> None:
    """Every node that a domain's DaemonSet selects gets a daemon pod with the program; nvidia-imex is simulated."""
    run_daemons(world)


@given('the program "{program}" is missing in the daemon pods of node "{node}"')
def _(world: World, program: str, node: str) -> None:
    """The containers of later pods have no such program in PATH."""
    run_daemons(world).without[world.name(node)] = frozenset(words(program))


@given('the NVLink cliques of nodes "{nodes}" are "{cliques}"')
def _(world: World, nodes: str, cliques: str) -> None:
    """The Nodes have these ids as labels, in the order of the nodes; the CDI edits of a daemon's claim have the id."""
    for node, clique in zip(words(nodes), words(cliques), strict=True):
        set_label(world, node, CLIQUE_OF_NODE, clique)


def set_label(world: World, node: str, key: str, value: str | None) -> None:
    """Set or remove a label of a Node."""
    world.client.patch(NODES, world.name(node), {"metadata": {"labels": {key: value}}})


@given('nodes "{nodes}" join ComputeDomain "{name}"')
@when('nodes "{nodes}" join ComputeDomain "{name}"')
def _(world: World, nodes: str, name: str) -> None:
    """The Nodes get the label of the domain, as from their kubelet plugins, so that its DaemonSet selects them."""
    for node in words(nodes):
        set_label(world, node, LABEL, uid_in(world, name))


@when('nodes "{nodes}" leave their ComputeDomain')
def _(world: World, nodes: str) -> None:
    """The Nodes lose the label, so that their daemon pods end."""
    for node in words(nodes):
        set_label(world, node, LABEL, None)


@then('the daemons of "{nodes}" are ready in ComputeDomain "{name}"')
def _(world: World, nodes: str, name: str) -> None:
    """Their pods are Ready by their own checks, and each has a Ready entry with the address of its pod."""
    check_ready(world, words(nodes), name)


@given('the daemons of "{nodes}" have become ready in ComputeDomain "{name}"')
def _(world: World, nodes: str, name: str) -> None:
    """The same, as a precondition; the IMEX processes are remembered."""
    within = ready_within(world)
    world.require(f"the daemons of {nodes} become ready", lambda: look_ready(world, words(nodes), name), within=within)
    for node in words(nodes):
        # A process may not answer in time on a busy machine.
        look = functools.partial(look_and_remember, world, node, name)
        world.require(f"the IMEX process of {node} answers", look, within=within)


@given('the daemon pod of "{node}" in ComputeDomain "{name}" has become ready')
def _(world: World, node: str, name: str) -> None:
    """The pod is Ready by its own probes, as a precondition; a daemon without a clique has no entry."""

    def look() -> Seen[str]:
        container = run_daemons(world).container(world.name(node), uid_in(world, name))
        if container is None:
            return False, "no daemon pod"
        return is_ready_pod(container.pod), container.problem

    world.require(f"the daemon pod of {node} becomes ready", look, within=ready_within(world))


def look_and_remember(world: World, node: str, name: str) -> Seen[dict[str, Any]]:
    """Return whether a node's IMEX process answers, and its state, which is remembered."""
    found = imex_of(world, node, name)
    if found:
        world.state(Daemons).remembered[name, node] = found
    return bool(found), found


def look_ready(world: World, nodes: Sequence[str], name: str) -> Seen[dict[str, str]]:
    """Return whether pods and entries of these nodes are ready, and what is missing."""
    uid = uid_in(world, name)
    found = {}
    for node in nodes:
        container = run_daemons(world).container(world.name(node), uid)
        entry = entry_of(world, node, name)
        if container is None:
            found[node] = "no daemon pod"
        elif not is_ready_pod(container.pod):
            found[node] = f"pod not ready: {container.problem}"
        elif entry.get("status") != "Ready" or entry.get("ipAddress") != container.ip:
            found[node] = f"entry {entry}"
    return not found, found


def check_ready(world: World, nodes: Sequence[str], name: str) -> None:
    """Check that pods and entries of these nodes become ready."""
    eventually(
        world,
        f"daemons of {', '.join(nodes)} in ComputeDomain {name} without a Ready pod and a Ready entry with its address",
        lambda: look_ready(world, nodes, name),
        expected={},
    )


@then('the IMEX processes of "{nodes}" in ComputeDomain "{name}" come to be connected to each other')
def _(world: World, nodes: str, name: str) -> None:
    """Each of them is connected to every other, and to no further node."""

    wanted = sorted(["self", *["connected"] * (len(words(nodes)) - 1)])

    def look() -> Seen[dict[str, list[str]]]:
        found = {
            node: sorted(state for state in imex_of(world, node, name).get("nodes", {}).values() if state != "unknown")
            for node in words(nodes)
        }
        return all(states == wanted for states in found.values()), found

    expected = dict.fromkeys(words(nodes), wanted)
    eventually(world, f"connections of the IMEX processes of {nodes}", look, expected=expected)


@then('the hosts files of "{nodes}" in ComputeDomain "{name}" have the addresses of all of them')
def _(world: World, nodes: str, name: str) -> None:
    """Each file has one name for each of these daemons, by its index, at its pod's address, and no other such name."""
    check_hosts(world, words(nodes), name)


@then('the hosts files of {count:d} nodes in ComputeDomain "{name}" have the addresses of all of them')
def _(world: World, count: int, name: str) -> None:
    """The same for the nodes node-1 and on."""
    check_hosts(world, [f"node-{number}" for number in range(1, count + 1)], name)


def check_hosts(world: World, nodes: Sequence[str], name: str) -> None:
    """Check that the hosts files of these nodes come to have the names and addresses of their entries."""

    def look() -> Seen[str | None]:
        entries = [entry_of(world, node, name) for node in nodes]
        if not all(entries):
            return False, None
        wanted = {f"{PEER}{entry['index']:04d}": [entry["ipAddress"]] for entry in entries}
        found = {node: peer_names(hosts_of(world, node, name)) for node in nodes}
        ok = all(names == wanted for names in found.values())
        return ok, "those of the entries" if ok else f"entries: {in_words(wanted)}; files: {show(found)}"

    message = f"names and addresses in the hosts files of {', '.join(nodes)}"
    eventually(world, message, look, expected="those of the entries")


@then('the hosts file of "{node}" in ComputeDomain "{name}" keeps its other lines')
def _(world: World, node: str, name: str) -> None:
    """The lines of the kubelet are still there."""
    text = hosts_of(world, node, name)
    lines = [line.split() for line in text.splitlines()]
    there = {FOREIGN_LINE: FOREIGN_LINE.split() in lines, "localhost": "localhost" in text}
    missing = [line for line, found in there.items() if not found]
    world.check(not missing, f"lines that the hosts file of {node} does not have", expected=[], observed=missing)


@then('the hosts file of "{node}" in ComputeDomain "{name}" has no line twice')
def _(world: World, node: str, name: str) -> None:
    """No line that is not empty is there more than once, comments included."""
    lines = [line.strip() for line in hosts_of(world, node, name).splitlines() if line.strip()]
    twice = sorted({line for line in lines if lines.count(line) > 1})
    world.check(not twice, f"lines of {node}'s hosts file that are there twice", expected=[], observed=twice)


@then('the nodes files of "{nodes}" in ComputeDomain "{name}" have the {count:d} names of an IMEX domain')
def _(world: World, nodes: str, name: str, count: int) -> None:
    """The file that the configuration of nvidia-imex names has the name of every index, in order."""
    wanted = [f"{PEER}{index:04d}" for index in range(count)]
    for node in words(nodes):
        folder = container_of(world, node, name).files.imexd
        try:
            pairs = [line.partition("=") for line in regular_file.read_text(folder / "imexd.cfg").splitlines()]
            path = next(value.strip() for key, _, value in pairs if key.strip() == "IMEX_NODE_CONFIG_FILE")
            found = imex.node_names(regular_file.read_text(folder / path.rpartition("/")[2]))
        except (OSError, UnicodeDecodeError, StopIteration) as error:
            found = [f"no nodes file: {error}"]
        world.check(found == wanted, f"nodes file of {node}", expected=wanted, observed=found)


@when('the IMEX process of "{node}" in ComputeDomain "{name}" is killed')
def _(world: World, node: str, name: str) -> None:
    """Kill nvidia-imex, not the daemon that started it."""
    state = imex_of(world, node, name)
    if not state:
        raise Untestable(f"the daemon of {node} runs no IMEX process")
    world.state(Daemons).remembered[name, node] = state
    process = container_of(world, node, name).files.imex_process(state.get("pid"))
    if process is None:
        raise Untestable(f"what answers for the IMEX process of {node} is not the simulated nvidia-imex")
    os.kill(process, signal.SIGKILL)


@then('the IMEX process of "{node}" in ComputeDomain "{name}" is started again in the same container')
def _(world: World, node: str, name: str) -> None:
    """Another process comes to answer, and the container was not started again."""
    before = world.state(Daemons).remembered[name, node]["pid"]
    restarts = container_of(world, node, name).restarts

    def look() -> Seen[str]:
        state = imex_of(world, node, name)
        ok = state.get("pid") not in (None, before) and container_of(world, node, name).restarts == restarts == 0
        now = container_of(world, node, name).restarts
        return ok, f"process {state.get('pid', 'none')}, container restarts: {now}"

    expected = f"process other than {before}, container restarts: 0"
    eventually(world, f"IMEX process of {node}", look, expected=expected)


@then('the IMEX processes of "{nodes}" in ComputeDomain "{name}" are the remembered ones')
def _(world: World, nodes: str, name: str) -> None:
    """No IMEX process was started again since the step that remembered it."""
    check_same(world, nodes, name)


def check_same(world: World, nodes: str, name: str) -> None:
    """Check that the IMEX processes of these nodes are those that are remembered."""

    before = {node: world.state(Daemons).remembered[name, node].get("pid") for node in words(nodes)}

    def running(node: str) -> Any:
        if why := why_ended(world, node, name):
            return why
        if "pid" in (state := imex_of(world, node, name)):
            return state["pid"]
        # On a busy machine a process that runs may answer late.
        container = run_daemons(world).container(world.name(node), uid_in(world, name))
        return container.files.imex_process(before[node]) if container is not None else None

    def look() -> Seen[dict[str, Any]]:
        now = {node: running(node) for node in words(nodes)}
        return before == now and None not in now.values(), now

    world.stays(f"IMEX processes of {nodes}", look, expected=before)


@then('the IMEX process of "{node}" in ComputeDomain "{name}" has got another SIGUSR1')
def _(world: World, node: str, name: str) -> None:
    """The remembered process runs on, and has got SIGUSR1 since."""
    before = world.state(Daemons).remembered[name, node]

    def look() -> Seen[str]:
        state = imex_of(world, node, name)
        ok = state.get("pid") == before["pid"] and int(state.get("updates", 0)) > int(before["updates"])
        return ok, f"process {state.get('pid', 'none')}, signals: {state.get('updates', 0)}"

    expected = f"process {before['pid']}, signals: more than {before['updates']}"
    eventually(world, f"IMEX process of {node}", look, expected=expected)


@then('the IMEX process of "{node}" in ComputeDomain "{name}" has got no further SIGUSR1')
def _(world: World, node: str, name: str) -> None:
    """The remembered process runs on, and has got no further SIGUSR1."""
    before = world.state(Daemons).remembered[name, node]

    def look() -> Seen[dict[str, Any]]:
        state = imex_of(world, node, name)
        same = (state.get("pid"), state.get("updates")) == (before["pid"], before["updates"])
        return same, {"process": state.get("pid"), "signals": state.get("updates")}

    wanted = {"process": before["pid"], "signals": before["updates"]}
    world.stays(f"IMEX process of {node}", look, expected=wanted)


@then('"{node}" has no IMEX process in ComputeDomain "{name}"')
def _(world: World, node: str, name: str) -> None:
    """No IMEX process answers at the address of the pod."""
    container_of(world, node, name)

    def look() -> Seen[dict[str, Any]]:
        state = imex_of(world, node, name)
        return not state, state

    world.stays(f"IMEX process of {node}", look, expected={})


@when('nvidia-imex-ctl of "{node}" in ComputeDomain "{name}" is replaced by "{script}"')
def _(world: World, node: str, name: str, script: str) -> None:
    """From now on the control command in the container of the node runs these shell commands."""
    program = container_of(world, node, name).files.executable("nvidia-imex-ctl")
    program.replace(f"{script}\n")


@when('nvidia-imex-ctl of "{node}" in ComputeDomain "{name}" works again')
def _(world: World, node: str, name: str) -> None:
    """The control command is the simulated one again."""
    container_of(world, node, name).files.executable("nvidia-imex-ctl").restore()


@then('the entry of "{node}" in ComputeDomain "{name}" becomes {status:word}')
def _(world: World, node: str, name: str, status: str) -> None:
    """The entry in the clique has this status."""

    def look() -> Seen[str | None]:
        entry = entry_of(world, node, name)
        return entry.get("status") == status, entry.get("status")

    eventually(world, f"entry of {node} in the cliques of ComputeDomain {name}", look, expected=status)


@then('the entry of "{node}" in ComputeDomain "{name}" stays {status:word}')
def _(world: World, node: str, name: str, status: str) -> None:
    """The entry in the clique has this status for longer than a readiness check takes."""

    def look() -> Seen[str | None]:
        entry = entry_of(world, node, name)
        return entry.get("status") == status, entry.get("status")

    what = f"entry of {node} in the cliques of ComputeDomain {name}"
    world.stays(what, look, expected=status, seconds=max(world.run.quiet, STAYS_SECONDS))


@when('the daemon of "{node}" in ComputeDomain "{name}" is killed')
def _(world: World, node: str, name: str) -> None:
    """SIGKILL to the program and its IMEX process; the kubelet starts the container of the same pod again."""
    container_of(world, node, name).kill_program()


@then('the daemon of "{node}" in ComputeDomain "{name}" runs again')
def _(world: World, node: str, name: str) -> None:
    """The container was started again, and another IMEX process answers."""
    before = world.state(Daemons).remembered[name, node].get("pid")

    def look() -> Seen[str]:
        restarts = container_of(world, node, name).restarts
        pid = imex_of(world, node, name).get("pid")
        return restarts > 0 and pid not in (None, before), f"restarts: {restarts}, IMEX process {pid}"

    expected = f"restarts: 1 or more, IMEX process other than {before}"
    eventually(world, f"daemon of {node}", look, expected=expected)


@when('the clique "{clique}" of ComputeDomain "{name}" is deleted')
def _(world: World, clique: str, name: str) -> None:
    """Delete the ComputeDomainClique by hand."""
    try:
        world.client.delete(COMPUTE_DOMAIN_CLIQUES, f"{uid_in(world, name)}.{clique}", world.driver_namespace)
    except NotFound as error:
        raise Untestable(f"there is no clique {clique} of ComputeDomain {name}") from error


@when(
    'the indices of "{first}" and "{second}" in the clique "{clique}" of ComputeDomain "{name}" are exchanged by hand'
)
def _(world: World, first: str, second: str, clique: str, name: str) -> None:
    """One write gives each entry the index of the other."""
    pair = [entry_of(world, node, name).get("index") for node in (first, second)]
    change_entries(world, clique, name, [(first, "index", pair[1]), (second, "index", pair[0])])


@when('the entry of "{node}" in the clique "{clique}" of ComputeDomain "{name}" gets the index of "{other}" by hand')
def _(world: World, node: str, clique: str, name: str, other: str) -> None:
    """Two entries have one index then."""
    change_entries(world, clique, name, [(node, "index", entry_of(world, other, name).get("index"))])


@when('the entries of the clique "{clique}" of ComputeDomain "{name}" are changed by hand:')
def _(world: World, clique: str, name: str, datatable: list[list[str]]) -> None:
    """Columns: the node, and a field of its entry with its new value (YAML). One write changes all of them."""
    rows = [(node, key, manifests.parse_value(value)) for node, key, value in datatable[1:]]
    change_entries(world, clique, name, rows)


def change_entries(world: World, clique: str, name: str, rows: Sequence[tuple[str, str, Any]]) -> None:
    """Write fields of entries (node, field, value) with one update of the clique."""
    changes = [(world.name(node), key, value) for node, key, value in rows]
    for _attempt in range(CLIQUE_WRITES):
        stored = copy.deepcopy(
            world.client.get(COMPUTE_DOMAIN_CLIQUES, f"{uid_in(world, name)}.{clique}", world.driver_namespace)
        )
        entries = {entry["nodeName"]: entry for entry in stored.get("daemons") or ()}
        if missing := sorted({node for node, _, _ in changes} - set(entries)):
            raise Untestable(f"the clique {clique} has no entry of {', '.join(missing)}")
        for node, key, value in changes:
            entries[node][key] = value
        try:
            world.client.update(COMPUTE_DOMAIN_CLIQUES, stored)
        except Conflict:
            continue
        return
    raise Untestable(f"the clique {clique} changes all the time, so no entry can be changed")


@then('the daemon pod of "{node}" in ComputeDomain "{name}" has the clique label "{value}"')
def _(world: World, node: str, name: str, value: str) -> None:
    """The pod's label of its clique has this value; "empty": the label is there, without a value."""
    wanted = "" if value == "empty" else value

    def look() -> Seen[str | None]:
        container = container_of(world, node, name)
        pod = world.client.find(PODS, name_of(container.pod), namespace_of(container.pod)) or {}
        labels = (meta(pod).get("labels") or {}) if pod else {}
        return labels.get(CLIQUE_LABEL) == wanted, labels.get(CLIQUE_LABEL)

    eventually(world, f"clique label of {node}'s daemon pod", look, expected=wanted)


@then('the entries of "{nodes}" in ComputeDomain "{name}" come to have indices of their own')
def _(world: World, nodes: str, name: str) -> None:
    """No two of them have the same index, and each is one of an IMEX domain."""

    def look() -> Seen[str]:
        found = {node: entry_of(world, node, name).get("index") for node in words(nodes)}
        indices = [index for index in found.values() if isinstance(index, int) and 0 <= index < 18]
        return len(set(indices)) == len(words(nodes)), in_words(found)

    eventually(world, f"indices of {nodes}", look, expected="0 to 17, another one for each")


@given('the daemon pods of node "{node}" do not get the CDI edits of their claim')
def _(world: World, node: str) -> None:
    """The containers of later pods lack the variables of the edits, as with a runtime that does not apply CDI."""
    run_daemons(world).without_edits.add(world.name(node))


@then('the daemon of "{node}" in ComputeDomain "{name}" ends by itself')
def _(world: World, node: str, name: str) -> None:
    """The program ends without a signal, and no clique has an entry of the node."""

    def look() -> Seen[str]:
        container = container_of(world, node, name)
        entry = entry_of(world, node, name)
        return bool(container.ended) and not entry, f"{container.ended or 'it runs'}; entry: {in_words(entry)}"

    eventually(world, f"daemon of {node}", look, expected="it ended; entry: none")


@then('the daemons of "{nodes}" in ComputeDomain "{name}" have ended in order')
def _(world: World, nodes: str, name: str) -> None:
    """On SIGTERM each ended within its grace period; then neither its entry nor its IMEX process was there any more."""
    ends, uid = run_daemons(world).ends, uid_in(world, name)

    def ended(end: DaemonEnd | None) -> str:
        if end is None:
            return "no end"
        return f"an end after {end.seconds:.1f} s, entries {in_words(end.entries)}, IMEX process {in_words(end.imex)}"

    def look() -> Seen[str]:
        found = {node: ends.get((world.name(node), uid)) for node in words(nodes)}
        right = all(
            end is not None and not end.entries and not end.imex and end.seconds < GRACE_SECONDS
            for end in found.values()
        )
        return right, in_words({node: ended(end) for node, end in found.items()})

    expected = f"an end within {GRACE_SECONDS:g} s, entries none, IMEX process false"
    world.eventually(f"daemons of {nodes}", look, expected=expected, within=max(GRACE_SECONDS, world.run.patience))


@then('the daemon of "{node}" in ComputeDomain "{name}" has ended, and left the entry with the address {address}')
def _(world: World, node: str, name: str, address: str) -> None:
    """On SIGTERM it ended within its grace period; then its node had an entry with this address."""
    ends, uid = run_daemons(world).ends, uid_in(world, name)

    def look() -> Seen[str]:
        end = ends.get((world.name(node), uid))
        if end is None:
            return False, "no end"
        return [entry.get("ipAddress") for entry in end.entries] == [address], f"entries {in_words(end.entries)}"

    expected = f"one entry, with the address {address}"
    world.eventually(f"daemon of {node}", look, expected=expected, within=max(GRACE_SECONDS, world.run.patience))


@then('the check of "{node}" in ComputeDomain "{name}" fails')
def _(world: World, node: str, name: str) -> None:
    """The check, called now, reports that the container is not ready."""
    found = check_now(world, node, name)
    world.check(bool(found), f"check of {node}'s daemon", expected="a failure", observed=found or "success")


@then('the check of "{node}" in ComputeDomain "{name}" succeeds')
def _(world: World, node: str, name: str) -> None:
    """The check, called now, reports that the container is ready."""
    found = check_now(world, node, name)
    world.check(not found, f"check of {node}'s daemon", expected="success", observed=found or "success")


def check_now(world: World, node: str, name: str) -> str:
    """Return why a daemon's check fails; empty if it succeeds."""
    return container_of(world, node, name).check()
