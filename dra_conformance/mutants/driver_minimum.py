"""Mutants that the seven behaviours of KEP-5970 must detect, and mutants of drivers next to others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dra_api.objects import RESOURCE_SLICES, name_of
from dra_conformance.core.invented_names import invented, is_invented
from dra_conformance.engine.mutation import Patch, mutant

PREPARER = "reference_impl.kubelet_plugin.prepare:ClaimPreparer"

Original = Callable[..., Any]


@mutant("sockets-without-a-server", rule="DRA-351")
def _(patch: Patch) -> None:
    """The registration socket is never created."""
    patch.replace("dra_api.rpc:PluginServer.start", lambda self: None)


@mutant("slices-without-devices", rule="DRA-352")
def _(patch: Patch) -> None:
    """The node's pool is published empty."""

    def make(original: Original) -> Original:
        return lambda self: [type(part)(shared_counters=part.shared_counters) for part in original(self)][:1]

    patch.wrap("reference_impl.kubelet_plugin.plugin:KubeletPlugin.slices", make)


@mutant("pool-never-complete", rule="DRA-353")
def _(patch: Patch) -> None:
    """The pool reports one slice more than exists, so that no scheduler uses it."""

    def make(original: Original) -> Original:
        def spec(self: Any, content: Any, generation: int, count: int) -> Any:
            return original(self, content, generation, count + 1)

        return spec

    patch.wrap("reference_impl.kubelet_plugin.slices:SlicePublisher._spec", make)


@mutant("responses-with-undeclared-cdi-ids", rule="DRA-354")
def _(patch: Patch) -> None:
    """The CDI device IDs in the response are not declared in any CDI specification."""
    patch.replace(f"{PREPARER}.write_spec", lambda self, claim, chosen, config_state: None)


@mutant("prepare-always-fails", rule="DRA-355")
def _(patch: Patch) -> None:
    """No claim can be prepared."""

    def prepare(self: Any, claim: Any) -> Any:
        raise RuntimeError("no")

    patch.replace(f"{PREPARER}.prepare", prepare)


@mutant("no-environment-variable", rule="DRA-355b")
def _(patch: Patch) -> None:
    """The container gets no environment variable."""

    def make(original: Original) -> Original:
        return lambda self: {key: value for key, value in original(self).items() if key != "env"} | {"env": []}

    patch.wrap(f"{PREPARER}.common_edits", make)


@mutant("unprepare-always-fails", rule="DRA-356")
def _(patch: Patch) -> None:
    """No claim can be unprepared."""

    def unprepare(self: Any, uid: str) -> None:
        raise RuntimeError("no")

    patch.replace(f"{PREPARER}.unprepare", unprepare)


@mutant("devices-never-released", rule="DRA-357")
def _(patch: Patch) -> None:
    """After the first claim, Prepare of every other claim fails, even if the first was unprepared."""

    used: list[str] = []

    def make(original: Original) -> Original:
        def prepare(self: Any, claim: Any) -> Any:
            used.append(claim.uid)
            if used[0] == claim.uid:
                return original(self, claim)
            raise RuntimeError("all devices are in use")

        return prepare

    patch.wrap(f"{PREPARER}.prepare", make)


# -- beside other drivers ----------------------------------------------------------------------------------------------


@mutant("publishes-nothing-beside-others", rule="DRA-358")
def _(patch: Patch) -> None:
    """A driver that finds another driver's slices on its node publishes nothing."""

    def make(original: Original) -> Original:
        def sync(self: Any) -> None:
            others = [o for o in self._client.list(RESOURCE_SLICES).items if o["spec"]["driver"] != self._driver]
            # The other drivers of a scenario run this code too and keep their slices.
            if is_invented(self._driver) or not others:
                original(self)
                return
            for obj in self._informer.list():
                self._delete(obj)

        return sync

    patch.wrap("reference_impl.kubelet_plugin.slices:SlicePublisher.sync", make)


@mutant("deletes-slices-of-other-drivers", rule="DRA-358b")
def _(patch: Patch) -> None:
    """A driver that starts deletes the slices of other drivers on its node."""

    def make(original: Original) -> Original:
        def start(self: Any) -> None:
            original(self)
            # The other drivers of a scenario run this code too.
            for obj in self._client.list(RESOURCE_SLICES).items if not is_invented(self._driver) else ():
                if obj["spec"]["driver"] != self._driver and obj["spec"].get("nodeName") == self._node_name:
                    self._delete(obj)

        return start

    patch.wrap("reference_impl.kubelet_plugin.slices:SlicePublisher.start", make)


def _publishes_more(patch: Patch, change: Callable[[Any], dict[str, Any]]) -> None:
    """Publish one more slice at the start, with the fields that `change` returns."""

    def make(original: Original) -> Original:
        def start(self: Any) -> None:
            original(self)
            pool = {"name": "more", "generation": 1, "resourceSliceCount": 1}
            spec = {"driver": self._driver, "nodeName": self._node_name, "pool": pool, "devices": [{"name": "more"}]}
            self._client.create(
                RESOURCE_SLICES, {"metadata": {"generateName": "more-"}, "spec": {**spec, **change(self)}}
            )

        return start

    patch.wrap("reference_impl.kubelet_plugin.slices:SlicePublisher.start", make)


@mutant("removes-unfinished-files-of-others", rule="DRA-358d")
def _(patch: Patch) -> None:
    """At its start the driver removes all unfinished files from the CDI folder, also those of other drivers."""

    def make(original: Any) -> Any:
        def remove(self: Any, *arguments: Any) -> Any:
            for partial in self.root.glob(".*.partial"):
                partial.unlink()
            return original(self, *arguments)

        return remove

    patch.wrap("reference_impl.kubelet_plugin.cdi:CdiFolder.clean", make)


@mutant("publishes-in-the-name-of-another-driver", rule="DRA-358c")
def _(patch: Patch) -> None:
    """A driver publishes a slice of another driver on its node."""
    _publishes_more(patch, lambda publisher: {"driver": invented("other")})


@mutant("publishes-for-another-node", rule="DRA-358c")
def _(patch: Patch) -> None:
    """A driver publishes a slice for another node."""
    _publishes_more(patch, lambda publisher: {"nodeName": f"not-{publisher._node_name}"})


@mutant("prepares-results-of-every-driver", rule="DRA-359")
def _(patch: Patch) -> None:
    """Devices of other drivers are looked up among the driver's own."""

    def make(original: Original) -> Original:
        def own_results(status: Any, driver: str) -> Any:
            drivers = {r["driver"] for r in status["allocation"]["devices"]["results"]}
            return [result for name in drivers for result in original(status, name)]

        return own_results

    patch.wrap("reference_impl.kubelet_plugin.prepare:own_results", make)


@mutant("requests-of-several-drivers-ignored", rule="DRA-359c")
def _(patch: Patch) -> None:
    """The driver of a request's first device is taken for that of all."""

    def make(original: Original) -> Original:
        def own_results(status: Any, driver: str) -> Any:
            first: dict[str, str] = {}
            for result in status["allocation"]["devices"]["results"]:
                first.setdefault(result["request"], result["driver"])
            return [result for result in original(status, driver) if first[result.request] == driver]

        return own_results

    patch.wrap("reference_impl.kubelet_plugin.prepare:own_results", make)


@mutant("requests-of-several-drivers-without-names", rule="DRA-359c")
def _(patch: Patch) -> None:
    """A device of a request that another driver serves as well is returned without the name of the request."""

    def make(original: Original) -> Original:
        def held(self: Any, claim: Any, configured: Any) -> Any:
            device = original(self, claim, configured)
            results = claim.allocation["devices"]["results"]
            drivers = {one["driver"] for one in results if one["request"] == configured.result.request}
            return device if len(drivers) == 1 else replace(device, answer=replace(device.answer, request_names=()))

        return held

    patch.wrap("reference_impl.kubelet_plugin.prepare:ClaimPreparer.held", make)


@mutant("inventory-without-container-edits", rule="DRA-359b")
def _(patch: Patch) -> None:
    """The variables of an inventory are not added to containers."""
    patch.replace(
        "reference_impl.inventory_plugin.prepare:InventoryPreparer.edits",
        lambda self, device: {"env": [f"DRA_DEVICE={device}"]},
    )


# -- slices ------------------------------------------------------------------------------------------------------------

PUBLISHER = "reference_impl.kubelet_plugin.slices:SlicePublisher"


@mutant("generation-for-every-change", rule="DRA-289")
def _(patch: Patch) -> None:
    """Every change of the pool increments the generation."""

    def make(original: Original) -> Original:
        def following(self: Any, wanted: Any, matched: Any, top: int) -> int:
            same = all(self._same(self._spec(wanted[index], top, len(wanted)), old) for index, old in matched.items())
            return top if same and len(matched) == len(wanted) else top + 1

        return following

    patch.wrap(f"{PUBLISHER}.next_generation", make)


@mutant("generation-never-changes", rule="DRA-289b")
def _(patch: Patch) -> None:
    """The generation never changes."""

    def change(spec: Any) -> Any:
        spec["pool"]["generation"] = 1
        return spec

    def make(original: Original) -> Original:
        return lambda self, *args: change(original(self, *args))

    patch.wrap(f"{PUBLISHER}._spec", make)


@mutant("generation-never-changes-in-place", rule="DRA-289b")
def _(patch: Patch) -> None:
    """Changes of several slices keep the generation."""
    patch.replace(f"{PUBLISHER}.next_generation", lambda self, wanted, matched, top: top)


@mutant("generation-of-other-versions-ignored", rule="DRA-289c")
def _(patch: Patch) -> None:
    """Slices that another version of the driver named differently do not count for the generation."""

    def make(original: Original) -> Original:
        def plan(self: Any, wanted: Any, there: Any, node: Any) -> Any:
            own = [old for old in there if name_of(old)[:5].isdecimal()]
            found = original(self, wanted, own, node)
            return replace(found, delete=[*found.delete, *(old for old in there if old not in own)])

        return plan

    patch.wrap(f"{PUBLISHER}.plan", make)


@mutant("copies-of-slices-left", rule="DRA-289c")
def _(patch: Patch) -> None:
    """Slices with a name that the driver gives are not deleted."""

    def make(original: Original) -> Original:
        def plan(self: Any, wanted: Any, there: Any, node: Any) -> Any:
            found = original(self, wanted, there, node)
            return replace(found, delete=[old for old in found.delete if not name_of(old)[:5].isdecimal()])

        return plan

    patch.wrap(f"{PUBLISHER}.plan", make)


@mutant(
    "dropped-fields-published-again",
    rule="DRA-292",
    # DRADeviceTaintRules needs DRADeviceTaints.
    feature_gates=("DRADeviceTaintRules=false", "DRADeviceTaints=false"),
)
def _(patch: Patch) -> None:
    """The driver compares stored slices with the wanted ones only, not with the result of its last update."""

    def make(original: Original) -> Original:
        def same(self: Any, spec: Any, old: Any) -> bool:
            self._accepted.clear()
            return bool(original(self, spec, old))

        return same

    patch.wrap(f"{PUBLISHER}._same", make)


@mutant("former-pools-not-deleted", rule="DRA-291")
def _(patch: Patch) -> None:
    """Only slices of the node's own pool are considered."""

    def make(original: Original) -> Original:
        def plan(self: Any, wanted: Any, there: Any, node: Any) -> Any:
            return original(self, wanted, [old for old in there if self.is_mine(old)], node)

        return plan

    patch.wrap(f"{PUBLISHER}.plan", make)
