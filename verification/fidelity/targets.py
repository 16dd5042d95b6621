"""The two control planes as the probes see them: HTTPS doors for the admin and for other users.

Both run with the same release and the same feature gates. Owns the control plane while the context is open.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from apiserver_emulator import ApiServerEmulator
from dra_api.request import User
from dra_api.transport import HttpTransport, Transport
from dra_conformance.control_plane.binaries import BinariesControlPlane

RELEASE = "1.36"
# Every alpha gate that adds fields or kinds to resource.k8s.io; beta ones are on by themselves.
GATES = {
    "DRADeviceTaintRules": True,
    "DRAListTypeAttributes": True,
    "DRANodeAllocatableResources": True,
    "DRAResourcePoolStatus": True,
}


@dataclass(frozen=True, slots=True)
class Plane:
    """One control plane: its name, its release, and a door for each user (None: the admin)."""

    name: str
    version: str
    door: Callable[[tuple[str, tuple[str, ...]] | None], Transport]


@contextlib.contextmanager
def embedded(folder: Path) -> Iterator[Plane]:
    """The emulation, through its HTTPS door."""
    with ApiServerEmulator(
        directory=folder / "embedded", kubernetes_version=RELEASE, feature_gates=GATES, seed=1
    ) as plane:
        folder.mkdir(parents=True, exist_ok=True)
        made: list[HttpTransport] = []

        def door(user: tuple[str, tuple[str, ...]] | None) -> Transport:
            path = plane.kubeconfig
            if user is not None:
                name, groups = user
                path = folder / f"user-{len(made)}.kubeconfig"
                plane.write_kubeconfig(path, User(name, groups=_authenticated(groups)))
            made.append(HttpTransport.from_kubeconfig(path))
            return made[-1]

        try:
            yield Plane("embedded", f"v{RELEASE}", door)
        finally:
            for each in made:
                each.close()


@contextlib.contextmanager
def real(folder: Path, bin_dir: Path) -> Iterator[Plane]:
    """etcd, kube-apiserver and kube-controller-manager. Raises TargetUnreachable."""
    plane = BinariesControlPlane(
        kubernetes_version=RELEASE,
        directory=folder / "real",
        logs=folder / "logs",
        bin_dir=str(bin_dir),
        feature_gates=GATES,
    )
    with plane:

        def door(user: tuple[str, tuple[str, ...]] | None) -> Transport:
            return plane.transport() if user is None else plane.transport_for(user[0], user[1])

        yield Plane("real", plane.version(), door)


def _authenticated(groups: Sequence[str]) -> tuple[str, ...]:
    return (*groups, "system:authenticated")
