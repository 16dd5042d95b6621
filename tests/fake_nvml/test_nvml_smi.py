"""The table of `fake-nvml smi`: line for line as nvidia-smi 580 draws it, with MIG devices and processes."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime
from typing import Any

import fake_nvml
from fake_nvml.smi_table import table

Make = Callable[..., fake_nvml.Node]
Load = Callable[[fake_nvml.Node], Any]

NOON = datetime(2026, 2, 7, 12, 0, 0)
ONE_GPU = """\
+-----------------------------------------------------------------------------------------+
| fake_nvml                         Driver Version: 580.159.04     CUDA Version: 13.0     |
+-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
|   0  NVIDIA H200                    On  |   00000000:00:06.0 Off |                    0 |
| N/A   34C    P0             76W /  700W |       0MiB / 143771MiB |      0%      Default |
|                                         |                        |             Disabled |
+-----------------------------------------+------------------------+----------------------+

+-----------------------------------------------------------------------------------------+
| Processes:                                                                              |
|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |
|        ID   ID                                                               Usage      |
|=========================================================================================|
|  No running processes found                                                             |
+-----------------------------------------------------------------------------------------+
"""
MIG_TITLE = """\
+-----------------------------------------------------------------------------------------+
| MIG devices:                                                                            |
+------------------+----------------------------------+-----------+-----------------------+
| GPU  GI  CI  MIG |              Shared Memory-Usage |        Vol|        Shared         |
|      ID  ID  Dev |                Shared BAR1-Usage | SM     Unc| CE ENC  DEC  OFA  JPG |
|                  |                                  |        ECC|                       |
|==================+==================================+===========+=======================|
"""


def test_one_gpu_that_does_nothing(make_node: Make, nvml: Load) -> None:
    first, rest = table(nvml(make_node("h200")), now=NOON).split("\n", 1)
    assert first == f"{'Sat Feb  7 12:00:00 2026':<31}"
    assert rest == ONE_GPU


def test_every_line_has_the_same_width(make_node: Make, nvml: Load) -> None:
    node = make_node("dgx-h100-mig")
    node.set(2, "name", "NVIDIA RTX PRO 6000 Blackwell Server Edition")
    node.set(3, "performance_state", 12)
    node.set_process(2, os.getpid(), memory=123 << 20)
    module = nvml(node)
    lines = table(module, now=NOON).splitlines()[1:]
    assert {len(line) for line in lines} == {0, 91}
    assert any("NVIDIA RTX PRO 6000 Blac...    On  |" in line for line in lines)


def test_mig_devices(make_node: Make, nvml: Load) -> None:
    node = make_node("dgx-h100-mig")
    node.set_process(0, 4_000_000, memory=1786 << 20, gi=13, ci=0)
    text = table(nvml(node), now=NOON)
    first = text.split("\n\n")[0].splitlines()
    assert first[8].endswith("|                   On |")
    assert first[9].endswith("|     N/A      Default |")
    assert first[10].endswith("|              Enabled |")
    assert (
        text.split("\n\n")[1] + "\n"
        == MIG_TITLE
        + """\
|  0    1   0   0  |               0MiB / 40448MiB    | 60    N/A |  3   0    3    0    3 |
|                  |               0MiB / 65535MiB    |           |                       |
+------------------+----------------------------------+-----------+-----------------------+
|  0    5   0   1  |               0MiB / 20096MiB    | 32    N/A |  2   0    2    0    2 |
|                  |               0MiB / 32767MiB    |           |                       |
+------------------+----------------------------------+-----------+-----------------------+
|  0   13   0   2  |            1786MiB /  9984MiB    | 16    N/A |  1   0    1    0    1 |
|                  |               0MiB / 16383MiB    |           |                       |
+------------------+----------------------------------+-----------+-----------------------+
"""
    )
    assert "|    0   13    0          4000000      C   [Not Found]                            1786MiB |" in text


def test_mig_on_without_devices(make_node: Make, nvml: Load) -> None:
    node = make_node("dgx-h100-mig")
    node.reset(0)
    text = table(nvml(node), now=NOON)
    assert MIG_TITLE + f"|  {'No MIG devices found':<87}|\n+{'-' * 89}+\n\n+---" in text


def test_processes_by_kind_and_name(make_node: Make, nvml: Load) -> None:
    node = make_node("dgx-h200")
    module = nvml(node)
    node.set_process(3, 99_999_999, memory=2194 << 20)
    node.set_process(3, 99_999_998, memory=5 << 20, graphics=True)
    node.set_process(0, os.getpid(), memory=188 << 20)
    node.lose_gpu(7)
    rows = table(module, now=NOON).split("Usage      |\n")[1].splitlines()[1:-1]
    name = module.nvmlSystemGetProcessName(os.getpid())
    shown = name if len(name) <= 32 else f"...{name[-29:]}"
    assert rows == [
        f"|    0   N/A  N/A {os.getpid():>15}      C   {shown:<32}        188MiB |",
        "|    3   N/A  N/A        99999998      G   [Not Found]                               5MiB |",
        "|    3   N/A  N/A        99999999      C   [Not Found]                            2194MiB |",
    ]
