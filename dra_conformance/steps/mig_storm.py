"""Many pods with MIG devices that are made for them: what runs, and that no counter is ever overdrawn."""

from __future__ import annotations

from collections import Counter

from dra_api.objects import PODS, RESOURCE_CLAIMS, Obj
from dra_conformance.engine.vocabulary import then, when, words
from dra_conformance.engine.world import Seen, World
from dra_conformance.steps.claims import claim_spec, device_class, results_of, template_object
from dra_conformance.steps.mig_places import counter_sets, taken_by
from dra_conformance.steps.pods import by_template, pod_object, scheduler_of


@when('the pods "{pods}" using template "{template}" are created')
def _(world: World, pods: str, template: str) -> None:
    """Create several pods, each with a claim of its own."""
    for pod in words(pods):
        world.create(pod_object(world, pod, [by_template("gpu", template)], scheduler=scheduler_of(world)))


@when('the pods "{pods}" are deleted')
def _(world: World, pods: str) -> None:
    """Delete several pods."""
    for pod in words(pods):
        world.client.delete(PODS, pod, world.namespace)


@then('the pods "{pods}" come to phase {phase:word}')
def _(world: World, pods: str, phase: str) -> None:
    """Each of the pods comes to this phase."""

    def look() -> Seen:
        found = {pod: ((world.seen(PODS, pod) or {}).get("status") or {}).get("phase") for pod in words(pods)}
        return all(seen == phase for seen in found.values()), found

    world.eventually("phases of the pods", look, expected=phase)


def overdrawn(world: World, node: str, claims: list[Obj]) -> list[str]:
    """Counters of which the allocated claims take more than there is."""
    sets, component = counter_sets(world, node), world.node(node)
    devices = {device["name"]: device for device in component.devices()}
    used: Counter[tuple[str, str]] = Counter()
    for claim in claims:
        for result in results_of(claim):
            if result["driver"] == component.driver_name and result["pool"] == component.name:
                for name, counters in taken_by(devices.get(result["device"], {})).items():
                    used.update({(name, counter): number for counter, number in counters.items()})
    return [f"{name}/{c}: {n} of {sets[name][c]}" for (name, c), n in used.items() if n > sets[name].get(c, 0)]


@then('no counter on "{node}" is taken more often than it is there')
def _(world: World, node: str) -> None:
    """The devices of all allocated claims take no more of any counter than its set has."""
    claims = world.client.list(RESOURCE_CLAIMS).items
    wrong = overdrawn(world, node, claims)
    some = sum(bool(results_of(claim)) for claim in claims)
    world.check(not wrong and some > 0, "counters", expected="none overdrawn", observed=wrong or f"{some} claims")


@when('{count:d} pods for MIG devices of the profiles "{profiles}" come and go on "{node}"')
def _(world: World, count: int, profiles: str, node: str) -> None:
    """Create pods of all profiles, delete each as soon as it runs; counters are added up at every step."""
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
        world.create(pod_object(world, pod, [entry], scheduler=scheduler_of(world)))
    wrong: list[str] = []

    def look() -> Seen:
        wrong.extend(overdrawn(world, node, world.client.list(RESOURCE_CLAIMS).items))
        for pod in list(left):
            phase = ((world.seen(PODS, pod) or {}).get("status") or {}).get("phase")
            if phase == "Running":
                world.client.delete_if_there(PODS, pod, world.namespace)
                left.remove(pod)
        return not left, f"{len(left)} pods never ran: {left[:4]}"

    world.require("every pod runs once", look, within=max(world.run.patience, 30.0))
    world.wait_for_watches()
    world.memory["overdrawn"] = wrong


@then('no counter on "{node}" was taken more often than it is there')
def _(world: World, node: str) -> None:
    """At no step of the storm did the allocated claims take more of a counter than its set has."""
    wrong: list[str] = world.memory["overdrawn"]
    world.check(not wrong, f"counters on {node}", expected="never overdrawn", observed=wrong or "never overdrawn")
