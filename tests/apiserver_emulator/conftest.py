"""Control planes for the tests of the emulator: one for each test, used through both endpoints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from apiserver_emulator import ApiServerEmulator
from dra_api.client import KubeClient
from dra_api.clock import AdvanceableClock
from dra_api.transport import HttpTransport, Transport

Obj = dict[str, Any]


@pytest.fixture
def clock() -> AdvanceableClock:
    return AdvanceableClock()


@pytest.fixture
def plane(tmp_path: Path, clock: AdvanceableClock) -> Iterator[ApiServerEmulator]:
    """In process only: ready in milliseconds."""
    with ApiServerEmulator(directory=tmp_path / "plane", clock=clock, seed=1, https=False) as found:
        yield found
    assert found.take_failures() == []


@pytest.fixture
def https_plane(tmp_path: Path) -> Iterator[ApiServerEmulator]:
    with ApiServerEmulator(directory=tmp_path / "https", seed=1) as found:
        # The controllers first create the root certificate in each namespace.
        assert found.server.controllers.wait_idle(10.0)
        yield found
    assert found.take_failures() == []


@pytest.fixture(params=["in-process", "https"])
def transport(request: pytest.FixtureRequest) -> Iterator[Transport]:
    """The same server behaviour through either endpoint."""
    if request.param == "in-process":
        yield request.getfixturevalue("plane").transport()
        return
    found = HttpTransport.from_kubeconfig(request.getfixturevalue("https_plane").kubeconfig)
    yield found
    found.close()


@pytest.fixture
def any_client(transport: Transport) -> KubeClient:
    return KubeClient(transport, user_agent="tester/1", namespace="default")


@pytest.fixture
def client(plane: ApiServerEmulator) -> KubeClient:
    return KubeClient(plane.transport(), user_agent="tester/1", namespace="default")


@pytest.fixture
def pod() -> Callable[..., Obj]:
    def make(name: str, *, namespace: str = "default", **spec: Any) -> Obj:
        return {
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"containers": [{"name": "main", "image": "registry.example/app:1"}], **spec},
        }

    return make
