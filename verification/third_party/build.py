"""Build the third-party programs from their Go modules into `verification/bin`."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

from dra_conformance.control_plane.binaries.build import link_flags
from dra_conformance.go_programs import CONTAINERS, SOURCES, GoProgram
from verification.prerequisites import missing
from verification.third_party.catalogue import BIN, HERE, ThirdParty, load

_SHIPPED = ("control_plane", "containers")


def build() -> int:
    """Build every program; return the exit code. Without Go, report that once (in CI that is a failure)."""
    go = shutil.which("go")
    if go is None:
        return missing("Go is not installed, so no third-party program can be built")
    BIN.mkdir(exist_ok=True)
    for one in load():
        module = (SOURCES if one.module in _SHIPPED else HERE / "go") / one.module
        for program in _programs(one):
            print(f"building {program.program} ({one.name} {one.version})", flush=True)
            done = program.build(go, module, BIN)
            if done.returncode != 0:
                print(done.stderr.decode(errors="replace"))
                print(f"building {program.program} failed")
                return 1
        for name in one.links:
            link = BIN / name
            # A link of an earlier build may point to another program.
            link.unlink(missing_ok=True)
            link.symlink_to(one.program)
    return 0


def _programs(one: ThirdParty) -> Iterator[GoProgram]:
    if one.module == "containers":
        yield from CONTAINERS
    elif one.module == "control_plane":
        yield GoProgram(program=one.program, ldflags=link_flags(one.version))
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
