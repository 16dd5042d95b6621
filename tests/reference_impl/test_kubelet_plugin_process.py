"""The kubelet plugin as a process: SIGKILL at arbitrary moments, then a restart over the same folders."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson
import pytest
from fabric_bench import ROOT, Bench

from apiserver_emulator.emulator import ApiServerEmulator
from dra_api.clock import AdvanceableClock
from dra_api.rpc import ClaimRef, RpcError

ROUNDS = 6


class Process:
    """`python -m reference_impl kubelet-plugin` over a node's folders."""

    def __init__(self, lab: Bench, kubeconfig: Path) -> None:
        base, machine = lab.base / "n1", lab.machines["n1"]
        arguments = [
            "kubelet-plugin",
            f"--kubeconfig={kubeconfig}",
            "--node-name=n1",
            f"--kubelet-plugins-directory-path={base / 'p'}",
            f"--kubelet-registrar-directory-path={base / 'r'}",
            f"--cdi-root={base / 'cdi'}",
            f"--container-driver-root={machine.driver_root}",
            "--until-stdin-closes",
        ]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "reference_impl", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env={**os.environ, **machine.env()},
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline().decode()
        assert line == "kubelet-plugin gpu.nvidia.com on n1 ready\n"

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.end()

    def terminate(self) -> int:
        self.process.terminate()
        return self.end()

    def end(self) -> int:
        code = self.process.wait(60)
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()
        return code


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[tuple[Bench, Path]]:
    clock = AdvanceableClock()
    with ApiServerEmulator(directory=tmp_path / "plane", clock=clock) as plane:
        made = Bench(tmp_path, plane, clock)
        made.node("n1")
        try:
            yield made, plane.kubeconfig
        finally:
            made.close()


@contextmanager
def killed_after(process: Process, seconds: float) -> Iterator[None]:
    timer = threading.Timer(seconds, process.kill)
    timer.start()
    try:
        yield
    finally:
        timer.join()


def leftovers(lab: Bench) -> tuple[list[str], list[str]]:
    base = lab.base / "n1"
    return (
        sorted(path.name for path in (base / "cdi").iterdir()),
        sorted(path.name for path in (base / "p/gpu.nvidia.com").iterdir()),
    )


def test_killed_plugin_is_repaired_by_its_successor(lab: tuple[Bench, Path]) -> None:
    bench, kubeconfig = lab
    moments = random.Random(7)  # noqa: S311 - moments of death, not secrets
    claims = [bench.claim(f"c{i}", f"gpu-{i}") for i in range(8)]
    for _ in range(ROUNDS):
        process = Process(bench, kubeconfig)
        with killed_after(process, moments.uniform(0.0, 0.05)):
            hammer(bench, claims)
    process = Process(bench, kubeconfig)
    with bench.kubelet("n1") as kubelet:
        answers = kubelet.prepare(claims)
        for i, claim in enumerate(claims):
            assert answers[claim.uid].error == ""
            assert answers[claim.uid].devices[0].device_name == f"gpu-{i}"
        specs, _ = leftovers(bench)
        assert specs == sorted(f"k8s.gpu.nvidia.com-claim_{claim.uid}.yaml" for claim in claims)
        assert set(kubelet.unprepare(claims).values()) == {""}
    assert len(bench.slices()) == 1
    assert process.terminate() == 0
    assert leftovers(bench) == ([], ["checkpoint.json", "checkpoint.json.boot", "pu.lock"])
    document = orjson.loads((bench.base / "n1/p/gpu.nvidia.com/checkpoint.json").read_bytes())
    assert document["v2"]["preparedClaims"] == {}


def hammer(bench: Bench, claims: list[ClaimRef]) -> None:
    """Prepare and unprepare until the plugin is gone."""
    with bench.kubelet("n1") as kubelet:
        try:
            while True:
                kubelet.prepare(claims, timeout=60)
                kubelet.unprepare(claims[::2], timeout=60)
        except RpcError:
            return


def test_terminated_plugin_leaves_claims_and_slices(lab: tuple[Bench, Path]) -> None:
    bench, kubeconfig = lab
    process = Process(bench, kubeconfig)
    claim = bench.claim("c", "gpu-0")
    with bench.kubelet("n1") as kubelet:
        assert kubelet.prepare([claim])[claim.uid].error == ""
    assert process.terminate() == 0
    specs, files = leftovers(bench)
    assert len(specs) == 1
    assert files == ["checkpoint.json", "checkpoint.json.boot", "pu.lock"]
    assert len(bench.slices()) == 1
