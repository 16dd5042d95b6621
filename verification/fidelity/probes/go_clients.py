"""What programs in Go need beside plain requests: watches in protobuf, and the root certificate in each namespace."""

from __future__ import annotations

from collections.abc import Iterator

from verification.fidelity.probe import Probe, Query, delete, get, patch, post
from verification.fidelity.probes.objects import CLAIMS, CRDS, MAPS, NS, PROTOBUF, claim


def probes() -> Iterator[Probe]:
    """All of this table."""
    yield from _watches()
    yield from _root_certificate()


def _watches() -> Iterator[Probe]:
    """Watches as KAI's scheduler opens them, read to their end: their frames are not lines."""
    made = post(CLAIMS, claim(), keep="none")
    short: Query = (("watch", "true"), ("timeoutSeconds", "1"))
    for name, accept in {"type": PROTOBUF, "stream": f"{PROTOBUF};stream=watch"}.items():
        seen = get(CLAIMS, query=short, headers={"Accept": accept})
        yield Probe(f"protobuf/watch-{name}", (made, seen))
    only = {"Accept": PROTOBUF}
    # Without bookmarks: how many an idle watch gets before its end depends on the time.
    listed: Query = (*short, ("sendInitialEvents", "true"), ("resourceVersionMatch", "NotOlderThan"))
    yield Probe("protobuf/watch-list", (made, get(CLAIMS, query=listed, headers=only)))
    old = get(CLAIMS, query=(*short, ("resourceVersion", "1")), headers=only, keep="code")
    yield Probe("protobuf/watch-old", (made, old))
    custom = get(CRDS, query=(*short, ("fieldSelector", "metadata.name=none")), headers=only)
    yield Probe("protobuf/watch-definitions", (custom,))
    yield Probe("protobuf/watch-refused", (get(CLAIMS, query=(*short, ("fieldSelector", "a=b")), headers=only),))


def _root_certificate() -> Iterator[Probe]:
    """The ConfigMap that pods mount: published, and restored after a change and a deletion."""
    path = MAPS + "/kube-root-ca.crt"
    kept = ("metadata.annotations", "metadata.labels", "metadata.ownerReferences", "immutable")
    there = get(path, until=200, keep=kept, patience=10.0)
    yield Probe("root-certificate/published", (get(NS, keep="none"), there))
    changed = patch(path, {"data": {"ca.crt": "other", "more": "x"}}, keep="none")
    restored = get(path, until_body={"data.more": None}, keep=("data.more",), patience=10.0)
    yield Probe("root-certificate/restored", (get(NS, keep="none"), there, changed, restored))
    yield Probe("root-certificate/published-again", (get(NS, keep="none"), there, delete(path, keep="code"), there))
