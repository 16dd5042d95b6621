"""Build the third-party programs from their Go modules into `verification/bin`."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Collection, Iterator
from pathlib import Path

from dra_conformance.control_plane.binaries.build import link_flags
from dra_conformance.core.errors import ExitCode
from dra_conformance.go_programs import CONTAINERS, SOURCES, GoProgram
from verification.prerequisites import missing
from verification.third_party.catalogue import BIN, HERE, ThirdParty, load

_SHIPPED = ("control_plane", "containers")


def build(names: Collection[str] = (), *, everything: bool = False) -> int:
    """Build third-party programs; return the exit code.

    Without Go, report that once (in CI that is a failure).

    Args:
        names: only these programs, or what builds them; by default all but those that are built on request.
        everything: those on request, too.
    """
    go = shutil.which("go")
    if go is None:
        return missing("Go is not installed, so no third-party program can be built")
    programs = load()
    if unknown := set(names) - {one.name for one in programs}:
        known = ", ".join(sorted(one.name for one in programs))
        print(f"unknown name {', '.join(sorted(unknown))} (choose from {known})", file=sys.stderr)
        return ExitCode.USAGE
    BIN.mkdir(exist_ok=True)
    builders = _builders(names, programs)
    for one in programs:
        wanted = one.name in builders if names else everything or not one.on_request
        if wanted and not _build(go, one):
            return 1
    return 0


def _builders(names: Collection[str], programs: Collection[ThirdParty]) -> set[str]:
    """Return `names` and what builds their programs: several descriptions judge a program that one of them builds."""
    by_program = {made.program: one.name for one in programs for made in _programs(one)}
    without = (one for one in programs if one.name in names and not any(_programs(one)))
    return {*names, *(by_program[one.program] for one in without if one.program in by_program)}


def _build(go: str, one: ThirdParty) -> bool:
    """Build one program with its links and copies; return whether that succeeded."""
    module = (SOURCES if one.module in _SHIPPED else HERE / "go") / one.module
    for program in _programs(one):
        print(f"building {program.program} ({one.name} {one.version})", flush=True)
        (BIN / program.program).parent.mkdir(exist_ok=True)
        done = program.build(go, module, BIN)
        if done.returncode != 0:
            print(done.stderr.decode(errors="replace"))
            print(f"building {program.program} failed")
            return False
    for name in one.links:
        link = BIN / name
        # A link of an earlier build may point to another program.
        link.unlink(missing_ok=True)
        link.symlink_to(Path(one.program).name)  # in the program's own folder
    for place, (name, path) in one.copies.items():
        _copy(_folder_of(go, module, name) / path, BIN / place)
    return True


def _folder_of(go: str, module: Path, name: str) -> Path:
    """Return the directory of a module that the Go command has downloaded."""
    done = subprocess.run([go, "list", "-m", "-f", "{{.Dir}}", name], cwd=module, capture_output=True, check=True)
    return Path(done.stdout.decode().strip())


def _copy(source: Path, target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    # Contents only: the files of Go's module cache are read-only.
    for path in source.iterdir():
        content = path.read_bytes()
        (target / path.name).write_bytes(content)
        # Modules have no modes of files.
        (target / path.name).chmod(0o755 if content.startswith(b"#!") else 0o644)


def _programs(one: ThirdParty) -> Iterator[GoProgram]:
    if one.module == "containers":
        yield from CONTAINERS
    elif one.module == "control_plane":
        modfile = str(HERE / "go" / one.modfile) if one.modfile else ""
        yield GoProgram(
            program=one.program, package=one.package or ".", ldflags=link_flags(one.version), modfile=modfile
        )
    elif one.parts:
        for part in one.parts:
            yield GoProgram(
                program=part.program,
                package=part.package,
                ldflags=part.ldflags or one.ldflags,
                tags=part.tags,
                env={**one.env, **part.env},
            )
    elif one.package:
        yield GoProgram(
            program=one.program,
            package=one.package,
            ldflags=one.ldflags,
            tags=one.tags,
            modfile=one.modfile,
            env=one.env,
        )
