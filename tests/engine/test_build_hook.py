"""The build hook where the machine has no C compiler: it asks the package index for ziglang's, and uses it.

What stands for ziglang here is a module of that name that hands its arguments to this machine's compiler, so the real
one's code generator is not tested; its command line is. Whoever has ziglang installed tests it itself.
"""

from __future__ import annotations

import ctypes
import importlib.util
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest

import hatch_build
from dra_conformance.components import elf
from fake_nvml.state import FILE_SIZE

ROOT = Path(hatch_build.__file__).parent
SOURCE = ROOT / "fake_nvml/src"
STAND_IN = """
import os, sys
words = sys.argv[1:]
assert words[0] == "cc" and words[1] == "-target", words
print("stands in for ziglang", words[2], os.environ["ZIG_GLOBAL_CACHE_DIR"], file=sys.stderr)
os.execv({compiler!r}, [{compiler!r}, *words[3:]])
"""


@pytest.fixture
def no_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing on PATH, no CC, and no ziglang."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("CC", raising=False)
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None if name == "ziglang" else found(name, *more)
    )


def dependencies() -> list[str]:
    return hatch_build.CustomBuildHook.dependencies(cast(Any, None))


def test_a_named_compiler_comes_first_then_the_platforms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "/opt/own cc -m64".replace(" cc", "/cc"))
    assert hatch_build.find_compiler() == ["/opt/own/cc", "-m64"]
    monkeypatch.delenv("CC")
    for name in ("clang", "gcc", "cc"):
        (tmp_path / name).touch(mode=0o755)
        monkeypatch.setenv("PATH", str(tmp_path))
        assert hatch_build.find_compiler() == [str(tmp_path / name)]
        assert dependencies() == []


@pytest.mark.usefixtures("no_compiler")
def test_a_missing_compiler_is_reported_with_a_hint(tmp_path: Path) -> None:
    assert hatch_build.find_compiler() is None
    assert dependencies() == ["ziglang>=0.13"]
    with pytest.raises(SystemExit, match="install gcc or clang, set CC, or `pip install ziglang`"):
        hatch_build.build_library(out=tmp_path / "lib")


@pytest.mark.parametrize(("libc", "target"), [(("glibc", "2.36"), "gnu.2.17"), (("", ""), "musl")])
def test_ziglang_builds_for_the_c_library_of_this_python(
    monkeypatch: pytest.MonkeyPatch, no_compiler: None, libc: tuple[str, str], target: str
) -> None:
    """A library for glibc names its loader on aarch64, which musl does not have."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(platform, "libc_ver", lambda: libc)
    command = hatch_build.find_compiler()
    assert command == [sys.executable, "-m", "ziglang", "cc", "-target", f"{platform.machine()}-linux-{target}"]


@pytest.mark.skipif(
    importlib.util.find_spec("ziglang") is None, reason="ziglang is not installed: its musl targets are not tried here"
)
@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_ziglang_builds_for_musl(tmp_path: Path, machine: str) -> None:
    """Of either machine, with what musl has alone: no other library is needed."""
    compiler = [sys.executable, "-m", "ziglang", "cc", "-target", f"{machine}-linux-musl"]
    library, _ = hatch_build.build_library(out=tmp_path, compiler=compiler)
    needed = subprocess.run(["readelf", "-d", str(library)], capture_output=True, text=True, check=True).stdout
    assert [line.split("[")[1] for line in needed.splitlines() if "(NEEDED)" in line] == ["libc.so]"]


def test_a_compiler_that_fortifies_by_default_calls_no_function_that_musl_lacks(tmp_path: Path) -> None:
    compiler = hatch_build.find_compiler()
    assert compiler is not None
    for library in hatch_build.build_library(out=tmp_path, compiler=[*compiler, "-D_FORTIFY_SOURCE=2"]):
        assert [name for name in elf.read(library).undefined if name.endswith("_chk")] == []


def test_a_compiler_that_fails_says_why_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "values.c").write_text("this is no C\n")
    with pytest.raises(SystemExit, match=r"building libnvidia-ml\.so\.1 failed(.|\n)*values\.c"):
        hatch_build.build_library(source=tmp_path, out=tmp_path / "lib")
    assert list((tmp_path / "lib").iterdir()) == []


def test_ziglang_builds_both_libraries(tmp_path: Path) -> None:
    """In a process of its own, whose PATH has nothing and whose ziglang is the real one or stands in for it.

    Of the sources only those of the node's state, for time's sake: the test of the wheel compiles them all.
    """
    source = tmp_path / "src"
    source.mkdir()
    for path in [SOURCE / "state/state.c", *SOURCE.rglob("*.h")]:
        (source / path.relative_to(SOURCE)).parent.mkdir(exist_ok=True)
        shutil.copy(path, source / path.relative_to(SOURCE))
    real, site = importlib.util.find_spec("ziglang"), tmp_path / "site"
    if real is not None and real.origin is not None:
        site = Path(real.origin).parent.parent
    else:
        compiler = shutil.which("cc") or shutil.which("gcc") or pytest.fail("this test needs a C compiler, or ziglang")
        (site / "ziglang").mkdir(parents=True)
        (site / "ziglang" / "__init__.py").touch()
        (site / "ziglang" / "__main__.py").write_text(STAND_IN.format(compiler=compiler))
    tools = tmp_path / "tools"  # gcc finds its own parts by its place, and the assembler and linker on PATH
    tools.mkdir()
    for name in ("as", "ld"):
        if real is None and (found := shutil.which(name)):
            (tools / name).symlink_to(found)
    code = (
        "import hatch_build, sys; from pathlib import Path as P; "
        "hatch_build.build_library(source=P(sys.argv[1]), out=P(sys.argv[2]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(source), str(tmp_path / "lib")],
        env={"PATH": str(tools), "PYTHONPATH": f"{ROOT}:{site}", "HOME": str(tmp_path / "home")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    if real is None:
        assert f"stands in for ziglang {platform.machine()}-linux-gnu.2.17 " in done.stderr
    control = ctypes.CDLL(str(tmp_path / "lib" / hatch_build.CONTROL))
    control.fnvml_file_size.restype = ctypes.c_uint64
    assert control.fnvml_file_size() == FILE_SIZE
    assert (tmp_path / "lib" / hatch_build.LIBRARY).is_file()
    assert not (tmp_path / "home").exists()  # ziglang keeps its cache there, unless it is told where
