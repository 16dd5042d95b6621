"""The vendor's declaration of the driver: sample configurations, and capabilities."""

from __future__ import annotations

from dataclasses import dataclass, field

from dra_conformance.core.declaration import parameters
from dra_conformance.core.errors import Untestable
from dra_conformance.engine.vocabulary import then, when
from dra_conformance.engine.world import Seen, World
from dra_conformance.steps.claims import allocate_by_hand, claim_object, claim_spec, driver_class, free_results
from dra_conformance.steps.driver_calls import prepare, problem_of, reference_to, unprepare


@dataclass(frozen=True, slots=True)
class Result:
    """The error that Prepare returned for a sample, and whether it was in the claim's own entry of an answer."""

    problem: str
    answered: bool


@dataclass
class Samples:
    """Results by sample text, of the `valid` and the `invalid` samples."""

    results: dict[str, dict[str, Result]] = field(default_factory=dict)


@when('a claim with each declared sample configuration is prepared and unprepared on "{node}"')
def _(world: World, node: str) -> None:
    """Prepare and unprepare one claim for each sample, and keep the result of each."""
    declared = world.run.options.declared
    for kind, samples in (("valid", declared.valid), ("invalid", declared.invalid)):
        if not samples:
            raise Untestable(f"the capability configuration is declared, and no {kind} sample is given")
        results: dict[str, Result] = {}
        for number, text in enumerate(samples):
            claim = f"{kind}-{number}"
            opaque = {"driver": world.run.options.driver_name, "parameters": parameters(text)}
            config = [{"source": "FromClaim", "requests": ["gpu"], "opaque": opaque}]
            world.create(claim_object(world, claim, claim_spec(driver_class(world))))
            allocate_by_hand(world, claim, world.name(node), free_results(world, node, 1), config=config)
            ref = reference_to(world, claim)
            call = prepare(world, node, [ref])
            results[text] = Result(problem_of(call, ref), answered=call.error is None and ref.uid in call.prepared)
            unprepare(world, node, [ref])
        world.state(Samples).results[kind] = results


@then("every {validity:word} sample is {outcome:word}")
def _(world: World, validity: str, outcome: str) -> None:
    """Prepare returned no error for any sample (`prepared`), or an error in each claim's own entry (`refused`)."""
    results = world.state(Samples).results[validity]
    if outcome == "prepared":
        wrong = {text: result.problem for text, result in results.items() if result.problem}
    else:
        wrong = {
            text: result.problem or "it was prepared"
            for text, result in results.items()
            if not result.problem or not result.answered
        }
    expected = f"{len(results)} {validity} samples {outcome}"
    world.check(not wrong, f"{len(results)} {validity} samples", expected=expected, observed=wrong or outcome)


@then('the driver on "{node}" streams the health of every device that it publishes')
def _(world: World, node: str) -> None:
    """The kubelet receives the health of each published device on the driver's stream."""
    component = world.node(node)
    names = {device["name"] for device in component.devices()}
    pools = {obj["spec"]["pool"]["name"] for obj in component.slices()}

    def look() -> Seen:
        reported = {
            device for pool, device in component.harness_kubelet.health_of(component.driver_name) if pool in pools
        }
        return names <= reported, sorted(names - reported) or "all"

    world.eventually("health of every device", look, expected="an entry each", within=max(world.run.patience, 10.0))
