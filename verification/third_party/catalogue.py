"""Descriptions of the third-party programs, read from `expected/*.yaml`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec
import yaml

HERE = Path(__file__).resolve().parent
BIN = HERE.parent / "bin"
"""The folder that `python -m verification build` fills."""
KUBERNETES = "1.37"
"""The release of the Kubernetes programs directly in BIN; those of others are in folders of it."""


class Breaks(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A rule that a program is known to break, and why.

    `by_chance`: the result depends on a race in the program that no scenario can force, so a pass is expected as well;
    the published verdict counts the rule as broken in any case.
    """

    rule: str
    reason: str
    status: str = "failed"
    by_chance: bool = False


class Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One executable of a program; empty fields are those of the program."""

    program: str
    package: str = ""
    ldflags: str = ""
    tags: str = ""
    env: dict[str, str] = {}


class ThirdParty(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One third-party program.

    `module` is a folder below `go/` (or of `dra_conformance.go_programs`, for the programs that the harness starts
    itself); `modfile` replaces the module's go.mod for another release. `on_request` programs are built by their name
    or with `build --all`, not by `make third-party`. A description without `package` and `parts` uses a program that
    another one builds. `program` is the executable that must exist before the suite runs. `takes` is the measured
    duration in seconds on two cores, for the order of the jobs. `ci` is the program's part in the fixed subset that CI
    verifies: all of its scenarios, none, or those that these additional options select. `cluster` is a cluster that is
    started before the suite, as `verification.third_party.existing_cluster` describes; its kubeconfig is at
    `{dir}/cluster/kubeconfig`. `running` starts the program beside `serve`, a served control plane, instead of through
    `--driver exec:`; `socket` is the file that appears when it is ready. `copies` has directories that the program
    reads when it runs, by their place in BIN: the module, and the path in it. `compares` names a program that other
    descriptions name too, each in another release: their verdicts are shown side by side (`verification.releases`).
    `breaks_as` names a description whose `breaks` hold for this one too, unless `breaks` has the rule as well.
    """

    name: str
    version: str
    program: str
    module: str = ""
    package: str = ""
    ldflags: str = "-s -w"
    tags: str = ""
    modfile: str = ""
    on_request: bool = False
    env: dict[str, str] = {}
    parts: tuple[Part, ...] = ()
    links: tuple[str, ...] = ()
    copies: dict[str, tuple[str, str]] = {}
    compares: str = ""
    verified_by: Literal["suite", "differential", "tests", "docker", "kind"] = "suite"
    needs: Literal["", "containers"] = ""
    workers: int = 1
    takes: float = 0.0
    ci: Literal["all", "none"] | tuple[str, ...] = "all"
    options: tuple[str, ...] = ()
    cluster: Literal["", "emulated", "kubernetes"] = ""
    serve: tuple[str, ...] = ()
    running: tuple[str, ...] = ()
    socket: str = ""
    breaks_as: str = ""
    breaks: tuple[Breaks, ...] = ()

    @property
    def broken_rules(self) -> dict[str, Breaks]:
        """The rules that the program is known to break, by id."""
        return {row.rule: row for row in self.breaks}

    @property
    def broken_by_chance(self) -> list[Breaks]:
        """Those of them whose result depends on a race in the program."""
        return [row for row in self.breaks if row.by_chance]


def load(folder: Path = HERE / "expected") -> list[ThirdParty]:
    """Read all descriptions, sorted by file name.

    Raises: ValueError naming the file, for one that cannot be read.
    """
    found = []
    for path in sorted(folder.glob("*.yaml")):
        try:
            found.append(msgspec.convert(yaml.safe_load(path.read_text()), ThirdParty))
        # YAML errors name a line but not the file.
        except (msgspec.ValidationError, yaml.YAMLError) as error:
            raise ValueError(f"{path.name}: {error}") from None
    return [_with_breaks(one, found) for one in found]


def _with_breaks(one: ThirdParty, others: list[ThirdParty]) -> ThirdParty:
    """Return a description with the rules that it breaks as another one does. Raises ValueError for an unknown name."""
    if not one.breaks_as:
        return one
    like = next((other for other in others if other.name == one.breaks_as), None)
    if like is None:
        raise ValueError(f"{one.name}: breaks_as names no description: {one.breaks_as}")
    return msgspec.structs.replace(one, breaks=tuple({**like.broken_rules, **one.broken_rules}.values()))
