"""One correct DRA system to read and to run: one folder a seat, each a program of its own (`python -m reference_impl`)."""
