"""What the IMEX daemon of a node gets, and what a node's ComputeDomain driver keeps of attempts that were given up."""

from __future__ import annotations

from pathlib import Path

import orjson

from dra_api.objects import Obj, uid_of
from dra_conformance.components.node import DOMAIN_DRIVER
from dra_conformance.core.errors import Untestable
from dra_conformance.engine.vocabulary import then
from dra_conformance.engine.world import Seen, World
from dra_conformance.kubelet import CDIRegistry
from dra_conformance.kubelet.errors import CDIError
from dra_conformance.steps.compute_domains import domain
from dra_conformance.steps.imex_claims import waiting

TEMPLATE = "imexd.cfg.tmpl"


@then('the daemon of claim "{claim}" is given, with every GPU of the node')
def _(world: World, claim: str) -> None:
    """Prepare comes to answer two ids: the driver's `device=all`, and the claim's own."""
    call = waiting(world, claim)
    vendor = f"k8s.{DOMAIN_DRIVER}"
    wanted = [f"{vendor}/device=all", f"{vendor}/claim={call.ref.uid}-daemon-0"]

    def look() -> Seen:
        ids = call.ids
        return call.done.is_set() and ids == wanted, call.error or ids or "no answer yet"

    world.eventually(f"claim {claim} is prepared", look, expected=wanted)


@then('the daemon of claim "{claim}" on "{node}" knows the ComputeDomain "{name}", its clique and its configuration')
def _(world: World, claim: str, node: str, name: str) -> None:
    """The container's environment names domain and clique, and /imexd is a folder with the configuration's template."""
    try:
        found = CDIRegistry.read(world.node(node).kubelet.cdi_roots).resolve(waiting(world, claim).ids)
    except CDIError as error:
        world.check(False, "CDI ids resolve", expected="a daemon", observed=str(error))
        return
    environment = dict(word.partition("=")[::2] for device in found for word in device.edits.get("env") or ())
    mounts = {raw["containerPath"]: raw["hostPath"] for device in found for raw in device.edits.get("mounts") or ()}
    seen: Obj = {key: environment.get(f"COMPUTE_DOMAIN_{key}") for key in ("UUID", "NAME", "NAMESPACE")}
    seen["clique"] = "." in environment.get("CLIQUE_ID", "")
    seen["template"] = (Path(mounts.get("/imexd", "/nowhere")) / TEMPLATE).is_file()
    uid = uid_of(domain(world, name))
    wanted = {"UUID": uid, "NAME": name, "NAMESPACE": world.namespace, "clique": True, "template": True}
    world.check(seen == wanted, f"what the daemon of {name} gets", expected=wanted, observed=seen)


@then('the ComputeDomain driver on "{node}" comes to remember claim "{claim}" as given up')
def _(world: World, node: str, claim: str) -> None:
    """Its checkpoint comes to have the claim as PrepareAborted, with the time; Prepare has answered meanwhile."""
    path = world.node(node).kubelet.plugins_dir / DOMAIN_DRIVER / "checkpoint.json"
    call = waiting(world, claim)
    if not path.is_file():
        raise Untestable(f"the ComputeDomain driver keeps no {path.name}")

    def look() -> Seen:
        held = orjson.loads(path.read_bytes()).get("v2", {}).get("preparedClaims", {}).get(call.ref.uid) or {}
        seen = {"state": held.get("checkpointState"), "abortedAt": held.get("abortedAt"), "answer": call.error}
        return call.done.is_set() and seen["state"] == "PrepareAborted" and bool(seen["abortedAt"]), seen

    world.eventually(f"claim {claim} is given up", look, expected="PrepareAborted with abortedAt")
