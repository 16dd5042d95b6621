"""The quota that Kueue charges: the cases of its own tests (v0.19.0, pkg/dra), and `check --kueue`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from oracle_clusters import claim, device_class, exactly, node, resource_slice

from dra_api.objects import Obj
from dra_conformance.cli import call
from dra_conformance.oracle.cluster import Cluster, read_claim
from dra_conformance.oracle.kueue_quota import MAX, Mappings, Refused, charges

DRIVER = "gpu.example.com"
MODEL = f"device.attributes['{DRIVER}'].model == 'a'"
PARTITIONABLE = {"counter": {"name": "memory", "driver": DRIVER, "deviceSelector": {"cel": {"expression": "true"}}}}
SHARED = {"capacity": {"name": "memory", "driver": DRIVER, "deviceSelector": {"cel": {"expression": "true"}}}}


def device(name: str, model: str = "a", **more: Obj) -> Obj:
    return {"name": name, "attributes": {"model": {"string": model}}, **more}


def selected(name: str = "r", expression: str = MODEL, **more: object) -> Obj:
    made = exactly(name, "gpu", **more)
    made["exactly"]["selectors"] = [{"cel": {"expression": expression}}]
    return made


def charged(
    *requests: Obj,
    devices: list[Obj] | None = None,
    sources: list[Obj] | None = None,
    classes: list[Obj] | None = None,
    pod: Obj | None = None,
    slices: list[Obj] | None = None,
    times: int = 1,
    mapped: bool = True,
) -> dict[str, int]:
    """Return the charge of a pod with one template of these requests, or several times the same."""
    published = slices or [resource_slice("s", devices or [], pool="p", nodeName="n1")]
    cluster = Cluster.of([*published, *(classes or [device_class("gpu")])])
    mapping = {"name": "quota/gpu", "deviceClassNames": ["gpu"], "sources": sources or []}
    spec: Obj = {"resourceClaims": [{"name": f"c{n}", "resourceClaimTemplateName": "t"} for n in range(times)]}
    return charges(
        cluster,
        {"t": read_claim(claim("t", *requests))},
        {**spec, **(pod or {})},
        Mappings.of([mapping] if mapped else []),
    )


def test_numbers_of_devices() -> None:
    assert charged(exactly("r", "gpu")) == {"quota/gpu": 1}
    assert charged(exactly("r", "gpu", count=2)) == {"quota/gpu": 2}
    assert charged(exactly("r", "gpu"), exactly("q", "gpu", count=2), times=2) == {"quota/gpu": 6}
    assert charged(exactly("r", "gpu", count=MAX), exactly("q", "gpu", count=2)) == {"quota/gpu": MAX}
    # A claim that the pod names is not charged: other pods may use it too.
    assert charged(exactly("r", "gpu"), pod={"resourceClaims": [{"name": "c", "resourceClaimName": "x"}]}) == {}


@pytest.mark.parametrize(
    ("request_", "words", "retried"),
    [
        (exactly("r", "gpu", allocationMode="All"), "only allocationMode ExactCount", False),
        (exactly("r", "gpu", adminAccess=True), "adminAccess is not supported", False),
        ({"name": "r", "firstAvailable": [{"name": "a", "deviceClassName": "gpu"}]}, "firstAvailable", False),
        (selected(expression="device.nothing"), "does not compile", False),
        (selected(expression="false"), "0 devices match", True),
        (selected(count=3), "2 devices match the selectors of a request of gpu, not 3", True),
    ],
)
def test_refused_requests(request_: Obj, words: str, retried: bool) -> None:
    with pytest.raises(Refused, match=words) as caught:
        charged(request_, devices=[device("a"), device("b"), device("c", "b")])
    assert caught.value.retried is retried


def test_selectors() -> None:
    two = [device("a"), device("b")]
    assert charged(selected(count=2), devices=two) == {"quota/gpu": 2}
    with pytest.raises(Refused, match="0 devices match"):
        charged(selected("r", count=2), selected("q"), devices=two)  # a device counts for one request of a claim
    assert charged(selected(count=2), devices=two, times=2) == {"quota/gpu": 4}
    with pytest.raises(Refused, match="0 devices match"):
        charged(selected(), devices=two, classes=[device_class("gpu", "device.driver == 'other'")])
    with pytest.raises(Refused, match="has no mapping"):
        charged(exactly("r", "gpu"), mapped=False)
    with pytest.raises(Refused, match="DeviceClass gpu does not exist") as caught:
        charged(selected(), devices=two, classes=[device_class("other")])
    assert caught.value.retried


def test_counters() -> None:
    def partition(name: str, size: str, model: str = "a") -> Obj:
        counters = {"memory": {"value": size}}
        return device(name, model, consumesCounters=[{"counterSet": "gpu-0", "counters": counters}])

    devices = [partition("half", "40Gi"), partition("whole", "80Gi"), partition("other", "1Ti", "b")]
    assert charged(selected(), devices=devices, sources=[PARTITIONABLE]) == {"quota/gpu": 80 << 30}
    assert charged(selected(count=2), devices=devices, sources=[PARTITIONABLE]) == {"quota/gpu": 160 << 30}
    incomplete = [resource_slice("s", devices, pool="p", count=2, nodeName="n1")]
    with pytest.raises(Refused, match="0 devices match the source"):
        charged(selected(), slices=incomplete, sources=[PARTITIONABLE])
    with pytest.raises(Refused, match="no matching device consumes the counter memory"):
        charged(selected(), devices=[device("a")], sources=[PARTITIONABLE])


def test_capacity() -> None:
    def shared(policy: Obj | None = None) -> list[Obj]:
        capacity: Obj = {"value": "80Gi", **({"requestPolicy": policy} if policy else {})}
        return [device("a", allowMultipleAllocations=True, capacity={"memory": capacity})]

    def asked(size: str) -> Obj:
        return selected(capacity={"requests": {"memory": size}})

    values = {"default": "10Gi", "validValues": ["10Gi", "20Gi"]}
    steps = {"default": "1Gi", "validRange": {"min": "1Gi", "max": "40Gi", "step": "2Gi"}}
    for request, policy, amount in (
        (selected(), None, 80),
        (selected(), values, 10),
        (asked("3Gi"), None, 3),
        (asked("11Gi"), values, 20),
        (asked("4Gi"), steps, 5),
    ):
        assert charged(request, devices=shared(policy), sources=[SHARED]) == {"quota/gpu": amount << 30}
    for size, policy in (("21Gi", values), ("50Gi", steps)):
        with pytest.raises(Refused, match="the policy of no matching device allows"):
            charged(asked(size), devices=shared(policy), sources=[SHARED])
    with pytest.raises(Refused, match="no matching device has the capacity memory"):
        charged(selected(), devices=[device("a")], sources=[SHARED])


def test_extended_resources() -> None:
    gpu = device_class("gpu")
    gpu["spec"]["extendedResourceName"] = "example.com/gpu"

    def container(amount: str) -> Obj:
        return {"name": "c", "resources": {"requests": {"example.com/gpu": amount, "cpu": "1", "example.com/x": "1"}}}

    pod = {"resourceClaims": [], "initContainers": [container("4")], "containers": [container("1"), container("2")]}
    assert charged(exactly("r", "gpu"), classes=[gpu], pod=pod) == {"quota/gpu": 4}
    assert charged(exactly("r", "gpu"), classes=[gpu], pod=pod, mapped=False) == {"example.com/gpu": 4}
    with pytest.raises(Refused, match="has sources"):
        charged(exactly("r", "gpu"), classes=[gpu], pod=pod, sources=[SHARED])
    with pytest.raises(Refused, match="not an integer"):
        charged(exactly("r", "gpu"), classes=[gpu], pod={"resourceClaims": [], "containers": [container("500m")]})


def test_check_prints_the_quota(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def run(*args: str) -> tuple[int, str]:
        code = call(list(args))
        output = capsys.readouterr()
        return code, output.out + output.err

    template = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "t"},
        "spec": {"spec": claim("x", exactly("r", "gpu", count=2))["spec"]},
    }
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name},
            "spec": {"resourceClaims": [{"name": "c", "resourceClaimTemplateName": used}]},
        }
        for name, used in (("a", "t"), ("b", "lost"))
    ]
    objects = [node("n1"), resource_slice("s", [device("a")], pool="p", nodeName="n1"), device_class("gpu")]
    path, configuration = tmp_path / "all.yaml", tmp_path / "kueue.yaml"
    path.write_text(yaml.safe_dump_all([*objects, template, *pods]))
    mapping = {"name": "quota/gpu", "deviceClassNames": ["gpu"]}
    head = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration"}
    configuration.write_text(yaml.safe_dump({**head, "resources": {"deviceClassMappings": [mapping]}}))
    code, text = run("check", str(path), "--kueue", str(configuration))
    assert code == 0
    assert "QUOTA   pod default/a: quota/gpu 2\n" in text
    assert "QUOTA   pod default/b: not admitted for now: the ResourceClaimTemplate lost does not exist\n" in text
    shown = json.loads(run("check", str(path), "--kueue", str(configuration), "--format", "json")[1])["quotas"]
    assert [one["charged"] for one in shown] == [{"quota/gpu": 2}, {}]
    configuration.write_text(yaml.safe_dump({**head, "resources": {"deviceClassMappings": [{"name": "x"}]}}))
    assert "deviceClassMappings is malformed" in run("check", str(path), "--kueue", str(configuration))[1]
    configuration.write_text("kind: Other\napiVersion: v1\n")
    assert "there is no Configuration of Kueue" in run("check", str(path), "--kueue", str(configuration))[1]
