"""A scheduler whose watch of slices is late is not judged by pods that it observed before the slices."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest
from command_line import CommandLine

from dra_conformance.core.component_spec import ComponentSpec
from dra_conformance.steps import binder_sign
from dra_conformance.steps.scheduler_sign import probe, wanted

# The pause between both slices is longer than a scheduler needs for the first of them.
FEATURE = '''
@profile:scheduler-core @component:scheduler @component:binder
Feature: Slices in quick succession

  @DRA-145
  Scenario: A newer generation is published some time after the older
    Given node "n1"
    And a ResourceSlice "a-old" with:
      """
      nodeName: $(node:n1)
      pool: {name: pool, generation: 1}
      devices: [{name: old}]
      """
    And node "n2"
    And node "n3"
    And node "n4"
    And node "n5"
    And node "n6"
    And node "n7"
    And a ResourceSlice "b-new" with:
      """
      nodeName: $(node:n1)
      pool: {name: pool, generation: 2}
      devices: [{name: new}]
      """
    And a DeviceClass "gpu" for those devices
    And a ResourceClaim "mine" for 1 of "gpu"
    When a pod "train" using claim "mine" is created
    Then claim "mine" is allocated the devices "new"
'''


def test_a_scheduler_with_a_late_watch_of_slices_passes(cli: CommandLine, tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "slices.feature").write_text(FEATURE)
    scheduler = shlex.join([sys.executable, "-m", "reference_impl", "scheduler", "--kubeconfig", "{kubeconfig}"])
    ended = cli.suite(
        *("--scheduler", f"exec:{scheduler}"),
        *("--watch-lag", "resourceslices=0.5,pods=0"),
        *("--features", str(folder), "--focus", "published some time after", "--patience", "20"),
    )
    rows = [(row["status"], row["reason"]) for row in ended.report["scenarios"] if row["status"] != "filtered"]
    assert rows == [("passed", "")]


def test_a_scheduler_with_a_late_watch_of_rules_passes(cli: CommandLine) -> None:
    scenario = "^taints/rules#a-device-that-a-rule-taints-is-not-allocated"
    ended = cli.suite("--watch-lag", "devicetaintrules=0.5,pods=0", "--focus", scenario, "--patience", "20")
    rows = [(row["status"], row["reason"]) for row in ended.report["scenarios"] if row["status"] != "filtered"]
    assert rows == [("passed", "")]


# The scheduler observes the taint some time after the pod.
BIND_REQUESTS = """
@profile:bind-requests @component:scheduler @needs:kai
Feature: A change of a node

  @KAI-010
  Scenario: A taint is put on a node shortly before a pod is created
    Given node "n1"
    And a pod "first" without claims
    Then the BindRequest of pod "first" has "spec.selectedNode" $(node:n1)
    When "spec.taints" of the Node "n1" is set to [{key: dra.test/for, value: tests, effect: NoSchedule}]
    Given a pod "second" without claims
    Then pod "second" gets no BindRequest
    And 1 pods get BindRequests, with 0 distinct devices
"""


def test_a_scheduler_of_bind_requests_with_a_late_watch_of_nodes_passes(cli: CommandLine, tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "nodes.feature").write_text(BIND_REQUESTS)
    ended = cli.suite(
        *("--features", str(folder), "--focus", "put on a node"),
        *("--watch-lag", "nodes=0.5,pods=0", "--patience", "20"),
    )
    rows = [(row["status"], row["reason"]) for row in ended.report["scenarios"] if row["status"] != "filtered"]
    assert rows == [("passed", "")]


SCHEDULER, KUBE = ComponentSpec("scheduler", "reference"), ComponentSpec("scheduler", "kube-scheduler")


@pytest.mark.parametrize(
    ("expected", "scheduler", "control_plane", "components", "needs"),
    [
        (False, SCHEDULER, "embedded", ("scheduler",), ()),
        (True, SCHEDULER, "binaries", ("scheduler",), ()),
        (True, KUBE, "binaries", ("scheduler",), ()),
        (True, ComponentSpec("scheduler", "exec", "x"), "embedded", ("scheduler",), ()),
        (False, KUBE, "binaries", ("claim-controller",), ()),
        (False, KUBE, "binaries", ("scheduler",), ("faults",)),
        (True, KUBE, "binaries", ("scheduler",), ("kai",)),
        (False, ComponentSpec("scheduler", "cluster"), "kubeconfig", ("scheduler",), ()),
    ],
)
def test_a_probe_is_placed_if_only_the_scheduler_knows_what_it_observed(
    expected: bool, scheduler: ComponentSpec, control_plane: str, components: tuple[str, ...], needs: tuple[str, ...]
) -> None:
    found = wanted(
        scheduler=scheduler, control_plane=control_plane, components=components, needs=needs, late_watches=False
    )
    assert found is expected


def test_a_probe_is_placed_for_the_reference_if_its_watches_are_late() -> None:
    for components, expected in ((("scheduler",), True), (("binder",), False)):
        found = wanted(
            scheduler=SCHEDULER, control_plane="embedded", components=components, needs=(), late_watches=True
        )
        assert found is expected


def test_a_probe_has_a_node_of_its_own_that_nothing_else_tolerates() -> None:
    node, parts, pod = probe("sign-1", "here", driver="sign.dra.test")
    assert node["spec"]["taints"]
    assert pod["spec"]["tolerations"] == [{"operator": "Exists"}]
    assert {part["metadata"]["name"] for part in parts} == {"sign-1"}
    assert next(part for part in parts if part["kind"] == "ResourceSlice")["spec"]["nodeName"] == "sign-1"


@pytest.mark.parametrize(
    ("expected", "binder", "control_plane", "late"),
    [
        (False, ComponentSpec("binder", "reference"), "embedded", False),
        (True, ComponentSpec("binder", "reference"), "embedded", True),
        (True, ComponentSpec("binder", "reference"), "binaries", False),
        (True, ComponentSpec("binder", "reference", settings={"process": "yes"}), "embedded", False),
        (True, ComponentSpec("binder", "exec", "x"), "embedded", False),
        (False, ComponentSpec("binder", "none"), "embedded", True),
        (False, ComponentSpec("binder", "cluster"), "kubeconfig", True),
    ],
)
def test_a_probe_is_bound_if_only_the_binder_knows_what_it_observed(
    expected: bool, binder: ComponentSpec, control_plane: str, late: bool
) -> None:
    assert binder_sign.wanted(binder, control_plane=control_plane, late_watches=late) is expected


def test_a_binder_with_a_late_watch_of_pods_passes(cli: CommandLine) -> None:
    scenario = "^bind_requests/binder#a-bindrequest-that-fails-does-not-delay-others"
    ended = cli.suite("--watch-lag", "pods=0.5,bindrequests=0", "--focus", scenario, "--patience", "20")
    rows = [(row["status"], row["reason"]) for row in ended.report["scenarios"] if row["status"] != "filtered"]
    assert rows == [("passed", "")]
