"""Lists (selectors, pages, versions), deleted collections, and watches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from verification.fidelity.probe import Probe, Query, delete, get, patch, post, watch
from verification.fidelity.probes.objects import (
    CLAIMS,
    CLASSES,
    CORE,
    MAPS,
    PODS,
    SLICES,
    TABLE,
    claim,
    config_map,
    pod,
    slice_of,
)

# The label `both` selects these three and not kube-root-ca.crt, which a controller adds to every namespace.
_THREE = tuple(
    post(MAPS, config_map(name, labels={"app": name, "both": "yes"}), keep="none") for name in ("a", "b", "c")
)
_NAMES = ("kind", "apiVersion", "metadata.continue", "metadata.remainingItemCount", "items.metadata.name")

_SELECTORS: dict[str, Query] = {
    "label": (("labelSelector", "app=b"),),
    "label-double": (("labelSelector", "app==b"),),
    "label-not": (("labelSelector", "app!=b,both=yes"),),
    "label-in": (("labelSelector", "app in (a,c)"),),
    "label-notin": (("labelSelector", "app notin (a,c),both"),),
    "label-exists": (("labelSelector", "both"),),
    "label-absent": (("labelSelector", "!both,app"),),
    "label-greater": (("labelSelector", "app>3"),),
    "label-bad": (("labelSelector", "app in ("),),
    "label-bad-value": (("labelSelector", "app=not valid"),),
    "label-bad-key": (("labelSelector", "-x=1"),),
    "field-name": (("fieldSelector", "metadata.name=b"),),
    "field-not-name": (("fieldSelector", "metadata.name!=b,metadata.name!=kube-root-ca.crt"),),
    "field-namespace": (("fieldSelector", "metadata.namespace=elsewhere"),),
    "field-unknown": (("fieldSelector", "data.k=v"),),
    "field-bad": (("fieldSelector", "metadata.name"),),
    "limit-word": (("limit", "many"),),
    "continue-bad": (("continue", "nonsense"), ("limit", "1")),
    "version-0": (("resourceVersion", "0"), ("labelSelector", "both")),
    "version-word": (("resourceVersion", "abc"),),
    # No run reaches this version.
    "version-future": (("resourceVersion", "99999999"), ("labelSelector", "both"), ("timeoutSeconds", "1")),
    "match-without-version": (("resourceVersionMatch", "Exact"),),
    "match-unknown": (("resourceVersionMatch", "Maybe"), ("resourceVersion", "1")),
    "match-exact-0": (("resourceVersionMatch", "Exact"), ("resourceVersion", "0")),
    "match-exact-first": (
        ("resourceVersionMatch", "Exact"),
        ("resourceVersion", "{0.metadata.resourceVersion}"),
        ("labelSelector", "both"),
    ),
    "match-newer": (
        ("resourceVersionMatch", "NotOlderThan"),
        ("resourceVersion", "{0.metadata.resourceVersion}"),
        ("labelSelector", "both"),
    ),
    "initial-without-watch": (("sendInitialEvents", "true"),),
}


# Responses to lists and watches with a resourceVersion come from a cache, which may be behind; after this response it
# is current.
_FRESH = {
    made: get(
        MAPS,
        query=(("resourceVersion", f"{{{made}.metadata.resourceVersion}}"), ("resourceVersionMatch", "NotOlderThan")),
        keep="none",
    )
    for made in (0, 2)
}


def _lists() -> Iterator[Probe]:
    for name, query in _SELECTORS.items():
        before = (*_THREE, _FRESH[2]) if "resourceVersion" in dict(query) else _THREE
        yield Probe(f"list/{name}", (*before, get(MAPS, query=query, keep=_NAMES)))
    pages = (
        *_THREE,
        get(MAPS, query=(("limit", "2"), ("labelSelector", "both")), keep=_NAMES),
        get(
            MAPS, query=(("limit", "2"), ("labelSelector", "both"), ("continue", "{3.metadata.continue}")), keep=_NAMES
        ),
    )
    yield Probe("list/pages", pages)
    # A continue token names a revision: the second page must not show changes after the first.
    late = (
        *_THREE,
        get(MAPS, query=(("limit", "2"), ("labelSelector", "both")), keep="none"),
        post(MAPS, config_map("bb", labels={"both": "yes"}), keep="none"),
        delete(MAPS + "/b", keep="none"),
        get(MAPS, query=(("labelSelector", "both"), ("continue", "{3.metadata.continue}")), keep=_NAMES),
    )
    yield Probe("list/pages-consistent", late)
    page_and_version = (("limit", "2"), ("continue", "{3.metadata.continue}"), ("resourceVersion", "5"))
    yield Probe("list/pages-with-version", (*pages[:4], get(MAPS, query=page_and_version)))
    selected = (("limit", "1"), ("labelSelector", "both"))
    yield Probe("list/pages-selected", (*_THREE, get(MAPS, query=selected, keep=_NAMES)))
    yield Probe("list/items-whole", (_THREE[0], get(MAPS, query=(("labelSelector", "both"),))))
    yield Probe("list/empty", (get(CLAIMS),))
    yield Probe("list/all-namespaces", (_THREE[0], get(CORE + "/configmaps", query=(("labelSelector", "x=y"),))))
    yield Probe("list/namespace-absent", (get(CORE + "/namespaces/nowhere-at-all/configmaps"),))
    for field, code in {"spec.driver": "gpu.example.com", "spec.nodeName": "node-1", "spec.pool.name": "x"}.items():
        query = (("fieldSelector", f"{field}={code},metadata.name={{id}}"),)
        yield Probe(
            f"list/slice-{field}", (post(SLICES, slice_of(), keep="none"), get(SLICES, query=query, keep=_NAMES))
        )
    for field in ("spec.nodeName", "status.phase", "spec.schedulerName", "status.nominatedNodeName", "spec.x"):
        query = (("fieldSelector", f"{field}=Pending"),)
        steps = (post(PODS, pod(), keep="none"), get(PODS, query=query, keep=_NAMES))
        yield Probe(f"list/pod-{field}", steps, pods=True)
    yield Probe(
        "list/claim-field", (post(CLAIMS, claim(), keep="none"), get(CLAIMS, query=(("fieldSelector", "status.x=1"),)))
    )
    yield Probe("list/class-field", (get(CLASSES, query=(("fieldSelector", "spec.x=1"),)),))
    yield Probe(
        "list/node-field", (get(CORE + "/nodes", query=(("fieldSelector", "spec.unschedulable=true"),), keep="code"),)
    )
    table = TABLE
    yield Probe(
        "list/as-table", (_THREE[0], get(MAPS + "/a", headers=table, keep=("kind", "apiVersion", "rows.cells")))
    )
    partial = {"Accept": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}
    yield Probe("list/as-partial", (_THREE[0], get(MAPS, query=(("labelSelector", "both"),), headers=partial)))
    single = {"Accept": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}
    yield Probe("list/one-as-partial", (_THREE[0], get(MAPS + "/a", headers=single)))
    yield Probe(
        "list/claim-table",
        (
            post(CLAIMS, claim(), keep="none"),
            get(CLAIMS, headers=table, keep=("kind", "columnDefinitions.name", "rows.cells")),
        ),
    )
    for name, query in {
        "label": (("labelSelector", "app in (a,b)"),),
        "field": (("fieldSelector", "metadata.name=a"),),
    }.items():
        after = get(MAPS, query=(("labelSelector", "both"),), keep=_NAMES)
        yield Probe(f"delete-collection/{name}", (*_THREE, delete(MAPS, query=query, keep=_NAMES), after))
    yield Probe("delete-collection/none", (delete(MAPS, query=(("labelSelector", "x=y"),)),))
    yield Probe("delete-collection/namespaces", (delete(CORE + "/namespaces", query=(("labelSelector", "x=y"),)),))
    yield Probe(
        "delete-collection/slices",
        (
            post(SLICES, slice_of(metadata={"labels": {"only": "{id}"}}), keep="none"),
            delete(SLICES, query=(("labelSelector", "only={id}"),), keep=_NAMES),
            get(SLICES + "/{id}", keep="status"),
        ),
    )


def _watches() -> Iterator[Probe]:
    yes = (("labelSelector", "both"),)
    labels: dict[str, Any] = {"labels": {"both": "yes"}}
    make = post(MAPS, config_map("z", **labels), keep="none")
    change = patch(MAPS + "/z", {"data": {"k": "w"}}, keep="none")
    remove = delete(MAPS + "/z", keep="none")
    out = patch(MAPS + "/z", {"metadata": {"labels": None}}, keep="none")
    back = patch(MAPS + "/z", {"metadata": {"labels": {"both": "yes"}}}, keep="none")
    # A watch from a known version gets all later events, even if the server opens it after `during` has begun.
    since = ("resourceVersion", "{0.metadata.resourceVersion}")
    yield Probe("watch/life", (_THREE[0], watch(MAPS, 3, make, change, remove, query=(since, *yes))))
    yield Probe("watch/from-now", (_THREE[0], watch(MAPS, 2, make, query=yes)))
    yield Probe("watch/version-0", (_THREE[0], _FRESH[0], watch(MAPS, 2, make, query=(("resourceVersion", "0"), *yes))))
    # Not what has become of the object since it was made, only its present state.
    newer = (("resourceVersionMatch", "NotOlderThan"), ("resourceVersion", "{1.metadata.resourceVersion}"))
    present = watch(MAPS, 1, query=(("resourceVersion", "0"), *yes))
    yield Probe("watch/version-0-changed", (make, change, get(MAPS, query=newer, keep="none"), present))
    yield Probe("watch/selector-leaves", (_THREE[0], watch(MAPS, 3, make, out, back, query=(since, *yes))))
    changed_out = patch(MAPS + "/z", {"metadata": {"labels": None}, "data": {"k": "new"}}, keep="none")
    yield Probe("watch/selector-leaves-changed", (_THREE[0], watch(MAPS, 2, make, changed_out, query=(since, *yes))))
    named = (since, ("fieldSelector", "metadata.name=z"))
    yield Probe("watch/field-name", (_THREE[0], watch(MAPS, 1, _THREE[1], make, query=named)))
    yield Probe("watch/past", (_THREE[0], make, change, remove, watch(MAPS, 3, query=(since, *yes))))
    unchanged = patch(MAPS + "/z", {"data": {"k": "v"}}, keep="none")
    yield Probe("watch/no-change-no-event", (_THREE[0], watch(MAPS, 2, make, unchanged, change, query=(since, *yes))))
    old = (("resourceVersion", "1"), *yes)
    yield Probe("watch/too-old", (_THREE[0], _FRESH[0], watch(MAPS, 1, query=old, keep="status")))
    for name, value in {"word": "abc", "negative": "-1"}.items():
        yield Probe(f"watch/version-{name}", (watch(MAPS, 1, query=(("resourceVersion", value),)),))
    future = (("resourceVersion", "99999999"), *yes)
    yield Probe("watch/future", (_THREE[0], watch(MAPS, 1, query=future)))
    initial = (
        ("sendInitialEvents", "true"),
        ("resourceVersionMatch", "NotOlderThan"),
        ("allowWatchBookmarks", "true"),
    )
    yield Probe("watch/initial", (_THREE[0], _THREE[1], watch(MAPS, 3, query=(*initial, *yes))))
    yield Probe("watch/initial-then", (_THREE[0], watch(MAPS, 3, make, query=(*initial, *yes))))
    yield Probe("watch/initial-none", (watch(CLAIMS, 1, query=initial),))
    old_start = watch(MAPS, 2, query=(*initial, ("resourceVersion", "1"), *yes))
    yield Probe("watch/initial-version", (_THREE[0], _FRESH[0], old_start))
    yield Probe("watch/initial-no-match", (watch(MAPS, 1, query=(("sendInitialEvents", "true"),)),))
    yield Probe("watch/initial-no-bookmarks", (_THREE[0], watch(MAPS, 2, query=(*initial[:2], *yes))))
    yield Probe(
        "watch/initial-false",
        (_THREE[0], watch(MAPS, 1, make, query=(("sendInitialEvents", "false"), initial[1], initial[2], *yes))),
    )
    yield Probe(
        "watch/match-alone",
        (watch(MAPS, 1, query=(("resourceVersionMatch", "NotOlderThan"), ("resourceVersion", "1"))),),
    )
    yield Probe("watch/ends", (watch(CLAIMS, 1, seconds=1),))
    yield Probe("watch/limit-ignored", (_THREE[0], _THREE[1], watch(MAPS, 2, query=(("limit", "1"), *yes))))
    partial = {"Accept": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}
    yield Probe("watch/partial", (_THREE[0], watch(MAPS, 1, make, query=(since, *yes), headers=partial)))
    yield Probe("watch/bad-selector", (watch(MAPS, 1, query=(("labelSelector", "a in ("),)),))
    yield Probe("watch/bad-field", (watch(MAPS, 1, query=(("fieldSelector", "data.k=v"),)),))
    yield Probe("watch/one-object", (_THREE[0], watch(CORE + "/watch/namespaces/{ns}/configmaps/a", 1)))
    yield Probe(
        "watch/old-path",
        (
            _THREE[0],
            watch(CORE + "/watch/namespaces/{ns}/configmaps", 1, query=(("fieldSelector", "metadata.name=a"),)),
        ),
    )
    gone = watch(MAPS, 2, make, delete(MAPS, query=yes, keep="code"), query=(since, *yes))
    yield Probe("watch/collection-deleted", (_THREE[0], delete(MAPS + "/a", keep="none"), gone))
    for version in ("v1beta2", "v1beta1"):
        path = CLAIMS.replace("/v1/", f"/{version}/")
        made = post(CLAIMS, claim(), keep="none")
        yield Probe(f"watch/claim-{version}", (_THREE[0], watch(path, 1, made, query=(since,))))
    held = post(CLAIMS, claim(metadata={"finalizers": ["example.com/guard"]}), keep="none")
    free = patch(CLAIMS + "/c", {"metadata": {"finalizers": None}}, keep="none")
    yield Probe(
        "watch/finalizer", (_THREE[0], watch(CLAIMS, 3, held, delete(CLAIMS + "/c", keep="none"), free, query=(since,)))
    )
    driver = (("fieldSelector", "spec.driver={id}.example.com"),)
    mine = post(SLICES, slice_of(driver="{id}.example.com"), keep="none")
    node = patch(SLICES + "/{id}", {"metadata": {"labels": {"a": "b"}}}, keep="none")
    yield Probe("watch/slice-field", (watch(SLICES, 2, mine, node, query=driver),))


def probes() -> Iterator[Probe]:
    """Yield the probes of this table."""
    yield from _lists()
    yield from _watches()
