"""reference_impl."""
