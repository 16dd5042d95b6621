"""The allocation checker in scenarios: its steps in a whole run, and its messages about a wrong allocation."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from oracle_clusters import claim, device_class, exactly, node, resource_slice
from test_planted_faults import allocated, device, result

from dra_api.objects import Obj, Resource
from dra_conformance.core.errors import CheckFailed, Untestable
from dra_conformance.core.rules.window import Version
from dra_conformance.engine.world import World
from dra_conformance.oracle.live import check_claim
from dra_conformance.steps.judge import check_allocation

FEATURE = """
@profile:scheduler-core @component:claim-controller @component:scheduler @component:binder
Feature: The allocation checker
  @DRA-153
  Scenario: Okapi one
    Given node "n1" with 3 devices
    And a DeviceClass "gpu" for those devices
    And a ResourceClaim "work" for 2 of "gpu"
    And a ResourceClaim "more" for 2 of "gpu"
    When a pod "train" using claim "work" is created
    Then the allocation of claim "work" is valid
    When a pod "late" using claim "more" is created
    Then pod "late" is bound or no valid allocation of claim "more" exists

  @DRA-153
  Scenario: Okapi two
    Given node "n1" with 3 devices
    And a DeviceClass "gpu" for those devices
    And a ResourceClaim "work" for 2 of "gpu"
    And a pod "held" of scheduler "by-hand" without claims
    Then pod "held" is bound or no valid allocation of claim "work" exists
"""


def test_the_sentences_in_a_run(tmp_path: Path) -> None:
    folder = tmp_path / "features" / "allocation"
    folder.mkdir(parents=True)
    (folder / "allocation.feature").write_text(FEATURE)
    command = [sys.executable, "-m", "dra_conformance", "run", "--features", str(folder.parent)]
    done = subprocess.run(
        [*command, "--focus", "Okapi", "--report", "json", "--out", str(tmp_path / "out"), "--progress", "plain"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 passed, 1 failed" in done.stdout
    assert "pod held is bound if its claim can be allocated" in done.stdout


class Client:
    """Serves objects as an API server lists them: without kind."""

    def __init__(self, objects: list[Obj]) -> None:
        self.objects = objects

    def first_served(self, resource: Resource, accepted: tuple[str, ...]) -> Resource:
        return resource.at("v1beta2")

    def list(self, resource: Resource) -> Any:
        items = [
            {key: value for key, value in obj.items() if key not in ("kind", "apiVersion")}
            for obj in self.objects
            if obj["kind"] == resource.kind
        ]
        return SimpleNamespace(items=items)


class FakeWorld:
    """The part of a World that the checker uses."""

    namespace = "ns"

    def __init__(self, *claims: Obj) -> None:
        gpus = [device("a0"), device("a1")]
        slices = resource_slice("s", gpus, pool="n1", nodeName="n1")
        self.client = Client([node("n1"), slices, device_class("gpu", "true"), *claims])
        target = SimpleNamespace(feature_gates={"DRAAdminAccess": True}, kubernetes_version=Version(1, 36))
        self.run = SimpleNamespace(target=lambda: target)
        self.claims = {obj["metadata"]["name"]: obj for obj in claims}

    def seen(self, _resource: Resource, name: str) -> Obj | None:
        return self.claims.get(name)

    def wait(self, look: Any) -> Any:
        return look()

    def check_seen(self, message: str, seen: Any, *, expected: object) -> None:
        self.check(seen[0], message, expected=expected, observed=seen[1])

    def check(self, ok: bool, message: str, *, expected: object, observed: object) -> None:
        if not ok:
            raise CheckFailed(f"{message}: {observed}", expected=str(expected), observed=str(observed), rules=())


def world(*claims: Obj) -> World:
    return cast(World, FakeWorld(*claims))


def test_a_wrong_allocation_fails_with_rule_and_field() -> None:
    wrong = allocated(claim("work", exactly("r", "gpu", count=2)), result("a0"), result("a0"))
    with pytest.raises(CheckFailed, match=r"DRA-153 status.allocation.devices.results\[1\].device: device gpu"):
        check_allocation(world(wrong), "work")


def test_a_right_allocation_passes() -> None:
    check_allocation(world(allocated(claim("work", exactly("r", "gpu")), result("a0"))), "work")


def test_no_allocation_is_a_failure_and_no_claim_is_untestable() -> None:
    waiting = claim("work", exactly("r", "gpu"))
    with pytest.raises(CheckFailed, match="not allocated"):
        check_allocation(world(waiting), "work")
    with pytest.raises(Untestable, match="is not allocated"):
        check_claim(world(waiting), "work")
    with pytest.raises(Untestable, match="there is no claim unknown"):
        check_claim(world(waiting), "unknown")
