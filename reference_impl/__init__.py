"""One correct DRA system to read and to run: one folder a component, each a program (`python -m reference_impl PART`)."""
