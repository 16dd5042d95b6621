"""The manifests in `deploy/kubernetes` are current, valid, and grant what the permission table has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

import dra_api
from deploy.images import components
from deploy.manifests import render
from dra_conformance.rbac.roles import rules
from dra_conformance.rbac.table import needed

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
    for each in objects():
        if each["apiVersion"].startswith("scheduling.run.ai"):
            continue
        kubernetes_validate.validate(each, "1.37", strict=True)
        checked += 1
    assert checked >= 20


@pytest.mark.parametrize(
    ("role", "name"),
    [("driver", "gpu-kubelet-plugin"), ("scheduler", "reference-scheduler"), ("binder", "reference-binder")],
)
def test_a_component_has_the_permissions_of_the_table(role: str, name: str) -> None:
    (granted,) = [each for each in objects("ClusterRole") if each["metadata"]["name"] == f"{render.NAMESPACE}-{name}"]
    (bound,) = [
        each for each in objects("ClusterRoleBinding") if each["roleRef"]["name"] == granted["metadata"]["name"]
    ]
    assert granted["rules"] == rules(needed([role]))
    assert bound["subjects"] == [{"kind": "ServiceAccount", "name": name, "namespace": render.NAMESPACE}]


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


def test_only_the_driver_runs_as_root() -> None:
    for name, pod in pods():
        if name not in {"gpu-kubelet-plugin", *EXAMPLES}:
            assert pod["securityContext"]["runAsNonRoot"]
            assert pod["securityContext"]["runAsUser"] == components.USER


def test_all_pods_use_the_image_that_this_version_builds() -> None:
    (built,) = components.image().tags
    used = {each["image"] for _, pod in pods() for each in [*pod.get("initContainers", ()), *pod["containers"]]}
    assert used == {built} == {f"dra-conformance:{dra_api.__version__}"}
