"""The kubectl plugin `kubectl dra`: who uses which device, why a pod gets none, what does not fit together.

The commands read a cluster, or files from kubectl, and change nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import click

from dra_api import __version__
from dra_conformance.cli import run_to_exit
from dra_conformance.cli.kubectl_dra import conflicts, pools, users, why

NAME = "kubectl dra"


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Exit codes: 0 done, 1 conflicts found, 4 usage error, 10 the cluster cannot be reached.",
)
@click.version_option(__version__, prog_name=NAME, message="%(prog)s %(version)s", help="Show the version.")
def cli() -> None:
    """Look at the devices of a cluster: Dynamic Resource Allocation (DRA).

    \b
    Examples:
      kubectl dra why train-0 -n team           # every obstacle of a pending pod
      kubectl dra users --node gpu-node-7       # device, claim and pod
      kubectl dra pools                         # devices of each pool: allocated, tainted, free
      kubectl dra conflicts -f cluster.yaml     # of a cluster, or of the output of kubectl
    """


for _module in (why, users, pools, conflicts):
    cli.add_command(_module.command)


def main(argv: Sequence[str] | None = None) -> None:
    """Entry point of the console script, which kubectl starts for `kubectl dra`."""
    run_to_exit(cli, argv, name=NAME)
