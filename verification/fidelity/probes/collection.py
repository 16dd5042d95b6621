"""Owners and dependents: what the garbage collector deletes, keeps and waits for, with two of everything."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from verification.fidelity.probe import Probe, Step, delete, get, patch, post, put
from verification.fidelity.probes.objects import CLAIMS, CORE, MAPS, NS, claim, config_map

_GUARD = "example.com/guard"
_OTHER_UID = "0b54bd26-6f0c-4f1c-9fc6-3e0b4a1c5a11"
_SHOWN = (
    "metadata.name",
    "metadata.ownerReferences.name",
    "metadata.finalizers",
    "metadata.deletionGracePeriodSeconds",
)
_FOREGROUND = {"propagationPolicy": "Foreground"}
_BACKGROUND = {"propagationPolicy": "Background"}
_ORPHAN = {"propagationPolicy": "Orphan"}
_FREE = {"metadata": {"finalizers": None}}


def _owner(step: int, name: str = "a", **more: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": f"{{{step}.metadata.uid}}", **more}


def _made(name: str, *owners: dict[str, Any], **metadata: Any) -> Step:
    given = {**metadata, "ownerReferences": list(owners)} if owners else metadata
    return post(MAPS, config_map(name, **given), keep="code")


def _gone(name: str) -> Step:
    return get(f"{MAPS}/{name}", until=404, keep="status")


def _kept(name: str, **until: Any) -> Step:
    """Get an object; wait until these paths of its metadata have these values."""
    return get(f"{MAPS}/{name}", keep=_SHOWN, until_body={f"metadata.{key}": value for key, value in until.items()})


def _owners_left(name: str, *owners: str) -> Step:
    value = list(owners) or None
    return get(f"{MAPS}/{name}", keep=_SHOWN, until_body={"metadata.ownerReferences.name" if owners else
                                                          "metadata.ownerReferences": value})  # fmt: skip


def _delete(name: str, body: Any = None) -> Step:
    return delete(f"{MAPS}/{name}", body, keep="code")


def _free(name: str) -> Step:
    return patch(f"{MAPS}/{name}", _FREE, keep="code")


def _several() -> Iterator[Probe]:
    steps: tuple[Step, ...]
    a, b = _made("a"), _made("b")
    both = (_owner(0, "a"), _owner(1, "b"))
    blocking = (_owner(0, "a", blockOwnerDeletion=True), _owner(1, "b", blockOwnerDeletion=True))
    yield Probe("gc/two-owners", (a, b, _made("child", *both), _delete("a"), _owners_left("child", "b")))
    yield Probe("gc/two-owners-second", (a, b, _made("child", *both), _delete("b"), _owners_left("child", "a")))
    after = (_delete("a"), _owners_left("child", "b"), _delete("b"), _gone("child"))
    yield Probe("gc/two-owners-both", (a, b, _made("child", *both), *after))
    yield Probe(
        "gc/two-owners-foreground",
        (a, b, _made("child", *blocking), _delete("a", _FOREGROUND), _gone("a"), _kept("child"), _kept("b")),
    )
    yield Probe(
        "gc/two-owners-orphan",
        (a, b, _made("child", *both), _delete("a", _ORPHAN), _gone("a"), _kept("child"), _kept("b")),
    )
    two = (_made("child", _owner(0)), _made("other", _owner(0)), _made("own"))
    for name, body in {"background": _BACKGROUND, "foreground": _FOREGROUND, "none": {}}.items():
        steps = (a, *two, _delete("a", body), _gone("child"), _gone("other"), _kept("own"))
        yield Probe(f"gc/two-children-{name}", steps)
    steps = (a, *two, _delete("a", _ORPHAN), _gone("a"), _kept("child"), _kept("other"))
    yield Probe("gc/two-children-orphan", steps)
    for value in (True, False):
        options = {"orphanDependents": value}
        found = _kept("child") if value else _gone("child")
        yield Probe(f"gc/orphan-dependents-{value}", (a, two[0], _delete("a", options), _gone("a"), found))
    chain = (a, _made("child", _owner(0)), _made("grandchild", _owner(1, "child")))
    for name, body in {"background": _BACKGROUND, "foreground": _FOREGROUND}.items():
        steps = (*chain, _delete("a", body), _gone("grandchild"), _gone("child"), _gone("a"))
        yield Probe(f"gc/chain-{name}", steps)
    steps = (*chain, _delete("a", _ORPHAN), _gone("a"), _kept("child"), _kept("grandchild"))
    yield Probe("gc/chain-orphan", steps)


def _identities() -> Iterator[Probe]:
    steps: tuple[Step, ...]
    a = _made("a")
    # The new object of the same name is not the owner.
    again = (_delete("a"), _made("a"), _gone("child"), _kept("a"))
    yield Probe("gc/owner-recreated", (a, _made("child", _owner(0)), *again))
    yield Probe("gc/owner-other-uid", (a, _made("child", _owner(0, uid=_OTHER_UID)), _gone("child"), _kept("a")))
    half = _made("child", _owner(0), _owner(0, "absent", uid=_OTHER_UID))
    yield Probe("gc/one-owner-absent", (a, half, _owners_left("child", "a")))
    reference = {"metadata": {"ownerReferences": [_owner(0, "absent", uid=_OTHER_UID)]}}
    yield Probe("gc/owner-added", (_made("child"), patch(MAPS + "/child", reference, keep="code"), _gone("child")))
    unowned = {"metadata": {"ownerReferences": None}}
    steps = (a, _made("child", _owner(0)), patch(MAPS + "/child", unowned, keep="code"), _made("other", _owner(0)))
    yield Probe("gc/owner-removed", (*steps, _delete("a"), _gone("other"), _kept("child")))
    # A claim that is owned by an object of another kind, which has the same name.
    space = {"apiVersion": "v1", "kind": "Secret", "name": "a", "uid": "{1.metadata.uid}"}
    secret = post(NS + "/secrets", {"metadata": {"name": "a"}}, keep="code")
    owned = post(CLAIMS, claim(metadata={"ownerReferences": [space]}), keep="code")
    steps = (a, secret, owned, _made("child", _owner(0)), _delete("a"), _gone("child"))
    there = get(CLAIMS + "/c", keep=_SHOWN)
    last = (delete(NS + "/secrets/a", keep="code"), get(CLAIMS + "/c", until=404, keep="status"))
    yield Probe("gc/other-kind", (*steps, there, *last))
    cluster = post(CORE + "/namespaces", {"metadata": {"name": "{id}-owner"}}, keep="code")
    parent = {"apiVersion": "v1", "kind": "Namespace", "name": "{id}-owner", "uid": "{0.metadata.uid}"}
    away = delete(CORE + "/namespaces/{id}-owner", keep="code")
    yield Probe("gc/cluster-owner", (cluster, _made("child", parent), away, _gone("child")))


def _held() -> Iterator[Probe]:
    steps: tuple[Step, ...]
    a = _made("a")
    held = _made("child", _owner(0, blockOwnerDeletion=True), finalizers=[_GUARD])
    loose = _made("child", _owner(0), finalizers=[_GUARD])
    plain = _made("other", _owner(0, blockOwnerDeletion=True))
    marked = _kept("child", deletionGracePeriodSeconds=0)
    foreground = (_delete("a", _FOREGROUND), marked)
    done = (_free("child"), _gone("child"), _gone("a"))
    yield Probe("gc/foreground-held", (a, held, *foreground, _kept("a"), *done))
    yield Probe("gc/foreground-held-two", (a, held, plain, *foreground, _gone("other"), _kept("a"), *done))
    yield Probe("gc/foreground-loose", (a, loose, *foreground, _gone("a"), _free("child"), _gone("child")))
    yield Probe("gc/background-held", (a, held, _delete("a"), _gone("a"), marked, _free("child"), _gone("child")))
    # A later policy replaces the finalizer of the earlier one.
    for name, body in {"orphan": _ORPHAN, "background": _BACKGROUND}.items():
        steps = (a, held, *foreground, _delete("a", body), _gone("a"), _free("child"), _gone("child"))
        yield Probe(f"gc/foreground-then-{name}", steps)
    own = _made("a", finalizers=[_GUARD])
    child = _made("child", _owner(0, blockOwnerDeletion=True))
    steps = (own, child, _delete("a", _FOREGROUND), _gone("child"), _kept("a", finalizers=[_GUARD]))
    yield Probe("gc/foreground-own-finalizer", (*steps, _free("a"), _gone("a")))
    steps = (own, child, _delete("a", _ORPHAN), _kept("a", finalizers=[_GUARD]), _kept("child"))
    yield Probe("gc/orphan-own-finalizer", (*steps, _free("a"), _gone("a"), _kept("child")))
    # The finalizers of a dependent are the policy of its own deletion.
    for name, finalizer in {"orphan": "orphan", "foreground": "foregroundDeletion"}.items():
        middle = _made("child", _owner(0), finalizers=[finalizer])
        grandchild = _made("grandchild", _owner(1, "child", blockOwnerDeletion=True))
        last = _kept("grandchild") if name == "orphan" else _gone("grandchild")
        yield Probe(f"gc/child-{name}", (a, middle, grandchild, _delete("a"), _gone("child"), last))
        steps = (_made("a", finalizers=[finalizer]), child, _delete("a", _BACKGROUND), _gone("a"), _gone("child"))
        yield Probe(f"gc/background-of-{name}", steps)
        steps = (_made("a", finalizers=[finalizer]), child, _delete("a"), _gone("a"))
        yield Probe(f"gc/default-of-{name}", (*steps, _kept("child") if name == "orphan" else _gone("child")))


def _finalizers() -> Iterator[Probe]:
    steps: tuple[Step, ...]
    first, second = "example.com/first", "example.com/second"
    made = post(CLAIMS, claim(metadata={"finalizers": [first, second]}), keep="none")
    one = CLAIMS + "/c"
    start = (made, delete(one, keep="none"))

    def left(*finalizers: str, **more: Any) -> Step:
        return patch(one, {"metadata": {"finalizers": list(finalizers)}}, keep=("metadata.finalizers",), **more)

    yield Probe("finalizers/two-first", (*start, left(second), get(one, keep=_SHOWN), left(), get(one, keep="status")))
    yield Probe("finalizers/two-second", (*start, left(first), get(one, keep=_SHOWN), left(), get(one, keep="status")))
    yield Probe("finalizers/two-order", (*start, left(second, first)))
    yield Probe("finalizers/two-again", (*start, left(first), left(first, second)))
    yield Probe("finalizers/two-replaced", (*start, left(first, "example.com/third")))
    yield Probe("finalizers/two-new", (*start, left("example.com/third", "example.com/fourth")))
    yield Probe("finalizers/two-bad", (made, left(first, second, "bad name/x")))
    dry = (("dryRun", "All"),)
    yield Probe("finalizers/dry-freed", (*start, left(query=dry), get(one, keep=_SHOWN)))
    yield Probe("finalizers/dry-marked", (made, delete(one, query=dry), get(one, keep=_SHOWN)))
    whole = put(one, claim(), keep=("metadata.finalizers",))
    yield Probe("finalizers/put-without", (*start, whole, get(one, keep="status")))
    for name, precondition in {
        "uid-right": {"uid": "{0.metadata.uid}"},
        "uid-wrong": {"uid": _OTHER_UID},
        "version-old": {"resourceVersion": "{0.metadata.resourceVersion}"},
        "version-now": {"resourceVersion": "{1.metadata.resourceVersion}"},
        "both": {"uid": "{0.metadata.uid}", "resourceVersion": "{0.metadata.resourceVersion}"},
        "uid-wrong-version-right": {"uid": _OTHER_UID, "resourceVersion": "{1.metadata.resourceVersion}"},
    }.items():
        labelled = patch(one, {"metadata": {"labels": {"a": "b"}}}, keep="none")
        steps = (made, labelled, delete(one, {"preconditions": precondition}), get(one, keep=_SHOWN))
        yield Probe(f"finalizers/precondition-{name}", steps)
        steps = (*start, delete(one, {"preconditions": precondition}))
        yield Probe(f"finalizers/precondition-again-{name}", steps)


def probes() -> Iterator[Probe]:
    """Yield the probes of this table."""
    yield from _several()
    yield from _identities()
    yield from _held()
    yield from _finalizers()
