"""ResourceQuotas of the scenario's namespace.

An API server decides by the status of quotas as its admission has received it, some time after a client can read it.
"""

from __future__ import annotations

from dra_api.client import ApiError
from dra_api.objects import RESOURCE_CLAIM_TEMPLATES, RESOURCE_QUOTAS, Obj
from dra_api.quantity import Quantity
from dra_conformance.core.errors import SpecificationError, Untestable
from dra_conformance.engine.vocabulary import given, then
from dra_conformance.engine.world import World
from dra_conformance.steps.objects import value_of

_TEMPLATES = "count/resourceclaimtemplates.resource.k8s.io"


@given('a ResourceQuota "{name}" with limits {limits}')
def _(world: World, name: str, limits: str) -> None:
    """Create a quota, and wait until the API server enforces it: its status is calculated, and admission has it."""
    hard = value_of(world, limits)
    if not isinstance(hard, dict):
        raise SpecificationError(f"{world.scenario.where}: limits are a mapping, not {hard!r}")
    _create(world, name, {key: str(amount) for key, amount in hard.items()})
    _wait_enforced(world, f"0-after-{name}")


def _create(world: World, name: str, hard: dict[str, str]) -> None:
    """Create a quota and wait until the quota controller has calculated the use of all its resources."""
    meta = {"name": name, "namespace": world.namespace}
    world.create({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": meta, "spec": {"hard": hard}})
    if not world.poll(lambda: set(_used(world, name)) == set(hard)):
        raise Untestable(f"the quota controller has not calculated the use of {', '.join(sorted(hard))}")


def _wait_enforced(world: World, name: str) -> None:
    """Wait until admission enforces a new quota, which allows no template, and hence all older ones.

    Its name is the first one in the namespace: a server that enforces the first quota only fails the checks to come.
    """
    _create(world, name, {_TEMPLATES: "0"})
    template: Obj = {
        "apiVersion": RESOURCE_CLAIM_TEMPLATES.api_version,
        "kind": RESOURCE_CLAIM_TEMPLATES.kind,
        "metadata": {"name": name, "namespace": world.namespace},
        "spec": {"spec": {}},
    }

    def refused(*, dry_run: bool = True) -> bool:
        try:
            world.client.create(RESOURCE_CLAIM_TEMPLATES, template, dry_run=dry_run)
        except ApiError as error:
            # Another quota like this one may be enforced longer than it exists.
            return error.status == 403 and name in error.message
        return False

    # A server that accepts every dry run enforces quotas nevertheless: DRA-630 is about dry runs.
    world.track(RESOURCE_CLAIM_TEMPLATES, name, world.namespace)
    if not world.poll(refused) and not refused(dry_run=False):
        raise Untestable("the API server does not enforce quotas")
    world.client.delete(RESOURCE_QUOTAS, name, world.namespace)


@then('the ResourceQuota "{name}" reports the use {amounts}')
def _(world: World, name: str, amounts: str) -> None:
    """`status.used` of a quota comes to have these amounts, and no others."""
    wanted = value_of(world, amounts)
    if not isinstance(wanted, dict):
        raise SpecificationError(f"{world.scenario.where}: amounts are a mapping, not {wanted!r}")
    expected = {key: Quantity.parse(str(amount)) for key, amount in wanted.items()}
    # Polled: the harness watches no quotas.
    met = world.poll(lambda: _used(world, name) == expected)
    seen = {key: str(amount) for key, amount in _used(world, name).items()}
    world.check(met, f"the use of the quota {name}", expected=wanted, observed=seen)


def _used(world: World, name: str) -> dict[str, Quantity]:
    """Return `status.used`; empty before the quota controller has calculated it."""
    quota = world.client.get(RESOURCE_QUOTAS, name, world.namespace)
    used = (quota.get("status") or {}).get("used") or {}
    return {key: Quantity.parse(str(amount)) for key, amount in used.items()}
