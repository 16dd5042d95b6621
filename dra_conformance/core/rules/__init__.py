"""The rule catalogue: every rule with its source and its range of versions."""

from dra_conformance.core.rules.catalogue import Catalogue, Rule
from dra_conformance.core.rules.window import Release, Version

__all__ = ["Catalogue", "Release", "Rule", "Version"]
