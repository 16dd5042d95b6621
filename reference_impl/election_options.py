"""Options of leader election, in the spelling of NVIDIA's ComputeDomain controller."""

from __future__ import annotations

import argparse
import re
import uuid

from reference_impl.leader_election import ElectionOptions


def add_election_arguments(parser: argparse.ArgumentParser, *, name: str) -> None:
    """Add the options; `name` is the default name of the Lease."""
    group = parser.add_argument_group("leader election")
    prefix = "--leader-election"
    group.add_argument(
        f"{prefix}-enabled",
        nargs="?",
        const="true",
        default="false",
        choices=("true", "false"),
        help="work only while this replica is the leader (default: %(default)s)",
    )
    group.add_argument(
        f"{prefix}-lease-lock-namespace",
        default="default",
        metavar="NAMESPACE",
        help="the namespace of the Lease (default: %(default)s)",
    )
    group.add_argument(
        f"{prefix}-lease-lock-name", default=name, metavar="NAME", help="the name of the Lease (default: %(default)s)"
    )
    for option, default, text in (
        ("lease-duration", 15.0, "how long another replica waits for a leader that does not renew"),
        ("renew-deadline", 10.0, "how long a leader that cannot renew goes on"),
        ("retry-period", 2.0, "the time between two attempts to get or renew the Lease"),
    ):
        group.add_argument(
            f"{prefix}-{option}", type=_seconds, default=default, metavar="DURATION", help=f"{text} (%(default)ss)"
        )


def election_options(args: argparse.Namespace, *, replica: str) -> ElectionOptions | None:
    """Return the options that `add_election_arguments` read; None without an election.

    The identity is the name of the replica with a random part, so that a replica that restarts is not taken for the one
    before. Raises ComponentError for times that cannot work.
    """
    if args.leader_election_enabled != "true":
        return None
    return ElectionOptions(
        namespace=args.leader_election_lease_lock_namespace,
        name=args.leader_election_lease_lock_name,
        identity=f"{replica}-{uuid.uuid4()}",
        lease_duration=args.leader_election_lease_duration,
        renew_deadline=args.leader_election_renew_deadline,
        retry_period=args.leader_election_retry_period,
    )


def _seconds(text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m)", text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a duration such as 500ms or 15s")
    return float(found[1]) * {"ms": 0.001, "s": 1.0, "m": 60.0}[found[2]]
