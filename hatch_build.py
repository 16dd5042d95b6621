"""Build hook: compile the C sources below `fake_nvml/src/` into `fake_nvml/lib/` for wheels and editable installs.

Hatchling calls it for every wheel (also the one made from an sdist, and the editable one). The platform's C
compiler (`$CC`, else `cc`) is used if there is one; otherwise the build requires `ziglang` and uses its C compiler.
`build_library()` does the same in place for a checkout: `python -m fake_nvml.build`.

With `FAKE_NVML_MACHINE=x86_64` or `aarch64`, a wheel is for that machine and any glibc since 2.17, on whatever machine
it is built: ziglang compiles it. `make release` builds both.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:

    class BuildHookInterface:
        """The attributes of hatchling's class that this hook uses."""

        root: str
        target_name: str

else:
    try:
        from hatchling.builders.hooks.plugin.interface import BuildHookInterface
    except ImportError:  # not a build: only build_library() is wanted
        BuildHookInterface = object

LIBRARY = "libnvidia-ml.so.1"
CONTROL = "libfakenvml-control.so"

MACHINES = ("x86_64", "aarch64")
GLIBC = "2.17"
"""The oldest glibc that wheels of a release run with: that of manylinux2014."""

_FLAGS = [
    "-std=c11",
    "-O2",
    "-fPIC",
    "-shared",
    "-fvisibility=hidden",
    "-fno-strict-aliasing",
    # Ubuntu's compiler has it on. The functions that it calls are not in musl, whose containers get the library, too.
    "-U_FORTIFY_SOURCE",
    "-fstack-protector-strong",
    "-Wall",
    "-Wextra",
    "-Wl,-z,now",
    "-Wl,-z,relro",
    "-Wl,-z,noexecstack",
]


def find_compiler() -> list[str] | None:
    """The compiler command: `$CC`, `cc`, `gcc`, `clang`, or that of an installed `ziglang`; None if there is none."""
    named = os.environ.get("CC")
    if named:
        return shlex.split(named)
    for name in ("cc", "gcc", "clang"):
        found = shutil.which(name)
        if found:
            return [found]
    if importlib.util.find_spec("ziglang") is None:
        return None
    libc = f"gnu.{GLIBC}" if platform.libc_ver()[0] == "glibc" else "musl"  # that of this Python
    return _zig(f"{platform.machine()}-linux-{libc}")


def _zig(target: str) -> list[str]:
    return [sys.executable, "-m", "ziglang", "cc", "-target", target]


def release_machine() -> str:
    """Return the machine that `FAKE_NVML_MACHINE` names, or an empty string. Raises: SystemExit for another one."""
    named = os.environ.get("FAKE_NVML_MACHINE", "")
    if named and named not in MACHINES:
        raise SystemExit(f"FAKE_NVML_MACHINE={named}: choose from {', '.join(MACHINES)}")
    return named


def build_library(
    root: Path | None = None,
    *,
    source: Path | None = None,
    out: Path | None = None,
    compiler: list[str] | None = None,
    extra: tuple[str, ...] = (),
) -> list[Path]:
    """Compile both shared libraries.

    Args:
        root: the repository (or unpacked sdist); by default the folder of this file.
        source: folder of the C sources, instead of `fake_nvml/src`.
        out: folder that the libraries are written to, instead of `fake_nvml/lib`.
        compiler: command to use instead of `find_compiler()`.
        extra: more compiler arguments, for example a sanitizer.

    Returns: the files written.
    Raises: SystemExit with what to do, when there is no compiler or it fails.
    """
    root = root or Path(__file__).resolve().parent
    source, out = source or root / "fake_nvml" / "src", out or root / "fake_nvml" / "lib"
    command = compiler or find_compiler()
    if command is None:
        raise SystemExit(
            "fake_nvml needs a C compiler to build: install gcc or clang, set CC, or `pip install ziglang`"
        )
    out.mkdir(parents=True, exist_ok=True)
    targets = [
        (LIBRARY, sorted(source.rglob("*.c")), [f"-Wl,-soname,{LIBRARY}", "-ldl"]),
        (CONTROL, [source / "state" / "state.c"], ["-DFNVML_CONTROL", f"-Wl,-soname,{CONTROL}"]),
    ]
    written = []
    for name, files, more in targets:
        target = out / name
        fresh = out / f".{name}.{os.getpid()}"
        arguments = [*command, *_FLAGS, *extra, f"-I{source}", "-o", str(fresh), *map(str, files), *more]
        with tempfile.TemporaryDirectory(prefix="fake-nvml-build-") as cache:  # ziglang's; else it stays in the home
            environment = {"ZIG_GLOBAL_CACHE_DIR": cache, **os.environ}
            result = subprocess.run(arguments, capture_output=True, text=True, check=False, env=environment)
        if result.returncode != 0:
            fresh.unlink(missing_ok=True)
            raise SystemExit(f"building {name} failed: {shlex.join(arguments)}\n{result.stderr}")
        if result.stderr.strip():
            print(result.stderr, file=sys.stderr)
        fresh.replace(target)  # never written in place: a process may have it mapped
        written.append(target)
    return written


class CustomBuildHook(BuildHookInterface):
    """Hatchling's entry point; see the module."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Return a compiler of the package index if the platform has none, or the wheel is one of a release."""
        return ["ziglang>=0.13"] if release_machine() or not find_compiler() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, add the results to the wheel and tag it for this platform, any Python 3."""
        if self.target_name != "wheel":
            return
        build_data["pure_python"] = False
        if machine := release_machine():
            # Not into fake_nvml/lib: this machine may not be able to load it.
            out = Path(self.root) / "build" / f"fake-nvml-{machine}"
            written = build_library(Path(self.root), out=out, compiler=_zig(f"{machine}-linux-gnu.{GLIBC}"))
            build_data["tag"] = f"py3-none-manylinux_{GLIBC.replace('.', '_')}_{machine}"
            build_data["force_include"].update({str(path): f"fake_nvml/lib/{path.name}" for path in written})
            return
        build_library(Path(self.root))
        tag = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{tag}"
        build_data["artifacts"] += [f"/fake_nvml/lib/{LIBRARY}", f"/fake_nvml/lib/{CONTROL}"]
