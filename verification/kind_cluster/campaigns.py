"""A long campaign as an Indexed Job on a kind cluster: the differential test in shards."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from deploy.images import campaigns
from dra_conformance.rbac import job
from verification import campaign_job
from verification.kind_cluster import images, shards
from verification.kind_cluster.cluster import Cluster
from verification.kind_cluster.existing import settled
from verification.third_party.existing_cluster import objects_of

ARCHIVE = "campaigns.tar"
SHARDS, CASES, SEED = 2, 600, "20261122"
_LINE = re.compile(r"differential: ([0-9]+) cases in")
_AGREED = "unexplained disagreements: 0"


def look(cluster: Cluster, archives: Path, folder: Path) -> Iterator[str]:
    """Yield what is not as expected on a cluster, which is left as it was. Raises AssertionError."""
    before = objects_of(cluster.plane.kubeconfig)
    cluster.load(archives / ARCHIVE)
    cluster.load(archives / images.READER)
    wanted = job.Wanted(
        shards=SHARDS,
        image=campaigns.image().tags[0],
        reader=images.READER_IMAGE,
        namespace=job.NAME,
        account="default",
        words=["--cases", str(CASES), "--seed", SEED],
    )
    logs: list[str] = []

    def read() -> None:
        chosen = ("--namespace", job.NAME, "--selector", f"app.kubernetes.io/name={job.NAME}")
        logs.append(cluster.kubectl("logs", *chosen, "--tail=-1"))

    took = shards.ran(cluster, campaign_job.objects("differential", wanted), folder / "campaign", read=read)
    print(f"kind: {CASES} differential cases in {SHARDS} shards: {took:.0f} s", flush=True)
    (text,) = logs
    counts = [int(found) for found in _LINE.findall(text)]
    if counts != [CASES // SHARDS] * SHARDS or text.count(_AGREED) != SHARDS:
        yield f"the shards of the campaign ended with {text[-2000:]}"
    yield from settled(cluster, before, "after the campaign")
