"""The Helm chart: with its defaults it is `deploy/kubernetes`, and every value reaches the program that it is for."""

from __future__ import annotations

import base64
import itertools
import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from cryptography import x509

from deploy.manifests import chart, render, webhook
from dra_conformance.cli import call, run
from dra_conformance.core.configuration import options_of
from dra_conformance.core.errors import ExitCode
from dra_conformance.core.options import RunOptions
from dra_conformance.rbac import job
from reference_impl.runtime import load, make_parser
from reference_impl.webhook.command import gates_of
from tests.deploy.helm import CHART, NAMESPACE, Helm, helm_fixture, nested

__all__ = ["helm_fixture"]

BY_HAND = {"values.yaml", "values.schema.json", "templates/_helpers.tpl", "templates/NOTES.txt"}
OPTIONAL = {
    "optional/claim-controller.yaml": "claimController.enabled",
    "optional/taint-eviction.yaml": "taintEviction.enabled",
    "optional/compute-domains.yaml": "resources.computeDomains.enabled",
}
EVERYTHING: dict[str, Any] = {
    **{name: {"enabled": True} for name in ("claimController", "taintEviction", "webhook", "suite")},
    "resources": {"computeDomains": {"enabled": True}},
}
NOTHING: dict[str, Any] = {
    **{name: {"enabled": False} for name in ("scheduler", "binder", "networkPolicy")},
    "resources": {"gpus": {"enabled": False}},
}
OF_THE_CHART = {"helm.sh/chart", "app.kubernetes.io/instance", "app.kubernetes.io/managed-by"}
Objects = dict[str, dict[str, Any]]


def plain(objects: list[dict[str, Any]]) -> Objects:
    """Return objects by kind and name, without what only Helm needs."""
    found = {f"{one['kind']} {one['metadata']['name']}": one for one in objects}
    assert len(found) == len(objects)
    for one in found.values():
        labels = one["metadata"].get("labels", {})
        one["metadata"]["labels"] = {key: value for key, value in labels.items() if key not in OF_THE_CHART}
        template = one.get("spec", {}).get("template", {}).get("metadata", {})
        template.get("annotations", {}).pop("checksum/fake-gpus", None)
        template.get("annotations", {}).pop("checksum/certificate", None)
        for place in (one["metadata"], template):
            for key in ("labels", "annotations"):
                if not place.get(key, True):
                    del place[key]
    return found


def manifests(*names: str) -> Objects:
    files = dict(render.files())
    return plain([one for name in names for one in yaml.safe_load_all(files[name])])


DEFAULT = manifests(*(name for name, _ in render.files() if "/" not in name and name != "00-namespace.yaml"))
"""Helm makes the namespace: `--create-namespace`."""

CRDS = {name: one for name, one in manifests("optional/compute-domains.yaml").items() if "Definition" in name}
"""Helm has no conditions for them."""


def container(objects: Objects, name: str, *, at: int = 0, kind: str = "containers") -> dict[str, Any]:
    found: dict[str, Any] = objects[name]["spec"]["template"]["spec"][kind][at]
    return found


def options_in(objects: Objects, monkeypatch: pytest.MonkeyPatch) -> RunOptions:
    """Return the options of the suite's second pod."""
    monkeypatch.setenv("JOB_COMPLETION_INDEX", "1")
    words = container(objects, "Job dra-conformance")["args"]
    assert words[:2] == ["dra_conformance", "run"]
    given = run.command.make_context("run", words[2:]).params
    return options_of({name.replace("_", "-"): value for name, value in given.items()})


def test_the_files_are_those_that_the_command_writes() -> None:
    there = {str(path.relative_to(CHART)): path.read_text() for path in CHART.rglob("*") if path.is_file()}
    assert there.keys() - BY_HAND == dict(chart.files()).keys()
    for name, text in chart.files():
        assert there[name] == text, f"{name}: python -m deploy.manifests writes it"


def test_the_schema_has_the_values_of_the_chart_and_no_others() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())

    def compare(values: Mapping[str, Any], part: Mapping[str, Any], path: str) -> None:
        part = schema["$defs"][part["$ref"].rpartition("/")[2]] if "$ref" in part else part
        if part.get("additionalProperties") is not False or path in (".featureGates", ".resources.requests"):
            return
        assert values.keys() == part["properties"].keys() - {"global"}, path
        for key, value in values.items():
            if isinstance(value, dict) and value:
                compare(value, part["properties"][key], f"{path}.{key}")

    compare(yaml.safe_load((CHART / "values.yaml").read_text()), schema, "")
    gates = schema["properties"]["featureGates"]["properties"]
    assert gates.keys() == {gate for known in chart.GATES.values() for gate in known}
    assert gates_of(",".join(f"{gate}=true" for gate in chart.GATES["webhook"])).mps


def test_with_its_defaults_the_chart_has_the_objects_of_the_manifests(helm: Helm) -> None:
    assert plain(helm.template({}, "--include-crds")) == DEFAULT | CRDS


@pytest.mark.parametrize(("file", "value"), OPTIONAL.items(), ids=OPTIONAL.values())
def test_an_optional_part_has_the_objects_of_its_manifest(helm: Helm, file: str, value: str) -> None:
    assert plain(helm.template(nested(value, True), "--include-crds")) == DEFAULT | CRDS | manifests(file)


def test_the_webhook_has_the_objects_of_its_manifest_and_a_certificate_for_its_name(helm: Helm) -> None:
    made = plain(helm.template({"webhook": {"enabled": True}}, "--include-crds"))
    secret = made.pop("Secret reference-webhook-certificate")
    registration = made.pop("ValidatingWebhookConfiguration reference-webhook")
    assert made == DEFAULT | CRDS | manifests("optional/webhook.yaml")
    authority = secret["data"].pop("ca.crt")
    certificate, key = secret["data"]["tls.crt"], secret["data"]["tls.key"]
    assert plain([webhook.secret(certificate, key), webhook.registration(authority)]) == plain([secret, registration])
    (leaf,) = x509.load_pem_x509_certificates(base64.b64decode(certificate))
    (root,) = x509.load_pem_x509_certificates(base64.b64decode(authority))
    leaf.verify_directly_issued_by(root)
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == [webhook.HOST]


def test_the_suite_has_the_objects_that_job_prints(
    helm: Helm, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert call(["job", "--namespace", NAMESPACE]) == ExitCode.OK
    printed = plain(list(yaml.safe_load_all(capsys.readouterr().out)))
    made = plain(helm.template({**NOTHING, "suite": {"enabled": True}}))
    # The command prints the components of a cluster, which are the defaults there.
    assert options_in(made, monkeypatch) == options_in(printed, monkeypatch)
    for objects in (made, printed):
        del container(objects, "Job dra-conformance")["args"]
    # The command leaves it to the cluster.
    assert container(made, "Job dra-conformance").pop("imagePullPolicy") == "IfNotPresent"
    assert made == printed


@pytest.mark.parametrize("values", [{}, EVERYTHING, NOTHING], ids=["default", "everything", "nothing"])
def test_helm_finds_no_mistake(helm: Helm, values: dict[str, Any]) -> None:
    done = helm.lint(values)
    assert done.returncode == 0, done.stdout


def test_with_everything_off_nothing_is_left(helm: Helm) -> None:
    assert helm.template(NOTHING) == []


def test_every_object_fits_the_published_definition_of_its_kind(helm: Helm) -> None:
    checked = 0
    for each in helm.template(EVERYTHING):
        kubernetes_validate.validate(each, "1.37", strict=True)
        checked += 1
    assert checked >= 40


@pytest.mark.parametrize(
    ("values", "name", "words"),
    [
        (
            {"scheduler": {"additionalArgs": ["--feature-gates=DynamicResourceAllocation=true", "--seed", "7"]}},
            "Deployment reference-scheduler",
            ["--feature-gates=DynamicResourceAllocation=true", "--seed", "7"],
        ),
        (
            {"binder": {"additionalArgs": ["--feature-gates=DynamicResourceAllocation=true"]}},
            "Deployment reference-binder",
            ["--feature-gates=DynamicResourceAllocation=true"],
        ),
        ({"logVerbosity": 0}, "Deployment reference-binder", ["--in-cluster"]),
        ({"logVerbosity": "6"}, "Deployment reference-binder", ["-vv", "--in-cluster"]),
        (
            {"featureGates": {"DynamicMIG": True, "NVMLDeviceHealthCheck": False, "HostManagedIMEXDaemon": True}},
            "DaemonSet gpu-kubelet-plugin",
            ["--driver-feature-gates=DynamicMIG=true,NVMLDeviceHealthCheck=false"],
        ),
        (
            {"consumableShares": 4, "featureGates": {"ConsumableShares": True}},
            "DaemonSet gpu-kubelet-plugin",
            ["--driver-feature-gates=ConsumableShares=true", "--consumable-shares=4"],
        ),
        (
            {"fakeGpus": {"hostPath": "/opt/gpus"}, "kubeletPlugin": {"kubeletPluginsDirectoryPath": "/k/plugins"}},
            "DaemonSet gpu-kubelet-plugin",
            ["--container-driver-root", "/opt/gpus/node/driver", "--healthcheck-port", "51515"],
        ),
        (
            {
                "featureGates": {"HostManagedIMEXDaemon": True, "DynamicMIG": True},
                "resources": {"computeDomains": {"enabled": True, "imex": {"mode": "hostManaged"}}},
                "kubeletPlugin": {"containers": {"computeDomains": {"gpuCliqueLabelEnabled": False}}},
            },
            "DaemonSet compute-domain-kubelet-plugin",
            [
                *("--no-gpu-clique-label-enabled", "--imex-mode", "hostManaged", "--imex-isolation", "domain"),
                "--driver-feature-gates=HostManagedIMEXDaemon=true",
                "--imex-host-socket-path=/etc/nvidia-imex/imex_ctrl.sock",
            ],
        ),
        (
            {"webhook": {"enabled": True, "containerPort": 9443}, "featureGates": {"MPSSupport": True}},
            "Deployment reference-webhook",
            ["--driver-feature-gates=MPSSupport=true"],
        ),
    ],
)
def test_a_value_reaches_its_program(helm: Helm, values: dict[str, Any], name: str, words: list[str]) -> None:
    found = container(plain(helm.template(values)), name)["args"]
    assert any(found[at : at + len(words)] == words for at in range(len(found))), found
    component = found[1]
    make_parser(component, load(component)).parse_args(found[2:])


def test_every_program_takes_the_options_of_its_pod(helm: Helm) -> None:
    programs = set()
    for name, one in plain(helm.template(EVERYTHING)).items():
        if one["kind"] in ("Deployment", "DaemonSet"):
            package, component, *words = container({name: one}, name)["args"]
            make_parser(component, load(component)).parse_args(words)
            programs.add((package, component))
    assert len(programs) == 8


def test_the_inventories_are_for_all_nodes_and_for_some(helm: Helm, tmp_path: Path) -> None:
    values = {"fakeGpus": {"inventory": "gb200-nvl72-node", "nodes": {"n1": "h100", "n2": {"gpus": [{"board": "t4"}]}}}}
    data = plain(helm.template(values))["ConfigMap fake-gpus"]["data"]
    assert (data["default.yaml"], data["n1.yaml"]) == ("gb200-nvl72-node", "h100")
    assert yaml.safe_load(data["n2.yaml"]) == {"gpus": [{"board": "t4"}]}
    before = helm.template({})
    changed = [one for one in helm.template(values) if one not in before]
    # The pods of the driver restart: they read the inventory at their start.
    assert [one["kind"] for one in changed] == ["ConfigMap", "DaemonSet"]


def test_every_pod_takes_the_settings_of_its_place(helm: Helm) -> None:
    place = {
        "priorityClassName": "high",
        "podAnnotations": {"a": "b"},
        "nodeSelector": {"zone": "z"},
        "tolerations": [{"operator": "Exists"}],
        "affinity": {"nodeAffinity": {}},
    }
    parts = ("kubeletPlugin", "controller", "scheduler", "binder", "claimController", "taintEviction", "webhook")
    values = {**EVERYTHING, "imagePullSecrets": [{"name": "registry"}], "image": {"tag": "9", "pullPolicy": "Never"}}
    for part in parts:
        values[part] = {**values.get(part, {}), **place}
    pods = 0
    for one in helm.template(values):
        if one["kind"] not in ("Deployment", "DaemonSet"):
            continue
        template = one["spec"]["template"]
        pod = template["spec"]
        assert {key: pod[key] for key in place if key != "podAnnotations"} == {
            key: value for key, value in place.items() if key != "podAnnotations"
        }
        assert template["metadata"]["annotations"]["a"] == "b"
        assert pod["imagePullSecrets"] == [{"name": "registry"}]
        for each in [*pod.get("initContainers", ()), *pod["containers"]]:
            assert (each["image"], each["imagePullPolicy"]) == ("dra-conformance:9", "Never")
        pods += 1
    assert pods == 8


def test_the_shards_of_the_suite_run_with_its_options(helm: Helm, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"shards": 2, "args": ["--profile", "api"], "attempts": 1, "claim": "mine"}
    made = plain(helm.template({**NOTHING, "suite": {"enabled": True, **settings}}))
    assert "PersistentVolumeClaim dra-conformance" not in made
    spec = made["Job dra-conformance"]["spec"]
    assert (spec["completions"], spec["parallelism"], spec["backoffLimitPerIndex"]) == (2, 2, 0)
    options = options_in(made, monkeypatch)
    assert (options.shard, options.profile) == ("2/2", ("api",))
    pods = [spec["template"]["spec"], made["Pod dra-conformance-reports"]["spec"]]
    claims = [one["persistentVolumeClaim"] for pod in pods for one in pod["volumes"] if "persistentVolumeClaim" in one]
    assert claims == [{"claimName": "mine"}] * 2


def test_the_pods_of_the_suite_have_the_settings_of_their_place(helm: Helm) -> None:
    place = {
        "nodeSelector": {"zone": "z"},
        "tolerations": [{"operator": "Exists"}],
        "affinity": {"nodeAffinity": {}},
    }
    image = {"tag": "9", "pullPolicy": "Always"}
    values = {"image": image, "imagePullSecrets": [{"name": "registry"}], "suite": {"enabled": True, **place}}
    made = plain(helm.template({**NOTHING, **values}))
    suite = container(made, "Job dra-conformance")
    assert (suite["image"], suite["imagePullPolicy"]) == ("dra-conformance:9", "Always")
    for pod in (made["Job dra-conformance"]["spec"]["template"]["spec"], made["Pod dra-conformance-reports"]["spec"]):
        assert {key: pod[key] for key in place} == place
        assert pod["imagePullSecrets"] == [{"name": "registry"}]


def test_the_kubelet_replaces_nothing_in_an_option_of_the_suite(helm: Helm) -> None:
    words = ["--skip", "a$(JOB_COMPLETION_INDEX)$$b$"]
    made = plain(helm.template({**NOTHING, "suite": {"enabled": True, "args": words}}))
    args = container(made, "Job dra-conformance")["args"]
    assert args[-2:] == [job.literal(word) for word in words] == ["--skip", "a$$(JOB_COMPLETION_INDEX)$$$$b$$"]


@pytest.mark.parametrize("keep", [False, True])
def test_the_claim_of_the_reports_is_kept_on_request(helm: Helm, keep: bool) -> None:
    made = plain(helm.template({**NOTHING, "suite": {"enabled": True, "keepClaim": keep}}))
    found = made["PersistentVolumeClaim dra-conformance"]["metadata"].get("annotations", {})
    assert found == ({"helm.sh/resource-policy": "keep"} if keep else {})


@pytest.mark.parametrize(
    ("part", "name"), [("gpus", "gpu-kubelet-plugin"), ("computeDomains", "compute-domain-kubelet-plugin")]
)
@pytest.mark.parametrize("port", [-1, 9000])
def test_a_plugin_has_probes_only_if_its_port_is_not_negative(helm: Helm, part: str, name: str, port: int) -> None:
    values = {**EVERYTHING, **nested(f"kubeletPlugin.containers.{part}.healthcheckPort", port)}
    found = container(plain(helm.template(values)), f"DaemonSet {name}")
    probes = [found[probe]["grpc"]["port"] for probe in ("startupProbe", "livenessProbe") if probe in found]
    ports = [word for before, word in itertools.pairwise(found["args"]) if before == "--healthcheck-port"]
    assert (probes, ports) == (([], []) if port < 0 else ([port, port], [str(port)]))


def documented() -> list[str]:
    """Return the commands of the page that install or change a release."""
    page = (CHART.parents[1] / "docs/how-to/helm.md").read_text()
    return [line for line in page.splitlines() if line.startswith(("helm install ", "helm upgrade "))]


@pytest.mark.parametrize("line", documented())
def test_a_documented_command_renders(helm: Helm, line: str) -> None:
    _, _, name, place, *words = shlex.split(line)
    assert (CHART.parents[1] / place) == CHART
    # An option of `helm upgrade`: nothing has been installed here.
    text = helm.call("template", name, str(CHART), *(word for word in words if word != "--reset-then-reuse-values"))
    for one in yaml.safe_load_all(text):
        kubernetes_validate.validate(one, "1.37", strict=True)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("replicas", 2),
        ("scheduler.additionalArgs", "--seed=7"),
        ("scheduler.resource", {}),
        ("image.pullPolicy", "Sometimes"),
        ("logVerbosity", "high"),
        ("featureGates.DynamicMig", True),
        ("featureGates.DynamicMIG", "true"),
        ("consumableShares", "0"),
        ("fakeGpus.inventory", ""),
        ("fakeGpus.hostPath", "gpus"),
        ("kubeletPlugin.containers.gpus.healthcheckPort", 0),
        ("kubeletPlugin.containers.computeDomains.healthcheckPort", 65536),
        ("resources.computeDomains.imex.mode", "host"),
        ("webhook.containerPort", 443),
        ("webhook.tls.mode", "cert-manager"),
        ("suite.shards", 0),
        ("suite.args", "--profile api"),
        ("suite.shards", 257),
    ],
)
def test_the_schema_refuses_a_wrong_value(helm: Helm, path: str, value: Any) -> None:
    message = helm.refused(nested(path, value))
    assert "values don't meet the specifications of the schema" in message
    assert path.split(".")[-1] in message


def test_values_that_do_not_fit_together_are_refused(helm: Helm) -> None:
    alone = {"resources": {"gpus": {"enabled": False}, "computeDomains": {"enabled": True}}}
    assert "resources.computeDomains.enabled needs resources.gpus.enabled" in helm.refused(alone)
    imex = {"computeDomains": {"enabled": True, "imex": {"mode": "hostManaged"}}}
    for gates in ({}, {"HostManagedIMEXDaemon": False}):
        message = helm.refused({"resources": imex, "featureGates": gates})
        assert "imex.mode=hostManaged needs featureGates.HostManagedIMEXDaemon=true" in message
    tls: dict[str, Any] = {"mode": "secret"}
    assert "webhook.tls.secret.name" in helm.refused({"webhook": {"enabled": True, "tls": tls}})
    tls["secret"] = {"name": "mine"}
    assert "webhook.tls.secret.caBundle" in helm.refused({"webhook": {"enabled": True, "tls": tls}})
    tls["secret"]["caBundle"] = "Q0E="
    made = plain(helm.template({"webhook": {"enabled": True, "tls": tls}}))
    assert "Secret reference-webhook-certificate" not in made
    volumes = made["Deployment reference-webhook"]["spec"]["template"]["spec"]["volumes"]
    assert {"name": "certificate", "secret": {"secretName": "mine"}} in volumes
