"""A run as evidence for Kubernetes AI conformance: the files that a submission to cncf/k8s-ai-conformance can refer to.

`tree` turns a report into tests as `go test` has them, `go_test` and `junit_file` write them, `requirements` has
the requirements of the programme that rules of the suite are evidence for, and `product` writes the fragment of a
PRODUCT.yaml. Every file has the verdict and its limits, and no status is better than what was judged.
"""

from __future__ import annotations

from collections.abc import Sequence

from dra_conformance.report.bundle import go_test, junit_file, product, tree
from dra_conformance.report.bundle.published_versions import PublishedVersion
from dra_conformance.report.model import Report

FRAGMENT = "PRODUCT-fragment.yaml"
"""Not PRODUCT.yaml: the check of a submission takes every file of that name for a whole one."""


def render(report: Report, versions: Sequence[PublishedVersion], *, folder: str) -> dict[str, bytes]:
    """Return the files of a bundle by name.

    Args:
        report: the report, computed from the event log of the run.
        versions: what the drivers publish in their ResourceSlices.
        folder: the name of the bundle's folder in the folder of the submission, for links to its files.
    """
    tests = tree.tests_of(report, versions)
    junit = junit_file.render(tests, report).encode()
    return {
        "e2e.log": go_test.log(tests, report).encode(),
        "results.json": go_test.json_lines(tests, report),
        # The validator of the programme reads junit.xml; tools for Sonobuoy's results read junit_01.xml.
        "junit.xml": junit,
        "junit_01.xml": junit,
        FRAGMENT: product.fragment(tests, report, versions, folder=folder).encode(),
    }
