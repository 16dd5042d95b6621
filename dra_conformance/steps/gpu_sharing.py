"""GPUs that are shared: time slices that nvidia-smi sets, shares of memory and cores; flags that exclude each other."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from dra_api.objects import Obj
from dra_api.quantity import Quantity
from dra_conformance.components.fake_executable import StandIn
from dra_conformance.core import manifests
from dra_conformance.core.errors import Untestable
from dra_conformance.engine.vocabulary import given, then, when, words
from dra_conformance.engine.world import Seen, World
from dra_conformance.kubelet import CDIRegistry
from dra_conformance.kubelet.errors import CDIError
from dra_conformance.steps.claims import allocate_by_hand, claim_object, claim_spec, driver_class, free_results
from dra_conformance.steps.driver_calls import answer_for, own_results
from dra_conformance.steps.gpu_driver import full_gpus

# -- flags -------------------------------------------------------------------------------------------------------------


@then('the driver on "{node}" with "{flags}" does not start, because "{text}"')
def _(world: World, node: str, flags: str, text: str) -> None:
    """With these flags of gpu.nvidia.com the driver ends with an error that says so, and does not register."""
    from reference_impl.runtime import PartError

    component = world.node(node)
    component.flags = tuple(flags.split())
    try:
        component.start_driver()
        component.wait_driver(timeout=5.0)
        observed = "it registered"
        component.stop_driver()
    except (PartError, Untestable) as error:
        observed = str(error)
    world.check(text in observed, f"{flags} is refused", expected=text, observed=observed)


# -- nvidia-smi --------------------------------------------------------------------------------------------------------


def nvidia_smi(world: World, node: str) -> StandIn:
    """The node's nvidia-smi."""
    return StandIn(world.node(node).gpus.driver_root / "usr/bin/nvidia-smi")


@given('nvidia-smi on "{node}" writes down how it is called')
def _(world: World, node: str) -> None:
    """Put a script into the driver root in nvidia-smi's place; it changes nothing."""
    script = '#!/bin/sh\necho "$@" >> "$0.log"\n[ ! -e "$0.fails" ] || { echo refused; exit 3; }\n'
    nvidia_smi(world, node).install(script)


@when('nvidia-smi on "{node}" fails')
def _(world: World, node: str) -> None:
    """Let the script exit with 3."""
    nvidia_smi(world, node).fail()


@when('nvidia-smi on "{node}" works again')
def _(world: World, node: str) -> None:
    """Let it exit with 0."""
    nvidia_smi(world, node).work()


def told(world: World, node: str, claim: str) -> list[str]:
    """How nvidia-smi was called for the GPU of a claim, oldest first, without the GPU's uuid."""
    names = {result["device"] for result in own_results(world, claim)}
    uuids = {d["attributes"]["uuid"]["string"] for d in full_gpus(world, node) if d["name"] in names}
    lines = nvidia_smi(world, node).told()
    return [" ".join(w for w in line.split() if w not in uuids) for line in lines if uuids & set(line.split())]


@then('nvidia-smi on "{node}" was told "{first}" and then "{second}" for the GPU of claim "{claim}"')
def _(world: World, node: str, first: str, second: str, claim: str) -> None:
    """Two calls with these words came in this order, and no other for this GPU."""
    found = told(world, node, claim)
    ok = len(found) == 2 and first in found[0] and second in found[1]
    world.check(ok, "calls of nvidia-smi", expected=[first, second], observed=found)


@then('nvidia-smi on "{node}" was told last "{words}" for the GPU of claim "{claim}"')
def _(world: World, node: str, words: str, claim: str) -> None:
    """The last call for this GPU had these words, and was not the one that Prepare made."""
    found = told(world, node, claim)
    ok = len(found) > 2 and words in found[-1]
    world.check(ok, "calls of nvidia-smi", expected=words, observed=found)


# -- shares ------------------------------------------------------------------------------------------------------------


def look_capacity(world: World, node: str, name: str, wanted: dict[str, int]) -> None:
    """Check that every GPU may be allocated more than once, and the policy of one of its capacities."""

    def number(value: Any) -> int:
        return int(Quantity.parse(str(value)).value)

    found: dict[str, object] = {}
    for device in full_gpus(world, node):
        capacity = (device.get("capacity") or {}).get(name) or {}
        policy = capacity.get("requestPolicy") or {}
        seen = {
            "value": number(capacity.get("value", -1)),
            "default": number(policy.get("default", -1)),
            **{key: number(value) for key, value in (policy.get("validRange") or {}).items()},
        }
        expected = {key: seen["value"] if value == ALL else value for key, value in wanted.items()}
        if not device.get("allowMultipleAllocations") or {key: seen.get(key) for key in expected} != expected:
            found[device["name"]] = {"allowMultipleAllocations": device.get("allowMultipleAllocations"), **seen}
    ok = not found and bool(full_gpus(world, node))
    world.check(ok, f"capacity {name} of GPUs", expected=wanted, observed=found or "no GPU")


ALL = -2
"""Stands for the capacity's whole value."""


@then(
    'every GPU on "{node}" can be shared, with "{name}" of {total:d}, default {default:d}, '
    "from {least:d} to {most:d} by {step:d}"
)
def _(world: World, node: str, name: str, total: int, default: int, least: int, most: int, step: int) -> None:
    """allowMultipleAllocations is true, and the capacity has this value and policy."""
    wanted = {"value": total, "default": default, "min": least, "max": most, "step": step}
    look_capacity(world, node, name, wanted)


@then('every GPU on "{node}" can be shared, with memory from 0 on and none by default')
def _(world: World, node: str) -> None:
    """allowMultipleAllocations is true; memory has default 0, min 0, max all, step 1Mi."""
    look_capacity(world, node, "memory", {"default": 0, "min": 0, "max": ALL, "step": 1 << 20})


@then('every GPU on "{node}" can be shared, with memory from 1Mi on and all by default')
def _(world: World, node: str) -> None:
    """allowMultipleAllocations is true; memory has default all, min 1Mi, max all, step 1Mi."""
    look_capacity(world, node, "memory", {"default": ALL, "min": 1 << 20, "max": ALL, "step": 1 << 20})


def allocate_share(world: World, claim: str, result: Obj, consumed: Obj, *, config: list[Obj] | None = None) -> None:
    """A claim with a hand-written share of a device."""
    world.create(claim_object(world, claim, claim_spec(driver_class(world))))
    share = {**result, "shareID": str(uuid4()), "consumedCapacity": consumed}
    allocate_by_hand(world, claim, result["pool"], [share], config=config)


@given('the claims "{claims}" each have a share of the same GPU on "{node}", "{odd}" with {parameters}')
def _(world: World, claims: str, node: str, odd: str, parameters: str) -> None:
    """Allocate one share to each claim; one of them has a configuration of its own (YAML)."""
    result = free_results(world, node, 1)[0]
    opaque = {"driver": world.run.options.driver_name, "parameters": manifests.parse_value(parameters)}
    for claim in words(claims):
        config = [{"source": "FromClaim", "requests": ["gpu"], "opaque": opaque}] if claim == odd else None
        allocate_share(world, claim, result, {"shares": "1"}, config=config)


@given('a ResourceClaim "{claim}" with {cores:d} cores and {memory:word} of a GPU on "{node}"')
def _(world: World, claim: str, cores: int, memory: str, node: str) -> None:
    """A claim with a hand-written share of a GPU."""
    allocate_share(world, claim, free_results(world, node, 1)[0], {"cores": str(cores), "memory": memory})


@then('the answer for claim "{claim}" names its share')
def _(world: World, claim: str) -> None:
    """share_id of each device is the allocation result's shareID."""
    wanted = [result.get("shareID") for result in own_results(world, claim)]
    found = [device.share_id for device in answer_for(world, claim)]
    world.check(found == wanted, f"shares of {claim}", expected=wanted, observed=found)


@then('a container with claim "{claim}" on "{node}" would have "{first}" and "{second}"')
def _(world: World, claim: str, node: str, first: str, second: str) -> None:
    """These assignments are in the environment that the claim's CDI devices bring."""
    registry = CDIRegistry.read(world.node(node).kubelet.cdi_roots)

    def look() -> Seen:
        try:
            devices = registry.resolve(i for device in answer_for(world, claim) for i in device.cdi_device_ids)
        except CDIError as error:
            return False, str(error)
        edits = [*(device.edits for device in devices), *(device.spec.edits for device in devices)]
        env = sorted({assignment for edit in edits for assignment in edit.get("env") or ()})
        return {first, second} <= set(env), env

    world.check_seen("environment of the container", look(), expected=[first, second])
