"""The causes of a refused write."""

from __future__ import annotations

from collections.abc import Sequence

from dra_api.status import FieldError


def reported(errors: Sequence[FieldError], *, minor: int) -> list[FieldError]:
    """Return the errors that the response lists as causes.

    Upstream validates some fields more than once. Since 1.37 the response lists an error once (observed on
    kube-apiserver 1.37.2), before as often as it was found.
    """
    if minor < 37:
        return list(errors)
    found: list[FieldError] = []
    for error in errors:
        # Values may be dicts, so that errors cannot be hashed.
        if error not in found:
            found.append(error)
    return found
