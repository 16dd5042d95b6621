"""`--shard I/N` of a long campaign: N machines, or N pods of an Indexed Job, run one part each.

All parts are given the same seed and choose the same cases; a shard runs every N-th of them.
"""

from __future__ import annotations

import argparse
import os

from dra_conformance.core.errors import UsageError
from dra_conformance.core.shard import Shard, resolved

WHOLE = Shard(1, 1)


def add_to(parser: argparse.ArgumentParser, *, what: str) -> None:
    """Add the option `--shard`; `what` is divided."""
    parser.add_argument(
        "--shard",
        type=_shard,
        default=WHOLE,
        metavar="I/N",
        help=f"run part I of N parts of {what}; auto/N: I is the index of the pod of an Indexed Job (default: all)",
    )


def _shard(text: str) -> Shard:
    try:
        return Shard.parse(resolved(text, os.environ))
    except UsageError as error:
        raise argparse.ArgumentTypeError(f"{error.message}. {error.hint}") from error
