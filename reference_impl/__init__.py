"""A correct DRA system: one folder and one program for each component (`python -m reference_impl COMPONENT`)."""
