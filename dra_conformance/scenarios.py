"""The module that pytest collects: one test a scenario, made from the features.

`pytest --pyargs dra_conformance.scenarios`
"""

from __future__ import annotations

from pytest_bdd import scenarios

from dra_conformance.pytest_plugin import runner

if _files := runner.feature_files():
    scenarios(*(str(path) for path in _files))
