"""The harness: plans, components, steps, oracle, event log and reports of the DRA conformance suite."""
