"""The dead-target test: a component that does nothing must not pass a MUST rule that binds it."""
