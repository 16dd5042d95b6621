"""The manifests in `deploy/kubernetes` are current, valid, and grant what the permission table has."""

from __future__ import annotations

import base64
import socket
import ssl
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

import dra_api
from deploy.images import components
from deploy.manifests import render, webhook
from dra_conformance.rbac.roles import rules
from dra_conformance.rbac.table import SHARES, needed
from reference_impl.kubelet_plugin.configs import EnabledSharing
from reference_impl.webhook.server import PATH, Webhook, WebhookOptions

FOLDER = Path(__file__).parents[2] / "deploy/kubernetes"
FILES = dict(render.files())
EXAMPLES = ("gpu-pod", "mig-pod")


def objects(*kinds: str) -> list[dict[str, Any]]:
    found = [each for text in FILES.values() for each in yaml.safe_load_all(text)]
    return [each for each in found if not kinds or each["kind"] in kinds]


def pods() -> list[tuple[str, dict[str, Any]]]:
    found = [
        (each["metadata"]["name"], each["spec"]["template"]["spec"]) for each in objects("DaemonSet", "Deployment")
    ]
    return [*found, *((each["metadata"]["name"], each["spec"]) for each in objects("Pod"))]


def test_the_files_are_those_that_the_command_writes() -> None:
    there = {str(path.relative_to(FOLDER)): path.read_text() for path in FOLDER.rglob("*.yaml")}
    assert there == FILES, "python -m deploy.manifests writes them"


def test_every_object_fits_the_published_definition_of_its_kind() -> None:
    checked = 0
    for each in [*objects(), *webhook.certified()]:
        if each["apiVersion"].startswith("scheduling.run.ai"):
            continue
        kubernetes_validate.validate(each, "1.37", strict=True)
        checked += 1
    assert checked >= 20


@pytest.mark.parametrize(
    ("role", "name"),
    [
        ("driver", "gpu-kubelet-plugin"),
        ("scheduler", "reference-scheduler"),
        ("binder", "reference-binder"),
        ("compute-domain-controller", "reference-compute-domain"),
        ("compute-domain-plugin", "compute-domain-kubelet-plugin"),
        ("compute-domain-daemon", "compute-domain-daemon-service-account"),
    ],
)
def test_a_component_has_the_permissions_of_the_table(role: str, name: str) -> None:
    granted = roles_of(name)
    for each in granted:
        (bound,) = [
            binding
            for binding in objects(f"{each['kind']}Binding")
            if binding["roleRef"]["name"] == each["metadata"]["name"]
        ]
        assert bound["roleRef"]["kind"] == each["kind"]
        assert bound["metadata"].get("namespace") == each["metadata"].get("namespace")
        assert bound["subjects"] == [{"kind": "ServiceAccount", "name": name, "namespace": render.NAMESPACE}]
    # The deployed binder gives no shares of GPUs.
    wanted = rules([row for row in needed([role]) if SHARES not in row.only])
    assert verbs(rule for each in granted for rule in each["rules"]) == verbs(wanted)


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("gpu-kubelet-plugin", set()),
        ("reference-compute-domain", {"pods", "computedomaincliques"}),
        ("compute-domain-kubelet-plugin", {"computedomaincliques"}),
        ("compute-domain-daemon-service-account", {"pods", "computedomaincliques"}),
    ],
)
def test_what_a_component_requests_in_its_namespace_only_is_in_a_role(name: str, own: set[str]) -> None:
    found = {
        kind: {resource for each in roles_of(name) if each["kind"] == kind for _, resource, _ in verbs(each["rules"])}
        for kind in ("Role", "ClusterRole")
    }
    assert found["Role"] == own
    assert not found["ClusterRole"] & own
    assert all(each["metadata"]["namespace"] == render.NAMESPACE for each in objects("Role"))


def roles_of(name: str) -> list[dict[str, Any]]:
    found = [each for each in objects("ClusterRole") if each["metadata"]["name"] == f"{render.NAMESPACE}-{name}"]
    return [*found, *(each for each in objects("Role") if each["metadata"]["name"] == name)]


def verbs(rules_of: Iterable[dict[str, Any]]) -> set[tuple[str, str, str]]:
    return {
        (group, resource, verb)
        for rule in rules_of
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def test_every_container_has_a_read_only_root_and_no_capability_but_making_device_files() -> None:
    for name, pod in pods():
        if name in EXAMPLES:  # the user's
            continue
        for container in [*pod.get("initContainers", ()), *pod["containers"]]:
            context = container["securityContext"]
            assert context["readOnlyRootFilesystem"]
            assert not context["allowPrivilegeEscalation"]
            assert context["capabilities"]["drop"] == ["ALL"]
            assert context["capabilities"].get("add", ["MKNOD"]) == ["MKNOD"]
            assert container["resources"]["limits"]["memory"]
            assert container["name"] == "fake-gpus" or "add" not in context["capabilities"]


def test_only_the_drivers_run_as_root() -> None:
    for name, pod in pods():
        if name not in {"gpu-kubelet-plugin", "compute-domain-kubelet-plugin", *EXAMPLES}:
            assert pod["securityContext"]["runAsNonRoot"]
            assert pod["securityContext"]["runAsUser"] == components.USER


def test_all_pods_use_the_image_that_this_version_builds() -> None:
    (built,) = components.image().tags
    used = {each["image"] for _, pod in pods() for each in [*pod.get("initContainers", ()), *pod["containers"]]}
    assert used == {built} == {f"dra-conformance:{dra_api.__version__}"}


def test_the_webhook_serves_its_certificate_for_the_name_by_which_api_servers_call_it(tmp_path: Path) -> None:
    secret, registered = webhook.certified()
    for name in ("tls.crt", "tls.key"):
        (tmp_path / name).write_bytes(base64.b64decode(secret["data"][name]))
    (call,) = [each["clientConfig"] for each in registered["webhooks"]]
    service = call["service"]
    (container,) = next(pod for name, pod in pods() if name == service["name"])["containers"]
    served = WebhookOptions(
        host="127.0.0.1",
        port=0,
        certificate=tmp_path / "tls.crt",
        key=tmp_path / "tls.key",
        gates=EnabledSharing(time_slicing=False, mps=False),
    )
    component = Webhook(options=served)
    component.start()
    try:
        trusting = ssl.create_default_context(cadata=base64.b64decode(call["caBundle"]).decode())
        trusting.verify_flags |= ssl.VERIFY_X509_STRICT
        with (
            socket.create_connection(component.address, timeout=30) as plain,
            trusting.wrap_socket(plain, server_hostname=f"{service['name']}.{service['namespace']}.svc") as secured,
        ):
            secured.sendall(
                f"GET {container['readinessProbe']['httpGet']['path']} HTTP/1.1\r\nhost: x\r\n\r\n".encode()
            )
            assert secured.recv(4096).startswith(b"HTTP/1.1 200 ")
    finally:
        component.stop()
    assert service["path"] == PATH


def test_the_webhook_may_do_nothing_and_is_the_only_pod_that_others_reach() -> None:
    (account,) = [each for each in objects("ServiceAccount") if each["metadata"]["name"] == webhook.NAME]
    assert account["automountServiceAccountToken"] is False
    bound = {subject["name"] for each in objects("ClusterRoleBinding", "RoleBinding") for subject in each["subjects"]}
    assert webhook.NAME not in bound
    policies = {each["metadata"]["name"]: each["spec"] for each in objects("NetworkPolicy")}
    closed = policies.pop("no-ingress")
    (selected,) = closed["podSelector"]["matchExpressions"]
    programs = [*objects("Deployment"), *objects("DaemonSet")]
    assert selected["operator"] == "In"
    assert selected["values"] == sorted(each["spec"]["selector"]["matchLabels"][selected["key"]] for each in programs)
    assert closed["policyTypes"] == ["Ingress"]
    (only,) = policies.values()
    (port,) = only["ingress"][0]["ports"]
    (service,) = objects("Service")
    assert service["spec"]["ports"][0]["targetPort"] == port["port"]
    assert service["spec"]["selector"] == only["podSelector"]["matchLabels"]
    assert "Egress" in only["policyTypes"]
    assert "egress" not in only


def test_no_file_has_a_key() -> None:
    assert not objects("Secret")
    assert all("PRIVATE KEY" not in text for text in FILES.values())
