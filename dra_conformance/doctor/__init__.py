"""Prerequisites of a run, what is missing, and suggested fixes (read-only)."""
