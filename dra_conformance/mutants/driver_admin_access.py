"""Mutants of admin access in the GPU driver."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dra_conformance.engine.mutation import Patch, mutant

PREPARER = "reference_impl.kubelet_plugin.prepare:ClaimPreparer"

Original = Callable[..., Any]


def looking_at(patch: Patch, choose: Callable[[Any], Any]) -> None:
    """Let the check of admin access look at other results of the claim."""

    def make(original: Original) -> Original:
        return lambda self, claim, results: original(self, claim, choose(results))

    patch.wrap(f"{PREPARER}.check_admin_access", make)


def offered(patch: Patch, choose: Callable[[Any], Any]) -> None:
    """Let the check of admin access look at other configurations of the claim."""

    def make(original: Original) -> Original:
        def check(self: Any, claim: Any, results: Any) -> None:
            allocation = claim.status["allocation"]
            devices = {**allocation["devices"], "config": choose(allocation["devices"].get("config") or ())}
            status = {**claim.status, "allocation": {**allocation, "devices": devices}}
            original(self, replace(claim, status=status), results)

        return check

    patch.wrap(f"{PREPARER}.check_admin_access", make)


@mutant("admin-access-to-any-device", rule="NV-306")
def _(patch: Patch) -> None:
    """Admin access is not checked."""
    patch.replace(f"{PREPARER}.check_admin_access", lambda self, claim, results: None)


@mutant("admin-access-of-the-first-result-checked", rule="NV-306")
def _(patch: Patch) -> None:
    """Only the first device of a claim is checked."""
    looking_at(patch, lambda results: results[:1])


@mutant("admin-access-refused-for-mig-devices-only", rule="NV-306")
def _(patch: Patch) -> None:
    """Admin access to a device for pass-through is accepted."""
    looking_at(patch, lambda results: [result for result in results if "vfio" not in result.device])


@mutant("admin-access-refused-after-creation", rule="NV-306")
def _(patch: Patch) -> None:
    """The instance is created before the check."""

    def make(original: Original) -> Original:
        def check(self: Any, claim: Any, results: Any) -> None:
            for item in self.configure(claim, results) if any(result.admin_access for result in results) else ():
                self.realize(claim.uid, item, {})
            original(self, claim, results)

        return check

    patch.wrap(f"{PREPARER}.check_admin_access", make)


@mutant("admin-access-with-configuration-for-all", rule="NV-307")
def _(patch: Patch) -> None:
    """Only configuration that names the request is refused."""
    offered(patch, lambda entries: [entry for entry in entries if entry.get("requests")])


@mutant("admin-access-with-configuration-by-name", rule="NV-307")
def _(patch: Patch) -> None:
    """Only configuration for all requests is refused."""
    offered(patch, lambda entries: [entry for entry in entries if not entry.get("requests")])


@mutant("admin-access-with-configuration-of-the-class", rule="NV-307")
def _(patch: Patch) -> None:
    """Configuration of the class is accepted."""
    offered(patch, lambda entries: [entry for entry in entries if entry["source"] == "FromClaim"])


@mutant("admin-access-with-configuration-of-other-drivers", rule="NV-307")
def _(patch: Patch) -> None:
    """Configuration of another driver is refused too."""

    def mine(entry: Any) -> Any:
        parameters = {"apiVersion": "resource.nvidia.com/v1beta1", "kind": "GpuConfig"}
        return {**entry, "opaque": {"driver": "gpu.nvidia.com", "parameters": parameters}}

    offered(patch, lambda entries: [mine(entry) for entry in entries])


@mutant("admin-access-once-for-a-device", rule="NV-308")
def _(patch: Patch) -> None:
    """A claim with admin access is refused while another has admin access to the device."""

    def make(original: Original) -> Original:
        def check(self: Any, uid: str, results: Any, held: Any) -> None:
            original(self, uid, results, held)
            admin = {result.device for result in results if result.admin_access}
            for other, entry in held.items():
                for result in (entry.status["allocation"]["devices"]["results"]) if other != uid else ():
                    if result.get("adminAccess") and result["device"] in admin:
                        raise ValueError(f"{result['device']} has admin access already")

        return check

    patch.wrap(f"{PREPARER}.check_overlap", make)


@mutant("claim-with-admin-access-has-no-configuration", rule="NV-309")
def _(patch: Patch) -> None:
    """A claim with admin access is refused whatever requests its configuration is for."""
    offered(patch, lambda entries: [{**entry, "requests": []} for entry in entries])


@mutant("configuration-of-all-devices-of-a-claim-with-admin-access", rule="NV-309")
def _(patch: Patch) -> None:
    """A configuration applies to the device with admin access too."""

    def make(original: Original) -> Original:
        def config_of(self: Any, candidates: Any, result: Any) -> Any:
            if result.admin_access:
                candidates = [replace(candidate, requests=()) for candidate in candidates]
            return original(self, candidates, result)

        return config_of

    patch.wrap(f"{PREPARER}.config_of", make)
