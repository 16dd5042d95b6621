"""Settings of all tests."""

from __future__ import annotations

import signal

import hypothesis

# Shells start background jobs (`make test &`) with SIGINT ignored, and child processes inherit that. Tests send SIGINT
# to programs that they start, so they set what the programs inherit.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples in every run, and no failure because a machine is busy. Tests inherit what they do not set.
hypothesis.settings.register_profile(
    "fixed", derandomize=True, deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("fixed")
