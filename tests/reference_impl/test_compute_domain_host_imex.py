"""Options for the IMEX daemons, and the readiness check of a host's own daemon."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reference_impl.compute_domain.host_imex import HostImex
from reference_impl.compute_domain.membership import NotYetError
from reference_impl.compute_domain.options import FabricGates, ImexOptions
from reference_impl.kubelet_plugin.driver_root import DriverRoot
from reference_impl.kubelet_plugin.options import OptionError


def host(root: Path, script: str) -> HostImex:
    program = root / "usr/bin/nvidia-imex-ctl"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return HostImex(DriverRoot(root), socket="/etc/nvidia-imex/imex_ctrl.sock")


def test_a_ready_host_is_checked_at_its_socket(tmp_path: Path) -> None:
    host(tmp_path, 'echo "$*" > "$0.log"; echo READY').check_ready()
    asked = (tmp_path / "usr/bin/nvidia-imex-ctl.log").read_text()
    assert asked == f"-q --u={tmp_path}/etc/nvidia-imex/imex_ctrl.sock\n"


@pytest.mark.parametrize(
    ("script", "reason"),
    [("echo NOT_READY", "NOT_READY"), ("echo READY; exit 3", "exits with 3"), ("echo no daemon >&2", "no daemon")],
)
def test_anything_else_is_not_ready(tmp_path: Path, script: str, reason: str) -> None:
    with pytest.raises(NotYetError, match=reason):
        host(tmp_path, script).check_ready()


def test_a_host_without_the_program_is_reported(tmp_path: Path) -> None:
    with pytest.raises(NotYetError, match="is nvidia-imex installed"):
        HostImex(DriverRoot(tmp_path), socket="x").check_ready()


@pytest.mark.parametrize(
    ("settings", "gates", "reason"),
    [
        ({"mode": "hostManaged"}, "", "needs the feature gate HostManagedIMEXDaemon"),
        ({"mode": "nobody"}, "", "choose driverManaged or hostManaged"),
        ({"isolation": "channel"}, "", "not supported yet"),
        ({"isolation": "island"}, "", "choose domain or channel"),
        ({}, "NoSuchGate=true", "unrecognized feature gate: NoSuchGate"),
    ],
)
def test_settings_that_cannot_work(settings: dict[str, Any], gates: str, reason: str) -> None:
    with pytest.raises(OptionError, match=reason):
        ImexOptions(**{"mode": "driverManaged", "isolation": "domain", **settings}).check(FabricGates.parse(gates))
