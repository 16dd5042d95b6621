"""Pages of lists, watches from a version, and dry runs of every verb: each with more objects than one request shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from verification.fidelity.probe import (
    JSON_PATCH,
    STRATEGIC,
    Probe,
    Query,
    Step,
    apply,
    delete,
    get,
    patch,
    post,
    put,
    watch,
)
from verification.fidelity.probes.objects import (
    CLAIMS,
    CORE,
    DRA,
    MAPS,
    NS,
    PODS,
    SLICES,
    TABLE,
    allocation,
    claim,
    config_map,
    pod,
    slice_of,
)

_NAMES = ("kind", "metadata.continue", "metadata.remainingItemCount", "items.metadata.name")
_DRY = (("dryRun", "All"),)
# No controller adds claims, unlike ConfigMaps.
_FIVE = tuple(post(CLAIMS, claim(name), keep="none") for name in ("c", "a", "e", "b", "d"))


def _page(*query: tuple[str, str], path: str = CLAIMS, **more: Any) -> Step:
    return get(path, query=query, **{"keep": _NAMES, **more})


def _next(step: int) -> tuple[str, str]:
    return ("continue", f"{{{step}.metadata.continue}}")


def _newer(match: str) -> Query:
    """The version of the last of the five claims."""
    return (("resourceVersionMatch", match), ("resourceVersion", "{4.metadata.resourceVersion}"))


# Responses to resourceVersion=0 come from a cache, which may be behind; after this response it is current.
_FRESH = get(CLAIMS, query=_newer("NotOlderThan"), keep="none")


def _pages() -> Iterator[Probe]:
    steps: tuple[Step, ...]
    two = ("limit", "2")
    yield Probe("page/three", (*_FIVE, _page(two), _page(two, _next(5)), _page(two, _next(6))))
    yield Probe("page/sizes", (*_FIVE, _page(("limit", "1")), _page(("limit", "3"), _next(5)), _page(_next(6))))
    # A page is as long without the objects that the selector leaves out.
    some = ("fieldSelector", "metadata.name!=a,metadata.name!=c")
    yield Probe("page/selected", (*_FIVE, _page(two, some), _page(two, some, _next(5))))
    for limit in ("0", "4", "5", "6", "-1", "x"):
        yield Probe(f"page/limit-{limit}", (*_FIVE, _page(("limit", limit))))
    # Both pages show the state of the first.
    changes = (
        patch(CLAIMS + "/d", {"metadata": {"labels": {"new": "yes"}}}, keep="none"),
        delete(CLAIMS + "/e", keep="none"),
        post(CLAIMS, claim("cc"), keep="none"),
    )
    labelled = (*_NAMES, "items.metadata.labels")
    yield Probe("page/state", (*_FIVE, _page(two), *changes, _page(two, _next(5), keep=labelled), _page(two, _next(9))))
    again = delete(CLAIMS + "/a", keep="none"), post(CLAIMS, claim("a"), keep="none")
    yield Probe("page/behind", (*_FIVE, _page(two), *again, _page(_next(5)), _page(two)))
    yield Probe("page/last-deleted", (*_FIVE, _page(two), delete(CLAIMS + "/b", keep="none"), _page(two, _next(5))))
    yield Probe("page/version-0", (*_FIVE, _page(two), _FRESH, _page(two, _next(5), ("resourceVersion", "0"))))
    match = ("resourceVersionMatch", "Exact")
    yield Probe("page/first-version-0", (*_FIVE, _FRESH, _page(two, ("resourceVersion", "0"))))
    yield Probe("page/newer", (*_FIVE, _page(two, *_newer("NotOlderThan"))))
    yield Probe("page/match", (*_FIVE, _page(two), _page(two, _next(5), match)))
    yield Probe("page/match-version", (*_FIVE, _page(two), _page(two, _next(5), *_newer("Exact"))))
    initial = (("sendInitialEvents", "true"), ("resourceVersionMatch", "Odd"))
    yield Probe("page/options-wrong", (_page(*initial), _page(*initial, ("resourceVersion", "0"))))
    exact = (match, ("resourceVersion", "{2.metadata.resourceVersion}"))
    yield Probe("page/exact", (*_FIVE, _page(two, *exact), _page(two, _next(5))))
    yield Probe("page/exact-changed", (*_FIVE, changes[1], _page(*_newer("Exact"))))
    yield Probe("page/exact-future", (_page(match, ("resourceVersion", "99999999")),))
    selected = tuple(
        post(SLICES, slice_of(f"{{id}}-{name}", metadata={"labels": {"only": "{id}"}}), keep="none")
        for name in ("c", "a", "b")
    )
    only = ("labelSelector", "only={id}")
    steps = (*selected, _page(only, two, path=SLICES), _page(only, two, _next(3), path=SLICES))
    yield Probe("page/cluster", steps)
    spaces = (*_FIVE[:3], post(CORE + "/namespaces", {"metadata": {"name": "{id}-z"}}, keep="none"))
    marked = tuple(
        patch(CLAIMS + f"/{name}", {"metadata": {"labels": {"only": "{id}"}}}, keep="none") for name in ("a", "e")
    )
    far = claim("b", metadata={"labels": {"only": "{id}"}})
    other = post(CLAIMS.replace("{ns}", "{id}-z"), far, keep="none")
    everywhere = DRA + "/resourceclaims"
    shown = (*_NAMES, "items.metadata.namespace")
    yield Probe("page/namespaces", (*spaces, *marked, other, _page(only, path=everywhere, keep=shown)))
    name = ("fieldSelector", "metadata.name=b")
    yield Probe("page/namespaces-field", (*spaces, *marked, other, _page(only, name, path=everywhere, keep=shown)))
    table = ("columnDefinitions.name", "rows.object.metadata.name", "metadata.remainingItemCount", "metadata.continue")
    steps = (*_FIVE, _page(two, headers=TABLE, keep=table), _page(two, _next(5), headers=TABLE, keep=table))
    yield Probe("page/table", steps)
    gone = delete(CLAIMS, query=(("labelSelector", "new"),), keep=_NAMES)
    yield Probe("page/delete-selected", (*_FIVE, changes[0], gone, _page()))
    held = post(CLAIMS, claim("h", metadata={"finalizers": ["example.com/guard"]}), keep="none")
    kept = (*_NAMES, "items.metadata.finalizers", "items.metadata.deletionGracePeriodSeconds")
    steps = (*_FIVE, held, delete(CLAIMS, keep=kept), _page(keep=kept))
    yield Probe("page/delete-held", steps)
    limited = delete(CLAIMS, query=(("limit", "2"),), keep=_NAMES)
    yield Probe("page/delete-limit", (*_FIVE, limited, _page()))
    rest = delete(CLAIMS, query=(("limit", "2"), _next(5)), keep=_NAMES)
    yield Probe("page/delete-next", (*_FIVE, limited, rest, _page()))
    yield Probe("page/delete-dry", (*_FIVE, delete(CLAIMS, query=_DRY, keep=_NAMES), _page()))
    body = {"dryRun": ["All"]}
    yield Probe("page/delete-dry-body", (*_FIVE, delete(CLAIMS, body, keep=_NAMES), _page()))
    once = {"preconditions": {"uid": "{0.metadata.uid}"}}
    yield Probe("page/delete-precondition", (_FIVE[0], delete(CLAIMS, once, keep="status"), _page()))


def _watches() -> Iterator[Probe]:
    steps: tuple[Step, ...]
    make = post(MAPS, config_map("z"), keep="none")
    change = patch(MAPS + "/z", {"data": {"k": "w"}}, keep="none")
    again = patch(MAPS + "/z", {"data": {"k": "x"}}, keep="none")
    remove = delete(MAPS + "/z", keep="none")
    other = post(MAPS, config_map("y"), keep="none")

    def since(step: int, *more: tuple[str, str]) -> Query:
        return (("resourceVersion", f"{{{step}.metadata.resourceVersion}}"), *more)

    # Not kube-root-ca.crt, which a controller of the real control plane adds.
    named = ("fieldSelector", "metadata.name=z")
    yield Probe("watch/resume-first", (make, change, again, remove, watch(MAPS, 3, query=since(0, named))))
    yield Probe("watch/resume-second", (make, change, again, remove, watch(MAPS, 2, query=since(1, named))))
    yield Probe("watch/resume-last", (make, change, again, remove, watch(MAPS, 1, query=since(2, named))))
    twice = (make, remove, make, change)
    yield Probe("watch/resume-recreated", (make, change, watch(MAPS, 4, remove, make, again, query=since(0, named))))
    yield Probe("watch/past-recreated", (other, *twice, watch(MAPS, 4, query=since(0, named))))
    labels = {"metadata": {"labels": {"both": "yes"}}}
    enter = patch(MAPS + "/z", labels, keep="none")
    leave = patch(MAPS + "/z", {"metadata": {"labels": None}}, keep="none")
    both = ("labelSelector", "both")
    moves = (make, enter, change, leave, enter, remove)
    yield Probe("watch/past-selector", (other, *moves, watch(MAPS, 5, query=since(0, both))))
    yield Probe("watch/selector-moves", (other, watch(MAPS, 5, *moves, query=since(0, both))))
    yield Probe("watch/past-left", (other, *moves[:4], watch(MAPS, 3, query=since(0, both))))
    # Two namespaces: events of the other one are not sent.
    space = post(CORE + "/namespaces", {"metadata": {"name": "{id}-z"}}, keep="none")
    far = post(MAPS.replace("{ns}", "{id}-z"), config_map("z"), keep="none")
    yield Probe("watch/namespace", (other, space, watch(MAPS, 1, far, make, query=since(0, named))))
    yield Probe("watch/past-namespace", (other, space, far, make, watch(MAPS, 1, query=since(0, named))))
    made = config_map("z", labels={"only": "{id}"})
    far = post(MAPS.replace("{ns}", "{id}-z"), made, keep="none")
    near = post(MAPS, made, keep="none")
    only = ("labelSelector", "only={id}")
    yield Probe("watch/namespaces", (other, space, watch(CORE + "/configmaps", 2, far, near, query=since(0, only))))
    dry = put(MAPS + "/z", config_map("z", {"k": "dry"}), query=_DRY, keep="none")
    gone = delete(MAPS + "/z", query=_DRY, keep="none")
    yield Probe("watch/dry", (other, watch(MAPS, 2, make, dry, gone, change, query=since(0, named))))
    guarded = post(CLAIMS, claim(metadata={"finalizers": ["example.com/a", "example.com/b"]}), keep="none")
    one = CLAIMS + "/c"
    half = patch(one, {"metadata": {"finalizers": ["example.com/b"]}}, keep="none")
    free = patch(one, {"metadata": {"finalizers": None}}, keep="none")
    mark = delete(one, keep="none")
    steps = (guarded, mark, mark, half, free)
    yield Probe("watch/finalizers", (other, watch(CLAIMS, 4, *steps, query=since(0))))
    status = patch(one + "/status", {"status": {"allocation": allocation()}}, keep="none")
    plain = post(CLAIMS, claim(), keep="none")
    yield Probe("watch/status", (other, watch(CLAIMS, 2, plain, status, query=since(0))))
    initial = (("sendInitialEvents", "true"), ("resourceVersionMatch", "NotOlderThan"), ("allowWatchBookmarks", "true"))
    steps = (make, other, watch(MAPS, 2, query=(*initial, named)), watch(MAPS, 3, change, query=(*initial, named)))
    yield Probe("watch/initial-selected", steps)
    partial = {"Accept": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}
    steps = (make, watch(MAPS, 2, query=(*initial, named), headers=partial))
    yield Probe("watch/initial-partial", steps)
    yield Probe("watch/initial-beta", (plain, watch(CLAIMS.replace("/v1/", "/v1beta1/"), 1, query=initial)))
    yield Probe("watch/initial-deleted", (make, remove, other, watch(MAPS, 1, query=(*initial, named))))


def _dry() -> Iterator[Probe]:
    made = post(MAPS, config_map(), keep="none")
    one = MAPS + "/a"
    patches: dict[str, Step] = {
        "merge": patch(one, {"data": {"k": "w"}}, query=_DRY),
        "json": patch(one, [{"op": "remove", "path": "/data/k"}], JSON_PATCH, query=_DRY),
        "strategic": patch(one, {"data": {"k": "w"}}, STRATEGIC, query=_DRY),
        "apply": apply(one, config_map(data={"k": "w"}), force=True, query=_DRY),
        "put-conflict": put(one, config_map(resourceVersion="1"), query=_DRY),
        "delete": delete(one, query=_DRY),
        "delete-body": delete(one, {"dryRun": ["All"]}),
        "delete-precondition": delete(one, {"preconditions": {"uid": "u"}, "dryRun": ["All"]}),
        "create-twice": post(MAPS, config_map(), query=_DRY),
        "create-invalid": post(MAPS, config_map("Bad_Name"), query=_DRY),
        "same": put(one, config_map(), query=_DRY),
    }
    for name, step in patches.items():
        # The update after it has the version of the create: nothing was stored in between.
        after = put(one, config_map(data={"k": "2"}, resourceVersion="{0.metadata.resourceVersion}"), keep="code")
        yield Probe(f"dry/{name}", (made, step, get(one), after))
    yield Probe("dry/apply-new", (apply(one, config_map(), query=_DRY), get(one, keep="status")))
    yield Probe("dry/generate", (post(MAPS, config_map("", generateName="gen-"), query=_DRY),))
    first = post(CLAIMS, claim(), keep="none")
    status = patch(CLAIMS + "/c/status", {"status": {"allocation": allocation()}}, query=_DRY)
    yield Probe("dry/status", (first, status, get(CLAIMS + "/c")))
    yield Probe("dry/slice", (post(SLICES, slice_of(), query=_DRY), get(SLICES + "/{id}", keep="status")))
    yield Probe("dry/pod", (post(PODS, pod(), query=_DRY), get(PODS + "/p", keep="status")), pods=True)
    ready = post(PODS, pod(), keep="none")
    target: dict[str, Any] = {"target": {"kind": "Node", "name": "n"}}
    bind = post(PODS + "/p/binding", {**target, "metadata": {"name": "p"}}, query=_DRY, keep="status")
    yield Probe("dry/binding", (ready, bind, get(PODS + "/p", keep=("spec.nodeName", "status.conditions"))), pods=True)
    for name, metadata in {"absent": {}, "other": {"name": "q"}, "empty": {"name": ""}}.items():
        unnamed = post(PODS + "/p/binding", {**target, "metadata": metadata})
        yield Probe(f"binding/name-{name}", (ready, unnamed), pods=True)
        unnamed = post(PODS + "/p/eviction", {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata})
        yield Probe(f"eviction/name-{name}", (ready, unnamed), pods=True)
    evict = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
    shown = get(PODS + "/p", keep=("metadata.deletionGracePeriodSeconds", "status.phase"))
    yield Probe("dry/eviction", (ready, post(PODS + "/p/eviction", evict, query=_DRY, keep="status"), shown), pods=True)
    body = {**evict, "deleteOptions": {"dryRun": ["All"]}}
    yield Probe("dry/eviction-body", (ready, post(PODS + "/p/eviction", body, keep="status"), shown), pods=True)
    marked = delete(PODS + "/p", query=_DRY, keep=("metadata.deletionGracePeriodSeconds",))
    yield Probe("dry/pod-delete", (ready, marked, shown), pods=True)
    space = delete(NS, query=_DRY, keep=("status.phase", "metadata.name"))
    yield Probe("dry/namespace", (made, space, get(NS, keep=("status.phase",)), get(one, keep="status")))
    token = post(NS + "/serviceaccounts/default/token", {"spec": {}}, query=_DRY, keep="status")
    yield Probe("dry/token", (token,), pods=True)


def probes() -> Iterator[Probe]:
    """Yield the probes of this table."""
    yield from _pages()
    yield from _watches()
    yield from _dry()
