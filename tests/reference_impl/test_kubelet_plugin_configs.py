"""Opaque configuration: decoding, validation, precedence."""

from __future__ import annotations

from typing import Any

import pytest

from reference_impl.kubelet_plugin import configs
from reference_impl.kubelet_plugin.configs import (
    ConfigError,
    DecodeError,
    EnabledSharing,
    GpuConfig,
    MigDeviceConfig,
    Sharing,
)
from reference_impl.kubelet_plugin.prepare import KINDS

ALL_ON = EnabledSharing(time_slicing=True, mps=True)
ALL_OFF = EnabledSharing(time_slicing=False, mps=False)


def parameters(kind: str = "GpuConfig", **fields: Any) -> dict[str, Any]:
    return {"apiVersion": "resource.nvidia.com/v1beta1", "kind": kind, **fields}


def allocation(*entries: tuple[str, list[str], dict[str, Any]], driver: str = "gpu.nvidia.com") -> dict[str, Any]:
    return {
        "devices": {
            "config": [
                {"source": source, "requests": requests, "opaque": {"driver": driver, "parameters": content}}
                for source, requests, content in entries
            ]
        }
    }


def slicing(interval: str) -> dict[str, Any]:
    return parameters(sharing={"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": interval}})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (parameters(color="red"), 'strict decoding error: unknown field "color"'),
        (parameters(sharing={"strategy": "MPS", "x": 1}), 'unknown field "sharing.x"'),
        (
            parameters("MigDeviceConfig", sharing={"strategy": "TimeSlicing", "timeSlicingConfig": {}}),
            'unknown field "sharing.timeSlicingConfig"',
        ),
        (parameters("Foo"), 'no kind "Foo" is registered for version "resource.nvidia.com/v1beta1"'),
        ({"apiVersion": "example.com/v1", "kind": "GpuConfig"}, "no kind"),
        ({"apiVersion": "resource.nvidia.com/v1beta1"}, "Object 'Kind' is missing"),
        ({**parameters(), "kind": ["GpuConfig"]}, "field kind has a value of the wrong type: "),
        ({**parameters(), "apiVersion": {"a": 1}}, "field apiVersion has a value of the wrong type: "),
        (parameters(sharing="all"), "sharing must be an object"),
        (parameters(sharing={"strategy": 3}), "wrong type"),
        (None, "must be an object"),
    ],
)
def test_bad_parameters_are_refused(content: Any, message: str) -> None:
    with pytest.raises(DecodeError, match=message.replace("(", r"\(")):
        configs.decode(content)


def test_unknown_fields_pass_without_strictness() -> None:
    assert configs.decode(parameters(color="red"), strict=False) == GpuConfig()


def test_empty_time_slicing_config_means_the_default_interval() -> None:
    config = configs.decode(parameters(sharing={"strategy": "TimeSlicing", "timeSlicingConfig": {}}))
    configs.validate(config, ALL_ON)
    assert isinstance(config, GpuConfig)
    assert config.sharing is not None
    assert config.sharing.interval == "Default"


@pytest.mark.parametrize(
    ("sharing", "gates", "message"),
    [
        ({"strategy": "TimeSlicing"}, ALL_OFF, '"TimeSlicingSettings" feature gate is not enabled'),
        ({"strategy": "MPS"}, ALL_OFF, '"MPSSupport" feature gate is not enabled'),
        ({"strategy": "Luck"}, ALL_ON, "unknown GPU sharing strategy: Luck, .* TimeSlicing, MPS"),
        ({}, ALL_ON, "unknown GPU sharing strategy: , .* TimeSlicing, MPS"),
        (
            {"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": "Tiny"}},
            ALL_ON,
            "unknown time-slice interval: Tiny, .* Default, Short, Medium, Long",
        ),
        ({"strategy": "MPS", "mpsConfig": {"defaultActiveThreadPercentage": -1}}, ALL_ON, "must not be negative"),
        ({"strategy": "MPS", "mpsConfig": {"defaultActiveThreadPercentage": 101}}, ALL_ON, "greater than 100"),
    ],
)
def test_sharing_is_validated(sharing: dict[str, Any], gates: EnabledSharing, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        configs.validate(configs.decode(parameters(sharing=sharing)), gates)


def select(offered: dict[str, Any], request: str = "gpu", kind: str = "gpu") -> configs.Config:
    return configs.select(
        configs.candidates(offered, "gpu.nvidia.com"), request=request, device="gpu-0", kind=KINDS[kind]
    )


def interval_of(config: configs.Config) -> str | None:
    assert isinstance(config, GpuConfig)
    assert isinstance(config.sharing, Sharing)
    return config.sharing.interval


def test_claim_beats_class_and_later_beats_earlier() -> None:
    both = allocation(("FromClaim", [], slicing("Short")), ("FromClass", [], slicing("Long")))
    assert interval_of(select(both)) == "Short"
    later = allocation(("FromClaim", ["gpu"], slicing("Short")), ("FromClaim", [], slicing("Medium")))
    assert interval_of(select(later)) == "Medium"


def test_no_config_means_the_default_of_the_type() -> None:
    assert select({}) == GpuConfig()
    assert select({}, kind="mig") == MigDeviceConfig()


def test_config_of_another_type() -> None:
    with pytest.raises(ConfigError, match='cannot apply MigDeviceConfig to device "gpu-0" of type "gpu"'):
        select(allocation(("FromClaim", ["gpu"], parameters("MigDeviceConfig"))))
    assert select(allocation(("FromClaim", [], parameters("MigDeviceConfig")))) == GpuConfig()
    channel = parameters("ComputeDomainChannelConfig", domainID="d")
    with pytest.raises(ConfigError, match="not a recognized configuration"):
        select(allocation(("FromClaim", ["gpu"], channel)))
    assert select(allocation(("FromClaim", [], channel))) == GpuConfig()


def test_parent_request_does_not_reach_subrequests() -> None:
    assert select(allocation(("FromClaim", ["gpu"], slicing("Short"))), request="gpu/small") == GpuConfig()


def test_other_drivers_configs_are_not_decoded() -> None:
    assert configs.candidates(allocation(("FromClaim", [], {"what": "ever"}), driver="x.io"), "gpu.nvidia.com") == []
