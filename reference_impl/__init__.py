"""A correct DRA system: one folder for each component, each runs as a program (`python -m reference_impl COMPONENT`)."""
