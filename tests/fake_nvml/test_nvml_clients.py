"""Programs that know nothing of a fake: several releases of pynvml, gpustat and nvitop, each as its authors ship it.

`make` installs those of each file in `clients/` into `.venv/clients`, one folder each, so that none meets another.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import fake_nvml
from fake_nvml.boards import board_names

Make = Callable[..., fake_nvml.Node]

ROOT = Path(fake_nvml.__file__).resolve().parent.parent
CLIENTS = Path(sys.prefix) / "clients"
RELEASES = sorted(path.stem for path in (Path(__file__).parent / "clients").glob("*.txt"))
#: Together every shipped board, with MIG and without.
BOARDS = ["mixed", "dgx-h100-mig", "dgx-a100-40gb", "dgx-b200", "gb200-nvl72-node", "gb300-nvl72-node"]

ASK = """
import json, pynvml as p
text = lambda v: v.decode() if isinstance(v, bytes) else v
p.nvmlInit()
rows = []
for index in range(p.nvmlDeviceGetCount()):
    h = p.nvmlDeviceGetHandleByIndex(index)
    rows.append({
        "name": text(p.nvmlDeviceGetName(h)), "uuid": text(p.nvmlDeviceGetUUID(h)),
        "memory": p.nvmlDeviceGetMemoryInfo(h).total, "bus": text(p.nvmlDeviceGetPciInfo(h).busId),
        "minor": p.nvmlDeviceGetMinorNumber(h), "temperature": p.nvmlDeviceGetTemperature(h, 0),
        "pids": [r.pid for r in p.nvmlDeviceGetComputeRunningProcesses(h)],
        "clock": p.nvmlDeviceGetClockInfo(h, 0), "power": p.nvmlDeviceGetPowerUsage(h),
    })
p.nvmlShutdown()
print(json.dumps([p.__file__, rows]))
"""


def run(node: fake_nvml.Node, client: str, *arguments: str) -> str:
    folder = CLIENTS / client
    if not folder.is_dir():
        pytest.fail(f"{folder} is not there: run `make .venv/.ready-clients`")
    environment = {
        **os.environ,
        **node.env(),
        "PYTHONPATH": str(folder),
        "TERM": "xterm",
        "LINES": "50",
        "COLUMNS": "120",
    }
    result = subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize("release", [name for name in RELEASES if name.startswith("pynvml")])
def test_a_release_of_pynvml_sees_every_board(make_node: Make, release: str) -> None:
    for inventory in BOARDS:
        node = make_node(inventory)
        node.set_process(0, os.getpid(), memory=1 << 30)
        used, rows = json.loads(run(node, release, "-c", ASK))
        assert used.startswith(str(CLIENTS / release))
        assert [(row["uuid"], row["name"], row["bus"], row["minor"]) for row in rows] == [
            (gpu.uuid, gpu.name, gpu.bus_id, gpu.minor) for gpu in node.gpus
        ]
        for index, row in enumerate(rows):
            wanted = {"memory": "memory_total", "temperature": "temperature_gpu", "power": "power_usage"}
            assert {key: row[key] for key in wanted} == {key: node.get(index, field) for key, field in wanted.items()}
            assert row["pids"] == ([os.getpid()] if index == 0 else [])


def test_every_shipped_board_is_among_them() -> None:
    assert {spec.board.name for name in BOARDS for spec in fake_nvml.Inventory.load(name).gpus} == set(board_names())


def test_releases_are_three_and_differ() -> None:
    assert len([name for name in RELEASES if name.startswith("pynvml")]) >= 3


@pytest.mark.parametrize("inventory", BOARDS)
def test_gpustat(make_node: Make, inventory: str) -> None:
    node = make_node(inventory)
    node.set_process(0, os.getpid(), memory=3 << 30)
    node.set(1, "utilization_gpu", 41)
    seen = json.loads(run(node, "tools", "-m", "gpustat", "--json"))["gpus"]
    assert [(gpu["uuid"], gpu["name"]) for gpu in seen] == [(gpu.uuid, gpu.name) for gpu in node.gpus]
    assert [gpu["temperature.gpu"] for gpu in seen] == [node.get(gpu.index, "temperature_gpu") for gpu in node.gpus]
    assert seen[1]["utilization.gpu"] == 41
    assert [(p["pid"], p["gpu_memory_usage"]) for p in seen[0]["processes"]] == [(os.getpid(), 3 << 10)]
    assert all(gpu["power.draw"] is not None and gpu["enforced.power.limit"] is not None for gpu in seen)


def test_gpustat_reports_a_lost_gpu(make_node: Make) -> None:
    node = make_node("dgx-h200")
    node.lose_gpu(5)
    seen = json.loads(run(node, "tools", "-m", "gpustat", "--json"))["gpus"]
    assert [index for index, gpu in enumerate(seen) if "GPU is lost" in gpu["name"]] == [5]


@pytest.mark.parametrize("inventory", BOARDS)
def test_nvitop(make_node: Make, inventory: str) -> None:
    node = make_node(inventory)
    node.set_process(0, os.getpid(), memory=1 << 30)
    screen = run(node, "tools", "-m", "nvitop", "--once", "--ascii")
    for gpu in node.gpus:
        assert gpu.bus_id in screen
    if inventory == "dgx-h100-mig":
        assert [name for name in ("1g.10gb", "2g.20gb", "3g.40gb") if name in screen] == [
            "1g.10gb",
            "2g.20gb",
            "3g.40gb",
        ]
    else:
        assert f" {os.getpid()} " in screen
