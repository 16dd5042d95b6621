"""The CustomResourceDefinitions that the run installs."""

from __future__ import annotations

from pathlib import Path

from apiserver_emulator import ApiServerEmulator
from dra_api.client import KubeClient
from dra_api.clock import RealClock
from dra_api.objects import CRDS, uid_of
from dra_api.transport import HttpTransport
from dra_conformance.engine import crds


def test_definitions_that_are_there_stay(tmp_path: Path) -> None:
    emulator = ApiServerEmulator(directory=tmp_path)
    emulator.start()
    try:
        client = KubeClient(HttpTransport.from_kubeconfig(emulator.kubeconfig))
        crds.install(client, RealClock())
        before = {uid_of(one) for one in client.list(CRDS).items}
        crds.install(client, RealClock())
        assert before
        assert {uid_of(one) for one in client.list(CRDS).items} == before
    finally:
        emulator.stop()
