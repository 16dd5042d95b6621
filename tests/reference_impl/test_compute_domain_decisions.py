"""Decisions of the ComputeDomain components, without a server: status, cliques, objects."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from fabric_bench import ROOT

from dra_api.client import NotFound
from dra_api.clock import RealClock
from dra_api.objects import COMPUTE_DOMAINS, RESOURCE_CLAIM_TEMPLATES, Resource
from reference_impl.compute_domain import cliques, imex_daemon_command, objects, status
from reference_impl.compute_domain.cliques import CliqueFullError
from reference_impl.compute_domain.controller import ComputeDomainController
from reference_impl.runtime import make_parser


def domain(nodes: int = 0, mode: str = "Single") -> dict[str, Any]:
    channel = {"resourceClaimTemplate": {"name": "channel"}, "allocationMode": mode}
    return {
        "metadata": {"name": "cd", "namespace": "ns", "uid": "u"},
        "spec": {"numNodes": nodes, "channel": channel},
    }


def clique(**daemons: str) -> dict[str, Any]:
    entries = [
        {"nodeName": node, "ipAddress": "192.0.2.1", "cliqueID": "c.0", "index": i, "status": state}
        for i, (node, state) in enumerate(daemons.items())
    ]
    return {"metadata": {"labels": {objects.DOMAIN_LABEL: "u"}}, "daemons": entries}


def pod(node: str, *, clique_id: str | None = None, ready: bool = True) -> dict[str, Any]:
    labels = {} if clique_id is None else {objects.CLIQUE_LABEL: clique_id}
    conditions = [{"type": "Ready", "status": str(ready)}]
    return {
        "metadata": {"labels": labels},
        "spec": {"nodeName": node},
        "status": {"podIP": "192.0.2.1", "conditions": conditions},
    }


@pytest.mark.parametrize(
    ("wanted", "daemons", "answer"),
    [
        (0, {}, "Ready"),
        (1, {}, "NotReady"),
        (1, {"n1": "Ready"}, "Ready"),
        (1, {"n1": "NotReady"}, "NotReady"),
        (2, {"n1": "Ready"}, "NotReady"),
        (1, {"n1": "Ready", "n2": "NotReady"}, "NotReady"),
    ],
)
def test_global_status(wanted: int, daemons: dict[str, str], answer: str) -> None:
    found = status.domain_status(domain(wanted), [clique(**daemons)], [pod(node) for node in daemons])
    assert found["status"] == answer
    assert len(found.get("nodes", [])) == len(daemons)


def test_entry_without_a_daemon_pod_is_dead() -> None:
    both = clique(n1="Ready", n2="Ready")
    assert status.dead_entries(both, [pod("n1")]) == {"n2"}


def test_node_without_fabric_is_listed_by_its_pod() -> None:
    found = status.nodes_of([], [pod("n1", clique_id=""), pod("n2", clique_id="", ready=False), pod("n3")])
    assert [(n["name"], n["index"], n["cliqueID"], n["status"]) for n in found] == [
        ("n1", -1, "", "Ready"),
        ("n2", -1, "", "NotReady"),
    ]


def test_node_whose_pod_has_no_address_is_not_listed() -> None:
    waiting = {**pod("n1", clique_id=""), "status": {"phase": "Pending"}}
    assert status.nodes_of([], [waiting]) == []


def test_indices_are_the_lowest_free_and_stay() -> None:
    daemons = cliques.joined([], node="b", ip="192.0.2.1", clique_id="c.0", ready=False)
    daemons = cliques.joined(daemons, node="a", ip="192.0.2.2", clique_id="c.0", ready=False)
    assert {d["nodeName"]: d["index"] for d in daemons} == {"b": 0, "a": 1}
    daemons = cliques.without(daemons, {"b"})
    daemons = cliques.joined(daemons, node="c", ip="192.0.2.3", clique_id="c.0", ready=True)
    daemons = cliques.joined(daemons, node="a", ip="192.0.2.2", clique_id="c.0", ready=True)
    assert {d["nodeName"]: (d["index"], d["status"]) for d in daemons} == {"a": (1, "Ready"), "c": (0, "Ready")}


def test_a_full_clique_accepts_no_node() -> None:
    daemons: list[dict[str, Any]] = []
    for i in range(objects.MAX_NODES):
        daemons = cliques.joined(daemons, node=f"n{i}", ip="192.0.2.1", clique_id="c.0", ready=True)
    with pytest.raises(CliqueFullError, match="at most 18"):
        cliques.joined(daemons, node="late", ip="192.0.2.1", clique_id="c.0", ready=True)


@pytest.mark.parametrize(
    ("indices", "problems"),
    [
        ((0, 1, 17), []),
        ((0, 1, 0), ["n0, n2 have one index, 0"]),
        ((0, 18, -1), ["n1: the index 18 is not between 0 and 17", "n2: the index -1 is not between 0 and 17"]),
    ],
)
def test_indices_that_cannot_be(indices: tuple[int, ...], problems: list[str]) -> None:
    daemons = [{"nodeName": f"n{at}", "index": index} for at, index in enumerate(indices)]
    assert cliques.index_problems(daemons) == problems


def test_nodes_are_listed_only_if_the_last_list_had_too_few() -> None:
    listed: list[int] = []
    warned: list[str] = []

    def nodes(*_: Any) -> Any:
        listed.append(3)
        return SimpleNamespace(items=[{}] * 3)

    controller = ComputeDomainController(SimpleNamespace(list=nodes), clock=RealClock())  # type: ignore[arg-type]
    event = SimpleNamespace(event=lambda _domain, _type, reason, _message: warned.append(reason))
    controller._recorder = event  # type: ignore[assignment]
    for wanted in (2, 3, 1):
        controller.report_too_few_nodes(domain(wanted))
    assert (len(listed), warned) == (1, [])
    for _ in range(3):
        controller.report_too_few_nodes(domain(4))
    assert (len(listed), warned) == (2, ["TooFewNodes"])


@pytest.mark.parametrize("mode", ["Single", "All"])
def test_workload_template_names_the_domain(mode: str) -> None:
    template = objects.workload_template(domain(mode=mode), host_managed=False)
    assert (template["metadata"]["name"], template["metadata"]["namespace"]) == ("channel", "ns")
    assert template["metadata"]["labels"][objects.TARGET_LABEL] == "Workload"
    (config,) = template["spec"]["spec"]["devices"]["config"]
    assert config["opaque"]["driver"] == "compute-domain.nvidia.com"
    assert config["opaque"]["parameters"] == {
        "apiVersion": "resource.nvidia.com/v1beta1",
        "kind": "ComputeDomainChannelConfig",
        "domainID": "u",
        "allocationMode": mode,
    }


def test_daemon_set_follows_the_node_label() -> None:
    made = objects.daemon_set(domain(), "driver", settings=objects.DaemonSettings(image="image"))
    assert made["metadata"]["name"] == "computedomain-daemon-u"
    pod_spec = made["spec"]["template"]["spec"]
    assert pod_spec["nodeSelector"] == {objects.DOMAIN_LABEL: "u"}
    assert pod_spec["resourceClaims"][0]["resourceClaimTemplateName"] == "computedomain-daemon-u"
    assert made["spec"]["selector"]["matchLabels"].items() <= made["spec"]["template"]["metadata"]["labels"].items()


def test_daemons_get_the_settings_that_are_given() -> None:
    def pod_spec(**settings: Any) -> Any:
        found = objects.daemon_set(domain(), "driver", settings=objects.DaemonSettings(image="image", **settings))
        return found["spec"]["template"]["spec"]

    def variables(spec: Any) -> dict[str, str]:
        return {one["name"]: one["value"] for one in spec["containers"][0]["env"] if "value" in one}

    plain = pod_spec()
    assert "imagePullSecrets" not in plain
    assert not {"FEATURE_GATES", "LOG_VERBOSITY"} & set(variables(plain))
    full = pod_spec(pull_secrets=("a", "b"), gates="One=true,Two=false", verbosity=0)
    assert full["imagePullSecrets"] == [{"name": "a"}, {"name": "b"}]
    assert variables(full).items() >= {"FEATURE_GATES": "One=true,Two=false", "LOG_VERBOSITY": "0"}.items()


@pytest.mark.parametrize(("level", "verbose"), [("", 0), ("0", 0), ("2", 1), ("6", 3), ("much", 0)])
def test_the_daemon_logs_as_its_variable_says(monkeypatch: pytest.MonkeyPatch, level: str, verbose: int) -> None:
    monkeypatch.setenv("LOG_VERBOSITY", level)
    parser = make_parser("compute-domain-daemon", imex_daemon_command)
    assert parser.parse_args(["check"]).verbose == verbose
    assert parser.parse_args(["-v", "check"]).verbose == verbose + 1


@pytest.mark.parametrize("name", ["gpu.nvidia.com", "mig.nvidia.com", objects.DAEMON_CLASS, objects.CHANNEL_CLASS])
def test_device_classes_are_named_like_their_files(name: str) -> None:
    found = yaml.safe_load((ROOT / f"fixtures/deviceclasses/{name}.yaml").read_text())
    assert found["metadata"]["name"] == name
    assert "\n" not in found["spec"]["selectors"][0]["cel"]["expression"]


def test_leaving_a_clique_that_goes_meanwhile_does_not_bring_it_back() -> None:
    class GoneBetween:
        """A clique that is there when it is read and gone when it is written."""

        def __init__(self) -> None:
            self.reads = 0
            self.made: list[Any] = []

        def find(self, *_: Any) -> Any:
            self.reads += 1
            return clique(a="Ready") if self.reads == 1 else None

        def update(self, *_: Any) -> Any:
            raise NotFound(404, {"reason": "NotFound"})

        def create(self, *made: Any) -> None:
            self.made.append(made)

    client: Any = GoneBetween()
    writer = cliques.CliqueWriter(client, namespace="ns")
    with pytest.raises(NotFound):  # the caller's queue repeats it
        writer.leave("u", "c.0", {"a"})
    writer.leave("u", "c.0", {"a"})
    assert (client.made, client.reads) == ([], 2)


@pytest.mark.parametrize("created_after", [COMPUTE_DOMAINS, RESOURCE_CLAIM_TEMPLATES], ids=lambda r: r.plural)
def test_the_sweep_keeps_objects_of_a_domain_that_is_created_meanwhile(created_after: Resource) -> None:
    class GrowingCluster:
        """A cluster in which a domain and its template appear after the first list of one resource."""

        def __init__(self) -> None:
            self.items: dict[str, list[Any]] = {}

        def as_agent(self, _: str) -> GrowingCluster:
            return self

        def list(self, resource: Resource, *_: Any, **__: Any) -> Any:
            found = SimpleNamespace(items=self.items.get(resource.plural, []))
            if resource == created_after:
                labels = {objects.DOMAIN_LABEL: "u"}
                template = {"metadata": {"name": "t", "namespace": "ns", "uid": "t", "labels": labels}}
                self.items = {COMPUTE_DOMAINS.plural: [domain()], RESOURCE_CLAIM_TEMPLATES.plural: [template]}
            return found

    client: Any = GrowingCluster()
    removed: list[str] = []
    controller = ComputeDomainController(client, clock=RealClock())
    controller.remove_owned = removed.append  # type: ignore[method-assign]
    controller.sweep()
    assert removed == []
