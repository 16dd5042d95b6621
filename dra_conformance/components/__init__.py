"""The components of a DRA system: their implementations, and how these are started, stopped and killed."""
