"""Nodes for the tests of this folder; each ends with its test."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import fake_nvml

ROOT = Path(fake_nvml.__file__).resolve().parent.parent


@pytest.fixture
def make_node(tmp_path: Path) -> Iterator[Callable[..., fake_nvml.Node]]:
    """Makes nodes by inventory name or path, each in a folder of its own; all are closed at the end."""
    made: list[fake_nvml.Node] = []

    def make(inventory: str | Path = "dgx-h100", **options: Any) -> fake_nvml.Node:
        node = fake_nvml.Node.create(inventory, tmp_path / f"node{len(made)}", **options)
        made.append(node)
        return node

    yield make
    for node in made:
        node.close()


@pytest.fixture
def nvml() -> Iterator[Callable[[fake_nvml.Node], Any]]:
    """Initialised pynvml modules for nodes; each is shut down at the end."""
    opened: list[Any] = []

    def load(node: fake_nvml.Node) -> Any:
        module = fake_nvml.load_pynvml(node)
        module.nvmlInit()
        opened.append(module)
        return module

    yield load
    for module in opened:
        module.nvmlShutdown()


Start = Callable[[fake_nvml.Node, str], "subprocess.Popen[str]"]


@pytest.fixture
def start_python() -> Iterator[Start]:
    """Starts another process of a node, with the plain installed pynvml; what still runs at the end is killed."""
    started: list[subprocess.Popen[str]] = []

    def start(node: fake_nvml.Node, code: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            env={**os.environ, **node.env(), "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture
def run_python(start_python: Start) -> Callable[[fake_nvml.Node, str], str]:
    """Output of another process of a node, which must succeed."""

    def run(node: fake_nvml.Node, code: str) -> str:
        process = start_python(node, code)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        return out

    return run
