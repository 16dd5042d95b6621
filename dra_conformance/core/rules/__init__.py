"""The rule catalogue: every sentence that the suite holds a target to, with its source and its window."""

from dra_conformance.core.rules.catalogue import Catalogue, Rule
from dra_conformance.core.rules.window import Version

__all__ = ["Catalogue", "Rule", "Version"]
