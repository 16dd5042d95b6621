"""A scheduler whose watch of slices is late is not judged by pods that it observed before the slices."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest
from command_line import CommandLine

from dra_conformance.core.component_spec import ComponentSpec
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
        (False, KUBE, "binaries", ("scheduler",), ("kai",)),
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
    node, parts, pod = probe("sign-1", "here")
    assert node["spec"]["taints"]
    assert pod["spec"]["tolerations"] == [{"operator": "Exists"}]
    assert {part["metadata"]["name"] for part in parts} == {"sign-1"}
    assert next(part for part in parts if part["kind"] == "ResourceSlice")["spec"]["nodeName"] == "sign-1"
