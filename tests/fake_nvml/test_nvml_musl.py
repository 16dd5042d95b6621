"""The library in a process of another C library: musl, if `musl-gcc` is installed (`apt-get install musl-tools`).

Two builds are tested: the one of this machine, whose symbols musl has too, and one by musl-gcc.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import fake_nvml
from fake_nvml import build

pytestmark = [
    pytest.mark.skipif(shutil.which("musl-gcc") is None, reason="musl-gcc is not installed: musl is not tried here"),
    pytest.mark.skipif("FAKE_NVML_LIB" in os.environ, reason="a sanitizer's runtime needs glibc"),
]

PROBE = """
#include <dlfcn.h>
#include <stdio.h>
#define CALL(name, ...) ((int (*)())dlsym(library, #name))(__VA_ARGS__)
int main(int count, char **words) {
    void *library = dlopen(words[1], RTLD_NOW), *device = 0, *set = 0;
    if (library == 0) return printf("%s\\n", dlerror()), 1;
    unsigned int gpus = 0, clock = 0;
    char name[96], event[64];
    printf("%d ", CALL(nvmlInit_v2));
    printf("%d ", CALL(nvmlDeviceGetCount_v2, &gpus));
    printf("%d ", CALL(nvmlDeviceGetHandleByIndex_v2, gpus - 1, &device));
    printf("%d ", CALL(nvmlDeviceGetName, device, name, 96));
    printf("%d ", CALL(nvmlDeviceSetPersistenceMode, device, 0));
    printf("%d ", CALL(nvmlEventSetCreate, &set));
    printf("%d ", CALL(nvmlDeviceRegisterEvents, device, 8ull, set));
    printf("%d ", CALL(nvmlEventSetWait_v2, set, event, 20));
    printf("%d ", CALL(nvmlShutdown));
    printf("%d %u %s\\n", dlclose(library), gpus, name);
    return 0;
}
"""


@pytest.mark.parametrize("compiler", ["as built here", "musl-gcc"])
def test_a_musl_process_loads_it(
    make_node: Callable[..., fake_nvml.Node], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiler: str
) -> None:
    library = fake_nvml.library_path()
    if compiler == "musl-gcc":
        monkeypatch.setenv("CC", "musl-gcc")
        library = build.variant(tmp_path / "musl", "state/state.c", "#ifdef FNVML_CONTROL", "#ifdef FNVML_CONTROL")
        library = library / "libnvidia-ml.so.1"
    source, program = tmp_path / "probe.c", tmp_path / "probe"
    source.write_text(PROBE)
    subprocess.run(["musl-gcc", "-w", "-o", str(program), str(source)], check=True)
    node = make_node("dgx-h100")
    result = subprocess.run(
        [str(program), str(library)],
        env={"FAKE_NVML_STATE": str(node.state_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert result.stdout == "0 0 0 0 0 0 0 10 0 0 8 NVIDIA H100 80GB HBM3\n", result.stderr
    assert node.get(7, "persistence_mode") == 0
