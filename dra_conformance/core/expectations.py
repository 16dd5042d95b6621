"""Tables of expected fields: a path and an expectation in each row.

Expectations are those of `core.values`, and two more: `same as PATH` is the value of another field of the same object,
and ` or ` stands between alternatives. Values below `capacity` are compared as quantities, so that 1Mi is 1048576.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dra_api.quantity import Quantity, QuantityError
from dra_conformance.core import manifests
from dra_conformance.core.errors import SpecificationError
from dra_conformance.core.values import Expectation, condition, expectation


@dataclass(frozen=True, slots=True)
class ExpectedField:
    """One row: the path of a field and the text of what it must be."""

    path: str
    text: str

    def found(self, document: Any) -> Any:
        """Return the value of the field in a document; None if it has no such field."""
        return manifests.look_up(document, self.path)

    @property
    def shown(self) -> Any:
        """The expectation for reports; see `core.values.Expectation`."""
        return self._form.shown

    def show(self, document: Any) -> Any:
        """Return the value of the field in the form of `shown`."""
        return self._form.show(self.found(document))

    @property
    def _form(self) -> Expectation:
        # Alternatives, and quantities, which are not compared as texts, are conditions.
        several = " or " in self.text or self.text.startswith("same as ") or self.path.startswith("capacity")
        return condition(self.text, self.is_met) if several else expectation(self.text)

    def is_met(self, document: Any) -> bool:
        """Return whether the field of a document is as expected."""
        return any(self._meets(part, document) for part in self.text.split(" or "))

    def _meets(self, text: str, document: Any) -> bool:
        found = self.found(document)
        if text.startswith("same as "):
            other = manifests.look_up(document, text.removeprefix("same as "))
            return found is not None and self._equal(found, other)
        if self.path.startswith("capacity") and isinstance(found, str) and self._equal(found, text):
            return True
        return expectation(text).is_met(found)

    def _equal(self, found: Any, wanted: Any) -> bool:
        if found == wanted:
            return True
        if not self.path.startswith("capacity"):
            return False
        try:
            return Quantity.parse(str(found)).value == Quantity.parse(str(wanted)).value
        except QuantityError:
            return False


def read(table: Sequence[Sequence[str]]) -> list[ExpectedField]:
    """Return the expectations of a table whose first row is its header.

    Raises SpecificationError if a row does not have two cells.
    """
    rows = []
    for row in table[1:]:
        if len(row) != 2:
            raise SpecificationError(f"a table of expected fields has two columns, not {len(row)}: {row}")
        rows.append(ExpectedField(row[0], row[1]))
    return rows


def differences(expected: Sequence[ExpectedField], document: Any) -> dict[str, Any]:
    """Return the fields of a document that are not as expected, with what they are."""
    return {one.path: one.found(document) for one in expected if not one.is_met(document)}


def wanted(expected: Sequence[ExpectedField]) -> dict[str, Any]:
    """Return the expectations for reports: path to value, or to the text of a condition."""
    return {one.path: one.shown for one in expected}


def seen(expected: Sequence[ExpectedField], document: Any) -> dict[str, Any]:
    """Return the same fields of a document for reports."""
    return {one.path: one.show(document) for one in expected}
