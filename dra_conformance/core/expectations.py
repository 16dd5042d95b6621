"""Expected values of fields, as tables of features write them.

A table has a field path and an expectation in each row. An expectation is one of

- `absent` or `present`,
- `/expression/`: a text that the regular expression matches as a whole,
- `only NAMES`: a mapping with exactly these keys, separated by commas,
- `same as PATH`: the value of another field of the same object,
- several of these with ` or ` between them,
- anything else: the value itself, in YAML.

Values below `capacity` are compared as quantities, so that 1Mi is 1048576.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dra_api.quantity import Quantity, QuantityError
from dra_conformance.core import manifests
from dra_conformance.core.errors import SpecificationError


@dataclass(frozen=True, slots=True)
class Expectation:
    """One row: the path of a field and the text of what it must be."""

    path: str
    text: str

    def found(self, document: Any) -> Any:
        """Return the value of the field in a document; None if it has no such field."""
        return manifests.look_up(document, self.path)

    def met(self, document: Any) -> bool:
        """Return whether the field of a document is as expected."""
        return any(self._is(part, document) for part in self.text.split(" or "))

    def _is(self, text: str, document: Any) -> bool:
        found = self.found(document)
        match text.partition(" "):
            case ("absent", "", ""):
                return found is None
            case ("present", "", ""):
                return found is not None
            case ("only", _, names):
                wanted = {name.strip() for name in names.split(",")}
                return isinstance(found, dict) and set(found) == wanted
            case ("same", _, rest) if rest.startswith("as "):
                other = manifests.look_up(document, rest.removeprefix("as "))
                return found is not None and self._equal(found, other)
        if len(text) > 1 and text.startswith("/") and text.endswith("/"):
            return isinstance(found, str) and re.fullmatch(text[1:-1], found) is not None
        return self._equal(found, manifests.parse_value(text))

    def _equal(self, found: Any, wanted: Any) -> bool:
        if found == wanted:
            return True
        if not self.path.startswith("capacity") or found is None or wanted is None:
            return False
        try:
            return Quantity.parse(str(found)).value == Quantity.parse(str(wanted)).value
        except QuantityError:
            return False


def read(table: Sequence[Sequence[str]]) -> list[Expectation]:
    """Return the expectations of a table whose first row is its header.

    Raises SpecificationError if a row does not have two cells.
    """
    rows = []
    for row in table[1:]:
        if len(row) != 2:
            raise SpecificationError(f"a table of expected values has two columns, not {len(row)}: {row}")
        rows.append(Expectation(row[0], row[1]))
    return rows


def differences(expected: Sequence[Expectation], document: Any) -> dict[str, Any]:
    """Return the fields of a document that are not as expected, with what they are."""
    return {one.path: one.found(document) for one in expected if not one.met(document)}


def wanted(expected: Sequence[Expectation]) -> dict[str, str]:
    """Return the expectations for reports: path to text."""
    return {one.path: one.text for one in expected}
