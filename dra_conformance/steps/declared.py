"""The vendor's declaration of the driver: sample configurations and optional capabilities."""

from __future__ import annotations

import threading
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from dra_api.rpc import HEALTH_VERSIONS, DRAPluginClient, RpcError
from dra_conformance.core.declaration import parameters
from dra_conformance.core.errors import SpecificationError, Untestable
from dra_conformance.engine.vocabulary import then, when
from dra_conformance.engine.world import Seen, World, in_words
from dra_conformance.steps.driver_calls import prepare, problem_of, reference_to, unprepare
from dra_conformance.steps.driver_claims import create_allocated
from dra_conformance.steps.driver_life import endpoint_of, plugin_info

_STREAM = 10.0  # seconds for all reports of a health stream


@dataclass(slots=True)
class Samples:
    """The outcome of Prepare for each declared sample: the problem (empty if prepared), and whether it has an entry."""

    valid: dict[str, tuple[str, bool]] = field(default_factory=dict)
    invalid: dict[str, tuple[str, bool]] = field(default_factory=dict)


@dataclass(slots=True)
class HealthStreams:
    """The devices that the stream of each health service has not reported, or the error that ended it."""

    unreported: dict[str, list[str]] = field(default_factory=dict)


@when('a claim with each declared sample configuration is prepared and unprepared on "{node}"')
def _(world: World, node: str) -> None:
    """One claim after the other, each with one sample for its request; the outcomes are kept."""
    declared, outcomes = world.run.options.declared, world.state(Samples)
    for kind, samples, outcome in (
        ("valid", declared.valid, outcomes.valid),
        ("invalid", declared.invalid, outcomes.invalid),
    ):
        if not samples:
            raise Untestable(f"the feature configuration is supported, but no {kind} sample is given")
        for number, text in enumerate(samples):
            claim = f"{kind}-{number}"
            config = [{"requests": ["gpu"], "parameters": parameters(text)}]
            create_allocated(world, claim, node, [{"request": "gpu", "device": "free"}], config)
            ref = reference_to(world, claim)
            call = prepare(world, node, [ref])
            outcome[text] = (problem_of(call, ref), call.error is None and ref.uid in call.prepared)
            unprepare(world, node, [ref])


@then("every {kind:word} sample is {outcome:word}")
def _(world: World, kind: str, outcome: str) -> None:
    """Valid samples were `prepared` without an error; invalid ones were `refused` by an error in the claim's entry."""
    match kind, outcome:
        case "valid", "prepared":
            found = world.state(Samples).valid
            wrong = {text: problem for text, (problem, _) in found.items() if problem}
        case "invalid", "refused":
            found = world.state(Samples).invalid
            wrong = {
                text: problem or "it was prepared"
                for text, (problem, has_entry) in found.items()
                if not problem or not has_entry
            }
        case _:
            raise SpecificationError("valid samples are prepared, invalid ones refused")
    message = f"{kind} samples, of {len(found)}, that were not {outcome}"
    world.check(not wrong, message, expected={}, observed=wrong)


@then('the driver on "{node}" streams the health of every device that it publishes')
def _(world: World, node: str) -> None:
    """The kubelet receives the health of each published device from the driver's stream."""
    component = world.node(node)
    names = {device["name"] for device in component.devices()}
    pools = {obj["spec"]["pool"]["name"] for obj in component.slices()}

    def look() -> Seen[list[Any]]:
        # With the pool, because the names of devices are unique within a pool only.
        known = {device for pool, device in component.harness_kubelet.health_of(component.driver_name) if pool in pools}
        return names <= known, sorted(names - known)

    world.eventually("devices without health", look, expected=[], within=max(world.run.patience, 10.0))


@when('each health service that the driver on "{node}" announces is watched in place of the kubelet')
def _(world: World, node: str) -> None:
    """Stop the kubelet, and open a stream of one version after the other until it has reported all devices."""
    component = world.node(node)
    info = plugin_info(world, component)
    endpoint = endpoint_of(world, node, info)
    published = {
        (obj["spec"]["pool"]["name"], one["name"]) for obj in component.slices() for one in obj["spec"]["devices"]
    }
    # A kubelet has one stream at a time, so a driver need not serve two.
    component.harness_kubelet.stop()
    streams = world.state(HealthStreams)
    for version in HEALTH_VERSIONS:
        if version in info.supported_versions:
            streams.unreported[version] = _unreported(world, endpoint, version, published)


@then("each of these health services has reported every device that the driver publishes")
def _(world: World) -> None:
    """Every announced version that kubelets know, and at least one, has reported all devices within ten seconds."""
    found = world.state(HealthStreams).unreported
    ok = bool(found) and not any(found.values())
    expected: dict[str, list[str]] | None = {version: [] for version in found} or None
    world.check(ok, "devices that an announced health service does not report", expected=expected, observed=found)


def _unreported(world: World, endpoint: str, version: str, published: set[tuple[str, str]]) -> list[str]:
    """Return the devices that the stream of a health service does not report, or the error that ended it."""
    left = set(published)
    with closing(DRAPluginClient(endpoint, clock=world.clock)) as client:
        try:
            stream = client.watch_health(version)
            timer = threading.Timer(_STREAM, stream.close)
            timer.start()
            try:
                while left and (devices := next(stream, None)) is not None:
                    left -= {(one.pool_name, one.device_name) for one in devices}
            finally:
                timer.cancel()
                stream.close()
        except RpcError as error:
            return [f"{error.code}: {error.details}"]
    return sorted(f"{pool}/{device}" for pool, device in left)


@then('the health of no device that the driver on "{node}" streamed is out of date')
def _(world: World, node: str) -> None:
    """The kubelet comes to have a report of each device that is not older than its timeout."""
    component = world.node(node)

    def look() -> Seen[list[Any]]:
        old = component.harness_kubelet.outdated_health_of(component.driver_name)
        return not old, sorted(device for _pool, device in old)

    world.eventually("devices whose last report is too old", look, expected=[])


@then('the driver on "{node}" gives the time of each health report')
def _(world: World, node: str) -> None:
    """Each streamed device has come to have a time of its health that is within a minute of now."""
    component = world.node(node)

    def look() -> Seen[str]:
        now = world.clock.now().timestamp()
        times = component.harness_kubelet.health_times_of(component.driver_name)
        wrong = {device: at for (_pool, device), at in times.items() if abs(now - at) > 60}
        shown = wrong or {device: at for (_pool, device), at in times.items()}
        return bool(times) and not wrong, f"{in_words(shown)}; now: {now:.0f}"

    world.eventually("the time of each health report", look, expected="Unix seconds, within a minute of now")
