"""The module that pytest collects: one test a scenario, made from the features.

`pytest --pyargs dra_conformance.suite.scenarios`
"""

from __future__ import annotations

from pytest_bdd import scenarios

from dra_conformance.suite import runner

scenarios(*(str(folder) for folder in runner.feature_folders()))
