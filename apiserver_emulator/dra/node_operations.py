"""Node operations that a slice's devices do without (1.37, gate DRAOptionalNodeOperations; DRA-082). Pure function.

Source: k8s.io/api/resource/v1 types.go of release 1.37 (documented values); its texts were not observed on a server.
"""

from __future__ import annotations

from apiserver_emulator.dra.checks import unique
from apiserver_emulator.dra.rules import Rules
from dra_api.status import FieldError, invalid, not_supported

PREPARE = "NodePrepareResources"
UNPREPARE = "NodeUnprepareResources"
EVERYTHING = "*"
_KNOWN = (EVERYTHING, PREPARE, UNPREPARE)


def validate_skipped(operations: list[str], path: str, rules: Rules) -> list[FieldError]:
    """A set of known operations; Prepare is skipped only together with Unprepare."""

    def check(operation: str, here: str) -> list[FieldError]:
        return [] if operation in _KNOWN else [not_supported(here, operation, _KNOWN)]

    found = unique(operations, path, -1, check, key=str, key_field="", rules=rules)
    if PREPARE in operations and not {UNPREPARE, EVERYTHING} & set(operations):
        text = f"`{PREPARE}` may not be listed unless `{UNPREPARE}` or `{EVERYTHING}` is listed too"
        found.append(invalid(path, operations, text))
    return found
