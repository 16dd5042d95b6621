"""The tests that pytest collects: a collector for each feature file, with one test for each scenario.

The node id of a test is what `pytest --pyargs` accepts, and has the feature file:
`dra_conformance.scenarios::driver/prepare.feature::test_...`. So `-k prepare` selects by file, and `-k driver/` by
chapter.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from pytest_bdd import scenario
from pytest_bdd.feature import get_feature
from pytest_bdd.scenario import get_python_name_generator

from dra_conformance.pytest_plugin import SUITE, is_suite
from dra_conformance.pytest_plugin.markers import name_of

_FILES: list[Path] = []  # set in pytest_configure, read when pytest collects the suite


def set_files(files: list[Path]) -> None:
    """Set the feature files with scenarios that this pytest run executes."""
    _FILES[:] = files


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    """Collect the feature files in place of the functions of `dra_conformance.scenarios`."""
    if not is_suite(str(module_path)):
        return None
    suite: Suite = Suite.from_parent(parent, path=module_path, nodeid=SUITE)
    return suite


class Suite(pytest.Module):
    """The module `dra_conformance.scenarios`."""

    def collect(self) -> Iterator[FeatureFile]:
        """Yield a collector for each feature file."""
        for path in _FILES:
            name = f"{path.parent.name}/{path.name}"
            yield FeatureFile.from_parent(self, path=path, name=name, nodeid=f"{SUITE}::{name}")


class FeatureFile(pytest.Module):
    """A feature file. It is a module for pytest, whose functions are made by pytest-bdd."""

    def _getobj(self) -> ModuleType:
        made = ModuleType(SUITE)
        for title, template in get_feature(str(self.path.parent), self.path.name).scenarios.items():
            for examples in template.examples:
                # pytest-bdd makes markers of these tags without its hook `pytest_bdd_apply_tag`.
                examples.tags = {name_of(tag) for tag in examples.tags}
            test = scenario(self.path.name, title, features_base_dir=str(self.path.parent))(_nothing_more)
            test.__module__ = SUITE  # pytest's option `collect_imported_tests = false` leaves out those of others
            vars(made)[next(name for name in get_python_name_generator(title) if name not in vars(made))] = test
        return made


def _nothing_more() -> None:
    """Run after the steps of a scenario."""
