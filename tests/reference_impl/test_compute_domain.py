"""ComputeDomains from creation to the channel in a container, and back."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml
from fabric_bench import Bench, bench

import fake_nvml
from dra_api.client import Invalid
from dra_api.objects import (
    COMPUTE_DOMAIN_CLIQUES,
    COMPUTE_DOMAINS,
    DAEMON_SETS,
    NAMESPACES,
    NODES,
    PODS,
    RESOURCE_CLAIM_TEMPLATES,
    Obj,
    meta,
    uid_of,
)
from dra_api.rpc import ClaimRef, PrepareResult
from dra_conformance.kubelet.cdi import validate_spec
from reference_impl.compute_domain.controller import ComputeDomainController
from reference_impl.compute_domain.daemon import SimulatedImexDaemons
from reference_impl.compute_domain.objects import CLIQUE_LABEL, DOMAIN_LABEL, DRIVER, DRIVER_NAMESPACE, FINALIZER
from reference_impl.compute_domain.options import DRIVER_MANAGED, HOST_SOCKET, FabricGates, ImexOptions
from reference_impl.compute_domain.plugin import ComputeDomainPlugin, ComputeDomainPluginOptions
from reference_impl.kubelet_plugin.checkpoint import ClaimEntry, ClaimState

CLIQUE = "00000000-0000-0000-0000-000000000001.0"


class Fabric:
    """A bench with the fabric's CRDs and controller, and plugins on request."""

    def __init__(self, lab: Bench) -> None:
        self.lab = lab
        self.client = lab.client
        lab.crds()
        self.client.create(NAMESPACES, {"metadata": {"name": DRIVER_NAMESPACE}})
        lab.run(ComputeDomainController(lab.client, clock=lab.clock))

    def daemons(self) -> None:
        self.lab.run(SimulatedImexDaemons(self.client, clock=self.lab.clock))

    def plugin(self, node: str = "n1", *, clique: str | None = CLIQUE) -> ComputeDomainPlugin:
        options = ComputeDomainPluginOptions(
            node=self.lab.options(node, driver_name=DRIVER),
            gates=FabricGates(),
            imex=ImexOptions(mode=DRIVER_MANAGED, isolation="domain"),
            host_socket=HOST_SOCKET,
            driver_namespace=DRIVER_NAMESPACE,
            clique_id=clique,
            patience=30,
        )
        nvml = fake_nvml.load_pynvml(self.lab.machines[node]) if clique is None else None
        made = ComputeDomainPlugin(self.client, clock=self.lab.clock, nvml=nvml, options=options)
        self.lab.run(made)
        return made

    def domain(self, name: str = "cd", *, nodes: int = 0, template: str = "channel", **channel: Any) -> Obj:
        spec: Obj = {"numNodes": nodes, "channel": {"resourceClaimTemplate": {"name": template}, **channel}}
        return self.client.create(COMPUTE_DOMAINS, {"metadata": {"name": name, "namespace": "default"}, "spec": spec})

    def status(self, name: str = "cd") -> Obj:
        found: Obj = self.client.get(COMPUTE_DOMAINS, name, "default").get("status") or {}
        return found

    def becomes(self, state: str, name: str = "cd") -> bool:
        return self.lab.eventually(lambda: self.status(name).get("status") == state, COMPUTE_DOMAINS)

    def channel(self, name: str, domain_uid: str, *, kind: str = "Channel", **fields: Any) -> ClaimRef:
        parameters = {
            "apiVersion": "resource.nvidia.com/v1beta1",
            "kind": f"ComputeDomain{kind}Config",
            "domainID": domain_uid,
            **fields,
        }
        config = [{"source": "FromClaim", "requests": ["r"], "opaque": {"driver": DRIVER, "parameters": parameters}}]
        return self.lab.claim(name, f"{kind.lower()}-0", driver=DRIVER, config=config)

    def prepare(self, ref: ClaimRef) -> PrepareResult:
        with self.lab.kubelet("n1", DRIVER) as kubelet:
            return kubelet.prepare([ref])[ref.uid]

    def unprepare(self, ref: ClaimRef) -> None:
        with self.lab.kubelet("n1", DRIVER) as kubelet:
            assert kubelet.unprepare([ref]) == {ref.uid: ""}

    def label(self, node: str = "n1") -> str | None:
        return (meta(self.client.get(NODES, node)).get("labels") or {}).get(DOMAIN_LABEL)

    def spec(self, ref: ClaimRef) -> Obj:
        parsed: Obj = yaml.safe_load(self.spec_path(ref).read_text())
        assert validate_spec(parsed) == []
        return parsed

    def spec_path(self, ref: ClaimRef) -> Path:
        return self.lab.base / f"n1/cdi/k8s.compute-domain.nvidia.com-claim_{ref.uid}.yaml"

    def checkpointed(self, ref: ClaimRef) -> Obj | None:
        document = orjson.loads((self.lab.base / f"n1/p/{DRIVER}/checkpoint.json").read_bytes())
        found: Obj | None = document["v2"]["preparedClaims"].get(ref.uid)
        return found


@pytest.fixture
def fabric(tmp_path: Path) -> Iterator[Fabric]:
    with bench(tmp_path) as lab:
        lab.node("n1")
        yield Fabric(lab)


# -- the CRD -----------------------------------------------------------------------------------------------------------


def test_defaults_and_refusals(fabric: Fabric) -> None:
    made = fabric.domain()
    assert made["spec"]["channel"]["allocationMode"] == "Single"
    bad: list[Obj] = [
        {"numNodes": 1},
        {"numNodes": -1, "channel": {"resourceClaimTemplate": {"name": "x"}}},
        {"channel": {"resourceClaimTemplate": {"name": "x"}, "allocationMode": "Some"}},
        {"channel": {"resourceClaimTemplate": {}}},
    ]
    for spec in bad:
        with pytest.raises(Invalid):
            fabric.client.create(COMPUTE_DOMAINS, {"metadata": {"name": "bad", "namespace": "default"}, "spec": spec})


def test_spec_is_immutable(fabric: Fabric) -> None:
    fabric.domain()
    with pytest.raises(Invalid, match=r"A computeDomain\.spec is immutable"):
        fabric.client.patch(COMPUTE_DOMAINS, "cd", {"spec": {"numNodes": 3}}, "default")


# -- the controller ----------------------------------------------------------------------------------------------------


def test_domain_gets_its_objects(fabric: Fabric) -> None:
    made = fabric.domain(allocationMode="All")
    assert fabric.becomes("Ready")
    uid = uid_of(made)
    assert FINALIZER in fabric.client.get(COMPUTE_DOMAINS, "cd", "default")["metadata"]["finalizers"]
    workload = fabric.client.get(RESOURCE_CLAIM_TEMPLATES, "channel", "default")
    parameters = workload["spec"]["spec"]["devices"]["config"][0]["opaque"]["parameters"]
    assert (parameters["domainID"], parameters["allocationMode"]) == (uid, "All")
    for resource in (RESOURCE_CLAIM_TEMPLATES, DAEMON_SETS):
        own = fabric.client.get(resource, f"computedomain-daemon-{uid}", DRIVER_NAMESPACE)
        assert own["metadata"]["labels"][DOMAIN_LABEL] == uid
        assert FINALIZER in own["metadata"]["finalizers"]


def test_status_waits_for_nodes(fabric: Fabric) -> None:
    made = fabric.domain(nodes=1)
    assert fabric.becomes("NotReady")
    fabric.daemons()
    labels = {DOMAIN_LABEL: uid_of(made), "nvidia.com/gpu.clique": CLIQUE}
    fabric.client.patch(NODES, "n1", {"metadata": {"labels": labels}})
    assert fabric.becomes("Ready")
    (node,) = fabric.status()["nodes"]
    assert (node["name"], node["cliqueID"], node["index"], node["status"]) == ("n1", CLIQUE, 0, "Ready")
    clique = fabric.client.get(COMPUTE_DOMAIN_CLIQUES, f"{uid_of(made)}.{CLIQUE}", DRIVER_NAMESPACE)
    assert clique["metadata"]["labels"][CLIQUE_LABEL] == CLIQUE
    assert clique["metadata"]["ownerReferences"][0]["kind"] == "Pod"


def test_entry_of_a_node_without_daemon_is_removed(fabric: Fabric) -> None:
    made = fabric.domain()
    assert fabric.becomes("Ready")
    name = f"{uid_of(made)}.{CLIQUE}"
    entry = {"nodeName": "n1", "ipAddress": "192.0.2.1", "cliqueID": CLIQUE, "index": 0, "status": "Ready"}
    fabric.client.create(
        COMPUTE_DOMAIN_CLIQUES,
        {
            "metadata": {
                "name": name,
                "namespace": DRIVER_NAMESPACE,
                "labels": {DOMAIN_LABEL: uid_of(made), CLIQUE_LABEL: CLIQUE},
            },
            "daemons": [entry],
        },
    )

    def is_empty() -> bool:
        return not fabric.client.get(COMPUTE_DOMAIN_CLIQUES, name, DRIVER_NAMESPACE).get("daemons")

    assert fabric.lab.eventually(is_empty, COMPUTE_DOMAIN_CLIQUES)


def test_deletion_takes_all_of_it(fabric: Fabric) -> None:
    fabric.daemons()
    made = fabric.domain()
    assert fabric.becomes("Ready")
    fabric.client.patch(NODES, "n1", {"metadata": {"labels": {DOMAIN_LABEL: uid_of(made)}}})
    assert fabric.lab.eventually(lambda: fabric.status().get("nodes"), COMPUTE_DOMAINS)
    fabric.client.delete(COMPUTE_DOMAINS, "cd", "default")
    assert fabric.lab.eventually(lambda: fabric.client.find(COMPUTE_DOMAINS, "cd", "default") is None, COMPUTE_DOMAINS)
    assert fabric.client.list(RESOURCE_CLAIM_TEMPLATES).items == []
    assert fabric.client.list(DAEMON_SETS).items == []
    assert fabric.label() is None
    assert fabric.lab.eventually(lambda: fabric.client.list(PODS, DRIVER_NAMESPACE).items == [], PODS)


def test_a_template_of_another_owner_is_not_changed(fabric: Fabric) -> None:
    other = {
        "metadata": {"name": "channel", "namespace": "default"},
        "spec": {"spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "x"}}]}}},
    }
    fabric.client.create(RESOURCE_CLAIM_TEMPLATES, other)
    fabric.domain()
    name = "computedomain-daemon-" + uid_of(fabric.client.get(COMPUTE_DOMAINS, "cd", "default"))
    assert fabric.lab.eventually(lambda: fabric.client.find(DAEMON_SETS, name, DRIVER_NAMESPACE), DAEMON_SETS)
    assert "labels" not in fabric.client.get(RESOURCE_CLAIM_TEMPLATES, "channel", "default")["metadata"]
    fabric.client.delete(RESOURCE_CLAIM_TEMPLATES, "channel", "default")
    assert fabric.becomes("Ready")


def test_a_simulated_daemon_whose_status_is_overwritten_keeps_its_address(fabric: Fabric) -> None:
    """A real kubelet writes Pending while it cannot pull the image of the pod."""
    fabric.daemons()
    uid = uid_of(fabric.domain(nodes=2))
    for node in ("a", "b"):
        labels = {DOMAIN_LABEL: uid, "nvidia.com/gpu.clique": CLIQUE}
        fabric.client.create(NODES, {"metadata": {"name": node, "labels": labels}})
    assert fabric.becomes("Ready")

    def addresses() -> dict[str, str]:
        return {node["name"]: node["ipAddress"] for node in fabric.status().get("nodes", ())}

    def running() -> bool:
        pods = fabric.client.list(PODS, DRIVER_NAMESPACE).items
        return len(pods) == 2 and all(pod["status"]["phase"] == "Running" for pod in pods)

    before = addresses()
    assert len(set(before.values())) == 2
    (pod, *_) = fabric.client.list(PODS, DRIVER_NAMESPACE).items
    conditions = [{"type": "Ready", "status": "False"}]
    status = {"status": {"phase": "Pending", "podIP": None, "conditions": conditions}}
    fabric.client.patch(PODS, pod["metadata"]["name"], status, DRIVER_NAMESPACE, subresource="status")
    assert fabric.lab.eventually(running, PODS)
    assert addresses() == before


# -- the plugin --------------------------------------------------------------------------------------------------------


def test_published_devices(fabric: Fabric) -> None:
    fabric.plugin()
    (found,) = fabric.lab.slices(DRIVER)
    assert {d["name"]: d["attributes"] for d in found["spec"]["devices"]} == {
        "channel-0": {"type": {"string": "channel"}, "id": {"int": 0}},
        "daemon-0": {"type": {"string": "daemon"}, "id": {"int": 0}},
    }
    assert found["spec"]["pool"]["name"] == "n1"


def test_channel_from_claim_to_device_node(fabric: Fabric) -> None:
    fabric.daemons()
    fabric.plugin()
    made = fabric.domain(nodes=1)
    ref = fabric.channel("c", uid_of(made))
    answer = fabric.prepare(ref)
    assert answer.error == ""
    (device,) = answer.devices
    assert device.cdi_device_ids == (f"k8s.compute-domain.nvidia.com/claim={ref.uid}-channel-0",)
    assert fabric.label() == uid_of(made)
    assert fabric.becomes("Ready")
    (edits,) = [d["containerEdits"] for d in fabric.spec(ref)["devices"]]
    (node,) = edits["deviceNodes"]
    assert node["path"] == "/dev/nvidia-caps-imex-channels/channel0"
    assert (node["type"], node["minor"], node["fileMode"]) == ("c", 0, 0o666)
    assert "hostPath" not in node  # the container runtime creates the node from its numbers
    assert fabric.prepare(ref) == answer
    fabric.unprepare(ref)
    assert not fabric.spec_path(ref).exists()
    assert fabric.label() is None
    assert fabric.checkpointed(ref) is None
    assert fabric.lab.eventually(lambda: not fabric.status().get("nodes"), COMPUTE_DOMAINS)


def test_mode_all_gives_every_channel(fabric: Fabric) -> None:
    fabric.daemons()
    fabric.plugin()
    ref = fabric.channel("c", uid_of(fabric.domain()), allocationMode="All")
    assert fabric.prepare(ref).error == ""
    nodes = fabric.spec(ref)["devices"][0]["containerEdits"]["deviceNodes"]
    assert (len(nodes), nodes[2047]["path"]) == (2048, "/dev/nvidia-caps-imex-channels/channel2047")


def test_clique_comes_from_nvml(tmp_path: Path) -> None:
    with bench(tmp_path) as lab:
        lab.node("n1", "gb200-nvl72-node")
        fabric = Fabric(lab)
        fabric.daemons()
        fabric.plugin(clique=None)
        assert fabric.prepare(fabric.channel("c", uid_of(fabric.domain()))).error == ""
        assert lab.eventually(lambda: fabric.status().get("nodes"), COMPUTE_DOMAINS)
        assert fabric.status()["nodes"][0]["cliqueID"] == "3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.2"


def test_changed_clique_is_shown_after_ten_minutes_and_kept_without_a_fabric(tmp_path: Path) -> None:
    def shown() -> str:
        return str((meta(fabric.client.get(NODES, "n1")).get("labels") or {}).get("nvidia.com/gpu.clique"))

    with bench(tmp_path) as lab:
        node = lab.node("n1", "gb200-nvl72-node")
        fabric = Fabric(lab)
        fabric.plugin(clique=None)
        assert lab.eventually(lambda: shown().endswith(".2"))
        for gpu in range(4):
            node.set(gpu, "fabric_clique_id", 5)
        lab.clock.advance(600)
        assert lab.eventually(lambda: shown().endswith(".5"))
        for gpu in range(4):
            node.set(gpu, "fabric_state", 0)
        lab.clock.advance(600)
        # Nor does a fabric that fails change it.
        node.inject_fault("nvmlDeviceGetGpuFabricInfo", error="UNKNOWN")
        lab.clock.advance(600)
        assert not lab.eventually(lambda: not shown().endswith(".5"), timeout=0.3)


def test_node_without_fabric_gets_no_edits(fabric: Fabric) -> None:
    fabric.daemons()
    fabric.plugin(clique=None)
    ref = fabric.channel("c", uid_of(fabric.domain()))
    (device,) = fabric.prepare(ref).devices
    assert device.cdi_device_ids == ()
    assert not fabric.spec_path(ref).exists()
    assert fabric.lab.eventually(lambda: fabric.status().get("nodes"), COMPUTE_DOMAINS)
    assert fabric.status()["nodes"][0]["index"] == -1


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"domainID": "no-such-domain"}, "ComputeDomain not found"),
        ({"color": "red"}, 'strict decoding error: unknown field "color"'),
    ],
)
def test_hopeless_claims_fail_at_once(fabric: Fabric, fields: dict[str, str], message: str) -> None:
    fabric.plugin()
    made = fabric.domain()
    assert message in fabric.prepare(fabric.channel("c", uid_of(made), **fields)).error
    assert fabric.label() is None


def test_domain_of_another_namespace(fabric: Fabric) -> None:
    fabric.plugin()
    fabric.client.create(NAMESPACES, {"metadata": {"name": "elsewhere"}})
    made = fabric.client.create(
        COMPUTE_DOMAINS,
        {
            "metadata": {"name": "cd", "namespace": "elsewhere"},
            "spec": {"channel": {"resourceClaimTemplate": {"name": "channel"}}},
        },
    )
    assert "namespace is different" in fabric.prepare(fabric.channel("c", uid_of(made))).error


class Waiting:
    """A Prepare that is under way."""

    def __init__(self, fabric: Fabric, ref: ClaimRef) -> None:
        self._answers: list[PrepareResult] = []
        self._thread = threading.Thread(target=lambda: self._answers.append(fabric.prepare(ref)))
        self._thread.start()

    def answer(self) -> PrepareResult:
        self._thread.join(60)
        return self._answers[0]

    @property
    def is_waiting(self) -> bool:
        return self._thread.is_alive()


def test_claim_waits_for_its_daemon_until_the_timeout(fabric: Fabric) -> None:
    fabric.plugin()
    made = fabric.domain()
    waiting = Waiting(fabric, fabric.channel("c", uid_of(made)))
    assert fabric.lab.eventually(lambda: fabric.label() == uid_of(made), NODES)
    while waiting.is_waiting:
        fabric.lab.clock.advance(10)
        waiting._thread.join(0.05)
    assert "is not ready in ComputeDomain default/cd yet" in waiting.answer().error
    assert fabric.label() == uid_of(made)


def test_claim_that_waits_goes_on_when_the_daemon_is_ready(fabric: Fabric) -> None:
    fabric.plugin()
    made = fabric.domain()
    waiting = Waiting(fabric, fabric.channel("c", uid_of(made)))
    assert fabric.lab.eventually(lambda: fabric.label() == uid_of(made), NODES)
    assert waiting.is_waiting
    fabric.daemons()
    assert waiting.answer().error == ""


def test_second_claim_waits_for_the_channel(fabric: Fabric) -> None:
    fabric.daemons()
    fabric.plugin()
    made = fabric.domain()
    first, second = fabric.channel("a", uid_of(made)), fabric.channel("b", uid_of(made))
    assert fabric.prepare(first).error == ""
    waiting = Waiting(fabric, second)
    while fabric.checkpointed(second) is None:
        waiting._thread.join(0.02)
    assert waiting.is_waiting
    fabric.unprepare(first)
    assert waiting.answer().error == ""
    assert fabric.label() == uid_of(made)


def test_node_of_another_domain_is_not_taken(fabric: Fabric) -> None:
    fabric.daemons()
    fabric.plugin()
    made = fabric.domain()
    fabric.client.patch(NODES, "n1", {"metadata": {"labels": {DOMAIN_LABEL: "other"}}})
    ref = fabric.channel("c", uid_of(made))
    waiting = Waiting(fabric, ref)
    while waiting.is_waiting:
        fabric.lab.clock.advance(10)
        waiting._thread.join(0.05)
    assert "labelled for another ComputeDomain: other" in waiting.answer().error
    fabric.unprepare(ref)
    assert fabric.label() == "other"


def test_aborted_attempt_cannot_complete(fabric: Fabric) -> None:
    plugin = fabric.plugin()
    made = fabric.domain()
    ref = fabric.channel("c", uid_of(made))
    waiting = Waiting(fabric, ref)
    assert fabric.lab.eventually(lambda: fabric.label() == uid_of(made), NODES)
    while waiting.is_waiting:
        fabric.lab.clock.advance(10)
        waiting._thread.join(0.05)
    fabric.unprepare(ref)
    assert fabric.label() is None
    entry = fabric.checkpointed(ref)
    assert entry is not None
    assert (entry["checkpointState"], bool(entry["abortedAt"])) == ("PrepareAborted", True)
    assert "already aborted" in fabric.prepare(ref).error
    fabric.unprepare(ref)
    fabric.lab.clock.advance(91)
    plugin.preparer.clean_stale()
    assert fabric.checkpointed(ref) is None
    fabric.daemons()
    assert fabric.prepare(ref).error == ""


def test_clean_up_keeps_a_claim_that_is_prepared_again_meanwhile(
    fabric: Fabric, monkeypatch: pytest.MonkeyPatch
) -> None:
    preparer = fabric.plugin().preparer
    checkpoint = preparer._checkpoint
    aborted = ClaimEntry(state=ClaimState.ABORTED, status={}, name="c", aborted_at="2020-01-01T00:00:00Z")
    again = ClaimEntry(state=ClaimState.STARTED, status={}, name="c")
    checkpoint.put("u", aborted)

    def prepared_meanwhile(entry: ClaimEntry) -> bool:
        checkpoint.put("u", again)
        return True

    monkeypatch.setattr(preparer, "is_expired", prepared_meanwhile)
    preparer.clean_stale()
    assert checkpoint.get("u") == again


def test_clean_up_goes_on_after_a_claim_that_fails(fabric: Fabric, monkeypatch: pytest.MonkeyPatch) -> None:
    preparer = fabric.plugin().preparer
    for uid in ("first", "second"):
        preparer._checkpoint.put(uid, ClaimEntry(state=ClaimState.STARTED, status={}, name=uid, namespace="gone"))
    unprepare = preparer.unprepare

    def failing(uid: str) -> None:
        if uid == "first":
            raise OSError("the disk is full")
        unprepare(uid)

    monkeypatch.setattr(preparer, "unprepare", failing)
    preparer.clean_stale()
    states = {uid: entry.state for uid, entry in preparer._checkpoint.claims().items()}
    assert states == {"first": ClaimState.STARTED, "second": ClaimState.ABORTED}


def test_daemon_claim(fabric: Fabric) -> None:
    fabric.plugin()
    made = fabric.domain()
    ref = fabric.channel("d", uid_of(made), kind="Daemon")
    (device,) = fabric.prepare(ref).devices
    assert device.cdi_device_ids == (
        "k8s.compute-domain.nvidia.com/device=all",
        f"k8s.compute-domain.nvidia.com/claim={ref.uid}-daemon-0",
    )
    edits = fabric.spec(ref)["devices"][0]["containerEdits"]
    assert set(edits["env"]) == {
        f"CLIQUE_ID={CLIQUE}",
        f"COMPUTE_DOMAIN_UUID={uid_of(made)}",
        "COMPUTE_DOMAIN_NAME=cd",
        "COMPUTE_DOMAIN_NAMESPACE=default",
    }
    (mount,) = edits["mounts"]
    assert mount["containerPath"] == "/imexd"
    assert (Path(mount["hostPath"]) / "imexd.cfg.tmpl").is_file()
    base = yaml.safe_load((fabric.lab.base / "n1/cdi/k8s.compute-domain.nvidia.com-device_base.yaml").read_text())
    assert validate_spec(base) == []
    assert (base["kind"], base["devices"][0]["name"]) == ("k8s.compute-domain.nvidia.com/device", "all")
    fabric.unprepare(ref)
    assert fabric.label() is None
