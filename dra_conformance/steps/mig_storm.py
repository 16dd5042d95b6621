"""Many pods with dynamic MIG devices: which of them run, and whether a counter is ever overcommitted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from dra_api.allocations import results_of
from dra_api.objects import PODS, RESOURCE_CLAIMS, Obj
from dra_conformance.engine.vocabulary import then, when, words
from dra_conformance.engine.world import Seen, World, in_words
from dra_conformance.steps.claims import claim_spec, device_class, template_object
from dra_conformance.steps.mig_published import consumed, counter_sets
from dra_conformance.steps.pods import by_template, check_phases, create_pod, phase_of, pod_object, scheduler_of


@when('the pods "{pods}" are deleted')
def _(world: World, pods: str) -> None:
    """Delete several pods."""
    for pod in words(pods):
        world.client.delete(PODS, pod, world.namespace)


@then('the pods "{pods}" reach phase {phase:word}')
def _(world: World, pods: str, phase: str) -> None:
    """Each of the pods comes to this phase."""
    check_phases(world, words(pods), phase)


def overcommitted(world: World, node: str, claims: list[Obj]) -> list[str]:
    """Return the counters of which the allocated claims consume more than there is.

    A counter that the node does not publish counts as 0, because a device may consume counters of a set that was
    withdrawn meanwhile.
    """
    sets, on = counter_sets(world, node), world.node(node)
    devices = {device["name"]: device for device in on.devices()}
    used: Counter[tuple[str, str]] = Counter()
    for claim in claims:
        for result in results_of(claim):
            if result["driver"] == on.driver_name and result["pool"] == on.name:
                for name, counters in consumed(devices.get(result["device"], {})).items():
                    used.update({(name, counter): number for counter, number in counters.items()})
    published = {(name, counter): number for name, each in sets.items() for counter, number in each.items()}
    return [
        f"{name}/{counter}: {number} of {published.get((name, counter), 0)}"
        for (name, counter), number in used.items()
        if number > published.get((name, counter), 0)
    ]


@dataclass(slots=True)
class Storm:
    """Counters that were overcommitted at some step of a storm of pods."""

    overcommitted: list[str] = field(default_factory=list)
    counted: bool = False


@then('no counter on "{node}" is overcommitted')
def _(world: World, node: str) -> None:
    """The devices of all allocated claims consume no more of a counter than its set has, now and during a storm."""
    storm = world.state(Storm)
    claims = world.client.list(RESOURCE_CLAIMS).items
    wrong = storm.overcommitted + overcommitted(world, node, claims)
    some = storm.counted or any(results_of(claim) for claim in claims)
    observed = f"{'claims' if some else 'no claim'} allocated, overcommitted: {in_words(wrong)}"
    expected = "claims allocated, overcommitted: none"
    world.check(not wrong and some, f"counters on {node}", expected=expected, observed=observed)


@when('{count:d} pods for MIG devices of the profiles "{profiles}" start and end on "{node}"')
def _(world: World, count: int, profiles: str, node: str) -> None:
    """Create pods of all profiles and delete each as soon as it runs; counters are added up at every step."""
    names = words(profiles)
    driver = world.run.options.driver_name
    for number, profile in enumerate(names):
        device_class(
            world,
            f"profile-{number}",
            f'device.driver == "{driver}" && device.attributes["{driver}"].type == "mig" '
            f'&& device.attributes["{driver}"].profile == "{profile}"',
        )
        world.create(template_object(world, f"profile-{number}", claim_spec(world.name(f"profile-{number}"))))
    left = [f"storm-{number}" for number in range(count)]
    for number, pod in enumerate(left):
        entry = by_template("gpu", f"profile-{number % len(names)}")
        create_pod(world, pod_object(world, pod, [entry], scheduler=scheduler_of(world)))
    wrong: list[str] = []

    def look() -> Seen[str]:
        # At each look, because an overcommitment can be over before the storm is.
        wrong.extend(overcommitted(world, node, world.client.list(RESOURCE_CLAIMS).items))
        for pod in list(left):
            phase = phase_of(world, pod)
            if phase == "Running":
                world.client.delete_if_there(PODS, pod, world.namespace)
                left.remove(pod)
        return not left, f"{len(left)} pods never ran: {left[:4]}"

    world.require("every pod runs once", look, within=max(world.run.patience, 30.0))
    world.wait_for_watches()
    world.state(Storm).overcommitted, world.state(Storm).counted = wrong, True
