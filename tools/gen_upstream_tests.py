"""Generate the page of upstream's tests: `python -m tools.gen_upstream_tests`."""

from __future__ import annotations

from dra_conformance.core.rules import Catalogue
from verification.upstream_tests.page import PAGE, render
from verification.upstream_tests.table import load


def page() -> str:
    """Return the text of upstream-tests.md."""
    return render(load(), {rule.id: rule.level for rule in Catalogue.load().values()})


if __name__ == "__main__":
    PAGE.write_text(page())
