"""Changes of the reference binder that several mutants need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dra_api.objects import Obj
from dra_conformance.engine.mutation import Patch


def skip_attempts(patch: Patch, skip: Callable[[Any, Obj], bool]) -> None:
    """Let the binder make no attempt for BindRequests of which `skip(binder, request)` is true."""

    def wrapped(original: Any) -> Any:
        def needs_attempt(self: Any, request: Obj) -> bool:
            return not skip(self, request) and bool(original(self, request))

        return needs_attempt

    patch.wrap("reference_impl.binder.reconcile:Binder.needs_attempt", wrapped)


def ignore_claim_errors(patch: Patch, wanted: Callable[[Exception], bool]) -> None:
    """Let the binder go on if writing a claim fails as `wanted(error)` says."""

    def wrapped(original: Any) -> Any:
        def commit(self: Any, claim: Obj, *args: Any, **more: Any) -> Any:
            try:
                return original(self, claim, *args, **more)
            except Exception as error:
                if not wanted(error):
                    raise
                return claim

        return commit

    patch.wrap("reference_impl.binder.claims:ClaimWriter.commit", wrapped)
