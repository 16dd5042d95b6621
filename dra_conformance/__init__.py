"""The harness: plans, seats, steps, oracle, event log and reports of the DRA conformance suite."""
