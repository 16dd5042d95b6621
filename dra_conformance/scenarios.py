"""The module that pytest collects: one test for each scenario of the feature files.

Run it with `pytest --pyargs dra_conformance.scenarios`.
"""

from __future__ import annotations

from pytest_bdd import scenarios

from dra_conformance.pytest_plugin import runner

if _files := runner.feature_files():
    scenarios(*(str(path) for path in _files))
