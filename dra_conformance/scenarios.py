"""The module that pytest collects: one test for each scenario of the feature files.

Run it with `pytest --pyargs dra_conformance.scenarios`. Its tests are made from the feature files by
`dra_conformance.pytest_plugin.collection`.
"""
