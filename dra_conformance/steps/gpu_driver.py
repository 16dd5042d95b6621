"""What is special about the driver gpu.nvidia.com: its devices as NVML has them, its configuration, files and words."""

from __future__ import annotations

import re
from typing import Any

import orjson

from dra_api.objects import Obj
from dra_api.quantity import Quantity
from dra_conformance.core import manifests
from dra_conformance.core.errors import Untestable
from dra_conformance.engine.vocabulary import given, then, when
from dra_conformance.engine.world import World
from dra_conformance.kubelet import CDIRegistry
from dra_conformance.kubelet.errors import CDIError
from dra_conformance.steps.claims import allocate_by_hand, claim_object, claim_spec, driver_class, free_results
from dra_conformance.steps.driver_calls import answer_for, reference_to

SEMVER = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")
TEXTS = ("type", "uuid", "productName", "brand", "architecture")
VERSIONS = ("cudaComputeCapability", "driverVersion", "cudaDriverVersion")


def full_gpus(world: World, node: str) -> list[Obj]:
    """The published devices that are whole GPUs."""
    return [
        device
        for device in world.node(node).devices()
        if ((device.get("attributes") or {}).get("type") or {}).get("string") == "gpu"
    ]


def nvml_gpus(world: World, node: str) -> dict[str, dict[str, Any]]:
    """What NVML says of each GPU, by the device name that it must have."""
    nvml = world.node(node).nvml
    nvml.nvmlInit()
    try:
        found = {}
        for index in range(nvml.nvmlDeviceGetCount()):
            handle = nvml.nvmlDeviceGetHandleByIndex(index)
            found[f"gpu-{nvml.nvmlDeviceGetMinorNumber(handle)}"] = {
                "uuid": nvml.nvmlDeviceGetUUID(handle),
                "memory": int(nvml.nvmlDeviceGetMemoryInfo(handle).total),
                "productName": nvml.nvmlDeviceGetName(handle),
            }
        return found
    finally:
        nvml.nvmlShutdown()


@given('a ResourceClaim "{claim}" for the driver on "{node}" with {parameters} for "{request}"')
def _(world: World, claim: str, node: str, parameters: str, request: str) -> None:
    """An allocated claim with one opaque configuration (YAML) for a request; `all` stands for every request."""
    world.create(claim_object(world, claim, claim_spec(driver_class(world))))
    config = {
        "source": "FromClaim",
        "requests": [] if request == "all" else [request],
        "opaque": {"driver": world.run.options.driver_name, "parameters": manifests.parse_value(parameters)},
    }
    allocate_by_hand(world, claim, world.name(node), free_results(world, node, 1), config=[config])


@given('a ResourceClaim "{claim}" for the driver on "{node}" with the configurations:')
def _(world: World, claim: str, node: str, datatable: list[list[str]]) -> None:
    """An allocated claim with the configurations of the table: source, request (or all), parameters (YAML)."""
    world.create(claim_object(world, claim, claim_spec(driver_class(world))))
    results = free_results(world, node, 1)
    allocate_by_hand(world, claim, world.name(node), results, config=configurations(world, datatable))


@given(
    'a ResourceClaim "{claim}" for subrequest "{subrequest}" of request "{request}" of the driver on "{node}" '
    "with the configurations:"
)
def _(world: World, claim: str, subrequest: str, request: str, node: str, datatable: list[list[str]]) -> None:
    """The same for a claim with a prioritized list, allocated its only alternative."""
    alternative = {"name": subrequest, "deviceClassName": driver_class(world)}
    spec = {"devices": {"requests": [{"name": request, "firstAvailable": [alternative]}]}}
    world.create(claim_object(world, claim, spec))
    results = free_results(world, node, 1, request=f"{request}/{subrequest}")
    allocate_by_hand(world, claim, world.name(node), results, config=configurations(world, datatable))


def configurations(world: World, table: list[list[str]]) -> list[Obj]:
    """The configurations of a table with the columns source, request and parameters, for the driver under test."""
    return [
        {
            "source": source,
            "requests": [] if request == "all" else [request],
            "opaque": {"driver": world.run.options.driver_name, "parameters": manifests.parse_value(parameters)},
        }
        for source, request, parameters in table[1:]
    ]


@given('a ResourceClaim "{claim}" allocated a device of the driver "{other}" on "{node}"')
def _(world: World, claim: str, other: str, node: str) -> None:
    """A claim that has nothing of the driver under test."""
    world.create(claim_object(world, claim, claim_spec(driver_class(world))))
    result = {"request": "gpu", "driver": other, "pool": world.name(node), "device": "other-0"}
    allocate_by_hand(world, claim, world.name(node), [result])


@when('the checkpoint of the driver on "{node}" is damaged')
def _(world: World, node: str) -> None:
    """Change the checkpoint of the stopped driver without mending its checksum."""
    path = checkpoint(world, node)
    document = orjson.loads(path.read_bytes())
    document["v2"]["preparedClaims"]["00000000-0000-0000-0000-000000000000"] = {
        "checkpointState": "PrepareCompleted",
        "status": {},
    }
    path.write_bytes(orjson.dumps(document))


def checkpoint(world: World, node: str) -> Any:
    """The path of the driver's checkpoint. Raises Untestable when there is none."""
    component = world.node(node)
    path = component.kubelet.plugins_dir / component.driver_name / "checkpoint.json"
    if not path.is_file():
        raise Untestable(f"the driver keeps no {path.name}")
    return path


@then('the devices on "{node}" are the GPUs that NVML shows, by their minor numbers')
def _(world: World, node: str) -> None:
    """One device gpu-<minor> for each GPU, and no other, with NVML's uuid and name."""
    told = {
        device["name"]: {name: device["attributes"][name].get("string") for name in ("uuid", "productName")}
        for device in full_gpus(world, node)
    }
    wanted = {
        name: {"uuid": gpu["uuid"], "productName": gpu["productName"]} for name, gpu in nvml_gpus(world, node).items()
    }
    world.check(told == wanted, "one device for each GPU", expected=wanted, observed=told)


@then('every GPU on "{node}" has its attributes in their types')
def _(world: World, node: str) -> None:
    """type, uuid, productName, brand and architecture are texts; the three versions are versions."""
    wrong = []
    for device in full_gpus(world, node):
        attributes = device.get("attributes") or {}
        wrong += [f"{device['name']}: {name}" for name in TEXTS if not (attributes.get(name) or {}).get("string")]
        wrong += [f"{device['name']}: {name}" for name in VERSIONS if not (attributes.get(name) or {}).get("version")]
    gpus = len(full_gpus(world, node))
    world.check(not wrong and gpus > 0, "attributes are typed", expected="texts and versions", observed=wrong or gpus)


@then('the driver version of every GPU on "{node}" is semantic')
def _(world: World, node: str) -> None:
    """driverVersion has three numbers without leading zeros, as the API's version type wants it."""
    told = sorted({str(d["attributes"].get("driverVersion", {}).get("version")) for d in full_gpus(world, node)})
    ok = bool(told) and all(SEMVER.fullmatch(version) for version in told)
    world.check(ok, "driverVersion is semantic", expected=SEMVER.pattern, observed=told)


@then('the memory of every GPU on "{node}" is what NVML shows, and its only capacity')
def _(world: World, node: str) -> None:
    """capacity.memory is NVML's total, in bytes."""
    told = {
        device["name"]: {
            name: Quantity.parse(entry["value"]).value for name, entry in (device.get("capacity") or {}).items()
        }
        for device in full_gpus(world, node)
    }
    wanted = {name: {"memory": gpu["memory"]} for name, gpu in nvml_gpus(world, node).items()}
    world.check(told == wanted, "memory", expected=wanted, observed=told)


@then('the only CDI id of claim "{claim}" is made of its uid and device')
def _(world: World, claim: str) -> None:
    """The id is k8s.gpu.nvidia.com/claim=<uid>-<device>."""
    uid = reference_to(world, claim).uid
    devices = answer_for(world, claim)
    wanted = [[f"k8s.gpu.nvidia.com/claim={uid}-{device.device_name}"] for device in devices]
    told = [list(device.cdi_device_ids) for device in devices]
    world.check(told == wanted, "CDI ids", expected=wanted, observed=told)


@then('the CDI file of claim "{claim}" on "{node}" is named after it')
def _(world: World, claim: str, node: str) -> None:
    """The specification is k8s.gpu.nvidia.com-claim_<uid>.yaml."""
    folder = world.node(node).kubelet.cdi_roots[0]
    wanted = f"k8s.gpu.nvidia.com-claim_{reference_to(world, claim).uid}.yaml"
    told = sorted(path.name for path in folder.iterdir())
    world.check(wanted in told, "the name of the CDI file", expected=wanted, observed=told)


@then('a container with claim "{claim}" on "{node}" would see the GPU nodes of its own devices only')
def _(world: World, claim: str, node: str) -> None:
    """The edits have /dev/nvidia<minor> of each device, of no other GPU, and NVIDIA_VISIBLE_DEVICES=void."""
    registry = CDIRegistry.read(world.node(node).kubelet.cdi_roots)
    answered = answer_for(world, claim)
    try:
        devices = registry.resolve(i for device in answered for i in device.cdi_device_ids)
    except CDIError as error:
        raise Untestable(str(error)) from error
    edits = [*(device.edits for device in devices), *(device.spec.edits for device in devices)]
    nodes = sorted({raw["path"] for edit in edits for raw in edit.get("deviceNodes") or ()})
    env = {assignment for edit in edits for assignment in edit.get("env") or ()}
    told = {
        "gpus": [path for path in nodes if re.fullmatch(r"/dev/nvidia\d+", path)],
        "void": "NVIDIA_VISIBLE_DEVICES=void" in env,
    }
    wanted = {"gpus": sorted(f"/dev/nvidia{d.device_name.removeprefix('gpu-')}" for d in answered), "void": True}
    world.check(told == wanted, "container edits", expected=wanted, observed=told)


@then('the checkpoint of the driver on "{node}" has claim "{claim}" as {state:word}')
def _(world: World, node: str, claim: str, state: str) -> None:
    """checkpoint.json tells this state in v2; completed claims stand in v1 too, others do not."""
    document = orjson.loads(checkpoint(world, node).read_bytes())
    uid = reference_to(world, claim).uid
    entry = (document.get("v2") or {}).get("preparedClaims", {}).get(uid) or {}
    told = {"v2": entry.get("checkpointState"), "v1": uid in (document.get("v1") or {}).get("preparedClaims", {})}
    wanted = {"v2": state, "v1": state == "PrepareCompleted"}
    world.check(told == wanted, "the checkpoint", expected=wanted, observed=told)


@then('the driver on "{node}" does not start, because "{text}"')
def _(world: World, node: str, text: str) -> None:
    """The driver ends with an error that says so, and does not register."""
    from reference_impl.runtime import PartError

    component = world.node(node)
    try:
        component.start_driver()
        component.wait_driver(timeout=5.0)
        observed = "it registered"
    except PartError as error:
        observed = str(error)
    except Untestable as error:
        observed = str(error)
    world.check(text in observed, "the driver refuses to start", expected=text, observed=observed)
