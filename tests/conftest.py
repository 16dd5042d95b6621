"""Settings of all tests."""

from __future__ import annotations

import os
import signal

import hypothesis

from dra_conformance.components.work_folder import in_memory

# Shells start background jobs (`make test &`) with SIGINT ignored, and child processes inherit that. Tests send SIGINT
# to programs that they start, so they set what the programs inherit.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Fake nodes have hundreds of files, and some disks need a millisecond for each.
if (memory := in_memory()) and "TMPDIR" not in os.environ:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", memory)

# The same examples in every run, and no failure because a machine is busy. Tests inherit what they do not set.
hypothesis.settings.register_profile(
    "fixed", derandomize=True, deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("fixed")
