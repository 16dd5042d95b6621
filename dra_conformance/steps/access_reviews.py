"""Access reviews: what the API server says that a user, a group or a service account may do."""

from __future__ import annotations

from dra_api.objects import Obj, Resource
from dra_conformance.control_plane import own_access
from dra_conformance.core.errors import SpecificationError
from dra_conformance.engine.vocabulary import then, when
from dra_conformance.engine.world import World, show
from dra_conformance.steps.objects import attempt, mapping_of
from dra_conformance.steps.users import REVIEWS, client_of, comes_to_be_allowed


def _review(world: World, resource: Resource, subject: Obj, access: Obj) -> Obj:
    attributes = "nonResourceAttributes" if "path" in access else "resourceAttributes"
    spec = {**subject, **({attributes: access} if access else {})}
    return {"apiVersion": resource.api_version, "kind": resource.kind, "spec": spec}


def _allowed(answer: Obj) -> bool:
    return bool((answer.get("status") or {}).get("allowed"))


@when("the access of {subject} to {access} is reviewed")
def _(world: World, subject: str, access: str) -> None:
    """Send a SubjectAccessReview: `user` and `groups`, and the attributes of a request or a `path`."""
    review = _review(world, REVIEWS, mapping_of(world, subject), mapping_of(world, access))
    attempt(world, lambda: world.client.create(REVIEWS, review))


@then("a review comes to allow {subject} to {access}")
def _(world: World, subject: str, access: str) -> None:
    """A SubjectAccessReview is allowed, at the latest after the run's patience: the authorizer has to receive roles."""
    review = _review(world, REVIEWS, mapping_of(world, subject), mapping_of(world, access))
    allowed = comes_to_be_allowed(world, review)
    observed = "allowed" if allowed else "not allowed"
    world.check(allowed, f"review of {show(review['spec'])}", expected="allowed", observed=observed)


@then("a review does not allow {subject} to {access}")
def _(world: World, subject: str, access: str) -> None:
    """A SubjectAccessReview is not allowed."""
    review = _review(world, REVIEWS, mapping_of(world, subject), mapping_of(world, access))
    allowed = _allowed(world.client.create(REVIEWS, review))
    observed = "allowed" if allowed else "not allowed"
    world.check(not allowed, f"review of {show(review['spec'])}", expected="not allowed", observed=observed)


@then('a review of its own {answer} user "{user}" to {access}')
def _(world: World, answer: str, user: str, access: str) -> None:
    """A SelfSubjectAccessReview of the user `allows` or `does not allow` the access."""
    if answer not in ("allows", "does not allow"):
        raise SpecificationError(f'a review "allows" or "does not allow", not {answer!r}')
    review = _review(world, own_access.REVIEWS, {}, mapping_of(world, access))
    allowed = _allowed(client_of(world, user).create(own_access.REVIEWS, review))
    world.check(
        allowed == (answer == "allows"),
        f"the review of {user} {answer} the access",
        expected=answer,
        observed="allows" if allowed else "does not allow",
    )
