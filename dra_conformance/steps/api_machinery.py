"""Behaviour of an API server that controllers rely on: dry run, preconditions, lists in pages, watches, owners.

`it` is the object that the scenario created last (`dra_conformance.steps.objects`). `former` is the object of the same
name that it replaced.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from dra_api.client import ApiError, Gone, KubeClient, Watch
from dra_api.objects import NAMESPACES, RESOURCE_CLAIMS, Obj, name_of, uid_of
from dra_api.threads import started
from dra_conformance.core import manifests
from dra_conformance.core.errors import SpecificationError, Untestable
from dra_conformance.engine.vocabulary import given, then, when, words
from dra_conformance.engine.world import Seen, World, in_words
from dra_conformance.steps.api_requests import keep_names, real_name, resources_named
from dra_conformance.steps.api_validation import Warned
from dra_conformance.steps.objects import Requests, attempt, draft, with_field
from dra_conformance.steps.pods import create_other_namespace, other_namespace

_LAST = "last-of-the-watch"
_INITIAL_EVENTS_END = "k8s.io/initial-events-end"
_WATCH_SECONDS = 10
"""The server ends a watch then; a watch that lacks an event ends here instead of never."""


@dataclass
class History:
    """Earlier states that a scenario remembers: the replaced object, the version of a list, the pages of another."""

    former: Obj | None = None
    listed_version: str = ""
    versions: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)
    pages: list[list[str]] = field(default_factory=list)
    page_versions: list[str] = field(default_factory=list)


def _stored(world: World) -> Obj | None:
    obj = draft(world)
    return world.client.find(manifests.resource_of(obj), name_of(obj), world.namespace)


def _former(world: World) -> Obj:
    found = world.state(History).former
    if found is None:
        raise SpecificationError(f"{world.scenario.where}: no object was deleted and created again")
    return found


def _content(obj: Obj) -> Obj:
    """Return an object without apiVersion and kind, which not every response has."""
    return {key: value for key, value in obj.items() if key not in ("apiVersion", "kind")}


# -- dry run, preconditions, updates -----------------------------------------------------------------------------------


@when("a dry run {verb:word} it")
def _(world: World, verb: str) -> None:
    """Create (also again), label or delete the object with `dryRun=All`: `creates`, `labels` or `deletes`."""
    obj, client = draft(world), world.client
    resource = manifests.resource_of(obj)
    requests: dict[str, Callable[[], Obj]] = {
        "creates": lambda: client.create(resource, _anew(obj), dry_run=True),
        "labels": lambda: client.update(resource, with_field(world, "metadata.labels", {"dry": "run"}), dry_run=True),
        "deletes": lambda: client.delete(resource, name_of(obj), world.namespace, dry_run=True),
    }
    if verb not in requests:
        raise SpecificationError(f"a dry run creates, labels or deletes an object; {verb!r} is none of these")
    attempt(world, requests[verb])


@then('the API server accepts it, and {warns} about "{field}"')
def _(world: World, warns: str, field: str) -> None:
    """A dry run of its creation succeeds, and a warning names the field (`warns`) or none does (`does not warn`)."""
    if warns not in ("warns", "does not warn"):
        raise SpecificationError(f'an API server "warns" or "does not warn" about a field, not {warns!r}')
    obj = draft(world)
    transport = Warned(world.client.transport)
    attempt(world, lambda: KubeClient(transport).create(manifests.resource_of(obj), obj, dry_run=True))
    refusal = world.state(Requests).refusal
    named = any(field in text for text in transport.texts)
    world.check(
        refusal is None and named == (warns == "warns"),
        f"the API server accepts the object and {warns} about {field}",
        expected=f"accepted, warnings: {'one' if warns == 'warns' else 'none'} that names {field}",
        observed=refusal.message if refusal else f"accepted, warnings: {in_words(transport.texts)}",
    )


@given("it is deleted and created again")
def _(world: World) -> None:
    """Replace the object by one of the same name, with another uid."""
    former = draft(world)
    resource = manifests.resource_of(former)
    world.client.delete(resource, name_of(former), world.namespace)
    try:
        world.state(Requests).draft = world.create(_anew(former))
    except ApiError as error:
        raise Untestable(f"the object cannot be created again: {error}") from error
    world.state(History).former = former


def _anew(obj: Obj) -> Obj:
    """Return what a stored object was made of: without the metadata that the API server has added."""
    if not obj["metadata"].get("uid"):
        return obj
    again = copy.deepcopy(obj)
    again["metadata"] = {key: obj["metadata"][key] for key in ("name", "namespace") if key in obj["metadata"]}
    return again


def object_called(world: World, which: str) -> Obj:
    """Return the `former` object of the scenario, which was deleted, or the `current` one of its name."""
    return _former(world) if which == "former" else draft(world)


@when("it is deleted with the {field:word} of the {which:word} object")
def _(world: World, field: str, which: str) -> None:
    """Delete it with a precondition: the `uid` or `resourceVersion` of the `former` or the `current` object."""
    obj = object_called(world, which)
    resource, value = manifests.resource_of(obj), str(obj["metadata"][field])
    uid, version = (value, None) if field == "uid" else (None, value)
    attempt(
        world,
        lambda: world.client.delete(resource, name_of(obj), world.namespace, uid=uid, resource_version=version),
    )


@when("it is updated with the {field:word} of the {which:word} object")
def _(world: World, field: str, which: str) -> None:
    """Add a label with the `uid` or `resourceVersion` of the `former` or the `current` object in the metadata."""
    obj = object_called(world, which)
    changed = with_field(world, "metadata.labels", {"changed": "yes"})
    changed["metadata"][field] = obj["metadata"][field]
    attempt(world, lambda: world.client.update(manifests.resource_of(changed), changed))


@when("it is updated with the resourceVersion of an object that was created later")
def _(world: World) -> None:
    """Add a label with a resourceVersion that is greater than the object's."""
    later = _copy(world, "later")
    changed = with_field(world, "metadata.labels", {"changed": "yes"})
    changed["metadata"]["resourceVersion"] = later["metadata"]["resourceVersion"]
    attempt(world, lambda: world.client.update(manifests.resource_of(changed), changed))


@when("it is updated without a change")
def _(world: World) -> None:
    """Write the stored object back as it was read."""
    attempt(world, lambda: world.client.update(manifests.resource_of(draft(world)), _present(world)))


def _present(world: World) -> Obj:
    found = _stored(world)
    if found is None:
        raise Untestable("the object of the scenario is not stored")
    return found


@when("it is deleted")
def _(world: World) -> None:
    """Delete the object without preconditions."""
    obj = draft(world)
    attempt(world, lambda: world.client.delete(manifests.resource_of(obj), name_of(obj), world.namespace))


@then("it is stored unchanged")
def _(world: World) -> None:
    """The API server returns the object as it was when it was created, with the same resourceVersion."""
    created, stored = draft(world), _stored(world)
    same = stored is not None and _content(stored) == _content(created)
    seen = None if stored is None else stored["metadata"]
    world.check(same, "the object is stored unchanged", expected=created["metadata"], observed=seen)


@then("it is not stored")
def _(world: World) -> None:
    """The API server has no object of this name."""
    stored = _stored(world)
    seen = stored["metadata"] if stored is not None else None
    world.check(stored is None, "the object is not stored", expected=None, observed=seen)


# -- lists in pages ----------------------------------------------------------------------------------------------------


@given("{count:d} copies of it are created")
def _(world: World, count: int) -> None:
    """Create copies of the manifest with names of their own."""
    for number in range(count):
        _copy(world, f"copy-{number}")


def _copy(world: World, name: str, labels: object = None) -> Obj:
    obj = copy.deepcopy(draft(world))
    obj["metadata"] = {"name": name, "namespace": world.namespace, **({"labels": labels} if labels else {})}
    return world.create(obj)


@when("the copies are listed in pages of {limit:d}, with one deleted and one created after each page")
def _(world: World, limit: int) -> None:
    """List the kind in pages. After each page the last copy that exists is deleted, and another object is created."""
    history, resource = world.state(History), manifests.resource_of(draft(world))
    names = [name_of(obj) for obj in world.client.list(resource, world.namespace).items]
    history.expected, left = sorted(names), sorted(names)
    token, number = "", 0
    while True:
        page = world.client.page(resource, world.namespace, query=[("limit", str(limit))], token=token)
        history.pages.append([name_of(obj) for obj in page.items])
        history.page_versions.append(page.resource_version)
        token = page.continue_token
        # A server that repeats pages would never end the list: as many pages as objects are enough to see it.
        if not token or not left:
            return
        world.client.delete(resource, left.pop(), world.namespace)
        _copy(world, f"copy-{number}-later")
        number += 1


@then("the pages have each object of the first page's version once")
def _(world: World) -> None:
    """All pages together have the objects that existed at the first page, in order, and one resourceVersion."""
    history = world.state(History)
    listed = [name for page in history.pages for name in page]
    ok = listed == history.expected and len(set(history.page_versions)) == 1 and len(history.pages) > 1
    world.check(
        ok,
        "the pages are one list",
        expected={"names": history.expected, "pages": "2 or more", "resourceVersions": 1},
        observed={
            "names": listed,
            "pages": str(len(history.pages)),
            "resourceVersions": len(set(history.page_versions)),
        },
    )


# -- watches -----------------------------------------------------------------------------------------------------------


@given("a list of {kinds:word}")
def _(world: World, kinds: str) -> None:
    """List the objects of a kind: watches of later steps begin at its resourceVersion."""
    found = world.client.list(resources_named(kinds), world.namespace)
    world.state(History).listed_version = found.resource_version


@given('the ResourceClaims "{changes}"')
@when('the ResourceClaims "{changes}"')
def _(world: World, changes: str) -> None:
    """Write claims in this order, such as `create a, label a x=1 y=2, delete a`: labels replace all labels."""
    _change(world, changes)


def _change(world: World, changes: str) -> None:
    for change in words(changes):
        verb, _, rest = change.partition(" ")
        name, *given_labels = rest.split()
        labels = {key: value for key, _, value in (label.partition("=") for label in given_labels)}
        if verb == "create":
            _copy(world, name, labels)
        elif verb == "label":

            def relabel(obj: Obj, labels: dict[str, str] = labels) -> None:
                obj["metadata"]["labels"] = labels

            world.update(RESOURCE_CLAIMS, name, relabel)
        elif verb == "delete":
            world.client.delete(RESOURCE_CLAIMS, name, world.namespace)
        else:
            raise SpecificationError(f"{world.scenario.where}: claims are created, labelled or deleted, not {verb!r}")


def _watch(world: World, version: str, selector: str) -> Watch:
    """Begin a watch of the claims of the namespace."""
    return world.client.watch(
        RESOURCE_CLAIMS,
        world.namespace,
        resource_version=version,
        label_selector=selector,
        timeout_seconds=_WATCH_SECONDS,
    )


def _watched(world: World, version: str, selector: str) -> list[tuple[str, str]]:
    """Watch claims from a version up to a claim that is created last; return (event, resourceVersion) without it."""
    found: list[tuple[str, str]] = []

    def read(watch: Watch) -> Iterator[tuple[str, str]]:
        for event in watch:
            if event.type != "BOOKMARK":
                meta = event.object["metadata"]
                yield f"{event.type} {meta['name']}", str(meta["resourceVersion"])

    with _watch(world, version, selector) as watch:
        for event, at in read(watch):
            if event.endswith(f" {_LAST}"):
                return found
            found.append((event, at))
    return [*found, ("the watch ended", "")]


def _finish(world: World, selector: str) -> None:
    """Create the claim that ends a watch; it matches the selector."""
    key, _, value = selector.partition("=")
    if world.client.find(RESOURCE_CLAIMS, _LAST, world.namespace) is None:
        _copy(world, _LAST, {key: value} if key else None)


@then('a watch from the list with labels "{selector}" delivers "{events}"')
def _(world: World, selector: str, events: str) -> None:
    """A watch from the list's version delivers exactly these events, in this order, such as `ADDED a, DELETED a`."""
    _finish(world, selector)
    wanted = words(events)
    seen = [event for event, _ in _watched(world, world.state(History).listed_version, selector)]
    world.check(seen == wanted, "the watch delivers every change once", expected=wanted, observed=seen)


@then('a watch of {kinds:word} from the list with fields "{selector}" delivers "{events}"')
def _(world: World, kinds: str, selector: str, events: str) -> None:
    """A watch from the list's version delivers exactly these events up to the last one, which is the latest change."""
    resource = resources_named(kinds)
    changes = [event.split() for event in words(events)]
    wanted = [f"{kind} {real_name(world, resource, name)}" for kind, name in changes]
    seen: list[str] = []
    with world.client.watch(
        resource,
        world.namespace,
        resource_version=world.state(History).listed_version,
        field_selector=world.text(selector),
        timeout_seconds=_WATCH_SECONDS,
    ) as watch:
        for event in watch:
            if event.type != "BOOKMARK":
                seen.append(f"{event.type} {name_of(event.object)}")
            if wanted[-1] in seen:
                break
    world.check(seen == wanted, "the watch delivers the selected changes", expected=wanted, observed=seen)


@then("a watch from each event delivers the events after it")
def _(world: World) -> None:
    """Watches that resume at the resourceVersion of an event deliver the later events, none twice and none lost."""
    _resume(world, "")


@then('a watch with labels "{selector}" from each event delivers the events after it')
def _(world: World, selector: str) -> None:
    """Watches with a selector resume, also at the resourceVersion of an object that ceased to match."""
    _resume(world, selector)


@when('the ResourceClaim "{name}" is changed {count:d} times to an object of {size:d} kB')
def _(world: World, name: str, count: int, size: int) -> None:
    """Write an annotation of this size, with another number each time."""
    for number in range(count):

        def annotate(obj: Obj, number: int = number) -> None:
            obj["metadata"]["annotations"] = {"number": str(number), "filler": "x" * size * 1000}

        changed = world.update(RESOURCE_CLAIMS, name, annotate)
        world.state(History).versions.append(str(changed["metadata"]["resourceVersion"]))


@then("a watch from each of these versions delivers all later ones, or none and 410")
def _(world: World) -> None:
    """Watches from the list and from each change are complete or refused as too old, the last one is complete."""
    _finish(world, "")
    history = world.state(History)
    for number, version in enumerate([history.listed_version, *history.versions]):
        wanted = history.versions[number:]
        try:
            seen = [at for _, at in _watched(world, version, "")]
        except Gone:
            if wanted:
                continue
            seen = ["410"]
        world.check(seen == wanted, f"a watch from version {version} misses no change", expected=wanted, observed=seen)


def _resume(world: World, selector: str) -> None:
    _finish(world, selector)
    all_events = _watched(world, world.state(History).listed_version, selector)
    if not all_events:
        raise Untestable("the watch delivers no event that another could resume from")
    for number, (event, version) in enumerate(all_events):
        wanted = [later for later, _ in all_events[number + 1 :]]
        seen = [later for later, _ in _watched(world, version, selector)]
        world.check(seen == wanted, f"a watch resumes after {event}", expected=wanted, observed=seen)


@then('a watch with initial events and labels "{selector}" delivers "{names}", and after "{changes}" "{events}"')
def _(world: World, selector: str, names: str, changes: str, events: str) -> None:
    """A streaming list delivers these objects in any order, the bookmark of their end, and then these events.

    Another namespace has a claim with the label x=1. A watch from the version of the bookmark delivers the events too.
    """
    first: list[str] = []
    later: list[str] = []
    ended = ""
    elsewhere = world.manifest("claims/claim")
    elsewhere["metadata"] |= {"namespace": create_other_namespace(world), "labels": {"x": "1"}}
    world.create(elsewhere)
    with world.client.watch(
        RESOURCE_CLAIMS,
        world.namespace,
        label_selector=selector,
        timeout_seconds=_WATCH_SECONDS,
        initial_events=True,
    ) as watch:
        for event in watch:
            metadata = event.object["metadata"]
            if event.type == "BOOKMARK":
                if not ended and (metadata.get("annotations") or {}).get(_INITIAL_EVENTS_END) == "true":
                    ended = str(metadata["resourceVersion"])
                    _change(world, changes)
                    _finish(world, selector)
                continue
            if metadata["name"] == _LAST:
                break
            (later if ended else first).append(f"{event.type} {metadata['name']}")
        else:
            later.append("the watch ended")
    wanted = sorted(f"ADDED {name}" for name in words(names))
    ends = "a bookmark" if ended else f"no bookmark after {in_words(first)}"
    world.check(bool(ended), "a bookmark ends the initial events", expected="a bookmark", observed=ends)
    world.check(sorted(first) == wanted, "the watch begins with all objects", expected=wanted, observed=sorted(first))
    world.check(later == words(events), "the watch goes on", expected=words(events), observed=later)
    resumed = [event for event, _ in _watched(world, ended, selector)]
    same = resumed == words(events)
    world.check(same, "a watch resumes at the bookmark", expected=words(events), observed=resumed)


@given('the ResourceClaim "{name}" is created in another namespace')
@when('the ResourceClaim "{name}" is created in another namespace')
def _(world: World, name: str) -> None:
    """Create a claim with the manifest's labels in a second namespace, whose name begins with that of the first one."""
    namespace = other_namespace(world)
    if world.client.find(NAMESPACES, namespace) is None:
        create_other_namespace(world)
    obj = copy.deepcopy(draft(world))
    obj["metadata"] = {"name": name, "namespace": namespace, "labels": obj["metadata"].get("labels") or {}}
    world.create(obj)


@then('a watch from {version} with labels "{selector}" delivers "{names}", and after "{changes}" "{events}"')
def _(world: World, version: str, selector: str, names: str, changes: str, events: str) -> None:
    """A watch with `no resourceVersion` or `resourceVersion 0` begins with these objects; the later events follow."""
    since = "" if version == "no resourceVersion" else version.removeprefix("resourceVersion ")
    wanted = sorted(f"ADDED {name}" for name in words(names))
    seen: list[str] = []
    with _watch(world, since, selector) as watch:
        arriving = (f"{e.type} {name_of(e.object)}" for e in watch if e.type != "BOOKMARK")
        while len(seen) < len(wanted) and (event := next(arriving, "")):
            seen.append(event)
        first = sorted(seen)
        world.check(first == wanted, "the watch begins with the objects", expected=wanted, observed=first)
        _change(world, changes)
        _finish(world, selector)
        later: list[str] = []
        for event in arriving:
            if event.endswith(f" {_LAST}"):
                break
            later.append(event)
        else:
            later.append("the watch ended")
    world.check(later == words(events), "the watch goes on", expected=words(events), observed=later)


@then("a watch with a timeout of {seconds:d} s ends")
def _(world: World, seconds: int) -> None:
    """The server ends a watch after its `timeoutSeconds`, although nothing happens; the run's patience comes on top."""
    ended = threading.Event()
    with world.client.watch(RESOURCE_CLAIMS, world.namespace, timeout_seconds=seconds) as watch:

        def read() -> None:
            for _ in watch:
                pass
            ended.set()

        reader = started(read, name="watch that ends")
        # Polled: the end of a stream makes no event of the cluster.
        closed = world.poll(ended.is_set)
    reader.join()
    world.check(closed, "the watch ends", expected="ended", observed="ended" if closed else "still open")


# -- lists of a version ------------------------------------------------------------------------------------------------


def _list_matching(world: World, match: str, version: str, labels: str = "") -> None:
    query = [("resourceVersionMatch", match), *([("resourceVersion", version)] if version else [])]
    if labels:
        query.append(("labelSelector", labels))
    keep_names(world, lambda: world.client.page(RESOURCE_CLAIMS, world.namespace, query=query))


@when("the ResourceClaims are listed with resourceVersionMatch {match:word}")
def _(world: World, match: str) -> None:
    """List the claims with the version of the earlier list."""
    _list_matching(world, match, world.state(History).listed_version)


@when('the ResourceClaims with labels "{selector}" are listed with resourceVersionMatch {match:word}')
def _(world: World, selector: str, match: str) -> None:
    """List the claims that the selector matches with the version of the earlier list."""
    _list_matching(world, match, world.state(History).listed_version, selector)


@when("the ResourceClaims are listed with resourceVersionMatch {match:word} and {version}")
def _(world: World, match: str, version: str) -> None:
    """List the claims with `no resourceVersion`, with one, such as `resourceVersion 0`, or with that of a claim."""
    of, wanted = "that of the ResourceClaim ", version.removeprefix("resourceVersion ")
    if version == "no resourceVersion":
        wanted = ""
    elif version.startswith(of):
        wanted = world.get(RESOURCE_CLAIMS, version.removeprefix(of))["metadata"]["resourceVersion"]
    _list_matching(world, match, wanted)


# -- owners ------------------------------------------------------------------------------------------------------------


def _owner(world: World, name: str) -> Obj:
    """Create a ResourceClaim, the owner of the scenario's object."""
    obj = world.manifest("claims/claim")
    obj["metadata"]["name"] = name
    return world.create(obj)


@given('it is owned by the claims "{names}"')
def _(world: World, names: str) -> None:
    """Create claims and make them owners of the manifest, in this order."""
    draft(world)["metadata"]["ownerReferences"] = [_reference(_owner(world, name)) for name in words(names)]


def _reference(owner: Obj) -> Obj:
    return {
        "apiVersion": RESOURCE_CLAIMS.api_version,
        "kind": RESOURCE_CLAIMS.kind,
        "name": name_of(owner),
        "uid": uid_of(owner),
    }


@when('the claim "{name}" becomes its owner')
def _(world: World, name: str) -> None:
    """Add the only owner reference of the stored object."""
    _set_owner(world, world.client.get(RESOURCE_CLAIMS, name, world.namespace))


@when("its owner becomes a claim that was deleted")
def _(world: World) -> None:
    """Replace the owner references of the stored object by one to a claim that no longer exists."""
    gone = _owner(world, "deleted-before")
    world.client.delete(RESOURCE_CLAIMS, name_of(gone), world.namespace)
    _set_owner(world, gone)


def _set_owner(world: World, owner: Obj) -> None:
    def own(obj: Obj) -> None:
        obj["metadata"]["ownerReferences"] = [_reference(owner)]

    world.update(RESOURCE_CLAIMS, name_of(draft(world)), own)


@when('the owner "{name}" is deleted and created again')
def _(world: World, name: str) -> None:
    """Replace an owner by a claim of the same name with another uid."""
    world.client.delete(RESOURCE_CLAIMS, name, world.namespace)
    _owner(world, name)


@then("it is garbage-collected")
def _(world: World) -> None:
    """The object comes to be deleted."""
    name = name_of(draft(world))

    def look() -> Seen[Obj | None]:
        found = world.seen(RESOURCE_CLAIMS, name)
        return found is None, None if found is None else found["metadata"]

    world.eventually("the object without owner is deleted", look, expected=None)


@then('it stays, owned by the claims "{names}"')
def _(world: World, names: str) -> None:
    """References to missing owners are removed; the object and its other references stay."""
    name = name_of(draft(world))
    wanted = words(names)

    def look() -> Seen[list[Any] | None]:
        found = world.seen(RESOURCE_CLAIMS, name)
        owners = [] if found is None else [o["name"] for o in found["metadata"].get("ownerReferences") or ()]
        return owners == wanted, owners if found is not None else None

    world.eventually("the object keeps its other owners", look, expected=wanted)
    world.stays("the object stays", look, expected=wanted)
