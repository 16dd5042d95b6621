"""Run the daemon of a ComputeDomain on one node (run), or check that its nvidia-imex is ready (check)."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path

from dra_api.client import KubeClient
from dra_api.clock import Clock
from dra_api.component import Component
from reference_impl.compute_domain.imex_daemon import CONFIG, DaemonSettings, ImexDaemon
from reference_impl.compute_domain.imex_process import check


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the component's own options."""
    # The level of klog in the variable of the DaemonSet: info from 2, debug from 4.
    level = os.environ.get("LOG_VERBOSITY", "")
    parser.set_defaults(verbose=int(level) // 2 if level.isdigit() else 0)
    parser.add_argument(
        "action", choices=("run", "check"), help="run: the pod's container; check: its probes, which need no API server"
    )
    parser.add_argument(
        "--config-dir",
        type=Path,
        default=Path("/imexd"),
        metavar="DIR",
        help="folder of nvidia-imex' configuration, with its template (default: %(default)s)",
    )
    parser.add_argument(
        "--hosts-file",
        type=Path,
        default=Path("/etc/hosts"),
        metavar="FILE",
        help="write the names of the other daemons into this file (default: %(default)s)",
    )
    parser.add_argument(
        "--simulated-imex",
        action="store_true",
        help="run a simulated IMEX process in place of nvidia-imex, which needs NVLink between nodes",
    )


def run_once(args: argparse.Namespace) -> int | None:
    """Do what needs no API server, and return the exit code; None for the daemon itself."""
    if args.action != "check":
        return None
    problem = check(
        args.config_dir / CONFIG,
        clique_id=os.environ.get("CLIQUE_ID", ""),
        simulated=args.simulated_imex,
        environment=os.environ,
    )
    print(problem or "ready", file=sys.stderr if problem else sys.stdout)
    return 1 if problem else 0


def build(args: argparse.Namespace, client: KubeClient, clock: Clock) -> Component:
    """Return the component, not yet started."""
    if args.simulated_imex:
        # The simulated process inherits it: the signal of an update would end it before it has a handler.
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    settings = DaemonSettings.read(
        os.environ, config_dir=args.config_dir, hosts_file=args.hosts_file, simulated_imex=args.simulated_imex
    )
    # The same end as that of a pod that is deleted: the entry is removed. A signal to the process, not to the thread,
    # wakes the main thread.
    return ImexDaemon(client, clock=clock, settings=settings, on_failure=lambda: os.kill(os.getpid(), signal.SIGTERM))
