"""Which NVML the programs of the driver load."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fake_nvml.library import library_dir as folder

_LOOK = """
import sys
from pathlib import Path
from fake_nvml import marker
from reference_impl.kubelet_plugin.nvml_library import pynvml_with
pynvml = pynvml_with(Path(sys.argv[1]))
try:
    pynvml.nvmlInit()
except pynvml.NVMLError as error:  # the library has no GPUs here
    print(type(error).__name__)
print("fake" if marker.is_loaded() else "not fake")
print({line.split()[-1] for line in open("/proc/self/maps") if "libnvidia-ml" in line})
"""


def loaded(root: Path, **environ: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", _LOOK, str(root)],
        check=False, capture_output=True, text=True, cwd=Path.cwd(), env={"PYTHONPATH": ":".join(sys.path), **environ},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("place", [".", "usr/lib64", "lib/x86_64-linux-gnu"])
def test_the_library_of_the_driver_root_is_loaded(tmp_path: Path, place: str) -> None:
    (tmp_path / place).mkdir(parents=True, exist_ok=True)
    library = tmp_path / place / "libnvidia-ml.so.580.95.05"
    library.write_bytes((folder() / "libnvidia-ml.so.1").read_bytes())
    assert str(library.resolve()) in loaded(tmp_path)
    assert "\nfake\n" in loaded(tmp_path)
    assert str(library.resolve()) in loaded(tmp_path, LD_LIBRARY_PATH=str(folder()))


def test_a_library_that_cannot_be_loaded_leaves_the_search_to_the_loader(tmp_path: Path) -> None:
    (tmp_path / "libnvidia-ml.so.1").write_text("damaged")
    assert str(folder() / "libnvidia-ml.so.1") in loaded(tmp_path, LD_LIBRARY_PATH=str(folder()))


def test_the_machine_s_own_root_is_the_loader_s_business(tmp_path: Path) -> None:
    assert str(folder() / "libnvidia-ml.so.1") in loaded(Path("/"), LD_LIBRARY_PATH=str(folder()))
    assert loaded(tmp_path).startswith("NVMLError_LibraryNotFound\nnot fake\n")
