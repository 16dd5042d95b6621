"""How HAMi-core reads the limits of a container, and which drivers the profile `hami` judges."""

from __future__ import annotations

import pytest

from dra_conformance.core import features
from dra_conformance.core.options import RunOptions
from dra_conformance.core.rules import Catalogue
from dra_conformance.core.rules.window import Version
from dra_conformance.core.status import Status
from dra_conformance.engine import plan, supported_features
from dra_conformance.engine.target import Target
from dra_conformance.kubelet.container_view import ContainerView
from dra_conformance.steps.gpu_slices import amount, limits_of

GIB = 1 << 30


@pytest.mark.parametrize("text", ["1g", "1G", "1024m", "1048576K", "1073741824"])
def test_every_spelling_of_an_amount_is_read(text: str) -> None:
    assert amount(text) == GIB


@pytest.mark.parametrize("text", ["", "0", "0m", "m", "-1", "10Gi"])
def test_what_is_no_amount_is_no_limit(text: str) -> None:
    assert amount(text) == 0


@pytest.mark.parametrize(
    ("env", "limits"),
    [
        ({}, [(None, None), (None, None)]),
        ({"CUDA_DEVICE_MEMORY_LIMIT_1": "1g", "CUDA_DEVICE_SM_LIMIT_0": "30"}, [(None, 30), (GIB, None)]),
        # The variables without a number hold for the other GPUs.
        ({"CUDA_DEVICE_MEMORY_LIMIT": "2g", "CUDA_DEVICE_MEMORY_LIMIT_1": "1g"}, [(2 * GIB, None), (GIB, None)]),
        ({"CUDA_DEVICE_SM_LIMIT": "30", "CUDA_DEVICE_SM_LIMIT_1": "100"}, [(None, 30), (None, None)]),
        ({"CUDA_DEVICE_SM_LIMIT_0": "0"}, [(None, None), (None, None)]),
    ],
)
def test_limits_are_those_that_hami_core_enforces(
    env: dict[str, str], limits: list[tuple[int | None, int | None]]
) -> None:
    view = ContainerView(cdi_devices=(), env=env, device_nodes=(), mounts=())
    assert [limits_of(view, gpu) for gpu in (0, 1)] == limits


@pytest.mark.parametrize("declared", [None, (), ("health",)])
@pytest.mark.parametrize("name", ["gpu.nvidia.com", "hami-core-gpu.project-hami.io"])
def test_no_rule_of_the_profile_binds_a_driver_that_does_not_declare_slices(
    declared: tuple[str, ...] | None, name: str
) -> None:
    options = RunOptions(
        driver="exec:./driver {driver_root} {flags}", driver_name=name, supported_features=declared, profile=("hami",)
    )
    target = Target(
        kubernetes_version=Version(1, 36),
        components=options.components(),
        driver_name=name,
        feature_gates={},
        features=supported_features.find(options),
    )
    made = plan.make(features.read_all(), Catalogue.load(), options, target)
    mine = [one for one in made.decisions if "hami" in one.scenario.tags.profiles]
    assert len(mine) > 20
    assert {one.status for one in mine} == {Status.NOT_SUPPORTED}
