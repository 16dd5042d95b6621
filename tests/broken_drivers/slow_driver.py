"""The reference `inventory-plugin` with slow gRPC calls.

Usage: `python slow_driver.py SECONDS_OF_GETINFO SECONDS_OF_PREPARE FLAG …`, with the flags of `inventory-plugin`.
A slow driver is not a broken one: a kubelet waits one second for GetInfo and 45 seconds for NodePrepareResources.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

from dra_api.clock import RealClock
from dra_api.rpc import codec
from reference_impl.runtime import main as reference


def slow(call: Callable[..., Any], seconds: float) -> Callable[..., Any]:
    """Return the function with a delay before it."""

    def delayed(*given: Any) -> Any:
        RealClock().wait(threading.Event(), seconds)  # the delay is what this program is for
        return call(*given)

    return delayed


def main() -> int:
    """Run until SIGTERM."""
    get_info, prepare = (float(word) for word in sys.argv[1:3])
    codec.encode_info = slow(codec.encode_info, get_info)
    codec.DRACodec.encode_prepared = slow(codec.DRACodec.encode_prepared, prepare)  # type: ignore[method-assign]
    sys.argv[1:] = ["inventory-plugin", *sys.argv[3:]]
    return reference()


if __name__ == "__main__":
    sys.exit(main())
