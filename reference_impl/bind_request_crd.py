"""What scheduler and binder require of the BindRequest CRD when they start."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from dra_api.bind_request_crd import SINCE_0_17, lacking_fields
from dra_api.client import KubeClient
from dra_api.objects import BIND_REQUESTS
from reference_impl.errors import ComponentError

log = logging.getLogger(__name__)


def require_bind_requests(client: KubeClient, way_out: str, *, revision: str = "kai-0.17") -> Sequence[str]:
    """Raise ComponentError unless BindRequests are served with the fields that all releases of KAI have.

    Without a check an informer fails after a minute. A failed attempt could not be counted without its field, and would
    be repeated every second for ever. `way_out` is what the user can do. Fields that only `revision` has are logged and
    returned if they are missing: other BindRequests work without them.
    """
    if not client.serves(BIND_REQUESTS):
        raise ComponentError(f"the API server does not serve {BIND_REQUESTS} in {BIND_REQUESTS.version}: {way_out}")
    lacking = lacking_fields(client, revision)
    dropped = "the API server drops these fields; install the CRD of KAI-Scheduler"
    if needed := [name for name in lacking if name not in SINCE_0_17]:
        raise ComponentError(f"the CRD {BIND_REQUESTS} has no {', '.join(needed)}, and {dropped} 0.12 or later")
    if lacking:
        log.warning(
            "the CRD %s has no %s, and %s 0.17 if BindRequests need them", BIND_REQUESTS, ", ".join(lacking), dropped
        )
    return lacking
