"""Liveness of a kubelet plugin for probes: both of its sockets must answer, checked anew at every probe.

The server runs between the plugin's start and stop. A kubelet restarts the pod after enough NOT_SERVING responses.

Source: cmd/gpu-kubelet-plugin health.go at 95932046; rules NV-013, NV-013b.
"""

from __future__ import annotations

import logging
from contextlib import ExitStack

from dra_api.clock import Clock
from dra_api.rpc import DRA_VERSIONS, DRAPluginClient, LivenessServer, RegistrationClient, RpcError
from reference_impl.kubelet_plugin.options import KubeletPluginOptions, OptionError

log = logging.getLogger(__name__)

_PATIENCE = 3.0
"""Timeout of one socket, in seconds."""


def serve_liveness(options: KubeletPluginOptions, ending: ExitStack, *, clock: Clock) -> None:
    """Serve health checks until `ending`, if the options name a port. Raises OptionError when it is taken."""
    if options.healthcheck_port is None:
        return
    server = LivenessServer(options.healthcheck_port, lambda: is_alive(options, clock=clock))
    try:
        server.start()
    except OSError as error:
        raise OptionError(f"--healthcheck-port {options.healthcheck_port}: {error}; choose a free one") from error
    ending.callback(server.stop)


def is_alive(options: KubeletPluginOptions, *, clock: Clock) -> bool:
    """Return whether both sockets answer, each over a new connection: an open one would hide a socket that is gone."""
    try:
        answers_registration(options, clock=clock)
        answers_calls(options, clock=clock)
    except RpcError as error:
        log.warning("health check: %s", error)
        return False
    return True


def answers_registration(options: KubeletPluginOptions, *, clock: Clock) -> None:
    """Call GetInfo on the registration socket. Raises RpcError if it does not answer."""
    with RegistrationClient(options.registration_socket, clock=clock) as client:
        client.get_info(timeout=_PATIENCE)


def answers_calls(options: KubeletPluginOptions, *, clock: Clock) -> None:
    """Call Prepare without claims on the service socket. Raises RpcError if it does not answer."""
    with DRAPluginClient(options.plugin_socket, DRA_VERSIONS[0], clock=clock) as client:
        client.prepare([], timeout=_PATIENCE)
