"""`python -m tests.fake_nvml.sanitized [OPTION...]`: the tests of this folder on a library built with ASan and UBSan.

Options are pytest's. The library is built into a temporary folder, which is removed afterwards. Without a gcc with the
sanitizers' runtime one line reports that; with CI=true it is a failure.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent


def runtimes() -> list[str] | None:
    """Return the shared runtimes of both sanitizers; None if gcc does not have them."""
    compiler = shutil.which("gcc")
    if compiler is None:
        return None
    found = []
    for name in ("libasan.so", "libubsan.so"):
        path = subprocess.run([compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=True)
        if not Path(path.stdout.strip()).is_absolute():
            return None
        found.append(path.stdout.strip())
    return found


def main() -> int:
    """Build, run the tests, return their exit code."""
    preload = runtimes()
    if preload is None:
        required = os.environ.get("CI", "").lower() == "true"
        print(
            "fake_nvml: no gcc with sanitizers here"
            + ("; CI requires it" if required else "; these tests were not run")
        )
        return int(required)
    with tempfile.TemporaryDirectory(prefix="fake-nvml-sanitized-") as folder:
        build = [sys.executable, "-m", "fake_nvml.build", "--sanitize", "--out", folder]
        subprocess.run(build, check=True, env={**os.environ, "CC": "gcc"}, stdout=subprocess.DEVNULL)
        environment = {
            **os.environ,
            "FAKE_NVML_LIB": folder,
            "LD_PRELOAD": " ".join(preload),
            # Python and pytest leak by design; several copies of the library in one process are intended.
            "ASAN_OPTIONS": "detect_leaks=0:detect_odr_violation=0",
            "UBSAN_OPTIONS": "print_stacktrace=1",
        }
        # The variant builds of the sweep are no sanitized ones; its other tests take part.
        command = [sys.executable, "-m", "pytest", "-q", str(HERE), "-k", "not in_place"]
        return subprocess.run([*command, *sys.argv[1:]], env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
