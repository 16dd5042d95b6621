"""The kubelet judged with a scripted driver on the other side of the sockets: pods, their containers, restarts."""

from __future__ import annotations

from dra_api.objects import PODS, Obj
from dra_conformance.engine.vocabulary import given, then, when, words
from dra_conformance.engine.world import Seen, World
from dra_conformance.kubelet.scripted_driver import ScriptedDriver
from dra_conformance.steps.claim_holders import reserve
from dra_conformance.steps.claims import pod_consumer
from dra_conformance.steps.containers import views
from dra_conformance.steps.pods import BY_HAND, by_name, events_about, pod_object
from dra_conformance.steps.scripted_drivers import claim_for, name_of_driver


@given('a pod "{pod}" with the reserved claims "{claims}"')
def _(world: World, pod: str, claims: str) -> None:
    """A pod whose only container uses these claims, which are reserved for it."""
    _pod(world, pod, words(claims), None)


@given('a pod "{pod}" whose containers do not use its reserved claim "{claim}"')
def _(world: World, pod: str, claim: str) -> None:
    """A pod that lists a claim which no container names."""
    _pod(world, pod, [claim], [{"name": "main", "image": "registry.k8s.io/pause:3.10"}])


@given('a pod "{pod}" whose container "{container}" uses request "{request}" of the reserved claim "{claim}"')
def _(world: World, pod: str, container: str, request: str, claim: str) -> None:
    """A pod with a container for one request, and one, `all`, for the whole claim."""
    image = "registry.k8s.io/pause:3.10"
    containers = [
        {"name": container, "image": image, "resources": {"claims": [{"name": claim, "request": request}]}},
        {"name": "all", "image": image, "resources": {"claims": [{"name": claim}]}},
    ]
    _pod(world, pod, [claim], containers)


def _pod(world: World, pod: str, claims: list[str], containers: list[Obj] | None) -> None:
    obj = pod_object(world, pod, [by_name(c) for c in claims], scheduler=BY_HAND, containers=containers)
    # With no grace period the API server would not wait for the kubelet.
    obj["spec"]["terminationGracePeriodSeconds"] = 30
    world.create(obj)
    for claim in claims:
        reserve(world, claim, [pod_consumer(world, pod)])


@when('a pod "{pod}" with the reserved claims "{claims}" starts on "{node}"')
def _(world: World, pod: str, claims: str, node: str) -> None:
    """Make a pod with claims that are reserved for it, and bind it by hand."""
    _pod(world, pod, words(claims), None)
    world.client.bind(world.get(PODS, pod), world.name(node))


@when('a pod "{pod}" with a claim of the scripted driver "{driver}" starts on "{node}"')
def _(world: World, pod: str, driver: str, node: str) -> None:
    """Make a claim (called as the pod) that is allocated to the driver, and a bound pod for which it is reserved."""
    claim_for(world, pod, driver, node)
    _pod(world, pod, [pod], None)
    world.client.bind(world.get(PODS, pod), world.name(node))


@when('the kubelet of "{node}" starts')
def _(world: World, node: str) -> None:
    """Start the node's kubelet."""
    world.node(node).start_kubelet()


@when('the kubelet of "{node}" stops')
def _(world: World, node: str) -> None:
    """Stop the node's kubelet as if killed."""
    world.node(node).kubelet.stop()


@when('the node "{node}" reboots')
def _(world: World, node: str) -> None:
    """Restart the kubelet; the containers are gone, its checkpoint is not."""
    world.node(node).kubelet.restart(reboot=True)


@when('the kubelet of "{node}" has no driver "{driver}" any more')
def _(world: World, node: str, driver: str) -> None:
    """Wait until the kubelet noticed that the driver left."""
    plugins = world.node(node).kubelet.plugins
    name = name_of_driver(world, driver)
    world.wait(lambda: (name not in plugins.drivers(), plugins.drivers()))


@then('pod "{pod}" does not run')
def _(world: World, pod: str) -> None:
    """The pod is bound, and stays out of phase Running after everything has come to rest."""

    def look() -> Seen:
        phase = ((world.seen(PODS, pod) or {}).get("status") or {}).get("phase")
        return phase not in ("Running", "Succeeded"), phase

    world.stays(f"pod {pod} does not run", look, expected="Pending")


@then('pod "{pod}" still exists')
def _(world: World, pod: str) -> None:
    """The pod object is there, being deleted or not, after everything has come to rest."""
    world.stays(f"pod {pod} exists", lambda: (world.seen(PODS, pod) is not None, "gone"), expected="the pod")


@then('an event of pod "{pod}" says "{text}"')
def _(world: World, pod: str, text: str) -> None:
    """A Warning about the pod with this text comes."""
    wanted = world.text(text)

    def look() -> Seen:
        seen = [str(event.get("message") or event.get("note")) for event in events_about(world, "Pod", pod)]
        return any(wanted in message for message in seen), seen or "no event"

    world.eventually(f"an event of {pod}", look, expected=f"a message with {wanted!r}")


@then('container "{container}" of pod "{pod}" on "{node}" gets the requests "{requests}" of claim "{claim}" only')
def _(world: World, container: str, pod: str, node: str, requests: str, claim: str) -> None:
    """The container's environment is that of the CDI devices of these requests of the claim."""
    wanted = sorted(ScriptedDriver.variable(claim, request) for request in words(requests))
    seen = views(world, node, pod)[container].env
    observed = sorted(name for name in seen if name.startswith(ScriptedDriver.variable(claim, "")))
    world.check(observed == wanted, f"devices of container {container}", expected=wanted, observed=observed)


@then('container "{container}" of pod "{pod}" on "{node}" has variable, device node and mount of claim "{claim}"')
def _(world: World, container: str, pod: str, node: str, claim: str) -> None:
    """What the scripted driver's CDI specification says of the claim's request `gpu` is there in the container."""
    view = views(world, node, pod)[container]
    name = ScriptedDriver.variable(claim, "gpu")
    world.check(view.env.get(name) == "yes", "the variable", expected=f"{name}=yes", observed=sorted(view.env))
    path = f"/dev/{claim}-gpu"
    nodes = {one.path: one.permissions for one in view.device_nodes}
    world.check("rw" in nodes.get(path, ""), "the device node, to be read and written", expected=path, observed=nodes)
    place = f"/scripted/{claim}-gpu"
    mounts = sorted(mount.container_path for mount in view.mounts)
    world.check(place in mounts, "the mount", expected=place, observed=mounts)
