"""The port for liveness probes: ports that are refused, and the state of a plugin that does not run."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from dra_api.clock import RealClock
from dra_api.rpc import RpcError, check_liveness
from reference_impl.kubelet_plugin.liveness import serve_liveness
from reference_impl.kubelet_plugin.options import KubeletPluginOptions, OptionError


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that is in use."""
    with socket.create_server(("", 0)) as listener:
        yield int(listener.getsockname()[1])


def options(base: Path, port: int) -> KubeletPluginOptions:
    return KubeletPluginOptions(
        node_name="n1", plugins_dir=base / "p", registrar_dir=base / "r", cdi_root=base / "c", healthcheck_port=port
    )


def test_a_port_that_is_taken_ends_the_plugin(tmp_path: Path, taken: int) -> None:
    with ExitStack() as ending, pytest.raises(OptionError, match=f"{taken}.*choose a free one"):
        serve_liveness(options(tmp_path, taken), ending, clock=RealClock())


def served(base: Path, ending: ExitStack) -> int:
    """Serve on a free port, and return it. Another process may take one before its use."""
    for _ in range(20):
        with socket.create_server(("", 0)) as listener:
            port = int(listener.getsockname()[1])
        with suppress(OptionError):
            serve_liveness(options(base, port), ending, clock=RealClock())
            return port
    raise AssertionError("all ports were taken")


def test_a_plugin_without_sockets_is_not_alive(tmp_path: Path) -> None:
    with ExitStack() as ending:
        port = served(tmp_path, ending)
        assert check_liveness(port, "liveness") == "NOT_SERVING"
    with pytest.raises(RpcError, match="UNAVAILABLE"):
        check_liveness(port, "liveness")
