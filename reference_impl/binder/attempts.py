"""Number and delay of retries of a failed BindRequest.

Pure functions over the BindRequest: the attempts live in its status, so a restart of the binder loses none.

Differences from KAI 0.17, which does not do what its field names say (upstream issue #2075):

- KAI-172, KAI-174, KAI-175: every failed attempt is written to `status.failedAttempts`, up to `spec.backoffLimit`.
  KAI writes the first one only and retries for ever.
- No retry is made once `failedAttempts` reaches `backoffLimit`: from then on the scheduler takes the devices for free
  and deletes the BindRequest (KAI-072), so a late retry could bind a pod to devices that another pod got.
- Without `backoffLimit` (KAI-171, KAI-173: 0 means the same) the first failure is the last, as the scheduler reads it
  (KAI-070).
- KAI-184, KAI-185: a change of the BindRequest and a restart of the binder each cause one more attempt.
"""

from __future__ import annotations

import orjson

from dra_api.objects import Obj, meta


def limit_of(request: Obj) -> int:
    """Return `spec.backoffLimit`; 0 if it is absent or negative."""
    return max(int((request.get("spec") or {}).get("backoffLimit") or 0), 0)


def failed_attempts(request: Obj) -> int:
    """Return `status.failedAttempts`."""
    return int((request.get("status") or {}).get("failedAttempts") or 0)


def after_failure(request: Obj) -> int:
    """Return `status.failedAttempts` after one more failure."""
    return min(failed_attempts(request) + 1, limit_of(request))


def is_final(request: Obj, attempts: int) -> bool:
    """Return whether no retry follows after `attempts` failures."""
    return attempts >= limit_of(request)


def retry_delay(request: Obj) -> float:
    """Return seconds until the retry after one more failure: 1, 2, 4 and so on (KAI-175)."""
    # Others can write the status: a large number must neither overflow nor take long.
    return float(2 ** min(failed_attempts(request), 30))


def fingerprint(request: Obj) -> bytes:
    """Return the fields that others change in a BindRequest: spec, labels and annotations, not the status."""
    held = meta(request)
    return orjson.dumps([request.get("spec"), held.get("labels"), held.get("annotations")])
