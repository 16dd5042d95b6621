"""The two targets of the probes, the emulator and a real control plane, with HTTPS endpoints for several users.

Both run with the same release and the same feature gates. A context owns its control plane.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from apiserver_emulator import ApiServerEmulator
from dra_api.feature_gates import optional_gates
from dra_api.request import User
from dra_api.transport import HttpTransport, Transport
from dra_conformance.control_plane.binaries import BinariesControlPlane
from verification.third_party.catalogue import KUBERNETES

RELEASE = KUBERNETES
# Every alpha gate that adds fields or kinds to resource.k8s.io, fractions in ranges, and the gates of PodGroups; other
# beta gates are on by default.
GATES = {
    "DRADeviceTaintRules": True,
    "DRAFractionalCapacityRange": True,
    "DRAListTypeAttributes": True,
    "DRANodeAllocatableResources": True,
    "DRAResourcePoolStatus": True,
    "DRAWorkloadResourceClaims": True,
    "GenericWorkload": True,
}
GATES_OFF = dict.fromkeys(optional_gates(RELEASE), False)


@dataclass(frozen=True, slots=True)
class Target:
    """One control plane: its name and release. `connect(user)` returns a transport; None is the administrator.

    `disable_gates` restarts its API server, with the same objects, with every optional feature gate of DRA off.
    """

    name: str
    version: str
    connect: Callable[[tuple[str, tuple[str, ...]] | None], Transport]
    disable_gates: Callable[[], None]


@contextlib.contextmanager
def embedded(folder: Path) -> Iterator[Target]:
    """Start the emulator; its target uses the HTTPS endpoint. Raises RuntimeError if it failed internally."""
    with ApiServerEmulator(
        directory=folder / "embedded", kubernetes_version=RELEASE, feature_gates=GATES, seed=1
    ) as plane:
        folder.mkdir(parents=True, exist_ok=True)
        made: list[HttpTransport] = []

        def connect(user: tuple[str, tuple[str, ...]] | None) -> Transport:
            path = plane.kubeconfig
            if user is not None:
                name, groups = user
                # A kubeconfig for each user, as a real client would have.
                path = folder / f"user-{len(made)}.kubeconfig"
                plane.write_kubeconfig(path, User(name, groups=_authenticated(groups)))
            made.append(HttpTransport.from_kubeconfig(path))
            return made[-1]

        def disable_gates() -> None:
            plane.kill()
            plane.restart(feature_gates=GATES_OFF)

        try:
            yield Target("embedded", f"v{RELEASE}", connect, disable_gates)
        finally:
            for each in made:
                each.close()
        # After the probes: a failed request looks like an ordinary 500 to them.
        if failures := plane.take_failures():
            raise RuntimeError(f"the emulator failed: {failures[0]}\n{failures[0].traceback}")


@contextlib.contextmanager
def real(folder: Path, bin_dir: Path) -> Iterator[Target]:
    """Start etcd, kube-apiserver and kube-controller-manager. Raises TargetUnreachable."""
    plane = BinariesControlPlane(
        kubernetes_version=RELEASE,
        directory=folder / "real",
        logs=folder / "logs",
        bin_dir=str(bin_dir),
        feature_gates=GATES,
        # It writes the statuses of requests at once, which the probes write.
        without_controllers=("resourcepoolstatusrequest-controller",),
    )
    with plane:

        def connect(user: tuple[str, tuple[str, ...]] | None) -> Transport:
            return plane.transport() if user is None else plane.transport_for(user[0], user[1])

        yield Target("real", plane.version(), connect, lambda: plane.restart_with_gates(GATES_OFF))


def _authenticated(groups: Sequence[str]) -> tuple[str, ...]:
    # kube-apiserver adds this group to every user that it has authenticated.
    return (*groups, "system:authenticated")
