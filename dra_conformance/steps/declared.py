"""What the vendor declared of the driver: sample configurations, and what it says it can do."""

from __future__ import annotations

from dra_conformance.core.declaration import parameters
from dra_conformance.core.errors import Untestable
from dra_conformance.engine.vocabulary import then, when
from dra_conformance.engine.world import Seen, World
from dra_conformance.steps.claims import allocate_by_hand, claim_object, claim_spec, driver_class, free_results
from dra_conformance.steps.driver_calls import prepare, problem_of, reference_to, unprepare


@when('a claim with each declared sample configuration is prepared and unprepared on "{node}"')
def _(world: World, node: str) -> None:
    """One claim after the other, each with one sample for its request; what became of each is kept."""
    declared = world.run.options.declared
    for kind, samples in (("valid", declared.valid), ("invalid", declared.invalid)):
        if not samples:
            raise Untestable(f"the capability configuration is declared, and no {kind} sample is given")
        story: dict[str, tuple[str, bool]] = {}
        for number, text in enumerate(samples):
            claim = f"{kind}-{number}"
            opaque = {"driver": world.run.options.driver_name, "parameters": parameters(text)}
            config = [{"source": "FromClaim", "requests": ["gpu"], "opaque": opaque}]
            world.create(claim_object(world, claim, claim_spec(driver_class(world))))
            allocate_by_hand(world, claim, world.name(node), free_results(world, node, 1), config=config)
            ref = reference_to(world, claim)
            call = prepare(world, node, [ref])
            story[text] = (problem_of(call, ref), call.error is None and ref.uid in call.prepared)
            unprepare(world, node, [ref])
        world.memory[f"{kind}-samples"] = story


@then("every valid sample was prepared")
def _(world: World) -> None:
    """Prepare of no valid sample told an error."""
    story: dict[str, tuple[str, bool]] = world.memory["valid-samples"]
    wrong = {text: problem for text, (problem, _) in story.items() if problem}
    world.check(not wrong, f"{len(story)} valid samples", expected="prepared", observed=wrong or "prepared")


@then("every invalid sample was refused as its own claim's error")
def _(world: World) -> None:
    """Prepare of each invalid sample told an error in the claim's entry of an answer."""
    story: dict[str, tuple[str, bool]] = world.memory["invalid-samples"]
    wrong = {
        text: problem or "it was prepared" for text, (problem, answered) in story.items() if not problem or not answered
    }
    world.check(not wrong, f"{len(story)} invalid samples", expected="an error each", observed=wrong or "refused")


@then('the driver on "{node}" streams the health of every device that it publishes')
def _(world: World, node: str) -> None:
    """The kubelet comes to know the health of each published device, from the driver's stream."""
    component = world.node(node)
    names = {device["name"] for device in component.devices()}
    pools = {obj["spec"]["pool"]["name"] for obj in component.slices()}

    def look() -> Seen:
        told = {device for pool, device in component.harness_kubelet.health_of(component.driver_name) if pool in pools}
        return names <= told, sorted(names - told) or "all"

    world.eventually("health of every device", look, expected="an entry each", within=max(world.run.patience, 10.0))
