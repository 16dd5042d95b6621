"""Node operations that a slice's devices do without (1.37, gate DRAOptionalNodeOperations). Pure function.

Source: pkg/apis/resource/validation/validation.go (validateSkipNodeOperations), k8s.io/api/resource/v1 types.go,
release 1.37; rules DRA-082, DRA-404, DRA-405 and DRA-445.
"""

from __future__ import annotations

from apiserver_emulator.dra.checks import unique
from apiserver_emulator.dra.rules import Rules
from dra_api.status import FieldError, invalid, not_supported

PREPARE = "NodePrepareResources"
UNPREPARE = "NodeUnprepareResources"
EVERYTHING = "*"
_KNOWN = (EVERYTHING, PREPARE, UNPREPARE)
_WITHOUT_CLEAN_UP = frozenset({UNPREPARE, EVERYTHING})


def validate_skipped(operations: list[str], path: str, rules: Rules) -> list[FieldError]:
    """A set of known operations; Prepare is skipped only together with Unprepare."""

    def check(operation: str, here: str) -> list[FieldError]:
        return [] if operation in _KNOWN else [not_supported(here, operation, _KNOWN)]

    found = unique(operations, path, -1, check, key=str, key_field="", rules=rules)
    if PREPARE in operations and not _WITHOUT_CLEAN_UP & set(operations):
        text = f"{PREPARE} cannot be skipped unless {UNPREPARE} is also skipped"
        found.append(invalid(path, operations, text))
    return found
