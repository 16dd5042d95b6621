"""Settings of all tests."""

from __future__ import annotations

import signal

# Shells start background jobs (`make test &`) with SIGINT ignored, and child processes inherit that. Tests send SIGINT
# to programs that they start, so they set what the programs inherit.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
