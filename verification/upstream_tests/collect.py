"""Writes titles.yaml from the folders of upstream's modules. The page and its tests need the file only."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from verification.upstream_tests import extract

KUBERNETES = "k8s.io/kubernetes"
ALLOCATION = "k8s.io/dynamic-resource-allocation"
NVIDIA = "sigs.k8s.io/dra-driver-nvidia-gpu"

_HEAD = """# Titles of upstream's tests of Dynamic Resource Allocation.
# Written by `python -m verification.upstream_tests`; do not edit.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """A set of upstream's tests.

    `patterns` select the files in the folder of the module; `titles` returns the titles in the source of one of them.
    """

    name: str
    title: str
    module: str
    patterns: tuple[str, ...]
    titles: Callable[[str], list[str]]


SUITES = (
    Suite(
        name="e2e",
        title="End-to-end tests",
        module=KUBERNETES,
        patterns=("test/e2e/dra/*.go", "test/e2e/common/node/dra_*.go"),
        titles=extract.ginkgo,
    ),
    Suite(
        name="e2e-node",
        title="End-to-end tests of a node",
        module=KUBERNETES,
        patterns=("test/e2e_node/dra_test.go",),
        titles=extract.ginkgo,
    ),
    Suite(
        name="upgrade",
        title="Upgrade, downgrade and feature gates",
        module=KUBERNETES,
        patterns=("test/e2e_dra/featuregatecycle_test.go", "test/e2e_dra/upgradedowngrade_test.go"),
        titles=extract.functions,
    ),
    Suite(
        name="integration",
        title="Integration tests",
        module=KUBERNETES,
        patterns=("test/integration/dra/*.go",),
        titles=extract.functions,
    ),
    Suite(
        name="allocator",
        title="Table of the allocator",
        module=ALLOCATION,
        patterns=("structured/internal/allocatortesting/*.go",),
        titles=extract.functions,
    ),
    Suite(
        name="nvidia",
        title="NVIDIA's DRA driver",
        module=NVIDIA,
        patterns=("tests/bats/*.bats",),
        titles=extract.bats,
    ),
)


def version(folder: Path) -> str:
    """Return the version of the module in a folder of Go's module cache, such as `v1.37.2`.

    Raises: ValueError for a folder with another name.
    """
    found = folder.resolve().name.rpartition("@")[2]
    if not found.startswith("v"):
        raise ValueError(f"{folder}: not a folder of Go's module cache (its name has no @version)")
    return found


def collect(folders: Mapping[str, Path]) -> Iterator[dict[str, object]]:
    """Yield a row for each file with tests. `folders` has the folder of each module.

    Raises: ValueError naming a pattern that matches no file, or a file with a title twice.
    """
    for suite in SUITES:
        folder = folders[suite.module]
        for pattern in suite.patterns:
            paths = sorted(folder.glob(pattern))
            if not paths:
                raise ValueError(f"{folder}: no file {pattern}")
            for path in paths:
                titles = suite.titles(path.read_text())
                if len(set(titles)) != len(titles):
                    twice = sorted({one for one in titles if titles.count(one) > 1})
                    raise ValueError(f"{path}: twice: {', '.join(twice)}")
                if titles:
                    yield {
                        "suite": suite.name,
                        "module": suite.module,
                        "version": version(folder),
                        "path": path.relative_to(folder).as_posix(),
                        "titles": titles,
                    }


def write(folders: Mapping[str, Path], path: Path) -> None:
    """Write titles.yaml. Raises ValueError as `collect` does."""
    rows = list(collect(folders))
    path.write_text(_HEAD + yaml.safe_dump({"files": rows}, sort_keys=False, width=110, allow_unicode=True))
