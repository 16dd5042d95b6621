"""How a reference component runs as a program of its own: options, client, signals, one-line errors.

The folder of a component has a `command.py` with `add_arguments(parser)` and `build(args, client, clock)`, or
`build_alone(args, clock)` if the component needs no API server. This module imports it by the component's name, so that
importing one component never imports the others. The process runs from `main` until SIGINT or SIGTERM, or until its
standard input ends if `--until-stdin-closes` is given.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeGuard, cast, runtime_checkable

from dra_api.client import ApiError, KubeClient
from dra_api.clock import Clock, RealClock
from dra_api.component import Component
from dra_api.feature_gates import RELATED, FeatureGateError, parse_gates
from dra_api.kubeconfig import KubeconfigError
from dra_api.tracebacks import PlainFormatter
from dra_api.transport import HttpTransport, TransportError
from reference_impl.errors import ComponentError
from reference_impl.health_endpoint import HealthEndpoint, address

log = logging.getLogger("reference_impl")

# The command module of each component; two components may share a folder.
COMMANDS: Mapping[str, str] = {
    "scheduler": "reference_impl.scheduler.command",
    "binder": "reference_impl.binder.command",
    "claim-controller": "reference_impl.claim_controller.command",
    "kubelet-plugin": "reference_impl.kubelet_plugin.command",
    "inventory-plugin": "reference_impl.inventory_plugin.command",
    "compute-domain": "reference_impl.compute_domain.command",
    "compute-domain-plugin": "reference_impl.compute_domain.plugin_command",
    "compute-domain-daemon": "reference_impl.compute_domain.imex_daemon_command",
    "imex-daemons": "reference_impl.compute_domain.daemon_command",
    "taint-eviction": "reference_impl.taint_eviction.command",
    "webhook": "reference_impl.webhook.command",
    "device-plugin": "reference_impl.device_plugin.command",
}


class Command(Protocol):
    """The `command` module of a component."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the component's own options."""
        ...

    def build(self, args: argparse.Namespace, client: KubeClient, clock: Clock) -> Component:
        """Return the component, not yet started. Raises ComponentError with the reason if it cannot be built."""
        ...


class StandaloneCommand(Protocol):
    """The `command` module of a component that needs no API server, and so no kubeconfig."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the component's own options."""
        ...

    def build_alone(self, args: argparse.Namespace, clock: Clock) -> Component:
        """Return the component, not yet started. Raises ComponentError with the reason if it cannot be built."""
        ...


def is_standalone(command: Command | StandaloneCommand) -> TypeGuard[StandaloneCommand]:
    """Return whether the component runs without an API server."""
    return hasattr(command, "build_alone")


@runtime_checkable
class FiniteCommand(Protocol):
    """The `command` module of a component that has actions which end by themselves, such as a probe."""

    def run_once(self, args: argparse.Namespace) -> int | None:
        """Do such an action and return its exit code; None for the component itself."""
        ...


@runtime_checkable
class Failing(Protocol):
    """A component that can give up while it runs."""

    failure: str


def load(component: str) -> Command | StandaloneCommand:
    """Return the command module of `component`."""
    return cast(Command | StandaloneCommand, importlib.import_module(COMMANDS[component]))


def feature_gates(text: str) -> dict[str, bool]:
    """Parse the value of --feature-gates; every gate of DRA is known. Raises argparse.ArgumentTypeError."""
    try:
        return parse_gates(text, known=RELATED)
    except FeatureGateError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


class _MergeGates(argparse.Action):
    """`--feature-gates` may be given more than once; later pairs win."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        merged = {**getattr(namespace, self.dest), **cast(dict[str, bool], values)}
        setattr(namespace, self.dest, merged)


def add_api_server_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of every component that connects to an API server."""
    where = parser.add_argument_group("API server")
    where.add_argument("--kubeconfig", metavar="FILE", help="kubeconfig (default: $KUBECONFIG, then ~/.kube/config)")
    where.add_argument("--context", metavar="NAME", help="context of the kubeconfig (default: its current one)")
    where.add_argument("--in-cluster", action="store_true", help="use the service account of the pod this runs in")
    parser.add_argument(
        "--feature-gates",
        type=feature_gates,
        action=_MergeGates,
        default={},
        metavar="NAME=BOOL,…",
        help="Kubernetes feature gates, for example DynamicResourceAllocation=true"
        "; a gate that is not named keeps its default",
    )
    parser.add_argument(
        "--health-probe-bind-address",
        type=address,
        metavar="HOST:PORT",
        help="answer probes on /healthz and /readyz here (default: nowhere)",
    )


def add_common_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that every component has."""
    parser.add_argument("-v", "--verbose", action="count", default=0, help="log more (-v: info, -vv: debug)")
    parser.add_argument(
        "--until-stdin-closes", action="store_true", help="also stop when standard input ends (for a parent process)"
    )


def make_parser(component: str, command: Command | StandaloneCommand) -> argparse.ArgumentParser:
    """Return the option parser of one component."""
    parser = argparse.ArgumentParser(
        prog=f"python -m reference_impl {component}",
        description=(sys.modules[COMMANDS[component]].__doc__ or "").partition("\n")[0],
        allow_abbrev=False,
    )
    if not is_standalone(command):
        add_api_server_arguments(parser)
    add_common_arguments(parser)
    command.add_arguments(parser)
    return parser


def connect(args: argparse.Namespace, component: str) -> KubeClient:
    """Return the client that the common options select. Raises KubeconfigError."""
    if args.in_cluster:
        transport = HttpTransport.in_cluster()
    else:
        transport = HttpTransport.from_kubeconfig(args.kubeconfig, context=args.context)
    return KubeClient(transport, user_agent=f"reference-{component}")


def run_until_stopped(
    component: Component, *, stopped: threading.Event, clock: Clock, health: HealthEndpoint | None = None
) -> None:
    """Start `component`, print a line when it is ready, and stop it when `stopped` is set.

    `health` answers from before the start, because that may wait for the API server, and is ready after it.
    """
    try:
        if health is not None:
            health.start()
        component.start()
        # Modules live as long as the process. A collection that looks at them takes longer than a call of a kubelet.
        gc.freeze()
        if health is not None:
            health.set_ready(True)
        print(f"{component.name} ready", flush=True)
        while not clock.wait(stopped, 3600.0):
            continue
    finally:
        if health is not None:
            health.set_ready(False)
        component.stop()
        if health is not None:
            health.stop()


def _stop_on_signals(stopped: threading.Event) -> Callable[[], None]:
    previous = {
        number: signal.signal(number, lambda _number, _frame: stopped.set())
        for number in (signal.SIGINT, signal.SIGTERM)
    }

    def restore() -> None:
        for number, handler in previous.items():
            signal.signal(number, handler)

    return restore


def _stop_at_end_of_stdin(stopped: threading.Event) -> None:
    def read() -> None:
        # Not sys.stdin: a daemon thread that holds its lock makes the interpreter abort at exit.
        while os.read(0, 4096):
            continue
        stopped.set()

    threading.Thread(target=read, name="stdin", daemon=True).start()


def _run_connected(
    command: Command, args: argparse.Namespace, name: str, *, stopped: threading.Event, clock: Clock
) -> None:
    client = connect(args, name)
    try:
        component = command.build(args, client, clock)
        at = args.health_probe_bind_address
        run_until_stopped(component, stopped=stopped, clock=clock, health=HealthEndpoint(at) if at else None)
        if isinstance(component, Failing) and component.failure:
            raise ComponentError(component.failure)
    finally:
        client.transport.close()


def choose(word: Sequence[str]) -> str:
    """Return the component that the first word of the command line names. Exits with 2 if it names none."""
    parser = argparse.ArgumentParser(
        prog="python -m reference_impl", usage="%(prog)s COMPONENT [--kubeconfig FILE] [options]"
    )
    parser.add_argument("component", choices=COMMANDS, help="each has options of its own: COMPONENT --help")
    name: str = parser.parse_args(word).component
    return name


def main(argv: Sequence[str] | None = None) -> int:
    """Run one component until a signal. Return the exit code: 0 stopped, 1 could not run. Wrong usage exits with 2."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    name = choose(arguments[:1])
    stopped = threading.Event()
    # Before the imports of `load`, so that a signal during them leads to a clean end.
    restore = _stop_on_signals(stopped)
    try:
        command = load(name)
        args = make_parser(name, command).parse_args(arguments[1:])
        level = (logging.WARNING, logging.INFO, logging.DEBUG)[min(args.verbose, 2)]
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(PlainFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        logging.basicConfig(level=level, handlers=[handler])
        if args.until_stdin_closes:
            _stop_at_end_of_stdin(stopped)
        if isinstance(command, FiniteCommand) and (code := command.run_once(args)) is not None:
            return code
        clock = RealClock()
        if is_standalone(command):
            run_until_stopped(command.build_alone(args, clock), stopped=stopped, clock=clock)
        else:
            _run_connected(cast(Command, command), args, name, stopped=stopped, clock=clock)
    except (ComponentError, KubeconfigError, TransportError, ApiError, OSError) as error:
        log.debug("the component ended", exc_info=error)
        print(f"reference_impl {name}: {error or type(error).__name__}".replace("\n", " "), file=sys.stderr)
        return 1
    finally:
        restore()
    return 0
