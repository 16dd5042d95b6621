"""`python -m verification job CAMPAIGN`: print an Indexed Job that runs a long campaign in a cluster.

A campaign is a differential test, the mutation survey or an exploration. Each pod runs one shard of it and writes to
its own folder of a PersistentVolumeClaim. The pods need no permissions: a campaign has its control planes in its pods.
The image is that of `make images-campaigns`.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence

import yaml

from deploy.images import campaigns
from dra_api.objects import Obj
from dra_conformance.core.shard import MOST
from dra_conformance.rbac import job

CAMPAIGNS: Mapping[str, tuple[Sequence[str], str]] = {
    "differential": (("verification.differential",), "--out"),
    "explore": (("verification", "explore"), "--out"),
    "mutation-survey": (("verification.mutation_survey",), "--folder"),
}
"""The module of each campaign with its fixed arguments, and the option for the folder of its results."""


def objects(campaign: str, wanted: job.Wanted) -> list[Obj]:
    """Return the manifests of a campaign. `wanted.words` are its options."""
    module, out = CAMPAIGNS[campaign]
    namespace: Obj = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": wanted.namespace}}
    made = job.of_arguments(wanted, [*module, *job.indexed(wanted, out=out)], at_once=True, on_cluster=False)
    return [namespace, *made]


def main(words: Sequence[str]) -> int:
    """Print the manifests; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m verification job", description=(__doc__ or "").partition("\n")[0].partition(": ")[2]
    )
    parser.add_argument("--shards", type=_count, default=4, metavar="N", help="run N shards (default: 4)")
    parser.add_argument("--image", default=campaigns.image().tags[0], help="default: %(default)s")
    parser.add_argument("--reader-image", default=job.READER, help="an image with sh and tar (default: %(default)s)")
    parser.add_argument("--namespace", default=job.NAME, help="default: %(default)s")
    parser.add_argument("--claim", default="", metavar="NAME", help="an existing PersistentVolumeClaim for the results")
    parser.add_argument("campaign", choices=sorted(CAMPAIGNS))
    parser.add_argument("options", nargs=argparse.REMAINDER, metavar="OPTION", help="options of the campaign")
    options = parser.parse_args(words)
    wanted = job.Wanted(
        shards=options.shards,
        image=options.image,
        reader=options.reader_image,
        namespace=options.namespace,
        account="default",
        words=options.options,
        claim=options.claim,
    )
    print(yaml.safe_dump_all(objects(options.campaign, wanted), sort_keys=False, width=110), end="")
    return 0


def _count(text: str) -> int:
    count = int(text)
    if not 1 <= count <= MOST:
        raise argparse.ArgumentTypeError(f"{count}: must be from 1 to {MOST}")
    return count
